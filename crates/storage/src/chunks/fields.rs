//! What the files of a checkpoint have in common: their header, and how fixed fields are read.
//!
//! ```text
//!  0       8         12       16    20
//!  | magic | version | number | crc |
//!  |       | u32     | u32    | u32 |
//! ```
//!
//! Little-endian. `crc` is the CRC32C of the 16 bytes before it, at the same place in every version: so a flipped bit
//! in the version is not taken for a file from the future.

use std::path::Path;

use super::super::StorageError;

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = 20;
/// The same, as an offset in a file.
pub(super) const HEADER_END: u64 = 20;

/// Which file it is, as its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) magic: [u8; 8],
    pub(super) version: u32,
    pub(super) number: u32,
}

/// Why bytes are not the header that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeaderError {
    /// Incomplete, damaged, or of another kind of file.
    Damaged,
    /// Intact, but of a later format.
    Newer(u32),
    /// Intact, but of another file.
    OtherNumber,
}

impl Header {
    pub(super) fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let fields =
            self.magic.into_iter().chain(self.version.to_le_bytes()).chain(self.number.to_le_bytes());
        bytes.iter_mut().zip(fields).for_each(|(place, byte)| *place = byte);
        let (covered, crc) = bytes.split_at_mut(HEADER_BYTES - 4);
        crc.copy_from_slice(&crc32c::crc32c(covered).to_le_bytes());
        bytes
    }

    /// Checks that these bytes are this header.
    pub(super) fn check(self, bytes: &[u8]) -> Result<(), HeaderError> {
        let read = || {
            let mut fields = Fields(sealed(bytes.get(..HEADER_BYTES)?)?);
            Some(Self { magic: fields.take()?, version: fields.u32()?, number: fields.u32()? })
        };
        match read() {
            Some(found) if found.magic != self.magic => Err(HeaderError::Damaged),
            Some(found) if found.version > self.version => Err(HeaderError::Newer(found.version)),
            Some(found) if found.version != self.version => Err(HeaderError::Damaged),
            Some(found) if found.number != self.number => Err(HeaderError::OtherNumber),
            Some(_) => Ok(()),
            None => Err(HeaderError::Damaged),
        }
    }
}

/// Bytes that are read field by field.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub(crate) fn u128(&mut self) -> Option<u128> {
        self.take().map(u128::from_le_bytes)
    }
}

/// The bytes before a CRC32C at the end, if it matches them.
pub(crate) fn sealed(bytes: &[u8]) -> Option<&[u8]> {
    let (covered, crc) = bytes.split_last_chunk()?;
    (crc32c::crc32c(covered) == u32::from_le_bytes(*crc)).then_some(covered)
}

/// Appends the CRC32C of the bytes so far.
pub(crate) fn seal(bytes: &mut Vec<u8>) {
    let crc = crc32c::crc32c(bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
}

/// A length as it is written.
///
/// # Panics
///
/// If it does not fit: the limits of jobs make that impossible.
pub(super) fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).expect("nothing that is written in one piece has 4 GiB")
}

/// The error for a file that a later version wrote.
pub(super) fn newer(folder: &Path, name: &str, found: u32, known: u32) -> StorageError {
    StorageError::NewerFormat { path: folder.join(name), found, known }
}
