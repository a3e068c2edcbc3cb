//! Gaining and losing leadership: when clients are served, and when they are redirected.

use super::Replica;
use super::io::{ConnectionId, Notice};
use super::proposals::Reply;
use super::state_trust::Untrusted;
use crate::engine::Command;
use crate::protocol::{Applied, ErrorCode, ErrorReply, GoingAway, RequestId, Response};
use crate::raft::MembershipChange;

/// Without a leader, clients wait at least this long before they ask again. An election takes longer; a transfer does not.
const ELECTION_PAUSE_MS: u32 = 20;

impl Replica {
    /// Whether this node leads and has applied everything from before: then it takes requests.
    pub(super) fn is_serving(&self) -> bool {
        self.serving_term.is_some()
    }

    /// Serves from the moment at which an entry of its own term is applied, until it does not lead any more.
    pub(super) fn follow_leadership(&mut self) {
        let term = self.group.term();
        if self.group.is_leader() && !self.clock.is_set() && !self.has_lost_state() {
            // The other members go by its stamp from here on. One clock alone may have been set unnoticed. Without a state it is not
            // known how far the wall clock is from the stamp.
            let wall = self.peers.reached(self.config.node, self.group.members(), self.wall, self.now_us);
            self.clock.catch_up(wall);
        }
        let sound = self.untrusted.is_none();
        let serves = |served: &mut u64| self.group.is_leader() && sound && *served == term;
        if let Some(served_term) = self.serving_term.take_if(|served| !serves(served)) {
            self.end_leading(served_term);
        }
        if self.serving_term.is_none() && self.group.is_leader() && sound && self.applied.1 == term {
            self.serving_term = Some(term);
            self.notices.push(Notice::Leading { term });
            self.begin_leading();
        }
        let leader = self.group.leader().filter(|leader| *leader != self.config.node);
        if leader != self.cluster.leader_told {
            self.cluster.leader_told = leader;
            self.notices.extend(leader.map(|leader| Notice::Follows { leader }));
        }
    }

    /// Founds the queue if that has not been done, takes over the clock, and starts every session's grace anew.
    fn begin_leading(&mut self) {
        if !self.group.is_alone() {
            self.clock.lead(self.engine.stamp(), self.engine.clock_offset_ms());
        }
        if !self.engine.has_genesis() {
            let key_secret = self.config.entropy.last_chunk().copied().unwrap_or_default();
            self.add_command(&Command::Genesis { key_secret }, Reply::Nobody);
            // Of a new queue, no session is older than what its members can do.
            self.raise_feature_level();
        }
        if self.engine.members().is_empty() && self.group.is_alone() {
            // From here on the log has the members of the group; later members learn them from there.
            let founded = self.group.propose_change(MembershipChange::Alone(self.config.node));
            debug_assert!(founded.is_ok(), "nothing else was proposed: {founded:?}");
        }
        if self.clock.offset_ms() != self.engine.clock_offset_ms() {
            self.propose_offset();
        }
        if self.config.retry_defaults != *self.engine.retry_defaults() {
            let defaults = self.config.retry_defaults.clone();
            self.add_command(&Command::RetryDefaults { defaults }, Reply::Nobody);
        }
        let end_us = self.now_us + self.config.session_grace_ms * 1000;
        for session in self.engine.sessions() {
            self.connections.start_grace(session.id, end_us);
        }
        // The leader before this one was in the middle of it.
        for session in self.engine.lapsing_sessions().collect::<Vec<_>>() {
            self.end_session(session, Reply::Lapse(session));
        }
    }

    /// This node led in `served_term` and no longer does. Redirects all waiting requests: proposed commands may or may not be
    /// applied, the others are not.
    fn end_leading(&mut self, served_term: u64) {
        self.notices.push(Notice::Following { term: self.group.term() });
        let elsewhere = self.elsewhere();
        let unknown = ErrorReply { applied: Applied::Unknown, ..elsewhere.clone() };
        let (proposed, gathered) = self.proposals.take_lost();
        // Commands held for these go first: otherwise this node would propose them when it leads again, much later.
        let ends = std::mem::take(&mut self.held_ends).into_values().flatten();
        self.answer_lost(proposed, &unknown);
        let not_proposed = gathered.into_iter().chain(ends.map(|(_, reply)| reply)).collect();
        self.answer_lost(not_proposed, &elsewhere);
        let reads = self.reads.take_all().into_iter().map(|(connection, request, _)| (connection, request));
        for (connection, request) in reads.chain(self.passes.take_askers()).collect::<Vec<_>>() {
            self.connections.refuse(connection, request, elsewhere.clone());
        }
        self.refuse_backups(&elsewhere);
        self.leave_cluster_work(served_term, unknown);
        for connection in self.connections.ids() {
            self.send_away(connection, &elsewhere);
        }
        self.connections.forget_graces();
        self.lapsing.clear();
        self.token_limits.clear();
        self.given_back.clear();
    }

    /// Answers everything that waits on a connection, and closes it.
    fn send_away(&mut self, connection: ConnectionId, elsewhere: &ErrorReply) {
        self.lose_parts(connection, elsewhere);
        while let Some((id, _)) = self.connections.take_held(connection) {
            self.connections.refuse(connection, id, elsewhere.clone());
        }
        for id in self.waiters.of(connection) {
            let Some(waiter) = self.waiters.remove(id) else { continue };
            if waiter.is_poll() {
                self.connections.refuse(connection, waiter.request, elsewhere.clone());
            } else {
                self.connections.tell(connection, waiter.request, Response::Error(elsewhere.clone()));
            }
        }
        self.connections.end(connection);
        self.connections.tell(
            connection,
            RequestId(0),
            Response::GoingAway { message: elsewhere.message.clone(), reason: GoingAway::NotLeader },
        );
        self.closes.push(connection);
    }

    /// What a request is told that only the leader can carry out.
    pub(super) fn elsewhere(&self) -> ErrorReply {
        let leader = self
            .group
            .leader()
            .or_else(|| self.recent_transfer_target())
            .filter(|leader| *leader != self.config.node);
        let address = leader.and_then(|leader| self.engine.members().get(&leader));
        let Some(member) = address else {
            let text = match self.untrusted {
                None => "no leader is elected yet: try again",
                Some(Untrusted::Outvoted { .. }) => {
                    "this node's state is not that of most members, and no other node leads yet: try another one"
                }
                Some(Untrusted::Lost { .. }) => {
                    "this node cannot read its state, and no other node leads yet: try another one"
                }
            };
            let mut error = ErrorReply::new(ErrorCode::NoLeader, text);
            error.retry_after_ms = ELECTION_PAUSE_MS;
            return error;
        };
        let text = format!("node {} at {} leads: connect to it", member.node, member.client_address);
        let leader = Some(member.client_address.clone());
        ErrorReply { leader, ..ErrorReply::new(ErrorCode::NotLeader, text) }
    }

    /// Answers everybody who waited for an entry whose outcome this node will not learn.
    pub(super) fn answer_lost(&mut self, replies: Vec<Reply>, error: &ErrorReply) {
        for reply in replies {
            match reply {
                Reply::Request(connection, request)
                | Reply::Bulk(connection, request, _)
                | Reply::Open(connection, request, _)
                | Reply::Resume(connection, request, _) => {
                    self.connections.refuse(connection, request, error.clone());
                }
                Reply::Part(connection) => self.lose_parts(connection, error),
                Reply::Close(connection, request, session) => {
                    self.lapsing.remove(&session);
                    self.connections.refuse(connection, request, error.clone());
                }
                Reply::Turn(waiter, claim) => {
                    self.waiters.turn_over(waiter, claim);
                    self.waiters.line_up(waiter);
                    self.propose_held(claim.session);
                }
                Reply::Lapse(session) => _ = self.lapsing.remove(&session),
                Reply::Nobody => {}
            }
        }
    }
}
