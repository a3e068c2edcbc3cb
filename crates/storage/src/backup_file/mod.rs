//! The file of a backup.
//!
//! ```text
//!  header | table | manifest | page file | ... | page file | chunk | ... | chunk | footer
//! ```
//!
//! Manifest, page files and chunks are the bytes of a checkpoint in a data directory; the table has the place of each.
//! `docs/format.md` draws the bytes.
//!
//! [`PinnedBackup`] is the running node's side: the files of one checkpoint, held open.

pub(crate) mod layout;
mod pinned;

pub use layout::{BackupFile, BackupHeader, FOOTER_BYTES, footer};
pub use pinned::{BackupOrigin, PinnedBackup};
