//! A page file: entries, opaque here, that are written once and read once, in order.
//!
//! ```text
//!  header | block | ... | block | footer
//!
//!  the footer:
//!  0       8            12     16       20        28      36     52    56
//!  | magic | checkpoint | page | blocks | entries | bytes | hash | crc |
//!  |       | u32        | u32  | u32    | u64     | u64   | u128 | u32 |
//! ```
//!
//! Little-endian. Blocks are those of chunks, of about 64 KiB. `bytes` is the file's length, the hash the XXH3-128 of
//! everything before it, `crc` the CRC32C of the 52 bytes before it. The header's number is that of the checkpoint.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use super::super::folder::{Folder, FolderFile};
use super::super::{Damage, FileDamage, FilePart, StorageError};
use super::block::{self, BLOCK_HEADER_BYTES, BlockBuilder, BlockHeader};
use super::fields::{Fields, HEADER_BYTES, HEADER_END, Header, HeaderError, newer, seal, sealed};
use super::output::Output;
use super::pages_name;

/// The approximate size of a block, in bytes.
const BLOCK_BYTES: usize = 64 << 10;
/// The version of page files that this code writes, and the newest that it reads.
const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"ADJPAGES";
const FOOTER_MAGIC: [u8; 8] = *b"ADJPGEND";
const FOOTER_BYTES: u64 = 56;
/// The minimum length of an entry, in bytes.
const ENTRY_BYTES_MIN: u64 = 16;
/// Bytes of the footer that the hash covers.
const HASH_AT: usize = 36;

/// Identifies a page file. None is written twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PagesId {
    /// Number of the checkpoint that wrote it.
    pub checkpoint: u32,
    /// Number of the page in that checkpoint.
    pub page: u32,
}

/// The expected content of a page file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesSummary {
    /// The checkpoint and the page in the file's name.
    pub id: PagesId,
    /// How many entries it has.
    pub entries: u64,
    /// The length of its file.
    pub bytes: u64,
    /// XXH3-128 of the file up to the hash.
    pub hash: u128,
}

/// A page file that is being written.
pub struct PageWriter<F: Folder> {
    id: PagesId,
    output: Output<F>,
    block: BlockBuilder,
    blocks: u32,
}

impl<F: Folder> PageWriter<F> {
    /// Begins a page file. Replaces an unfinished one of the same name.
    pub fn create(folder: &F, id: PagesId) -> Result<Self, StorageError> {
        let mut output = Output::create(folder, pages_name(id))?;
        output.put(&header(id).encode())?;
        let block = BlockBuilder::new(BLOCK_BYTES);
        Ok(Self { id, output, block, blocks: 0 })
    }

    /// Adds an entry.
    ///
    /// # Panics
    ///
    /// If there are `u32::MAX` entries already.
    pub fn push(&mut self, entry: &[u8]) -> Result<(), StorageError> {
        if !self.block.fits(entry.len()) {
            self.finish_block()?;
        }
        assert!(self.block.next() < u32::MAX, "entries are counted in 32 bits");
        self.block.push(entry);
        Ok(())
    }

    /// Finishes the file and renames it: its data is durable, and a sync of the folder makes its name durable.
    pub fn finish(mut self) -> Result<PagesSummary, StorageError> {
        if !self.block.is_empty() {
            self.finish_block()?;
        }
        let entries = u64::from(self.block.next());
        let bytes = self.output.bytes() + FOOTER_BYTES;
        let mut footer = FOOTER_MAGIC.to_vec();
        footer.extend_from_slice(&self.id.checkpoint.to_le_bytes());
        footer.extend_from_slice(&self.id.page.to_le_bytes());
        footer.extend_from_slice(&self.blocks.to_le_bytes());
        footer.extend_from_slice(&entries.to_le_bytes());
        footer.extend_from_slice(&bytes.to_le_bytes());
        self.output.put(&footer)?;
        let hash = self.output.hash();
        footer.extend_from_slice(&hash.to_le_bytes());
        seal(&mut footer);
        self.output.put(footer.get(HASH_AT..).unwrap_or_default())?;
        self.output.finish()?;
        Ok(PagesSummary { id: self.id, entries, bytes, hash })
    }

    fn finish_block(&mut self) -> Result<(), StorageError> {
        self.block.finish(&mut self.output)?;
        self.blocks += 1;
        Ok(())
    }
}

/// A page file that is open for reading. It stays readable when its file is removed.
#[derive(Debug)]
pub struct Pages {
    file: Box<dyn FolderFile>,
    folder: PathBuf,
    summary: PagesSummary,
    blocks: u32,
}

impl Pages {
    /// Opens the page file that `expected` describes; reads its header and its footer.
    pub fn open<F: Folder>(folder: &F, expected: &PagesSummary) -> Result<Self, StorageError> {
        let name = pages_name(expected.id);
        let damaged = |damage| damaged(folder.path().to_owned(), expected, damage);
        let file = folder.open(&name)?.ok_or_else(|| damaged(FileDamage::Missing))?;
        let found = file.bytes()?;
        let mut bytes = [0; HEADER_BYTES];
        let read = file.read_at(0, &mut bytes)?;
        match header(expected.id).check(&bytes) {
            Err(HeaderError::Newer(version)) => return Err(newer(folder.path(), &name, version, VERSION)),
            Err(HeaderError::OtherNumber) => return Err(damaged(FileDamage::Other)),
            Err(HeaderError::Damaged) if read == HEADER_BYTES => {
                return Err(damaged(FileDamage::Bytes { part: FilePart::Header, at: 0 }));
            }
            _ => {}
        }
        let at = found.saturating_sub(FOOTER_BYTES);
        let mut footer = vec![0; usize::try_from(found - at).unwrap_or(0)];
        file.read_at(at, &mut footer)?;
        let Some((summary, blocks)) = read_footer(&footer).filter(|(footer, _)| footer.bytes == found) else {
            let footer = FileDamage::Bytes { part: FilePart::Footer, at };
            let short = FileDamage::Short { found, expected: expected.bytes };
            return Err(damaged(if found < expected.bytes { short } else { footer }));
        };
        if summary != *expected {
            return Err(damaged(FileDamage::Other));
        }
        Ok(Self { file: Box::new(file), folder: folder.path().to_owned(), summary, blocks })
    }

    /// The number of entries, capped by what the file's length allows.
    pub fn entries(&self) -> u64 {
        self.summary.entries.min(self.summary.bytes / ENTRY_BYTES_MIN)
    }

    /// Calls `visit` with each entry, in order, after its block was checked; checks the hash at the end. An error of
    /// `visit` ends it.
    pub fn for_each(
        &self,
        mut visit: impl FnMut(&[u8]) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut hasher = Xxh3::new();
        let mut buffer = vec![0; HEADER_BYTES];
        self.read(0, &mut buffer)?;
        hasher.update(&buffer);
        let footer_at = self.summary.bytes - FOOTER_BYTES;
        let (mut at, mut entries) = (HEADER_END, 0);
        for _ in 0..self.blocks {
            let bad = || self.damaged(FileDamage::Bytes { part: FilePart::Block, at });
            buffer.resize(BLOCK_HEADER_BYTES, 0);
            self.read(at, &mut buffer)?;
            let bytes = BlockHeader::read(&buffer).map(|header| u64::from(header.bytes));
            let bytes = bytes.filter(|bytes| at + bytes <= footer_at).ok_or_else(bad)?;
            buffer.resize(usize::try_from(bytes).unwrap_or(0), 0);
            self.read(at, &mut buffer)?;
            let block = block::check(&buffer).filter(|block| u64::from(block.first) == entries);
            entries += u64::from(block.ok_or_else(bad)?.count);
            hasher.update(&buffer);
            block::rows(&buffer).try_for_each(&mut visit)?;
            at += bytes;
        }
        buffer.resize(HASH_AT, 0);
        self.read(footer_at, &mut buffer)?;
        hasher.update(&buffer);
        let whole = at == footer_at && entries == self.summary.entries;
        if whole && hasher.digest128() == self.summary.hash {
            Ok(())
        } else {
            Err(self.damaged(FileDamage::Hash))
        }
    }

    /// The error for an entry whose content is not what was expected.
    pub fn bad_entry(&self, entry: u64) -> StorageError {
        self.damaged(FileDamage::Row { row: entry })
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        let read = self.file.read_at(at, buffer)?;
        if read == buffer.len() {
            return Ok(());
        }
        let found = at + read as u64;
        Err(self.damaged(FileDamage::Short { found, expected: self.summary.bytes }))
    }

    fn damaged(&self, damage: FileDamage) -> StorageError {
        damaged(self.folder.clone(), &self.summary, damage)
    }
}

fn header(id: PagesId) -> Header {
    Header { magic: MAGIC, version: VERSION, number: id.checkpoint }
}

/// Decodes a footer, and the number of blocks. `None` if it is damaged.
fn read_footer(bytes: &[u8]) -> Option<(PagesSummary, u32)> {
    let mut fields = Fields(sealed(bytes)?);
    let magic: [u8; 8] = fields.take()?;
    let id = PagesId { checkpoint: fields.u32()?, page: fields.u32()? };
    let blocks = fields.u32()?;
    let summary = PagesSummary { id, entries: fields.u64()?, bytes: fields.u64()?, hash: fields.u128()? };
    (magic == FOOTER_MAGIC && fields.0.is_empty()).then_some((summary, blocks))
}

fn damaged(path: PathBuf, summary: &PagesSummary, damage: FileDamage) -> StorageError {
    let PagesSummary { id, entries, .. } = *summary;
    StorageError::Damaged { path, damage: Damage::Pages { id, entries, damage } }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "lengths are known here")]
mod tests;
