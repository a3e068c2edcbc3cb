//! Broken on purpose: messages and requests that were never sent, or that were changed on their way.

use adjourn_protocol::{JobRef, PushResult, Request, RequestId, Response};
use adjourn_raft::Message;
use adjourn_replica::{Bundle, ConnectionId, Input, Permit, WriteBatch};
use adjourn_types::{Fired, Firing};
use bytes::{BufMut as _, Bytes, BytesMut};

use super::mutants::Mutant;
use super::seen::NodeId;
use super::world::World;

/// The numbers under which messages go.
const APPEND_RESPONSE: u8 = 2;
const HEARTBEAT: u8 = 6;
const HEARTBEAT_RESPONSE: u8 = 7;
/// Numbers below this one are a single byte.
const SHORT_MAX: u64 = 250;
/// A leader's stamp is shown so far ahead.
const STAMP_AHEAD_US: u64 = 60_000_000;

impl World {
    /// A leader writes a batch: who breaks the rules agrees at once, in the names of all others.
    pub(super) fn forge_agreement(&mut self, leader: NodeId, order: &WriteBatch) {
        let last = order.batch.entries.last();
        let (Some(last), Mutant::AcksForOthers) = (last, self.plan.mutant) else { return };
        if self.leading != Some(leader) {
            return;
        }
        for from in self.nodes.keys().copied().filter(|node| *node != leader).collect::<Vec<_>>() {
            let bytes = forged(APPEND_RESPONSE, leader, from, last.term, last.index);
            self.hand_forged(leader, from, &bytes);
        }
    }

    /// A node has said something: who breaks the rules answers for whom it was said to.
    pub(super) fn forge_answer(&mut self, from: NodeId, to: NodeId, messages: &[Bytes]) {
        if self.plan.mutant != Mutant::HeartbeatsEchoed {
            return;
        }
        for message in messages.iter().filter(|message| message.first() == Some(&HEARTBEAT)) {
            let mut answer = BytesMut::from(&message[..]);
            answer[0] = HEARTBEAT_RESPONSE;
            answer.as_mut()[1..3].reverse();
            self.hand_forged(from, to, &answer.freeze());
        }
    }

    pub(super) fn hand_forged(&mut self, to: NodeId, from: NodeId, bytes: &Bytes) {
        let message = Message::decode(bytes).expect("a forgery that can be read");
        let wall = self.nodes[&to].wall.show(self.now);
        let bundle = Bundle { wall, stamp_us: 0, applied: 0, audited: (0, 0), messages: vec![message] };
        self.hand(to, Input::Peer { from, bundle });
    }

    /// What a bundle says beside its messages, as it reaches a node.
    pub(super) fn falsify(&self, to: NodeId, bundle: &mut Bundle) {
        match self.plan.mutant {
            Mutant::StampJumps => bundle.stamp_us += STAMP_AHEAD_US,
            Mutant::ClocksUnseen => bundle.wall = self.nodes[&to].wall.show(self.now),
            _ => {}
        }
    }

    /// A push was answered: a mutant deletes one of its jobs without a request.
    pub(super) fn end_unasked(
        &mut self,
        node: NodeId,
        connection: ConnectionId,
        request: Option<&Request>,
        response: &Response,
    ) {
        let (Some(Request::Push(push)), Response::Pushed(results)) = (request, response) else { return };
        let lost =
            push.jobs.iter().zip(results).filter_map(|(new, result)| match (self.plan.mutant, result) {
                (Mutant::ReplacementLost, PushResult::Replaced(job)) => Some(*job),
                (Mutant::ExpiredTooSoon, PushResult::Pushed(job)) => {
                    new.attributes.policy().expires.map(|_| *job)
                }
                _ => None,
            });
        for job in lost.collect::<Vec<_>>() {
            let requests = vec![(RequestId(u32::MAX), Request::Delete(JobRef::Id(job)))];
            self.hand(node, Input::Requests { connection, from: None, requests, permit: Permit::default() });
        }
    }

    /// A node answers: who breaks the rules says what it said before.
    pub(super) fn repeat_old(&mut self, node: NodeId, responses: &mut [(RequestId, Response)]) {
        if self.plan.mutant != Mutant::TopicsRepeated {
            return;
        }
        let topics = responses.iter_mut().map(|(_, response)| response);
        for response in topics.filter(|response| matches!(response, Response::Topics(_))) {
            let old = self.node(node).old_topics.get_or_insert(response.clone()).clone();
            *response = old;
        }
    }

    /// A node shows schedules: who breaks the rules changes what they did.
    pub(super) fn falsify_firings(&self, responses: &mut [(RequestId, Response)]) {
        for (id, response) in responses {
            let Response::Schedule(report) = response else { continue };
            let history = &mut report.history;
            match self.plan.mutant {
                Mutant::FiringLeftOut if history.len() > 4 => {
                    // The history keeps its length.
                    let forgotten = history.remove(history.len() - 2);
                    history.insert(0, forgotten);
                }
                Mutant::FiringRepeated => {
                    if let Some(Firing { what: Fired::Pushed { job, .. }, .. }) = history.last_mut() {
                        job.0 += u64::from(id.0) << 32;
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether a push came to another node before.
    pub(super) fn is_repeated_elsewhere(&mut self, node: NodeId, request: &Request) -> bool {
        let Request::Push(push) = request else { return false };
        let Some(first) = push.jobs.first() else { return false };
        *self.pushed_at.entry(first.body.clone()).or_insert(node) != node
    }
}

/// A message about an entry, by the number under which its kind goes.
pub(super) fn forged(kind: u8, to: NodeId, from: NodeId, term: u64, index: u64) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(kind);
    let (log_term, commit, commit_term, request_snapshot) = (0, 0, 0, 0);
    for number in [to, from, term, log_term, index, commit, commit_term, request_snapshot] {
        put_number(&mut bytes, number);
    }
    // Not rejected, without a hint, priority, context, checkpoint and entries.
    bytes.put_bytes(0, 6);
    bytes.freeze()
}

fn put_number(bytes: &mut BytesMut, number: u64) {
    match (u8::try_from(number), u16::try_from(number)) {
        (Ok(short), _) if number <= SHORT_MAX => bytes.put_u8(short),
        (_, Ok(short)) => {
            bytes.put_u8(251);
            bytes.put_u16_le(short);
        }
        _ => {
            bytes.put_u8(253);
            bytes.put_u64_le(number);
        }
    }
}
