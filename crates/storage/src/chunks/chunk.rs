//! Reads a chunk. It keeps only the chunk's directory in memory (about 33 bytes for each 16 KiB of rows).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use xxhash_rust::xxh3::Xxh3;

use super::super::folder::{Folder, FolderFile};
use super::super::{Damage, FileDamage, FilePart, StorageError};
use super::block::{self, BlockHeader};
use super::cache::BlockCache;
use super::chunk_name;
use super::fields::{HEADER_BYTES, HEADER_END, HeaderError, newer};
use super::index::{PIECE_BYTES_MAX, PIECE_ROWS, Piece, RowHead};
use super::layout::{BlockPlace, CHUNK_VERSION, ChunkSummary, Footer, header};

/// The size of one read, in bytes.
const READ_BYTES: usize = 256 << 10;

/// A chunk that is open for reading. It stays readable when its file is removed.
#[derive(Debug)]
pub struct Chunk {
    file: Arc<dyn FolderFile>,
    folder: PathBuf,
    summary: ChunkSummary,
    footer: Footer,
    blocks: Vec<BlockPlace>,
    /// Where the pieces of the index begin.
    pieces: Vec<u64>,
}

impl Chunk {
    /// Opens the chunk that `expected` describes. Reads its header, directory, summary and footer, and checks them.
    pub fn open<F: Folder>(folder: &F, expected: &ChunkSummary) -> Result<Self, StorageError> {
        let name = chunk_name(expected.number);
        let damaged = |damage| damaged(folder.path().to_owned(), expected, damage);
        let damaged_part = |part, at| damaged(FileDamage::Bytes { part, at });
        let file = folder.open(&name)?.ok_or_else(|| damaged(FileDamage::Missing))?;
        let found = file.bytes()?;
        let cut_short = || damaged(FileDamage::Short { found, expected: expected.bytes });
        let read = |at, bytes: u64| read_section(&file, at, bytes)?.ok_or_else(cut_short);

        match header(expected.number).check(&read(0, HEADER_END.min(found))?) {
            Err(HeaderError::Newer(version)) => {
                return Err(newer(folder.path(), &name, version, CHUNK_VERSION));
            }
            Err(HeaderError::OtherNumber) => return Err(damaged(FileDamage::Other)),
            Err(HeaderError::Damaged) if found >= HEADER_END => {
                return Err(damaged_part(FilePart::Header, 0));
            }
            _ => {}
        }
        let footer_at = found.saturating_sub(Footer::BYTES);
        let footer = Footer::read(&read(footer_at, found - footer_at)?);
        let Some((footer, hash)) = footer.filter(|(footer, _)| footer.bytes == found) else {
            let short = found < expected.bytes;
            return Err(if short { cut_short() } else { damaged_part(FilePart::Footer, footer_at) });
        };
        if (footer.number, footer.rows, footer.bytes, hash)
            != (expected.number, expected.rows, expected.bytes, expected.hash)
        {
            return Err(damaged(FileDamage::Other));
        }
        let directory = read(footer.directory_at, footer.index_at - footer.directory_at)?;
        let directory = footer.read_directory(&directory).filter(|(_, pieces)| pieces_fit(pieces, &footer));
        let (blocks, pieces) =
            directory.ok_or_else(|| damaged_part(FilePart::Directory, footer.directory_at))?;
        let topics = footer.read_summary(&read(footer.summary_at, footer_at - footer.summary_at)?);
        let topics = topics.ok_or_else(|| damaged_part(FilePart::Summary, footer.summary_at))?;
        if topics != expected.topics {
            return Err(damaged(FileDamage::Other));
        }
        let folder = folder.path().to_owned();
        Ok(Self { file: Arc::new(file), folder, summary: expected.clone(), footer, blocks, pieces })
    }

    /// Its number, size, hash and topics.
    pub fn summary(&self) -> &ChunkSummary {
        &self.summary
    }

    /// The chunk's file. The file stays open as long as it is in use.
    pub(crate) fn file(&self) -> Arc<dyn FolderFile> {
        Arc::clone(&self.file)
    }

    /// How many rows it has.
    pub fn rows(&self) -> u32 {
        self.summary.rows
    }

    /// Calls `visit` with the index head of each row, in order. Reads the index alone, 256 KiB at a time.
    pub fn for_each_index(&self, mut visit: impl FnMut(u32, RowHead)) -> Result<(), StorageError> {
        let mut buffer = vec![0; READ_BYTES];
        let mut next: usize = 0;
        while let Some(begin) = self.pieces.get(next).copied() {
            // As many pieces as the buffer takes, and one at least.
            let fits = |end: &u64| end - begin <= READ_BYTES as u64;
            let ends = self.pieces.get(next + 1..).unwrap_or_default().iter();
            let ends = ends.copied().chain([self.footer.summary_at]).take_while(fits);
            let end = ends.last().unwrap_or(begin);
            let part = usize::try_from(end - begin).ok().and_then(|bytes| buffer.get_mut(..bytes));
            let part = part.unwrap_or_default();
            self.read(begin, part)?;
            while self.pieces.get(next).is_some_and(|at| *at < end) {
                let piece = self.piece_in(part, begin, next)?;
                let rows = piece.first..;
                rows.zip(piece.heads()).for_each(|(row, head)| visit(row, head));
                next += 1;
            }
        }
        Ok(())
    }

    /// Like [`Self::for_each_index`], for callers that also read the rows, or may fail otherwise: an error ends it.
    pub fn for_each_row(
        &self,
        mut visit: impl FnMut(u32, &RowHead) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let (mut next, mut heads) = (0, Vec::new());
        while next < self.rows() {
            self.read_heads(next, &mut heads)?;
            if heads.is_empty() {
                return Err(self.bad_row(next));
            }
            for head in &heads {
                visit(next, head)?;
                next += 1;
            }
        }
        Ok(())
    }

    /// Replaces `heads` with the index heads of this row and of up to a thousand rows after it: the number that one
    /// read brings anyway. Empty if there is no such row.
    pub fn read_heads(&self, row: u32, heads: &mut Vec<RowHead>) -> Result<(), StorageError> {
        heads.clear();
        let number = (row / PIECE_ROWS) as usize;
        let Some(begin) = self.pieces.get(number).copied() else { return Ok(()) };
        let mut bytes = vec![0; usize::try_from(self.piece_end(number) - begin).unwrap_or(0)];
        self.read(begin, &mut bytes)?;
        let piece = self.piece_in(&bytes, begin, number)?;
        heads.extend(piece.heads().skip((row % PIECE_ROWS) as usize));
        Ok(())
    }

    /// The first row whose timer is on this timeline at `at` or later, or on a later timeline; [`rows`](Self::rows) if there
    /// is none.
    pub fn first_row_from(&self, timeline: u8, at: u64) -> Result<u32, StorageError> {
        let wanted = (timeline, at, 0);
        let block = self.blocks.partition_point(|block| block.order < wanted);
        // The block before begins earlier: the row may be in it.
        let Some(before) = block.checked_sub(1).and_then(|block| self.blocks.get(block)) else {
            return Ok(0);
        };
        let end = self.blocks.get(block).map_or(self.rows(), |block| block.first_row);
        let mut row = before.first_row;
        let mut heads = Vec::new();
        while row < end {
            self.read_heads(row, &mut heads)?;
            let earlier = heads.iter().take_while(|head| head.order() < wanted).count();
            row = row.saturating_add(u32::try_from(earlier).unwrap_or(u32::MAX));
            if earlier < heads.len() || heads.is_empty() {
                break;
            }
        }
        Ok(row.min(end))
    }

    /// Starts to read a row ahead, unless its block is in the cache. Returns the length of the block.
    pub fn read_ahead(&self, row: u32, cache: &BlockCache) -> u32 {
        let number = self.block_of(row);
        let Some(place) = self.blocks.get(number) else { return 0 };
        let cached =
            u32::try_from(number).is_ok_and(|block| cache.find(self.summary.number, block).is_some());
        if !cached {
            self.file.will_read(place.at, place.bytes.into());
        }
        place.bytes
    }

    /// The bytes of a row. Its block comes from the cache, or is read and added to the cache.
    pub fn read_row(&self, row: u32, cache: &mut BlockCache) -> Result<Bytes, StorageError> {
        let no_row = || self.damaged(FileDamage::NoRow { row });
        if row >= self.rows() {
            return Err(no_row());
        }
        let number = self.block_of(row);
        let place = self.blocks.get(number).ok_or_else(no_row)?;
        let key = u32::try_from(number).unwrap_or(u32::MAX);
        let found = |block: &Bytes| block::row(block, row - place.first_row).ok_or_else(no_row);
        if let Some(block) = cache.find(self.summary.number, key) {
            return found(block);
        }
        let mut bytes = vec![0; place.bytes as usize];
        self.read_block(number, place, &mut bytes)?;
        let block = Bytes::from(bytes);
        cache.keep(self.summary.number, key, &block);
        found(&block)
    }

    /// The error for a row whose content is not what was expected.
    pub fn bad_row(&self, row: u32) -> StorageError {
        self.damaged(FileDamage::Row { row: row.into() })
    }

    /// Reads the whole file; checks each checksum and the hash. Tells `progress` after each block how many bytes it
    /// has read.
    pub fn verify(&self, mut progress: impl FnMut(u64)) -> Result<(), StorageError> {
        let mut hasher = Xxh3::new();
        let mut buffer = vec![0; HEADER_BYTES];
        self.read(0, &mut buffer)?;
        header(self.summary.number).check(&buffer).map_err(|_| self.bad(FilePart::Header, 0))?;
        hasher.update(&buffer);
        for (number, place) in self.blocks.iter().enumerate() {
            buffer.resize(place.bytes as usize, 0);
            self.read_block(number, place, &mut buffer)?;
            hasher.update(&buffer);
            progress(place.at + u64::from(place.bytes));
        }
        self.for_each_index(|_, _| {})?;
        let hash_at = self.footer.bytes - Footer::BYTES + self.footer.encode().len() as u64;
        let mut at = self.footer.directory_at;
        while at < hash_at {
            buffer.resize(usize::try_from(hash_at - at).map_or(READ_BYTES, |rest| rest.min(READ_BYTES)), 0);
            self.read(at, &mut buffer)?;
            hasher.update(&buffer);
            at += buffer.len() as u64;
            progress(at);
        }
        if hasher.digest128() == self.summary.hash { Ok(()) } else { Err(self.damaged(FileDamage::Hash)) }
    }

    /// Number of the block that has this row, if there is one.
    fn block_of(&self, row: u32) -> usize {
        self.blocks.partition_point(|block| block.first_row <= row).saturating_sub(1)
    }

    fn read_block(&self, number: usize, place: &BlockPlace, buffer: &mut [u8]) -> Result<(), StorageError> {
        self.read(place.at, buffer)?;
        let end = self.blocks.get(number + 1).map_or(self.rows(), |next| next.first_row);
        let matches = |header: &BlockHeader| {
            header.first == place.first_row && header.first.checked_add(header.count) == Some(end)
        };
        match block::check(buffer).filter(matches) {
            Some(_) => Ok(()),
            None => Err(self.bad(FilePart::Block, place.at)),
        }
    }

    /// Decodes a piece of the index in `bytes`, which were read from `begin` on.
    fn piece_in<'a>(&self, bytes: &'a [u8], begin: u64, number: usize) -> Result<Piece<'a>, StorageError> {
        let at = self.pieces.get(number).copied().unwrap_or(begin);
        let range =
            usize::try_from(at - begin).ok().zip(usize::try_from(self.piece_end(number) - begin).ok());
        let first = u32::try_from(number).unwrap_or(u32::MAX).saturating_mul(PIECE_ROWS);
        let rows = self.rows().saturating_sub(first).min(PIECE_ROWS) as usize;
        let piece = range.and_then(|(from, to)| Piece::read(bytes.get(from..to)?));
        let piece = piece.filter(|piece| piece.first == first && piece.rows() == rows);
        piece.ok_or_else(|| self.bad(FilePart::Index, at))
    }

    fn piece_end(&self, number: usize) -> u64 {
        self.pieces.get(number + 1).copied().unwrap_or(self.footer.summary_at)
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        let read = self.file.read_at(at, buffer)?;
        if read == buffer.len() {
            return Ok(());
        }
        let found = at + read as u64;
        Err(self.damaged(FileDamage::Short { found, expected: self.summary.bytes }))
    }

    fn bad(&self, part: FilePart, at: u64) -> StorageError {
        self.damaged(FileDamage::Bytes { part, at })
    }

    fn damaged(&self, damage: FileDamage) -> StorageError {
        damaged(self.folder.clone(), &self.summary, damage)
    }
}

/// True if there are as many pieces as the rows need, each within its maximum length.
fn pieces_fit(pieces: &[u64], footer: &Footer) -> bool {
    let ends = pieces.iter().skip(1).chain([&footer.summary_at]);
    pieces.len() == footer.rows.div_ceil(PIECE_ROWS) as usize
        && pieces.iter().zip(ends).all(|(begin, end)| end - begin <= PIECE_BYTES_MAX)
}

/// Reads a section of a file; `None` if the file ends before it does. Allocates no more than the file has.
fn read_section(file: &impl FolderFile, at: u64, bytes: u64) -> Result<Option<Vec<u8>>, StorageError> {
    let mut section = vec![0; usize::try_from(bytes).unwrap_or(0)];
    let read = file.read_at(at, &mut section)?;
    Ok((read == section.len()).then_some(section))
}

fn damaged(path: PathBuf, summary: &ChunkSummary, damage: FileDamage) -> StorageError {
    let (summary, topics) = (Box::new(summary.clone()), BTreeMap::new());
    StorageError::Damaged { path, damage: Damage::Chunk { summary, topics, damage } }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "lengths are known here")]
mod tests;
