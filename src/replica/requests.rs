//! From a request to a command, a waiter, or an answer.

use super::connections::Phase;
use super::io::ConnectionId;
use super::proposals::Reply;
use super::waiters::{Cancelled, Demand, WaiterId};
use super::{Replica, Stop};
use crate::engine::{Command, JobSelect, TopicSelect};
use crate::protocol::{
    ErrorCode, ErrorReply, JobRef, Kind, ReleaseKind, Request, RequestId, Reserve, Response, Subscribe,
    TopicSet,
};
use crate::types::limits::{CREDIT_BYTES_MAX, CREDIT_JOBS_MAX, RESERVE_BYTES_MAX, SUBSCRIPTIONS_MAX};
use crate::types::{
    FEATURE_CALL_BACKS, FEATURE_JOB_HISTORY, FEATURE_KICK_MANY, FEATURE_PARKING, FEATURE_RESERVE_NAMED,
    FEATURE_RESERVE_WEIGHTED, FEATURE_TOPIC_DELETE, FEATURE_TOPIC_POLICY, FEATURE_VERSIONS, Lease, SessionId,
    TopicId, TopicName, When,
};

impl Replica {
    pub(super) fn request(&mut self, connection: ConnectionId, id: RequestId, mut request: Request) {
        let is_cluster_status = matches!(request, Request::ClusterStatus);
        if matches!(request, Request::Ping) && self.connections.is_stranger(connection) {
            return self.connections.send(connection, id, self.pong());
        }
        // Rights to jobs are checked by the state, and only the leader's is the newest.
        if let Some(error) = self.not_now().filter(|_| !is_cluster_status) {
            return self.connections.refuse(connection, id, error);
        }
        if let Err(denied) = self.check_rights(connection, &mut request) {
            return self.connections.refuse(connection, id, denied);
        }
        if is_cluster_status {
            return self.cluster_status(connection, id);
        }
        let Some(phase) = self.connections.one(connection).map(|one| one.phase) else { return };
        let session = match (phase, &request) {
            (Phase::Open(session), _) => session,
            (_, Request::Hello(hello)) => return self.hello(connection, id, hello),
            (Phase::Silent | Phase::Opening, _) => {
                let error =
                    ErrorReply::new(ErrorCode::Unauthorised, "say HELLO first, and wait for its answer");
                return self.connections.refuse(connection, id, error);
            }
            (Phase::Ended, _) => {
                let error =
                    ErrorReply::new(ErrorCode::SessionUnknown, "the session has ended: connect again");
                return self.connections.refuse(connection, id, error);
            }
        };
        self.request_of(session, connection, id, request);
    }

    /// A request of a connection that speaks for a session.
    fn request_of(&mut self, session: SessionId, connection: ConnectionId, id: RequestId, request: Request) {
        self.tell_of_change(connection, &request);
        match request.opcode().kind() {
            Kind::Change => self.command(connection, id, &request),
            Kind::Read => {
                let work = self.work_of_read(&request);
                self.reads.add(self.clock.stamp(), work, (connection, id, request));
            }
            Kind::Own => self.own_request(session, connection, id, request),
        }
    }

    /// A request with a handler of its own.
    fn own_request(&mut self, session: SessionId, connection: ConnectionId, id: RequestId, request: Request) {
        match request {
            Request::Hello(hello) => self.hello(connection, id, &hello),
            Request::Goodbye => self.goodbye(connection, id, session),
            Request::Push(push) => self.push(connection, id, session, push),
            Request::Reserve(reserve) => self.reserve(connection, id, session, &reserve),
            Request::Subscribe(subscribe) => self.subscribe(connection, id, session, &subscribe),
            Request::Credit { subscription, credit_jobs, credit_bytes } => {
                self.credit(connection, id, RequestId(subscription), credit_jobs, credit_bytes);
            }
            Request::Unsubscribe { subscription } => {
                self.unsubscribe(connection, id, RequestId(subscription));
            }
            Request::Cancel { request } => self.cancel(connection, id, RequestId(request)),
            Request::Disconnect { connection: other, ends_session } => {
                self.disconnect(connection, id, ConnectionId(other), ends_session);
            }
            Request::ClusterAdd { address } => self.cluster_add(connection, id, &address),
            Request::ClusterRemove { node } => self.cluster_remove(connection, id, node),
            Request::ClusterTransfer { node } => self.cluster_transfer(connection, id, node),
            Request::BackupBegin => self.begin_backup(connection, id),
            // The server itself answers these two for a connection that was given a backup.
            Request::BackupRead { .. } => {
                let none = "this connection has no backup: begin one";
                self.connections.refuse(connection, id, ErrorReply::new(ErrorCode::NotFound, none));
            }
            Request::BackupEnd => self.connections.send(connection, id, Response::Done),
            other => unreachable!("{other:?} has no handler of its own"),
        }
    }

    /// Output was written: continues the waiters and reads that waited for room.
    pub(super) fn written(&mut self, connection: ConnectionId, bytes: usize) {
        self.connections.written(connection, bytes);
        self.line_up(connection);
    }

    /// The waiters of a connection may have room again.
    pub(super) fn line_up(&mut self, connection: ConnectionId) {
        for id in self.waiters.of(connection) {
            self.waiters.line_up(id);
        }
    }

    /// What any request is told while this node takes none.
    pub(super) fn not_now(&self) -> Option<ErrorReply> {
        if self.stop != Stop::No {
            return Some(Self::stopping());
        }
        (!self.is_serving()).then(|| self.elsewhere())
    }

    fn reserve(&mut self, connection: ConnectionId, id: RequestId, session: SessionId, reserve: &Reserve) {
        if let Some(error) = self.not_by_weights(&reserve.weights) {
            return self.connections.refuse(connection, id, error);
        }
        if reserve.wait_ms == 0 {
            return self.reserve_now(connection, id, session, reserve);
        }
        // Waiting reserves count as in flight: with no room left, the server would not read the client's next frame, or its end.
        let in_flight_max = self.connections.one(connection).map_or(0, |one| one.in_flight_max);
        let polls_max = (in_flight_max / 2).max(1);
        if self.waiters.polls_of(connection) >= polls_max {
            let many = "half of what may be in flight on this connection waits for jobs: ask for several topics at once, or subscribe";
            return self.connections.refuse(connection, id, retry_later(ErrorCode::Busy, many, 1000));
        }
        let deadline_us = self.now_us.saturating_add(reserve.wait_ms.saturating_mul(1000));
        let demand = Demand::Poll { jobs_max: reserve.jobs_max.max(1), deadline_us };
        self.wait(connection, id, session, demand, &reserve.topics, &reserve.weights);
    }

    /// A RESERVE that does not wait is ordered like a change: it sees the changes sent before it, and later ones
    /// see its grants.
    fn reserve_now(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        session: SessionId,
        reserve: &Reserve,
    ) {
        if self.proposals.bytes() > self.config.uncommitted_bytes_max.saturating_mul(2) {
            return self.connections.refuse(connection, id, too_much_under_way());
        }
        let is_quiet = self.proposals.is_idle() && !self.engine.is_overdue(self.clock.stamp());
        let engine = &self.engine;
        let known: Vec<TopicId> =
            reserve.topics.iter().filter_map(|name| engine.topic_id(name.as_str())).collect();
        let stamp = self.clock.stamp();
        let has_job = |topic: &TopicId| engine.available(*topic, 0, stamp) > 0;
        if is_quiet && self.are_paused(&reserve.topics) {
            let paused = "every topic that was asked for is paused: resume one, or wait";
            return self.connections.refuse(connection, id, ErrorReply::new(ErrorCode::Paused, paused));
        }
        if is_quiet && !known.iter().any(has_job) {
            // Nothing is under way that could bring a job: no entry is needed to find out.
            return self.connections.send(connection, id, Response::Reserved(Vec::new()));
        }
        let jobs_max = reserve.jobs_max.max(1);
        let bytes_max = RESERVE_BYTES_MAX.min(self.connections.room_bytes(connection) as u64);
        let knows_names = engine.feature_level() >= FEATURE_RESERVE_NAMED;
        let (waiter, claim) = self.waiters.add_reserving(connection, session, id, jobs_max, self.now_us);
        let reply = Reply::Turn(waiter, claim);
        if !reserve.weights.is_empty() {
            self.waiters.weigh(waiter, &reserve.topics, &reserve.weights);
        }
        if let Some((weighing, standings)) = self.waiters.weighed(waiter) {
            let shares = weighing.shares(&standings);
            self.add_command(&Command::ReserveWeighted { session, shares, jobs_max, bytes_max }, reply);
        } else if knows_names {
            let topics = reserve.topics.iter().map(select_topic).collect();
            self.add_command(&Command::ReserveNamed { session, topics, jobs_max, bytes_max }, reply);
        } else {
            self.add_command(&Command::Reserve { session, topics: known, jobs_max, bytes_max }, reply);
        }
    }

    fn subscribe(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        session: SessionId,
        subscribe: &Subscribe,
    ) {
        if let Some(error) = self.not_by_weights(&subscribe.weights) {
            return self.connections.refuse(connection, id, error);
        }
        if self.subscription(connection, id).is_some() {
            let twice = "this request id has a subscription: choose another";
            return self.connections.refuse(connection, id, ErrorReply::new(ErrorCode::Invalid, twice));
        }
        if self.subscriptions(connection).count() >= SUBSCRIPTIONS_MAX {
            let many = "this connection has as many subscriptions as it can: name more topics in each";
            return self.connections.refuse(connection, id, ErrorReply::new(ErrorCode::Quota, many));
        }
        self.connections.send(connection, id, Response::Subscribed);
        let demand = Demand::Subscription {
            jobs: i64::from(subscribe.credit_jobs.min(CREDIT_JOBS_MAX)),
            bytes: subscribe.credit_bytes.min(CREDIT_BYTES_MAX).cast_signed(),
        };
        self.wait(connection, id, session, demand, &subscribe.topics, &subscribe.weights);
    }

    fn wait(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        session: SessionId,
        demand: Demand,
        topics: &[TopicName],
        weights: &[u16],
    ) {
        let engine = &self.engine;
        let found = topics.iter().map(|name| (name.clone(), engine.topic_id(name.as_str())));
        let waiter = self.waiters.add(connection, session, id, demand, found);
        if !weights.is_empty() {
            self.waiters.weigh(waiter, topics, weights);
        }
    }

    /// Why topics cannot have weights, if they cannot.
    fn not_by_weights(&self, weights: &[u16]) -> Option<ErrorReply> {
        let is_known = weights.is_empty() || self.engine.feature_level() >= FEATURE_RESERVE_WEIGHTED;
        (!is_known).then(not_every_member)
    }

    fn cancel(&mut self, connection: ConnectionId, id: RequestId, reserve: RequestId) {
        match self.waiters.cancel(connection, reserve, self.now_us) {
            Cancelled::Unknown => {
                let none = "no RESERVE waits under that request id on this connection: it was answered";
                return self.connections.refuse(connection, id, ErrorReply::new(ErrorCode::NotFound, none));
            }
            Cancelled::Now(waiter) => {
                self.connections.send(connection, waiter.request, Response::Reserved(Vec::new()));
            }
            Cancelled::WithOutcome => {}
        }
        self.connections.send(connection, id, Response::Done);
    }

    fn credit(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        subscription: RequestId,
        jobs: u32,
        bytes: u64,
    ) {
        let Some(waiter) = self.subscription(connection, subscription) else {
            return self.connections.refuse(connection, id, no_subscription());
        };
        let bytes = bytes.min(CREDIT_BYTES_MAX).cast_signed();
        self.waiters.add_credit(waiter, i64::from(jobs), bytes);
        self.connections.send(connection, id, Response::Done);
    }

    fn unsubscribe(&mut self, connection: ConnectionId, id: RequestId, subscription: RequestId) {
        let Some(waiter) = self.subscription(connection, subscription) else {
            return self.connections.refuse(connection, id, no_subscription());
        };
        self.waiters.remove(waiter);
        self.connections.send(connection, id, Response::Done);
    }

    fn subscription(&self, connection: ConnectionId, subscription: RequestId) -> Option<WaiterId> {
        self.subscriptions(connection).find(|(_, request)| *request == subscription).map(|(id, _)| id)
    }

    /// The subscriptions of a connection, and the requests that made them.
    fn subscriptions(&self, connection: ConnectionId) -> impl Iterator<Item = (WaiterId, RequestId)> {
        self.waiters.of(connection).into_iter().filter_map(|id| {
            let waiter = self.waiters.one(id).filter(|waiter| !waiter.is_poll())?;
            Some((id, waiter.request))
        })
    }

    fn are_paused(&self, topics: &[TopicName]) -> bool {
        topics.iter().all(|name| {
            let topic = self.engine.topic_id(name.as_str()).and_then(|id| self.engine.topic(id));
            topic.is_some_and(|topic| topic.paused)
        })
    }

    /// Requests that are one command each.
    fn command(&mut self, connection: ConnectionId, id: RequestId, request: &Request) {
        // They make room in the queue: they are taken for longer than pushes, not without end.
        if self.proposals.bytes() > self.config.uncommitted_bytes_max.saturating_mul(2) {
            return self.connections.refuse(connection, id, too_much_under_way());
        }
        if self.engine.feature_level() < level_of(request) {
            return self.connections.refuse(connection, id, not_every_member());
        }
        if let Request::TopicSet(TopicSet { topic, change }) = request {
            let (topic, change) = (select_topic(topic), &*change.encode());
            return self.add_command(&Command::TopicPolicy { topic, change }, Reply::Request(connection, id));
        }
        let command = match request {
            Request::Finish { leases } => Command::Finish { leases: leases.clone() },
            Request::Release { leases, kind, reason } => {
                release(leases.clone(), *kind, self.affordable(reason.as_deref()))
            }
            Request::Touch { leases, ttr_ms } => Command::Touch { leases: leases.clone(), ttr_ms: *ttr_ms },
            Request::Bury { leases, reason } => {
                let leases = leases.clone();
                match self.affordable(reason.as_deref()) {
                    Some(reason) => Command::BuryBecause { leases, reason },
                    None => Command::Bury { leases },
                }
            }
            Request::Delete(reference) => Command::Delete { job: select_job(reference) },
            Request::Reschedule { job: reference, due, if_version } => {
                let (job, due) = (select_job(reference), at_least(*due));
                match if_version {
                    Some(version) => Command::RescheduleIf { job, due, version: version.get() },
                    None => Command::Reschedule { job, due },
                }
            }
            Request::RunNow(reference) => Command::RunNow { job: select_job(reference) },
            Request::Kick(reference) => Command::Kick { job: select_job(reference) },
            Request::KickMany { topic: name, jobs_max } => {
                Command::KickMany { topic: select_topic(name), jobs_max: *jobs_max }
            }
            Request::Pause { topic: name } => Command::TopicPause { topic: select_topic(name), paused: true },
            Request::Resume { topic: name } => {
                Command::TopicPause { topic: select_topic(name), paused: false }
            }
            Request::TopicDelete { topic: name } => Command::TopicDelete { topic: select_topic(name) },
            other => unreachable!("{other:?} is more, or less, than one command"),
        };
        self.add_command(&command, Reply::Request(connection, id));
    }

    /// A reason stays in memory with its job. When that is short, leases are settled without one: settling must go on.
    fn affordable<'a>(&self, reason: Option<&'a str>) -> Option<&'a str> {
        reason.filter(|_| !self.memory.is_short_with(self.proposals.bytes()))
    }
}

/// The feature level that a request needs.
fn level_of(request: &Request) -> u32 {
    match request {
        Request::KickMany { .. } => FEATURE_KICK_MANY,
        Request::TopicSet(set) if set.change.is_of_call_backs() => FEATURE_CALL_BACKS,
        Request::TopicSet(_) => FEATURE_TOPIC_POLICY,
        Request::TopicDelete { .. } => FEATURE_TOPIC_DELETE,
        Request::Reschedule { if_version: Some(_), .. } => FEATURE_VERSIONS,
        Request::Release { kind: ReleaseKind::Parked(_), .. } => FEATURE_PARKING,
        Request::Release { reason: Some(_), .. } | Request::Bury { reason: Some(_), .. } => {
            FEATURE_JOB_HISTORY
        }
        _ => 0,
    }
}

fn release(leases: Vec<Lease>, kind: ReleaseKind, reason: Option<&str>) -> Command<'_> {
    let (delay_ms, attempted) = match kind {
        ReleaseKind::Backoff => (None, true),
        ReleaseKind::After(delay_ms) => (Some(at_least_ms(delay_ms)), true),
        ReleaseKind::NotStarted => (None, false),
        ReleaseKind::Parked(delay_ms) => (Some(at_least_ms(delay_ms)), false),
    };
    match reason {
        Some(reason) => Command::ReleaseBecause { leases, delay_ms, attempted, reason },
        None => Command::Release { leases, delay_ms, attempted },
    }
}

/// By name: its number might be gone when the command is applied.
pub(super) fn select_topic(name: &TopicName) -> TopicSelect<'_> {
    TopicSelect::Name(name.as_str())
}

pub(super) fn select_job(job: &JobRef) -> JobSelect<'_> {
    match job {
        JobRef::Id(id) => JobSelect::Id(*id),
        JobRef::Key { topic, key } => JobSelect::Key { topic: select_topic(topic), key: key.as_bytes() },
    }
}

pub(super) fn at_least(due: When) -> When {
    match due {
        When::After(delay_ms) => When::After(at_least_ms(delay_ms)),
        When::At(_) => due,
    }
}

/// A delay that is over no sooner than was asked for. The stamp that it counts from shows whole milliseconds: it may
/// lie almost one before the moment at which the request came.
fn at_least_ms(delay_ms: u64) -> u64 {
    if delay_ms == 0 { 0 } else { delay_ms.saturating_add(1) }
}

pub(super) fn retry_later(code: ErrorCode, message: &str, retry_after_ms: u32) -> ErrorReply {
    ErrorReply { retry_after_ms, ..ErrorReply::new(code, message) }
}

pub(super) fn too_much_under_way() -> ErrorReply {
    retry_later(ErrorCode::Busy, "more is on its way to the disk than may be: send less at once", 20)
}

pub(super) fn not_every_member() -> ErrorReply {
    let text = "every member must run a version that knows this: upgrade the others, and leave feature_level_max \
                out; `adjourn cluster status` shows the feature level";
    ErrorReply::new(ErrorCode::Unsupported, text)
}

fn no_subscription() -> ErrorReply {
    ErrorReply::new(ErrorCode::NotFound, "this connection has no subscription under that request id")
}
