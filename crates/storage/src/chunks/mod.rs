//! Checkpoints on disk: immutable files of job rows, files of resident jobs, and a manifest.
//!
//! # Files in `DATA/chunks/`
//!
//! ```text
//! chunk-%08x        a chunk: rows, sorted by (timeline, at, id)
//! pages-%08x-%08x   a page file: entries of jobs that are not delayed for long
//! manifest          the checkpoint: which of those files count, and everything else that is state
//! NAME.new          one of them while it is written
//! ```
//!
//! Rows and entries are opaque here, except for the head of each row in the chunk's index ([`RowHead`]).
//! `docs/format.md` draws the bytes.
//!
//! # Invariants
//!
//! - A file never changes once it has its name. It gets it after its last byte is durable.
//! - The manifest is replaced in one step (write, sync, rename, sync of the folder). What it lists was durable,
//!   names included, before that: so sync the folder after the last chunk and page file, and before [`Manifest::write`].
//! - A file that the manifest does not list is ignored: [`remove_unlisted`] removes it.
//! - A chunk number is never reused once a manifest with that chunk was written.
//! - Each byte is covered by a CRC32C that is checked when it is read, and by a hash of the file that
//!   [`Chunk::verify`] checks. Nothing is allocated for the value of a length field: lengths are checked against the file first.
//! - Files are written in pieces of at most 256 KiB with a sync after each, so that the log on the same disk never
//!   waits for a large one.

mod bits;
mod block;
mod cache;
mod chunk;
pub(super) mod fields;
mod index;
mod layout;
mod manifest;
pub(super) mod output;
mod pages;
mod writer;

pub use bits::Bits;
pub use cache::BlockCache;
pub use chunk::Chunk;
pub use index::{PIECE_ROWS, RowHead, TIMELINE_STAMP, TIMELINE_WALL};
pub use layout::{ChunkSummary, TopicSummary};
pub use manifest::{Manifest, ManifestChunk, StagedManifest};
pub use pages::{PageWriter, Pages, PagesId, PagesSummary};
pub use writer::ChunkWriter;

use super::StorageError;
use super::folder::Folder;

/// The name of the manifest.
pub const MANIFEST: &str = "manifest";

const NEW: &str = ".new";
const CHUNK: &str = "chunk-";
const PAGES: &str = "pages-";

/// The name of a chunk.
pub fn chunk_name(number: u32) -> String {
    format!("{CHUNK}{number:08x}")
}

/// The name of a page file.
pub fn pages_name(id: PagesId) -> String {
    format!("{PAGES}{:08x}-{:08x}", id.checkpoint, id.page)
}

/// Removes unfinished files, and the files of checkpoints that this manifest does not list; without a manifest, all
/// of them. Foreign files are left alone. Returns how many files were removed.
///
/// Call it at a start, when the manifest is known to be the newest, and after a checkpoint: not while one is being
/// written.
pub fn remove_unlisted<F: Folder>(folder: &F, manifest: Option<&Manifest>) -> Result<usize, StorageError> {
    let unlisted = unlisted(folder, manifest)?;
    for name in &unlisted {
        folder.remove(name)?;
    }
    if !unlisted.is_empty() {
        folder.sync()?;
    }
    Ok(unlisted.len())
}

/// True if there is a finished chunk or page file.
pub fn holds_finished<F: Folder>(folder: &F) -> Result<bool, StorageError> {
    Ok(folder.list()?.iter().any(|name| number(name).is_some()))
}

/// The names of the files that [`remove_unlisted`] removes.
pub fn unlisted<F: Folder>(folder: &F, manifest: Option<&Manifest>) -> Result<Vec<String>, StorageError> {
    let mut names = folder.list()?;
    names.retain(|name| match name.strip_suffix(NEW) {
        Some(finished) => finished == MANIFEST || number(finished).is_some(),
        None => number(name).is_some_and(|found| !manifest.is_some_and(|manifest| manifest.lists(found))),
    });
    Ok(names)
}

/// The kind and the number in a file's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbered {
    Chunk(u32),
    Pages(PagesId),
}

/// Parses a name; `None` if it is neither that of a chunk nor that of a page file.
fn number(name: &str) -> Option<Numbered> {
    let parse = |digits: &str| {
        let plain = digits.len() == 8 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        plain.then(|| u32::from_str_radix(digits, 16).ok())?
    };
    if let Some(chunk) = name.strip_prefix(CHUNK) {
        return parse(chunk).map(Numbered::Chunk);
    }
    let (checkpoint, page) = name.strip_prefix(PAGES)?.split_once('-')?;
    Some(Numbered::Pages(PagesId { checkpoint: parse(checkpoint)?, page: parse(page)? }))
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "lengths are known here")]
mod tests;
