//! A graceful stop: all accepted work is completed, and leadership is transferred before this node ends.

use super::Replica;
use crate::refusals::{STOPPING, stopping};
use adjourn_protocol::GoingAway;

/// How long a stop waits for another member to take over leadership.
const HAND_OVER_US_MAX: u64 = 1_000_000;

/// The progress of a stop after [`Input::Stop`](super::Input::Stop).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    No,
    Asked,
    /// All accepted requests are done, and leadership is being transferred, until this time on the monotonic clock.
    Transferring {
        until_us: u64,
    },
    /// Reported with [`Output::Stopped`](super::Output::Stopped).
    Done,
}

impl Replica {
    /// Begins a stop: from now on nothing is accepted.
    pub(super) fn stop(&mut self) {
        self.node.stop = Stop::Asked;
        self.group.refuse_backups(&mut self.node, &stopping());
        if let Some(leader) = &mut self.leader {
            leader.passes.refuse_all(&mut self.node);
            leader.advances.refuse_all(&mut self.node, &stopping());
        }
        for connection in self.node.connections.ids() {
            self.node.connections.say_goodbye(connection, STOPPING, GoingAway::Stopping);
            self.take_last_requests(connection);
            while let Some((asker, request)) = self.node.connections.take_held(connection) {
                self.request(asker, request);
            }
            if let Some(leader) = &mut self.leader {
                leader.answer_polls(&mut self.node, connection);
            }
        }
    }

    /// During a stop, transfers leadership once all accepted requests are done, so that clients need not wait for an
    /// election.
    pub(super) fn transfer_leadership(&mut self) {
        if !self.is_stopping_idly() {
            return;
        }
        let Self { node, group, .. } = self;
        if let Some(to) = group.own_transfer_target(node) {
            group.transfer_to(node, to);
            node.stop = Stop::Transferring { until_us: node.now_us + HAND_OVER_US_MAX };
        }
    }

    /// True during a stop once all accepted requests are done.
    pub(super) fn is_stopping_idly(&self) -> bool {
        self.node.stop == Stop::Asked && self.leader.as_ref().is_none_or(|leader| leader.proposals.is_idle())
    }

    /// True if all accepted requests are done, and another member leads if one can. A follower does not wait for its
    /// writes: no client depends on them, and under load there are always some in flight.
    pub(super) fn may_stop(&self) -> bool {
        let Self { node, group, .. } = self;
        (group.log.in_flight.is_empty() || !group.raft.is_leader())
            && match node.stop {
                Stop::Asked => self.is_stopping_idly() && group.own_transfer_target(node).is_none(),
                Stop::Transferring { until_us } => {
                    let moved = !group.raft.is_leader() && group.raft.leader().is_some();
                    moved || node.now_us >= until_us
                }
                Stop::No | Stop::Done => false,
            }
    }
}
