//! A disk thread over a storage that records its calls.

use std::{io, iter};

use bytes::Bytes;

use super::super::mailbox::mailbox;
use super::*;
use adjourn_storage::{EntryKind, LogEntry, PersistBatch, Vote};

/// Reports which entries it was asked to make durable together, and fails after a number of calls. Panics if they are out
/// of order.
struct Notebook {
    pages: Sender<Vec<u64>>,
    persists_left: usize,
    /// Chores to hand out, and whether they succeed.
    chores: Vec<bool>,
    /// Calls of [`Storage::persist`] that fail for lack of space before one succeeds.
    shortages: usize,
}

const FREE_MIN_BYTES: u64 = 2;
/// Begins the report of a cut.
const CUT: u64 = u64::MAX;
/// Begins the report of a batch that may be lost.
const LATER: u64 = u64::MAX - 2;
/// Begins the report of a completed chore.
const CHORE: u64 = u64::MAX - 1;

impl Storage for Notebook {
    fn persist(&mut self, batch: &PersistBatch) -> Result<(), StorageError> {
        if let Some(left) = self.shortages.checked_sub(1) {
            self.shortages = left;
            return Err(StorageError::Passing(Box::new(failure())));
        }
        let Some(left) = self.persists_left.checked_sub(1) else { return Err(failure()) };
        self.persists_left = left;
        assert!(batch.entries.is_sorted_by_key(|entry| entry.index), "the log was to be in order");
        self.note(batch.entries.iter().map(|entry| entry.index).collect());
        Ok(())
    }

    fn persist_later(&mut self, batch: PersistBatch) -> Result<(), StorageError> {
        let indices = batch.entries.iter().map(|entry| entry.index);
        self.note([LATER].into_iter().chain(indices).collect());
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
    let (core, told) = mailbox(Clock::start());
    let notebook = Box::new(Notebook { pages, persists_left, chores: Vec::new(), shortages: 0 });
    let (chores, _thread) = Chores::new();
    let (handle, disk) = Disk::start(notebook, core, Clock::start(), FREE_MIN_BYTES, false, chores);
    for command in commands {
        handle.send(command);
    }
    handle.send(ToDisk::Finish);
    let good = disk.run().is_ok();
    let told = iter::from_fn(|| told.try_recv()).map(|message| match message {
        ToCore::Input(input) => input,
        ToCore::Persisted(Persisted { number, times }) => {
            assert!(times.is_some(), "entries were written");
            Input::Persisted { number }
        }
        other => panic!("{other:?}"),
    });
    (good, written.iter().collect(), told.collect())
}

fn write(number: u64, indices: std::ops::RangeInclusive<u64>, term: u64, commit: u64) -> WriteBatch {
    let entries =
        indices.map(|index| LogEntry { index, term, kind: EntryKind::Normal, data: Bytes::new() }).collect();
    let batch = PersistBatch { vote: None, install: None, entries, commit };
    WriteBatch { number, since_us: number, batch, is_volatile: false }
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
        let (core, _told) = mailbox(Clock::start());
        let notebook = Box::new(Notebook { pages, persists_left: 9, chores: results, shortages: 0 });
        let (chores, thread) = Chores::new();
        let (handle, disk) = Disk::start(notebook, core, Clock::start(), 0, false, chores);
        let (chores, disk) = (thread::spawn(|| thread.run()), thread::spawn(move || disk.run()));
        handle.send(ToDisk::Persist(write(1, 1..=1, 1, 0)));
        handle.send(ToDisk::Cut { through: 1 });
        let done = written.iter().filter(|page| *page == [CHORE]).take(if good { 2 } else { 1 });
        assert_eq!(done.count(), if good { 2 } else { 1 });
        handle.send(ToDisk::Finish);
        assert_eq!(disk.join().expect("no panic").is_ok(), good);
        chores.join().expect("it ends with the disk thread");
    }
}

/// A disk whose thread does not run, its reports, and the thread's end.
fn idle_disk(persists_left: usize) -> (DiskHandle, DiskThread, Receiver<Vec<u64>>) {
    let (pages, written) = mpsc::channel();
    let (core, _told) = mailbox(Clock::start());
    let notebook = Box::new(Notebook { pages, persists_left, chores: Vec::new(), shortages: 0 });
    let (chores, _thread) = Chores::new();
    let (handle, thread) = Disk::start(notebook, core, Clock::start(), 0, false, chores);
    (handle, thread, written)
}

#[test]
fn a_batch_is_written_on_the_callers_thread_while_the_disk_thread_rests() {
    let (handle, thread, written) = idle_disk(9);
    let rest = || thread.lock().as_mut().map(|disk| disk.rest().expect("no failure"));
    assert!(rest().is_some_and(|left| left > WATERMARK_EVERY), "nothing is due");
    for number in 1..=2 {
        let persisted = handle.persist(&write(number, number..=number, 1, 0)).expect("it is free");
        assert_eq!(persisted.expect("it does not fail").number, number);
    }
    assert_eq!(written.try_iter().collect::<Vec<_>>(), [[1], [2]]);
    let busy = thread.lock();
    assert!(handle.persist(&write(3, 3..=3, 1, 0)).is_none(), "the disk thread is at work");
    drop(busy);
    // It was told once that there is a watermark to write.
    assert!(matches!(thread.commands.try_recv(), Ok(ToDisk::Look)));
    assert!(thread.commands.try_recv().is_err());
    assert!(rest().is_some_and(|due| due <= WATERMARK_EVERY));
}

#[test]
fn a_volatile_batch_waits_for_no_disk() {
    let volatile = |number| WriteBatch { is_volatile: true, ..write(number, number..=number, 1, 0) };
    let (handle, thread, written) = idle_disk(9);
    thread.lock().as_mut().expect("it is open").last_took = 2 * QUICK;
    let persisted = handle.persist(&volatile(1)).expect("it is free").expect("it does not fail");
    assert!(persisted.number == 1 && persisted.times.is_none(), "nothing was written: {persisted:?}");
    assert!(handle.persist(&write(2, 2..=2, 1, 0)).is_none(), "the next one has to be written");
    assert_eq!(written.try_iter().collect::<Vec<_>>(), [[LATER, 1]]);
    let is_soon = |disk: &Disk| disk.idle_until() <= disk.clock.elapsed() + WATERMARK_EVERY;
    assert!(thread.lock().as_ref().is_some_and(is_soon), "when it is written");
    // On its own thread likewise; what came with a batch that has to be written is written with it.
    handle.send(ToDisk::Persist(volatile(2)));
    handle.send(ToDisk::Cut { through: 1 });
    handle.send(ToDisk::Persist(volatile(3)));
    handle.send(ToDisk::Persist(write(4, 4..=4, 1, 0)));
    handle.send(ToDisk::Finish);
    thread.run().expect("it does not fail");
    assert_eq!(written.try_iter().collect::<Vec<_>>(), [vec![LATER, 2], vec![CUT, 1], vec![3, 4], vec![]]);
}

#[test]
fn a_slow_disk_is_left_to_its_thread() {
    let (handle, thread, _written) = idle_disk(9);
    thread.lock().as_mut().expect("it is open").last_took = 2 * QUICK;
    assert!(handle.persist(&write(1, 1..=1, 1, 0)).is_none());
}

#[test]
fn a_shortage_is_left_to_the_disk_thread_which_waits_for_its_end() {
    let (pages, written) = mpsc::channel();
    let (core, told) = mailbox(Clock::start());
    let notebook = Box::new(Notebook { pages, persists_left: 1, chores: Vec::new(), shortages: 2 });
    let (chores, _thread) = Chores::new();
    let (handle, thread) = Disk::start(notebook, core, Clock::start(), 0, false, chores);
    let short = write(1, 1..=1, 1, 0);
    assert!(handle.persist(&short).is_none(), "a shortage is no failure");
    assert_eq!(written.try_iter().count(), 0);
    handle.send(ToDisk::Persist(short));
    handle.send(ToDisk::Finish);
    thread.run().expect("it goes on when there is room");
    assert_eq!(written.try_iter().collect::<Vec<_>>(), [vec![1], vec![]]);
    assert!(matches!(told.try_recv(), Some(ToCore::Persisted(Persisted { number: 1, .. }))));
}

#[test]
fn nothing_is_written_after_a_failure_on_the_callers_thread() {
    let (handle, thread, written) = idle_disk(0);
    let failed = handle.persist(&write(1, 1..=1, 1, 0)).expect("it is free").expect_err("it fails");
    assert!(handle.persist(&write(2, 1..=1, 1, 0)).is_none());
    handle.send(ToDisk::Persist(write(2, 1..=1, 1, 0)));
    handle.send(ToDisk::Fail(failed));
    assert!(thread.run().is_err(), "its thread ends for that reason");
    assert_eq!(written.try_iter().count(), 0, "not even the watermark");
}

#[test]
fn nothing_is_written_after_a_panic_on_either_thread() {
    let mut disordered = write(1, 1..=2, 1, 0);
    disordered.batch.entries.reverse();
    let (handle, thread, written) = idle_disk(9);
    let caller = thread::spawn({
        let (handle, disordered) = (handle.clone(), disordered.clone());
        move || handle.persist(&disordered)
    });
    caller.join().expect_err("it panics");
    assert!(handle.persist(&write(1, 1..=1, 1, 0)).is_none());
    handle.send(ToDisk::Persist(write(1, 1..=1, 1, 0)));
    handle.send(ToDisk::Finish);
    thread.run().expect("it has nothing to write to");
    assert_eq!(written.try_iter().count(), 0, "not even the watermark");

    let (handle, thread, written) = idle_disk(9);
    handle.send(ToDisk::Persist(disordered));
    thread::spawn(|| thread.run()).join().expect_err("it panics");
    assert!(handle.persist(&write(1, 1..=1, 1, 0)).is_none());
    assert_eq!(written.try_iter().count(), 0);
}

#[test]
fn a_chore_is_looked_after_by_whoever_commits() {
    let (handle, thread, _written) = idle_disk(9);
    let with = |set: &dyn Fn(&mut Disk)| set(thread.lock().as_mut().expect("it is open"));
    let (results, done) = mpsc::channel();
    with(&|disk| disk.chores.is_busy = true);
    thread.lock().as_mut().expect("it is open").chores.results = done;
    assert!(handle.persist(&write(1, 1..=1, 1, 0)).expect("it is free").is_ok());
    results.send(Err(failure())).expect("the disk listens");
    assert!(
        handle.persist(&write(2, 2..=2, 1, 0)).expect("it is free").is_err(),
        "a chore that failed is the end"
    );
    assert!(thread.lock().is_none());
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
        write.batch.entries.iter_mut().for_each(|entry| entry.data = vec![0; MERGED_BYTES_MAX / 2].into());
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
    merge(&mut merged, WriteBatch { number: 4, since_us: 4, batch: nothing_new, is_volatile: false });
    let log: Vec<_> = merged.batch.entries.iter().map(|entry| (entry.index, entry.term)).collect();
    assert_eq!(log, [(5, 1), (6, 1), (7, 2), (8, 2), (9, 2)]);
    assert_eq!((merged.number, merged.since_us, merged.batch.commit), (4, 1, 9));
    assert_eq!(merged.batch.vote, Some(Vote { term: 2, vote: 1 }));
    merge(&mut merged, write(5, 3..=3, 3, 9));
    assert_eq!(merged.batch.entries.iter().map(|entry| entry.index).collect::<Vec<_>>(), [3]);
}

#[test]
fn a_shortage_is_not_waited_for_when_the_node_stops() {
    let (pages, written) = mpsc::channel();
    let (core, _told) = mailbox(Clock::start());
    let notebook = Box::new(Notebook { pages, persists_left: 1, chores: Vec::new(), shortages: usize::MAX });
    let (chores, _thread) = Chores::new();
    let (handle, thread) = Disk::start(notebook, core, Clock::start(), 0, false, chores);
    handle.send(ToDisk::Persist(write(1, 1..=1, 1, 0)));
    handle.wait_for_room_no_longer();
    let ended = thread.run();
    assert!(matches!(ended, Err(StorageError::Io { .. })), "{ended:?}");
    assert_eq!(written.try_iter().count(), 0);
}
