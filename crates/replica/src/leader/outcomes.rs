//! Answers requests with the outcomes of applied commands.

use super::Leader;
use super::backfill::filled;
use super::proposals::Reply;
use super::waiters::{Claim, WaiterId};
use crate::group::Group;
use crate::io::ConnectionId;
use crate::node::Node;
use crate::node::connections::Asker;
use adjourn_engine::{Applied, Command, Grant, Outcome, PushOutcome, Reject};
use adjourn_protocol::{ErrorCode, ErrorReply, Leased, PushResult, Response};
use adjourn_storage::StorageError;
use adjourn_types::limits::{RESERVE_BYTES_MAX, TTR_LEFT_MS_MIN};
use adjourn_types::{JobId, Lease, PolicyChange, Right, SkipReason};

impl Leader {
    /// Handles the outcomes of an applied entry, and answers the waiting requests.
    pub(crate) fn applied(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        commands: &[Command<'_>],
        applied: Applied,
        replies: Vec<Reply>,
    ) -> Result<(), StorageError> {
        for lease in applied.ended {
            self.waiters.lease_over(lease);
        }
        for (command, outcome) in commands.iter().zip(&applied.outcomes) {
            self.note_settled(command, outcome);
        }
        for (id, name) in &applied.topics_gone {
            self.token_limits.topic_gone(*id, name, self.waiters.next_topic());
        }
        self.waiters.topics_gone(&applied.topics_gone.into_iter().collect());
        while let Some(made) = group.state.engine.first_topic_from(self.waiters.next_topic()) {
            self.token_limits.topic_made(made.id, made.name);
            self.waiters.topic_made(made.id, made.name);
        }
        // After the entry, so that topics that it created or deleted are counted.
        for command in commands {
            self.note_dead_letters(group, command);
        }
        let mut answered = replies.into_iter().zip(applied.outcomes);
        answered.try_for_each(|(reply, outcome)| self.answer(node, group, reply, outcome))
    }

    /// Returns the credit of settled leases, whichever session settled them.
    fn note_settled(&mut self, command: &Command<'_>, outcome: &Outcome) {
        let (Command::Finish { leases } | Command::Release { leases, .. } | Command::Bury { leases, .. }) =
            command
        else {
            return;
        };
        if matches!(command, Command::Release { .. }) && !self.given_back.is_empty() {
            for lease in leases {
                self.given_back.remove(lease);
            }
        }
        let Outcome::Settled(results) = outcome else { return };
        for (lease, _) in leases.iter().zip(results).filter(|(_, result)| result.is_ok()) {
            self.waiters.lease_over(*lease);
        }
    }

    /// Notes that a topic may now create another one for its dead letters.
    fn note_dead_letters(&mut self, group: &Group, command: &Command<'_>) {
        if let Command::TopicPolicy { topic, change } = command
            && let Some(to) = PolicyChange::decode(change).ok().and_then(|change| change.set.dead_letters)
        {
            self.token_limits.dead_letters_set(topic, &to, &group.state.engine);
        }
    }

    fn answer(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        reply: Reply,
        outcome: Outcome,
    ) -> Result<(), StorageError> {
        match reply {
            Reply::Request(asker) => {
                node.connections.send(asker, response(outcome));
            }
            Reply::Part(connection) => self.part_pushed(node, connection, outcome),
            Reply::Bulk { asker, cursor, found } => {
                let bulked = |jobs: u32| {
                    let skipped = u32::try_from(found).unwrap_or(u32::MAX).saturating_sub(jobs);
                    Response::Bulked { jobs, skipped, cursor }
                };
                let response = match outcome {
                    Outcome::ChangedMany { jobs } | Outcome::Moved { jobs, .. } => bulked(jobs),
                    other => response(other),
                };
                node.connections.send(asker, response);
            }
            Reply::Fill { asker, body_bytes, next } => {
                let response = match outcome {
                    Outcome::Pushed(outcomes) => {
                        Response::ScheduleFilled(filled(&outcomes, body_bytes, next))
                    }
                    other => response(other),
                };
                node.connections.send(asker, response);
            }
            Reply::Open(asker, token) => self.opened(node, group, asker, &token, &outcome),
            Reply::Resume(asker, resumption) => {
                self.resumed(node, group, asker, resumption, &outcome);
            }
            Reply::Close(.., session) | Reply::Lapse(session)
                if matches!(outcome, Outcome::Lapsing { .. }) =>
            {
                self.end_session(node, group, session, reply);
            }
            Reply::Close(asker, session) => {
                self.session_ended(node, group, session);
                node.connections.send(asker, response(outcome));
            }
            Reply::PendingReserve(waiter, claim) => {
                self.granted(node, group, waiter, claim, outcome)?;
                self.propose_held(node, group, claim.session);
            }
            Reply::SetSchedule(asker, set, before) => match outcome {
                Outcome::Rejected(Reject::Changed) => {
                    self.set_schedule_again(node, group, asker, &set, before);
                }
                outcome => node.connections.send(asker, response(outcome)),
            },
            Reply::Fired(schedule) => self.firings.done(schedule, node.now_us),
            Reply::Lapse(session) => self.session_ended(node, group, session),
            Reply::Nobody => {}
        }
        Ok(())
    }

    /// Handles the outcome of a reserve for a waiter.
    fn granted(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        id: WaiterId,
        claim: Claim,
        outcome: Outcome,
    ) -> Result<(), StorageError> {
        self.waiters.turn_over(id, claim);
        let connection = self.waiters.one(id).map(|waiter| waiter.asker.connection);
        for behind in node.connections.take_behind(connection) {
            self.waiters.line_up_all(behind);
        }
        let grants = match outcome {
            Outcome::Granted(grants) => grants,
            Outcome::GrantedByShares { grants, advances } => {
                self.waiters.advance(id, &advances);
                grants
            }
            other => {
                match self.waiters.remove(id) {
                    Some(waiter) if waiter.is_poll() => {
                        node.connections.send(waiter.asker, response(other));
                    }
                    // SUBSCRIBE was answered before, so this is unsolicited.
                    Some(waiter) => node.connections.tell(waiter.asker, response(other)),
                    None => {}
                }
                return Ok(());
            }
        };
        let Some(waiter) = self.waiters.one(id) else {
            self.give_back(node, group, grants.iter().map(|grant| grant.lease).collect());
            return Ok(());
        };
        // A later command in the same entry may have ended the lease, and with it the job's record.
        let held = grants.into_iter().filter(|grant| group.state.engine.holds(grant.lease));
        // The disk may have been so slow that the lease ended before the grant was seen: another consumer may have the job.
        // Or other output has used up the connection's room.
        let (stamp, mut room) =
            (group.state.clock.stamp(), node.connections.room_bytes(waiter.asker.connection));
        let (grants, unseen): (Vec<Grant>, Vec<Grant>) = held.partition(|grant| {
            let is_seen = room > 0 && grant.deadline > stamp;
            if is_seen {
                room = room.saturating_sub(grant.body.body_bytes as usize);
            }
            is_seen
        });
        let (asker, is_poll) = (waiter.asker, waiter.is_poll());
        let wait_is_over = waiter.wait_is_over(node.now_us);
        if !grants.is_empty() || wait_is_over {
            self.deliver(node, group, id, asker, is_poll, &grants)?;
        }
        self.give_back(node, group, unseen.iter().map(|grant| grant.lease).collect());
        self.waiters.line_up(id);
        Ok(())
    }

    fn deliver(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        id: WaiterId,
        asker: Asker,
        is_poll: bool,
        grants: &[Grant],
    ) -> Result<(), StorageError> {
        let jobs = grants.iter().map(|grant| group.state.delivered(node, grant)).collect::<Result<_, _>>()?;
        self.lateness.advance(node.now_us);
        self.lateness.note(grants, group.state.clock.wall());
        if is_poll {
            self.waiters.remove(id);
            node.connections.send(asker, Response::Reserved(jobs));
            return Ok(());
        }
        for grant in grants {
            self.waiters.debit(id, grant.lease, grant.body.body_bytes);
        }
        node.connections.tell(asker, Response::Deliver(jobs));
        Ok(())
    }

    /// Gives back leases on jobs that were not sent because too little of the leases was left. If the session has another
    /// connection by now, it may have been shown the leases there: then they run to their end.
    pub(crate) fn not_sent(
        &mut self,
        node: &Node,
        group: &Group,
        connection: ConnectionId,
        leases: Vec<Lease>,
    ) {
        if node.connections.session_of(connection).is_some() {
            self.give_back(
                node,
                group,
                leases.into_iter().filter(|lease| group.state.engine.holds(*lease)).collect(),
            );
        }
    }

    /// Releases leases on jobs that were not delivered. No attempt is counted.
    fn give_back(&mut self, node: &Node, group: &Group, leases: Vec<Lease>) {
        if leases.is_empty() {
            return;
        }
        self.given_back.extend(&leases);
        let command = Command::Release { leases, delay_ms: None, attempted: false, reason: "" };
        self.proposals.add_command(node, group, &command, Reply::Nobody);
    }

    /// A page of the leases of a connection's session. Leases that are about to be given back are left out: their jobs were
    /// not delivered, and another consumer will get them.
    pub(super) fn leased(
        &self,
        node: &Node,
        group: &mut Group,
        connection: ConnectionId,
        after: JobId,
        jobs_max: u32,
    ) -> Result<Response, StorageError> {
        let Some(session) = node.connections.session_of(connection) else {
            let ended = ErrorReply::new(ErrorCode::SessionUnknown, "the session has ended: connect again");
            return Ok(Response::Error(ended));
        };
        let bytes_max = RESERVE_BYTES_MAX.min(node.connections.room_bytes(connection) as u64).max(1);
        let least = group.state.clock.stamp().after(TTR_LEFT_MS_MIN.into());
        let mut held = group
            .state
            .engine
            .leases_of(session, after)
            .filter(|grant| grant.deadline > least && !self.given_back.contains(&grant.lease))
            .filter(|grant| group.state.may(node, connection, Right::Consume, grant.topic));
        let (mut grants, mut bytes) = (Vec::new(), 0);
        while grants.len() < jobs_max as usize
            && bytes < bytes_max
            && let Some(grant) = held.next()
        {
            bytes += u64::from(grant.body.body_bytes);
            grants.push(grant);
        }
        let has_more = held.next().is_some();
        drop(held);
        group.work.count(grants.len() as u64);
        let jobs = grants.iter().map(|grant| group.state.delivered(node, grant)).collect::<Result<_, _>>()?;
        Ok(Response::Leased(Leased { has_more, jobs }))
    }
}

/// Converts an outcome to the response for the client.
pub(super) fn response(outcome: Outcome) -> Response {
    match outcome {
        Outcome::Done
        | Outcome::Session { .. }
        | Outcome::Granted(_)
        | Outcome::GrantedByShares { .. }
        | Outcome::Lapsing { .. } => Response::Done,
        Outcome::ScheduleSet { schedule, version, next } => Response::Scheduled { schedule, version, next },
        Outcome::Fired(jobs) => match jobs[..] {
            [Ok(job)] => Response::ScheduleRan { job },
            [Err(SkipReason::KeyTaken)] => {
                Response::Error(ErrorReply::new(ErrorCode::KeyExists, why(Reject::KeyExists)))
            }
            _ => {
                let text = "the topic's policy, or a limit of the queue, does not allow the job";
                Response::Error(ErrorReply::new(ErrorCode::Quota, text))
            }
        },
        Outcome::Pushed(jobs) => Response::Pushed(jobs.into_iter().map(push_result).collect()),
        Outcome::Settled(leases) => {
            Response::Settled(leases.into_iter().map(|result| result.map_err(code)).collect())
        }
        Outcome::Changed { job, state, due, version } => {
            Response::Changed { job, state: Some(state), due, version }
        }
        Outcome::ChangedMany { jobs } | Outcome::Moved { jobs, .. } => Response::Kicked { jobs },
        Outcome::TopicHasJobs { jobs, schedules } => {
            let text = format!(
                "the topic is not empty (jobs: {jobs}, schedules: {schedules}): delete them first, or move the jobs to another topic"
            );
            Response::Error(ErrorReply::new(ErrorCode::WrongState, text))
        }
        Outcome::Rejected(reject) => Response::Error(ErrorReply::new(code(reject), why(reject))),
    }
}

pub(super) fn push_result(outcome: PushOutcome) -> PushResult {
    match outcome {
        PushOutcome::Pushed(job) => PushResult::Pushed(job),
        PushOutcome::Kept(job) => PushResult::Kept(job),
        PushOutcome::Replaced(job) => PushResult::Replaced(job),
        PushOutcome::Postponed(job) => PushResult::Postponed(job),
        PushOutcome::Refused(reject, job) => PushResult::Refused(code(reject), job),
    }
}

fn code(reject: Reject) -> ErrorCode {
    match reject {
        Reject::GenesisTwice
        | Reject::WrongState
        | Reject::MemberRemoved
        | Reject::MemberChanged
        | Reject::NotFair => ErrorCode::WrongState,
        Reject::StaleLease => ErrorCode::StaleLease,
        Reject::KeyExists => ErrorCode::KeyExists,
        Reject::NotFound => ErrorCode::NotFound,
        Reject::Reserved => ErrorCode::Reserved,
        Reject::SessionUnknown => ErrorCode::SessionUnknown,
        Reject::OutcomeUnknown => ErrorCode::OutcomeUnknown,
        Reject::ExpiresBeforeDue => ErrorCode::ExpiresBeforeDue,
        Reject::SequenceReused => ErrorCode::SequenceReused,
        Reject::Changed => ErrorCode::Changed,
        Reject::TopicQuota
        | Reject::SessionQuota
        | Reject::TopicFull
        | Reject::DefaultsQuota
        | Reject::GroupQuota => ErrorCode::Quota,
        Reject::BodyTooLarge => ErrorCode::TooLarge,
    }
}

fn why(reject: Reject) -> &'static str {
    match reject {
        Reject::GenesisTwice => "the queue exists",
        Reject::MemberRemoved => "the node was removed: it cannot come back under its number",
        Reject::MemberChanged => "the node is known with other data: it cannot come back under its number",
        Reject::StaleLease => "the lease is no longer held: its time is over, or it was settled",
        Reject::KeyExists => "the topic has a job with this key, which lives or is remembered",
        Reject::NotFound => {
            "there is no such job, or no such topic: it was finished, deleted, expired, or never there; a topic goes some \
             time after its last job"
        }
        Reject::Reserved => "the job is reserved: wait for its consumer, or delete it",
        Reject::WrongState => "the job is not in a state for that: get shows which it is in",
        Reject::SessionUnknown => "the session is not known any more: connect again",
        Reject::OutcomeUnknown => "the outcome of this push is forgotten: look for the job by its key",
        Reject::ExpiresBeforeDue => "the job would expire before it is due: let it expire later",
        Reject::SequenceReused => {
            "the number, or idempotency key, was used for another job: give each job one of its own"
        }
        Reject::Changed => "the job has changed since: look at it again",
        Reject::TopicQuota => "the queue has as many topics as it can: use fewer names",
        Reject::TopicFull => {
            "the topic has as many jobs, or bytes, as its policy allows: finish or delete some"
        }
        Reject::NotFair => {
            "groups mean nothing in this topic: set `fair`, or a limit of groups, in its policy first"
        }
        Reject::GroupQuota => "65536 groups of the topic have settings: take those of some away",
        Reject::DefaultsQuota => "the queue has had as many different defaults for retries as it can",
        Reject::BodyTooLarge => "the topic's policy allows no body of this size: send a smaller one",
        Reject::SessionQuota => "the queue has as many sessions as it can: close some, or wait",
    }
}
