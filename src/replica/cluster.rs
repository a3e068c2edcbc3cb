//! The leader's work for its cluster: it tracks the members' addresses, promotes learners that have caught up,
//! raises the feature level, and carries out an operator's changes.
//!
//! One operator's change is in progress at a time. Raft, too, takes one change of membership at a time.

use std::collections::BTreeMap;

use super::Replica;
use super::io::{ConnectionId, Output, PeerInfo, ProbeError};
use super::peers::Verdict;
use super::proposals::Reply;
use super::requests::retry_later;
use super::state_trust::Untrusted;
use crate::engine::Command;
use crate::protocol::{ClusterReport, ErrorCode, ErrorReply, MemberReport, RequestId, Response, Role};
use crate::raft::{ELECTION_MS_MIN, MembershipChange, Progress, ProposeError};
use crate::storage::{LogEntry, StorageError};
use crate::types::{Member, is_host_and_port};

/// The interval at which the leader checks its work for the cluster.
const KEEP_US: u64 = 100_000;
/// A learner that lacks no more entries than this has caught up.
const CAUGHT_UP_ENTRIES: u64 = 256;
/// Leadership moves within this time, or not at all.
const TRANSFER_US_MAX: u64 = 1_500_000;
/// The shortest election timeout. A transfer target that does not lead after this time has failed; a member that was
/// silent for this time is not there.
const ELECTION_US_MIN: u64 = ELECTION_MS_MIN * 1000;
/// A member that did not take leadership is not asked again for this long, if there are others.
const REFUSED_US: u64 = 2_000_000;

/// What the leader keeps in mind.
#[derive(Debug, Default)]
pub(super) struct Cluster {
    under_way: Option<UnderWay>,
    /// The proposed address and level of each member, so that each is proposed once.
    registered: BTreeMap<u64, Member>,
    /// The feature level that was proposed.
    feature_level: u32,
    next_us: u64,
    /// Entries are being read from the disk, for a member that lags.
    pub(super) fetching: bool,
    /// Whether it was told that this node's clock differs.
    pub(super) clock_told: bool,
    /// Whom this node took for the leader when it last said so.
    pub(super) leader_told: Option<u64>,
    /// To whom leadership was handed last, and when.
    transfer: Option<(u64, u64)>,
}

/// What an operator asked for.
#[derive(Debug)]
struct UnderWay {
    connection: ConnectionId,
    request: RequestId,
    step: Step,
}

/// How far it has come.
#[derive(Debug)]
enum Step {
    /// The node at this address is being looked up.
    Probing { address: String },
    /// A member is being made known to all.
    Registering { member: Member },
    /// A change is to be proposed as soon as Raft takes one.
    Proposing { change: MembershipChange },
    /// It is proposed, at this term and index.
    Changing { term: u64, index: u64 },
    /// Leadership moves, by this time.
    Transferring { to: u64, until_us: u64 },
}

impl UnderWay {
    /// Whether it may change the members: the node's probe is done.
    fn changes_members(&self) -> bool {
        matches!(self.step, Step::Registering { .. } | Step::Proposing { .. } | Step::Changing { .. })
    }
}

/// A node that is to be added and does not answer is asked again after this time, in milliseconds.
const ABSENT_RETRY_MS: u32 = 500;

impl Replica {
    /// Answers what this node knows of the cluster.
    pub(super) fn cluster_status(&mut self, connection: ConnectionId, request: RequestId) {
        let report = self.cluster_report();
        self.connections.send(connection, request, Response::Cluster(Box::new(report)));
    }

    /// What any member says of the cluster; the leader knows the most.
    pub(super) fn cluster_report(&self) -> ClusterReport {
        let progress = self.progress();
        let leader = self.group.leader();
        let members = self.group.members();
        let last = self.group.last_index();
        let known = self.engine.members();
        let report = |node: u64| {
            let (is_self, peer) = (node == self.config.node, self.peers.one(node));
            let matched = progress.get(&node).map(|progress| progress.matched);
            let (audited, same_state) = if is_self { self.own_state() } else { self.peers.compared(node) };
            MemberReport {
                node,
                role: match leader {
                    Some(leader) if leader == node => Role::Leader,
                    _ if members.voters.contains(&node) => Role::Voter,
                    _ => Role::Learner,
                },
                peer_address: known.get(&node).map(|member| member.peer_address.clone()).unwrap_or_default(),
                client_address: known
                    .get(&node)
                    .map(|member| member.client_address.clone())
                    .unwrap_or_default(),
                is_connected: is_self || peer.is_some(),
                matched: if is_self { Some(last) } else { matched },
                applied: if is_self { Some(self.applied.0) } else { peer.map(|peer| peer.applied) },
                ahead_ms: if is_self {
                    Some(0)
                } else {
                    peer.and_then(|_| self.peers.ahead_ms(node, self.now_us))
                },
                audited,
                same_state,
            }
        };
        ClusterReport {
            node: self.config.node,
            cluster_id: self.config.cluster_id,
            leader,
            term: self.group.term(),
            last,
            commit: self.group.commit(),
            feature_level: self.engine.feature_level(),
            members: members.all().map(report).collect(),
        }
    }

    /// The newest entry after which this node has compared its state, and whether that can be relied on.
    fn own_state(&self) -> (u64, Option<bool>) {
        match self.untrusted {
            None => (self.peers.audited().0, Some(true)),
            Some(Untrusted::Outvoted { index }) => (index, Some(false)),
            Some(Untrusted::Lost { .. }) => (0, None),
        }
    }

    /// Adds the node at an address.
    pub(super) fn cluster_add(&mut self, connection: ConnectionId, request: RequestId, address: &str) {
        if !is_host_and_port(address) {
            let text = format!("{address:?} is no address of a node: name its HOST:PORT");
            return self.connections.refuse(connection, request, invalid(text));
        }
        if self.begin(connection, request, Step::Probing { address: address.to_owned() }) {
            self.due.push(Output::Probe { address: address.to_owned() });
        }
    }

    /// The node found at the address of a node to be added.
    pub(super) fn probed(&mut self, probed: &str, found: Result<PeerInfo, ProbeError>) {
        let ours = |under_way: &mut UnderWay| matches!(&under_way.step, Step::Probing { address } if address == probed);
        let Some(under_way) = self.cluster.under_way.take_if(ours) else { return };
        let refused = |error: ProbeError| match error {
            // It may be starting.
            ProbeError::Unreachable { .. } => {
                retry_later(ErrorCode::Busy, &error.to_string(), ABSENT_RETRY_MS)
            }
            ProbeError::Unproven { .. } | ProbeError::Refused { .. } => invalid(error.to_string()),
        };
        let checked = found.map_err(refused).and_then(|info| {
            self.may_join(&info)?;
            Ok(info.member)
        });
        match checked {
            Ok(member) => {
                self.cluster.under_way = Some(UnderWay { step: Step::Registering { member }, ..under_way });
                self.cluster.next_us = self.now_us;
            }
            Err(error) => self.connections.refuse(under_way.connection, under_way.request, error),
        }
    }

    /// Whether a node can become a member.
    fn may_join(&self, info: &PeerInfo) -> Result<(), ErrorReply> {
        let node = info.member.node;
        if node == self.config.node {
            return Err(invalid(format!("node {node} at that address is this one")));
        }
        if self.group.members().contains(node) {
            return Err(invalid(format!("node {node} is a member already")));
        }
        if self.engine.was_member(node) {
            let text = format!(
                "node {node} was a member and was removed: start it with an empty data directory, under a number \
                 that was never used"
            );
            return Err(invalid(text));
        }
        let known = self.engine.members().get(&node);
        if known.is_some_and(|known| known.storage_id != info.member.storage_id) {
            let text = format!(
                "node {node} was known with other data, which is lost: start it with an empty data directory, under a \
                 number that was never used"
            );
            return Err(invalid(text));
        }
        if info.feature_level_max < self.level_to_come() {
            return Err(invalid(format!(
                "node {node} is of an older version than the cluster: upgrade it first"
            )));
        }
        Ok(())
    }

    /// Removes a member.
    pub(super) fn cluster_remove(&mut self, connection: ConnectionId, request: RequestId, node: u64) {
        let members = self.group.members();
        let refused = if members.voters == [node] {
            Some(format!("node {node} is the only one that votes: add another before it is removed"))
        } else if node == self.config.node {
            Some(format!("node {node} leads: move leadership first, with `adjourn cluster step-down`"))
        } else if !members.contains(node) && !self.engine.members().contains_key(&node) {
            Some(format!("node {node} is no member: `adjourn cluster status` lists them"))
        } else {
            self.leaves_no_majority(node)
        };
        if let Some(text) = refused {
            return self.connections.refuse(connection, request, invalid(text));
        }
        self.begin(connection, request, Step::Proposing { change: MembershipChange::Remove(node) });
    }

    /// Why the members that are left without a voter could not go on, if they could not.
    fn leaves_no_majority(&self, without: u64) -> Option<String> {
        let left = self.group.members().after(MembershipChange::Remove(without))?;
        let progress = self.progress();
        let is_up = |voter: &&u64| {
            **voter == self.config.node || progress.get(voter).is_some_and(|progress| progress.is_active)
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

    /// Hands leadership to a member; 0 leaves it to this node to whom.
    pub(super) fn cluster_transfer(&mut self, connection: ConnectionId, request: RequestId, node: u64) {
        let to = if node == 0 { self.transfer_target() } else { Some(node) };
        let Some(to) = to else {
            let alone = "no other member that votes is up: leadership stays here";
            return self.connections.refuse(connection, request, invalid(alone.to_owned()));
        };
        if to == self.config.node {
            return self.connections.send(connection, request, Response::Done);
        }
        if !self.group.members().voters.contains(&to) {
            let text = format!("node {to} does not vote: `adjourn cluster status` lists the members");
            return self.connections.refuse(connection, request, invalid(text));
        }
        if !self.progress().get(&to).is_some_and(may_lead) {
            let text = format!("node {to} is down, or waits for a checkpoint: leadership stays here");
            return self.connections.refuse(connection, request, invalid(text));
        }
        let until_us = self.now_us + TRANSFER_US_MAX;
        if self.begin(connection, request, Step::Transferring { to, until_us }) {
            self.transfer_to(to);
        }
    }

    /// Hands leadership to a member, and keeps in mind for a while that it did.
    pub(super) fn transfer_to(&mut self, to: u64) {
        self.cluster.transfer = Some((to, self.now_us));
        self.group.transfer_to(to);
    }

    /// To whom leadership was handed a moment ago: it leads, or is about to.
    pub(super) fn recent_transfer_target(&self) -> Option<u64> {
        self.transferred_within(ELECTION_US_MIN)
    }

    fn transferred_within(&self, us: u64) -> Option<u64> {
        self.cluster.transfer.filter(|(_, at_us)| self.now_us < at_us + us).map(|(to, _)| to)
    }

    /// How far each member has come. Raft forgets at each check of the majority which members are up: a member that was heard
    /// within an election timeout is.
    pub(super) fn progress(&self) -> BTreeMap<u64, Progress> {
        let since_us = self.now_us.saturating_sub(ELECTION_US_MIN);
        let mut all = self.group.progress();
        for (node, progress) in &mut all {
            progress.is_active |= self.peers.spoke_since(*node, since_us);
        }
        all
    }

    /// The most up-to-date other voter, of those that are up; one whose clock or state is off does not take over. If this
    /// node's own is off, voters that differ from it are fit. A voter that has just not taken leadership comes last.
    pub(super) fn transfer_target(&self) -> Option<u64> {
        let progress = self.progress();
        let voters = self.group.members().voters.iter().filter(|voter| **voter != self.config.node);
        let up = voters.filter_map(|voter| progress.get(voter).map(|progress| (progress, voter)));
        let up = up.filter(|(progress, _)| may_lead(progress));
        let outside = matches!(self.verdict(), Verdict::Outside(_));
        let fit = |voter: &u64| self.peers.agrees(*voter, self.now_us) != outside;
        let outvoted = matches!(self.untrusted, Some(Untrusted::Outvoted { .. }));
        let sound = |voter: &u64| self.peers.compared(*voter).1.is_none_or(|same| same != outvoted);
        let refused = self.transferred_within(ELECTION_US_MIN + REFUSED_US);
        up.max_by_key(|(progress, voter)| {
            (fit(voter), sound(voter), refused != Some(**voter), progress.matched)
        })
        .map(|(_, voter)| *voter)
    }

    /// Takes something on, unless there is something already.
    fn begin(&mut self, connection: ConnectionId, request: RequestId, step: Step) -> bool {
        if self.cluster.under_way.is_some() {
            let busy = "another change of the cluster is under way: try again when it is done";
            let mut error = ErrorReply::new(ErrorCode::Busy, busy);
            error.retry_after_ms = 500;
            self.connections.refuse(connection, request, error);
            return false;
        }
        self.cluster.under_way = Some(UnderWay { connection, request, step });
        self.cluster.next_us = self.now_us;
        true
    }

    /// A change of membership is applied. The client that asked for it gets its answer.
    pub(super) fn change_applied(&mut self, entry: &LogEntry) {
        let ours = |under_way: &mut UnderWay| matches!(under_way.step, Step::Changing { term, index } if (term, index) == (entry.term, entry.index));
        if let Some(done) = self.cluster.under_way.take_if(ours) {
            self.connections.send(done.connection, done.request, Response::Done);
        }
    }

    /// This node no longer leads: the operator's change is done, or its outcome is unknown.
    pub(super) fn leave_cluster_work(&mut self, served_term: u64, moved: ErrorReply) {
        if let Some(UnderWay { connection, request, step }) = self.cluster.under_way.take() {
            // A new leader has a term of its own; a leader may also just lose the majority.
            let taken_over = self.group.term() > served_term;
            if taken_over
                && matches!(step, Step::Transferring { to, .. } if self.recent_transfer_target() == Some(to))
            {
                self.connections.send(connection, request, Response::Done);
            } else {
                self.connections.refuse(connection, request, moved);
            }
        }
        self.cluster.registered.clear();
        self.cluster.feature_level = 0;
    }

    /// Looks after the cluster, as its leader.
    pub(super) fn keep_cluster(&mut self) {
        if !self.group.is_leader() || self.now_us < self.cluster.next_us {
            return;
        }
        // Before this node serves, too: it may need the member that fetches for its majority.
        self.follow_fetches();
        if !self.is_serving() {
            return;
        }
        self.cluster.next_us = self.now_us + KEEP_US;
        self.register_members();
        if !self.group.is_alone() {
            self.promote_learner();
        }
        self.raise_feature_level();
        self.go_on();
    }

    /// When to look again although nothing happens; never while this node is alone and has nothing under way.
    pub(super) fn next_keep_us(&self) -> u64 {
        if self.is_serving() && self.cluster.under_way.is_some() { self.cluster.next_us } else { u64::MAX }
    }

    /// Sees to it that the state says where each member is.
    fn register_members(&mut self) {
        let own = Member {
            node: self.config.node,
            storage_id: self.config.storage_id,
            peer_address: self.config.peer_address.clone(),
            client_address: self.config.client_address.clone(),
        };
        let members = self.group.members();
        let others = self.peers.all().map(|peer| &peer.info.member);
        let mut known: Vec<Member> = others.filter(|member| members.contains(member.node)).cloned().collect();
        known.push(own);
        if let Some(UnderWay { step: Step::Registering { member }, .. }) = &self.cluster.under_way {
            known.push(member.clone());
        }
        for member in known {
            let stands = self.engine.members().get(&member.node);
            if stands == Some(&member) || self.cluster.registered.get(&member.node) == Some(&member) {
                continue;
            }
            let Member { node, storage_id, peer_address, client_address } = &member;
            let command =
                Command::MemberSet { node: *node, storage_id: *storage_id, peer_address, client_address };
            self.add_command(&command, Reply::Nobody);
            self.cluster.registered.insert(member.node, member);
        }
    }

    /// Offers the newest checkpoint again to a member that does not fetch the offered one. A member that turns out to have it
    /// already continues from there: its answer to Raft may have been lost.
    fn follow_fetches(&mut self) {
        for (node, progress) in self.group.progress() {
            let Some(index) = progress.snapshot else { continue };
            if self.peers.one(node).is_some_and(|peer| peer.applied >= index) {
                self.group.snapshot_installed(node);
            } else if self.peers.fetches_nothing(node, self.now_us) {
                self.peers.offered(node, self.now_us);
                self.group.snapshot_failed(node);
            }
        }
    }

    /// Makes a voter of a learner that has caught up.
    fn promote_learner(&mut self) {
        let last = self.group.last_index();
        let progress = self.progress();
        let has_caught_up = |learner: &&u64| {
            let up_to_date = progress.get(learner).is_some_and(|progress| {
                progress.is_active
                    && progress.snapshot.is_none()
                    && progress.matched > 0
                    && progress.matched + CAUGHT_UP_ENTRIES >= last
            });
            up_to_date && self.peers.one(**learner).is_some()
        };
        if let Some(learner) = self.group.members().learners.iter().find(has_caught_up).copied() {
            // Another change may be under way: then this one has time.
            let _proposed = self.group.propose_change(MembershipChange::Voter(learner));
        }
    }

    /// Raises the feature level to what all members can do. It waits for a node that is on its way to become one: that was
    /// let in at the level of before.
    pub(super) fn raise_feature_level(&mut self) {
        if self.cluster.under_way.as_ref().is_some_and(UnderWay::changes_members) {
            return;
        }
        let others = self.group.members().all().filter(|member| *member != self.config.node);
        let levels =
            others.map(|member| self.peers.one(member).map_or(0, |peer| peer.info.feature_level_max));
        let level = levels.fold(self.config.feature_level_max, u32::min);
        if level > self.level_to_come() {
            self.add_command(&Command::FeatureLevel { level }, Reply::Nobody);
            self.cluster.feature_level = level;
        }
    }

    /// The feature level at which what is proposed from here on is applied.
    pub(super) fn level_to_come(&self) -> u32 {
        self.engine.feature_level().max(self.cluster.feature_level)
    }

    /// Whether this node can do what a state asks for. Who cannot must not lead, nor apply it in a way of its own.
    pub(super) fn check_feature_level(&self, level: u32) -> Result<(), StorageError> {
        let level_max = self.config.feature_level_max;
        if level > level_max { Err(StorageError::FeatureLevel { level, level_max }) } else { Ok(()) }
    }

    /// Goes on with what an operator asked for.
    fn go_on(&mut self) {
        let Some(UnderWay { connection, request, step }) = self.cluster.under_way.take() else { return };
        let step = match step {
            Step::Registering { member } if self.engine.members().get(&member.node) == Some(&member) => {
                Step::Proposing { change: MembershipChange::Learner(member.node) }
            }
            step => step,
        };
        let step = match step {
            Step::Proposing { change } => match self.group.propose_change(change) {
                Ok((term, index)) => Step::Changing { term, index },
                Err(ProposeError::ChangePending | ProposeError::Dropped) => Step::Proposing { change },
                Err(ProposeError::NotLeader) => {
                    return self.connections.refuse(connection, request, self.elsewhere());
                }
            },
            Step::Transferring { to, until_us }
                if self.now_us >= until_us
                    || self.group.transferee() != Some(to) && self.group.is_leader() =>
            {
                let text =
                    format!("node {to} did not take leadership over: it may be down, or too far behind");
                return self.connections.refuse(connection, request, ErrorReply::new(ErrorCode::Busy, text));
            }
            step => step,
        };
        self.cluster.under_way = Some(UnderWay { connection, request, step });
    }
}

/// Whether a member can take leadership over: it is up, and needs no checkpoint first. While one is waited for, Raft takes no
/// proposals.
fn may_lead(progress: &Progress) -> bool {
    progress.is_active && progress.snapshot.is_none()
}

fn invalid(message: String) -> ErrorReply {
    ErrorReply::new(ErrorCode::Invalid, message)
}
