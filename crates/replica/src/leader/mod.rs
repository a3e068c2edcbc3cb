//! The part of a replica that exists only while it leads a group and serves clients: waiting requests, and work in flight
//! through the log.
//!
//! It begins when an entry of the node's own term is applied, and ends when the node no longer leads: then all waiting
//! clients are told where to go.

mod advance;
mod backfill;
mod browse;
mod bulk;
mod changes;
mod connection_list;
mod consumption;
mod edit;
mod firing;
mod groups;
mod outcomes;
pub(crate) mod proposals;
pub(crate) mod pushes;
mod reads;
mod requests;
mod schedules;
mod sessions;
mod shares;
mod suspended;
mod topic_pass;
mod waiters;

use std::collections::{BTreeMap, BTreeSet};

use crate::group::Group;
use crate::io::{ConnectionId, Notice};
use crate::leader::advance::Advances;
use crate::leader::browse::Passes;
use crate::leader::changes::Changes;
use crate::leader::consumption::{Consumption, Lateness};
use crate::leader::firing::Firings;
use crate::leader::proposals::{Proposals, Reply};
use crate::leader::reads::PendingReads;
use crate::leader::sessions::Graces;
use crate::leader::suspended::SuspendedCalls;
use crate::leader::waiters::{Claim, WaiterId, Waiters};
use crate::node::Node;
use crate::token_limits::TokenLimits;
use adjourn_engine::{Command, SKIPPED_FENCES_MAX};
use adjourn_protocol::{Applied, ErrorReply, GoingAway, Response};
use adjourn_raft::MembershipChange;
use adjourn_types::limits::ENTRY_BYTES_TARGET;
use adjourn_types::{Lease, Millis, SessionId};

/// Most batches that are not durable yet: one being written, and one waiting for the disk.
const WRITES_IN_FLIGHT_MAX: usize = 2;
/// A batch ends with the entry that brings it to this size, in bytes: it limits what the disk has unsynced at once.
const WRITE_BYTES_MAX: usize = 512 << 10;
/// How often due jobs are moved if no consumer waits for them.
const HOUSEKEEPING_US: u64 = 1_000_000;
/// No request is taken while unapplied commands have this much work.
const UNDER_WAY_WORK_MAX: u64 = 65_536;
/// No request is taken while this many reads wait to be answered.
const READS_MAX: usize = 1024;
/// No request is taken while the waiting reads have this much work.
const READS_WORK_MAX: u64 = 8192;

/// The leader of a group, while it serves clients.
pub(super) struct Leader {
    /// The term in which this node leads.
    pub(super) term: u64,
    pub(super) waiters: Waiters,
    pub(super) lateness: Lateness,
    pub(super) proposals: Proposals,
    pub(super) reads: PendingReads,
    pub(super) passes: Passes,
    /// The sessions of each token that were opened on this leader, and its topics.
    pub(super) token_limits: TokenLimits,
    pub(super) graces: Graces,
    /// Sessions whose lapse or close was proposed: only another command can resume them.
    pub(super) lapsing: BTreeSet<SessionId>,
    /// Commands that end or resume sessions whose reserves are in flight. They wait, so that undelivered grants are given
    /// back first.
    pub(super) held_ends: BTreeMap<SessionId, Vec<(Command<'static>, Reply)>>,
    /// Leases that this leader gives back because their jobs did not reach their consumer.
    pub(super) given_back: BTreeSet<Lease>,
    pub(super) firings: Firings,
    pub(super) suspended: SuspendedCalls,
    pub(super) changes: Changes,
    pub(super) advances: Advances,
    pub(super) next_housekeeping_us: u64,
    /// No entry is proposed before this time: while a checkpoint lags, entries are kept apart.
    pub(super) next_proposal_us: u64,
}

impl Leader {
    /// Begins to lead in a term.
    pub(super) fn begin(node: &mut Node, group: &mut Group, term: u64) -> Self {
        node.notices.push(Notice::Leading { term });
        let mut leader = Self {
            term,
            waiters: Waiters::new(group.state.engine.next_topic()),
            lateness: Lateness::default(),
            proposals: Proposals::new(group.state.engine.stamp()),
            reads: PendingReads::default(),
            passes: Passes::default(),
            token_limits: TokenLimits::default(),
            graces: Graces::default(),
            lapsing: BTreeSet::new(),
            held_ends: BTreeMap::new(),
            given_back: BTreeSet::new(),
            firings: Firings::default(),
            suspended: SuspendedCalls::default(),
            changes: Changes::default(),
            advances: Advances::default(),
            next_housekeeping_us: node.now_us,
            next_proposal_us: node.now_us,
        };
        leader.take_over(node, group);
        leader
    }

    /// Founds the queue if necessary, takes over the clock, and restarts the grace of every session.
    fn take_over(&mut self, node: &Node, group: &mut Group) {
        if !group.raft.is_alone() {
            group.state.clock.lead(group.state.engine.stamp(), group.state.engine.clock_offset_ms());
        }
        if !group.state.engine.has_genesis() {
            let key_secret = node.config.entropy.last_chunk().copied().unwrap_or_default();
            self.proposals.add_command(node, group, &Command::Genesis { key_secret }, Reply::Nobody);
            // The level is raised before the first answer.
            self.changes.raise_feature_level(node, group, &mut self.proposals);
        } else if group.raft.is_alone() {
            // Some may have been issued for volatile leases, and lost.
            let command = Command::SkipFences { count: SKIPPED_FENCES_MAX };
            self.proposals.add_command(node, group, &command, Reply::Nobody);
        }
        if group.state.engine.members().is_empty() && group.raft.is_alone() {
            // This change puts the members into the log, from which later members learn them.
            let founded = group.raft.propose_change(MembershipChange::Alone(node.config.node));
            debug_assert!(founded.is_ok(), "nothing else was proposed: {founded:?}");
        }
        if group.state.clock.offset_ms() != group.state.engine.clock_offset_ms() {
            self.propose_offset(group);
        }
        if node.config.retry_defaults != *group.state.engine.retry_defaults() {
            let defaults = node.config.retry_defaults.clone();
            self.proposals.add_command(node, group, &Command::RetryDefaults { defaults }, Reply::Nobody);
        }
        for session in group.state.engine.sessions() {
            self.start_grace(node, session.id);
        }
        // The previous leader had begun to end these sessions.
        for session in group.state.engine.lapsing_sessions().collect::<Vec<_>>() {
            self.end_session(node, group, session, Reply::Lapse(session));
        }
    }

    /// Ends the leadership. Refuses all waiting requests and names the new leader: the outcome of proposed commands is
    /// unknown, other commands were not applied.
    pub(crate) fn end(mut self, node: &mut Node, group: &mut Group) {
        node.notices.push(Notice::Following { term: group.raft.term() });
        let elsewhere = group.elsewhere(node);
        let unknown = ErrorReply { applied: Applied::Unknown, ..elsewhere.clone() };
        let (proposed, gathered) = std::mem::take(&mut self.proposals).lost();
        // Taken first: `answer_lost` would propose these commands, and their clients would get no answer.
        let ends = std::mem::take(&mut self.held_ends).into_values().flatten();
        self.answer_lost(node, group, proposed, &unknown);
        let not_proposed = gathered.into_iter().chain(ends.map(|(_, reply)| reply)).collect();
        self.answer_lost(node, group, not_proposed, &elsewhere);
        self.advances.refuse_all(node, &elsewhere);
        let reads = std::mem::take(&mut self.reads).all().map(|(asker, _)| asker);
        for asker in reads.chain(self.passes.take_askers()).collect::<Vec<_>>() {
            node.connections.refuse(asker, elsewhere.clone());
        }
        group.refuse_backups(node, &elsewhere);
        std::mem::take(&mut self.changes).leave(node, group, self.term, unknown);
        for connection in node.connections.ids() {
            self.send_away(node, connection, &elsewhere);
        }
    }

    /// Refuses everything that waits on a connection, and closes it.
    fn send_away(&mut self, node: &mut Node, connection: ConnectionId, elsewhere: &ErrorReply) {
        self.lose_parts(node, connection, elsewhere);
        while let Some((asker, _)) = node.connections.take_held(connection) {
            node.connections.refuse(asker, elsewhere.clone());
        }
        for waiter in self.waiters.take_of(connection) {
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

    /// Refuses the requests that wait for entries whose outcome this node will not learn.
    pub(super) fn answer_lost(
        &mut self,
        node: &mut Node,
        group: &Group,
        replies: Vec<Reply>,
        error: &ErrorReply,
    ) {
        for reply in replies {
            match reply {
                Reply::Request(asker)
                | Reply::Bulk { asker, .. }
                | Reply::Fill { asker, .. }
                | Reply::SetSchedule(asker, ..)
                | Reply::Open(asker, _)
                | Reply::Resume(asker, _) => {
                    node.connections.refuse(asker, error.clone());
                }
                Reply::Part(connection) => self.lose_parts(node, connection, error),
                Reply::Close(asker, session) => {
                    self.lapsing.remove(&session);
                    node.connections.refuse(asker, error.clone());
                }
                Reply::PendingReserve(waiter, claim) => {
                    self.waiters.turn_over(waiter, claim);
                    self.waiters.line_up(waiter);
                    self.propose_held(node, group, claim.session);
                }
                Reply::Fired(schedule) => self.firings.done(schedule, node.now_us),
                Reply::Lapse(session) => _ = self.lapsing.remove(&session),
                Reply::Nobody => {}
            }
        }
    }

    /// What consumers get of each topic.
    pub(super) fn consumption(&self) -> Consumption<'_> {
        Consumption { waiters: &self.waiters, lateness: &self.lateness }
    }

    pub(super) fn has_more_to_do(&self, node: &Node, group: &Group) -> bool {
        let reads = self.reads.any_ready(group.applied.0);
        // A BULK finds its jobs after the entries of its turn were proposed.
        let commands =
            self.may_propose(node, group) && (self.proposals.any_waiting() || self.may_fire(node, group));
        reads || commands || self.passes.are_any() || self.may_go_on_advancing(node, group)
    }

    /// True if another request can be taken now.
    pub(super) fn takes_requests(&self) -> bool {
        let reads = self.reads.count() < READS_MAX && self.reads.work() < READS_WORK_MAX;
        reads && self.proposals.work() < UNDER_WAY_WORK_MAX
    }

    /// When there is work to do if no event comes before, on the monotonic clock.
    pub(super) fn next_wake_us(&self, node: &Node, group: &mut Group) -> u64 {
        let grace_us = self.graces.next_end_us().map(|end_us| node.wakes_at_us(end_us));
        let ends = [grace_us, self.waiters.next_deadline_us(node.now_us)];
        let mut wake_us = ends.into_iter().flatten().fold(self.changes.next_keep_us(group), u64::min);
        if group.log.in_flight.len() < WRITES_IN_FLIGHT_MAX {
            let is_held_back = self.next_proposal_us > node.now_us;
            wake_us = wake_us.min(if is_held_back {
                self.next_proposal_us
            } else {
                self.next_timer_us(node, group)
            });
        }
        wake_us
    }

    /// When a timer of the engine needs an entry: when it fires if a consumer waits, else at the next housekeeping.
    /// Housekeeping waits for a batch that is being written, whose end wakes the node anyway.
    fn next_timer_us(&self, node: &Node, group: &mut Group) -> u64 {
        let stamp = group.state.clock.stamp();
        let housekeeping_us = if group.may_keep_house(node) { self.next_housekeeping_us } else { u64::MAX };
        let mut timer_us = if group.state.engine.is_overdue(stamp) { housekeeping_us } else { u64::MAX };
        if let Some(free) = group.state.engine.next_free(stamp, |topic| self.waiters.in_line(topic)) {
            timer_us = timer_us.min(node.wakes_at_us(group.state.clock.elapsed_at(free)));
        }
        if let Some(deadline) = group.state.engine.next_deadline_after(stamp) {
            let fires_us = node.wakes_at_us(group.state.clock.elapsed_at(deadline));
            let waited_for = self.waiters.any_in_line();
            timer_us = timer_us.min(if waited_for { fires_us } else { fires_us.max(housekeeping_us) });
        }
        timer_us
    }

    /// True if disk and group can take another entry now.
    pub(super) fn may_propose(&self, node: &Node, group: &Group) -> bool {
        group.raft.takes_proposals()
            && node.now_us >= self.next_proposal_us
            && group.log.in_flight.len() < WRITES_IN_FLIGHT_MAX
    }

    /// Stamps and proposes the collected commands, and reserves for waiting consumers. Returns true if an entry was
    /// proposed. Commands that cannot be proposed yet stay.
    pub(super) fn propose(&mut self, node: &mut Node, group: &mut Group) -> bool {
        if !self.may_propose(node, group) {
            return false;
        }
        let stamp = group.state.clock.stamp();
        self.take_turns(node, group, stamp);
        let pause_us = group.lagging_pause_us(node);
        let bytes_max = if pause_us == 0 { WRITE_BYTES_MAX } else { ENTRY_BYTES_TARGET };
        let housekeeping = self.housekeeping_is_due(node, group, stamp);
        let mut bytes = 0;
        while bytes < bytes_max && (self.proposals.any_waiting() || (bytes == 0 && housekeeping)) {
            let (data, mut proposal) = self.proposals.take_entry(stamp);
            // Its entry must not do what time does, either.
            proposal.is_volatile = proposal.is_volatile && !group.state.engine.is_overdue(stamp);
            let length = data.len();
            let Ok((term, index)) = group.raft.propose(data) else {
                let replies = self.proposals.done(proposal);
                let elsewhere = group.elsewhere(node);
                self.answer_lost(node, group, replies, &elsewhere);
                return false;
            };
            self.proposals.proposed(term, index, proposal);
            bytes += length;
        }
        if bytes > 0 {
            self.next_proposal_us = node.now_us + pause_us;
        }
        bytes > 0
    }

    /// Proposes a reserve for each waiter that an entry with this stamp may serve.
    fn take_turns(&mut self, node: &mut Node, group: &mut Group, stamp: Millis) {
        let mut coming = self.proposals.take_fresh();
        if self.waiters.any_in_line() {
            if group.state.engine.is_overdue(stamp)
                && group.state.engine.due_topics(stamp, &mut |topic| *coming.entry(topic).or_default() += 1)
            {
                // The due jobs that consumers wait for may come after the ones that this entry moves.
                self.next_housekeeping_us = node.now_us;
            }
            let engine = &group.state.engine;
            let mut topics = self.waiters.waited_for(engine.deliverable_topics());
            topics.extend(coming.keys().filter(|topic| !engine.deliverable_topics().contains(topic)));
            topics.extend(engine.free_by(stamp).filter(|topic| self.waiters.in_line(*topic)));
            let available = |topic| engine.available(topic, coming.get(&topic).copied().unwrap_or(0), stamp);
            if coming.keys().any(|topic| self.waiters.in_line(*topic) && available(*topic) == 0) {
                // An expired lease makes room only once an entry has ended it.
                self.next_housekeeping_us = node.now_us;
            }
            let (connections, mut tight) = (&mut node.connections, Vec::new());
            let turns = self
                .waiters
                .take_turns(topics, available, |id| connections.room_for_turn(id, &mut tight) as u64);
            for turn in turns {
                let command = turn.command(&group.state.engine);
                self.add_reserve(node, group, &command, turn.claim.jobs, (turn.waiter, turn.claim));
            }
        }
        for over in self.waiters.take_expired(node.now_us) {
            node.connections.send(over.asker, Response::Reserved(Vec::new()));
        }
    }

    /// Proposes a reserve for a waiter. That for a connection with volatile leases may be lost, unless one of its topics has a rule
    /// for late jobs: a job that was given out in time must not be late after a crash.
    fn add_reserve(
        &mut self,
        node: &Node,
        group: &Group,
        command: &Command<'_>,
        work: u64,
        (id, claim): (WaiterId, Claim),
    ) {
        let reply = Reply::PendingReserve(id, claim);
        let engine = &group.state.engine;
        let is_never_late = |name| {
            let policy = engine.topic_id(name).and_then(|topic| engine.topic_policy(topic));
            policy.is_none_or(|policy| policy.late.is_none())
        };
        let connection = self.waiters.one(id).map(|waiter| waiter.asker.connection);
        let is_volatile = connection
            .is_some_and(|connection| node.connections.has_volatile_leases(connection))
            && matches!(command, Command::Reserve { topics, .. } if topics.names().all(is_never_late));
        if is_volatile {
            self.proposals.add_volatile(command, work, reply, node.now_us);
        } else {
            self.proposals.add(command, work, reply, node.now_us);
        }
    }

    /// True if an entry without commands is needed, to move due jobs that no consumer waits for.
    fn housekeeping_is_due(&mut self, node: &Node, group: &mut Group, stamp: Millis) -> bool {
        if self.proposals.any_waiting() || !group.state.engine.is_overdue(stamp) {
            return false;
        }
        if node.now_us < self.next_housekeeping_us || !group.may_keep_house(node) {
            return false;
        }
        // After a long stop, more jobs are due than one entry moves: continue at once until all are moved.
        let pause_us = if group.state.engine.due_topics(stamp, &mut |_| {}) { 0 } else { HOUSEKEEPING_US };
        self.next_housekeeping_us = node.now_us + pause_us;
        true
    }

    /// The wall clock was set: proposes the new offset before all waiting commands.
    pub(super) fn propose_offset(&mut self, group: &Group) {
        self.proposals.set_clock_offset(group.state.clock.offset_ms());
    }
}
