//! A member's view of its cluster: the leader, the progress of the members, and possible transfer targets.

use std::collections::BTreeMap;

use super::Group;
use super::trust::Untrusted;
use crate::io::Notice;
use crate::node::Node;
use crate::node::connections::Asker;
use crate::node::peers::{CLOCKS_AGREE_MS, Verdict};
use adjourn_protocol::{ClusterReport, ErrorCode, ErrorReply, MemberReport, Response, Role};
use adjourn_raft::{ELECTION_MS_MIN, MembershipChange, Progress};

/// The shortest election timeout. A transfer target that does not lead after this time has failed; a member that was silent
/// for this time counts as down.
const ELECTION_US_MIN: u64 = ELECTION_MS_MIN * 1000;
/// A member that did not take over leadership is not asked again for this long, if there are others.
const REFUSED_US: u64 = 2_000_000;
/// A learner that lacks at most this many entries has caught up.
const CAUGHT_UP_ENTRIES: u64 = 256;
/// Without a leader, clients wait at least this long before they ask again. An election takes longer; a transfer does not.
const ELECTION_PAUSE_MS: u32 = 20;

/// The disk hangs if a batch is not written for this long.
const DISK_HANGS_US: u64 = 2_000_000;

/// What a member remembers about its cluster.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// When the leader next does its work for the cluster.
    pub(crate) next_us: u64,
    /// True if the driver was told that this node's clock is outside the majority.
    pub(super) clock_told: bool,
    /// The leader that the driver was last told of.
    pub(super) leader_told: Option<u64>,
    /// The last transfer target, and when the transfer began.
    transfer: Option<(u64, u64)>,
}

impl Group {
    /// The error for requests that only the leader can carry out; names the leader if it is known.
    pub(crate) fn elsewhere(&self, node: &Node) -> ErrorReply {
        let leader = self
            .raft
            .leader()
            .or_else(|| self.recent_transfer_target(node))
            .filter(|leader| *leader != node.config.node);
        let address = leader.and_then(|leader| self.state.engine.members().get(&leader));
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

    /// Answers with this node's view of the cluster.
    pub(crate) fn cluster_status(&self, node: &mut Node, asker: Asker) {
        let report = self.cluster_report(node);
        node.connections.send(asker, Response::Cluster(Box::new(report)));
    }

    /// This node's view of the cluster; the leader's is the most complete.
    pub(crate) fn cluster_report(&self, node: &Node) -> ClusterReport {
        let progress = self.progress(node);
        let leader = self.raft.leader();
        let members = self.raft.members();
        let last = self.raft.last_index();
        let known = self.state.engine.members();
        let report = |member: u64| {
            let (is_self, peer) = (member == node.config.node, node.peers.one(member));
            let matched = progress.get(&member).map(|progress| progress.matched);
            let (audited, same_state) =
                if is_self { self.own_state(node) } else { node.peers.compared(member) };
            MemberReport {
                node: member,
                role: match leader {
                    Some(leader) if leader == member => Role::Leader,
                    _ if members.voters.contains(&member) => Role::Voter,
                    _ => Role::Learner,
                },
                peer_address: known.get(&member).map(|known| known.peer_address.clone()).unwrap_or_default(),
                client_address: known
                    .get(&member)
                    .map(|known| known.client_address.clone())
                    .unwrap_or_default(),
                is_connected: is_self || peer.is_some(),
                matched: if is_self { Some(last) } else { matched },
                applied: if is_self { Some(self.applied.0) } else { peer.map(|peer| peer.applied) },
                ahead_ms: if is_self {
                    Some(0)
                } else {
                    peer.and_then(|_| node.peers.ahead_ms(member, node.now_us))
                },
                audited,
                same_state,
            }
        };
        ClusterReport {
            node: node.config.node,
            cluster_id: node.config.cluster_id,
            leader,
            term: self.raft.term(),
            last,
            commit: self.raft.commit(),
            feature_level: self.state.engine.feature_level(),
            members: members.all().map(report).collect(),
        }
    }

    /// The newest entry after which this node's state was compared, and whether the state is trusted.
    fn own_state(&self, node: &Node) -> (u64, Option<bool>) {
        match self.untrusted {
            None => (node.peers.audited().0, Some(true)),
            Some(Untrusted::Outvoted { index }) => (index, Some(false)),
            Some(Untrusted::Lost { .. }) => (0, None),
        }
    }

    /// Explains why the members left without a voter would have no majority that is up; `None` if they have one.
    pub(crate) fn leaves_no_majority(&self, node: &Node, without: u64) -> Option<String> {
        let left = self.raft.members().after(MembershipChange::Remove(without))?;
        let progress = self.progress(node);
        let is_up = |voter: &&u64| {
            **voter == node.config.node || progress.get(voter).is_some_and(|progress| progress.is_active)
        };
        let up = left.voters.iter().filter(is_up).count();
        (up < left.majority()).then(|| {
            format!(
                "without node {without}, {up} of {} voters are up, and the cluster would stop: remove those that are \
                 down first",
                left.voters.len()
            )
        })
    }

    /// Transfers leadership to a member, and remembers the transfer for a while.
    pub(crate) fn transfer_to(&mut self, node: &Node, to: u64) {
        self.cluster.transfer = Some((to, node.now_us));
        self.raft.transfer_to(to);
    }

    /// The target of a transfer that began a moment ago: it leads, or is about to.
    pub(crate) fn recent_transfer_target(&self, node: &Node) -> Option<u64> {
        self.transferred_within(node, ELECTION_US_MIN)
    }

    fn transferred_within(&self, node: &Node, us: u64) -> Option<u64> {
        self.cluster.transfer.filter(|(_, at_us)| node.now_us < at_us + us).map(|(to, _)| to)
    }

    /// The progress of each member. Raft resets at each check of the majority which members are active; here, a member is
    /// active if it was heard from within an election timeout.
    pub(crate) fn progress(&self, node: &Node) -> BTreeMap<u64, Progress> {
        let since_us = node.now_us.saturating_sub(ELECTION_US_MIN);
        let mut all = self.raft.progress();
        for (member, progress) in &mut all {
            progress.is_active |= node.peers.spoke_since(*member, since_us);
        }
        all
    }

    /// The most up-to-date active voter, preferring voters whose clock and state agree with this node's; if this node's own
    /// is wrong, those that differ. A voter that has just not taken over leadership comes last.
    pub(crate) fn transfer_target(&self, node: &Node) -> Option<u64> {
        let progress = self.progress(node);
        let voters = self.raft.members().voters.iter().filter(|voter| **voter != node.config.node);
        let up = voters.filter_map(|voter| progress.get(voter).map(|progress| (progress, voter)));
        let up = up.filter(|(progress, _)| may_lead(progress));
        let outside = matches!(self.verdict(node), Verdict::Outside(_));
        let fit = |voter: &u64| node.peers.agrees(*voter, node.now_us) != outside;
        let outvoted = matches!(self.untrusted, Some(Untrusted::Outvoted { .. }));
        let sound = |voter: &u64| node.peers.compared(*voter).1.is_none_or(|same| same != outvoted);
        let refused = self.transferred_within(node, ELECTION_US_MIN + REFUSED_US);
        up.max_by_key(|(progress, voter)| {
            (fit(voter), sound(voter), refused != Some(**voter), progress.matched)
        })
        .map(|(_, voter)| *voter)
    }

    /// True if the leader should do its work for the cluster now.
    pub(crate) fn is_keep_due(&self, node: &Node) -> bool {
        self.raft.is_leader() && node.now_us >= self.cluster.next_us
    }

    /// Offers the newest checkpoint again to a member that does not fetch the offered one. If the member has it already,
    /// its answer was lost: it continues from there.
    pub(crate) fn follow_fetches(&mut self, node: &mut Node) {
        for (member, progress) in self.raft.progress() {
            let Some(index) = progress.snapshot else { continue };
            if node.peers.one(member).is_some_and(|peer| peer.applied >= index) {
                self.raft.snapshot_installed(member);
            } else if node.peers.fetches_nothing(member, node.now_us) {
                node.peers.offered(member, node.now_us);
                self.raft.snapshot_failed(member);
            }
        }
    }

    /// Promotes a learner that has caught up to a voter.
    pub(crate) fn promote_learner(&mut self, node: &Node) {
        let last = self.raft.last_index();
        let progress = self.progress(node);
        let has_caught_up = |learner: &&u64| {
            let up_to_date = progress.get(learner).is_some_and(|progress| {
                progress.is_active
                    && progress.snapshot.is_none()
                    && progress.matched > 0
                    && progress.matched + CAUGHT_UP_ENTRIES >= last
            });
            up_to_date && node.peers.one(**learner).is_some()
        };
        if let Some(learner) = self.raft.members().learners.iter().find(has_caught_up).copied() {
            // Fails while another change is in progress; this one can wait.
            let _proposed = self.raft.propose_change(MembershipChange::Voter(learner));
        }
    }

    /// The transfer target, if this node leads.
    pub(crate) fn own_transfer_target(&self, node: &Node) -> Option<u64> {
        self.transfer_target(node).filter(|_| self.raft.is_leader())
    }

    /// Checks clock, disk and state. An unhealthy node does not campaign, and transfers leadership if it leads.
    pub(super) fn judge_leader_health(&mut self, node: &mut Node) {
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

    /// Compares this node's clock with the others'. Returns true if a majority agrees without it.
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

    /// The result of comparing this node's clock with those of the voters.
    pub(crate) fn verdict(&self, node: &Node) -> Verdict {
        node.peers.verdict(node.config.node, self.raft.members(), node.now_us)
    }

    /// Returns how far to move the state's time when this node's clock is `by_ms` ahead of it. A single node and a leader whose
    /// clock agrees with a majority adopt the whole difference. If no majority agrees, a state that is ahead of every clock seen
    /// comes back to the furthest of them: a job *at* a time does not come early by a time that no clock shows.
    pub(crate) fn believed_step_ms(&self, node: &Node, leads: bool, by_ms: i64) -> Option<i64> {
        if self.raft.is_alone() {
            return Some(by_ms);
        }
        if !leads {
            return None;
        }
        match self.verdict(node) {
            Verdict::Agreed => Some(by_ms),
            Verdict::Outside(_) => None,
            Verdict::Open => {
                let (own, members) = (node.config.node, self.raft.members());
                let back_ms =
                    by_ms.saturating_add(node.peers.furthest_ahead_ms(own, members, node.now_us)?);
                (back_ms < -CLOCKS_AGREE_MS.cast_signed()).then_some(back_ms)
            }
        }
    }

    /// True if the disk takes longer for a batch than a slow disk would. Heartbeats would continue regardless, so the
    /// others would keep a leader that acknowledges nothing.
    fn disk_hangs(&self, node: &Node) -> bool {
        !self.log.in_flight.is_empty() && node.now_us >= self.log.writing_since_us + DISK_HANGS_US
    }
}

/// True if a member can take over leadership: it is active and needs no checkpoint first. During a transfer, Raft accepts
/// no proposals.
pub(crate) fn may_lead(progress: &Progress) -> bool {
    progress.is_active && progress.snapshot.is_none()
}
