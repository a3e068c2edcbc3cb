//! The manifest: which files a checkpoint has, and everything else that is state.
//!
//! ```text
//!  header | length | crc | payload... | crc |
//!         | u64    | u32 |            | u32 |
//! ```
//!
//! Little-endian. The header's number is 0. `length` is the payload's; the file ends 4 bytes after it. The first `crc`
//! is the CRC32C of the header and the length, the second one that of the payload. The payload is bincode 1.3 with
//! varint integers.

use std::path::Path;
use std::thread;
use std::time::Duration;

use bincode::Options;
use serde::{Deserialize, Serialize};

use super::super::folder::{Folder, FolderFile as _};
use super::super::{Damage, FileDamage, FilePart, LogBase, StorageError};
use super::bits::Bits;
use super::fields::{Fields, HEADER_BYTES, HEADER_END, Header, HeaderError, newer, seal, sealed};
use super::layout::ChunkSummary;
use super::output::Output;
use super::pages::PagesSummary;
use super::{MANIFEST, Numbered};
use adjourn_engine::COUNT_MAX;

/// The version of manifests that this code writes, and the newest that it reads.
const VERSION: u32 = 1;
const HEADER: Header = Header { magic: *b"ADJMANIF", version: VERSION, number: 0 };
/// Bytes before the payload: header, length and their checksum.
const FRAME_BYTES: usize = HEADER_BYTES + 12;
const CRC_BYTES: usize = 4;
/// The pause before another attempt to sync the folder, when the process had no descriptor free.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(100);
/// The place of a row has 31 bits for the number of its chunk.
const NEXT_CHUNK_MAX: u32 = 1 << 30;

/// A checkpoint: the state as it was after the entry at `index`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The group whose state it is.
    pub group: u8,
    /// Number of the checkpoint, from 1.
    pub checkpoint: u64,
    /// The last entry that it contains.
    pub index: u64,
    /// Its term.
    pub term: u64,
    /// The checksum that the next value of the log continues.
    pub log_crc: u32,
    /// Members that vote.
    pub voters: Vec<u64>,
    /// Members that do not.
    pub learners: Vec<u64>,
    /// The number that the next chunk gets: higher than that of any chunk before.
    pub next_chunk: u32,
    /// The hash of the state.
    pub state_hash: u128,
    /// How many jobs there are.
    pub jobs: u64,
    /// Topics, sessions and the rest of the state; opaque here.
    #[serde(with = "serde_bytes")]
    pub metadata: Vec<u8>,
    /// In ascending order of their numbers.
    pub chunks: Vec<ManifestChunk>,
    /// The page files, by the checkpoints that wrote them; none if no job is resident.
    pub pages: Vec<PagesSummary>,
}

/// A chunk of a checkpoint, and its rows that are still needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestChunk {
    /// The expected content of the file.
    pub summary: ChunkSummary,
    /// Rows that are needed: by a spilled job, or as the record of a resident one.
    pub live: Bits,
    /// Rows that are spilled jobs. Each of them is live.
    pub spilled: Bits,
}

impl Manifest {
    /// Reads the manifest; `None` if there is none: there never was a checkpoint.
    pub fn read<F: Folder>(folder: &F) -> Result<Option<Self>, StorageError> {
        let Some(file) = folder.open(MANIFEST)? else { return Ok(None) };
        let mut bytes = vec![0; usize::try_from(file.bytes()?).unwrap_or(0)];
        let read = file.read_at(0, &mut bytes)?;
        bytes.truncate(read);
        Self::decode(&bytes, folder.path()).map(Some)
    }

    /// The entry that the checkpoint stands for.
    pub(crate) fn base(&self) -> LogBase {
        LogBase { index: self.index, term: self.term, crc: self.log_crc }
    }

    /// Decodes a manifest in memory; `folder` is for error messages.
    pub(crate) fn decode(bytes: &[u8], folder: &Path) -> Result<Self, StorageError> {
        decode(bytes, folder)
    }

    /// Replaces the manifest; durable when it returns. Everything that it lists must be durable before, names
    /// included.
    ///
    /// # Panics
    ///
    /// As [`Self::stage`].
    pub fn write<F: Folder>(&self, folder: &F) -> Result<(), StorageError> {
        self.stage(folder)?.publish()
    }

    /// Writes it beside the present manifest, which stays valid.
    ///
    /// # Panics
    ///
    /// If it is inconsistent: files that are out of order, sets of rows of another chunk, a spilled row that is not
    /// live, numbers that leave no room for those that follow.
    pub fn stage<F: Folder>(&self, folder: &F) -> Result<StagedManifest<F>, StorageError> {
        assert!(self.makes_sense(), "the manifest of checkpoint {} makes no sense", self.checkpoint);
        let mut output = Output::create(folder, MANIFEST.to_owned())?;
        output.put(&self.encode())?;
        output.seal()?;
        Ok(StagedManifest { folder: folder.clone(), output })
    }

    /// Whether it lists the file with this name.
    pub(super) fn lists(&self, name: Numbered) -> bool {
        match name {
            Numbered::Chunk(number) => {
                self.chunks.binary_search_by_key(&number, |chunk| chunk.summary.number).is_ok()
            }
            Numbered::Pages(id) => self.pages.binary_search_by_key(&id, |pages| pages.id).is_ok(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let payload = options().serialize(self).expect("a manifest always encodes");
        let mut bytes = HEADER.encode().to_vec();
        bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
        seal(&mut bytes);
        bytes.extend_from_slice(&payload);
        bytes.extend_from_slice(&crc32c::crc32c(&payload).to_le_bytes());
        bytes
    }

    fn makes_sense(&self) -> bool {
        let leaves_room = self.checkpoint <= u64::from(u32::MAX / 2)
            && self.next_chunk <= NEXT_CHUNK_MAX
            && self.index <= COUNT_MAX
            && self.term <= COUNT_MAX;
        leaves_room
            && self.chunks.is_sorted_by(|one, next| one.summary.number < next.summary.number)
            && self.pages.is_sorted_by(|one, next| one.id < next.id)
            && self.pages.last().is_none_or(|last| u64::from(last.id.checkpoint) <= self.checkpoint)
            && self.chunks.last().is_none_or(|last| last.summary.number < self.next_chunk)
            && self.chunks.iter().all(|ManifestChunk { summary, live, spilled }| {
                live.rows() == summary.rows && spilled.rows() == summary.rows && spilled.is_subset(live)
            })
    }
}

/// A manifest that is durable, but not renamed yet.
pub struct StagedManifest<F: Folder> {
    folder: F,
    output: Output<F>,
}

impl<F: Folder> StagedManifest<F> {
    /// Publishes the manifest; durable when it returns. After a failure it is unknown which manifest is in place.
    pub fn publish(self) -> Result<(), StorageError> {
        self.output.finish()?;
        loop {
            match self.folder.sync() {
                // The rename cannot be undone: wait until the process has a free descriptor.
                Err(error) if error.is_shortage() => thread::sleep(SHORTAGE_PAUSE),
                synced => return synced,
            }
        }
    }
}

fn decode(bytes: &[u8], folder: &Path) -> Result<Manifest, StorageError> {
    let damaged =
        |damage| StorageError::Damaged { path: folder.to_owned(), damage: Damage::Manifest(damage) };
    let damaged_part = |part, at| damaged(FileDamage::Bytes { part, at });
    let found = bytes.len() as u64;
    match HEADER.check(bytes) {
        Err(HeaderError::Newer(version)) => return Err(newer(folder, MANIFEST, version, VERSION)),
        Err(_) if found >= HEADER_END => return Err(damaged_part(FilePart::Header, 0)),
        _ => {}
    }
    let least = (FRAME_BYTES + CRC_BYTES) as u64;
    let Some((frame, rest)) = bytes.split_at_checked(FRAME_BYTES) else {
        return Err(damaged(FileDamage::Short { found, expected: least }));
    };
    let length = sealed(frame).and_then(|frame| Fields(frame.get(HEADER_BYTES..)?).u64());
    let expected = length.and_then(|bytes| bytes.checked_add(least));
    let expected = expected.ok_or_else(|| damaged_part(FilePart::Header, 0))?;
    if found < expected {
        return Err(damaged(FileDamage::Short { found, expected }));
    }
    let payload = sealed(rest).filter(|_| found == expected);
    let manifest = payload.and_then(|payload| options().deserialize(payload).ok());
    let manifest = manifest.filter(Manifest::makes_sense);
    manifest.ok_or_else(|| damaged_part(FilePart::Payload, FRAME_BYTES as u64))
}

fn options() -> impl Options {
    bincode::DefaultOptions::new().with_varint_encoding()
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "lengths are known here")]
mod tests;
