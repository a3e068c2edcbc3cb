//! What a node has only while it leads a group and serves its clients: whoever waits for something, and what is on its way
//! through the log for them.
//!
//! It begins when an entry of the node's own term is applied, and ends when the node does not lead any more: then everybody who
//! waits is told where to go, and nothing of it is left.

mod browse;
mod bulk;
mod changes;
mod operator;
mod outcomes;
pub(crate) mod proposals;
mod propose;
pub(crate) mod pushes;
mod queries;
mod reads;
pub(crate) mod requests;
pub(crate) mod sessions;
mod shares;
pub(crate) mod token_limits;
mod topic_pass;
mod waiters;

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::Command;
use crate::protocol::{Applied, ErrorReply, GoingAway, Response};
use crate::raft::MembershipChange;
use crate::replica::group::Group;
use crate::replica::io::{ConnectionId, Notice};
use crate::replica::leader::browse::Passes;
use crate::replica::leader::changes::Changes;
use crate::replica::leader::proposals::{Proposals, Reply};
use crate::replica::leader::reads::PendingReads;
use crate::replica::leader::sessions::Graces;
use crate::replica::leader::token_limits::TokenLimits;
use crate::replica::leader::waiters::Waiters;
use crate::replica::node::Node;
use crate::types::{Lease, SessionId};

/// A leader that serves clients.
pub(crate) struct Leader {
    /// The term in which it leads.
    pub(crate) term: u64,
    pub(crate) waiters: Waiters,
    pub(crate) proposals: Proposals,
    pub(crate) reads: PendingReads,
    pub(crate) passes: Passes,
    /// The sessions of each token, as far as this node opened them.
    pub(crate) token_limits: TokenLimits,
    pub(crate) graces: Graces,
    /// Sessions whose lapse or close is proposed: they cannot be resumed without another command.
    pub(crate) lapsing: BTreeSet<SessionId>,
    /// Commands that end or resume these sessions, held back while reserves of theirs are in flight: undelivered grants are
    /// given back first.
    pub(crate) held_ends: BTreeMap<SessionId, Vec<(Command<'static>, Reply)>>,
    /// Leases that this leader itself gives back, as their jobs did not reach their consumer.
    pub(crate) given_back: BTreeSet<Lease>,
    pub(crate) changes: Changes,
    pub(crate) next_housekeeping_us: u64,
    /// While a checkpoint lags behind the log, nothing is proposed before: the last entry was a moment ago.
    pub(crate) next_proposal_us: u64,
}

impl Leader {
    /// This node leads from now on, in this term. Founds the queue if that has not been done, takes over the clock, and starts every
    /// session's grace anew.
    pub(crate) fn begin(node: &mut Node, group: &mut Group, term: u64) -> Self {
        node.notices.push(Notice::Leading { term });
        let mut leader = Self {
            term,
            waiters: Waiters::new(group.engine.next_topic()),
            proposals: Proposals::new(group.engine.stamp()),
            reads: PendingReads::default(),
            passes: Passes::default(),
            token_limits: TokenLimits::default(),
            graces: Graces::default(),
            lapsing: BTreeSet::new(),
            held_ends: BTreeMap::new(),
            given_back: BTreeSet::new(),
            changes: Changes::default(),
            next_housekeeping_us: node.now_us,
            next_proposal_us: node.now_us,
        };
        leader.take_over(node, group);
        leader
    }

    fn take_over(&mut self, node: &Node, group: &mut Group) {
        if !group.raft.is_alone() {
            group.clock.lead(group.engine.stamp(), group.engine.clock_offset_ms());
        }
        if !group.engine.has_genesis() {
            let key_secret = node.config.entropy.last_chunk().copied().unwrap_or_default();
            self.add_command(node, group, &Command::Genesis { key_secret }, Reply::Nobody);
            // Of a new queue, no session is older than what its members can do.
            self.raise_feature_level(node, group);
        }
        if group.engine.members().is_empty() && group.raft.is_alone() {
            // From here on the log has the members of the group; later members learn them from there.
            let founded = group.raft.propose_change(MembershipChange::Alone(node.config.node));
            debug_assert!(founded.is_ok(), "nothing else was proposed: {founded:?}");
        }
        if group.clock.offset_ms() != group.engine.clock_offset_ms() {
            self.propose_offset(group);
        }
        if node.config.retry_defaults != *group.engine.retry_defaults() {
            let defaults = node.config.retry_defaults.clone();
            self.add_command(node, group, &Command::RetryDefaults { defaults }, Reply::Nobody);
        }
        for session in group.engine.sessions() {
            self.start_grace(node, session.id);
        }
        // The leader before this one was in the middle of it.
        for session in group.engine.lapsing_sessions().collect::<Vec<_>>() {
            self.end_session(node, group, session, Reply::Lapse(session));
        }
    }

    /// This node no longer leads. Redirects all waiting requests: proposed commands may or may not be applied, the others are not.
    pub(crate) fn end(mut self, node: &mut Node, group: &mut Group) {
        node.notices.push(Notice::Following { term: group.raft.term() });
        let elsewhere = group.elsewhere(node);
        let unknown = ErrorReply { applied: Applied::Unknown, ..elsewhere.clone() };
        let (proposed, gathered) = self.proposals.take_lost();
        // Commands held for these go first: otherwise this node would propose them when it leads again, much later.
        let ends = std::mem::take(&mut self.held_ends).into_values().flatten();
        self.answer_lost(node, group, proposed, &unknown);
        let not_proposed = gathered.into_iter().chain(ends.map(|(_, reply)| reply)).collect();
        self.answer_lost(node, group, not_proposed, &elsewhere);
        let reads = self.reads.take_all().into_iter().map(|(asker, _)| asker);
        for asker in reads.chain(self.passes.take_askers()).collect::<Vec<_>>() {
            node.connections.refuse(asker, elsewhere.clone());
        }
        group.refuse_backups(node, &elsewhere);
        std::mem::take(&mut self.changes).leave(node, group, self.term, unknown);
        for connection in node.connections.ids() {
            self.send_away(node, connection, &elsewhere);
        }
    }

    /// Answers everything that waits on a connection, and closes it.
    fn send_away(&mut self, node: &mut Node, connection: ConnectionId, elsewhere: &ErrorReply) {
        self.lose_parts(node, connection, elsewhere);
        while let Some((asker, _)) = node.connections.take_held(connection) {
            node.connections.refuse(asker, elsewhere.clone());
        }
        for id in self.waiters.of(connection) {
            let Some(waiter) = self.waiters.remove(id) else { continue };
            if waiter.is_poll() {
                node.connections.refuse(waiter.asker, elsewhere.clone());
            } else {
                node.connections.tell(waiter.asker, Response::Error(elsewhere.clone()));
            }
        }
        node.connections.end(connection);
        node.connections.say_goodbye(connection, &elsewhere.message, GoingAway::NotLeader);
        node.closes.push(connection);
    }

    /// Answers everybody who waited for an entry whose outcome this node will not learn.
    pub(crate) fn answer_lost(
        &mut self,
        node: &mut Node,
        group: &Group,
        replies: Vec<Reply>,
        error: &ErrorReply,
    ) {
        for reply in replies {
            match reply {
                Reply::Request(asker)
                | Reply::Bulk(asker, _)
                | Reply::Open(asker, _)
                | Reply::Resume(asker, _) => {
                    node.connections.refuse(asker, error.clone());
                }
                Reply::Part(connection) => self.lose_parts(node, connection, error),
                Reply::Close(asker, session) => {
                    self.lapsing.remove(&session);
                    node.connections.refuse(asker, error.clone());
                }
                Reply::Turn(waiter, claim) => {
                    self.waiters.turn_over(waiter, claim);
                    self.waiters.line_up(waiter);
                    self.propose_held(node, group, claim.session);
                }
                Reply::Lapse(session) => _ = self.lapsing.remove(&session),
                Reply::Nobody => {}
            }
        }
    }
}
