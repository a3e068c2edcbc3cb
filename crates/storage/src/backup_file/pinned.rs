//! A checkpoint whose files are held open, readable as a backup.
//!
//! An open file stays readable after its name was removed, so this stays the checkpoint as it was, whatever the node
//! does meanwhile. It ends when it is dropped; there is nothing to clean up after a crash. No byte is copied: header
//! and table are generated, the rest is read from the files. The reader writes the footer.

use std::collections::BTreeMap;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_128;

use super::layout::{BackupFile, BackupHeader, FOOTER_BYTES};
use crate::chunks::{Chunk, MANIFEST, Manifest, PagesSummary, chunk_name, pages_name};
use crate::folder::{Folder, FolderFile};
use crate::{Damage, FileDamage, StorageError};
use adjourn_types::{GroupId, Millis};

/// Where a backup comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupOrigin {
    /// The cluster.
    pub cluster_id: [u8; 16],
    /// The node.
    pub node: u64,
    /// The node's clock.
    pub created_at: Millis,
}

/// A checkpoint whose files are held open.
#[derive(Debug)]
pub struct PinnedBackup {
    header: BackupHeader,
    /// Header and table.
    head: Vec<u8>,
    files: Vec<(BackupFile, Arc<dyn FolderFile>)>,
}

impl PinnedBackup {
    /// Opens every file of the newest checkpoint, except the chunks that are open already. The caller must not write a
    /// checkpoint meanwhile.
    pub fn open<F: Folder>(
        folder: &F,
        origin: BackupOrigin,
        held: &[Arc<Chunk>],
    ) -> Result<Self, StorageError> {
        let held = |number| held.iter().find(|chunk| chunk.summary().number == number);
        let missing = |damage| StorageError::Damaged { path: folder.path().to_owned(), damage };
        let opened = |name: &str, damage| folder.open(name)?.ok_or_else(|| missing(damage)).map(Arc::new);
        let file = opened(MANIFEST, Damage::Manifest(FileDamage::Missing))?;
        let mut bytes = vec![0; usize::try_from(file.bytes()?).unwrap_or(0)];
        let read = file.read_at(0, &mut bytes)?;
        bytes.truncate(read);
        let manifest = Manifest::decode(&bytes, folder.path())?;
        let mut files: Vec<(BackupFile, Arc<dyn FolderFile>)> = Vec::new();
        let mut add = |name: String, bytes, hash, file| {
            files.push((BackupFile { name, at: 0, bytes, hash }, file));
        };
        add(MANIFEST.to_owned(), bytes.len() as u64, xxh3_128(&bytes), file);
        for pages in &manifest.pages {
            let name = pages_name(pages.id);
            let PagesSummary { id, entries, .. } = *pages;
            let damage = Damage::Pages { id, entries, damage: FileDamage::Missing };
            let file = opened(&name, damage)?;
            add(name, pages.bytes, pages.hash, file);
        }
        for listed in &manifest.chunks {
            let summary = &listed.summary;
            let name = chunk_name(summary.number);
            let damage = || Damage::Chunk {
                summary: Box::new(summary.clone()),
                topics: BTreeMap::new(),
                damage: FileDamage::Missing,
            };
            let file: Arc<dyn FolderFile> = match held(summary.number) {
                Some(chunk) => chunk.file(),
                None => opened(&name, damage())?,
            };
            add(name, summary.bytes, summary.hash, file);
        }
        Ok(Self::compose(&manifest, origin, files))
    }

    fn compose(
        manifest: &Manifest,
        origin: BackupOrigin,
        mut files: Vec<(BackupFile, Arc<dyn FolderFile>)>,
    ) -> Self {
        let BackupOrigin { cluster_id, node, created_at } = origin;
        let mut header = BackupHeader {
            cluster_id,
            node,
            created_at,
            group: GroupId(manifest.group),
            index: manifest.index,
            term: manifest.term,
            jobs: manifest.jobs,
            state_hash: manifest.state_hash,
            files: u32::try_from(files.len()).unwrap_or(u32::MAX),
            bytes: 0,
        };
        let mut end = header.files_at();
        for (file, _) in &mut files {
            file.at = end;
            end += file.bytes;
        }
        header.bytes = end + FOOTER_BYTES;
        let table: Vec<BackupFile> = files.iter().map(|(file, _)| file.clone()).collect();
        Self { head: header.encode(&table), header, files }
    }

    /// The header of the backup.
    pub fn header(&self) -> &BackupHeader {
        &self.header
    }

    /// Fills `buffer` from `offset` on. Returns how many bytes there were: fewer than were asked for only where the
    /// footer begins.
    pub fn read_at(&self, offset: u64, mut buffer: &mut [u8]) -> Result<usize, StorageError> {
        let mut at = offset;
        let head = self.head.get(usize::try_from(at).unwrap_or(usize::MAX)..).unwrap_or_default();
        let count = head.len().min(buffer.len());
        for (place, byte) in buffer.iter_mut().zip(head) {
            *place = *byte;
        }
        buffer = buffer.get_mut(count..).unwrap_or_default();
        at += count as u64;
        for (file, open) in &self.files {
            let end = file.at + file.bytes;
            if at < file.at || at >= end || buffer.is_empty() {
                continue;
            }
            let (part, rest) =
                buffer.split_at_mut(usize::try_from(end - at).unwrap_or(usize::MAX).min(buffer.len()));
            let read = open.read_at(at - file.at, part)?;
            at += read as u64;
            if read < part.len() {
                // The file has become shorter since the checkpoint was written.
                break;
            }
            buffer = rest;
        }
        Ok(usize::try_from(at - offset).unwrap_or(usize::MAX))
    }
}
