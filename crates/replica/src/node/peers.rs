//! The other nodes: connections, clocks, progress, and messages to send.

use std::collections::{BTreeMap, VecDeque};

use crate::io::{Bundle, Output, PeerInfo};
use adjourn_raft::{Membership, Message};
use adjourn_types::Millis;

/// Members compare their states after every entry whose index is a multiple of this.
const AUDIT_EVERY: u64 = 64;
/// Most state hashes that are kept for comparison.
const AUDITS_KEPT: usize = 256;
/// Clocks agree if they differ by at most this, in milliseconds.
pub(crate) const CLOCKS_AGREE_MS: u64 = 500;
/// A clock reading that is older than this is ignored, in microseconds.
const CLOCK_SAMPLE_US_MAX: u64 = 10_000_000;
/// A member that fetches a checkpoint must ask for the next part within this time, or it is offered the newest one. The
/// time includes the pause in which it reads a complete checkpoint.
const FETCH_PAUSE_US_MAX: u64 = 10_000_000;
/// As above, for a member that was only offered a checkpoint, or has reconnected. A fetch begins soon, continues over a new
/// connection, and asks every second; but an offer may be lost, and a restarted member knows of none. Repeating an offer is
/// cheap.
const FETCH_BEGINS_US_MAX: u64 = 3_000_000;
/// How often members show each other their clocks: followers have no other messages for each other.
const CLOCK_SHOWN_US: u64 = 1_000_000;

/// What this node knows about the others beyond the state.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    connected: BTreeMap<u64, Peer>,
    /// How far each clock was ahead of this node's, and when that was seen. Readings outlive the connection: with two
    /// clocks left there is no majority to tell which one is wrong.
    clocks: BTreeMap<u64, (i64, u64)>,
    /// When each member that was offered a checkpoint must have asked for a part of it. It outlives the connection, as a
    /// fetch does.
    fetch_by_us: BTreeMap<u64, u64>,
    next_shown_us: u64,
    outboxes: BTreeMap<u64, Vec<Message>>,
    audits: VecDeque<Audit>,
}

/// This node's state hash after an entry.
#[derive(Debug)]
struct Audit {
    index: u64,
    hash: u128,
    /// The hashes that other nodes reported after that entry.
    others: BTreeMap<u64, u128>,
}

/// A connected node.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) info: PeerInfo,
    /// The last entry that it reported as applied.
    pub(crate) applied: u64,
    audited: (u64, u128),
    /// When it last sent a Raft message.
    spoke_us: Option<u64>,
}

/// How this node's clock compares with those of the voters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It agrees with a majority of the voters' clocks, its own included.
    Agreed,
    /// A majority of the voters' clocks agrees without it. The difference in milliseconds to the nearest of them that it
    /// does not agree with; positive if this node is ahead.
    Outside(i64),
    /// Too few clocks were seen, or no majority agrees: then no clock counts as right.
    Open,
}

impl Peers {
    pub(crate) fn connected(&mut self, info: PeerInfo, now_us: u64) {
        if let Some(by_us) = self.fetch_by_us.get_mut(&info.member.node) {
            *by_us = (*by_us).min(now_us + FETCH_BEGINS_US_MAX);
        }
        let peer = Peer { info, applied: 0, audited: (0, 0), spoke_us: None };
        self.connected.insert(peer.info.member.node, peer);
    }

    pub(crate) fn lost(&mut self, node: u64) {
        self.connected.remove(&node);
        self.outboxes.remove(&node);
    }

    pub(crate) fn one(&self, node: u64) -> Option<&Peer> {
        self.connected.get(&node)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Peer> {
        self.connected.values()
    }

    /// Handles a bundle. Returns the index of the entry after which the sender's state differs from this one's, if that is
    /// new.
    pub(crate) fn heard(&mut self, from: u64, bundle: &Bundle, wall: Millis, now_us: u64) -> Option<u64> {
        let peer = self.connected.get_mut(&from)?;
        peer.applied = bundle.applied;
        if !bundle.messages.is_empty() {
            peer.spoke_us = Some(now_us);
        }
        let ahead_ms = bundle.wall.0.cast_signed().saturating_sub(wall.0.cast_signed());
        self.clocks.insert(from, (ahead_ms, now_us));
        peer.audited = bundle.audited;
        let (index, hash) = bundle.audited;
        let own = self.audits.iter_mut().rev().find(|own| own.index == index)?;
        let is_news = own.others.insert(from, hash) != Some(hash);
        (is_news && own.hash != hash).then_some(index)
    }

    /// Notes this node's state hash after an entry if members compare it: every [`AUDIT_EVERY`] entries, and at the first
    /// entry of each term, so that a new leader learns at once that its state differs.
    pub(crate) fn note_state(&mut self, index: u64, begins_term: bool, hash: impl FnOnce() -> u128) {
        if index.is_multiple_of(AUDIT_EVERY) || begins_term {
            if self.audits.len() >= AUDITS_KEPT {
                self.audits.pop_front();
            }
            self.audits.push_back(Audit { index, hash: hash(), others: BTreeMap::new() });
        }
    }

    /// Drops this node's state hashes: its state was replaced.
    pub(crate) fn forget_states(&mut self) {
        self.audits.clear();
    }

    /// The newest entry after which a majority of the voters agreed on a state that this node does not have.
    pub(crate) fn outvoted(&self, own: u64, members: &Membership) -> Option<u64> {
        let is_outvoted = |audit: &&Audit| {
            let voters =
                audit.others.iter().filter(|(node, _)| **node != own && members.voters.contains(node));
            let others: Vec<u128> =
                voters.map(|(_, hash)| *hash).filter(|hash| *hash != audit.hash).collect();
            let alike = |hash| others.iter().filter(|other| **other == hash).count();
            others.iter().any(|hash| alike(*hash) >= members.majority())
        };
        self.audits.iter().rev().find(is_outvoted).map(|audit| audit.index)
    }

    /// The newest entry that members compare, and the state hash after it; zeros if there is none.
    pub(crate) fn audited(&self) -> (u64, u128) {
        self.audits.back().map_or((0, 0), |audit| (audit.index, audit.hash))
    }

    /// Another node's newest compared entry, and whether this node had the same state after it; `None` if that is not
    /// known.
    pub(crate) fn compared(&self, node: u64) -> (u64, Option<bool>) {
        let Some(peer) = self.connected.get(&node) else { return (0, None) };
        let (index, hash) = peer.audited;
        let own = self.audits.iter().find(|own| own.index == index);
        (index, own.map(|own| own.hash == hash))
    }

    /// Drops all clock readings: this node's clock was set.
    pub(super) fn forget_clocks(&mut self) {
        self.clocks.clear();
    }

    /// How far a node's clock is ahead of this one's, in milliseconds, if the reading is recent.
    pub(crate) fn ahead_ms(&self, node: u64, now_us: u64) -> Option<i64> {
        let (ahead_ms, seen_us) = self.clocks.get(&node).copied()?;
        (now_us.saturating_sub(seen_us) <= CLOCK_SAMPLE_US_MAX).then_some(ahead_ms)
    }

    /// True if a recent reading of a node's clock agrees with this one's.
    pub(crate) fn agrees(&self, node: u64, now_us: u64) -> bool {
        self.ahead_ms(node, now_us).is_some_and(|ahead_ms| ahead_ms.unsigned_abs() <= CLOCKS_AGREE_MS)
    }

    /// Sends something to each member from time to time, if only an empty bundle: bundles carry the sender's clock.
    pub(crate) fn show_clock(&mut self, members: &Membership, now_us: u64) {
        if now_us >= self.next_shown_us {
            self.next_shown_us = now_us + CLOCK_SHOWN_US;
            for node in self.connected.keys().filter(|node| members.contains(**node)) {
                self.outboxes.entry(*node).or_default();
            }
        }
    }

    /// Compares this node's clock with those of the other voters.
    pub(crate) fn verdict(&self, own: u64, members: &Membership, now_us: u64) -> Verdict {
        let others = members.voters.iter().filter(|voter| **voter != own);
        let mut seen: Vec<i64> = others.filter_map(|voter| self.ahead_ms(*voter, now_us)).collect();
        seen.sort_unstable();
        let differs = |ahead_ms: &&i64| ahead_ms.unsigned_abs() > CLOCKS_AGREE_MS;
        let agreeing = seen.iter().filter(|ahead_ms| !differs(ahead_ms)).count();
        if agreeing + usize::from(members.voters.contains(&own)) >= members.majority() {
            return Verdict::Agreed;
        }
        let others = seen.windows(members.majority()).filter(|some| agree(some)).flatten();
        let nearest = others.filter(differs).min_by_key(|ahead_ms| ahead_ms.unsigned_abs());
        nearest.map_or(Verdict::Open, |ahead_ms| Verdict::Outside(-ahead_ms))
    }

    /// The wall-clock time that a majority of the voters has surely reached. If a majority agrees: the slowest of its
    /// clocks. Otherwise: the slowest clock seen, because some clock of any majority is right if most are. `wall` is this
    /// node's clock. Zero without a majority of recent readings.
    pub(crate) fn reached(&self, own: u64, members: &Membership, wall: Millis, now_us: u64) -> Millis {
        let seen = self.majority_ahead_ms(own, members, now_us);
        let agreeing = seen.windows(members.majority()).rfind(|some| agree(some));
        let behind = agreeing.unwrap_or(&seen).first();
        behind.map_or(Millis(0), |ahead_ms| Millis(wall.0.saturating_add_signed(*ahead_ms)))
    }

    /// Returns how far the voters' clock that is furthest ahead is ahead of this node's, in milliseconds. If most clocks are
    /// right, each majority has a right one, so no right clock has gone further. `None` if fewer than a majority were seen.
    pub(crate) fn furthest_ahead_ms(&self, own: u64, members: &Membership, now_us: u64) -> Option<i64> {
        self.majority_ahead_ms(own, members, now_us).last().copied()
    }

    /// How far the voters' clocks seen are ahead of this node's, in ascending order and with its own; empty if these are fewer
    /// than a majority.
    fn majority_ahead_ms(&self, own: u64, members: &Membership, now_us: u64) -> Vec<i64> {
        let ahead_ms = |voter| if voter == own { Some(0) } else { self.ahead_ms(voter, now_us) };
        let mut seen: Vec<i64> = members.voters.iter().filter_map(|voter| ahead_ms(*voter)).collect();
        if seen.len() < members.majority() {
            seen.clear();
        }
        seen.sort_unstable();
        seen
    }

    /// Notes that a member was offered a checkpoint.
    pub(crate) fn offered(&mut self, node: u64, now_us: u64) {
        self.fetch_by_us.insert(node, now_us + FETCH_BEGINS_US_MAX);
    }

    /// Notes that a member asked for a part of a checkpoint.
    pub(crate) fn fetches(&mut self, node: u64, now_us: u64) {
        self.fetch_by_us.insert(node, now_us + FETCH_PAUSE_US_MAX);
    }

    /// True if a member that was offered a checkpoint has not asked for a part of it in time.
    pub(crate) fn fetches_nothing(&self, node: u64, now_us: u64) -> bool {
        self.fetch_by_us.get(&node).is_none_or(|by_us| *by_us < now_us)
    }

    /// True if a node has sent a Raft message since then.
    pub(crate) fn spoke_since(&self, node: u64, us: u64) -> bool {
        self.connected.get(&node).and_then(|peer| peer.spoke_us).is_some_and(|spoke_us| spoke_us >= us)
    }

    /// Queues a message. It is lost if the node is not connected.
    pub(crate) fn say(&mut self, message: Message) {
        self.outboxes.entry(message.to()).or_default().push(message);
    }

    /// Passes on the queued messages.
    pub(crate) fn flush(&mut self, wall: Millis, stamp_us: u64, applied: u64, outputs: &mut Vec<Output>) {
        let audited = self.audited();
        for (to, messages) in std::mem::take(&mut self.outboxes) {
            let bundle = Bundle { wall, stamp_us, applied, audited, messages };
            outputs.push(Output::Peer { to, bundle });
        }
    }
}

/// True if clocks with these leads, in ascending order, agree with each other.
fn agree(ahead_ms: &[i64]) -> bool {
    let (first, last) = (ahead_ms.first(), ahead_ms.last());
    first.zip(last).is_some_and(|(first, last)| last.abs_diff(*first) <= CLOCKS_AGREE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::Member;

    fn info(node: u64) -> PeerInfo {
        let (peer_address, client_address) = (String::new(), String::new());
        let member = Member { node, storage_id: [0; 16], peer_address, client_address };
        PeerInfo { member, feature_level_max: 1 }
    }

    fn peers(ahead_ms: &[(u64, i64)]) -> Peers {
        let mut peers = Peers::default();
        for (node, ahead_ms) in ahead_ms {
            peers.connected(info(*node), 0);
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
        assert_eq!(verdict(&[(2, 1100), (3, 700)]), Verdict::Outside(-700));
        assert_eq!(verdict(&[(2, -3000), (3, -3400)]), Verdict::Outside(3000));
        assert_eq!(verdict(&[(2, 700)]), Verdict::Open);
        assert_eq!(verdict(&[(4, 0)]), Verdict::Open, "a learner has no say");
    }

    #[test]
    fn without_a_majority_that_agrees_no_clock_is_off() {
        let verdict = |ahead_ms: &[(u64, i64)]| peers(ahead_ms).verdict(1, &three(), 5);
        assert_eq!(verdict(&[(2, 600), (3, 1200)]), Verdict::Open);
        assert_eq!(verdict(&[(2, -600), (3, 600)]), Verdict::Open);
        let five = Membership { voters: vec![1, 2, 3, 4, 5], learners: vec![] };
        let verdict = |ahead_ms: &[(u64, i64)]| peers(ahead_ms).verdict(1, &five, 5);
        let two_and_two = [(2, 0), (3, 9000), (4, 9000), (5, -9000)];
        assert_eq!(verdict(&two_and_two), Verdict::Open);
        assert_eq!(verdict(&[(2, 0), (3, 9000), (4, 9000), (5, 9000)]), Verdict::Outside(-9000));
        assert_eq!(verdict(&[(2, 400), (3, 800), (4, 850), (5, 9000)]), Verdict::Outside(-800));
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
    fn a_majority_of_clocks_tells_how_much_time_has_passed() {
        let reached = |ahead_ms: &[(u64, i64)]| peers(ahead_ms).reached(1, &three(), Millis(1_000_000), 5);
        assert_eq!(reached(&[(2, 10), (3, 3_600_000)]), Millis(1_000_000));
        assert_eq!(reached(&[(2, -700_000), (3, -700_000)]), Millis(300_000));
        assert_eq!(reached(&[(2, 3_600_000), (3, 7_200_000)]), Millis(1_000_000), "nobody agrees");
        assert_eq!(reached(&[(2, -900_000)]), Millis(100_000));
        assert_eq!(reached(&[(2, 3_600_000)]), Millis(1_000_000));
        assert_eq!(reached(&[(4, 0)]), Millis(0), "a learner has no say");
    }

    #[test]
    fn no_clock_of_a_majority_has_gone_further() {
        let furthest = |ahead_ms: &[(u64, i64)]| peers(ahead_ms).furthest_ahead_ms(1, &three(), 5);
        assert_eq!(furthest(&[(2, 10), (3, 3_600_000)]), Some(3_600_000));
        assert_eq!(furthest(&[(2, -700_000)]), Some(0));
        assert_eq!(furthest(&[(4, 0)]), None, "a learner has no say");
    }

    #[test]
    fn a_fetch_goes_on_over_another_connection() {
        let mut peers = peers(&[(2, 0)]);
        peers.fetches(2, 40);
        peers.lost(2);
        let nothing_since = |peers: &Peers, since_us, pause_us| {
            [0, 1].map(|more_us| peers.fetches_nothing(2, since_us + pause_us + more_us))
        };
        assert_eq!(nothing_since(&peers, 40, FETCH_PAUSE_US_MAX), [false, true]);
        peers.connected(info(2), 50);
        assert_eq!(
            nothing_since(&peers, 50, FETCH_BEGINS_US_MAX),
            [false, true],
            "it may have been restarted"
        );
        peers.fetches(2, 60);
        assert_eq!(nothing_since(&peers, 60, FETCH_PAUSE_US_MAX), [false, true]);
        peers.offered(2, 70);
        assert_eq!(nothing_since(&peers, 70, FETCH_BEGINS_US_MAX), [false, true], "the offer may be lost");
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

    /// Handles another node's state after an entry. Returns the entry if the states differ.
    fn hears(peers: &mut Peers, from: u64, audited: (u64, u128)) -> Option<u64> {
        let bundle = Bundle { wall: Millis(0), stamp_us: 0, applied: 0, audited, messages: Vec::new() };
        peers.heard(from, &bundle, Millis(0), 5)
    }

    #[test]
    fn a_state_that_differs_is_told_once() {
        let mut peers = peers(&[(2, 0)]);
        peers.note_state(AUDIT_EVERY - 1, false, || unreachable!("not one that is compared"));
        peers.note_state(AUDIT_EVERY, false, || 7);
        assert_eq!(hears(&mut peers, 2, (AUDIT_EVERY, 8)), Some(AUDIT_EVERY));
        assert_eq!(hears(&mut peers, 2, (AUDIT_EVERY, 8)), None);
        assert_eq!(peers.compared(2), (AUDIT_EVERY, Some(false)));
        peers.note_state(AUDIT_EVERY + 1, true, || 9);
        assert_eq!(peers.audited(), (AUDIT_EVERY + 1, 9), "the first of a term is compared");
    }

    #[test]
    fn a_majority_that_agrees_outvotes_a_state() {
        let outvoted = |said: &[(u64, u128)], members: &Membership| {
            let mut peers = peers(&[(2, 0), (3, 0), (4, 0), (5, 0)]);
            peers.note_state(AUDIT_EVERY, false, || 7);
            for (node, hash) in said {
                hears(&mut peers, *node, (AUDIT_EVERY, *hash));
            }
            peers.outvoted(1, members)
        };
        assert_eq!(outvoted(&[(2, 8)], &three()), None, "one of three");
        assert_eq!(outvoted(&[(2, 8), (3, 9)], &three()), None, "nobody agrees");
        assert_eq!(outvoted(&[(2, 8), (3, 7)], &three()), None, "the other one is wrong");
        assert_eq!(outvoted(&[(2, 8), (4, 8)], &three()), None, "a learner has no say");
        assert_eq!(outvoted(&[(2, 8), (3, 8)], &three()), Some(AUDIT_EVERY));
        let two = Membership { voters: vec![1, 2], learners: vec![] };
        assert_eq!(outvoted(&[(2, 8)], &two), None, "nobody can know");
    }
}
