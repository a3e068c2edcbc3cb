//! A producer's recent pushes: the outcome of each sequence number, so that a repeat gets the same answer, and a checksum
//! of its job, so that a different job under the same number is refused.
//!
//! A window covers [`PRODUCER_WINDOW_MAX`] sequence numbers and takes 12 bytes for each used one. Skipped numbers are
//! holes, which cost nothing; a late push fills them. Outcomes before the window are forgotten.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::repeat::JobChecksum;
use crate::hash::{Element, Kind, Sum};
use crate::outcome::{PushOutcome, Reject};
use adjourn_types::limits::PRODUCER_WINDOW_MAX;
use adjourn_types::{GroupId, JobId, SessionId};

/// The number of sequence numbers kept in one block.
const BLOCK: usize = 8;

/// The remembered outcome of one sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept {
    outcome: u64,
    checksum: JobChecksum,
}

/// The remembered outcomes of consecutive numbers.
#[derive(Debug)]
struct Block {
    outcomes: [u64; BLOCK],
    checksums: [JobChecksum; BLOCK],
}

/// The outcomes of one producer.
#[derive(Debug)]
pub(crate) struct Window {
    /// The first sequence number covered.
    start: u64,
    /// The number of sequence numbers covered, holes included.
    length: u64,
    /// The outcomes in blocks, by their first number divided by [`BLOCK`]. No block is all holes, so memory is proportional
    /// to the outcomes. Blocks are boxed, so that a producer of a single job takes little.
    blocks: BTreeMap<u64, Box<Block>>,
    /// The number of outcomes, without holes.
    count: usize,
    sum: Sum,
    /// The undo log that leads back to an earlier moment.
    undo: Option<Box<Undo>>,
}

/// An undo log: what differs between the window then and now.
#[derive(Debug)]
struct Undo {
    start: u64,
    length: u64,
    /// Sequence numbers with their outcomes before a change, in the order of the changes.
    before: Vec<(u64, Kept)>,
}

/// A window in a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedWindow {
    start: u64,
    length: u64,
    runs: Vec<SavedRun>,
}

/// Outcomes of consecutive sequence numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SavedRun {
    first: u64,
    /// 8 bytes each, little-endian.
    #[serde(with = "serde_bytes")]
    outcomes: Vec<u8>,
    /// 4 bytes each, little-endian.
    #[serde(with = "serde_bytes")]
    checksums: Vec<u8>,
}

/// What is known about a sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recall {
    /// It is unused.
    New,
    /// It was pushed, with this outcome.
    Known(PushOutcome),
    /// It was used for another job.
    Reused,
    /// It lies before the window: its outcome is forgotten.
    Forgotten,
}

/// The packed outcome of a skipped sequence number. No outcome packs to it.
const HOLE: u64 = 0;

impl Default for Window {
    fn default() -> Self {
        Self { start: 1, length: 0, blocks: BTreeMap::new(), count: 0, sum: Sum::default(), undo: None }
    }
}

impl Window {
    /// Looks up a sequence number.
    pub(crate) fn recall(&self, sequence: u64, checksum: JobChecksum, group: GroupId) -> Recall {
        if sequence < self.start {
            return Recall::Forgotten;
        }
        let (block, place) = place(sequence);
        let kept = self.blocks.get(&block).and_then(|block| block.kept(place)).unwrap_or(Kept::HOLE);
        match unpack(kept.outcome, group) {
            Some(_) if kept.checksum != checksum => Recall::Reused,
            Some(outcome) => Recall::Known(outcome),
            None => Recall::New,
        }
    }

    /// Remembers the outcome of an unused sequence number.
    pub(crate) fn remember(
        &mut self,
        session: SessionId,
        sequence: u64,
        outcome: PushOutcome,
        checksum: JobChecksum,
    ) {
        const MAX: u64 = PRODUCER_WINDOW_MAX as u64;
        let ahead = sequence.saturating_sub(self.start);
        if ahead >= self.length {
            let long_jump = ahead - self.length >= MAX;
            let first = if long_jump { sequence } else { self.start.max(sequence.saturating_sub(MAX - 1)) };
            self.forget_before(session, first);
            self.length = sequence - first + 1;
        }
        let kept = Kept { outcome: pack(outcome), checksum };
        self.sum.add(kept.hash(session, sequence));
        self.put(sequence, kept);
    }

    /// Forgets the older half of the outcomes.
    pub(crate) fn forget_half(&mut self, session: SessionId) {
        let kept = self.outcomes().nth(self.count.div_ceil(2));
        if let Some((first, _)) = kept {
            self.length -= first - self.start;
            self.forget_before(session, first);
        }
    }

    /// The number of outcomes.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// An estimate of its memory beside its own fields, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        /// A block, the allocator's overhead, and its part of a map node that is half full.
        const BLOCK_BYTES: usize = size_of::<Block>() + 16 + 36;
        /// The rest of the first map node.
        const NODE_BYTES: usize = 176;
        if self.blocks.is_empty() { 0 } else { NODE_BYTES + self.blocks.len() * BLOCK_BYTES }
    }

    /// The window, for a checkpoint.
    pub(crate) fn save(&self) -> SavedWindow {
        SavedWindow { start: self.start, length: self.length, runs: runs_of(self.outcomes()) }
    }

    /// Starts an undo log, unless there is one.
    pub(crate) fn keep_undo(&mut self) {
        let Self { start, length, .. } = *self;
        self.undo.get_or_insert_with(|| Box::new(Undo { start, length, before: Vec::new() }));
    }

    /// Drops the undo log.
    pub(crate) fn drop_undo(&mut self) {
        self.undo = None;
    }

    /// The window as it was when [`Self::keep_undo`] was called; without an undo log, as it is. Drops the undo log.
    pub(crate) fn save_undone(&mut self) -> SavedWindow {
        let Some(undo) = self.undo.take() else { return self.save() };
        // The earliest change of a number has its outcome at that moment.
        let before: BTreeMap<u64, Kept> = undo.before.iter().rev().copied().collect();
        let is_unchanged =
            |(sequence, _): &(u64, Kept)| undo.covers(*sequence) && !before.contains_key(sequence);
        let mut outcomes: Vec<_> = self.outcomes().filter(is_unchanged).collect();
        outcomes.extend(before.into_iter().filter(|(_, kept)| !kept.is_hole()));
        // Two ascending sequences, one after the other: a stable sort merges them.
        outcomes.sort_by_key(|(sequence, _)| *sequence);
        SavedWindow { start: undo.start, length: undo.length, runs: runs_of(outcomes.into_iter()) }
    }

    /// Restores a saved window.
    pub(crate) fn restore(session: SessionId, saved: &SavedWindow) -> Self {
        let mut window = Self { start: saved.start, length: saved.length, ..Self::default() };
        for run in &saved.runs {
            let (outcomes, checksums) = (run.outcomes.as_chunks().0, run.checksums.as_chunks().0);
            for (nth, (outcome, checksum)) in (0..).zip(outcomes.iter().zip(checksums)) {
                let outcome = u64::from_le_bytes(*outcome);
                let kept = Kept { outcome, checksum: u32::from_le_bytes(*checksum) };
                window.put(run.first.saturating_add(nth), kept);
            }
        }
        window.sum.add(window.recount(session));
        window
    }

    /// The start, and the sum of the outcomes' hashes, for the session's hash.
    pub(crate) fn digest(&self) -> (u64, u128) {
        (self.start, self.sum.with(0))
    }

    /// The sum computed from scratch.
    pub(crate) fn recount(&self, session: SessionId) -> u128 {
        let mut sum = Sum::default();
        for (sequence, kept) in self.outcomes() {
            sum.add(kept.hash(session, sequence));
        }
        sum.with(0)
    }

    /// The outcome of each sequence number, without holes.
    fn outcomes(&self) -> impl Iterator<Item = (u64, Kept)> {
        let numbered = self.blocks.iter().flat_map(|(block, kept)| {
            (0..BLOCK as u64).map(move |nth| block * BLOCK as u64 + nth).zip(kept.iter())
        });
        numbered.filter(|(_, kept)| !kept.is_hole())
    }

    fn put(&mut self, sequence: u64, kept: Kept) {
        let (block, place) = place(sequence);
        let before = self.blocks.entry(block).or_default().set(place, kept);
        debug_assert!(before.is_hole(), "a sequence number has one outcome");
        self.count += 1;
        if let Some(undo) = self.undo.as_deref_mut() {
            undo.note(sequence, before);
        }
    }

    /// Moves the start of the window to `first`.
    fn forget_before(&mut self, session: SessionId, first: u64) {
        self.start = first;
        while let Some(mut oldest) = self.blocks.first_entry() {
            let block = *oldest.key();
            for (place, sequence) in (block * BLOCK as u64..first).take(BLOCK).enumerate() {
                let kept = oldest.get_mut().set(place, Kept::HOLE);
                if !kept.is_hole() {
                    self.sum.subtract(kept.hash(session, sequence));
                    if let Some(undo) = self.undo.as_deref_mut() {
                        undo.note(sequence, kept);
                    }
                    self.count -= 1;
                }
            }
            if !oldest.get().is_empty() {
                return;
            }
            oldest.remove();
        }
    }
}

impl Undo {
    /// Notes an outcome before it changes. Only numbers that the window covered then matter, so each has at most two
    /// changes.
    fn note(&mut self, sequence: u64, kept: Kept) {
        if self.covers(sequence) {
            self.before.push((sequence, kept));
        }
    }

    fn covers(&self, sequence: u64) -> bool {
        sequence.wrapping_sub(self.start) < self.length
    }
}

impl Kept {
    const HOLE: Self = Self { outcome: HOLE, checksum: 0 };

    fn is_hole(self) -> bool {
        self.outcome == HOLE
    }

    fn hash(self, session: SessionId, sequence: u64) -> u128 {
        let mut element = Element::new(Kind::Pushed);
        element.word(session.0).word(sequence).word(self.outcome).word(self.checksum.into()).hash()
    }
}

impl Default for Block {
    fn default() -> Self {
        Self { outcomes: [HOLE; BLOCK], checksums: [0; BLOCK] }
    }
}

impl Block {
    fn kept(&self, place: usize) -> Option<Kept> {
        Some(Kept { outcome: *self.outcomes.get(place)?, checksum: *self.checksums.get(place)? })
    }

    fn iter(&self) -> impl Iterator<Item = Kept> {
        let kept = self.outcomes.iter().zip(&self.checksums);
        kept.map(|(outcome, checksum)| Kept { outcome: *outcome, checksum: *checksum })
    }

    fn is_empty(&self) -> bool {
        self.outcomes.iter().all(|outcome| *outcome == HOLE)
    }

    /// Returns the previous outcome at that place.
    fn set(&mut self, place: usize, kept: Kept) -> Kept {
        let before = self.kept(place).unwrap_or(Kept::HOLE);
        if let (Some(outcome), Some(checksum)) = (self.outcomes.get_mut(place), self.checksums.get_mut(place))
        {
            (*outcome, *checksum) = (kept.outcome, kept.checksum);
        }
        before
    }
}

impl SavedWindow {
    /// True if each run is complete, and the runs ascend within the window.
    pub(crate) fn is_valid(&self) -> bool {
        let mut from = self.start;
        self.runs.iter().all(|run| {
            let is_whole = run.count() > 0 && run.outcomes.len() % 8 == 0;
            let fits = is_whole && run.checksums.len() * 2 == run.outcomes.len() && run.first >= from;
            from = run.end().unwrap_or(u64::MAX);
            fits && from - self.start <= self.length
        })
    }

    /// The number of outcomes.
    pub(crate) fn count(&self) -> usize {
        self.runs.iter().map(SavedRun::count).sum()
    }
}

impl SavedRun {
    /// The number of outcomes.
    fn count(&self) -> usize {
        self.outcomes.len() / 8
    }

    /// The number after its last one; `None` on overflow.
    fn end(&self) -> Option<u64> {
        self.first.checked_add(self.count() as u64)
    }
}

/// Groups ascending outcomes into runs.
fn runs_of(kept: impl Iterator<Item = (u64, Kept)>) -> Vec<SavedRun> {
    let mut runs: Vec<SavedRun> = Vec::new();
    for (sequence, kept) in kept {
        let follows = |run: &SavedRun| run.end() == Some(sequence);
        if !runs.last().is_some_and(follows) {
            runs.push(SavedRun { first: sequence, ..SavedRun::default() });
        }
        if let Some(run) = runs.last_mut() {
            run.outcomes.extend_from_slice(&kept.outcome.to_le_bytes());
            run.checksums.extend_from_slice(&kept.checksum.to_le_bytes());
        }
    }
    runs
}

/// The block of a sequence number, and its place in the block.
fn place(sequence: u64) -> (u64, usize) {
    const LENGTH: u64 = BLOCK as u64;
    (sequence / LENGTH, usize::try_from(sequence % LENGTH).unwrap_or(0))
}

const KIND_SHIFT: u32 = 56;
const PUSHED: u64 = 1;
const KEPT: u64 = 2;
const REPLACED: u64 = 3;
const POSTPONED: u64 = 4;
const REFUSED_FOR: u64 = 0x40;
const REFUSED: u64 = 0x80;

/// 8 bits of outcome, 56 bits of job sequence: the group is the engine's own.
pub(crate) fn pack(outcome: PushOutcome) -> u64 {
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

pub(crate) fn unpack(packed: u64, group: GroupId) -> Option<PushOutcome> {
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
#[expect(clippy::indexing_slicing, reason = "the runs are there")]
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
            assert_eq!(window.recall(sequence, 7, GROUP), Recall::New);
            window.remember(SESSION, sequence, pushed(sequence), 7);
        }
        assert_eq!(window.recall(10, 7, GROUP), Recall::Forgotten);
        assert_eq!(window.recall(11, 7, GROUP), Recall::Known(pushed(11)));
        assert_eq!(window.recall(last, 7, GROUP), Recall::Known(pushed(last)));
        assert_eq!(window.recall(last + 1, 7, GROUP), Recall::New);
        assert_eq!(window.digest(), (11, window.recount(SESSION)));
    }

    #[test]
    fn a_hole_is_filled_later_and_a_long_jump_starts_anew() {
        let mut window = Window::default();
        window.remember(SESSION, 5, pushed(5), 7);
        assert_eq!(window.recall(3, 7, GROUP), Recall::New);
        window.remember(SESSION, 3, pushed(3), 7);
        assert_eq!(window.recall(3, 7, GROUP), Recall::Known(pushed(3)));
        assert_eq!(window.digest(), (1, window.recount(SESSION)));
        window.remember(SESSION, u64::MAX, pushed(9), 7);
        assert_eq!(window.recall(5, 7, GROUP), Recall::Forgotten);
        assert_eq!(window.recall(u64::MAX, 7, GROUP), Recall::Known(pushed(9)));
        assert_eq!(window.digest(), (u64::MAX, window.recount(SESSION)));
    }

    #[test]
    fn holes_cost_nothing_in_memory_or_in_a_checkpoint() {
        let mut window = Window::default();
        let last = PRODUCER_WINDOW_MAX as u64;
        window.remember(SESSION, last, pushed(last), 7);
        assert_eq!(window.recall(1, 7, GROUP), Recall::New);
        assert_eq!(window.blocks.len(), 1);
        let saved = window.save();
        let lengths = saved.runs.iter().map(|run| (run.outcomes.len(), run.checksums.len()));
        assert_eq!(lengths.collect::<Vec<_>>(), [(8, 4)]);
        window.remember(SESSION, last + 2, pushed(0), 7);
        assert_eq!(window.digest().0, 3, "it covers as many as ever");
        assert_eq!(window.recall(2, 7, GROUP), Recall::Forgotten);
    }

    #[test]
    fn a_run_that_is_cut_or_elsewhere_is_no_window() {
        let mut window = Window::default();
        for sequence in [2, 3, 7] {
            window.remember(SESSION, sequence, pushed(sequence), 7);
        }
        let saved = window.save();
        assert!(saved.is_valid() && Window::default().save().is_valid());
        let changes: [fn(&mut SavedWindow); 6] = [
            |saved| saved.runs[0].checksums.truncate(4),
            |saved| saved.runs[0].outcomes.truncate(9),
            |saved| saved.runs[1] = SavedRun { first: 7, ..SavedRun::default() },
            |saved| saved.runs[0].first = 0,
            |saved| saved.runs.swap(0, 1),
            |saved| saved.runs[1].first = u64::MAX,
        ];
        for change in changes {
            let mut other = saved.clone();
            change(&mut other);
            assert!(!other.is_valid(), "{other:?}");
        }
    }

    #[test]
    fn another_job_under_a_used_number_is_noticed() {
        let mut window = Window::default();
        window.remember(SESSION, 1, pushed(1), 7);
        window.remember(SESSION, 2, pushed(2), 0);
        window.remember(SESSION, 3, pushed(3), 9);
        let before = window.digest();
        let window = Window::restore(SESSION, &window.save());
        assert_eq!(window.digest(), before);
        let [known, reused] = [Recall::Known(pushed(1)), Recall::Reused];
        assert_eq!([7, 8, 0].map(|checksum| window.recall(1, checksum, GROUP)), [known, reused, reused]);
        assert_eq!(
            [0, 8].map(|checksum| window.recall(2, checksum, GROUP)),
            [Recall::Known(pushed(2)), reused]
        );
        assert_eq!(
            [9, 7].map(|checksum| window.recall(3, checksum, GROUP)),
            [Recall::Known(pushed(3)), reused]
        );
    }

    #[test]
    fn half_of_it_is_forgotten_and_stays_so() {
        let mut window = Window::default();
        for sequence in [2, 3, 40, 41, 42] {
            window.remember(SESSION, sequence, pushed(sequence), 7);
        }
        window.forget_half(SESSION);
        assert_eq!((window.count(), window.digest()), (2, (41, window.recount(SESSION))));
        assert_eq!(window.recall(40, 7, GROUP), Recall::Forgotten);
        assert_eq!(window.recall(41, 7, GROUP), Recall::Known(pushed(41)));
        let restored = Window::restore(SESSION, &window.save());
        assert_eq!((restored.count(), restored.digest()), (2, window.digest()));
        window.remember(SESSION, 43, pushed(43), 7);
        assert_eq!((window.count(), window.digest().0), (3, 41), "it covers what it did");
    }

    #[test]
    fn it_can_be_saved_as_it_was() {
        let last = PRODUCER_WINDOW_MAX as u64 + 100;
        let changes: [&dyn Fn(&mut Window); 5] = [
            &|_| (),
            &|window| window.remember(SESSION, 200, pushed(1), 7),
            &|window| (1..3 * last).for_each(|nth| window.remember(SESSION, last + nth, pushed(nth), 7)),
            &|window| window.forget_half(SESSION),
            &|window| {
                window.remember(SESSION, 3 * last, pushed(2), 7);
                window.remember(SESSION, 3 * last - 1, pushed(3), 7);
            },
        ];
        for change in changes {
            let mut window = Window::default();
            for sequence in (1..last).filter(|sequence| sequence % 200 > 2) {
                window.remember(SESSION, sequence, pushed(sequence), 7);
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
            window.remember(SESSION, sequence, pushed(sequence), 7);
        }
        let saved = window.save();
        let mut back = Window::restore(SESSION, &saved);
        assert_eq!((back.digest(), back.save()), (window.digest(), saved));
        for window in [&mut window, &mut back] {
            window.remember(SESSION, last + 7, pushed(1), 7);
        }
        assert_eq!((back.digest(), back.save()), (window.digest(), window.save()));
    }
}
