//! Leader health: whether this node may lead. Its clock must agree with a majority, its disk must write, and its
//! state must be trusted.
//!
//! An unhealthy node starts no election by itself, and transfers leadership if another member can take it.

use super::Group;
use crate::replica::io::Notice;
use crate::replica::node::Node;
use crate::replica::node::peers::Verdict;

/// A disk hangs if it has not written a batch for this time.
const DISK_HANGS_US: u64 = 2_000_000;

impl Group {
    /// Looks at clock, disk and state, and sees to what follows.
    pub(crate) fn judge_leader_health(&mut self, node: &mut Node) {
        if self.raft.is_alone() {
            return self.raft.disable_campaigning(false);
        }
        let is_unhealthy = self.judge_clock(node) | self.disk_hangs(node) | self.untrusted.is_some();
        self.raft.disable_campaigning(is_unhealthy);
        if is_unhealthy
            && self.raft.takes_proposals()
            && let Some(to) = self.transfer_target(node)
        {
            self.transfer_to(node, to);
        }
    }

    /// Holds this node's clock against those of the others; whether a majority agrees without it.
    fn judge_clock(&mut self, node: &mut Node) -> bool {
        let verdict = self.verdict(node);
        let outside = matches!(verdict, Verdict::Outside(_));
        if let Verdict::Outside(by_ms) = verdict
            && !self.cluster.clock_told
        {
            node.notices.push(Notice::ClockOutside { by_ms });
        }
        self.cluster.clock_told = outside;
        outside
    }

    /// What the others' clocks say of this node's.
    pub(crate) fn verdict(&self, node: &Node) -> Verdict {
        node.peers.verdict(node.config.node, self.raft.members(), node.now_us)
    }

    /// Whether the disk takes longer for a batch than one does that is only slow. Heartbeats would go on all the same, and
    /// keep everybody content with a leader that acknowledges nothing.
    fn disk_hangs(&self, node: &Node) -> bool {
        !self.log.in_flight.is_empty() && node.now_us >= self.log.writing_since_us + DISK_HANGS_US
    }
}
