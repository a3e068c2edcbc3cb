//! What can go wrong with the data directory, told apart by what the operator has to do.
//!
//! The text of an error is all that somebody sees at three in the morning: it says what is wrong, where, and what
//! to do. [`StorageError::kind`] sorts the errors for those who only need to know which kind of help to call.

use std::io;
use std::path::{Path, PathBuf};

use super::value::ValueError;

/// What the operator has to do about a [`StorageError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageErrorKind {
    /// Name another directory, another node or use another binary: nothing is wrong with the data.
    Unusable,
    /// Restore, or accept a loss: what was acknowledged is not all there.
    Damaged,
    /// Look after the disk: the system refused an operation.
    DiskFailed,
}

/// Why storage could not do what it was asked to. After one that [`Storage`](super::Storage) returned, nothing
/// more may be asked of it.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// An operation of the file system failed.
    #[error("cannot {action} {}: {source}. Look at the disk and at the permissions, then start again", path.display())]
    Io {
        /// What was tried: "open", "write", "sync"...
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no room left.
    #[error(
        "cannot {action} {}: the disk is full. Free some space and start again: what was acknowledged is there",
        path.display()
    )]
    DiskFull {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
    },
    /// A write or a sync failed before; nobody knows what the system has dropped since.
    #[error("a write to {} failed earlier: nothing more is written. Start again", path.display())]
    FailedBefore {
        /// The data directory.
        path: PathBuf,
    },
    /// Another process has the directory.
    #[error("{} is in use by {}: stop it, or give this node another directory", path.display(), holder(*pid))]
    InUse {
        /// The data directory.
        path: PathBuf,
        /// The process that has it, if it said so.
        pid: Option<u32>,
    },
    /// The directory belongs to another node.
    #[error(
        "{} holds the data of node {found}, this is node {expected}: give each node its own directory",
        path.display()
    )]
    OtherNode {
        /// The data directory.
        path: PathBuf,
        /// Who this is.
        expected: u64,
        /// Whose data it is.
        found: u64,
    },
    /// Written by a version that came later.
    #[error(
        "{} was written in format {found}, this binary knows formats up to {known}: use a newer one",
        path.display()
    )]
    NewerFormat {
        /// The data directory.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest that this binary knows.
        known: u32,
    },
    /// Something else lives there.
    #[error(
        "{} is no data directory: it holds {}. Name an empty directory, or one that does not exist yet",
        path.display(), entry.display()
    )]
    NotADataDirectory {
        /// What was given as the data directory.
        path: PathBuf,
        /// Something in it that is not ours.
        entry: PathBuf,
    },
    /// It is a file.
    #[error("{} is no directory: name an empty directory, or one that does not exist yet", path.display())]
    NotADirectory {
        /// What was given as the data directory.
        path: PathBuf,
    },
    /// There is nothing to recover or to read.
    #[error("there is no data in {}: name the directory of a node that has run", path.display())]
    NoData {
        /// What was given as the data directory.
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
    /// Something that was written is not there as it was written.
    #[error("the data in {0} is damaged: {damage}. {1}", path.display(), damage.advice(path))]
    Damaged {
        /// The data directory.
        path: PathBuf,
        /// What was found.
        damage: Damage,
    },
}

/// What is damaged. Indices are those of log entries.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// There are a log or its small files, and no identity.
    #[error("its identity file is missing")]
    IdentityMissing,
    /// The identity does not decode.
    #[error("its identity file cannot be read")]
    Identity,
    /// Neither slot of the vote file is valid.
    #[error("both copies in its vote file are bad")]
    Vote,
    /// Neither slot of the watermark file is valid.
    #[error("both copies in its watermark file are bad")]
    Watermark,
    /// There is an identity and no log.
    #[error("the log is missing")]
    LogMissing,
    /// sled does not open or read its files.
    #[error("the log's files cannot be read ({})", what_sled_says(.0))]
    Files(sled::Error),
    /// sled fell over its files.
    #[error("the log's files make no sense")]
    FilesPanicked,
    /// sled has put values beside its log, where nothing syncs them.
    #[error("the log has files in its folder blobs, which it never uses")]
    Blobs,
    /// A key that no log has.
    #[error("the log holds a key that is none of its own")]
    Key,
    /// A value is not as it was written.
    #[error("log entry {index}: {source}")]
    Value {
        /// Of which entry.
        index: u64,
        /// In what way.
        source: ValueError,
    },
    /// Where the watermark stands is an entry that was replaced later.
    #[error("log entry {index} is an old one: what replaced it is lost")]
    Replaced {
        /// The index that the watermark names.
        index: u64,
    },
    /// An entry is missing between others.
    #[error("log entry {index} is missing, and there were later ones")]
    Hole {
        /// Which.
        index: u64,
    },
    /// Somebody began to recover and did not get to the end.
    #[error("`adjourn recover` was begun and not finished")]
    RecoverUnfinished,
}

impl StorageError {
    /// What the operator has to do.
    pub fn kind(&self) -> StorageErrorKind {
        match self {
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                StorageErrorKind::Unusable
            }
            Self::Io { .. } | Self::DiskFull { .. } | Self::FailedBefore { .. } => {
                StorageErrorKind::DiskFailed
            }
            Self::InUse { .. }
            | Self::OtherNode { .. }
            | Self::NewerFormat { .. }
            | Self::NotADataDirectory { .. }
            | Self::NotADirectory { .. }
            | Self::NoData { .. } => StorageErrorKind::Unusable,
            Self::ShortLog { .. } | Self::Damaged { .. } => StorageErrorKind::Damaged,
        }
    }

    /// What the system said, sorted: a full disk is a case of its own.
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
            Self::IdentityMissing | Self::Identity => "Restore the directory from a backup".to_owned(),
            Self::Value { source: ValueError::Version(_), .. } => "Use a newer binary".to_owned(),
            Self::RecoverUnfinished => format!("Run `adjourn recover --data {path} --yes` again"),
            _ => format!(
                "Restore the directory from a backup; or `adjourn recover --data {path}` says what could be kept"
            ),
        }
    }
}

/// sled's own words, but for a backtrace that it never has.
fn what_sled_says(error: &sled::Error) -> String {
    match error {
        sled::Error::Corruption { at: Some(at), .. } => format!("sled finds damage at {at:?}"),
        sled::Error::Corruption { .. } => "sled finds damage".to_owned(),
        other => other.to_string(),
    }
}

fn holder(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}
