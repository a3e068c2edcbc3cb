//! How a data directory changes from one state to the next: the steps, on any kind of folder.
//!
//! The new state is built beside the old one, under other names: a log in `log.new`, a checkpoint in `chunks.new`. A node
//! that runs there goes on meanwhile. When all of it is durable, the directory changes over:
//!
//! 1. `identity.new` becomes `identity.next`. **This decides**: before it, a start keeps the old state, and removes what
//!    is unfinished. From then on, a start does the remaining steps.
//! 2. `log` gets a name under which it is kept, and `log.new` becomes `log`; if there is a `log.new`.
//! 3. `chunks` becomes `chunks.old`, and `chunks.new` becomes `chunks`; if there is a `chunks.new`.
//! 4. `identity.next` becomes `identity`.
//! 5. `chunks.old` is removed.
//!
//! Each name is durable before the next step begins, and each step can be repeated. So at every moment there is one whole
//! state. The file system need only rename: everything is on one, and no folder is a mount point. Founding, restoring,
//! recovering, and installing a checkpoint of another member all end with this.

use super::StorageError;

/// The file that says whose data it is.
pub(super) const IDENTITY: &str = "identity";
/// The next identity, while it is written.
pub(super) const IDENTITY_NEW: &str = "identity.new";
/// The next identity, once the change is decided.
pub(super) const IDENTITY_NEXT: &str = "identity.next";
/// The folder of the log.
pub(super) const LOG: &str = "log";
/// The folder of the next log.
pub(super) const LOG_NEW: &str = "log.new";
/// Prefix of the name of a log that was replaced.
pub(super) const LOG_LOST: &str = "log.lost-";
/// The folder of the valid checkpoint.
pub(super) const CHUNKS: &str = "chunks";
/// The folder of the next checkpoint.
pub(super) const CHUNKS_NEW: &str = "chunks.new";
/// The folder of the previous checkpoint.
pub(super) const CHUNKS_OLD: &str = "chunks.old";
/// The folder of a checkpoint that is fetched from another member.
pub(super) const INCOMING: &str = "incoming";

/// A directory of folders. It has two implementations: the data directory, and the simulated disk.
pub(super) trait Folders {
    /// True if there is a folder or file of this name.
    fn has(&self, name: &str) -> Result<bool, StorageError>;
    /// Makes an empty folder; its name is not durable yet.
    fn make(&self, name: &str) -> Result<(), StorageError>;
    /// Renames a folder or a file to an unused name; not durable yet.
    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError>;
    /// Removes a folder with all that is in it, if it is there.
    fn remove(&self, name: &str) -> Result<(), StorageError>;
    /// Makes the names durable.
    fn sync(&self) -> Result<(), StorageError>;
}

/// The result of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// The name under which the replaced log is kept.
    pub(super) kept: Option<String>,
}

/// Changes over to the new state and to `identity.new`, which are durable except for their names in the directory. Durable
/// when it returns.
pub(super) fn change_over(folders: &impl Folders) -> Result<Changed, StorageError> {
    folders.sync()?;
    folders.rename(IDENTITY_NEW, IDENTITY_NEXT)?;
    folders.sync()?;
    complete(folders).map(Option::unwrap_or_default)
}

/// Replaces the checkpoint with the fetched one, whose content and names are durable. So is `identity.new`, a copy of
/// `identity`. Durable when it returns.
pub(super) fn install(folders: &impl Folders) -> Result<(), StorageError> {
    folders.rename(INCOMING, CHUNKS_NEW)?;
    change_over(folders).map(drop)
}

/// Completes a decided change, and removes what is unfinished or obsolete. A start calls it before anything reads the
/// folders. Returns the result of the change, if there was one.
pub(super) fn settle(folders: &impl Folders) -> Result<Option<Changed>, StorageError> {
    // The process that did the last step may have died before its name was durable.
    folders.sync()?;
    complete(folders)
}

/// True if a change was decided and not completed.
pub(super) fn is_decided(folders: &impl Folders) -> Result<bool, StorageError> {
    folders.has(IDENTITY_NEXT)
}

/// The name of the folder that counts: `new` if a decided change has still to rename it to `name`.
pub(super) fn place(
    folders: &impl Folders,
    name: &'static str,
    new: &'static str,
) -> Result<&'static str, StorageError> {
    Ok(if is_decided(folders)? && folders.has(new)? { new } else { name })
}

fn complete(folders: &impl Folders) -> Result<Option<Changed>, StorageError> {
    let mut changed = None;
    if is_decided(folders)? {
        let Changed { kept } = changed.get_or_insert_default();
        let lost = unused_name(folders)?;
        for (name, new, old) in [(LOG, LOG_NEW, &*lost), (CHUNKS, CHUNKS_NEW, CHUNKS_OLD)] {
            if !folders.has(new)? {
                continue;
            }
            if folders.has(name)? {
                folders.rename(name, old)?;
                folders.sync()?;
                if name == LOG {
                    *kept = Some(lost.clone());
                }
            }
            folders.rename(new, name)?;
            folders.sync()?;
        }
        folders.rename(IDENTITY_NEXT, IDENTITY)?;
        folders.sync()?;
    }
    for name in [LOG_NEW, CHUNKS_NEW, CHUNKS_OLD, INCOMING] {
        folders.remove(name)?;
    }
    folders.make(INCOMING)?;
    folders.sync()?;
    Ok(changed)
}

/// An unused name for a log that is replaced.
fn unused_name(folders: &impl Folders) -> Result<String, StorageError> {
    let mut number = 1;
    loop {
        let name = format!("{LOG_LOST}{number}");
        if !folders.has(&name)? {
            return Ok(name);
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests;
