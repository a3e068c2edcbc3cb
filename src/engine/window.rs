//! A producer's recent pushes: the outcome of each sequence number, so that a repeat gets the same answer.
//!
//! It covers [`PRODUCER_WINDOW_MAX`] sequence numbers, 8 bytes for each used one. Skipped numbers are holes, which
//! cost nothing: a push that comes late fills them. The outcomes before the window are forgotten.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hash::{self, Sum};
use super::outcome::{PushOutcome, Reject};
use crate::types::limits::PRODUCER_WINDOW_MAX;
use crate::types::{GroupId, JobId, SessionId};

/// Numbers that are kept together.
const BLOCK: usize = 8;

/// The outcomes of one producer.
#[derive(Debug)]
pub(super) struct Window {
    /// The first sequence number that it covers.
    start: u64,
    /// How many it covers, holes included.
    length: u64,
    /// The outcomes of [`BLOCK`] numbers each, by the first of them divided by [`BLOCK`]. No block is all holes, so the
    /// window takes memory in proportion to what was pushed. Each is boxed, so that a producer of a single job takes little.
    blocks: BTreeMap<u64, Box<[u64; BLOCK]>>,
    /// How many outcomes it remembers: holes are none.
    count: usize,
    sum: Sum,
    /// What it needs to be saved as it was at an earlier moment.
    undo: Option<Box<Undo>>,
}

/// A window as it was, in terms of what it is.
#[derive(Debug)]
struct Undo {
    start: u64,
    length: u64,
    /// Sequence numbers, and the outcome that was there before, in the order of the changes.
    before: Vec<(u64, u64)>,
}

/// A window as it is written to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedWindow {
    start: u64,
    length: u64,
    runs: Vec<SavedRun>,
}

/// Outcomes of numbers that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedRun {
    first: u64,
    /// 8 bytes each, little-endian.
    #[serde(with = "serde_bytes")]
    outcomes: Vec<u8>,
}

/// What is known of a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recall {
    /// It was not applied.
    New,
    /// It was, with this outcome.
    Known(PushOutcome),
    /// It lies before the window.
    Forgotten,
}

/// The number in the ring of a sequence number that was skipped. No outcome packs to it.
const HOLE: u64 = 0;

impl Default for Window {
    fn default() -> Self {
        Self { start: 1, length: 0, blocks: BTreeMap::new(), count: 0, sum: Sum::default(), undo: None }
    }
}

impl Window {
    /// What is known of a sequence number.
    pub(super) fn recall(&self, sequence: u64, group: GroupId) -> Recall {
        if sequence < self.start {
            return Recall::Forgotten;
        }
        let (block, place) = place(sequence);
        let packed = self.blocks.get(&block).and_then(|block| block.get(place));
        packed.and_then(|packed| unpack(*packed, group)).map_or(Recall::New, Recall::Known)
    }

    /// Remembers the outcome of a sequence number that was new.
    pub(super) fn remember(&mut self, session: SessionId, sequence: u64, outcome: PushOutcome) {
        const MAX: u64 = PRODUCER_WINDOW_MAX as u64;
        let ahead = sequence.saturating_sub(self.start);
        if ahead >= self.length {
            let long_jump = ahead - self.length >= MAX;
            let first = if long_jump { sequence } else { self.start.max(sequence.saturating_sub(MAX - 1)) };
            self.forget_before(session, first);
            self.length = sequence - first + 1;
        }
        let packed = pack(outcome);
        self.sum.add(hash::of_pushed(session, sequence, packed));
        self.put(sequence, packed);
    }

    /// Forgets the older half of what it remembers.
    pub(super) fn forget_half(&mut self, session: SessionId) {
        let kept = self.outcomes().nth(self.count.div_ceil(2));
        if let Some((first, _)) = kept {
            self.length -= first - self.start;
            self.forget_before(session, first);
        }
    }

    /// How many outcomes it remembers.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Bytes of memory that it takes beside its own fields: an estimate.
    pub(super) fn memory_bytes(&self) -> usize {
        /// A block, what the allocator adds, and its part of a node of the map that is half full.
        const BLOCK_BYTES: usize = size_of::<[u64; BLOCK]>() + 16 + 36;
        /// The rest of the first node.
        const NODE_BYTES: usize = 176;
        if self.blocks.is_empty() { 0 } else { NODE_BYTES + self.blocks.len() * BLOCK_BYTES }
    }

    /// All that it remembers. Blocks without holes are taken as they are: there may be millions of outcomes.
    pub(super) fn save(&self) -> SavedWindow {
        let mut runs: Vec<SavedRun> = Vec::new();
        for (block, outcomes) in &self.blocks {
            if outcomes.contains(&HOLE) {
                let known = numbered(*block, outcomes.iter()).filter(|(_, packed)| **packed != HOLE);
                known
                    .for_each(|(sequence, packed)| append(&mut runs, sequence, std::slice::from_ref(packed)));
            } else {
                append(&mut runs, block * BLOCK as u64, &outcomes[..]);
            }
        }
        SavedWindow { start: self.start, length: self.length, runs }
    }

    /// From now on it remembers what it was, unless it does already.
    pub(super) fn keep_undo(&mut self) {
        let Self { start, length, .. } = *self;
        self.undo.get_or_insert_with(|| Box::new(Undo { start, length, before: Vec::new() }));
    }

    /// It needs to remember that no more.
    pub(super) fn drop_undo(&mut self) {
        self.undo = None;
    }

    /// All that it remembered when [`Self::keep_undo`] was called. Without that, all that it remembers.
    pub(super) fn save_undone(&mut self) -> SavedWindow {
        let Some(undo) = self.undo.take() else { return self.save() };
        // The earliest change of a number says what was there.
        let before: BTreeMap<u64, u64> = undo.before.iter().rev().copied().collect();
        let is_unchanged =
            |(sequence, _): &(u64, u64)| undo.covers(*sequence) && !before.contains_key(sequence);
        let mut outcomes: Vec<_> = self.outcomes().filter(is_unchanged).collect();
        outcomes.extend(before.into_iter().filter(|(_, packed)| *packed != HOLE));
        // Two rising sequences, one behind the other: a stable sort merges them.
        outcomes.sort_by_key(|(sequence, _)| *sequence);
        let mut runs = Vec::new();
        for (sequence, packed) in outcomes {
            append(&mut runs, sequence, &[packed]);
        }
        SavedWindow { start: undo.start, length: undo.length, runs }
    }

    /// Takes back what was saved.
    pub(super) fn restore(session: SessionId, saved: &SavedWindow) -> Self {
        let mut window = Self { start: saved.start, length: saved.length, ..Self::default() };
        for run in &saved.runs {
            let (outcomes, _) = run.outcomes.as_chunks();
            for (nth, packed) in (0..).zip(outcomes) {
                window.put(run.first.saturating_add(nth), u64::from_le_bytes(*packed));
            }
        }
        window.sum.add(window.recount(session));
        window
    }

    /// Start and sum of what is remembered, for the session's hash.
    pub(super) fn digest(&self) -> (u64, u128) {
        (self.start, self.sum.with(0))
    }

    /// The same sum, from scratch.
    pub(super) fn recount(&self, session: SessionId) -> u128 {
        let mut sum = Sum::default();
        for (sequence, packed) in self.outcomes() {
            sum.add(hash::of_pushed(session, sequence, packed));
        }
        sum.with(0)
    }

    /// Sequence numbers and outcomes, without the holes.
    fn outcomes(&self) -> impl Iterator<Item = (u64, u64)> {
        self.blocks
            .iter()
            .flat_map(|(block, outcomes)| numbered(*block, outcomes.iter()))
            .map(|(sequence, packed)| (sequence, *packed))
            .filter(|(_, packed)| *packed != HOLE)
    }

    fn put(&mut self, sequence: u64, packed: u64) {
        let (block, place) = place(sequence);
        if let Some(hole) = self.blocks.entry(block).or_insert_with(|| Box::new([HOLE; BLOCK])).get_mut(place)
        {
            debug_assert_eq!(*hole, HOLE, "a sequence number has one outcome");
            *hole = packed;
            self.count += 1;
            if let Some(undo) = self.undo.as_deref_mut() {
                undo.note(sequence, HOLE);
            }
        }
    }

    /// The window begins at `first` from now on.
    fn forget_before(&mut self, session: SessionId, first: u64) {
        self.start = first;
        while let Some(mut oldest) = self.blocks.first_entry() {
            let block = *oldest.key();
            for (sequence, packed) in numbered(block, oldest.get_mut().iter_mut()) {
                if sequence < first && *packed != HOLE {
                    self.sum.subtract(hash::of_pushed(session, sequence, *packed));
                    if let Some(undo) = self.undo.as_deref_mut() {
                        undo.note(sequence, *packed);
                    }
                    *packed = HOLE;
                    self.count -= 1;
                }
            }
            if oldest.get().iter().any(|packed| *packed != HOLE) {
                return;
            }
            oldest.remove();
        }
    }
}

impl Undo {
    /// The outcome of a number is about to change. Only those that the window covered matter, so this remembers two changes
    /// of each at most.
    fn note(&mut self, sequence: u64, packed: u64) {
        if self.covers(sequence) {
            self.before.push((sequence, packed));
        }
    }

    fn covers(&self, sequence: u64) -> bool {
        sequence.wrapping_sub(self.start) < self.length
    }
}

impl SavedWindow {
    /// How many outcomes it remembers.
    pub(super) fn count(&self) -> usize {
        self.runs.iter().map(|run| run.outcomes.len() / 8).sum()
    }
}

/// Adds outcomes behind all others: to the last run, if they follow it.
fn append(runs: &mut Vec<SavedRun>, first: u64, outcomes: &[u64]) {
    let follows = |run: &SavedRun| run.first.checked_add(run.outcomes.len() as u64 / 8) == Some(first);
    if !runs.last().is_some_and(follows) {
        runs.push(SavedRun { first, outcomes: Vec::new() });
    }
    if let Some(run) = runs.last_mut() {
        run.outcomes.reserve(size_of_val(outcomes));
        for packed in outcomes {
            run.outcomes.extend_from_slice(&packed.to_le_bytes());
        }
    }
}

/// Where a sequence number is kept: in which block, and where in it.
fn place(sequence: u64) -> (u64, usize) {
    const LENGTH: u64 = BLOCK as u64;
    (sequence / LENGTH, usize::try_from(sequence % LENGTH).unwrap_or(0))
}

/// What is in a block, with its sequence numbers.
fn numbered<T>(block: u64, outcomes: impl Iterator<Item = T>) -> impl Iterator<Item = (u64, T)> {
    (0..BLOCK as u64).map(move |nth| block * BLOCK as u64 + nth).zip(outcomes)
}

const KIND_SHIFT: u32 = 56;
const PUSHED: u64 = 1;
const KEPT: u64 = 2;
const REPLACED: u64 = 3;
const POSTPONED: u64 = 4;
const REFUSED_FOR: u64 = 0x40;
const REFUSED: u64 = 0x80;

/// 8 bits of outcome, 56 bits of job sequence: the group is the engine's own.
fn pack(outcome: PushOutcome) -> u64 {
    let (kind, job) = match outcome {
        PushOutcome::Pushed(job) => (PUSHED, Some(job)),
        PushOutcome::Kept(job) => (KEPT, Some(job)),
        PushOutcome::Replaced(job) => (REPLACED, Some(job)),
        PushOutcome::Postponed(job) => (POSTPONED, Some(job)),
        PushOutcome::Refused(reject, None) => (REFUSED | reject as u64, None),
        PushOutcome::Refused(reject, Some(job)) => (REFUSED_FOR | reject as u64, Some(job)),
    };
    kind << KIND_SHIFT | job.map_or(0, JobId::sequence)
}

fn unpack(packed: u64, group: GroupId) -> Option<PushOutcome> {
    let job = JobId::new(group, packed & ((1 << KIND_SHIFT) - 1));
    let reject = |kind: u64| Reject::from_u8(u8::try_from(kind & 0x3f).ok()?);
    Some(match packed >> KIND_SHIFT {
        HOLE => return None,
        PUSHED => PushOutcome::Pushed(job),
        KEPT => PushOutcome::Kept(job),
        REPLACED => PushOutcome::Replaced(job),
        POSTPONED => PushOutcome::Postponed(job),
        kind if kind & REFUSED != 0 => PushOutcome::Refused(reject(kind)?, None),
        kind => PushOutcome::Refused(reject(kind)?, Some(job)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: GroupId = GroupId(2);
    const SESSION: SessionId = SessionId(7);

    fn pushed(sequence: u64) -> PushOutcome {
        PushOutcome::Pushed(JobId::new(GROUP, sequence + 1000))
    }

    #[test]
    fn outcomes_read_back() {
        let job = JobId::new(GROUP, 99);
        let outcomes = [
            PushOutcome::Pushed(job),
            PushOutcome::Kept(job),
            PushOutcome::Replaced(job),
            PushOutcome::Postponed(job),
            PushOutcome::Refused(Reject::KeyExists, Some(job)),
            PushOutcome::Refused(Reject::GenesisTwice, None),
            PushOutcome::Refused(Reject::ExpiresBeforeDue, None),
        ];
        for outcome in outcomes {
            assert_eq!(unpack(pack(outcome), GROUP), Some(outcome));
        }
        assert_eq!(unpack(HOLE, GROUP), None);
    }

    #[test]
    fn it_remembers_the_last_numbers_and_knows_what_it_forgot() {
        let mut window = Window::default();
        let last = PRODUCER_WINDOW_MAX as u64 + 10;
        for sequence in 1..=last {
            assert_eq!(window.recall(sequence, GROUP), Recall::New);
            window.remember(SESSION, sequence, pushed(sequence));
        }
        assert_eq!(window.recall(10, GROUP), Recall::Forgotten);
        assert_eq!(window.recall(11, GROUP), Recall::Known(pushed(11)));
        assert_eq!(window.recall(last, GROUP), Recall::Known(pushed(last)));
        assert_eq!(window.recall(last + 1, GROUP), Recall::New);
        assert_eq!(window.digest(), (11, window.recount(SESSION)));
    }

    #[test]
    fn a_hole_is_filled_later_and_a_long_jump_starts_anew() {
        let mut window = Window::default();
        window.remember(SESSION, 5, pushed(5));
        assert_eq!(window.recall(3, GROUP), Recall::New);
        window.remember(SESSION, 3, pushed(3));
        assert_eq!(window.recall(3, GROUP), Recall::Known(pushed(3)));
        assert_eq!(window.digest(), (1, window.recount(SESSION)));
        window.remember(SESSION, u64::MAX, pushed(9));
        assert_eq!(window.recall(5, GROUP), Recall::Forgotten);
        assert_eq!(window.recall(u64::MAX, GROUP), Recall::Known(pushed(9)));
        assert_eq!(window.digest(), (u64::MAX, window.recount(SESSION)));
    }

    #[test]
    fn holes_cost_nothing_in_memory_or_in_a_checkpoint() {
        let mut window = Window::default();
        let last = PRODUCER_WINDOW_MAX as u64;
        window.remember(SESSION, last, pushed(last));
        assert_eq!(window.recall(1, GROUP), Recall::New);
        assert_eq!(window.blocks.len(), 1);
        let saved = window.save();
        assert_eq!(saved.runs.iter().map(|run| run.outcomes.len()).collect::<Vec<_>>(), [8]);
        window.remember(SESSION, last + 2, pushed(0));
        assert_eq!(window.digest().0, 3, "it covers as many as ever");
        assert_eq!(window.recall(2, GROUP), Recall::Forgotten);
    }

    #[test]
    fn half_of_it_is_forgotten_and_stays_so() {
        let mut window = Window::default();
        for sequence in [2, 3, 40, 41, 42] {
            window.remember(SESSION, sequence, pushed(sequence));
        }
        window.forget_half(SESSION);
        assert_eq!((window.count(), window.digest()), (2, (41, window.recount(SESSION))));
        assert_eq!(window.recall(40, GROUP), Recall::Forgotten);
        assert_eq!(window.recall(41, GROUP), Recall::Known(pushed(41)));
        let restored = Window::restore(SESSION, &window.save());
        assert_eq!((restored.count(), restored.digest()), (2, window.digest()));
        window.remember(SESSION, 43, pushed(43));
        assert_eq!((window.count(), window.digest().0), (3, 41), "it covers what it did");
    }

    #[test]
    fn it_can_be_saved_as_it_was() {
        let last = PRODUCER_WINDOW_MAX as u64 + 100;
        let changes: [&dyn Fn(&mut Window); 5] = [
            &|_| (),
            &|window| window.remember(SESSION, 200, pushed(1)),
            &|window| (1..3 * last).for_each(|nth| window.remember(SESSION, last + nth, pushed(nth))),
            &|window| window.forget_half(SESSION),
            &|window| {
                window.remember(SESSION, 3 * last, pushed(2));
                window.remember(SESSION, 3 * last - 1, pushed(3));
            },
        ];
        for change in changes {
            let mut window = Window::default();
            for sequence in (1..last).filter(|sequence| sequence % 200 > 2) {
                window.remember(SESSION, sequence, pushed(sequence));
            }
            let was = window.save();
            window.keep_undo();
            change(&mut window);
            window.keep_undo();
            let noted = window.undo.as_ref().map_or(0, |undo| undo.before.len());
            assert!(noted <= 2 * PRODUCER_WINDOW_MAX, "{noted}");
            assert_eq!(window.save_undone(), was);
            let is = window.save();
            assert_eq!(window.save_undone(), is, "that is over");
            assert_eq!(window.digest().1, window.recount(SESSION));
        }
    }

    #[test]
    fn what_is_saved_comes_back() {
        let mut window = Window::default();
        let last = PRODUCER_WINDOW_MAX as u64 + 100;
        for sequence in (1..last).filter(|sequence| sequence % 5 > 1 && sequence % 1000 < 700) {
            window.remember(SESSION, sequence, pushed(sequence));
        }
        let saved = window.save();
        let mut back = Window::restore(SESSION, &saved);
        assert_eq!((back.digest(), back.save()), (window.digest(), saved));
        for window in [&mut window, &mut back] {
            window.remember(SESSION, last + 7, pushed(1));
        }
        assert_eq!((back.digest(), back.save()), (window.digest(), window.save()));
    }
}
