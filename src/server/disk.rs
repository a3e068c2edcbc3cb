//! What writes the log, and the disk thread. The thread takes all waiting write batches, makes them durable together, and
//! tells the core. While it rests, the core may make a batch durable itself. The first write or sync that fails is the last
//! action of either. A shortage of space or descriptors that shows before anything is written is waited for.
//!
//! What takes long goes to another thread, one [`Chore`] at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::warn;

use super::clock::Clock;
use super::core::{BRIEF_BYTES_MAX, CoreMailbox, ToCore};
use super::stages::CommitTimes;
use crate::raft::Wanted;
use crate::replica::{Input, WriteBatch};
use crate::storage::{Chore, LogBase, PersistBatch, Storage, StorageError};
pub(super) use watches::resident_bytes;
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
    /// See what has become due.
    Look,
    /// Everything asked for before is all there will be.
    Finish,
    /// As before, and the node ends for this reason.
    Fail(StorageError),
}

/// What has become durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Persisted {
    /// The number of the last batch.
    pub(super) number: u64,
    /// What the commit took, if entries were written.
    pub(super) times: Option<CommitTimes>,
}

/// What writes the log: on the disk thread, or on the thread of the core while that has nothing else to do.
pub(super) struct Disk {
    storage: Box<dyn Storage + Send>,
    core: CoreMailbox,
    clock: Clock,
    space: SpaceWatch,
    memory: MemoryWatch,
    /// When the watermark is to be written, if it lags.
    watermark_due: Option<Duration>,
    chores: Chores,
    slow: SlowCommits,
    /// When the disk thread wakes by itself.
    wakes_at: Duration,
    /// What the last commit took.
    last_took: Duration,
    /// No shortage is waited for any more.
    is_stopping: Arc<AtomicBool>,
}

/// Shared by both; empty after a failure or a panic, and at the end.
type Shared = Arc<Mutex<Option<Disk>>>;

/// The disk thread's end.
pub(super) struct DiskThread {
    disk: Shared,
    commands: Receiver<ToDisk>,
}

/// The way to the disk.
#[derive(Clone)]
pub(super) struct DiskHandle {
    disk: Shared,
    commands: Sender<ToDisk>,
    is_stopping: Arc<AtomicBool>,
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
/// A commit that takes longer is for the disk thread: to wake that costs little beside it, and the core goes on meanwhile.
const QUICK: Duration = Duration::from_millis(1);
const WATERMARK_EVERY: Duration = Duration::from_millis(100);
/// While there is nothing to do but a chore is under way: its result is waited for this long at a time.
const CHORE_CHECK_EVERY: Duration = Duration::from_millis(50);
const SPACE_CHECK_EVERY: Duration = Duration::from_secs(1);
/// What a shortage keeps from being done is tried again after this time.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(500);
/// The log of the process says this often that it waits.
const WAITING_LINE_EVERY: Duration = Duration::from_secs(10);

impl DiskHandle {
    /// Gives an order to the disk thread. One that is gone has failed, and says so itself.
    pub(super) fn send(&self, command: ToDisk) {
        let _ = self.commands.send(command);
    }

    /// The node stops: from here on a shortage ends it, since it may last for ever. What waits for room was not acknowledged.
    pub(super) fn wait_for_room_no_longer(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Makes a batch durable on this thread, unless the disk is slow or has no room, or the disk thread is at work or has failed.
    /// The caller has no other batch under way.
    pub(super) fn persist(&self, write: &WriteBatch) -> Option<Result<Persisted, StorageError>> {
        let mut shared = self.disk.try_lock().ok()?;
        if shared.as_ref()?.last_took > QUICK {
            return None;
        }
        let persisted = with_disk(&mut shared, |disk| {
            let persisted = match disk.persist(write) {
                // The disk thread can wait.
                Err(StorageError::Passing(_)) => None,
                persisted => Some(persisted?),
            };
            disk.look_after_chores()?;
            if disk.idle_until() < disk.wakes_at {
                disk.wakes_at = Duration::ZERO;
                self.send(ToDisk::Look);
            }
            Ok(persisted)
        });
        persisted.map(Option::flatten).transpose()
    }
}

impl DiskThread {
    /// Carries out commands until [`ToDisk::Finish`], the end of the channel or the first failure. The storage is
    /// closed when this returns.
    pub(super) fn run(self) -> Result<(), StorageError> {
        let served = self.serve();
        let disk = self.lock().take();
        match disk {
            Some(mut disk) if served.is_ok() => disk.storage.write_watermark(),
            _ => served,
        }
    }

    fn serve(&self) -> Result<(), StorageError> {
        loop {
            let idle_time = with_disk(&mut self.lock(), Disk::rest)?.unwrap_or(Duration::MAX);
            let mut next = match self.commands.recv_timeout(idle_time) {
                Ok(command) => Some(command),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => None,
            };
            let mut shared = self.lock();
            while let Some(ToDisk::Persist(write)) = next {
                next = with_disk(&mut shared, |disk| disk.persist_all(write, &self.commands))?.flatten();
            }
            match next {
                Some(ToDisk::Finish) => return Ok(()),
                Some(ToDisk::Fail(error)) => return Err(error),
                command => with_disk(&mut shared, |disk| disk.carry_out(command))?,
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Disk>> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works with the disk, if it is there. After a failure or a panic it is gone: nothing is written after either.
fn with_disk<T>(
    shared: &mut Option<Disk>,
    work: impl FnOnce(&mut Disk) -> Result<T, StorageError>,
) -> Result<Option<T>, StorageError> {
    let Some(mut disk) = shared.take() else { return Ok(None) };
    let done = work(&mut disk)?;
    *shared = Some(disk);
    Ok(Some(done))
}

impl Disk {
    /// Over `storage`. It reports to `core`, keeps `free_min_bytes` of the device free, and if `watch_memory`, tells how
    /// much the process takes. Returns the way to it, and what is to [run](DiskThread::run) on a thread of its own.
    pub(super) fn start(
        storage: Box<dyn Storage + Send>,
        core: CoreMailbox,
        clock: Clock,
        free_min_bytes: u64,
        watch_memory: bool,
        chores: Chores,
    ) -> (DiskHandle, DiskThread) {
        let now = clock.elapsed();
        let (memory, space) = (MemoryWatch::new(watch_memory, now), SpaceWatch::new(free_min_bytes, now));
        let slow = SlowCommits::default();
        let is_stopping = Arc::new(AtomicBool::new(false));
        let disk = Self {
            storage,
            core,
            clock,
            space,
            memory,
            watermark_due: None,
            chores,
            slow,
            wakes_at: Duration::ZERO,
            last_took: Duration::ZERO,
            is_stopping: Arc::clone(&is_stopping),
        };
        let disk = Arc::new(Mutex::new(Some(disk)));
        let (commands, receiver) = mpsc::channel();
        (
            DiskHandle { disk: Arc::clone(&disk), commands, is_stopping },
            DiskThread { disk, commands: receiver },
        )
    }

    /// The disk thread has nothing to do. Returns for how long, unless a command comes.
    fn rest(&mut self) -> Result<Duration, StorageError> {
        self.watch_space()?;
        self.wakes_at = self.idle_until();
        Ok(self.wakes_at.saturating_sub(self.clock.elapsed()))
    }

    /// Carries out a command that is no batch, if there is one, then what has become due.
    fn carry_out(&mut self, command: Option<ToDisk>) -> Result<(), StorageError> {
        match command {
            Some(ToDisk::Fetch(Wanted { first, last, bytes_max })) => {
                let entries = self.patiently(|disk| disk.storage.read(first, last, bytes_max))?;
                self.tell(Input::Fetched { entries });
            }
            Some(ToDisk::Base { index, reply }) => {
                // The receiver may have ended meanwhile.
                let _ = reply.send(self.patiently(|disk| disk.storage.base_at(index))?);
            }
            Some(ToDisk::Cut { through }) => self.storage.cut(through)?,
            _ => {}
        }
        self.write_watermark_if_due()?;
        self.look_after_chores()?;
        if let Some(resident_bytes) = self.memory.measure(self.clock.elapsed()) {
            self.tell(Input::Memory { resident_bytes });
        }
        Ok(())
    }

    /// Makes `first` and the batches after it durable, and returns the next command that is no batch. Or installs
    /// a checkpoint, which replaces the batches before it.
    fn persist_all(
        &mut self,
        first: WriteBatch,
        commands: &Receiver<ToDisk>,
    ) -> Result<Option<ToDisk>, StorageError> {
        let mut merged = first;
        let mut bytes = merged.batch.data_bytes();
        let mut other = None;
        while bytes < MERGED_BYTES_MAX && other.is_none() {
            match commands.try_recv() {
                Ok(ToDisk::Persist(write)) if write.batch.install.is_none() => {
                    bytes += write.batch.data_bytes();
                    merge(&mut merged, write);
                }
                Ok(command) => other = Some(command),
                Err(_) => break,
            }
        }
        let persisted = ToCore::Persisted(self.patiently(|disk| disk.persist(&merged))?);
        // If the core is gone, no one waits for an answer.
        let _ = if bytes <= BRIEF_BYTES_MAX {
            self.core.send_brief(persisted)
        } else {
            self.core.send(persisted)
        };
        Ok(other)
    }

    /// Repeats what a shortage keeps from being done, until the node stops: nothing was changed, and a full disk or a lack of
    /// descriptors passes. Others lead meanwhile, if there are others.
    fn patiently<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let mut next_line = Duration::ZERO;
        loop {
            let error = match work(self) {
                Err(StorageError::Passing(error)) => error,
                done => return done,
            };
            if self.core.is_closed() || self.is_stopping.load(Ordering::Relaxed) {
                return Err(*error);
            }
            let now = self.clock.elapsed();
            if now >= next_line {
                warn!(%error, "the log waits: it needs a file, and finds no room for it");
                next_line = now + WAITING_LINE_EVERY;
            }
            thread::sleep(SHORTAGE_PAUSE);
            self.look_after_chores()?;
            self.watch_space()?;
        }
    }

    fn persist(&mut self, write: &WriteBatch) -> Result<Persisted, StorageError> {
        let begun = self.clock.elapsed();
        self.storage.persist(&write.batch)?;
        let ended = self.clock.elapsed();
        let took = ended.saturating_sub(begun);
        self.last_took = took;
        self.slow.note(ended, took, write.batch.data_bytes());
        self.watermark_due.get_or_insert(ended + WATERMARK_EVERY);
        let waited = begun.saturating_sub(Duration::from_micros(write.since_us));
        let times = (!write.batch.entries.is_empty()).then_some(CommitTimes { waited, took });
        Ok(Persisted { number: write.number, times })
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

    /// Until when there is nothing to do unless a command comes.
    fn idle_until(&self) -> Duration {
        let check = if self.space.free_min_bytes == 0 { Duration::MAX } else { self.space.next_check };
        let check = check.min(self.memory.next_when_idle());
        let due = self.watermark_due.map_or(check, |due| due.min(check));
        if self.chores.is_busy { due.min(self.clock.elapsed() + CHORE_CHECK_EVERY) } else { due }
    }

    fn tell(&self, input: Input) {
        // As above.
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

#[cfg(test)]
mod tests;
