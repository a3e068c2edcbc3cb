//! Backups: a checkpoint in one file.
//!
//! [`Backup`] is a [backup file](crate::backup_file). Opening it reads its header, its table and its manifest;
//! [`Backup::verify`] reads all of it and trusts nothing; [`Backup::restore`] creates a data directory from it.
//!
//! Every byte is under a checksum or a hash of the part that it is in, so damage is reported with its place. The hash of the
//! whole file, in the footer, is for tools that know nothing else of the format.

mod folder;
mod restore;
mod unpack;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::audit::{Depth, audit};
use super::backup_file::layout::{HEADER_BYTES, damaged, footer_hash, size};
use super::backup_file::{BackupFile, BackupHeader, FOOTER_BYTES};
use super::chunks::{MANIFEST, Manifest, chunk_name, pages_name};
use super::folder::{DiskFile, FolderFile as _};
use super::inspect::CheckpointReport;
use super::{BackupDamage, BackupPart, Damage, FileDamage, StorageError};

pub use folder::{BackupFolder, BackupPartFile, NoWriter};
pub use restore::RestoreOptions;

/// The size of one read, in bytes.
const READ_BYTES: usize = 1 << 20;

/// A backup that is open for reading.
#[derive(Debug)]
pub struct Backup {
    path: PathBuf,
    file: Arc<DiskFile>,
    header: BackupHeader,
    folder: BackupFolder,
    manifest: Manifest,
}

impl Backup {
    /// Opens a backup: checks only its length, header, table, manifest and footer.
    pub fn open(path: &Path) -> Result<Self, StorageError> {
        let file = DiskFile::open(path)?.ok_or_else(|| StorageError::NoBackup { path: path.to_owned() })?;
        Self::of(file, path)
    }

    /// Like [`open`](Self::open), for an open file, which may have no name. Errors call it `path`.
    pub fn of(file: DiskFile, path: &Path) -> Result<Self, StorageError> {
        let part = |at, part| damaged(path, at, BackupDamage::Part(part));
        let read = |at, bytes| read_part(&file, path, at, bytes);
        let found = file.bytes()?;
        let begin = read(0, HEADER_BYTES.min(found))?;
        if !BackupHeader::is_begun_by(&begin) {
            return Err(StorageError::NotABackup { path: path.to_owned() });
        }
        let (header, table_crc) = BackupHeader::decode(&begin, path)
            .map_err(|error| if found < HEADER_BYTES { short(path, found, HEADER_BYTES) } else { error })?;
        if found < header.bytes {
            return Err(short(path, found, header.bytes));
        }
        if found > header.bytes {
            return Err(damaged(path, header.bytes, BackupDamage::Long));
        }
        let table = read(HEADER_BYTES, header.files_at() - HEADER_BYTES)?;
        let table = header.decode_table(&table, table_crc);
        let table = table.ok_or_else(|| part(HEADER_BYTES, BackupPart::Table))?;
        let footer_at = header.bytes - FOOTER_BYTES;
        let footer = footer_hash(&read(footer_at, FOOTER_BYTES)?, header.bytes);
        footer.ok_or_else(|| part(footer_at, BackupPart::Footer))?;
        let listed = table.iter().find(|file| file.name == MANIFEST);
        let listed = listed.ok_or_else(|| part(HEADER_BYTES, BackupPart::Table))?.clone();
        let bytes = read(listed.at, listed.bytes)?;
        if xxh3_128(&bytes) != listed.hash {
            return Err(part(listed.at, BackupPart::Manifest));
        }
        let manifest = Manifest::decode(&bytes, path).map_err(|error| match error {
            StorageError::Damaged { .. } => part(listed.at, BackupPart::Manifest),
            other => other,
        })?;
        if !header.is_of(&manifest) {
            return Err(part(0, BackupPart::Header));
        }
        if !table.iter().skip(1).map(of_file).eq(files_of(&manifest)) || table.first() != Some(&listed) {
            return Err(part(HEADER_BYTES, BackupPart::Table));
        }
        let file = Arc::new(file);
        let folder = BackupFolder::new(path, Arc::clone(&file), table);
        Ok(Self { path: path.to_owned(), file, header, folder, manifest })
    }

    /// The header of the backup.
    pub fn header(&self) -> &BackupHeader {
        &self.header
    }

    /// The files in the backup, in their order.
    pub fn files(&self) -> &[BackupFile] {
        self.folder.files()
    }

    /// The checkpoint, as its manifest describes it.
    pub fn checkpoint(&self) -> CheckpointReport {
        CheckpointReport::new(&self.manifest)
    }

    /// Reads all of it: checks every checksum, hash and record, and recomputes the counts and the hash of the state.
    /// `progress` is told how many bytes are done, of twice its length: it is read once for its parts and once for
    /// its hash.
    pub fn verify(&self, mut progress: impl FnMut(u64)) -> Result<(), StorageError> {
        self.audit(Depth::Whole, &mut progress)?;
        let end = self.header.bytes - FOOTER_BYTES;
        let mut hasher = Xxh3::new();
        let mut at = 0;
        while at < end {
            let bytes = read_part(&self.file, &self.path, at, (end - at).min(READ_BYTES as u64))?;
            hasher.update(&bytes);
            at += bytes.len() as u64;
            progress(self.header.bytes + at);
        }
        let footer = read_part(&self.file, &self.path, end, FOOTER_BYTES)?;
        if footer_hash(&footer, self.header.bytes) == Some(hasher.digest128()) {
            return Ok(());
        }
        Err(damaged(&self.path, end, BackupDamage::Part(BackupPart::Footer)))
    }

    /// Reads all of its files and checks every checksum and hash, but decodes nothing. `progress` is told how many of its
    /// bytes are done.
    pub fn verify_files(&self, progress: impl FnMut(u64)) -> Result<(), StorageError> {
        self.audit(Depth::Files, progress)
    }

    fn audit(&self, depth: Depth, progress: impl FnMut(u64)) -> Result<(), StorageError> {
        let found =
            audit(&self.folder, &self.manifest, depth, progress).map_err(|error| self.located(error))?;
        found.into_iter().next().map_or(Ok(()), |first| Err(self.located(first)))
    }

    /// Turns damage of one file into damage at its offset in the backup.
    fn located(&self, error: StorageError) -> StorageError {
        let StorageError::Damaged { damage, .. } = error else { return error };
        let (name, within) = match &damage {
            Damage::Chunk { summary, damage, .. } => (chunk_name(summary.number), within(damage)),
            Damage::Pages { id, damage, .. } => (pages_name(*id), within(damage)),
            Damage::Manifest(damage) => (MANIFEST.to_owned(), within(damage)),
            _ => (MANIFEST.to_owned(), 0),
        };
        let at = self.folder.find(&name).map_or(0, |file| file.at) + within;
        damaged(&self.path, at, BackupDamage::File(Box::new(damage)))
    }
}

impl BackupHeader {
    /// True if header and manifest describe the same state.
    fn is_of(&self, manifest: &Manifest) -> bool {
        (self.group.0, self.index, self.term, self.jobs, self.state_hash)
            == (manifest.group, manifest.index, manifest.term, manifest.jobs, manifest.state_hash)
    }
}

/// The offset of the damage in its file, or 0 if it is not known.
fn within(damage: &FileDamage) -> u64 {
    match damage {
        FileDamage::Bytes { at, .. } => *at,
        FileDamage::Short { found, .. } => *found,
        _ => 0,
    }
}

/// The files beside the manifest, as the table must list them: name, length, hash.
fn files_of(manifest: &Manifest) -> impl Iterator<Item = (String, u64, u128)> + '_ {
    let pages = manifest.pages.iter().map(|pages| (pages_name(pages.id), pages.bytes, pages.hash));
    let chunks = manifest.chunks.iter().map(|listed| &listed.summary);
    pages.chain(chunks.map(|chunk| (chunk_name(chunk.number), chunk.bytes, chunk.hash)))
}

fn of_file(file: &BackupFile) -> (String, u64, u128) {
    (file.name.clone(), file.bytes, file.hash)
}

/// Reads a part; the length of the file was checked before.
fn read_part(file: &DiskFile, path: &Path, at: u64, bytes: u64) -> Result<Vec<u8>, StorageError> {
    let mut part = vec![0; size(bytes)];
    let read = file.read_at(at, &mut part)?;
    if read == part.len() { Ok(part) } else { Err(short(path, at + read as u64, at + bytes)) }
}

fn short(path: &Path, found: u64, expected: u64) -> StorageError {
    damaged(path, found, BackupDamage::Short { expected })
}
