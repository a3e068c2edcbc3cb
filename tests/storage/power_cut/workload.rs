//! The random operations of a node on its storage.

use adjourn_storage::{EntryKind, JournalSize, LogEntry, PersistBatch, Vote};
use bytes::Bytes;
use proptest::prelude::{Rng as _, RngExt as _};
use proptest::test_runner::TestRng;

use super::ledger::{self, State, Step};

/// What a node is mostly occupied with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Workload {
    /// Many small entries, with votes and watermarks between them.
    Small,
    /// Batches of up to 1 MiB, and entries of several parts, up to 3 MiB.
    Large,
    /// Entries of all sizes, and every third batch replaces some of them.
    Cuts,
    /// The same, with checkpoints, and the log's beginning cut.
    Beginnings,
    /// The same, and work beside the commits: files are made, and stretches go into the archive and out of it.
    Chores,
    /// As in `Beginnings`, and checkpoints of other members: ahead of the log, of another entry than the one in it, or,
    /// just as often, of the same one, as a member gets it that has lost its state.
    Installs,
}

impl Workload {
    /// The journal: small files, and so many that the archive is not needed, except where it is the matter.
    pub(super) fn size(self) -> JournalSize {
        let files_max = if matches!(self, Self::Chores) { 3 } else { 1000 };
        JournalSize { file_bytes: 64 << 10, files_max }
    }

    /// The next step.
    pub(super) fn step(self, state: &State, rng: &mut TestRng) -> Step {
        if rng.random_ratio(1, 5) {
            return Step::WriteWatermark;
        }
        if matches!(self, Self::Chores) && rng.random_ratio(2, 5) {
            let meanwhile = rng.random::<bool>().then(|| self.batch(state, rng));
            return Step::Chore { meanwhile };
        }
        // Where work is to be done, cuts are rare: the log gets longer than its files.
        let often = if matches!(self, Self::Chores) { 10 } else { 5 };
        if matches!(self, Self::Beginnings | Self::Chores | Self::Installs) && rng.random_ratio(2, often) {
            let installs = matches!(self, Self::Installs) && rng.random();
            return if installs { install(state, rng) } else { beginning(state, rng) };
        }
        Step::Persist(self.batch(state, rng))
    }

    /// Entries, a vote, or both.
    fn batch(self, state: &State, rng: &mut TestRng) -> PersistBatch {
        let last = state.log.len() as u64;
        let voted = rng.random_ratio(1, 8);
        let term = state.vote.term.max(1) + u64::from(voted);
        let vote = voted.then(|| Vote { term, vote: rng.random_range(0..4) });
        let commit = state.commit.max(last.saturating_sub(rng.random_range(0..3)));
        if voted && rng.random() {
            return PersistBatch { vote, install: None, entries: Vec::new(), commit };
        }
        let first = if !matches!(self, Self::Small | Self::Large) && rng.random_ratio(1, 3) {
            let removable = last - state.base_index();
            let back = if rng.random_ratio(1, 20) { removable } else { 30.min(removable) };
            last - rng.random_range(0..=back) + 1
        } else {
            last + 1
        };
        let entries = self.sizes(rng).into_iter().zip(first..).map(|(bytes, index)| {
            let mut data = vec![0; bytes];
            rng.fill_bytes(&mut data);
            LogEntry { index, term, kind: EntryKind::Normal, data: Bytes::from(data) }
        });
        let entries = entries.collect();
        let commit = commit.min(first - 1);
        PersistBatch { vote, install: None, entries, commit }
    }

    /// The sizes of a batch's entries.
    fn sizes(self, rng: &mut TestRng) -> Vec<usize> {
        match self {
            Self::Small => (0..rng.random_range(1..20)).map(|_| rng.random_range(0..2000)).collect(),
            Self::Large if rng.random_ratio(1, 6) => vec![rng.random_range(100_000..3 << 20)],
            Self::Large | Self::Cuts | Self::Beginnings | Self::Chores | Self::Installs => {
                // As large as a file of the journal, or many of them.
                let bytes_max = if matches!(self, Self::Chores) {
                    [2_000, 20_000, 60_000]
                } else {
                    [20_000, 200_000, 1 << 20]
                };
                let bytes_max = bytes_max[rng.random_range(0..3)];
                let entry_bytes_max = [500, 20_000, 150_000][rng.random_range(0..3)];
                let mut sizes = Vec::new();
                let mut left: usize = bytes_max;
                while left > 0 && sizes.len() < 200 {
                    let bytes = rng.random_range(0..entry_bytes_max.min(left) + 1);
                    left = left.saturating_sub(bytes + 40);
                    sizes.push(bytes);
                }
                sizes
            }
        }
    }
}

/// A checkpoint, or a cut up to one.
fn beginning(state: &State, rng: &mut TestRng) -> Step {
    let base = state.base_index();
    let newest = state.commit.min(state.log.len() as u64);
    if base == 0 || rng.random_ratio(1, 3) {
        let back = if rng.random() { 0 } else { 20 };
        let index = newest.saturating_sub(rng.random_range(0..=back)).max(base);
        return Step::Checkpoint(state.base_at(index));
    }
    let kept = if rng.random() { 0 } else { rng.random_range(0..10) };
    Step::Cut { through: base.saturating_sub(kept) }
}

/// A checkpoint of another member, perhaps with a few entries after it.
fn install(state: &State, rng: &mut TestRng) -> Step {
    let last = state.log.len() as u64;
    let known = state.commit.max(state.base_index()).min(last);
    let agrees = last > 0 && rng.random();
    // The log of the other one is the same up to here: to the checkpoint, or to somewhere before it.
    let same =
        if agrees && rng.random() { last } else { rng.random_range(known..=last).max(u64::from(agrees)) };
    let index = if agrees { same } else { same + rng.random_range(1..40) };
    let term = state.vote.term.max(1) + 1;
    let mut entry = |index: u64| {
        let mut data = vec![0; rng.random_range(0..300)];
        rng.fill_bytes(&mut data);
        LogEntry { index, term, kind: EntryKind::Normal, data: Bytes::from(data) }
    };
    let mut theirs = state.log[..usize::try_from(same).expect("it fits into memory")].to_vec();
    theirs.extend((same + 1..=index).map(&mut entry));
    let mut behind: Vec<LogEntry> = (index + 1..index + 4).map(&mut entry).collect();
    if agrees {
        behind.truncate(rng.random_range(0..4));
    }
    // A node that receives a term adopts it, or has adopted it.
    let vote = Some(Vote { term, vote: 2 });
    let batch = PersistBatch { vote, install: Some(index), entries: behind, commit: index };
    Step::Install { base: ledger::base_of(&theirs), theirs, batch }
}
