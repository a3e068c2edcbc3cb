//! When a leader proposes what has gathered, and reserves for the consumers that wait.

use super::Leader;
use super::proposals::Reply;
use crate::protocol::Response;
use crate::replica::group::Group;
use crate::replica::node::Node;
use crate::types::Millis;
use crate::types::limits::ENTRY_BYTES_TARGET;

/// Batches handed out and not yet durable: one that is being written and one that waits for the disk.
const WRITES_IN_FLIGHT_MAX: usize = 2;
/// No batch is larger than this by more than one entry, in bytes: it is what the disk has unsynced at once.
const WRITE_BYTES_MAX: usize = 512 << 10;
/// The interval at which due jobs are moved without a waiter.
const HOUSEKEEPING_US: u64 = 1_000_000;

impl Leader {
    /// When there is something to do although nothing happened, on the monotonic clock.
    pub(crate) fn next_wake_us(&self, node: &Node, group: &mut Group) -> u64 {
        let ends = [self.graces.next_end_us(), self.waiters.next_deadline_us(node.now_us)];
        let mut wake_us = ends.into_iter().flatten().fold(self.next_keep_us(group), u64::min);
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

    /// When a timer of the engine needs an entry: when it fires if somebody waits, else when housekeeping is next.
    /// Housekeeping gives way to a batch that is being written; the end of that wakes us.
    fn next_timer_us(&self, node: &Node, group: &mut Group) -> u64 {
        let stamp = group.clock.stamp();
        let housekeeping_us = if group.may_keep_house(node) { self.next_housekeeping_us } else { u64::MAX };
        let mut timer_us = if group.engine.is_overdue(stamp) { housekeeping_us } else { u64::MAX };
        if let Some(free) = group.engine.next_free(stamp, |topic| self.waiters.in_line(topic)) {
            timer_us = timer_us.min(group.clock.elapsed_at(free));
        }
        if let Some(deadline) = group.engine.next_deadline_after(stamp) {
            let fires_us = group.clock.elapsed_at(deadline);
            let waited_for = self.waiters.any_in_line();
            timer_us = timer_us.min(if waited_for { fires_us } else { fires_us.max(housekeeping_us) });
        }
        timer_us
    }

    /// Whether the disk and the group can take another entry now.
    pub(crate) fn may_propose(&self, node: &Node, group: &Group) -> bool {
        group.raft.takes_proposals()
            && node.now_us >= self.next_proposal_us
            && group.log.in_flight.len() < WRITES_IN_FLIGHT_MAX
    }

    /// Stamps and proposes the commands that have gathered, and reserves for waiting consumers. Returns whether there was anything.
    /// What cannot be proposed yet waits.
    pub(crate) fn propose(&mut self, node: &mut Node, group: &mut Group) -> bool {
        if !self.may_propose(node, group) {
            return false;
        }
        let stamp = group.clock.stamp();
        self.take_turns(node, group, stamp);
        let pause_us = group.lagging_pause_us(node);
        let bytes_max = if pause_us == 0 { WRITE_BYTES_MAX } else { ENTRY_BYTES_TARGET };
        let housekeeping = self.housekeeping_is_due(node, group, stamp);
        let mut bytes = 0;
        while bytes < bytes_max && (self.proposals.any_waiting() || (bytes == 0 && housekeeping)) {
            let (data, proposal) = self.proposals.take_entry(stamp);
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

    /// Proposes a reserve for each waiter that has jobs to expect from an entry with this stamp.
    fn take_turns(&mut self, node: &mut Node, group: &mut Group, stamp: Millis) {
        let mut coming = self.proposals.take_fresh();
        if self.waiters.any_in_line() {
            if group.engine.is_overdue(stamp)
                && group.engine.due_topics(stamp, &mut |topic| *coming.entry(topic).or_default() += 1)
            {
                // The awaited jobs may come after all of these.
                self.next_housekeeping_us = node.now_us;
            }
            let engine = &group.engine;
            let mut topics = self.waiters.waited_for(engine.deliverable_topics());
            topics.extend(coming.keys().filter(|topic| !engine.deliverable_topics().contains(topic)));
            topics.extend(engine.free_by(stamp).filter(|topic| self.waiters.in_line(*topic)));
            let available = |topic| engine.available(topic, coming.get(&topic).copied().unwrap_or(0), stamp);
            if coming.keys().any(|topic| self.waiters.in_line(*topic) && available(*topic) == 0) {
                // A lease that ends makes room, once it has ended.
                self.next_housekeeping_us = node.now_us;
            }
            let (connections, mut tight) = (&mut node.connections, Vec::new());
            let turns = self
                .waiters
                .take_turns(topics, available, |id| connections.room_for_turn(id, &mut tight) as u64);
            for turn in turns {
                let reply = Reply::Turn(turn.waiter, turn.claim);
                self.proposals.add(&turn.command(), turn.claim.jobs, reply, node.now_us);
            }
        }
        for over in self.waiters.take_expired(node.now_us) {
            node.connections.send(over.asker, Response::Reserved(Vec::new()));
        }
    }

    /// Whether an entry without commands is needed, to move due jobs that no consumer waits for.
    fn housekeeping_is_due(&mut self, node: &Node, group: &mut Group, stamp: Millis) -> bool {
        if self.proposals.any_waiting() || !group.engine.is_overdue(stamp) {
            return false;
        }
        if node.now_us < self.next_housekeeping_us || !group.may_keep_house(node) {
            return false;
        }
        // After a long stop there is more than one entry may move: go on at once until it is done.
        let pause_us = if group.engine.due_topics(stamp, &mut |_| {}) { 0 } else { HOUSEKEEPING_US };
        self.next_housekeeping_us = node.now_us + pause_us;
        true
    }

    /// Somebody has set the wall clock: says so before all that waits.
    pub(crate) fn propose_offset(&mut self, group: &Group) {
        self.proposals.set_clock_offset(group.clock.offset_ms());
    }
}
