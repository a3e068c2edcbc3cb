//! The peer directory: decides which nodes may talk to this one, by the identities that both sides state.
//!
//! A node that is not known as a member is accepted if it belongs to this cluster: this node may be behind and not
//! know it yet, or have no members at all because it waits to be added.

use std::collections::{BTreeMap, BTreeSet};

use super::frames::{ClusterInfo, Greeting, Purpose, Refusal, RefusalCode};
use adjourn_replica::PeerInfo;
use adjourn_types::Member;

/// The identity of this node, and the nodes that it knows.
#[derive(Clone, Debug)]
pub(super) struct PeerDirectory {
    cluster_id: [u8; 16],
    own: PeerInfo,
    members: BTreeMap<u64, Member>,
    removed: BTreeSet<u64>,
    /// The feature level that every member must support.
    feature_level: u32,
}

/// The first eight digits of an id: enough for people to tell two apart.
pub(super) fn short(id: &[u8; 16]) -> String {
    let [a, b, c, d, ..] = *id;
    format!("{:08x}", u32::from_be_bytes([a, b, c, d]))
}

impl PeerDirectory {
    /// The directory of a node that knows no other node yet.
    pub(super) fn new(cluster_id: [u8; 16], own: PeerInfo) -> Self {
        Self { cluster_id, own, members: BTreeMap::new(), removed: BTreeSet::new(), feature_level: 0 }
    }

    /// Sets the members, the removed nodes, and the feature level that all must support.
    pub(super) fn update(&mut self, members: Vec<Member>, removed: Vec<u64>, feature_level: u32) {
        self.feature_level = feature_level;
        self.members = members.into_iter().map(|member| (member.node, member)).collect();
        self.removed = removed.into_iter().collect();
    }

    /// This node's number.
    pub(super) fn node(&self) -> u64 {
        self.own.member.node
    }

    /// All members except this node.
    pub(super) fn others(&self) -> impl Iterator<Item = &Member> {
        self.members.values().filter(|member| member.node != self.node())
    }

    /// True if the node is a member.
    pub(super) fn has(&self, node: u64) -> bool {
        self.members.contains_key(&node)
    }

    /// True if the node was removed.
    pub(super) fn is_removed(&self, node: u64) -> bool {
        self.removed.contains(&node)
    }

    /// The greeting of this node.
    pub(super) fn greeting(&self, purpose: Purpose) -> Greeting {
        Greeting { purpose, cluster_id: self.cluster_id, about: self.own.clone() }
    }

    /// The answer to a node that wants to join under this number.
    pub(super) fn cluster(&self, node: u64) -> Result<ClusterInfo, Refusal> {
        self.check_number(node)?;
        if self.has(node) {
            return Err(data_lost(node));
        }
        let members = self.members.values().cloned().collect();
        Ok(ClusterInfo { cluster_id: self.cluster_id, members })
    }

    /// Checks that the node with this greeting may connect to this node. If it was dialled, `dialled` is the expected
    /// number of the node.
    pub(super) fn check(&self, other: &Greeting, dialled: Option<u64>) -> Result<(), Refusal> {
        let member = &other.about.member;
        if other.cluster_id != self.cluster_id {
            let text = format!(
                "node {} belongs to cluster {}, node {} to cluster {}: if they are to be one, start one of them anew, \
                 with an empty data directory and `join`",
                member.node,
                short(&other.cluster_id),
                self.node(),
                short(&self.cluster_id)
            );
            return Err(Refusal::new(RefusalCode::OtherCluster, text));
        }
        self.check_number(member.node)?;
        if let Some(expected) = dialled.filter(|expected| *expected != member.node) {
            let text = format!(
                "node {} answers where node {expected} was looked for: one of them says a wrong peer_address",
                member.node
            );
            return Err(Refusal::new(RefusalCode::OtherNode, text));
        }
        if self.members.get(&member.node).is_some_and(|known| known.storage_id != member.storage_id) {
            return Err(data_lost(member.node));
        }
        if other.about.feature_level_max < self.feature_level {
            let text = format!(
                "node {} goes up to feature level {}, and the cluster is at {}: give it the binary that the others run, and \
                 leave feature_level_max out of its configuration",
                member.node, other.about.feature_level_max, self.feature_level
            );
            return Err(Refusal::new(RefusalCode::FeatureLevel, text));
        }
        Ok(())
    }

    fn check_number(&self, node: u64) -> Result<(), Refusal> {
        if node == self.node() {
            let text = format!("two nodes have the number {node}: give the new one another, with `node`");
            return Err(Refusal::new(RefusalCode::SameNumber, text));
        }
        if self.is_removed(node) {
            let text = format!(
                "node {node} was removed from the cluster, and its number is never used again: to bring the machine \
                 back, add it under another number, with an empty data directory"
            );
            return Err(Refusal::new(RefusalCode::Removed, text));
        }
        Ok(())
    }
}

fn data_lost(node: u64) -> Refusal {
    let text = format!(
        "node {node} is a member, with another copy of the data than this one: its data was lost. Remove it from the \
         cluster, and add it under another number, with an empty data directory"
    );
    Refusal::new(RefusalCode::DataLost, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(node: u64, storage: u8) -> PeerInfo {
        let (peer_address, client_address) = (String::new(), String::new());
        let member = Member { node, storage_id: [storage; 16], peer_address, client_address };
        PeerInfo { member, feature_level_max: 1 }
    }

    fn directory() -> PeerDirectory {
        let mut directory = PeerDirectory::new([7; 16], about(1, 1));
        directory.update(vec![about(1, 1).member, about(2, 2).member], vec![3], 1);
        directory
    }

    fn check(cluster: u8, node: u64, storage: u8, dialled: Option<u64>) -> Option<RefusalCode> {
        let greeting =
            Greeting { purpose: Purpose::Peer, cluster_id: [cluster; 16], about: about(node, storage) };
        directory().check(&greeting, dialled).err().map(|refusal| refusal.code)
    }

    #[test]
    fn members_and_strangers_of_the_cluster_are_let_in() {
        assert_eq!(check(7, 2, 2, None), None);
        assert_eq!(check(7, 2, 2, Some(2)), None);
        assert_eq!(check(7, 4, 9, None), None);
    }

    #[test]
    fn a_node_with_a_wrong_identity_is_refused() {
        assert_eq!(check(8, 2, 2, None), Some(RefusalCode::OtherCluster));
        assert_eq!(check(7, 2, 3, None), Some(RefusalCode::DataLost));
        assert_eq!(check(7, 3, 3, None), Some(RefusalCode::Removed));
        assert_eq!(check(7, 1, 1, None), Some(RefusalCode::SameNumber));
        assert_eq!(check(7, 4, 9, Some(2)), Some(RefusalCode::OtherNode));
    }

    #[test]
    fn a_node_below_the_feature_level_is_refused() {
        let mut directory = directory();
        directory.update(vec![about(1, 1).member, about(2, 2).member], vec![3], 2);
        let check = |feature_level_max| {
            let about = PeerInfo { feature_level_max, ..about(2, 2) };
            let greeting = Greeting { purpose: Purpose::Probe, cluster_id: [7; 16], about };
            directory.check(&greeting, None).map_err(|refusal| refusal.code)
        };
        assert_eq!([check(1), check(2), check(3)], [Err(RefusalCode::FeatureLevel), Ok(()), Ok(())]);
    }

    #[test]
    fn a_new_node_learns_the_cluster_and_an_emptied_one_does_not() {
        let refused = |node| directory().cluster(node).expect_err("refused").code;
        assert_eq!(directory().cluster(4).map(|cluster| cluster.members.len()), Ok(2));
        assert_eq!(refused(2), RefusalCode::DataLost);
        assert_eq!(refused(3), RefusalCode::Removed);
        assert_eq!(refused(1), RefusalCode::SameNumber);
    }
}
