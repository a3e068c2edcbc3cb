//! Errors of a temporary shortage: of space, file descriptors or memory.
//!
//! A shortage is no failure of the disk. Work that had only begun is abandoned, or waits.

use std::io;

use rustix::io::Errno;

use super::StorageError;

impl StorageError {
    /// True if a resource ran short that may become available again: space, file descriptors, memory. Work that had only
    /// begun can be tried again.
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::DiskFull { .. } | Self::Passing(_) => true,
            Self::Io { source, .. } => is_of_process(source),
            _ => false,
        }
    }

    /// True also if a sync found no room for what was written: some file systems allocate only then. For files that
    /// nothing relies on yet, which can be given up.
    pub(crate) fn is_shortage_or_late(&self) -> bool {
        let full = [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded];
        self.is_shortage() || matches!(self, Self::Io { source, .. } if full.contains(&source.kind()))
    }

    /// Marks a shortage as one that came before anything was changed.
    pub(crate) fn before_any_change(self) -> Self {
        if self.is_shortage_or_late() { Self::Passing(Box::new(self)) } else { self }
    }

    /// Removes the mark of [`Self::before_any_change`], after something was changed.
    pub(crate) fn after_a_change(self) -> Self {
        match self {
            Self::Passing(error) => *error,
            other => other,
        }
    }
}

/// True if the system had no file descriptor or memory for the process.
pub(super) fn is_of_process(error: &io::Error) -> bool {
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOMEM].map(Errno::raw_os_error);
    error.raw_os_error().is_some_and(|error| shortages.contains(&error))
}

/// The advice to the operator after an error of the system.
pub(super) fn after(error: &io::Error) -> &'static str {
    if is_of_process(error) {
        "Raise the limit of open files (`ulimit -n`, LimitNOFILE in a unit), or of memory"
    } else {
        "Look at the disk and at the permissions, then start again"
    }
}
