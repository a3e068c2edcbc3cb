//! Leader health: whether this node may lead. Its clock must agree with a majority, its disk must write, and its
//! state must be trusted.
//!
//! An unhealthy node starts no election by itself, and transfers leadership if another member can take it.

use super::Replica;
use super::io::Notice;
use super::peers::Verdict;

/// A disk hangs if it has not written a batch for this time.
const DISK_HANGS_US: u64 = 2_000_000;

impl Replica {
    /// Looks at clock, disk and state, and sees to what follows.
    pub(super) fn judge_leader_health(&mut self) {
        if self.group.is_alone() {
            return self.group.disable_campaigning(false);
        }
        let is_unhealthy = self.judge_clock() | self.disk_hangs() | self.untrusted.is_some();
        self.group.disable_campaigning(is_unhealthy);
        if is_unhealthy
            && self.group.takes_proposals()
            && let Some(to) = self.transfer_target()
        {
            self.transfer_to(to);
        }
    }

    /// Holds this node's clock against those of the others; whether a majority agrees without it.
    fn judge_clock(&mut self) -> bool {
        let verdict = self.verdict();
        let outside = matches!(verdict, Verdict::Outside(_));
        if let Verdict::Outside(by_ms) = verdict
            && !self.cluster.clock_told
        {
            self.notices.push(Notice::ClockOutside { by_ms });
        }
        self.cluster.clock_told = outside;
        outside
    }

    /// What the others' clocks say of this node's.
    pub(super) fn verdict(&self) -> Verdict {
        self.peers.verdict(self.config.node, self.group.members(), self.now_us)
    }

    /// Whether the disk takes longer for a batch than one does that is only slow. Heartbeats would go on all the same, and
    /// keep everybody content with a leader that acknowledges nothing.
    fn disk_hangs(&self) -> bool {
        !self.writes_in_flight.is_empty() && self.now_us >= self.writing_since_us + DISK_HANGS_US
    }
}
