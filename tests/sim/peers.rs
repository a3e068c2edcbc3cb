//! The network between nodes, and the work of a node's transport: which nodes it talks to, which it refuses, and how messages
//! travel.
//!
//! Two nodes that may talk find each other after a while. What one says to the other takes its time, overtakes, is lost
//! or comes twice, as the plan says; a direction that is cut lets nothing through. Every message goes through its bytes.

use std::collections::{BTreeMap, BTreeSet};

use adjourn_raft::Message;
use adjourn_replica::{Bundle, Input, PeerInfo, ProbeError};
use adjourn_types::{FEATURE_LEVEL, Member};
use bytes::Bytes;

use super::mutants::Mutant;
use super::node::Node;
use super::seen::{End, NodeId, Seen};
use super::time::{MS, SECOND, Us};
use super::world::{Event, World};

/// Nodes that could be connected try it so often.
const DIAL_PAUSE: Us = 40 * MS;
/// A direction that is slow takes so long.
const SLOW: (Us, Us) = (100 * MS, 900 * MS);
/// The one at the other end of a connection that is dead without a word has noticed by then.
const NOTICED_AFTER: Us = 3 * SECOND;

/// The state of the network between the nodes.
#[derive(Debug, Default)]
pub(super) struct Wires {
    /// Who takes itself for connected with whom: (node, the other one).
    ends: BTreeSet<(NodeId, NodeId)>,
    /// Directions in which nothing gets through, and how often each was cut.
    pub(super) cut: BTreeMap<(NodeId, NodeId), u32>,
    /// Directions that are slow.
    pub(super) slow: BTreeSet<(NodeId, NodeId)>,
}

/// A bundle on its way.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    bundle: Bundle,
    messages: Vec<Bytes>,
}

/// Whom a node's transport was told to talk to.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) members: Vec<Member>,
    pub(super) removed: Vec<u64>,
    pub(super) feature_level: u32,
}

impl Wires {
    fn passes(&self, from: NodeId, to: NodeId) -> bool {
        !self.cut.contains_key(&(from, to))
    }

    /// Whether a node takes itself for connected with another.
    pub(super) fn hears(&self, node: NodeId, other: NodeId) -> bool {
        self.ends.contains(&(node, other))
    }

    /// Whether a node reaches another, and is reached by it.
    pub(super) fn are_joined(&self, one: NodeId, other: NodeId) -> bool {
        self.passes(one, other) && self.passes(other, one)
    }

    /// Cuts a direction, once more.
    pub(super) fn cut(&mut self, from: NodeId, to: NodeId) {
        *self.cut.entry((from, to)).or_default() += 1;
    }

    /// Undoes one cut of a direction.
    pub(super) fn mend(&mut self, from: NodeId, to: NodeId) {
        if let Some(times) = self.cut.get_mut(&(from, to)) {
            *times -= 1;
            if *times == 0 {
                self.cut.remove(&(from, to));
            }
        }
    }
}

impl Told {
    /// Whether it knows this node, with these data.
    fn knows(&self, member: &Member) -> bool {
        self.members.iter().any(|known| known.node == member.node && known.storage_id == member.storage_id)
    }

    fn refuses(&self, about: &PeerInfo) -> bool {
        let member = &about.member;
        self.removed.contains(&member.node)
            || about.feature_level_max < self.feature_level
            || self
                .members
                .iter()
                .any(|known| known.node == member.node && known.storage_id != member.storage_id)
    }
}

/// Where clients reach a node.
pub(super) fn client_address(node: NodeId) -> String {
    format!("node-{node}:7440")
}

/// Where other nodes reach it.
pub(super) fn peer_address(node: NodeId) -> String {
    format!("node-{node}:7441")
}

/// Which node is at an address.
pub(super) fn node_at(address: &str) -> Option<NodeId> {
    let (name, _port) = address.split_once(':')?;
    name.strip_prefix("node-")?.parse().ok()
}

impl World {
    /// Everybody tries to reach whom it should be connected to.
    pub(super) fn dial(&mut self) {
        self.after(DIAL_PAUSE, Event::Dials);
        let nodes: Vec<NodeId> = self.nodes.keys().copied().collect();
        for (place, one) in nodes.iter().enumerate() {
            for other in &nodes[place + 1..] {
                if self.may_connect(*one, *other) && self.random.percent(50) {
                    self.connect_nodes(*one, *other);
                }
            }
        }
    }

    /// What a node says of itself to other nodes.
    fn about(&self, node: NodeId) -> PeerInfo {
        let Node { id, storage_id, feature_level_max, .. } = self.nodes[&node];
        let member = Member {
            node: id,
            storage_id,
            peer_address: peer_address(id),
            client_address: client_address(id),
        };
        let hidden = self.plan.mutant == Mutant::VersionHidden;
        PeerInfo { member, feature_level_max: if hidden { FEATURE_LEVEL } else { feature_level_max } }
    }

    fn may_connect(&self, one: NodeId, other: NodeId) -> bool {
        let (Some(life), Some(other_life)) = (&self.nodes[&one].life, &self.nodes[&other].life) else {
            return false;
        };
        let (about, other_about) = (self.about(one), self.about(other));
        let refused = life.told.refuses(&other_about) || other_life.told.refuses(&about);
        let wires = &self.wires;
        let known = life.told.knows(&other_about.member) || other_life.told.knows(&about.member);
        let fresh = !wires.ends.contains(&(one, other)) && !wires.ends.contains(&(other, one));
        known && !refused && fresh && wires.are_joined(one, other)
    }

    fn connect_nodes(&mut self, one: NodeId, other: NodeId) {
        for (node, peer) in [(one, other), (other, one)] {
            self.wires.ends.insert((node, peer));
            let about = self.about(peer);
            self.see(&Seen::PeerConnected { node, peer });
            self.hand(node, Input::PeerConnected { about });
        }
    }

    /// The connection between two nodes breaks; each notices some time.
    pub(super) fn disconnect_nodes(&mut self, one: NodeId, other: NodeId) {
        for (node, peer) in [(one, other), (other, one)] {
            if self.wires.ends.contains(&(node, peer)) {
                let notices = self.random.below(300 * MS);
                self.peer_ends_after(notices, node, peer);
            }
        }
    }

    /// A node's process is gone: its peers notice, sooner or later.
    pub(super) fn leave_peers(&mut self, node: NodeId, why: End) {
        let ends: Vec<(NodeId, NodeId)> =
            self.wires.ends.iter().copied().filter(|(one, other)| *one == node || *other == node).collect();
        for (one, other) in ends {
            if one == node {
                self.wires.ends.remove(&(one, other));
            } else {
                let silent = why == End::PowerCut && self.random.percent(50);
                let notices = self.random.below(if silent { NOTICED_AFTER } else { 100 * MS });
                self.peer_ends_after(notices, one, other);
            }
        }
    }

    pub(super) fn peer_ends_after(&mut self, pause: Us, node: NodeId, peer: NodeId) {
        if let Some(life) = self.nodes[&node].life.as_ref().map(|life| life.number) {
            self.after(pause, Event::PeerEnds { node, life, peer });
        }
    }

    pub(super) fn peer_ends(&mut self, node: NodeId, life: u64, peer: NodeId) {
        if self.life(node, life).is_some() && self.wires.ends.remove(&(node, peer)) {
            self.see(&Seen::PeerLost { node, peer });
            self.hand(node, Input::PeerLost { node: peer });
            if self.wires.ends.contains(&(peer, node)) {
                let notices = self.random.below(300 * MS);
                self.peer_ends_after(notices, peer, node);
            }
        }
    }

    /// A node has something to say to another one.
    pub(super) fn say_to_peer(&mut self, from: NodeId, to: NodeId, mut bundle: Bundle) {
        self.see(&Seen::Speaks { from, to, bundle: &bundle });
        let messages: Vec<Bytes> =
            std::mem::take(&mut bundle.messages).iter().map(|message| message.encode().into()).collect();
        self.forge_answer(from, to, &messages);
        if !self.wires.ends.contains(&(from, to)) {
            return;
        }
        let (lost, twice, split) = self
            .plan
            .cluster
            .as_ref()
            .map_or((0, 0, 0), |plan| (plan.lost_percent, plan.twice_percent, plan.split_percent));
        let parcels = if self.random.percent(split) {
            let alone = |message| Parcel { bundle: bundle.clone(), messages: vec![message] };
            messages.into_iter().map(alone).collect()
        } else {
            vec![Parcel { bundle, messages }]
        };
        for parcel in parcels {
            if self.random.percent(twice) {
                self.post(from, to, parcel.clone());
            }
            if !self.random.percent(lost) {
                self.post(from, to, parcel);
            }
        }
    }

    fn post(&mut self, from: NodeId, to: NodeId, parcel: Parcel) {
        let Some(life) = self.nodes.get(&to).and_then(|node| node.life.as_ref()).map(|life| life.number)
        else {
            return;
        };
        let usual = self.plan.cluster.as_ref().map_or((20, 300), |plan| plan.peer_us);
        let takes = self.random.within(if self.wires.slow.contains(&(from, to)) { SLOW } else { usual });
        self.after(takes, Event::PeerSays { from, to, life, parcel });
    }

    /// What a node said reaches another one.
    pub(super) fn hear_peer(&mut self, from: NodeId, to: NodeId, life: u64, parcel: Parcel) {
        let hears = self.wires.passes(from, to) && self.wires.ends.contains(&(to, from));
        if self.life(to, life).is_none() || !hears {
            return;
        }
        let Parcel { mut bundle, messages } = parcel;
        self.falsify(to, &mut bundle);
        for bytes in &messages {
            match Message::decode(bytes) {
                Ok(message) => bundle.messages.push(message),
                Err(error) => {
                    return self.breaks("no panic", format!("a message of {from} is none: {error}"));
                }
            }
        }
        self.hand(to, Input::Peer { from, bundle });
    }

    /// A leader wants to know who is at an address.
    pub(super) fn probe(&mut self, node: NodeId, life: u64, address: String) {
        let takes = self.random.within((MS, 20 * MS));
        self.after(takes, Event::Probed { node, life, address });
    }

    pub(super) fn probed(&mut self, node: NodeId, life: u64, address: String) {
        if self.life(node, life).is_none() {
            return;
        }
        let there = node_at(&address)
            .filter(|there| self.wires.are_joined(node, *there))
            .and_then(|there| self.nodes.get(&there))
            .filter(|there| there.life.is_some());
        let found = match there {
            Some(there) => Ok(self.about(there.id)),
            None => Err(ProbeError::Unreachable { address: address.clone(), why: "silence".to_owned() }),
        };
        self.hand(node, Input::Probed { address, found });
    }

    /// Entries for a member who lags are read, behind what waits for the disk.
    pub(super) fn fetch(&mut self, node: NodeId, life: u64, wanted: adjourn_raft::Wanted) {
        let takes = self.random.within(self.plan.disk_us);
        let waits = self.life(node, life).is_some_and(|life| !life.writes.is_empty());
        if waits {
            return self.after(takes, Event::Fetches { node, life, wanted });
        }
        if self.life(node, life).is_none() {
            return;
        }
        match self.node(node).disk.read(wanted.first, wanted.last, wanted.bytes_max) {
            Ok(entries) => self.hand(node, Input::Fetched { entries }),
            Err(why) => self.end(node, why),
        }
    }

    /// Nothing is between the nodes any more but a good network.
    pub(super) fn heal_wires(&mut self) {
        self.wires.cut.clear();
        self.wires.slow.clear();
    }
}
