//! How a checkpoint from another member replaces this node's: the steps, on any kind of folder.
//!
//! A node fetches the checkpoint into the folder `incoming`, beside `chunks`, which it continues to use. When it is
//! complete, verified and durable, it is installed:
//!
//! 1. `chunks` becomes `chunks.old`.
//! 2. `incoming` becomes `chunks`.
//! 3. An empty `incoming` is created, and `chunks.old` is removed.
//!
//! Each name is durable before the next step begins. The first step decides: until it is done, a start finds the old
//! checkpoint, and ignores `incoming`. From then on `chunks.old` exists, and a start [completes](complete) the
//! remaining steps. So there is one way, on every file system, and at every moment a whole checkpoint.
//!
//! [`durable`](super::durable) decides what becomes of the log.

use super::StorageError;

/// The folder of the checkpoint that counts.
pub(super) const CHUNKS: &str = "chunks";
/// The folder of one that is fetched.
pub(super) const INCOMING: &str = "incoming";
/// The folder of the one before.
pub(super) const CHUNKS_OLD: &str = "chunks.old";

/// A directory of folders. It has two implementations: the data directory, and the simulated disk.
pub(super) trait Folders {
    /// Whether there is a folder of this name.
    fn has(&self, name: &'static str) -> Result<bool, StorageError>;
    /// Makes an empty folder; its name is not durable yet.
    fn make(&self, name: &'static str) -> Result<(), StorageError>;
    /// Gives a folder another name, which no other one has; not durable yet.
    fn rename(&self, from: &'static str, to: &'static str) -> Result<(), StorageError>;
    /// Removes a folder with all that is in it.
    fn remove(&self, name: &'static str) -> Result<(), StorageError>;
    /// Makes the folders' names durable.
    fn sync(&self) -> Result<(), StorageError>;
}

/// Replaces `chunks` with `incoming`. The content of `incoming` is durable, names included. Durable when it returns.
pub(super) fn install(folders: &impl Folders) -> Result<(), StorageError> {
    folders.rename(CHUNKS, CHUNKS_OLD)?;
    folders.sync()?;
    folders.rename(INCOMING, CHUNKS)?;
    folders.sync()?;
    tidy(folders)
}

/// Completes an install that was cut short, and empties `incoming`. For a start, before anything reads `chunks`.
pub(super) fn complete(folders: &impl Folders) -> Result<(), StorageError> {
    // The process that did the last step may have died before its name was durable.
    folders.sync()?;
    if is_cut_short(folders)? {
        folders.rename(INCOMING, CHUNKS)?;
        folders.sync()?;
    }
    if folders.has(INCOMING)? {
        folders.remove(INCOMING)?;
    }
    tidy(folders)
}

/// Whether `incoming` is what counts, because it was not renamed yet.
pub(super) fn is_cut_short(folders: &impl Folders) -> Result<bool, StorageError> {
    Ok(folders.has(CHUNKS_OLD)? && !folders.has(CHUNKS)?)
}

fn tidy(folders: &impl Folders) -> Result<(), StorageError> {
    folders.make(INCOMING)?;
    if folders.has(CHUNKS_OLD)? {
        folders.remove(CHUNKS_OLD)?;
    }
    folders.sync()
}

#[cfg(test)]
mod tests;
