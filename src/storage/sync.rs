//! Where things become durable: every sync of the storage layer is made here, and nowhere else.
//!
//! So the tests can see each of them. What a power cut leaves behind is what was synced, and any part of what was
//! written after that: whoever is told of every sync can make all those disks from the real files.

use std::cell::RefCell;
use std::fs::File;
use std::path::Path;

use super::StorageError;

/// What is called after each sync, with the path of the file, or of the directory, that is durable now.
pub type Watcher = Box<dyn FnMut(&Path)>;

thread_local! {
    static WATCHER: RefCell<Option<Watcher>> = const { RefCell::new(None) };
}

/// Has every sync of this thread told to `watcher` from now on; `None` ends it. For tests: it costs the others
/// nothing that a sync would not outweigh ten thousand times.
pub fn watch(watcher: Option<Watcher>) {
    WATCHER.set(watcher);
}

/// Makes a file durable: what it holds and its length, not its name.
pub(super) fn file(file: &File, path: &Path) -> Result<(), StorageError> {
    file.sync_all().map_err(|error| StorageError::sync(path, error))?;
    tell(path);
    Ok(())
}

/// The same for a file whose times do not matter, which is faster.
pub(super) fn data(file: &File, path: &Path) -> Result<(), StorageError> {
    file.sync_data().map_err(|error| StorageError::sync(path, error))?;
    tell(path);
    Ok(())
}

/// Makes the names in a directory durable.
pub(super) fn directory(path: &Path) -> Result<(), StorageError> {
    let directory = File::open(path).map_err(|error| StorageError::io("open", path, error))?;
    directory.sync_all().map_err(|error| StorageError::sync(path, error))?;
    tell(path);
    Ok(())
}

fn tell(path: &Path) {
    WATCHER.with_borrow_mut(|watcher| {
        if let Some(watcher) = watcher {
            watcher(path);
        }
    });
}
