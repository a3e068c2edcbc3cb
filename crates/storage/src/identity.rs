//! The identity file: whose data a directory holds, so that an emptied one is never taken for a new one.
//!
//! It is written under another name, synced and renamed: there is never half of one.
//!
//! ```text
//!  0       8         12           16     24        40        56       60    64
//!  | magic | version | header crc | node | cluster | storage | origin | crc |
//!  | ADJOURN 0 | u32 | u32        | u64  | 16      | 16      | u32    | u32 |
//! ```
//!
//! Little-endian. `header crc` is the CRC32C of the 12 bytes before it, at the same place in every version: so a flipped
//! bit in the version is not taken for a file from the future. `origin` is 1 in a directory in which a cluster was
//! founded, 2 in one that joined a cluster. `crc` covers the 60 bytes before it.

use std::cmp::Ordering;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use super::{StorageError, sync};

/// The format of a data directory.
pub(super) const FORMAT: u32 = 1;

const MAGIC: [u8; 8] = *b"ADJOURN\0";
const BYTES: usize = 64;
const HEADER_CRC_AT: usize = 12;
const CRC_AT: usize = BYTES - 4;
const FOUNDED: u32 = 1;
const JOINED: u32 = 2;

/// Whose data it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// The node's number in its group.
    pub(super) node: u64,
    /// The cluster that it belongs to.
    pub(super) cluster_id: [u8; 16],
    /// The id of this copy of the data. It changes when a loss is accepted.
    pub(super) storage_id: [u8; 16],
    /// True if the cluster began here: its first configuration is this node alone. Other directories have none until
    /// they get it from a checkpoint or from entries of other members.
    pub(super) founder: bool,
}

/// Why bytes are not an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IdentityError {
    /// Incomplete or damaged.
    Damaged,
    /// Intact, but of a later format.
    Newer(u32),
}

impl Identity {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes.extend_from_slice(&self.node.to_le_bytes());
        bytes.extend_from_slice(&self.cluster_id);
        bytes.extend_from_slice(&self.storage_id);
        bytes.extend_from_slice(&if self.founder { FOUNDED } else { JOINED }.to_le_bytes());
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Reads an identity.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, IdentityError> {
        let (header, rest) = bytes.split_at_checked(HEADER_CRC_AT).ok_or(IdentityError::Damaged)?;
        let (header_crc, rest) = rest.split_first_chunk().ok_or(IdentityError::Damaged)?;
        let (magic, version) = header.split_at(MAGIC.len());
        if magic != MAGIC || crc32c::crc32c(header) != u32::from_le_bytes(*header_crc) {
            return Err(IdentityError::Damaged);
        }
        let version = version.try_into().map(u32::from_le_bytes).map_err(|_| IdentityError::Damaged)?;
        match version.cmp(&FORMAT) {
            Ordering::Less => return Err(IdentityError::Damaged),
            Ordering::Equal => {}
            Ordering::Greater => return Err(IdentityError::Newer(version)),
        }
        let (covered, crc) = bytes.split_at_checked(CRC_AT).ok_or(IdentityError::Damaged)?;
        if crc32c::crc32c(covered).to_le_bytes() != crc {
            return Err(IdentityError::Damaged);
        }
        let fields = || {
            let (node, rest) = rest.split_first_chunk()?;
            let (cluster_id, rest) = rest.split_first_chunk()?;
            let (storage_id, rest) = rest.split_first_chunk()?;
            let (origin, _) = rest.split_first_chunk()?;
            let founder = match u32::from_le_bytes(*origin) {
                FOUNDED => true,
                JOINED => false,
                _ => return None,
            };
            let (node, cluster_id, storage_id) = (u64::from_le_bytes(*node), *cluster_id, *storage_id);
            Some(Self { node, cluster_id, storage_id, founder })
        };
        fields().ok_or(IdentityError::Damaged)
    }

    /// Writes it to `path`, replacing a file there, and syncs the file, but not its directory.
    pub(super) fn write(&self, path: &Path) -> Result<(), StorageError> {
        let write = || -> io::Result<File> {
            // An earlier process may have left a file and failed to sync it: it is removed, not overwritten.
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let mut file = File::create_new(path)?;
            file.write_all(&self.encode())?;
            Ok(file)
        };
        let file = write().map_err(|error| StorageError::io("write", path, error))?;
        sync::file(&file, path)
    }

    /// Reads a file; the outer error is the system's.
    pub(super) fn read(path: &Path) -> Result<Result<Self, IdentityError>, StorageError> {
        let bytes = fs::read(path).map_err(|error| StorageError::io("read", path, error))?;
        Ok(Self::decode(&bytes))
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "lengths are known here")]
mod tests {
    use super::*;

    const IDENTITY: Identity = Identity { node: 3, cluster_id: [1; 16], storage_id: [2; 16], founder: true };

    #[test]
    fn what_is_written_is_read() {
        let bytes = IDENTITY.encode();
        assert_eq!(bytes.len(), BYTES);
        assert_eq!(bytes[..HEADER_CRC_AT], *b"ADJOURN\0\x01\0\0\0");
        assert_eq!(Identity::decode(&bytes), Ok(IDENTITY));
        let joined = Identity { founder: false, ..IDENTITY };
        assert_eq!(Identity::decode(&joined.encode()), Ok(joined));
    }

    #[test]
    fn an_origin_that_nobody_knows_is_damage() {
        let mut bytes = IDENTITY.encode();
        bytes[CRC_AT - 4] = 3;
        let crc = crc32c::crc32c(&bytes[..CRC_AT]).to_le_bytes();
        bytes[CRC_AT..].copy_from_slice(&crc);
        assert_eq!(Identity::decode(&bytes), Err(IdentityError::Damaged));
    }

    #[test]
    fn every_cut_and_every_flipped_bit_is_damage() {
        let bytes = IDENTITY.encode();
        for length in 0..bytes.len() {
            assert_eq!(Identity::decode(&bytes[..length]), Err(IdentityError::Damaged), "{length} bytes");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Identity::decode(&flipped), Err(IdentityError::Damaged), "bit {bit}");
        }
    }

    #[test]
    fn there_is_no_format_before_the_first() {
        let mut bytes = [&MAGIC[..], &0_u32.to_le_bytes()].concat();
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        assert_eq!(Identity::decode(&bytes), Err(IdentityError::Damaged));
    }

    #[test]
    fn a_later_format_is_told_from_damage_whatever_follows() {
        let later = FORMAT + 1;
        let mut bytes = [&MAGIC[..], &later.to_le_bytes()].concat();
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        assert_eq!(Identity::decode(&bytes), Err(IdentityError::Newer(later)));
        bytes.extend_from_slice(b"something else");
        assert_eq!(Identity::decode(&bytes), Err(IdentityError::Newer(later)));
    }
}
