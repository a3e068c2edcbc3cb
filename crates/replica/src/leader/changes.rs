//! The leader's work for its cluster: it records the members' addresses, promotes learners that have caught up, raises the
//! feature level, and carries out an operator's changes.
//!
//! One change by an operator is in progress at a time. Raft also accepts one change of membership at a time.

use std::collections::BTreeMap;

use super::proposals::{Proposals, Reply};
use crate::group::Group;
use crate::group::cluster::may_lead;
use crate::io::{Output, PeerInfo, ProbeError};
use crate::node::Node;
use crate::node::connections::Asker;
use crate::refusals::retry_later;
use adjourn_engine::Command;
use adjourn_protocol::{ErrorCode, ErrorReply, Response};
use adjourn_raft::{MembershipChange, ProposeError};
use adjourn_storage::LogEntry;
use adjourn_types::{Member, is_host_and_port};

/// How often the leader does its work for the cluster.
const KEEP_US: u64 = 100_000;
/// A leadership transfer that takes longer has failed.
const TRANSFER_US_MAX: u64 = 1_500_000;

/// Changes of the cluster that the leader has in progress.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    under_way: Option<UnderWay>,
    /// The last proposed data of each member, so that each change is proposed once.
    registered: BTreeMap<u64, Member>,
    /// The feature level that was proposed last.
    feature_level: u32,
}

/// An operator's change in progress.
#[derive(Debug)]
struct UnderWay {
    asker: Asker,
    step: Step,
}

/// The stage of an operator's change.
#[derive(Debug)]
enum Step {
    /// The node at this address is being contacted.
    Probing { address: String },
    /// The member's data is being written to the state.
    Registering { member: Member },
    /// The change waits until Raft accepts it.
    Proposing { change: MembershipChange },
    /// The change was proposed, as the entry with this term and index.
    Changing { term: u64, index: u64 },
    /// Leadership is being transferred, until this time.
    Transferring { to: u64, until_us: u64 },
}

impl UnderWay {
    /// True if it may change the membership: the new node was contacted.
    fn changes_members(&self) -> bool {
        matches!(self.step, Step::Registering { .. } | Step::Proposing { .. } | Step::Changing { .. })
    }
}

/// A node to be added that does not answer should be tried again after this time, in milliseconds.
const ABSENT_RETRY_MS: u32 = 500;

impl Changes {
    /// Ends the work of a leader that led in `term`: an operator's change is done, or its outcome is unknown.
    pub(crate) fn leave(self, node: &mut Node, group: &Group, term: u64, moved: ErrorReply) {
        let Some(UnderWay { asker, step }) = self.under_way else { return };
        // A new leader has a later term. A leader may also lose only its majority.
        let taken_over = group.raft.term() > term;
        let recent = group.recent_transfer_target(node);
        if taken_over && matches!(step, Step::Transferring { to, .. } if recent == Some(to)) {
            node.connections.send(asker, Response::Done);
        } else {
            node.connections.refuse(asker, moved);
        }
    }

    /// Begins to add the node at an address.
    pub(super) fn add_member(&mut self, node: &mut Node, group: &mut Group, asker: Asker, address: &str) {
        if !is_host_and_port(address) {
            let text = format!("{address:?} is no address of a node: name its HOST:PORT");
            return node.connections.refuse(asker, invalid(text));
        }
        if self.take_on(node, group, asker, Step::Probing { address: address.to_owned() }) {
            node.due.push(Output::Probe { address: address.to_owned() });
        }
    }

    /// Handles the result of contacting a node to be added.
    pub(crate) fn probed(
        &mut self,
        node: &mut Node,
        group: &mut Group,
        probed: &str,
        found: Result<PeerInfo, ProbeError>,
    ) {
        let ours = |under_way: &mut UnderWay| matches!(&under_way.step, Step::Probing { address } if address == probed);
        let Some(under_way) = self.under_way.take_if(ours) else { return };
        let refused = |error: ProbeError| match error {
            // It may be starting.
            ProbeError::Unreachable { .. } => {
                retry_later(ErrorCode::Busy, &error.to_string(), ABSENT_RETRY_MS)
            }
            ProbeError::Unproven { .. } | ProbeError::Refused { .. } => invalid(error.to_string()),
        };
        let checked = found.map_err(refused).and_then(|info| {
            self.may_join(node, group, &info)?;
            Ok(info.member)
        });
        match checked {
            Ok(member) => {
                self.under_way = Some(UnderWay { step: Step::Registering { member }, ..under_way });
                group.cluster.next_us = node.now_us;
            }
            Err(error) => node.connections.refuse(under_way.asker, error),
        }
    }

    /// Checks that a node can become a member.
    fn may_join(&self, node: &Node, group: &Group, info: &PeerInfo) -> Result<(), ErrorReply> {
        let number = info.member.node;
        if number == node.config.node {
            return Err(invalid(format!("node {number} at that address is this one")));
        }
        if group.raft.members().contains(number) {
            return Err(invalid(format!("node {number} is a member already")));
        }
        if group.state.engine.was_member(number) {
            let text = format!(
                "node {number} was a member and was removed: start it with an empty data directory, under a number \
                 that was never used"
            );
            return Err(invalid(text));
        }
        let known = group.state.engine.members().get(&number);
        if known.is_some_and(|known| known.storage_id != info.member.storage_id) {
            let text = format!(
                "node {number} was known with other data, which is lost: start it with an empty data directory, under a \
                 number that was never used"
            );
            return Err(invalid(text));
        }
        if info.feature_level_max < self.level_to_come(group) {
            return Err(invalid(format!(
                "node {number} is of an older version than the cluster: upgrade it first"
            )));
        }
        Ok(())
    }

    /// Begins to remove a member.
    pub(super) fn remove_member(&mut self, node: &mut Node, group: &mut Group, asker: Asker, number: u64) {
        let members = group.raft.members();
        let refused = if members.voters == [number] {
            Some(format!("node {number} is the only one that votes: add another before it is removed"))
        } else if number == node.config.node {
            Some(format!("node {number} leads: move leadership first, with `adjourn cluster step-down`"))
        } else if !members.contains(number) && !group.state.engine.members().contains_key(&number) {
            Some(format!("node {number} is not a member: CLUSTER_STATUS lists the members"))
        } else {
            group.leaves_no_majority(node, number)
        };
        if let Some(text) = refused {
            return node.connections.refuse(asker, invalid(text));
        }
        self.take_on(node, group, asker, Step::Proposing { change: MembershipChange::Remove(number) });
    }

    /// Transfers leadership to a member; with 0, this node chooses one.
    pub(super) fn transfer(&mut self, node: &mut Node, group: &mut Group, asker: Asker, number: u64) {
        let to = if number == 0 { group.transfer_target(node) } else { Some(number) };
        let Some(to) = to else {
            let alone = "no other member that votes is up: leadership stays here";
            return node.connections.refuse(asker, invalid(alone.to_owned()));
        };
        if to == node.config.node {
            return node.connections.send(asker, Response::Done);
        }
        if !group.raft.members().voters.contains(&to) {
            let text = format!("node {to} does not vote: `adjourn cluster status` lists the members");
            return node.connections.refuse(asker, invalid(text));
        }
        if !group.progress(node).get(&to).is_some_and(may_lead) {
            let text = format!("node {to} is down, or waits for a checkpoint: leadership stays here");
            return node.connections.refuse(asker, invalid(text));
        }
        let until_us = node.now_us + TRANSFER_US_MAX;
        if self.take_on(node, group, asker, Step::Transferring { to, until_us }) {
            group.transfer_to(node, to);
        }
    }

    /// Begins a change, unless another one is in progress.
    fn take_on(&mut self, node: &mut Node, group: &mut Group, asker: Asker, step: Step) -> bool {
        if self.under_way.is_some() {
            let busy = "another change of the cluster is under way: try again when it is done";
            let mut error = ErrorReply::new(ErrorCode::Busy, busy);
            error.retry_after_ms = 500;
            node.connections.refuse(asker, error);
            return false;
        }
        self.under_way = Some(UnderWay { asker, step });
        group.cluster.next_us = node.now_us;
        true
    }

    /// Follows an applied change of membership, and answers the client that requested it.
    pub(crate) fn applied(&mut self, node: &mut Node, entry: &LogEntry) {
        let ours = |under_way: &mut UnderWay| matches!(under_way.step, Step::Changing { term, index } if (term, index) == (entry.term, entry.index));
        if let Some(done) = self.under_way.take_if(ours) {
            node.connections.send(done.asker, Response::Done);
        }
    }

    /// Does the leader's work for the cluster.
    pub(crate) fn keep(&mut self, node: &mut Node, group: &mut Group, proposals: &mut Proposals) {
        group.cluster.next_us = node.now_us + KEEP_US;
        self.register_members(node, group, proposals);
        if !group.raft.is_alone() {
            group.promote_learner(node);
        }
        self.raise_feature_level(node, group, proposals);
        self.go_on(node, group);
    }

    /// When to continue if no event comes before; never without a change in progress.
    pub(super) fn next_keep_us(&self, group: &Group) -> u64 {
        if self.under_way.is_some() { group.cluster.next_us } else { u64::MAX }
    }

    /// Writes the data of each connected member to the state, if it is not there.
    fn register_members(&mut self, node: &Node, group: &Group, proposals: &mut Proposals) {
        let own = Member {
            node: node.config.node,
            storage_id: node.config.storage_id,
            peer_address: node.config.peer_address.clone(),
            client_address: node.config.client_address.clone(),
        };
        let members = group.raft.members();
        let others = node.peers.all().map(|peer| &peer.info.member);
        let mut known: Vec<Member> = others.filter(|member| members.contains(member.node)).cloned().collect();
        known.push(own);
        if let Some(UnderWay { step: Step::Registering { member }, .. }) = &self.under_way {
            known.push(member.clone());
        }
        for member in known {
            let stands = group.state.engine.members().get(&member.node);
            if stands == Some(&member) || self.registered.get(&member.node) == Some(&member) {
                continue;
            }
            let Member { node: number, storage_id, peer_address, client_address } = &member;
            let command =
                Command::MemberSet { node: *number, storage_id: *storage_id, peer_address, client_address };
            proposals.add_command(node, group, &command, Reply::Nobody);
            self.registered.insert(member.node, member);
        }
    }

    /// Raises the feature level to what all members support. Waits while a node is about to become a member: it was
    /// accepted at the previous level.
    pub(super) fn raise_feature_level(&mut self, node: &Node, group: &Group, proposals: &mut Proposals) {
        if self.under_way.as_ref().is_some_and(UnderWay::changes_members) {
            return;
        }
        let others = group.raft.members().all().filter(|member| *member != node.config.node);
        let levels =
            others.map(|member| node.peers.one(member).map_or(0, |peer| peer.info.feature_level_max));
        let level = levels.fold(node.config.feature_level_max, u32::min);
        if level > self.level_to_come(group) {
            proposals.add_command(node, group, &Command::FeatureLevel { level }, Reply::Nobody);
            self.feature_level = level;
        }
    }

    /// The feature level at which entries proposed from now on are applied.
    pub(super) fn level_to_come(&self, group: &Group) -> u32 {
        group.state.engine.feature_level().max(self.feature_level)
    }

    /// Continues an operator's change.
    fn go_on(&mut self, node: &mut Node, group: &mut Group) {
        let Some(UnderWay { asker, step }) = self.under_way.take() else { return };
        let step = match step {
            Step::Registering { member }
                if group.state.engine.members().get(&member.node) == Some(&member) =>
            {
                Step::Proposing { change: MembershipChange::Learner(member.node) }
            }
            step => step,
        };
        let step = match step {
            Step::Proposing { change } => match group.raft.propose_change(change) {
                Ok((term, index)) => Step::Changing { term, index },
                Err(ProposeError::ChangePending | ProposeError::Dropped) => Step::Proposing { change },
                Err(ProposeError::NotLeader) => {
                    return node.connections.refuse(asker, group.elsewhere(node));
                }
            },
            Step::Transferring { to, until_us }
                if node.now_us >= until_us
                    || group.raft.transferee() != Some(to) && group.raft.is_leader() =>
            {
                let text =
                    format!("node {to} did not take leadership over: it may be down, or too far behind");
                return node.connections.refuse(asker, ErrorReply::new(ErrorCode::Busy, text));
            }
            step => step,
        };
        self.under_way = Some(UnderWay { asker, step });
    }
}

fn invalid(message: String) -> ErrorReply {
    ErrorReply::new(ErrorCode::Invalid, message)
}
