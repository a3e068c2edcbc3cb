//! How a data directory changes from one state to the next: the steps, on any kind of folder.
//!
//! What is new is built beside what is there, under other names: a log in `log.new`, a checkpoint in `chunks.new`. A node
//! that runs there goes on meanwhile. When all of it is durable, the directory changes over:
//!
//! 1. `identity.new` becomes `identity.next`. **This decides**: before it, a start finds everything as it was, and removes
//!    what is half built. From then on, a start does the remaining steps.
//! 2. `log` gets a name under which it is kept, and `log.new` becomes `log`; if there is a `log.new`.
//! 3. `chunks` becomes `chunks.old`, and `chunks.new` becomes `chunks`; if there is a `chunks.new`.
//! 4. `identity.next` becomes `identity`.
//! 5. `chunks.old` is removed.
//!
//! Each name is durable before the next step begins, and each step can be done again. So at every moment there is one whole
//! state. The file system need do no more than rename; all is on one, and no folder is a mount point. Founding, restoring, recovering, and installing a checkpoint of another member all end with this.

use super::StorageError;

/// Whose data it is, with a name for each stage.
pub(super) const IDENTITY: &str = "identity";
/// The next one, while it is written.
pub(super) const IDENTITY_NEW: &str = "identity.new";
/// The next one, when it is decided.
pub(super) const IDENTITY_NEXT: &str = "identity.next";
/// The folder of the log.
pub(super) const LOG: &str = "log";
/// The folder of the next one.
pub(super) const LOG_NEW: &str = "log.new";
/// What the name of a log begins with that had to make way.
pub(super) const LOG_LOST: &str = "log.lost-";
/// The folder of the checkpoint that counts.
pub(super) const CHUNKS: &str = "chunks";
/// The folder of the next one.
pub(super) const CHUNKS_NEW: &str = "chunks.new";
/// The folder of the one before.
pub(super) const CHUNKS_OLD: &str = "chunks.old";
/// The folder of a checkpoint that is fetched from another member.
pub(super) const INCOMING: &str = "incoming";

/// A directory of folders. It has two implementations: the data directory, and the simulated disk.
pub(super) trait Folders {
    /// Whether there is a folder or file of this name.
    fn has(&self, name: &str) -> Result<bool, StorageError>;
    /// Makes an empty folder; its name is not durable yet.
    fn make(&self, name: &str) -> Result<(), StorageError>;
    /// Gives a folder or a file another name, which no other folder has; not durable yet.
    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError>;
    /// Removes a folder with all that is in it, if it is there.
    fn remove(&self, name: &str) -> Result<(), StorageError>;
    /// Makes the names durable.
    fn sync(&self) -> Result<(), StorageError>;
}

/// What a change led to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Changed {
    /// The name under which the log is kept that had to make way.
    pub(super) kept: Option<String>,
}

/// Changes over to what was built, and to `identity.new`. All of it is durable but the names in the directory. Durable when
/// it returns.
pub(super) fn change_over(folders: &impl Folders) -> Result<Changed, StorageError> {
    folders.sync()?;
    folders.rename(IDENTITY_NEW, IDENTITY_NEXT)?;
    folders.sync()?;
    complete(folders).map(Option::unwrap_or_default)
}

/// Puts the fetched checkpoint in the place of the one that is there. Its content is durable, names included; so is
/// `identity.new`, which says what `identity` says. Durable when it returns.
pub(super) fn install(folders: &impl Folders) -> Result<(), StorageError> {
    folders.rename(INCOMING, CHUNKS_NEW)?;
    change_over(folders).map(drop)
}

/// Completes a change that was decided, and removes what is half built or not needed any more. For a start, before
/// anything reads the folders. Returns what the change led to, if there was one.
pub(super) fn settle(folders: &impl Folders) -> Result<Option<Changed>, StorageError> {
    // The process that did the last step may have died before its name was durable.
    folders.sync()?;
    complete(folders)
}

/// Whether a change was decided and not completed.
pub(super) fn is_decided(folders: &impl Folders) -> Result<bool, StorageError> {
    folders.has(IDENTITY_NEXT)
}

/// Where that which counts is: `name`, or `new` if it is to take its place.
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

/// For a log that has to make way.
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
