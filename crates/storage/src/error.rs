//! Errors of the data directory, distinguished by what the operator has to do.
//!
//! The text of an error is all that an operator sees at three in the morning: it says what failed, where, and what
//! to do. [`StorageError::kind`] sorts the errors for callers that only need to know which kind of help is needed.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io;
use std::path::{Path, PathBuf};

use shortage::{after, is_of_process};

use super::chunks::{self, ChunkSummary, PagesId, TopicSummary};
use super::journal::layout::RecordError;
use adjourn_engine::StateMetadata;
use adjourn_types::TopicName;

mod shortage;

/// The text of an error names at most this many topics of a chunk.
const TOPICS_TOLD_MAX: usize = 8;

/// What the operator has to do about a [`StorageError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageErrorKind {
    /// Name another directory, another node or use another binary: nothing is wrong with the data.
    Unusable,
    /// Restore, or accept a loss: some acknowledged data is missing.
    Damaged,
    /// Look after the disk: the system refused an operation.
    DiskFailed,
    /// Allow the process more file descriptors, or memory: the disk is as it was.
    Shortage,
}

/// Why storage could not do what it was asked to. After one that [`Storage`](super::Storage) returned, nothing
/// more may be asked of it, unless it is [`Passing`](Self::Passing).
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// An operation of the file system failed.
    #[error("cannot {action} {}: {source}. {}", path.display(), after(source))]
    Io {
        /// The failed operation: "open", "write", "sync"...
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// There is no room left.
    #[error(
        "cannot {action} {}: the disk is full. Free some space: everything that was acknowledged is safe",
        path.display()
    )]
    DiskFull {
        /// The failed operation.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
    },
    /// A resource ran short before anything was changed: the same may be asked again.
    #[error(transparent)]
    Passing(Box<StorageError>),
    /// A write or a sync failed before; it is unknown which writes the system has dropped since.
    #[error("an earlier write to {} failed, so nothing more is written. Start again", path.display())]
    FailedBefore {
        /// The data directory.
        path: PathBuf,
    },
    /// Another process has the directory.
    #[error("{} is in use by {}: stop it, or use another directory", path.display(), holder(*pid))]
    InUse {
        /// The data directory.
        path: PathBuf,
        /// The process that has it, if it said so.
        pid: Option<u32>,
    },
    /// The directory belongs to another node.
    #[error(
        "{} has the data of node {found}, but this is node {expected}: each node needs its own directory",
        path.display()
    )]
    OtherNode {
        /// The data directory.
        path: PathBuf,
        /// The number of this node.
        expected: u64,
        /// The node whose data it is.
        found: u64,
    },
    /// A later version wrote it.
    #[error(
        "{} has format {found}, and this binary supports formats up to {known}: use a newer one",
        path.display()
    )]
    NewerFormat {
        /// The data directory, or a file in it.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that this binary knows.
        known: u32,
    },
    /// The directory holds foreign files.
    #[error(
        "{} is not a data directory: it contains {}. Name an empty directory, or one that does not exist",
        path.display(), entry.display()
    )]
    NotADataDirectory {
        /// The path given as the data directory.
        path: PathBuf,
        /// Something in it that is not ours.
        entry: PathBuf,
    },
    /// The path is a file.
    #[error("{} is not a directory: name an empty directory, or one that does not exist", path.display())]
    NotADirectory {
        /// The path given as the data directory.
        path: PathBuf,
    },
    /// There is nothing to recover or to read.
    #[error("there is no data in {}: name the directory of a node that has run", path.display())]
    NoData {
        /// The path given as the data directory.
        path: PathBuf,
    },
    /// The end of the log is gone.
    #[error(
        "the log in {0} ends at index {last}, but had been durable up to index {durable}: its end is lost. Restore \
         the directory from a backup; or `adjourn recover --data {0} --yes` continues with what is there, and the \
         jobs of the entries after {last} are lost",
        path.display()
    )]
    ShortLog {
        /// The data directory.
        path: PathBuf,
        /// The last index that is there.
        last: u64,
        /// The index that the watermark names.
        durable: u64,
    },
    /// Another member knows of entries that were durable here and are missing now.
    #[error(
        "this disk has lost what was acknowledged: the leader knows that this node had the log up to entry {known}, and it \
         ends at {last}. Remove this node from the cluster, and add one under another number with an empty data directory"
    )]
    LostAcknowledged {
        /// The last entry that it is known to have had.
        known: u64,
        /// The last one that is there.
        last: u64,
    },
    /// The cluster uses features that this node does not support.
    #[error(
        "the cluster is at feature level {level}, and this node goes up to {level_max}: give it the binary that the others \
         run, and leave feature_level_max out of its configuration"
    )]
    FeatureLevel {
        /// The level of the cluster.
        level: u32,
        /// The maximum level of this node.
        level_max: u32,
    },
    /// Data is not what was written.
    #[error("the data in {0} is damaged: {damage}. {1}", path.display(), damage.advice(path))]
    Damaged {
        /// The data directory.
        path: PathBuf,
        /// The kind of damage, and its place.
        damage: Damage,
    },
    /// A directory that must be empty is not.
    #[error(
        "{} is not empty: it contains {}. Name an empty directory, or one that does not exist",
        path.display(), entry.display()
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
        /// Something in it.
        entry: PathBuf,
    },
    /// There is no file of this name.
    #[error("there is no backup {}: name a file that `adjourn backup create` wrote", path.display())]
    NoBackup {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a backup of Adjourn: name a file that `adjourn backup create` wrote", path.display())]
    NotABackup {
        /// The file.
        path: PathBuf,
    },
    /// A backup is damaged.
    #[error("the backup {} is damaged at byte {at}: {damage}. Use another backup", path.display())]
    DamagedBackup {
        /// The file.
        path: PathBuf,
        /// The damaged byte, or the beginning of the damaged part.
        at: u64,
        /// The kind of damage, and its place.
        damage: BackupDamage,
    },
}

/// The kind of damage to a backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupDamage {
    /// It is cut short.
    #[error("it ends there, but should have {expected} bytes")]
    Short {
        /// Its length by its header, or the length of a header if that is cut short.
        expected: u64,
    },
    /// There are bytes after its end.
    #[error("it should end there")]
    Long,
    /// A part of it is damaged.
    #[error("its {0} was changed")]
    Part(BackupPart),
    /// One of the files in it is damaged.
    #[error("{0}")]
    File(Box<Damage>),
}

/// A part of a backup beside the files in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupPart {
    /// Its beginning: without it, it is no backup at all.
    Header,
    /// The list of its files.
    Table,
    /// The manifest.
    Manifest,
    /// Its end, with the hash of the whole.
    Footer,
}

impl fmt::Display for BackupPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Header => "header",
            Self::Table => "table of files",
            Self::Manifest => "manifest",
            Self::Footer => "footer",
        })
    }
}

/// The damaged part of a log or a file. Indices are those of log entries.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// There is a log or a folder of checkpoints, but no identity.
    #[error("its identity file is missing")]
    IdentityMissing,
    /// The identity does not decode.
    #[error("its identity file cannot be read")]
    Identity,
    /// There is an identity, but no log.
    #[error("the log is missing")]
    LogMissing,
    /// sled does not open or read its files.
    #[error("the log's files cannot be read ({})", what_sled_says(.0))]
    Files(sled::Error),
    /// sled panicked at its files.
    #[error("the log's files contradict each other")]
    FilesPanicked,
    /// A record of the log is damaged.
    #[error("the record of log entry {index}: {source}")]
    Record {
        /// The entry that should be in it, or after it.
        index: u64,
        /// The kind of damage.
        source: RecordError,
    },
    /// The last records of the log are missing; they had no entries.
    #[error("the last records of the log are missing")]
    Tail,
    /// An archived part of the log reads back with other bytes.
    #[error("a copied part of the log differs from what was written: the disk or the memory may be failing")]
    Copy,
    /// The log has another entry at the index of the checkpoint.
    #[error("log entry {index} is not the one with which the checkpoint ends")]
    Replaced {
        /// Index of the entry.
        index: u64,
    },
    /// An entry is missing between others.
    #[error("log entry {index} is missing, but later ones exist")]
    Hole {
        /// Index of the missing entry.
        index: u64,
    },
    /// The fetched checkpoint is not the one to be installed.
    #[error("the checkpoint at entry {wanted} was to be installed, and {}", what_is_incoming(*found))]
    Incoming {
        /// The entry that it stands for.
        wanted: u64,
        /// The entry of the fetched checkpoint; `None` if there is none.
        found: Option<u64>,
    },
    /// A restore into this directory was not finished.
    #[error("`adjourn restore` did not finish")]
    RestoreUnfinished,
    /// A chunk is damaged.
    #[error("{name} {damage}. {}", jobs_in(summary, topics), name = chunks::chunk_name(summary.number))]
    Chunk {
        /// The expected content of the chunk.
        summary: Box<ChunkSummary>,
        /// The names of its topics by number, as far as they are known.
        topics: BTreeMap<u32, TopicName>,
        /// The kind of damage, and its place.
        damage: FileDamage,
    },
    /// A page file is damaged.
    #[error(
        "{name} {damage}. It tells the state of {entries} jobs that do not wait for long: ready, reserved, buried, or due soon",
        name = chunks::pages_name(*id)
    )]
    Pages {
        /// The file.
        id: PagesId,
        /// Jobs in it.
        entries: u64,
        /// The kind of damage, and its place.
        damage: FileDamage,
    },
    /// The files of the checkpoint do not form a valid state.
    #[error("the checkpoint cannot be loaded: {0}")]
    State(adjourn_engine::RestoreError),
    /// The manifest is damaged.
    #[error("{name} {0}. It lists the files of the checkpoint", name = chunks::MANIFEST)]
    Manifest(FileDamage),
}

/// The kind of damage to a file of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileDamage {
    /// There is no file of this name.
    #[error("is missing")]
    Missing,
    /// It is cut short.
    #[error("is cut short: it has {found} bytes of {expected}")]
    Short {
        /// Its length in bytes.
        found: u64,
        /// Its expected length in bytes.
        expected: u64,
    },
    /// It is intact, but another file.
    #[error("is not the file that was written under this name")]
    Other,
    /// A part of it is damaged.
    #[error("is damaged: its {part} at byte {at} was changed")]
    Bytes {
        /// The damaged part.
        part: FilePart,
        /// Where the part begins.
        at: u64,
    },
    /// Each part is valid, but the whole file has another hash than the one written.
    #[error("is damaged: its hash is wrong")]
    Hash,
    /// A row or an entry is intact, but not what it should be.
    #[error("is damaged: row {row} is not a job")]
    Row {
        /// Number of the row; in a page file, of the entry.
        row: u64,
    },
    /// A reference points to a row that it does not have.
    #[error("has no row {row}, where a job should be")]
    NoRow {
        /// Number of the missing row.
        row: u32,
    },
}

/// A part of a file of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePart {
    /// Its beginning.
    Header,
    /// Rows or entries.
    Block,
    /// Where the blocks are.
    Directory,
    /// Which job is in which row.
    Index,
    /// The rows and due times by topic.
    Summary,
    /// The content of the manifest.
    Payload,
    /// Its end.
    Footer,
}

impl fmt::Display for FilePart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Header => "header",
            Self::Block => "block",
            Self::Directory => "directory",
            Self::Index => "index",
            Self::Summary => "summary",
            Self::Payload => "payload",
            Self::Footer => "footer",
        })
    }
}

impl StorageError {
    /// What the operator has to do.
    pub fn kind(&self) -> StorageErrorKind {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                StorageErrorKind::Unusable
            }
            Self::Io { source, .. } if is_of_process(source) => StorageErrorKind::Shortage,
            Self::Passing(error) => error.kind(),
            Self::Io { .. } | Self::DiskFull { .. } | Self::FailedBefore { .. } => {
                StorageErrorKind::DiskFailed
            }
            Self::InUse { .. }
            | Self::OtherNode { .. }
            | Self::NewerFormat { .. }
            | Self::NotADataDirectory { .. }
            | Self::NotADirectory { .. }
            | Self::NoData { .. }
            | Self::FeatureLevel { .. }
            | Self::NotEmpty { .. }
            | Self::NoBackup { .. }
            | Self::NotABackup { .. } => StorageErrorKind::Unusable,
            Self::ShortLog { .. }
            | Self::LostAcknowledged { .. }
            | Self::Damaged { .. }
            | Self::DamagedBackup { .. } => StorageErrorKind::Damaged,
        }
    }

    /// True if it says that a part of a checkpoint cannot be read: another member may have that.
    pub fn is_unreadable(&self) -> bool {
        match self {
            Self::Io { action, .. } => *action == "read" && !self.is_shortage(),
            Self::Damaged { .. } => true,
            _ => false,
        }
    }

    /// True if this is the error of a truncated log that was opened without its checkpoint.
    pub(super) fn is_of_cut_log(&self) -> bool {
        match self {
            Self::Damaged { damage, .. } => matches!(damage, Damage::Hole { index: 1 } | Damage::LogMissing),
            Self::ShortLog { last, .. } => *last == 0,
            _ => false,
        }
    }

    /// Adds the names of topics, if it is about a chunk of a checkpoint with this metadata.
    pub(super) fn with_topics(mut self, metadata: &[u8]) -> Self {
        if let Self::Damaged { damage: Damage::Chunk { summary, topics, .. }, .. } = &mut self
            && let Ok(metadata) = StateMetadata::decode(metadata)
        {
            let names = metadata.topics().map(|topic| (topic.id.0, topic.name));
            let is_in = |number: u32| summary.topics.iter().any(|topic| topic.topic == number);
            topics.extend(names.filter(|(number, _)| is_in(*number)));
        }
        self
    }

    /// A sync failed. A full disk makes no difference: it is unknown which earlier writes are durable.
    pub(super) fn sync(path: &Path, source: io::Error) -> Self {
        Self::Io { action: "sync", path: path.to_owned(), source }
    }

    /// Converts an error of the system: a full disk is a case of its own.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { action, path },
            _ => Self::Io { action, path, source },
        }
    }
}

impl Damage {
    fn advice(&self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::IdentityMissing | Self::Identity | Self::Pages { .. } | Self::Manifest(_)
            | Self::State(_) => "Restore the directory from a backup".to_owned(),
            Self::Record { source: RecordError::Version(_), .. } => "Use a newer binary".to_owned(),
            Self::Copy => "Start again: the log itself is whole".to_owned(),
            Self::Incoming { .. } => "Start again: the node fetches it again".to_owned(),
            Self::RestoreUnfinished => {
                format!("Run it again with `--data {path}`: it begins anew")
            }
            Self::Chunk { .. } => {
                "Put a copy of this file back, if there is one: it never changes after it was written. Or restore the \
                 directory from a backup"
                    .to_owned()
            }
            _ => format!(
                "Restore the directory from a backup; or `adjourn recover --data {path}` says what could be kept"
            ),
        }
    }
}

/// The text of sled's error, without its backtrace, which is always empty.
fn what_sled_says(error: &sled::Error) -> String {
    match error {
        sled::Error::Corruption { at: Some(at), .. } => format!("sled finds damage at {at:?}"),
        sled::Error::Corruption { .. } => "sled finds damage".to_owned(),
        other => other.to_string(),
    }
}

/// The jobs that are lost with a chunk, by its summary: some of them may be done.
fn jobs_in(summary: &ChunkSummary, names: &BTreeMap<u32, TopicName>) -> String {
    let mut text = format!("It holds up to {} jobs", summary.rows);
    for (nth, TopicSummary { topic, rows, first_at, last_at }) in summary.topics.iter().enumerate() {
        if nth == TOPICS_TOLD_MAX {
            _ = write!(text, "; and {} more topics", summary.topics.len() - nth);
            break;
        }
        let before = if nth == 0 { ": " } else { "; " };
        let topic = names.get(topic).map_or_else(|| format!("{topic}"), TopicName::to_string);
        _ = write!(text, "{before}{rows} of topic {topic}, due from {first_at} to {last_at}");
    }
    text + " (ms since 1970)"
}

fn what_is_incoming(found: Option<u64>) -> String {
    found.map_or_else(|| "none is there".to_owned(), |index| format!("one at entry {index} is there"))
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}
