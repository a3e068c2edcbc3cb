//! The members of the group, which change one at a time.
//!
//! A change is a log entry in our own format, which raft-rs carries but does not read. With one change at a time, any
//! majority before and any majority after a change share a member, so no joint configuration is needed (Ongaro, Consensus:
//! Bridging Theory and Practice, 2014, section 4.1).

use ::raft::eraftpb::{ConfChange, ConfChangeType, ConfState};
use bincode::Options as _;
use serde::{Deserialize, Serialize};

/// The members of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Membership {
    /// They elect the leader, and a majority of them must store an entry.
    pub voters: Vec<u64>,
    /// They receive the log and do not vote.
    pub learners: Vec<u64>,
}

/// A change of membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MembershipChange {
    /// This node becomes the only member. Each group begins with this change; it is used again if the majority was lost for
    /// good.
    Alone(u64),
    /// The node receives the log and does not vote yet.
    Learner(u64),
    /// The learner becomes a voter.
    Voter(u64),
    /// The node is removed from the group.
    Remove(u64),
}

impl Membership {
    /// The membership with which a group begins.
    pub fn alone(node: u64) -> Self {
        Self { voters: vec![node], learners: Vec::new() }
    }

    /// Every member, voters first.
    pub fn all(&self) -> impl Iterator<Item = u64> + '_ {
        self.voters.iter().chain(&self.learners).copied()
    }

    /// True if a node is a member.
    pub fn contains(&self, node: u64) -> bool {
        self.all().any(|member| member == node)
    }

    /// The members after a change, as raft-rs computes them; `None` for an invalid change, which would leave no voter.
    pub fn after(&self, change: MembershipChange) -> Option<Self> {
        Some(change.apply(self)).filter(|after| !after.voters.is_empty())
    }

    /// True if there is another voter: it, or a majority with it, has everything that was acknowledged.
    pub fn has_voters_beside(&self, node: u64) -> bool {
        self.voters.iter().any(|voter| *voter != node)
    }

    /// The number of voters in a majority.
    pub fn majority(&self) -> usize {
        self.voters.len() / 2 + 1
    }
}

impl From<&ConfState> for Membership {
    fn from(state: &ConfState) -> Self {
        let sorted = |nodes: &[u64]| {
            let mut nodes = nodes.to_vec();
            nodes.sort_unstable();
            nodes
        };
        Self { voters: sorted(&state.voters), learners: sorted(&state.learners) }
    }
}

impl From<Membership> for ConfState {
    fn from(members: Membership) -> Self {
        (members.voters, members.learners).into()
    }
}

impl MembershipChange {
    /// Encodes the change as the data of a log entry.
    pub fn encode(self) -> Vec<u8> {
        let encoded = options().serialize(&(VERSION, self));
        encoded.unwrap_or_else(|error| unreachable!("a change in memory always encodes: {error}"))
    }

    /// Decodes a change; `None` if this version cannot.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (version, change): (u8, Self) = options().deserialize(bytes).ok()?;
        (version == VERSION).then_some(change)
    }

    fn apply(self, before: &Membership) -> Membership {
        let without =
            |nodes: &[u64], node| nodes.iter().copied().filter(|one| *one != node).collect::<Vec<_>>();
        let with = |nodes: &[u64], node| {
            let mut nodes = without(nodes, node);
            nodes.push(node);
            nodes.sort_unstable();
            nodes
        };
        let Membership { voters, learners } = before;
        match self {
            Self::Alone(node) => Membership::alone(node),
            Self::Learner(node) => {
                Membership { voters: without(voters, node), learners: with(learners, node) }
            }
            Self::Voter(node) => Membership { voters: with(voters, node), learners: without(learners, node) },
            Self::Remove(node) => {
                Membership { voters: without(voters, node), learners: without(learners, node) }
            }
        }
    }

    /// The change as the single steps that raft-rs applies.
    pub(super) fn steps(self, before: &Membership) -> Vec<ConfChange> {
        match self {
            Self::Alone(node) => {
                let others = before.all().filter(|member| *member != node);
                std::iter::once(step(ConfChangeType::AddNode, node))
                    .chain(others.map(|member| step(ConfChangeType::RemoveNode, member)))
                    .collect()
            }
            Self::Learner(node) => vec![step(ConfChangeType::AddLearnerNode, node)],
            Self::Voter(node) => vec![step(ConfChangeType::AddNode, node)],
            Self::Remove(node) => vec![step(ConfChangeType::RemoveNode, node)],
        }
    }
}

fn step(kind: ConfChangeType, node: u64) -> ConfChange {
    let mut step = ConfChange { node_id: node, ..ConfChange::default() };
    step.set_change_type(kind);
    step
}

const VERSION: u8 = 1;

fn options() -> impl bincode::Options {
    bincode::DefaultOptions::new().with_varint_encoding()
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_read_as_it_was_written() {
        for change in [
            MembershipChange::Alone(1),
            MembershipChange::Learner(65_535),
            MembershipChange::Voter(3),
            MembershipChange::Remove(2),
        ] {
            let bytes = change.encode();
            assert_eq!(MembershipChange::decode(&bytes), Some(change));
            assert_eq!(MembershipChange::decode(&bytes[..bytes.len() - 1]), None);
        }
        assert_eq!(MembershipChange::decode(&[]), None);
        assert_eq!(MembershipChange::decode(&[VERSION + 1, 0, 1]), None);
    }

    #[test]
    fn members_come_and_go() {
        let three = Membership { voters: vec![1, 2], learners: vec![3] };
        let after = |change| three.after(change).expect("somebody votes");
        assert_eq!(after(MembershipChange::Voter(3)), Membership { voters: vec![1, 2, 3], learners: vec![] });
        assert_eq!(after(MembershipChange::Learner(4)).learners, [3, 4]);
        assert_eq!(after(MembershipChange::Remove(1)), Membership { voters: vec![2], learners: vec![3] });
        assert_eq!(after(MembershipChange::Alone(2)), Membership::alone(2));
        assert_eq!(Membership::alone(1).after(MembershipChange::Remove(1)), None);
        assert_eq!((three.majority(), after(MembershipChange::Voter(3)).majority()), (2, 2));
    }
}
