//! The disk thread: the only one that writes the log. It takes all waiting write batches, makes them durable together, and
//! tells the core. The first write or sync that fails is its last action.
//!
//! Between batches it does work that can wait, in bounded steps: it truncates the log's beginning, with the help of
//! commits, and frees the space that the log no longer needs.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use tracing::{info, warn};

use super::clock::Clock;
use super::core::ToCore;
use super::stages::CommitTimes;
use crate::raft::Wanted;
use crate::replica::{Input, WriteBatch};
use crate::storage::{LogBase, PersistBatch, Shrunk, Storage, StorageError};
use crate::types::whole_ms;
use watches::{MemoryWatch, Shrink, SlowCommits, SpaceWatch};

mod watches;

/// What the disk thread is asked to do.
#[derive(Debug)]
pub(super) enum ToDisk {
    /// Make this durable.
    Persist(WriteBatch),
    /// Say where the log stands at this entry.
    Base {
        /// Index of the entry.
        index: u64,
        /// Who asks.
        reply: Sender<LogBase>,
    },
    /// Read entries for another member, and tell the core; none if they are not in the log any more.
    Fetch(Wanted),
    /// Remove the log up to this entry, when there is time: a checkpoint contains it.
    Cut {
        /// The last one to go.
        through: u64,
    },
    /// Everything asked for before is all there will be.
    Finish,
    /// As before, and the node ends for this reason.
    Fail(StorageError),
}

/// The disk thread's own state.
pub(super) struct Disk<S> {
    storage: S,
    core: Sender<ToCore>,
    clock: Clock,
    space: SpaceWatch,
    memory: MemoryWatch,
    /// When the watermark is to be written, if it lags.
    watermark_due: Option<Duration>,
    /// What of the log is to go.
    cut: Option<Cut>,
    shrink: Shrink,
    slow: SlowCommits,
}

/// What of the log is to go.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// The last entry.
    through: u64,
    /// When the next round of its own is due, if no commit comes before that.
    due: Duration,
    /// When it is due at the latest.
    latest: Duration,
    /// Bytes that were written since something was to go.
    written_bytes: usize,
}

impl Cut {
    fn lags(&self) -> bool {
        self.written_bytes >= CUT_LAGS_BYTES
    }

    /// A commit of entries of this size has ended; it took twice as much along.
    fn committed(&mut self, ended: Duration, bytes: usize) {
        self.written_bytes += bytes;
        if !self.lags() {
            self.due = self.latest.min(ended + CUT_AFTER_COMMIT);
        }
    }
}

/// Batches are merged up to this size in bytes: storage syncs that often anyway.
const MERGED_BYTES_MAX: usize = 1 << 20;
const WATERMARK_EVERY: Duration = Duration::from_millis(100);
/// Time between two rounds of removing entries while there are no commits. A commit would wait for the round under way.
const CUT_EVERY: Duration = Duration::from_millis(2);
/// From a commit, which took entries along, to the next round.
const CUT_AFTER_COMMIT: Duration = Duration::from_millis(10);
/// Between two rounds at most: commits may have taken all, which only a round finds out.
const CUT_EVERY_MAX: Duration = Duration::from_secs(1);
/// A cut lags when this many bytes were written since it was ordered.
const CUT_LAGS_BYTES: usize = 256 << 20;
/// The number of rounds at once when a cut lags, so that the log does not grow without limit under load. Commits wait for them.
const CUT_LAGS_ROUNDS: usize = 6;
const SPACE_CHECK_EVERY: Duration = Duration::from_secs(1);

impl<S: Storage> Disk<S> {
    /// A disk thread over `storage` that reports to `core`, keeps `free_min_bytes` of the device free, and if
    /// `watch_memory`, tells how much the process takes.
    pub(super) fn new(
        storage: S,
        core: Sender<ToCore>,
        clock: Clock,
        free_min_bytes: u64,
        watch_memory: bool,
    ) -> Self {
        let now = clock.elapsed();
        let (memory, space) = (MemoryWatch::new(watch_memory, now), SpaceWatch::new(free_min_bytes, now));
        Self {
            storage,
            core,
            clock,
            space,
            memory,
            watermark_due: None,
            cut: None,
            shrink: Shrink::at(now + Shrink::AFTER),
            slow: SlowCommits::default(),
        }
    }

    /// Carries out commands until [`ToDisk::Finish`], the end of the channel or the first failure. The storage is
    /// closed when this returns.
    pub(super) fn run(mut self, commands: &Receiver<ToDisk>) -> Result<(), StorageError> {
        loop {
            self.watch_space()?;
            let mut next = match commands.recv_timeout(self.idle_time()) {
                Ok(command) => Some(command),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => None,
            };
            while let Some(ToDisk::Persist(write)) = next {
                next = self.persist(write, commands)?;
            }
            match next {
                None | Some(ToDisk::Persist(_)) => {}
                Some(ToDisk::Fetch(Wanted { first, last, bytes_max })) => {
                    let entries = self.storage.read(first, last, bytes_max)?;
                    self.tell(Input::Fetched { entries });
                }
                Some(ToDisk::Base { index, reply }) => {
                    // The receiver may have ended meanwhile.
                    let _ = reply.send(self.storage.base_at(index)?);
                }
                Some(ToDisk::Cut { through }) => self.order_cut(through),
                Some(ToDisk::Finish) => break,
                Some(ToDisk::Fail(error)) => return Err(error),
            }
            self.write_watermark_if_due()?;
            self.cut_if_due()?;
            self.shrink_if_due()?;
            if let Some(resident_bytes) = self.memory.measure(self.clock.elapsed()) {
                self.tell(Input::Memory { resident_bytes });
            }
        }
        self.storage.write_watermark()
    }

    /// Makes `first` and the batches after it durable, and returns the next command that is no batch. Or installs
    /// a checkpoint, which replaces the batches before it.
    fn persist(
        &mut self,
        first: WriteBatch,
        commands: &Receiver<ToDisk>,
    ) -> Result<Option<ToDisk>, StorageError> {
        let mut merged = first;
        let mut bytes = data_bytes(&merged.batch);
        let mut other = None;
        while bytes < MERGED_BYTES_MAX && other.is_none() {
            match commands.try_recv() {
                Ok(ToDisk::Persist(write)) if write.batch.install.is_none() => {
                    bytes += data_bytes(&write.batch);
                    merge(&mut merged, write);
                }
                Ok(command) => other = Some(command),
                Err(_) => break,
            }
        }
        let begun = self.clock.elapsed();
        self.storage.persist(&merged.batch)?;
        let ended = self.clock.elapsed();
        let took = ended.saturating_sub(begun);
        self.slow.note(ended, took, bytes);
        let has_entries = !merged.batch.entries.is_empty();
        let waited = begun.saturating_sub(Duration::from_micros(merged.since_us));
        let times = has_entries.then_some(CommitTimes { waited, took });
        if let Some(cut) = &mut self.cut
            && has_entries
        {
            cut.committed(ended, bytes);
        }
        self.watermark_due.get_or_insert(ended + WATERMARK_EVERY);
        self.shrink.changed(ended);
        if let Some(through) = merged.batch.install {
            // Remove the log before the installed checkpoint.
            self.order_cut(through);
        }
        // If the core is gone, no one waits for an answer.
        let _ = self.core.send(ToCore::Persisted { number: merged.number, times });
        Ok(other)
    }

    /// What lags lags on.
    fn order_cut(&mut self, through: u64) {
        let written_bytes = self.cut.map_or(0, |cut| cut.written_bytes);
        let now = self.clock.elapsed();
        self.cut = Some(Cut { through, due: now, latest: now, written_bytes });
    }

    fn cut_if_due(&mut self) -> Result<(), StorageError> {
        let Some(mut cut) = self.cut.filter(|cut| cut.due <= self.clock.elapsed()) else { return Ok(()) };
        let rounds = if cut.lags() { CUT_LAGS_ROUNDS } else { 1 };
        let mut done = false;
        for _ in 0..rounds {
            done = done || self.storage.cut(cut.through)?;
        }
        let now = self.clock.elapsed();
        (cut.due, cut.latest) = (now + CUT_EVERY, now + CUT_EVERY_MAX);
        self.shrink.changed(now);
        self.cut = (!done).then_some(cut);
        Ok(())
    }

    fn shrink_if_due(&mut self) -> Result<(), StorageError> {
        let now = self.clock.elapsed();
        if self.shrink.due.is_none_or(|due| due > now) {
            return Ok(());
        }
        let shrunk = self.storage.shrink(self.space.free_min_bytes / 2)?;
        let begun = self.shrink.begin(now);
        match shrunk {
            Shrunk::Nothing => {
                self.shrink = Shrink::default();
                return Ok(());
            }
            Shrunk::More => {}
            Shrunk::Compacted { bytes_before, bytes_after } => {
                let took_ms = whole_ms(self.clock.elapsed().saturating_sub(begun));
                info!(bytes_before, bytes_after, took_ms, "the log has moved into a smaller file");
            }
            Shrunk::CopyCorrupt => warn!(
                "the log was copied into a smaller file, and the copy is not what was written: the log itself is whole, \
                 but the disk or the memory may be failing"
            ),
        }
        self.shrink.goes_on(self.clock.elapsed());
        Ok(())
    }

    fn write_watermark_if_due(&mut self) -> Result<(), StorageError> {
        if self.watermark_due.is_some_and(|due| due <= self.clock.elapsed()) {
            self.storage.write_watermark()?;
            self.watermark_due = None;
        }
        Ok(())
    }

    fn watch_space(&mut self) -> Result<(), StorageError> {
        let now = self.clock.elapsed();
        if self.space.free_min_bytes == 0 || now < self.space.next_check {
            return Ok(());
        }
        self.space.next_check = now + SPACE_CHECK_EVERY;
        let free_bytes = self.storage.free_bytes()?;
        if let Some(low) = self.space.turned(free_bytes) {
            let free_min_bytes = self.space.free_min_bytes;
            if low {
                warn!(free_bytes, free_min_bytes, "the disk is nearly full: pushes are refused");
            } else {
                warn!(free_bytes, free_min_bytes, "the disk has space again: pushes are accepted");
            }
            self.tell(Input::DiskLow(low));
        }
        Ok(())
    }

    /// How long there is nothing to do unless a command comes.
    fn idle_time(&self) -> Duration {
        let now = self.clock.elapsed();
        let check = if self.space.free_min_bytes == 0 { Duration::MAX } else { self.space.next_check };
        let check = check.min(self.memory.next_when_idle());
        let due = [self.watermark_due, self.cut.map(|cut| cut.due), self.shrink.due].into_iter().flatten();
        due.fold(check, Duration::min).saturating_sub(now)
    }

    fn tell(&self, input: Input) {
        // If the core is gone, no one waits for an answer.
        let _ = self.core.send(ToCore::Input(input));
    }
}

/// Adds `later` to `merged` so that carrying out the result is carrying out one after the other.
fn merge(merged: &mut WriteBatch, later: WriteBatch) {
    let PersistBatch { vote, install, entries, commit } = later.batch;
    debug_assert!(install.is_none(), "what is installed is never added to what comes before");
    merged.number = later.number;
    merged.since_us = merged.since_us.min(later.since_us);
    merged.batch.vote = vote.or(merged.batch.vote);
    merged.batch.commit = merged.batch.commit.max(commit);
    if let Some(first) = entries.first() {
        // The later batch may take back the end of the log: what it overwrites need not be written.
        let kept = merged.batch.entries.partition_point(|entry| entry.index < first.index);
        merged.batch.entries.truncate(kept);
    }
    merged.batch.entries.extend(entries);
}

fn data_bytes(batch: &PersistBatch) -> usize {
    batch.entries.iter().map(|entry| entry.data.len()).sum()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc;

    use bytes::Bytes;

    use super::*;
    use crate::storage::{EntryKind, LogEntry, Vote};

    /// Passes on which entries it was asked to make durable together, and fails after a number of calls.
    struct Notebook {
        pages: Sender<Vec<u64>>,
        persists_left: usize,
        shrinks: Result<Shrunk, ()>,
    }

    const FREE_MIN_BYTES: u64 = 2;
    /// The page for a step of giving space back.
    const SHRUNK: u64 = u64::MAX;
    /// The first line of the page for removing entries.
    const CUT: u64 = u64::MAX - 1;

    impl Storage for Notebook {
        fn persist(&mut self, batch: &PersistBatch) -> Result<(), StorageError> {
            let Some(left) = self.persists_left.checked_sub(1) else { return Err(failure()) };
            self.persists_left = left;
            self.note(batch.entries.iter().map(|entry| entry.index).collect());
            Ok(())
        }

        fn write_watermark(&mut self) -> Result<(), StorageError> {
            self.note(vec![]);
            Ok(())
        }

        fn base_at(&mut self, index: u64) -> Result<LogBase, StorageError> {
            Ok(LogBase { index, term: 1, crc: 0 })
        }

        fn cut(&mut self, through: u64) -> Result<bool, StorageError> {
            self.note(vec![CUT, through]);
            Ok(true)
        }

        fn shrink(&mut self, spare_bytes: u64) -> Result<Shrunk, StorageError> {
            assert_eq!(spare_bytes, FREE_MIN_BYTES / 2);
            self.note(vec![SHRUNK]);
            self.shrinks.map_err(|()| failure())
        }

        fn replay(
            &mut self,
            _first: u64,
            _visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
        ) -> Result<(), StorageError> {
            Ok(())
        }

        fn read(&mut self, first: u64, last: u64, _: u64) -> Result<Vec<LogEntry>, StorageError> {
            Ok(write(0, first..=last, 1, 0).batch.entries)
        }

        fn free_bytes(&self) -> Result<u64, StorageError> {
            Ok(u64::MAX)
        }
    }

    fn failure() -> StorageError {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        StorageError::Io { action: "write", path: "log".into(), source }
    }

    impl Notebook {
        fn note(&self, page: Vec<u64>) {
            self.pages.send(page).expect("the test listens");
        }
    }

    /// Runs a disk thread over these batches. Returns how it ended, the batches written, and the messages to the core.
    fn run(persists_left: usize, writes: Vec<WriteBatch>) -> (bool, Vec<Vec<u64>>, Vec<u64>) {
        let (good, written, told) = run_all(persists_left, writes.into_iter().map(ToDisk::Persist).collect());
        let persisted = told.into_iter().map(|input| match input {
            Input::Persisted { number } => number,
            other => panic!("{other:?}"),
        });
        (good, written, persisted.collect())
    }

    fn run_all(persists_left: usize, commands: Vec<ToDisk>) -> (bool, Vec<Vec<u64>>, Vec<Input>) {
        run_with(persists_left, None, commands)
    }

    /// The same with a step of giving space back that is due at once, and comes to this.
    fn run_with(
        persists_left: usize,
        shrinks: Option<Result<Shrunk, ()>>,
        commands: Vec<ToDisk>,
    ) -> (bool, Vec<Vec<u64>>, Vec<Input>) {
        let (pages, written) = mpsc::channel();
        let (core, told) = mpsc::channel();
        let (sender, receiver) = mpsc::channel();
        for command in commands {
            sender.send(command).expect("open");
        }
        sender.send(ToDisk::Finish).expect("open");
        let notebook = Notebook { pages, persists_left, shrinks: shrinks.unwrap_or(Ok(Shrunk::Nothing)) };
        let mut disk = Disk::new(notebook, core, Clock::start(), FREE_MIN_BYTES, false);
        disk.shrink = shrinks.map_or_else(Shrink::default, |_| Shrink::at(Duration::ZERO));
        let good = disk.run(&receiver).is_ok();
        let told = told.iter().map(|message| match message {
            ToCore::Input(input) => input,
            ToCore::Persisted { number, times } => {
                assert!(times.is_some(), "entries were written");
                Input::Persisted { number }
            }
            other => panic!("{other:?}"),
        });
        (good, written.iter().collect(), told.collect())
    }

    fn write(number: u64, indices: std::ops::RangeInclusive<u64>, term: u64, commit: u64) -> WriteBatch {
        let entries = indices
            .map(|index| LogEntry { index, term, kind: EntryKind::Normal, data: Bytes::new() })
            .collect();
        let batch = PersistBatch { vote: None, install: None, entries, commit };
        WriteBatch { number, since_us: number, batch }
    }

    #[test]
    fn all_that_waits_is_written_together_and_the_watermark_at_the_end() {
        let writes = vec![write(1, 1..=2, 1, 0), write(2, 3..=3, 1, 2), write(3, 4..=6, 1, 3)];
        assert_eq!(run(9, writes), (true, vec![vec![1, 2, 3, 4, 5, 6], vec![]], vec![3]));
    }

    #[test]
    fn what_comes_before_a_checkpoint_is_written_before_it() {
        let mut install = write(3, 41..=42, 2, 40);
        install.batch.install = Some(40);
        let writes = vec![write(1, 1..=2, 1, 0), write(2, 3..=3, 1, 0), install, write(4, 43..=43, 2, 40)];
        let written = vec![vec![1, 2, 3], vec![41, 42, 43], vec![]];
        assert_eq!(run(9, writes), (true, written, vec![2, 4]), "what comes behind it may go with it");
    }

    #[test]
    fn entries_are_read_when_what_was_ordered_before_is_written() {
        let wanted = Wanted { first: 2, last: 3, bytes_max: 100 };
        let writes = vec![
            ToDisk::Persist(write(1, 1..=2, 1, 0)),
            ToDisk::Fetch(wanted),
            ToDisk::Persist(write(2, 3..=3, 1, 0)),
        ];
        let (good, written, told) = run_all(9, writes);
        assert_eq!((good, written), (true, vec![vec![1, 2], vec![3], vec![]]));
        let [Input::Persisted { number: 1 }, Input::Fetched { entries }, Input::Persisted { number: 2 }] =
            &told[..]
        else {
            panic!("{told:?}")
        };
        assert_eq!(*entries, write(0, 2..=3, 1, 0).batch.entries);
    }

    #[test]
    fn space_is_given_back_between_writes_and_not_in_a_row() {
        let writes = || {
            let fetch = || ToDisk::Fetch(Wanted { first: 1, last: 1, bytes_max: 1 });
            vec![ToDisk::Persist(write(1, 1..=1, 1, 0)), fetch(), ToDisk::Persist(write(2, 2..=2, 1, 0))]
        };
        for shrunk in [
            Shrunk::Nothing,
            Shrunk::More,
            Shrunk::CopyCorrupt,
            Shrunk::Compacted { bytes_before: 2, bytes_after: 1 },
        ] {
            let (good, written, told) = run_with(9, Some(Ok(shrunk)), writes());
            assert_eq!((good, told.len()), (true, 3));
            assert!(written.starts_with(&[vec![1], vec![SHRUNK]]), "the write that waited comes first");
            assert!(written.contains(&vec![2]));
        }
        let (good, written, _) = run_with(9, Some(Err(())), writes());
        assert_eq!((good, written), (false, vec![vec![1], vec![SHRUNK]]), "a failure is the end");
    }

    #[test]
    fn entries_are_removed_between_commits_only_when_there_are_none_or_it_lags() {
        let (pages, written) = mpsc::channel();
        let (core, _told) = mpsc::channel();
        let (_sender, receiver) = mpsc::channel();
        let notebook = Notebook { pages, persists_left: 9, shrinks: Ok(Shrunk::Nothing) };
        let mut disk = Disk::new(notebook, core, Clock::start(), 0, false);
        let far = Duration::MAX;
        disk.cut = Some(Cut { through: 7, due: Duration::ZERO, latest: far, written_bytes: 0 });
        let before = disk.clock.elapsed();
        assert!(disk.persist(write(1, 8..=8, 1, 7), &receiver).is_ok());
        assert!(disk.cut.is_some_and(|cut| cut.due >= before + CUT_AFTER_COMMIT && cut.latest == far));
        for (due, latest, written_bytes) in [(far, Duration::ZERO, 0), (Duration::ZERO, far, CUT_LAGS_BYTES)]
        {
            disk.cut = Some(Cut { through: 7, due, latest, written_bytes });
            assert!(disk.persist(write(2, 9..=9, 1, 8), &receiver).is_ok());
            disk.cut_if_due().expect("a round");
            assert!(disk.cut.is_none(), "all is removed");
        }
        let pages = [vec![8], vec![9], vec![CUT, 7], vec![9], vec![CUT, 7]];
        assert_eq!(written.try_iter().collect::<Vec<_>>(), pages);
    }

    #[test]
    fn large_writes_are_not_gathered_without_end() {
        let large = |number: u64| {
            let mut write = write(number, number..=number, 1, 0);
            write
                .batch
                .entries
                .iter_mut()
                .for_each(|entry| entry.data = vec![0; MERGED_BYTES_MAX / 2].into());
            write
        };
        let (good, written, told) = run(9, (1..=5).map(large).collect());
        assert_eq!((good, told), (true, vec![2, 4, 5]));
        assert_eq!(written, [vec![1, 2], vec![3, 4], vec![5], vec![]]);
    }

    #[test]
    fn the_first_failure_is_the_end() {
        let (good, written, told) = run(0, vec![write(1, 1..=1, 1, 0)]);
        assert_eq!((good, written, told), (false, vec![], vec![]), "nothing is written or told after it");
    }

    #[test]
    fn merged_writes_leave_the_log_that_they_leave_one_by_one() {
        let mut merged = write(1, 5..=7, 1, 4);
        merge(&mut merged, write(2, 8..=8, 1, 7));
        let mut overwrite = write(3, 7..=9, 2, 6);
        overwrite.batch.vote = Some(Vote { term: 2, vote: 1 });
        merge(&mut merged, overwrite);
        let nothing_new = PersistBatch { commit: 9, ..PersistBatch::default() };
        merge(&mut merged, WriteBatch { number: 4, since_us: 4, batch: nothing_new });
        let log: Vec<_> = merged.batch.entries.iter().map(|entry| (entry.index, entry.term)).collect();
        assert_eq!(log, [(5, 1), (6, 1), (7, 2), (8, 2), (9, 2)]);
        assert_eq!((merged.number, merged.since_us, merged.batch.commit), (4, 1, 9));
        assert_eq!(merged.batch.vote, Some(Vote { term: 2, vote: 1 }));
        merge(&mut merged, write(5, 3..=3, 3, 9));
        assert_eq!(merged.batch.entries.iter().map(|entry| entry.index).collect::<Vec<_>>(), [3]);
    }
}
