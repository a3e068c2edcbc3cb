//! Durable storage: the log in a journal with sled behind it, checkpoints, and the place of bodies.
//!
//! The server's disk drives a [`Storage`]. It has two implementations: [`disk`] on real files and sled, and
//! [`simulated`], a simulated disk in memory, which loses unsynced data, tears writes, flips bits, fails and fills up.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

mod archive;
pub mod audit;
pub mod backup;
pub mod backup_file;
mod bodies;
mod changeover;
pub mod checkpoint;
pub mod chunks;
mod directory;
mod durable;
mod identity;
pub mod journal;
mod lock;
mod log;
pub mod sync;

pub mod disk;
/// Why storage could not do what it was asked to. Every variant but one ends the process or the start.
pub mod error;
pub mod folder;
pub mod inspect;
pub mod records;
pub mod recover;
pub mod simulated;

pub use audit::Depth;
pub use backup::{Backup, RestoreOptions};
pub use backup_file::{BackupOrigin, PinnedBackup};
pub use bodies::StoredRecord;
pub use checkpoint::{
    Checkpoint, CheckpointBegin, CheckpointJobs, CheckpointWriter, PageFile, Restored, SealedCheckpoint,
    Written, begin_capture,
};
pub use directory::CALL_BACKS;
pub use disk::{DirectoryLock, DiskStorage, OpenOptions};
pub use error::{BackupDamage, BackupPart, Damage, FileDamage, FilePart, StorageError, StorageErrorKind};
pub use folder::Fault;
pub use inspect::{CheckpointReport, Inspection, inspect};
pub use journal::JournalSize;
pub use log::Chore;
pub use records::{ChunkState, Records, Walk};
pub use recover::{Alone, Salvage, UnreadableJob};
pub use simulated::{SimulatedDisk, SimulatedStorage};

/// The kind of a Raft entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// An [`Entry`](adjourn_engine::Entry) of commands, or empty.
    Normal = 0,
    /// A change of membership.
    ConfChange = 1,
}

/// One entry of the Raft log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Its place, from 1, without gaps.
    pub index: u64,
    /// The term in which it was proposed.
    pub term: u64,
    /// How to read `data`.
    pub kind: EntryKind,
    /// The encoded entry; empty for the one that a new leader appends.
    pub data: Bytes,
}

/// The entry after which a log begins, with everything that the next entry needs to continue it. A checkpoint has the
/// one at its index, so that the log can be truncated up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogBase {
    /// Index of the entry; 0 before the first one.
    pub index: u64,
    /// Its term; 0 before the first one.
    pub term: u64,
    /// Checksum of this entry and of all before it; before the first one that of the cluster's id.
    pub crc: u32,
}

impl LogBase {
    /// The base of a log that begins with entry 1, in this cluster.
    pub fn root(cluster_id: [u8; 16]) -> Self {
        Self { index: 0, term: 0, crc: crc32c::crc32c(&cluster_id) }
    }
}

/// Term and vote: must be durable before the message or the entry that depends on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vote {
    /// The newest term seen.
    pub term: u64,
    /// The node that this node voted for in it; 0 for none.
    pub vote: u64,
}

/// One commit to disk: everything in it is durable when [`Storage::persist`] returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PersistBatch {
    /// Durable before or with the entries, when it changed.
    pub vote: Option<Vote>,
    /// Installs the checkpoint of this index, which came from another member. It replaces the present checkpoint, the log
    /// up to its entry, and everything that conflicts with it. If the log has that entry, the entries after it stay.
    pub install: Option<u64>,
    /// In ascending order, without gaps. If the first one's index is not past the end of the log, the log is
    /// first truncated just before it.
    pub entries: Vec<LogEntry>,
    /// The commit index that Raft knows now. It becomes durable with entries or a vote, or alone if it has grown.
    pub commit: u64,
}

impl PersistBatch {
    /// Bytes of data in its entries.
    pub fn data_bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.data.len()).sum()
    }

    /// Adds a later batch, which installs nothing: making the result durable has the same effect as both in turn.
    pub fn add(&mut self, later: Self) {
        let Self { vote, install, entries, commit } = later;
        debug_assert!(install.is_none(), "what is installed is never added to what comes before");
        self.vote = vote.or(self.vote);
        self.commit = self.commit.max(commit);
        if let Some(first) = entries.first() {
            // The later batch may truncate the log: entries that it overwrites need not be written.
            let kept = self.entries.partition_point(|entry| entry.index < first.index);
            self.entries.truncate(kept);
        }
        self.entries.extend(entries);
    }
}

/// The state found when a data directory was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Term and vote.
    pub vote: Vote,
    /// A lower bound of the commit index: at least the checkpoint's entry, at most `last_index`.
    pub commit: u64,
    /// Where [`Storage::replay`] begins: after the checkpoint; 1 without one. Entries before it may still be on the
    /// disk; they are not needed.
    pub first_index: u64,
    /// Index of the last entry. If the log is empty, that of the checkpoint; 0 without one.
    pub last_index: u64,
    /// Term of the last entry. If the log is empty, that of the checkpoint; 0 without one.
    pub last_term: u64,
}

/// The durable state of one group on one node.
pub trait Storage {
    /// Makes a batch durable. After an error nothing more may be written, and the process ends; but after
    /// [`StorageError::Passing`] the caller may try the same batch again, and nothing else before it.
    fn persist(&mut self, batch: &PersistBatch) -> Result<(), StorageError>;

    /// Takes a batch that a crash may lose: it becomes durable with the next one, or before the watermark is written, or
    /// before [`base_at`](Self::base_at) or [`read`](Self::read) look at the log, or at once if many entries wait. It has no vote,
    /// and installs nothing. Errors are those of [`persist`](Self::persist), and the batch is kept.
    fn persist_later(&mut self, batch: PersistBatch) -> Result<(), StorageError>;

    /// Writes what waits, then the watermark (last durable index, commit index) if it lags. Without room for the first it still
    /// does the second, and returns [`StorageError::Passing`]. The disk thread calls it at least
    /// every 100 ms while there is something new, and at a clean stop.
    fn write_watermark(&mut self) -> Result<(), StorageError>;

    /// The entry at `index`, in the form that a checkpoint stores. It is in the log, or the log begins after it.
    fn base_at(&mut self, index: u64) -> Result<LogBase, StorageError>;

    /// Drops the entries up to and including `through`: their space is reused.
    ///
    /// The caller promises that a durable checkpoint stands at `through` or later, and opens with the newest one.
    /// `through` is not past what is durable.
    fn cut(&mut self, through: u64) -> Result<(), StorageError>;

    /// Long work that commits need not wait for, if there is any and none is under way. [Run](Chore::run) it on another
    /// thread, and hand its result to [`chore_done`](Self::chore_done). If that is late, or never comes, commits take
    /// longer now and then.
    fn chore(&mut self) -> Option<Chore>;

    /// Takes the result of the chore.
    fn chore_done(&mut self, done: Result<(), StorageError>) -> Result<(), StorageError>;

    /// Calls `visit` with the entries from `first` to the end, in order, verifying each. Streams: memory stays
    /// bounded however long the log is. `first` is after the base of the log.
    fn replay(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;

    /// The entries from `first` to `last` or to the end of the log, with at most `bytes_max` bytes of data, but
    /// always the first one. Each is verified. Empty if the first one is not in the log.
    fn read(&mut self, first: u64, last: u64, bytes_max: u64) -> Result<Vec<LogEntry>, StorageError>;

    /// Free space on the device that holds the data, in bytes.
    fn free_bytes(&self) -> Result<u64, StorageError>;
}
