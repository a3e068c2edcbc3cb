//! The disk thread: the only one that writes the log. It takes all waiting write batches, makes them durable together, and
//! tells the core. The first write or sync that fails is its last action.
//!
//! What takes long goes to another thread, one [`Chore`] at a time.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use tracing::warn;

use super::clock::Clock;
use super::core::ToCore;
use super::stages::CommitTimes;
use crate::raft::Wanted;
use crate::replica::{Input, WriteBatch};
use crate::storage::{Chore, LogBase, PersistBatch, Storage, StorageError};
use watches::{MemoryWatch, SlowCommits, SpaceWatch};

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
    /// The log up to this entry is not needed any more: a checkpoint contains it.
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
    chores: Chores,
    slow: SlowCommits,
}

/// The disk thread's way to the thread for chores.
pub(super) struct Chores {
    orders: Sender<Chore>,
    results: Receiver<Result<(), StorageError>>,
    is_busy: bool,
}

/// The other end of it.
pub(super) struct ChoreThread {
    orders: Receiver<Chore>,
    results: Sender<Result<(), StorageError>>,
}

impl Chores {
    /// The way, and what is to [run](ChoreThread::run) on a thread of its own.
    pub(super) fn new() -> (Self, ChoreThread) {
        let ((orders, to_do), (results, done)) = (mpsc::channel(), mpsc::channel());
        (Self { orders, results: done, is_busy: false }, ChoreThread { orders: to_do, results })
    }
}

impl ChoreThread {
    /// Does one chore after the other, until the disk thread has ended.
    pub(super) fn run(self) {
        for chore in self.orders {
            if self.results.send(chore.run()).is_err() {
                break;
            }
        }
    }
}

/// Batches are merged up to this size in bytes: storage syncs that often anyway.
const MERGED_BYTES_MAX: usize = 1 << 20;
const WATERMARK_EVERY: Duration = Duration::from_millis(100);
/// While there is nothing to do but a chore is under way: its result is waited for this long at a time.
const CHORE_CHECK_EVERY: Duration = Duration::from_millis(50);
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
        chores: Chores,
    ) -> Self {
        let now = clock.elapsed();
        let (memory, space) = (MemoryWatch::new(watch_memory, now), SpaceWatch::new(free_min_bytes, now));
        let slow = SlowCommits::default();
        Self { storage, core, clock, space, memory, watermark_due: None, chores, slow }
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
                Some(ToDisk::Cut { through }) => self.storage.cut(through)?,
                Some(ToDisk::Finish) => break,
                Some(ToDisk::Fail(error)) => return Err(error),
            }
            self.write_watermark_if_due()?;
            self.look_after_chores()?;
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
        let waited = begun.saturating_sub(Duration::from_micros(merged.since_us));
        let times = (!merged.batch.entries.is_empty()).then_some(CommitTimes { waited, took });
        self.watermark_due.get_or_insert(ended + WATERMARK_EVERY);
        // If the core is gone, no one waits for an answer.
        let _ = self.core.send(ToCore::Persisted { number: merged.number, times });
        Ok(other)
    }

    /// Takes the result of the chore that was handed out, and hands out the next.
    fn look_after_chores(&mut self) -> Result<(), StorageError> {
        if self.chores.is_busy {
            match self.chores.results.try_recv() {
                Ok(done) => self.storage.chore_done(done)?,
                // A thread that panicked has told so.
                Err(_) => return Ok(()),
            }
        }
        let next = self.storage.chore();
        self.chores.is_busy = next.is_some();
        if let Some(chore) = next {
            // As above.
            let _ = self.chores.orders.send(chore);
        }
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
        let due = self.watermark_due.map_or(check, |due| due.min(check)).saturating_sub(now);
        if self.chores.is_busy { due.min(CHORE_CHECK_EVERY) } else { due }
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
    use std::thread;

    use bytes::Bytes;

    use super::*;
    use crate::storage::{EntryKind, LogEntry, Vote};

    /// Passes on which entries it was asked to make durable together, and fails after a number of calls.
    struct Notebook {
        pages: Sender<Vec<u64>>,
        persists_left: usize,
        /// Chores to hand out, and whether they succeed.
        chores: Vec<bool>,
    }

    const FREE_MIN_BYTES: u64 = 2;
    /// The first line of the page for entries that are not needed.
    const CUT: u64 = u64::MAX;
    /// The first line of the page for a chore that is done.
    const CHORE: u64 = u64::MAX - 1;

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

        fn cut(&mut self, through: u64) -> Result<(), StorageError> {
            self.note(vec![CUT, through]);
            Ok(())
        }

        fn chore(&mut self) -> Option<Chore> {
            let good = self.chores.pop()?;
            Some(Chore::new(move || if good { Ok(()) } else { Err(failure()) }))
        }

        fn chore_done(&mut self, done: Result<(), StorageError>) -> Result<(), StorageError> {
            self.note(vec![CHORE]);
            done
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
        let (pages, written) = mpsc::channel();
        let (core, told) = mpsc::channel();
        let (sender, receiver) = mpsc::channel();
        for command in commands {
            sender.send(command).expect("open");
        }
        sender.send(ToDisk::Finish).expect("open");
        let notebook = Notebook { pages, persists_left, chores: Vec::new() };
        let (chores, _thread) = Chores::new();
        let disk = Disk::new(notebook, core, Clock::start(), FREE_MIN_BYTES, false, chores);
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
    fn one_chore_at_a_time_is_done_beside_commits() {
        for (results, good) in [(vec![true, true], true), (vec![true, false], false)] {
            let (pages, written) = mpsc::channel();
            let (core, _told) = mpsc::channel();
            let (sender, receiver) = mpsc::channel();
            let notebook = Notebook { pages, persists_left: 9, chores: results };
            let (chores, thread) = Chores::new();
            let disk = Disk::new(notebook, core, Clock::start(), 0, false, chores);
            let (chores, disk) = (thread::spawn(|| thread.run()), thread::spawn(move || disk.run(&receiver)));
            sender.send(ToDisk::Persist(write(1, 1..=1, 1, 0))).expect("open");
            sender.send(ToDisk::Cut { through: 1 }).expect("open");
            let done = written.iter().filter(|page| *page == [CHORE]).take(if good { 2 } else { 1 });
            assert_eq!(done.count(), if good { 2 } else { 1 });
            // It has ended already if the last one failed.
            let _ = sender.send(ToDisk::Finish);
            assert_eq!(disk.join().expect("no panic").is_ok(), good);
            chores.join().expect("it ends with the disk thread");
        }
    }

    #[test]
    fn what_is_not_needed_is_let_go_in_the_order_of_writes() {
        let commands = vec![
            ToDisk::Persist(write(1, 1..=2, 1, 0)),
            ToDisk::Cut { through: 2 },
            ToDisk::Persist(write(2, 3..=3, 1, 0)),
        ];
        let (good, written, _) = run_all(9, commands);
        assert_eq!((good, written), (true, vec![vec![1, 2], vec![CUT, 2], vec![3], vec![]]));
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
