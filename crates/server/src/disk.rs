//! Writes the log, on the disk thread or on that of the core. The thread takes all waiting write batches, makes them
//! durable together, and tells the core. While it rests, the core may make a batch durable itself. The first write or sync
//! that fails is the last action of either. If space or descriptors run short before anything is written, the disk waits
//! for them.
//!
//! Long work goes to another thread, one [`Chore`] at a time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tracing::warn;

use super::clock::Clock;
use super::core::{BRIEF_BYTES_MAX, CoreMailbox, ToCore};
use super::stages::CommitTimes;
use adjourn_raft::Wanted;
use adjourn_replica::{Input, WriteBatch};
use adjourn_storage::{Chore, LogBase, Storage, StorageError};
pub(super) use watches::resident_bytes;
use watches::{MemoryWatch, SlowCommits, SpaceWatch};

mod watches;

/// Commands of the disk thread.
#[derive(Debug)]
pub(super) enum ToDisk {
    /// Make this durable.
    Persist(WriteBatch),
    /// Return the log's entry at this index.
    Base {
        /// Index of the entry.
        index: u64,
        /// Gets the entry.
        reply: Sender<LogBase>,
    },
    /// Read entries for another member, and send them to the core; none if they are not in the log any more.
    Fetch(Wanted),
    /// Drop the log up to this entry: a checkpoint contains it.
    Cut {
        /// The last entry to drop.
        through: u64,
    },
    /// Do what has become due.
    Look,
    /// End after the commands before: no more follow.
    Finish,
    /// The same, and the node ends for this reason.
    Fail(StorageError),
}

/// A report of what has become durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Persisted {
    /// The number of the last batch.
    pub(super) number: u64,
    /// How long the steps of the commit took, if entries were written.
    pub(super) times: Option<CommitTimes>,
}

/// Writes the log: on the disk thread, or on the thread of the core while that has nothing else to do.
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
    /// The duration of the last commit.
    last_took: Duration,
    /// True at a stop: then a shortage is an error.
    is_stopping: Arc<AtomicBool>,
}

/// Shared by both threads; empty after a failure or a panic, and at the end.
type SharedDisk = Arc<Mutex<Option<Disk>>>;

/// Runs the disk on its thread.
pub(super) struct DiskThread {
    disk: SharedDisk,
    commands: Receiver<ToDisk>,
}

/// A handle that sends commands to the disk thread, or uses the disk itself.
#[derive(Clone)]
pub(super) struct DiskHandle {
    disk: SharedDisk,
    commands: Sender<ToDisk>,
    is_stopping: Arc<AtomicBool>,
}

/// The disk thread's channel to the thread for chores.
pub(super) struct Chores {
    orders: Sender<Chore>,
    results: Receiver<Result<(), StorageError>>,
    is_busy: bool,
}

/// The other end of that channel.
pub(super) struct ChoreThread {
    orders: Receiver<Chore>,
    results: Sender<Result<(), StorageError>>,
}

impl Chores {
    /// Both ends; [run](ChoreThread::run) the second on a thread of its own.
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
/// A commit that takes longer is for the disk thread: waking it costs little in comparison, and the core goes on
/// meanwhile.
const QUICK: Duration = Duration::from_millis(1);
const WATERMARK_EVERY: Duration = Duration::from_millis(100);
/// While a chore is under way and there is nothing else to do, its result is checked this often.
const CHORE_CHECK_EVERY: Duration = Duration::from_millis(50);
const SPACE_CHECK_EVERY: Duration = Duration::from_secs(1);
/// After a shortage, the work is tried again after this time.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(500);
/// While the disk waits, it logs so this often.
const WAITING_LINE_EVERY: Duration = Duration::from_secs(10);

impl DiskHandle {
    /// Sends a command to the disk thread. If that is gone, it has failed and reports so itself.
    pub(super) fn send(&self, command: ToDisk) {
        let _ = self.commands.send(command);
    }

    /// The node stops: from here on a shortage ends it, since it may last for ever. Nothing that waits was acknowledged, but
    /// for what may be lost.
    pub(super) fn wait_for_room_no_longer(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Makes a batch durable on this thread, unless the disk is slow or has no space, or the disk thread is at work or has
    /// failed. A volatile one need not wait for the disk. The caller has no other batch under way.
    pub(super) fn persist(&self, write: &WriteBatch) -> Option<Result<Persisted, StorageError>> {
        let mut shared = self.disk.try_lock().ok()?;
        if shared.as_ref()?.last_took > QUICK && !write.is_volatile {
            return None;
        }
        let persisted = with_disk(&mut shared, |disk| {
            let persisted = match disk.persist(write) {
                // Left to the disk thread, which can wait.
                Err(StorageError::Passing(_)) => None,
                persisted => Some(persisted?),
            };
            if !write.is_volatile {
                disk.look_after_chores()?;
            }
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
            Some(mut disk) if served.is_ok() => disk.write_watermark(),
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

/// Uses the disk, if it is there. A failure or a panic removes it: nothing is written after either.
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
    /// Starts with `storage`. It reports to `core`, keeps `free_min_bytes` of the device free and, if `watch_memory`,
    /// reports the memory of the process. Returns a handle, and what to [run](DiskThread::run) on a thread of its own.
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

    /// Called when the disk thread has nothing to do. Returns how long it may rest, unless a command comes.
    fn rest(&mut self) -> Result<Duration, StorageError> {
        self.watch_space()?;
        self.wakes_at = self.idle_until();
        Ok(self.wakes_at.saturating_sub(self.clock.elapsed()))
    }

    /// Carries out a command that is not a batch, if there is one, then what has become due.
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

    /// Makes `first` and the batches after it durable, and returns the next command that is not a batch. Or installs
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

    /// Repeats work during a shortage, until the node stops: nothing was changed, and a full disk or a lack of descriptors
    /// passes. Meanwhile another member may lead.
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
                warn!(%error, "the log waits: there is no disk space for its next file");
                next_line = now + WAITING_LINE_EVERY;
            }
            thread::sleep(SHORTAGE_PAUSE);
            self.look_after_chores()?;
            self.watch_space()?;
        }
    }

    fn persist(&mut self, write: &WriteBatch) -> Result<Persisted, StorageError> {
        let begun = self.clock.elapsed();
        if write.is_volatile {
            self.storage.persist_later(write.batch.clone())?;
            self.watermark_due.get_or_insert(begun + WATERMARK_EVERY);
            return Ok(Persisted { number: write.number, times: None });
        }
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
                // A thread that panicked has reported it.
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
        let is_due = self.watermark_due.is_some_and(|due| due <= self.clock.elapsed());
        if is_due { self.write_watermark() } else { Ok(()) }
    }

    /// Writes the watermark, and what is to be written before it. That may be lost, so nothing waits for room for it: it is tried
    /// again.
    fn write_watermark(&mut self) -> Result<(), StorageError> {
        self.watermark_due = match self.storage.write_watermark() {
            Ok(()) => None,
            Err(StorageError::Passing(_)) => Some(self.clock.elapsed() + SHORTAGE_PAUSE),
            Err(error) => return Err(error),
        };
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

    /// The time until which there is nothing to do, unless a command comes.
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

/// Adds `later` to `merged`.
fn merge(merged: &mut WriteBatch, later: WriteBatch) {
    merged.number = later.number;
    merged.since_us = merged.since_us.min(later.since_us);
    merged.is_volatile &= later.is_volatile;
    merged.batch.add(later.batch);
}

#[cfg(test)]
mod tests;
