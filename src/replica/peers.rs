//! The other nodes: who is connected, what their clocks show, how far they are, and what is to be said to them.

use std::collections::{BTreeMap, VecDeque};

use super::io::{Bundle, Output, PeerInfo};
use crate::raft::{Membership, Message};
use crate::types::Millis;

/// Every so many entries the state hash is kept, to be compared with that of the others.
const AUDIT_EVERY: u64 = 64;
/// So many of them are kept.
const AUDITS_KEPT: usize = 256;
/// Clocks that differ by no more agree, in milliseconds.
pub(super) const CLOCKS_AGREE_MS: u64 = 500;
/// What a clock showed longer ago says nothing any more, in microseconds.
const CLOCK_SAMPLE_US_MAX: u64 = 10_000_000;
/// Members show each other their clocks so often: two that follow have nothing else to say to each other.
const CLOCK_SHOWN_US: u64 = 1_000_000;

/// All that this node knows of the others beyond what the state says.
#[derive(Debug, Default)]
pub(super) struct Peers {
    connected: BTreeMap<u64, Peer>,
    /// How far each one's clock was ahead of this node's, and when that was seen. It outlives the connection: who judges
    /// clocks by those that are left takes one that is off for one of two equals.
    clocks: BTreeMap<u64, (i64, u64)>,
    next_shown_us: u64,
    outboxes: BTreeMap<u64, Vec<Message>>,
    audits: VecDeque<(u64, u128)>,
}

/// A node that this one is connected to.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) info: PeerInfo,
    /// The last entry that it said it had applied.
    pub(super) applied: u64,
    audited: (u64, u128),
    /// When it last pulled a checkpoint, or was offered one.
    pulled_us: u64,
}

/// What the others' clocks say of this node's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// A majority of the voters agrees, this one included.
    Agreed,
    /// A majority of the voters differs: this clock is ahead of the nearest of them by so much (negative: behind).
    Outside(i64),
    /// Too little is known.
    Open,
}

impl Peers {
    pub(super) fn connected(&mut self, info: PeerInfo) {
        let peer = Peer { info, applied: 0, audited: (0, 0), pulled_us: 0 };
        self.connected.insert(peer.info.member.node, peer);
    }

    pub(super) fn lost(&mut self, node: u64) {
        self.connected.remove(&node);
        self.outboxes.remove(&node);
    }

    pub(super) fn one(&self, node: u64) -> Option<&Peer> {
        self.connected.get(&node)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Peer> {
        self.connected.values()
    }

    /// Another node said something. Returns the entry after which its state was not what this one's was.
    pub(super) fn heard(&mut self, from: u64, bundle: &Bundle, wall: Millis, now_us: u64) -> Option<u64> {
        let peer = self.connected.get_mut(&from)?;
        peer.applied = bundle.applied;
        let ahead_ms = bundle.wall.0.cast_signed().saturating_sub(wall.0.cast_signed());
        self.clocks.insert(from, (ahead_ms, now_us));
        let before = std::mem::replace(&mut peer.audited, bundle.audited);
        let (index, hash) = bundle.audited;
        let own = self.audits.iter().find(|(own, _)| *own == index);
        own.filter(|(_, own)| before.0 != index && *own != hash).map(|_| index)
    }

    /// This node's state after an entry.
    pub(super) fn note_state(&mut self, index: u64, hash: impl FnOnce() -> u128) {
        if index.is_multiple_of(AUDIT_EVERY) {
            if self.audits.len() >= AUDITS_KEPT {
                self.audits.pop_front();
            }
            self.audits.push_back((index, hash()));
        }
    }

    /// The newest of the states that members compare, and the entry it came after; zeros if there is none.
    pub(super) fn audited(&self) -> (u64, u128) {
        self.audits.back().copied().unwrap_or_default()
    }

    /// Another node's newest compared state, and whether this node's was the same; `None` if that is not known.
    pub(super) fn compared(&self, node: u64) -> (u64, Option<bool>) {
        let Some(peer) = self.connected.get(&node) else { return (0, None) };
        let (index, hash) = peer.audited;
        let own = self.audits.iter().find(|(own, _)| *own == index);
        (index, own.map(|(_, own)| *own == hash))
    }

    /// This node's clock was set: how far the others' are ahead has to be seen anew.
    pub(super) fn forget_clocks(&mut self) {
        self.clocks.clear();
    }

    /// How far a node's clock is ahead of this one's, in milliseconds, if it was seen a short time ago.
    pub(super) fn ahead_ms(&self, node: u64, now_us: u64) -> Option<i64> {
        let (ahead_ms, seen_us) = self.clocks.get(&node).copied()?;
        (now_us.saturating_sub(seen_us) <= CLOCK_SAMPLE_US_MAX).then_some(ahead_ms)
    }

    /// Whether a node's clock was seen a short time ago, and agreed with this one's.
    pub(super) fn agrees(&self, node: u64, now_us: u64) -> bool {
        self.ahead_ms(node, now_us).is_some_and(|ahead_ms| ahead_ms.unsigned_abs() <= CLOCKS_AGREE_MS)
    }

    /// Says something to each member from time to time: with it goes what the clock shows.
    pub(super) fn show_clock(&mut self, members: &Membership, now_us: u64) {
        if now_us >= self.next_shown_us {
            self.next_shown_us = now_us + CLOCK_SHOWN_US;
            for node in self.connected.keys().filter(|node| members.contains(**node)) {
                self.outboxes.entry(*node).or_default();
            }
        }
    }

    /// What the clocks of the other voters say of this node's.
    pub(super) fn verdict(&self, own: u64, members: &Membership, now_us: u64) -> Verdict {
        let others = members.voters.iter().filter(|voter| **voter != own);
        let seen: Vec<i64> = others.filter_map(|voter| self.ahead_ms(*voter, now_us)).collect();
        let agreeing = seen.iter().filter(|ahead_ms| ahead_ms.unsigned_abs() <= CLOCKS_AGREE_MS).count();
        if agreeing + usize::from(members.voters.contains(&own)) >= members.majority() {
            return Verdict::Agreed;
        }
        if seen.len() - agreeing < members.majority() {
            return Verdict::Open;
        }
        let nearest = seen.into_iter().filter(|ahead_ms| ahead_ms.unsigned_abs() > CLOCKS_AGREE_MS);
        Verdict::Outside(
            nearest.min_by_key(|ahead_ms| ahead_ms.unsigned_abs()).map_or(0, |ahead_ms| -ahead_ms),
        )
    }

    /// A member pulls a checkpoint, or was offered one.
    pub(super) fn pulls(&mut self, node: u64, now_us: u64) {
        if let Some(peer) = self.connected.get_mut(&node) {
            peer.pulled_us = now_us;
        }
    }

    /// Whether a member was neither offered a checkpoint nor has pulled one for so long.
    pub(super) fn pulls_nothing_since(&self, node: u64, us: u64) -> bool {
        self.connected.get(&node).is_none_or(|peer| peer.pulled_us < us)
    }

    /// Something to say. Who is not connected does not hear it.
    pub(super) fn say(&mut self, message: Message) {
        self.outboxes.entry(message.to()).or_default().push(message);
    }

    /// Hands over what is to be said.
    pub(super) fn flush(&mut self, wall: Millis, stamp_us: u64, applied: u64, outputs: &mut Vec<Output>) {
        let audited = self.audited();
        for (to, messages) in std::mem::take(&mut self.outboxes) {
            let bundle = Bundle { wall, stamp_us, applied, audited, messages };
            outputs.push(Output::Peer { to, bundle });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Member;

    fn peers(ahead_ms: &[(u64, i64)]) -> Peers {
        let mut peers = Peers::default();
        for (node, ahead_ms) in ahead_ms {
            let (peer_address, client_address) = (String::new(), String::new());
            let member = Member { node: *node, storage_id: [0; 16], peer_address, client_address };
            peers.connected(PeerInfo { member, feature_level_max: 1 });
            let wall = Millis(1_000_000u64.saturating_add_signed(*ahead_ms));
            let bundle = Bundle { wall, stamp_us: 0, applied: 0, audited: (0, 0), messages: Vec::new() };
            assert_eq!(peers.heard(*node, &bundle, Millis(1_000_000), 5), None);
        }
        peers
    }

    fn three() -> Membership {
        Membership { voters: vec![1, 2, 3], learners: vec![4] }
    }

    #[test]
    fn a_majority_judges_a_clock() {
        let verdict = |ahead_ms: &[(u64, i64)]| peers(ahead_ms).verdict(1, &three(), 5);
        assert_eq!(verdict(&[(2, 400), (3, 9000)]), Verdict::Agreed);
        assert_eq!(verdict(&[(2, 700), (3, 9000)]), Verdict::Outside(-700));
        assert_eq!(verdict(&[(2, -3000), (3, -9000)]), Verdict::Outside(3000));
        assert_eq!(verdict(&[(2, 700)]), Verdict::Open);
        assert_eq!(verdict(&[(4, 0)]), Verdict::Open, "a learner has no say");
    }

    #[test]
    fn what_a_clock_showed_long_ago_says_nothing() {
        let peers = peers(&[(2, 0), (3, 0)]);
        assert_eq!(peers.verdict(1, &three(), 5 + CLOCK_SAMPLE_US_MAX), Verdict::Agreed);
        assert_eq!(peers.verdict(1, &three(), 6 + CLOCK_SAMPLE_US_MAX), Verdict::Open);
    }

    #[test]
    fn what_a_clock_showed_counts_when_its_node_is_gone() {
        let mut peers = peers(&[(2, -3000), (3, -3000)]);
        peers.lost(2);
        assert_eq!(peers.verdict(1, &three(), 5 + CLOCK_SAMPLE_US_MAX), Verdict::Outside(3000));
        assert_eq!(peers.verdict(1, &three(), 6 + CLOCK_SAMPLE_US_MAX), Verdict::Open);
    }

    #[test]
    fn members_are_shown_the_clock_from_time_to_time() {
        let mut peers = peers(&[(2, 0), (4, 0), (9, 0)]);
        let mut shown_to = |now_us| {
            let mut outputs = Vec::new();
            peers.show_clock(&three(), now_us);
            peers.flush(Millis(7), 0, 0, &mut outputs);
            let to = |output| match output {
                Output::Peer { to, bundle } => (to, bundle.wall, bundle.messages.len()),
                other => panic!("{other:?}"),
            };
            outputs.into_iter().map(to).collect::<Vec<_>>()
        };
        let members = [(2, Millis(7), 0), (4, Millis(7), 0)];
        assert_eq!(shown_to(5), members);
        assert_eq!(shown_to(4 + CLOCK_SHOWN_US), []);
        assert_eq!(shown_to(5 + CLOCK_SHOWN_US), members);
    }

    #[test]
    fn what_clocks_showed_before_this_one_was_set_says_nothing() {
        let mut peers = peers(&[(2, 0), (3, 0)]);
        peers.forget_clocks();
        assert_eq!(peers.verdict(1, &three(), 5), Verdict::Open);
    }

    #[test]
    fn a_state_that_differs_is_told_once() {
        let mut peers = peers(&[(2, 0)]);
        peers.note_state(AUDIT_EVERY - 1, || unreachable!("not one that is compared"));
        peers.note_state(AUDIT_EVERY, || 7);
        let mut hears = |hash| {
            let audited = (AUDIT_EVERY, hash);
            let bundle = Bundle { wall: Millis(0), stamp_us: 0, applied: 0, audited, messages: Vec::new() };
            peers.heard(2, &bundle, Millis(0), 5)
        };
        assert_eq!(hears(8), Some(AUDIT_EVERY));
        assert_eq!(hears(8), None);
        assert_eq!(peers.compared(2), (AUDIT_EVERY, Some(false)));
    }
}
