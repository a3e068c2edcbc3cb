//! Durable storage: the log in a journal with sled behind it, checkpoints, and the place of bodies.
//!
//! The server's disk drives a [`Storage`]. It has two implementations: [`disk`] on real files and sled, and
//! [`simulated`], a simulated disk in memory, which loses unsynced data, tears writes, flips bits, fails and fills up.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

mod archive;
pub mod audit;
pub mod backup;
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
pub use backup::{Backup, BackupOrigin, PinnedBackup, RestoreOptions};
pub use bodies::StoredRecord;
pub use checkpoint::{
    Checkpoint, CheckpointBegin, CheckpointJobs, CheckpointWriter, PageFile, Restored, SealedCheckpoint,
    Written, begin_capture,
};
pub use directory::CALL_BACKS;
pub use disk::{DirectoryLock, DiskStorage, OpenOptions};
pub use error::{BackupDamage, BackupPart, Damage, FileDamage, FilePart, StorageError, StorageErrorKind};
pub use inspect::{CheckpointReport, Inspection, inspect};
pub use journal::JournalSize;
pub use log::Chore;
pub use records::{ChunkState, Records, Walk};
pub use recover::{Alone, Salvage, UnreadableJob};
pub use simulated::{Fault, SimulatedDisk, SimulatedStorage};

/// What kind of entry Raft wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum EntryKind {
    /// An [`Entry`](crate::engine::Entry) of commands, or empty.
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

/// What a log begins after: an entry, named by all that the next one needs to continue it. A checkpoint keeps the
/// one that it stands for, so that the log can be cut up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogBase {
    /// Index of the entry; 0 before the first one.
    pub index: u64,
    /// Its term; 0 before the first one.
    pub term: u64,
    /// Checksum of it and of all entries before it; before the first one that of the cluster's id.
    pub crc: u32,
}

impl LogBase {
    /// That of a log which begins with entry 1, in the cluster that the data belongs to.
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
    /// Then the checkpoint of this index, which came from another member, takes the place of the one that was there, of the log
    /// up to its entry, and of all that conflicts with it. If the log has that entry, what follows it stays.
    pub install: Option<u64>,
    /// In rising order, without gaps. If the first one's index is not past the end of the log, the log is
    /// first cut back to just before it.
    pub entries: Vec<LogEntry>,
    /// The commit index that Raft knows now. With entries or a vote it is durable; alone it is if it has grown.
    pub commit: u64,
}

impl PersistBatch {
    /// How much data its entries hold.
    pub fn data_bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.data.len()).sum()
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

    /// Writes the watermark (last durable index, commit index) if it lags. The disk thread calls it at least
    /// every 100 ms while there is something new, and at a clean stop.
    fn write_watermark(&mut self) -> Result<(), StorageError>;

    /// The entry at `index`, as a checkpoint that stands for it keeps it. It is in the log, or is what the log begins
    /// after.
    fn base_at(&mut self, index: u64) -> Result<LogBase, StorageError>;

    /// Entries up to `through` and with it are not needed any more: their space is used again.
    ///
    /// The caller promises that a durable checkpoint stands at `through` or later, and opens with the newest one.
    /// `through` is not past the end of the log.
    fn cut(&mut self, through: u64) -> Result<(), StorageError>;

    /// Work that takes long and that commits need not wait for, if there is any and none is under way. It is to be
    /// [run](Chore::run) on another thread, and its result handed to [`chore_done`](Self::chore_done). If that is late, or never
    /// comes, commits take longer now and then.
    fn chore(&mut self) -> Option<Chore>;

    /// The work that was handed out is done, or failed.
    fn chore_done(&mut self, done: Result<(), StorageError>) -> Result<(), StorageError>;

    /// Hands the entries from `first` to the end to `visit`, in order, verifying each. Streams: memory stays
    /// bounded however long the log is. `first` is behind what the log begins after.
    fn replay(
        &mut self,
        first: u64,
        visit: &mut dyn FnMut(LogEntry) -> Result<(), StorageError>,
    ) -> Result<(), StorageError>;

    /// The entries from `first` on, up to `last` or the end of the log: the first one in any case, and no further one
    /// with which they would have more than `bytes_max` bytes of data. Each is verified. None if the first one is not
    /// in the log, or not any more.
    fn read(&mut self, first: u64, last: u64, bytes_max: u64) -> Result<Vec<LogEntry>, StorageError>;

    /// Free space on the device that holds the data, in bytes.
    fn free_bytes(&self) -> Result<u64, StorageError>;
}
