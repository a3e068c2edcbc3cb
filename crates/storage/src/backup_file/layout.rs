//! The beginning and the end of a backup: header, table and footer. `docs/format.md` draws the bytes.

use crate::chunks::fields::{Fields, seal, sealed};
use crate::{BackupDamage, BackupPart, StorageError};
use adjourn_types::{GroupId, Millis};

use std::path::Path;

use bytes::Bytes;

/// The version of backups that this code writes, and the newest that it reads.
pub(crate) const VERSION: u32 = 1;
/// Bytes of the header.
pub(crate) const HEADER_BYTES: u64 = 112;
/// Bytes of the footer.
pub const FOOTER_BYTES: u64 = 32;

const MAGIC: [u8; 8] = *b"ADJBCKUP";
const FOOTER_MAGIC: [u8; 8] = *b"ADJBKEND";
/// Length of the part that is the same in every version: magic, version and their checksum, in bytes.
const FIXED_BYTES: usize = 16;
const NAME_BYTES: usize = 32;
const ENTRY_BYTES: u64 = 64;

/// The header of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupHeader {
    /// The cluster it was taken from.
    pub cluster_id: [u8; 16],
    /// The node it was taken from.
    pub node: u64,
    /// That node's clock when its checkpoint was durable.
    pub created_at: Millis,
    /// The group whose state it has.
    pub group: GroupId,
    /// The last entry that it contains.
    pub index: u64,
    /// That entry's term.
    pub term: u64,
    /// Jobs in the state.
    pub jobs: u64,
    /// Hash of the state.
    pub state_hash: u128,
    /// Files in it.
    pub files: u32,
    /// Its length, from the first byte of the header to the last one of the footer.
    pub bytes: u64,
}

/// A file in a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackupFile {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub at: u64,
    /// Its length.
    pub bytes: u64,
    /// XXH3-128: of the whole manifest; for other files the hash in their footer, of everything before it.
    pub hash: u128,
}

impl BackupHeader {
    /// Header and table.
    pub(crate) fn encode(&self, files: &[BackupFile]) -> Vec<u8> {
        let mut table = Vec::new();
        for BackupFile { name, at, bytes, hash } in files {
            let mut padded = [0; NAME_BYTES];
            padded.iter_mut().zip(name.bytes()).for_each(|(place, byte)| *place = byte);
            table.extend_from_slice(&padded);
            table.extend_from_slice(&at.to_le_bytes());
            table.extend_from_slice(&bytes.to_le_bytes());
            table.extend_from_slice(&hash.to_le_bytes());
        }
        let mut encoded = MAGIC.to_vec();
        encoded.extend_from_slice(&VERSION.to_le_bytes());
        seal(&mut encoded);
        encoded.extend_from_slice(&self.cluster_id);
        encoded.extend_from_slice(&self.node.to_le_bytes());
        encoded.extend_from_slice(&self.created_at.0.to_le_bytes());
        encoded.extend_from_slice(&u32::from(self.group.0).to_le_bytes());
        encoded.extend_from_slice(&self.files.to_le_bytes());
        for number in [self.index, self.term, self.jobs] {
            encoded.extend_from_slice(&number.to_le_bytes());
        }
        encoded.extend_from_slice(&self.state_hash.to_le_bytes());
        encoded.extend_from_slice(&self.bytes.to_le_bytes());
        encoded.extend_from_slice(&crc32c::crc32c(&table).to_le_bytes());
        seal(&mut encoded);
        encoded.extend_from_slice(&table);
        encoded
    }

    /// False if `bytes` are the beginning of something else than a backup, even a damaged one.
    pub(crate) fn is_begun_by(bytes: &[u8]) -> bool {
        let alike = MAGIC.iter().zip(bytes).filter(|(wanted, found)| wanted == found);
        alike.count() * 2 >= MAGIC.len().min(bytes.len())
    }

    /// Decodes the header at the beginning of `bytes`, and the checksum of the table. `path` is for error messages.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<(Self, u32), StorageError> {
        let damaged = || damaged(path, 0, BackupDamage::Part(BackupPart::Header));
        let fixed = bytes.get(..FIXED_BYTES).and_then(sealed).ok_or_else(damaged)?;
        let mut fields = Fields(fixed);
        let (magic, version) = (fields.take(), fields.u32().ok_or_else(damaged)?);
        if magic != Some(MAGIC) {
            return Err(damaged());
        }
        if version > VERSION {
            return Err(StorageError::NewerFormat { path: path.to_owned(), found: version, known: VERSION });
        }
        let read = || {
            let mut fields = Fields(sealed(bytes.get(..size(HEADER_BYTES))?)?.get(FIXED_BYTES..)?);
            let (cluster_id, node) = (fields.take()?, fields.u64()?);
            let created_at = Millis(fields.u64()?);
            let group = GroupId(u8::try_from(fields.u32()?).ok()?);
            let files = fields.u32()?;
            let (index, term, jobs) = (fields.u64()?, fields.u64()?, fields.u64()?);
            let (state_hash, bytes, table_crc) = (fields.u128()?, fields.u64()?, fields.u32()?);
            let header =
                Self { cluster_id, node, created_at, group, index, term, jobs, state_hash, files, bytes };
            (version == VERSION && header.files_at() + FOOTER_BYTES <= bytes).then_some((header, table_crc))
        };
        read().ok_or_else(damaged)
    }

    /// Where the first file begins.
    pub(crate) fn files_at(&self) -> u64 {
        HEADER_BYTES + u64::from(self.files) * ENTRY_BYTES
    }

    /// Decodes the table; `None` if its checksum does not match, or the files are not contiguous.
    pub(crate) fn decode_table(&self, bytes: &[u8], crc: u32) -> Option<Vec<BackupFile>> {
        let mut fields = Fields(bytes);
        let mut files = Vec::with_capacity(bytes.len() / size(ENTRY_BYTES));
        let mut end = self.files_at();
        for _ in 0..self.files {
            let name: [u8; NAME_BYTES] = fields.take()?;
            let name = std::str::from_utf8(&name).ok()?.trim_end_matches('\0').to_owned();
            let file = BackupFile { name, at: fields.u64()?, bytes: fields.u64()?, hash: fields.u128()? };
            (file.at == end).then_some(())?;
            end = end.checked_add(file.bytes)?;
            files.push(file);
        }
        let whole = end.checked_add(FOOTER_BYTES) == Some(self.bytes) && crc32c::crc32c(bytes) == crc;
        whole.then_some(files)
    }
}

/// The footer of a backup of `bytes` bytes, footer included. `hash` covers everything before the footer.
pub fn footer(hash: u128, bytes: u64) -> Bytes {
    [&hash.to_le_bytes()[..], &bytes.to_le_bytes(), &FOOTER_MAGIC].concat().into()
}

/// The hash in a footer; `None` if it is not the footer of a backup of `bytes` bytes.
pub(crate) fn footer_hash(footer: &[u8], bytes: u64) -> Option<u128> {
    let mut fields = Fields(footer);
    let (hash, found) = (fields.u128()?, fields.u64()?);
    (found == bytes && fields.take() == Some(FOOTER_MAGIC) && fields.0.is_empty()).then_some(hash)
}

pub(crate) fn damaged(path: &Path, at: u64, damage: BackupDamage) -> StorageError {
    StorageError::DamagedBackup { path: path.to_owned(), at, damage }
}

/// A length that was already checked against the file.
pub(crate) fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
