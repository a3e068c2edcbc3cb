//! Turns a request into a command, a waiter, or an answer.

use std::num::NonZeroU64;

use super::Leader;
use super::proposals::{Reply, work_of};
use super::shares::topic_order;
use super::waiters::{Cancelled, Demand, WaiterId};
use crate::Replica;
use crate::group::Group;
use crate::io::ConnectionId;
use crate::node::Node;
use crate::node::connections::{Asker, Phase};
use crate::node::push_parts::PushParts;
use crate::refusals::{not_every_member, retry_later};
use crate::rights::check_rights;
use crate::selects::{at_least, at_least_ms, select_job};
use adjourn_engine::{Command, GroupChange};
use adjourn_protocol::{
    ErrorCode, ErrorReply, JobRef, Kind, ReleaseKind, Request, RequestId, Reserve, Response, Subscribe,
    TopicSet,
};
use adjourn_types::limits::{CREDIT_BYTES_MAX, CREDIT_JOBS_MAX, RESERVE_BYTES_MAX, SUBSCRIPTIONS_MAX};
use adjourn_types::{Lease, SessionId, TopicId, TopicName};

impl Leader {
    /// Handles a request whose rights were checked.
    fn request(&mut self, node: &mut Node, group: &mut Group, asker: Asker, request: Request) {
        let Some(phase) = node.connections.one(asker.connection).map(|one| one.phase) else { return };
        let session = match (phase, &request) {
            (Phase::Open(session), _) => session,
            (_, Request::Hello(hello)) => return self.hello(node, group, asker, hello),
            (Phase::WithoutSession, _) => return self.request_without_session(node, group, asker, request),
            (Phase::Silent | Phase::Opening, _) => {
                let error =
                    ErrorReply::new(ErrorCode::Unauthenticated, "say HELLO first, and wait for its answer");
                return node.connections.refuse(asker, error);
            }
            (Phase::Ended, _) => {
                let error =
                    ErrorReply::new(ErrorCode::SessionUnknown, "the session has ended: connect again");
                return node.connections.refuse(asker, error);
            }
        };
        self.request_of(node, group, session, asker, request);
    }

    /// Handles a request of a connection that has opened no session.
    fn request_without_session(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        asker: Asker,
        request: Request,
    ) {
        if request.needs_session() {
            let text = "this connection has no session: connect again, and say HELLO without the option *no session*";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Invalid, text));
        }
        match request {
            Request::Goodbye => node.connections.end_without_session(asker),
            request => self.request_of(node, group, SessionId::NONE, asker, request),
        }
    }

    /// Handles a request of a connection whose HELLO was answered, and its session if it has one.
    fn request_of(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        session: SessionId,
        asker: Asker,
        mut request: Request,
    ) {
        node.tell_of_change(asker.connection, &mut request);
        match request.opcode().kind() {
            Kind::Change => self.command(node, group, asker, &request),
            Kind::Read => {
                let work = group.state.work_of_read(&request);
                self.reads.add(group.state.clock.stamp(), work, (asker, request));
            }
            Kind::Own => self.own_request(node, group, session, asker, request),
        }
    }

    /// Handles a request that is neither a plain change nor a plain read.
    fn own_request(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        session: SessionId,
        asker: Asker,
        request: Request,
    ) {
        match request {
            Request::Hello(hello) => self.hello(node, group, asker, &hello),
            Request::Goodbye => self.goodbye(node, group, asker, session),
            Request::Push(push) => self.push(node, group, asker, session, push),
            Request::Reserve(reserve) => self.reserve(node, group, asker, session, &reserve),
            Request::ReserveJob(job) => self.reserve_job(node, group, asker, session, &job),
            Request::Subscribe(subscribe) => self.subscribe(node, group, asker, session, &subscribe),
            Request::Credit { subscription, credit_jobs, credit_bytes } => {
                self.credit(node, asker, RequestId(subscription), credit_jobs, credit_bytes);
            }
            Request::Unsubscribe { subscription } => {
                self.unsubscribe(node, asker, RequestId(subscription));
            }
            Request::Cancel { request } => self.cancel(node, asker, RequestId(request)),
            Request::Disconnect { connection: other, ends_session } => {
                self.disconnect(node, group, asker, ConnectionId(other), ends_session);
            }
            Request::ClusterAdd { address } => self.changes.add_member(node, group, asker, &address),
            Request::ClusterRemove { node: number } => {
                self.changes.remove_member(node, group, asker, number);
            }
            Request::ClusterTransfer { node: number } => {
                self.changes.transfer(node, group, asker, number);
            }
            Request::Advance(advance) => self.advance(node, group, asker, advance),
            Request::BackupBegin => group.begin_backup(asker),
            // The server answers these two itself for a connection that has a backup.
            Request::BackupRead { .. } => {
                let text = "this connection has no backup: begin one";
                node.connections.refuse(asker, ErrorReply::new(ErrorCode::NotFound, text));
            }
            Request::BackupEnd => node.connections.send(asker, Response::Done),
            other => unreachable!("{other:?} has no handler of its own"),
        }
    }

    fn reserve(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        asker: Asker,
        session: SessionId,
        reserve: &Reserve,
    ) {
        if reserve.wait_ms == 0 {
            return self.reserve_now(node, group, asker, session, reserve);
        }
        // Waiting reserves count as in flight. Without room left, the server would not read the client's next frame, or
        // notice its end.
        let in_flight_max = node.connections.one(asker.connection).map_or(0, |one| one.in_flight_max);
        let polls_max = (in_flight_max / 2).max(1);
        if self.waiters.polls_of(asker.connection) >= polls_max {
            let many = "half of what may be in flight on this connection waits for jobs: ask for several topics at once, or subscribe";
            return node.connections.refuse(asker, retry_later(ErrorCode::Busy, many, 1000));
        }
        let deadline_us = node.now_us.saturating_add(reserve.wait_ms.saturating_mul(1000));
        let demand = Demand::Poll { jobs_max: reserve.jobs_max.max(1), deadline_us };
        self.wait(group, asker, session, demand, &reserve.topics, &reserve.weights);
    }

    /// Handles a RESERVE that does not wait. It is ordered like a change: it sees changes sent before it, and later ones
    /// see its grants.
    fn reserve_now(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        asker: Asker,
        session: SessionId,
        reserve: &Reserve,
    ) {
        if let Some(refusal) = self.proposals.refusal(node) {
            return node.connections.refuse(asker, refusal);
        }
        let is_quiet = self.proposals.is_idle() && !group.state.engine.is_overdue(group.state.clock.stamp());
        let engine = &group.state.engine;
        let mut known = reserve.topics.iter().filter_map(|name| engine.topic_id(name.as_str()));
        let stamp = group.state.clock.stamp();
        let has_job = |topic: &TopicId| engine.available(*topic, 0, stamp) > 0;
        if is_quiet && group.state.are_paused(&reserve.topics) {
            let paused = "every topic that was asked for is paused: resume one, or wait";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Paused, paused));
        }
        if is_quiet && !known.any(|topic| has_job(&topic)) {
            // No work in flight could bring a job, so no entry is needed.
            return node.connections.send(asker, Response::Reserved(Vec::new()));
        }
        let jobs_max = reserve.jobs_max.max(1);
        let bytes_max = RESERVE_BYTES_MAX.min(node.connections.room_bytes(asker.connection) as u64);
        let (waiter, claim) = self.waiters.add_reserving(asker, session, jobs_max, node.now_us);
        if !reserve.weights.is_empty() {
            self.waiters.weigh(waiter, &reserve.topics, &reserve.weights);
        }
        let weighed = self.waiters.weighed(waiter);
        let topics = topic_order(weighed.as_ref(), reserve.topics.iter().map(TopicName::as_str));
        let command = Command::Reserve { session, topics, jobs_max, bytes_max };
        let work = work_of(group, &command);
        self.add_reserve(node, group, &command, work, (waiter, claim));
    }

    /// Reserves one job, as a poll that does not wait.
    fn reserve_job(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        asker: Asker,
        session: SessionId,
        job: &JobRef,
    ) {
        if let Some(refusal) = self.proposals.refusal(node) {
            return node.connections.refuse(asker, refusal);
        }
        let (waiter, claim) = self.waiters.add_reserving(asker, session, 1, node.now_us);
        let command = Command::ReserveJob { session, job: select_job(job) };
        self.proposals.add_command(node, group, &command, Reply::PendingReserve(waiter, claim));
    }

    fn subscribe(
        &mut self,
        node: &mut Node,
        group: &Group,
        asker: Asker,
        session: SessionId,
        subscribe: &Subscribe,
    ) {
        if self.subscription(asker).is_some() {
            let twice = "this request id has a subscription: choose another";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Invalid, twice));
        }
        if self.subscriptions(asker.connection).count() >= SUBSCRIPTIONS_MAX {
            let many = "this connection has as many subscriptions as it can: name more topics in each";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Quota, many));
        }
        node.connections.send(asker, Response::Subscribed);
        let demand = Demand::Subscription {
            jobs: i64::from(subscribe.credit_jobs.min(CREDIT_JOBS_MAX)),
            bytes: subscribe.credit_bytes.min(CREDIT_BYTES_MAX).cast_signed(),
        };
        self.wait(group, asker, session, demand, &subscribe.topics, &subscribe.weights);
    }

    fn wait(
        &mut self,
        group: &Group,
        asker: Asker,
        session: SessionId,
        demand: Demand,
        topics: &[TopicName],
        weights: &[u16],
    ) {
        let engine = &group.state.engine;
        let found = topics.iter().map(|name| (name.clone(), engine.topic_id(name.as_str())));
        let waiter = self.waiters.add(asker, session, demand, found);
        if !weights.is_empty() {
            self.waiters.weigh(waiter, topics, weights);
        }
    }

    fn cancel(&mut self, node: &mut Node, asker: Asker, reserve: RequestId) {
        match self.waiters.cancel(Asker { request: reserve, ..asker }, node.now_us) {
            Cancelled::Unknown => {
                let text = "no RESERVE waits under that request id on this connection: it was answered";
                return node.connections.refuse(asker, ErrorReply::new(ErrorCode::NotFound, text));
            }
            Cancelled::Now(waiter) => {
                node.connections.send(waiter.asker, Response::Reserved(Vec::new()));
            }
            Cancelled::WithOutcome => {}
        }
        node.connections.send(asker, Response::Done);
    }

    fn credit(&mut self, node: &mut Node, asker: Asker, subscription: RequestId, jobs: u32, bytes: u64) {
        let Some(waiter) = self.subscription(Asker { request: subscription, ..asker }) else {
            return node.connections.refuse(asker, no_subscription());
        };
        let bytes = bytes.min(CREDIT_BYTES_MAX).cast_signed();
        self.waiters.add_credit(waiter, i64::from(jobs), bytes);
        node.connections.send(asker, Response::Done);
    }

    fn unsubscribe(&mut self, node: &mut Node, asker: Asker, subscription: RequestId) {
        let Some(waiter) = self.subscription(Asker { request: subscription, ..asker }) else {
            return node.connections.refuse(asker, no_subscription());
        };
        self.waiters.remove(waiter);
        node.connections.send(asker, Response::Done);
    }

    /// The subscription that this request created.
    fn subscription(&self, made_by: Asker) -> Option<WaiterId> {
        self.subscriptions(made_by.connection).find(|(_, asker)| *asker == made_by).map(|(id, _)| id)
    }

    /// The subscriptions of a connection, with the requests that created them.
    fn subscriptions(&self, connection: ConnectionId) -> impl Iterator<Item = (WaiterId, Asker)> {
        self.waiters.of(connection).into_iter().filter_map(|id| {
            let waiter = self.waiters.one(id).filter(|waiter| !waiter.is_poll())?;
            Some((id, waiter.asker))
        })
    }

    /// Handles requests that are one command each.
    fn command(&mut self, node: &mut Node, group: &Group, asker: Asker, request: &Request) {
        if let Some(refusal) = self.proposals.refusal(node) {
            return node.connections.refuse(asker, refusal);
        }
        if group.state.engine.feature_level() < request.opcode().level() {
            return node.connections.refuse(asker, not_every_member());
        }
        if let Request::TopicSet(TopicSet { topic, change }) = request {
            let (topic, change) = (topic.as_str(), &*change.encode());
            return self.proposals.add_command(
                node,
                group,
                &Command::TopicPolicy { topic, change },
                Reply::Request(asker),
            );
        }
        let who;
        let command = match request {
            Request::Finish { leases } => Command::Finish { leases: leases.clone() },
            Request::Release { leases, kind, reason } => {
                let reason = self.affordable(node, reason.as_deref());
                release(leases.clone(), *kind, reason, node.stamp_lag_ms())
            }
            Request::Touch { leases, ttr_ms } => Command::Touch { leases: leases.clone(), ttr_ms: *ttr_ms },
            Request::Bury { leases, reason } => {
                Command::Bury { leases: leases.clone(), reason: self.affordable(node, reason.as_deref()) }
            }
            Request::Delete(reference) => Command::Delete { job: select_job(reference) },
            Request::Reschedule { job, due, if_version } => Command::Reschedule {
                job: select_job(job),
                due: at_least(*due, node.stamp_lag_ms()),
                version: if_version.map(NonZeroU64::get),
            },
            Request::RunNow(reference) => Command::RunNow { job: select_job(reference) },
            Request::Kick(reference) => Command::Kick { job: select_job(reference) },
            Request::KickMany { topic: name, jobs_max } => {
                Command::KickMany { topic: name.as_str(), jobs_max: *jobs_max }
            }
            Request::Pause { topic: name, for_ms } => {
                who = node.connections.who(asker.connection);
                let for_ms = for_ms.map(NonZeroU64::get);
                Command::TopicPause { topic: name.as_str(), paused: true, by: &who, for_ms }
            }
            Request::Resume { topic: name } => {
                Command::TopicPause { topic: name.as_str(), paused: false, by: "", for_ms: None }
            }
            Request::GroupSet(set) => {
                let change = GroupChange { weight: set.weight, paused: set.paused };
                Command::GroupSet { topic: set.topic.as_str(), group: set.group.as_str(), change }
            }
            Request::TopicDelete { topic: name } => Command::TopicDelete { topic: name.as_str() },
            other => unreachable!("{other:?} is more, or less, than one command"),
        };
        self.proposals.add_command(node, group, &command, Reply::Request(asker));
    }

    /// Drops the reason while memory is short, because it stays in memory with the job: settling must continue.
    fn affordable<'a>(&self, node: &Node, reason: Option<&'a str>) -> &'a str {
        reason.filter(|_| !node.memory.is_short_with(self.proposals.bytes())).unwrap_or_default()
    }
}

impl Replica {
    /// Takes up a request: checks whether it can be accepted now, and the client's rights.
    pub(crate) fn request(&mut self, asker: Asker, mut request: Request) {
        if matches!(request, Request::Ping) && self.node.connections.is_stranger(asker.connection) {
            return self.node.connections.send(asker, self.node.pong());
        }
        let is_cluster_status = matches!(request, Request::ClusterStatus);
        // The state decides about rights to jobs, and only the leader's is current.
        if !is_cluster_status && let Some(error) = self.not_now() {
            return self.node.connections.refuse(asker, error);
        }
        let Self { node, group, leader, .. } = self;
        let limits = leader.as_mut().map(|leader| &mut leader.token_limits);
        if let Err(denied) = check_rights(node, group, limits, asker.connection, &mut request) {
            return node.connections.refuse(asker, denied);
        }
        if is_cluster_status {
            return group.cluster_status(node, asker);
        }
        if let Some(leader) = leader {
            leader.request(node, group, asker, request);
        }
    }

    /// Continues a push that is proposed in parts.
    pub(crate) fn push_on(&mut self, parts: PushParts) {
        if let Some(refusal) = self.not_now() {
            return parts.end(&mut self.node, refusal);
        }
        if let Some(leader) = &mut self.leader {
            leader.push_on(&mut self.node, &self.group, parts);
        }
    }

    /// The error for any request while this node accepts none.
    fn not_now(&self) -> Option<ErrorReply> {
        let elsewhere = || self.leader.is_none().then(|| self.group.elsewhere(&self.node));
        self.node.stopping().or_else(elsewhere)
    }
}

fn release(leases: Vec<Lease>, kind: ReleaseKind, reason: &str, lag_ms: u64) -> Command<'_> {
    let (delay_ms, attempted) = match kind {
        ReleaseKind::Backoff => (None, true),
        ReleaseKind::After(delay_ms) => (Some(at_least_ms(delay_ms, lag_ms)), true),
        ReleaseKind::NotStarted => (None, false),
        ReleaseKind::Parked(delay_ms) => (Some(at_least_ms(delay_ms, lag_ms)), false),
    };
    Command::Release { leases, delay_ms, attempted, reason }
}

fn no_subscription() -> ErrorReply {
    ErrorReply::new(ErrorCode::NotFound, "this connection has no subscription under that request id")
}
