//! The members of the cluster: their addresses, and the id of each one's copy of the data. Raft knows which of them vote.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::hash::{Element, Kind, Sum};
use super::outcome::Reject;
use adjourn_types::Member;

/// The members and their common feature level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Members {
    known: BTreeMap<u64, Member>,
    /// Numbers of former members. They are never reused: what such a node acknowledged may be lost.
    removed: BTreeSet<u64>,
    feature_level: u32,
}

impl Members {
    /// Adds a member, or updates its addresses.
    pub(super) fn set(&mut self, member: Member, sum: &mut Sum) -> Result<(), Reject> {
        if self.removed.contains(&member.node) {
            return Err(Reject::MemberRemoved);
        }
        if self.known.get(&member.node).is_some_and(|known| known.storage_id != member.storage_id) {
            return Err(Reject::MemberChanged);
        }
        sum.add(of_member(&member));
        if let Some(before) = self.known.insert(member.node, member) {
            sum.subtract(of_member(&before));
        }
        Ok(())
    }

    /// Removes a member for good.
    pub(super) fn remove(&mut self, node: u64, sum: &mut Sum) {
        if let Some(before) = self.known.remove(&node) {
            sum.subtract(of_member(&before));
        }
        if self.removed.insert(node) {
            sum.add(of_removed(node));
        }
    }

    /// Forgets all members: a new cluster begins with this state.
    pub(super) fn clear(&mut self, sum: &mut Sum) {
        sum.subtract(self.hash());
        self.known.clear();
        self.removed.clear();
    }

    /// Raises the feature level that all members support; it never falls.
    pub(super) fn raise_feature_level(&mut self, level: u32) {
        self.feature_level = self.feature_level.max(level);
    }

    pub(super) fn feature_level(&self) -> u32 {
        self.feature_level
    }

    /// The members, by number.
    pub(super) fn all(&self) -> &BTreeMap<u64, Member> {
        &self.known
    }

    /// The numbers of removed members.
    pub(super) fn removed(&self) -> impl Iterator<Item = u64> {
        self.removed.iter().copied()
    }

    pub(super) fn was_removed(&self, node: u64) -> bool {
        self.removed.contains(&node)
    }

    /// Their share of the state hash.
    pub(super) fn hash(&self) -> u128 {
        let known = self.known.values().map(of_member);
        known.chain(self.removed.iter().copied().map(of_removed)).fold(0, u128::wrapping_add)
    }
}

fn of_member(member: &Member) -> u128 {
    let Member { node, storage_id, peer_address, client_address } = member;
    let mut element = Element::new(Kind::Member);
    element.word(*node).wide(u128::from_le_bytes(*storage_id));
    element.text(peer_address).text(client_address);
    element.hash()
}

fn of_removed(node: u64) -> u128 {
    Element::new(Kind::RemovedMember).word(node).hash()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(node: u64, storage: u8, peer_address: &str) -> Member {
        Member {
            node,
            storage_id: [storage; 16],
            peer_address: peer_address.to_owned(),
            client_address: "c:1".to_owned(),
        }
    }

    #[test]
    fn a_member_may_move_but_not_lose_its_data() {
        let (mut members, mut sum) = (Members::default(), Sum::default());
        let nothing = sum;
        assert_eq!(members.set(member(1, 1, "a:1"), &mut sum), Ok(()));
        let there = sum;
        assert_eq!(members.set(member(1, 1, "b:1"), &mut sum), Ok(()));
        assert!(sum != there && sum != nothing);
        assert_eq!(members.set(member(1, 2, "b:1"), &mut sum), Err(Reject::MemberChanged));
        assert_eq!(members.all()[&1], member(1, 1, "b:1"));
        assert_eq!(sum, {
            let mut all = Sum::default();
            all.add(members.hash());
            all
        });
    }

    #[test]
    fn who_was_removed_does_not_come_back() {
        let (mut members, mut sum) = (Members::default(), Sum::default());
        assert_eq!(members.set(member(2, 1, "a:1"), &mut sum), Ok(()));
        members.remove(2, &mut sum);
        members.remove(2, &mut sum);
        assert_eq!(members.set(member(2, 1, "a:1"), &mut sum), Err(Reject::MemberRemoved));
        assert!(members.was_removed(2) && members.all().is_empty());
        let mut other = (members.clone(), sum);
        other.0.clear(&mut other.1);
        assert_eq!(
            (other.0.set(member(2, 9, "a:1"), &mut Sum::default()), other.1),
            (Ok(()), Sum::default())
        );
        assert_eq!(sum, {
            let mut all = Sum::default();
            all.add(members.hash());
            all
        });
    }

    #[test]
    fn the_feature_level_only_rises() {
        let mut members = Members::default();
        members.raise_feature_level(2);
        members.raise_feature_level(1);
        assert_eq!(members.feature_level(), 2);
    }
}
