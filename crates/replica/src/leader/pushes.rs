//! PUSH: turns a request into one command, or into several.
//!
//! A new job's key may exist already. If the existing job is spilled, the command reads it, body included. To keep these
//! reads short, a push whose keys belong to many spilled jobs is proposed in parts. Each part waits until the previous one
//! was applied, and for its connection's turn; later requests of the connection wait for all parts. There is one answer.
//!
//! An idempotency key belongs to the token that sends it: see [`owner_of`].

use xxhash_rust::xxh3::xxh3_64;

use super::Leader;
use super::outcomes::{push_result, response};
use super::proposals::Reply;
use crate::group::Group;
use crate::io::ConnectionId;
use crate::node::Node;
use crate::node::connections::Asker;
use crate::node::push_parts::PushParts;
use crate::refusals::{retry_later, stopping, too_much_under_way};
use crate::selects::at_least;
use crate::stopping::Stop;
use adjourn_engine::{Command, NewJob, Outcome};
use adjourn_protocol::{Applied, ErrorCode, ErrorReply, Idempotency, Push, Response};
use adjourn_types::limits::IDEMPOTENT_LIST_JOBS_MAX;
use adjourn_types::{Access, Key, SessionId, When};

impl Leader {
    pub(super) fn push(
        &mut self,
        node: &mut Node,
        group: &Group,
        asker: Asker,
        session: SessionId,
        push: Push,
    ) {
        if let Some(refusal) = too_long_a_list(&push).or_else(|| self.no_room_for_jobs(node)) {
            return node.connections.refuse(asker, refusal);
        }
        let topic = group.state.engine.topic_id(push.topic.as_str());
        let at_once = push.jobs.iter().filter(|job| job.due == When::After(0)).count();
        if let Some(topic) = topic.filter(|topic| at_once > 0 && self.waiters.in_line(*topic)) {
            self.proposals.add_fresh(topic, at_once as u64);
        }
        let parts = PushParts { asker, session, push, proposed: 0, results: Vec::new() };
        self.propose_part(node, group, parts);
    }

    /// Continues a push that is proposed in parts.
    pub(crate) fn push_on(&mut self, node: &mut Node, group: &Group, parts: PushParts) {
        match self.no_room_for_jobs(node) {
            Some(refusal) => parts.end(node, refusal),
            None => self.propose_part(node, group, parts),
        }
    }

    /// Handles the outcome of a part.
    pub(super) fn part_pushed(&mut self, node: &mut Node, connection: ConnectionId, outcome: Outcome) {
        let Some(mut parts) = node.connections.take_parts(connection) else { return };
        match outcome {
            Outcome::Pushed(outcomes) => {
                parts.proposed = 0;
                parts.results.extend(outcomes.into_iter().map(push_result));
                if parts.results.len() == parts.push.jobs.len() {
                    node.connections.send(parts.asker, Response::Pushed(parts.results));
                } else if node.stop != Stop::No {
                    parts.end(node, stopping());
                } else {
                    node.connections.hold_parts(connection, parts);
                }
            }
            other => match response(other) {
                Response::Error(refusal) => parts.end(node, refusal),
                other => unreachable!("{other:?} is no outcome of a push"),
            },
        }
        node.connections.end_turn(connection);
        self.forget_if_done(node, connection);
    }

    /// Ends a push that is proposed in parts when this node no longer leads: its outcome is unknown.
    pub(super) fn lose_parts(&mut self, node: &mut Node, connection: ConnectionId, elsewhere: &ErrorReply) {
        if let Some(parts) = node.connections.take_parts(connection) {
            let unknown = ErrorReply { applied: Applied::Unknown, ..elsewhere.clone() };
            node.connections.refuse(parts.asker, unknown);
            node.connections.end_turn(connection);
            self.forget_if_done(node, connection);
        }
    }

    /// Proposes as many of the remaining jobs as fit into one command.
    fn propose_part(&mut self, node: &mut Node, group: &Group, mut parts: PushParts) {
        let PushParts { asker, session, ref push, .. } = parts;
        let (first, lag_ms) = (parts.results.len(), node.stamp_lag_ms());
        let jobs = push.jobs.iter().skip(first).map(|job| NewJob {
            due: at_least(job.due, lag_ms),
            priority: job.priority,
            ttr_ms: job.ttr_ms,
            if_exists: job.if_exists,
            key: job.key.as_ref().map(Key::as_bytes),
            attributes: job.attributes.as_bytes(),
            body: &job.body,
        });
        let (topic, mut jobs) = (push.topic.as_str(), jobs.collect::<Vec<_>>());
        let (count, work) = group.state.part_of(topic, &jobs);
        let is_whole = first == 0 && count == jobs.len();
        jobs.truncate(count);
        let command = match push.idempotency {
            Some(Idempotency { key, list_jobs }) => Command::PushIdempotent {
                owner: node.connections.access(asker.connection).map_or(0, |access| owner_of(&access)),
                key: key.get().wrapping_add(first as u128),
                list_jobs,
                topic,
                jobs,
            },
            None if push.sequence == 0 => Command::Push { session, sequence: 0, topic, jobs },
            None => Command::Push { session, sequence: push.sequence + first as u64, topic, jobs },
        };
        let reply = if is_whole { Reply::Request(asker) } else { Reply::Part(asker.connection) };
        self.proposals.add(&command, work + count as u64, reply, node.now_us);
        if !is_whole {
            parts.proposed = count;
            node.connections.hold_parts(asker.connection, parts);
        }
    }

    /// The error if no jobs can be accepted now.
    pub(super) fn no_room_for_jobs(&self, node: &Node) -> Option<ErrorReply> {
        if node.disk_low {
            let full = "the disk is nearly full: make space; finish and delete still work";
            return Some(retry_later(ErrorCode::DiskFull, full, 5000));
        }
        if node.memory.is_short_with(self.proposals.bytes()) {
            let full = "the queue takes as much memory as it may: finish or delete jobs, or give it more";
            return Some(retry_later(ErrorCode::Busy, full, 500));
        }
        (self.proposals.bytes() > node.config.uncommitted_bytes_max).then(too_much_under_way)
    }
}

/// Refuses a list that might be partly forgotten before it is sent again.
fn too_long_a_list(push: &Push) -> Option<ErrorReply> {
    let Idempotency { list_jobs, .. } = push.idempotency?;
    let many = format!(
        "a list under an idempotency key has at most {IDEMPOTENT_LIST_JOBS_MAX} jobs, and this one has {list_jobs}: send it as several \
         lists, each under a key of its own"
    );
    (list_jobs as usize > IDEMPOTENT_LIST_JOBS_MAX).then(|| ErrorReply::new(ErrorCode::TooLarge, many))
}

/// The owner of a client's idempotency keys: a hash of its token's name, which is the same on every member.
fn owner_of(access: &Access) -> u64 {
    xxh3_64(access.token.as_bytes())
}
