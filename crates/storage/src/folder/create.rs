//! Creates directories that are there after a power cut, and private to their owner.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use crate::{StorageError, sync};

/// Creates a directory and its missing parents, each durable in its own parent.
pub(crate) fn create_durably(path: &Path) -> Result<(), StorageError> {
    if path.is_dir() {
        // The process that made it may have died before its name was durable.
        return sync_parent(path);
    }
    if path.exists() {
        return Err(StorageError::NotADirectory { path: path.to_owned() });
    }
    create_durably(parent(path))?;
    make_private(path)?;
    sync::directory(parent(path))
}

fn sync_parent(path: &Path) -> Result<(), StorageError> {
    match sync::directory(parent(path)) {
        // The parent belongs to another user, who created this directory.
        Err(StorageError::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

/// Creates a directory that only its owner may read; it may be there already.
pub(crate) fn make_private(path: &Path) -> Result<(), StorageError> {
    // Only the owner may read the pushed jobs.
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(StorageError::io("create", path, error))
        }
        _ => Ok(()),
    }
}
