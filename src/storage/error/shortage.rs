//! Errors that say that something ran short, and may be there again: space, file descriptors, memory.
//!
//! A shortage is no failure of the disk. What was only begun is given up, or waited for.

use std::io;

use rustix::io::Errno;

use super::StorageError;

impl StorageError {
    /// Whether a resource ran short that may become available again: space, file descriptors, memory. Work that was only
    /// begun can be tried again.
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::DiskFull { .. } | Self::Passing(_) => true,
            Self::Io { source, .. } => is_of_process(source),
            _ => false,
        }
    }

    /// The same, or a sync found no room for what was written: some file systems make room only then. A file that
    /// nothing needs yet can be given up.
    pub(in crate::storage) fn is_shortage_or_late(&self) -> bool {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        self.is_shortage() || matches!(self, Self::Io { source, .. } if full.contains(&source.kind()))
    }

    /// The same error, which says that nothing was changed if a resource ran short.
    pub(in crate::storage) fn before_any_change(self) -> Self {
        if self.is_shortage_or_late() { Self::Passing(Box::new(self)) } else { self }
    }

    /// The same error after something was changed.
    pub(in crate::storage) fn after_a_change(self) -> Self {
        match self {
            Self::Passing(error) => *error,
            other => other,
        }
    }
}

/// Whether the system had no file descriptor or memory for the process.
pub(super) fn is_of_process(error: &io::Error) -> bool {
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOMEM].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|error| shortages.contains(&error))
}

/// What an operator does after an error of the system.
pub(super) fn after(error: &io::Error) -> &'static str {
    if is_of_process(error) {
        "Raise the limit of open files (`ulimit -n`, LimitNOFILE in a unit), or of memory"
    } else {
        "Look at the disk and at the permissions, then start again"
    }
}
