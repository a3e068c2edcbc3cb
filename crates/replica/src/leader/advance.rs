//! ADVANCE: a test moves the queue's clock, which stands still otherwise.
//!
//! Commands that came before keep the time before. The answer comes when everything that is due by the new time is carried
//! out: jobs are ready, leases and the grace of sessions have ended. So a test that has the answer need not wait. The clock
//! jumps: the timers up to the new time fire as they do after a stop of that length.

use super::Leader;
use crate::group::Group;
use crate::node::Node;
use crate::node::connections::Asker;
use adjourn_protocol::{Advance, ErrorCode, ErrorReply};

/// The ADVANCEs that have moved the clock and are not answered.
#[derive(Debug, Default)]
pub(crate) struct Advances {
    askers: Vec<Asker>,
}

impl Advances {
    /// Refuses all of them.
    pub(crate) fn refuse_all(&mut self, node: &mut Node, error: &ErrorReply) {
        for asker in self.askers.drain(..) {
            node.connections.refuse(asker, error.clone());
        }
    }
}

impl Leader {
    pub(super) fn advance(&mut self, node: &mut Node, group: &mut Group, asker: Asker, advance: Advance) {
        if !node.has_manual_clock {
            let text = "this server's clock is that of its machine: for tests, start one whose clock stands still, with \
                        `adjourn serve --memory --clock manual`";
            return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Unsupported, text));
        }
        match advance {
            Advance::By(by_ms) => self.move_clock(node, group, asker, by_ms),
            Advance::ToNext => self.passes.find_next_due(node, asker),
        }
    }

    /// Moves the clock to where the passes have found that the next job is due.
    pub(crate) fn advance_to_found(&mut self, node: &mut Node, group: &mut Group) {
        for (asker, due) in self.passes.take_found_due() {
            let instant = group.state.engine.next_instant();
            let Some(due) = due.into_iter().chain(instant).min() else {
                let text = "no job is delayed, and no schedule waits: nothing is due at a later time";
                node.connections.refuse(asker, ErrorReply::new(ErrorCode::NotFound, text));
                continue;
            };
            self.move_clock(node, group, asker, due.since(node.wall));
        }
    }

    fn move_clock(&mut self, node: &mut Node, group: &mut Group, asker: Asker, by_ms: u64) {
        self.proposals.stamp_waiting(group.state.clock.stamp());
        node.advance_clock(by_ms);
        let stepped = group.state.clock.advance(node.queue_now());
        debug_assert!(stepped.is_none(), "both clocks were moved");
        self.advances.askers.push(asker);
    }

    /// True if an ADVANCE waits for work that can be done at once.
    pub(super) fn may_go_on_advancing(&self, node: &Node, group: &Group) -> bool {
        !self.advances.askers.is_empty() && group.log.in_flight.is_empty() && self.may_propose(node, group)
    }

    /// Answers the ADVANCEs once everything that is due is carried out. Until then no timer waits for its turn in the usual
    /// housekeeping.
    pub(crate) fn end_advances(&mut self, node: &mut Node, group: &mut Group) {
        if self.advances.askers.is_empty() {
            return;
        }
        let are_graces_over = self.graces.next_end_us().is_none_or(|end_us| end_us > node.queue_us);
        let stamp = group.state.clock.stamp();
        // What was proposed at an earlier time may bring something that is due: it is applied first.
        let is_behind = !self.proposals.is_idle() && group.state.engine.stamp() < stamp;
        let is_overdue = !group.prepared || group.state.engine.is_overdue(stamp);
        let fires = self.may_fire(node, group) || !self.firings.are_done();
        if is_behind || is_overdue || fires || !are_graces_over || !self.lapsing.is_empty() {
            self.next_housekeeping_us = node.now_us;
            return;
        }
        let pong = node.pong();
        for asker in std::mem::take(&mut self.advances.askers) {
            node.connections.send(asker, pong.clone());
        }
    }
}
