//! tikv raft-rs as one group on one node: proposals in, batches to persist and committed entries out.
//!
//! No socket, no clock, no thread: the caller ticks it and carries out what [`Group::drain`] hands over. A single
//! node is a group of one voter and takes the same path as three.
//!
//! Appends are asynchronous: [`Drained::persist`] names a batch that somebody else makes durable while the
//! group goes on; [`Group::persisted`] reports it. Until then raft-rs reads the entries from the [`Tail`].
//!
//! raft-rs draws its election timeouts from the thread's random source. They are replaced after every call by
//! a function of (seed, node, term, role), so that a seed decides the whole run.

mod tail;

use ::raft::eraftpb::{ConfState, Entry, EntryType, HardState};
use ::raft::{RawNode, StateRole};

use crate::storage::{EntryKind, LogEntry, PersistBatch, Vote};
use tail::Tail;

/// Length of a tick: raft-rs counts its timeouts in these.
pub const TICK_MS: u64 = 50;
/// A leader's heartbeat, in ticks.
const HEARTBEAT_TICKS: usize = 2;
/// The shortest election timeout, in ticks; the longest is twice that.
const ELECTION_TICKS: usize = 10;
/// Largest append message and largest portion of committed entries, in bytes.
const MESSAGE_BYTES_MAX: u64 = 1 << 20;

/// Who is in the group, in raft-rs's own words.
pub type Membership = ConfState;

/// Where a group starts from.
#[derive(Clone, Debug)]
pub struct Start {
    /// This node.
    pub node: u64,
    /// Decides the election timeouts.
    pub seed: u64,
    /// Term and vote as they were stored.
    pub vote: Vote,
    /// Index and term of the last entry that the engine has applied; (0, 0) for none.
    pub applied: (u64, u64),
    /// The members at that index.
    pub membership: Membership,
    /// A lower bound of what is committed.
    pub commit: u64,
    /// The entries after `applied`.
    pub entries: Vec<LogEntry>,
}

/// What a group wants done, in this order: persist, then apply.
#[derive(Debug, Default)]
pub struct Drained {
    /// Make this durable; its number goes to [`Group::persisted`]. Orders are carried out in order.
    pub persist: Option<(u64, PersistBatch)>,
    /// Apply these.
    pub committed: Vec<LogEntry>,
}

/// Why nothing was proposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// This node does not lead. (raft-rs would forward the proposal, and its outcome would be lost.)
    #[error("this node does not lead")]
    NotLeader,
    /// Raft takes nothing at the moment.
    #[error("the proposal was dropped")]
    Dropped,
}

/// One Raft group on one node.
pub struct Group {
    node: RawNode<Tail>,
    seed: u64,
}

impl Group {
    /// A group that goes on from `start`.
    ///
    /// # Panics
    ///
    /// If raft-rs refuses the configuration: the constants above are wrong.
    pub fn new(start: Start) -> Self {
        let Start { node, seed, vote, applied, membership, commit, entries } = start;
        let commit = commit.max(applied.0);
        let hard_state = HardState { term: vote.term, vote: vote.vote, commit, ..HardState::default() };
        let entries = entries.into_iter().map(to_raft).collect();
        let tail = Tail::new(hard_state, membership, applied, entries);
        let config = ::raft::Config {
            id: node,
            applied: applied.0,
            heartbeat_tick: HEARTBEAT_TICKS,
            election_tick: ELECTION_TICKS,
            max_size_per_msg: MESSAGE_BYTES_MAX,
            max_committed_size_per_ready: MESSAGE_BYTES_MAX,
            pre_vote: true,
            check_quorum: true,
            ..::raft::Config::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&config, tail, &logger)
            .unwrap_or_else(|error| unreachable!("the configuration is constant: {error}"));
        let mut group = Self { node, seed };
        group.fix_election_timeout();
        group
    }

    /// Starts an election at once if this node is the only voter: nobody else could win it.
    pub fn campaign_if_alone(&mut self) {
        if self.is_alone() && !self.is_leader() {
            // Only a removed node cannot campaign, and it is not the only voter.
            let _started = self.node.campaign();
            self.fix_election_timeout();
        }
    }

    /// Whether this node is the only voter. Such a group needs no ticks.
    pub fn is_alone(&self) -> bool {
        let voters = self.node.raft.prs().conf().to_conf_state().voters;
        voters == [self.node.raft.id]
    }

    /// One tick of [`TICK_MS`].
    pub fn tick(&mut self) {
        self.node.tick();
        self.fix_election_timeout();
    }

    /// Whether this node leads.
    pub fn is_leader(&self) -> bool {
        self.node.raft.state == StateRole::Leader
    }

    /// Whether an entry can be proposed now: not while this node hands leadership over, nor when it does not lead.
    pub fn takes_proposals(&self) -> bool {
        self.is_leader() && self.node.raft.lead_transferee.is_none()
    }

    /// The node that leads, as far as this one knows.
    pub fn leader(&self) -> Option<u64> {
        Some(self.node.raft.leader_id).filter(|leader| *leader != ::raft::INVALID_ID)
    }

    /// The current term.
    pub fn term(&self) -> u64 {
        self.node.raft.term
    }

    /// Proposes an encoded entry; its outcome is known when this (term, index) is applied.
    pub fn propose(&mut self, data: Vec<u8>) -> Result<(u64, u64), ProposeError> {
        if !self.is_leader() {
            return Err(ProposeError::NotLeader);
        }
        self.node.propose(Vec::new(), data).map_err(|_| ProposeError::Dropped)?;
        Ok((self.node.raft.term, self.node.raft.raft_log.last_index()))
    }

    /// Everything up to the order of this number is durable.
    pub fn persisted(&mut self, number: u64) {
        self.node.on_persist_ready(number);
        self.fix_election_timeout();
    }

    /// Takes what the group wants done now; `None` when there is nothing.
    ///
    /// Term and vote are handed over before anything that depends on them: they are part of the same batch as
    /// the entries, and committed entries only come when the batch is reported durable.
    pub fn drain(&mut self) -> Option<Drained> {
        if !self.node.has_ready() {
            return None;
        }
        let mut ready = self.node.ready();
        let number = ready.number();
        let entries = ready.take_entries();
        let vote = ready.hs().map(|hard| Vote { term: hard.term, vote: hard.vote });
        let tail = self.node.mut_store();
        let changed = vote.is_some_and(|vote| tail.set_vote(vote));
        if let Some(hard) = ready.hs() {
            tail.set_commit(hard.commit);
        }
        tail.append(&entries);
        let committed: Vec<LogEntry> = ready.take_committed_entries().into_iter().map(from_raft).collect();
        let batch = PersistBatch {
            vote: vote.filter(|_| changed),
            entries: entries.into_iter().map(from_raft).collect(),
            commit: tail.commit(),
        };
        self.node.advance_append_async(ready);
        // Numbers without anything to write need no round trip: the next one that has something covers them.
        let persist = (batch.vote.is_some() || !batch.entries.is_empty()).then_some((number, batch));
        Some(Drained { persist, committed })
    }

    /// The engine has applied everything up to `index`: the tail before it is not needed any more.
    pub fn applied(&mut self, index: u64) {
        self.node.advance_apply_to(index);
        self.node.mut_store().forget_to(index);
        self.fix_election_timeout();
    }

    fn fix_election_timeout(&mut self) {
        let raft = &mut self.node.raft;
        let words = [self.seed, raft.id, raft.term, raft.state as u64];
        let mixed = words.into_iter().fold(0, |mixed, word| split_mix(mixed ^ word));
        let span = ELECTION_TICKS as u64;
        let ticks = usize::try_from(span + mixed % span).unwrap_or(ELECTION_TICKS);
        raft.set_randomized_election_timeout(ticks);
    }
}

/// One step of `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
fn split_mix(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn to_raft(entry: LogEntry) -> Entry {
    let LogEntry { index, term, data, .. } = entry;
    let mut raft_entry = Entry { index, term, data, ..Entry::default() };
    raft_entry.set_entry_type(match entry.kind {
        EntryKind::Normal => EntryType::EntryNormal,
        EntryKind::ConfChange => EntryType::EntryConfChange,
        EntryKind::ConfChangeV2 => EntryType::EntryConfChangeV2,
    });
    raft_entry
}

fn from_raft(entry: Entry) -> LogEntry {
    let kind = match entry.get_entry_type() {
        EntryType::EntryNormal => EntryKind::Normal,
        EntryType::EntryConfChange => EntryKind::ConfChange,
        EntryType::EntryConfChangeV2 => EntryKind::ConfChangeV2,
    };
    LogEntry { index: entry.index, term: entry.term, kind, data: entry.data }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn founder() -> Start {
        Start {
            node: 1,
            seed: 7,
            vote: Vote::default(),
            applied: (0, 0),
            membership: Membership::from((vec![1], vec![])),
            commit: 0,
            entries: Vec::new(),
        }
    }

    /// Drains until nothing is left, reporting each batch durable at once.
    fn settle(group: &mut Group) -> (Vec<PersistBatch>, Vec<LogEntry>) {
        let (mut batches, mut committed) = (Vec::new(), Vec::new());
        while let Some(drained) = group.drain() {
            if let Some((number, batch)) = drained.persist {
                batches.push(batch);
                group.persisted(number);
            }
            if let Some(last) = drained.committed.last() {
                group.applied(last.index);
            }
            committed.extend(drained.committed);
        }
        (batches, committed)
    }

    #[test]
    fn the_only_voter_leads_at_once_and_commits_what_is_durable() {
        let mut group = Group::new(founder());
        group.campaign_if_alone();
        assert!(group.is_leader());
        settle(&mut group);
        let proposed = group.propose(b"one".to_vec());
        assert_eq!(proposed, Ok((1, 2)));
        let drained = group.drain().expect("there is an entry to persist");
        let (number, batch) = drained.persist.expect("an entry");
        assert_eq!(batch.entries.len(), 1);
        assert!(drained.committed.is_empty(), "nothing is committed before it is durable");
        group.persisted(number);
        let (_, committed) = settle(&mut group);
        assert_eq!(
            committed.iter().map(|entry| (entry.index, &entry.data[..])).collect::<Vec<_>>(),
            [(2, &b"one"[..])]
        );
    }

    #[test]
    fn entries_are_persisted_in_order_while_earlier_ones_are_under_way() {
        let mut group = Group::new(founder());
        group.campaign_if_alone();
        settle(&mut group);
        let mut numbers = Vec::new();
        for body in [b"a", b"b", b"c"] {
            group.propose(body.to_vec()).expect("it leads");
            numbers.extend(group.drain().and_then(|drained| drained.persist).map(|(number, _)| number));
        }
        let [_, second, third] = numbers[..] else { panic!("three batches, not {numbers:?}") };
        group.persisted(second);
        let (_, committed) = settle(&mut group);
        assert_eq!(committed.len(), 2, "only what is durable is committed");
        group.persisted(third);
        assert_eq!(settle(&mut group).1.len(), 1);
    }

    #[test]
    fn a_restart_goes_on_in_a_later_term() {
        let mut group = Group::new(founder());
        group.campaign_if_alone();
        let (mut batches, _) = settle(&mut group);
        group.propose(b"kept".to_vec()).expect("it leads");
        batches.extend(settle(&mut group).0);
        let vote = batches.iter().filter_map(|batch| batch.vote).next_back().expect("it voted");
        let entries: Vec<LogEntry> = batches.into_iter().flat_map(|batch| batch.entries).collect();
        let mut again = Group::new(Start { vote, entries, commit: 1, ..founder() });
        again.campaign_if_alone();
        let (_, committed) = settle(&mut again);
        assert_eq!(again.term(), 2);
        assert_eq!(committed.iter().map(|entry| entry.index).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn a_follower_proposes_nothing() {
        let mut group = Group::new(Start { membership: Membership::from((vec![1, 2], vec![])), ..founder() });
        group.campaign_if_alone();
        assert_eq!(group.propose(b"x".to_vec()), Err(ProposeError::NotLeader));
    }
}
