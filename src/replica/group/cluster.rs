//! What a member knows of its cluster: who leads, how far each member has come, and who could take leadership over.

use std::collections::BTreeMap;

use super::Group;
use super::trust::Untrusted;
use crate::protocol::{ClusterReport, ErrorCode, ErrorReply, MemberReport, Response, Role};
use crate::raft::{ELECTION_MS_MIN, MembershipChange, Progress};
use crate::replica::io::Notice;
use crate::replica::node::Node;
use crate::replica::node::connections::Asker;
use crate::replica::node::peers::{CLOCKS_AGREE_MS, Verdict};

/// The shortest election timeout. A transfer target that does not lead after this time has failed; a member that was
/// silent for this time is not there.
const ELECTION_US_MIN: u64 = ELECTION_MS_MIN * 1000;
/// A member that did not take leadership is not asked again for this long, if there are others.
const REFUSED_US: u64 = 2_000_000;
/// A learner that lacks no more entries than this has caught up.
const CAUGHT_UP_ENTRIES: u64 = 256;
/// Without a leader, clients wait at least this long before they ask again. An election takes longer; a transfer does not.
const ELECTION_PAUSE_MS: u32 = 20;

/// A disk hangs if it has not written a batch for this time.
const DISK_HANGS_US: u64 = 2_000_000;

/// What a member keeps in mind of its cluster.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// When the leader next checks its work for the cluster.
    pub(crate) next_us: u64,
    /// Whether the driver was told that this node's clock differs.
    pub(super) clock_told: bool,
    /// Whom this node took for the leader when it last said so.
    pub(super) leader_told: Option<u64>,
    /// To whom leadership was handed last, and when.
    transfer: Option<(u64, u64)>,
}

impl Group {
    /// What a request is told that only the leader can carry out.
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

    /// Answers what this node knows of the cluster.
    pub(crate) fn cluster_status(&self, node: &mut Node, asker: Asker) {
        let report = self.cluster_report(node);
        node.connections.send(asker, Response::Cluster(Box::new(report)));
    }

    /// What any member says of the cluster; the leader knows the most.
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

    /// The newest entry after which this node has compared its state, and whether that can be relied on.
    fn own_state(&self, node: &Node) -> (u64, Option<bool>) {
        match self.untrusted {
            None => (node.peers.audited().0, Some(true)),
            Some(Untrusted::Outvoted { index }) => (index, Some(false)),
            Some(Untrusted::Lost { .. }) => (0, None),
        }
    }

    /// Why the members that are left without a voter could not go on, if they could not.
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

    /// Hands leadership to a member, and keeps in mind for a while that it did.
    pub(crate) fn transfer_to(&mut self, node: &Node, to: u64) {
        self.cluster.transfer = Some((to, node.now_us));
        self.raft.transfer_to(to);
    }

    /// To whom leadership was handed a moment ago: it leads, or is about to.
    pub(crate) fn recent_transfer_target(&self, node: &Node) -> Option<u64> {
        self.transferred_within(node, ELECTION_US_MIN)
    }

    fn transferred_within(&self, node: &Node, us: u64) -> Option<u64> {
        self.cluster.transfer.filter(|(_, at_us)| node.now_us < at_us + us).map(|(to, _)| to)
    }

    /// How far each member has come. Raft forgets at each check of the majority which members are up: a member that was heard
    /// within an election timeout is.
    pub(crate) fn progress(&self, node: &Node) -> BTreeMap<u64, Progress> {
        let since_us = node.now_us.saturating_sub(ELECTION_US_MIN);
        let mut all = self.raft.progress();
        for (member, progress) in &mut all {
            progress.is_active |= node.peers.spoke_since(*member, since_us);
        }
        all
    }

    /// The most up-to-date other voter, of those that are up; one whose clock or state is off does not take over. If this
    /// node's own is off, voters that differ from it are fit. A voter that has just not taken leadership comes last.
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

    /// Whether the leader is to look after the cluster now.
    pub(crate) fn is_keep_due(&self, node: &Node) -> bool {
        self.raft.is_leader() && node.now_us >= self.cluster.next_us
    }

    /// Offers the newest checkpoint again to a member that does not fetch the offered one. A member that turns out to have it
    /// already continues from there: its answer to Raft may have been lost.
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

    /// Makes a voter of a learner that has caught up.
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
            // Another change may be under way: then this one has time.
            let _proposed = self.raft.propose_change(MembershipChange::Voter(learner));
        }
    }

    /// To whom leadership can be handed, if this node has it.
    pub(crate) fn own_transfer_target(&self, node: &Node) -> Option<u64> {
        self.transfer_target(node).filter(|_| self.raft.is_leader())
    }

    /// Looks at clock, disk and state, and sees to what follows.
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

    /// How much counts of a difference of `by_ms` by which this node's clock is ahead of the state's: all of it on a single node, and
    /// on a leader with whose clock most agree. Where no majority agrees, a state that is ahead of each clock that was seen comes back to
    /// the first of them: what is due by the wall clock does not come early by a clock that nobody shows.
    pub(crate) fn believed_step_ms(&self, node: &Node, leads: bool, by_ms: i64) -> Option<i64> {
        if self.raft.is_alone() {
            return Some(by_ms);
        }
        match self.verdict(node) {
            Verdict::Agreed if leads => Some(by_ms),
            Verdict::Open if leads => {
                let (own, members) = (node.config.node, self.raft.members());
                let back_ms =
                    by_ms.saturating_add(node.peers.furthest_ahead_ms(own, members, node.now_us)?);
                (back_ms < -CLOCKS_AGREE_MS.cast_signed()).then_some(back_ms)
            }
            _ => None,
        }
    }

    /// Whether the disk takes longer for a batch than one does that is only slow. Heartbeats would go on all the same, and
    /// keep everybody content with a leader that acknowledges nothing.
    fn disk_hangs(&self, node: &Node) -> bool {
        !self.log.in_flight.is_empty() && node.now_us >= self.log.writing_since_us + DISK_HANGS_US
    }
}

/// Whether a member can take leadership over: it is up, and needs no checkpoint first. While one is waited for, Raft takes no
/// proposals.
pub(crate) fn may_lead(progress: &Progress) -> bool {
    progress.is_active && progress.snapshot.is_none()
}
