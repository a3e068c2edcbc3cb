//! What can go wrong with the data directory, told apart by what the operator has to do.

use std::io;
use std::path::PathBuf;

/// Every variant's text says what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// An operation of the file system failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: "open", "write", "sync"...
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}
