//! A small file of two checksummed slots: its values survive a crash in the middle of being replaced.
//!
//! The slots lie in different blocks of 4 KiB, so that no write touches both. A write overwrites the older slot
//! and is synced; if it is torn, the other slot still holds the previous values. Reading takes the valid slot
//! with the higher sequence. Both bad: the file is damaged, nothing is guessed.
//!
//! ```text
//!  0       4         8          16      24       32      40    44
//!  | magic | version | sequence | first | second | third | crc |      the second slot: the same at 4096
//!  |       | u32     | u64      | u64   | u64    | u64   | u32 |
//! ```
//!
//! All numbers are little-endian; `crc` is the CRC32C of the 40 bytes before it. The owner of the file defines
//! the three numbers and the magic.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{StorageError, sync};

/// What a file holds.
pub(super) type Values = [u64; 3];
/// One slot, as it lies in the file.
pub(super) type FileSlot = [u8; SLOT_BYTES];

const VERSION: u32 = 1;
/// Bytes of a slot.
pub(super) const SLOT_BYTES: usize = 44;
const CRC_AT: usize = SLOT_BYTES - 4;
const SLOT_SPACING: u64 = 4096;
const FILE_BYTES: usize = 2 * 4096;

/// An open file of two slots.
#[derive(Debug)]
pub(super) struct SlotFile {
    file: File,
    path: PathBuf,
    magic: [u8; 4],
    sequence: u64,
    /// Which slot holds the newest values: 0 or 1.
    newest: u64,
    values: Values,
}

impl SlotFile {
    /// Writes a new file, over an old one if there is one, and syncs it; not its directory.
    pub(super) fn create(path: &Path, magic: [u8; 4], values: Values) -> Result<Self, StorageError> {
        let fail = |action| move |source| StorageError::io(action, path, source);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .map_err(fail("create"))?;
        // The space of both slots is taken now: a full disk later stops no vote.
        file.write_all_at(&[0; FILE_BYTES], 0).map_err(fail("write"))?;
        let mut slots = Self { file, path: path.to_owned(), magic, sequence: 0, newest: 1, values };
        slots.write(values)?;
        sync::file(&slots.file, path)?;
        Ok(slots)
    }

    /// Opens a file; `None` if neither slot is valid or there is no file.
    pub(super) fn open(path: &Path, magic: [u8; 4]) -> Result<Option<Self>, StorageError> {
        Self::open_for(OpenOptions::new().read(true).write(true), path, magic)
    }

    /// What a file holds, which is opened for reading alone; `None` as for [`open`](Self::open).
    pub(super) fn read(path: &Path, magic: [u8; 4]) -> Result<Option<Values>, StorageError> {
        Ok(Self::open_for(OpenOptions::new().read(true), path, magic)?.map(|slots| slots.values))
    }

    fn open_for(options: &OpenOptions, path: &Path, magic: [u8; 4]) -> Result<Option<Self>, StorageError> {
        let file = match options.open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StorageError::io("open", path, error)),
        };
        let mut slots = [[0; SLOT_BYTES]; 2];
        for (slot, offset) in slots.iter_mut().zip([0, SLOT_SPACING]) {
            match file.read_exact_at(slot, offset) {
                // A slot that is cut short decodes to nothing.
                Err(error) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                    return Err(StorageError::io("read", path, error));
                }
                _ => {}
            }
        }
        let path = path.to_owned();
        Ok(newest(&slots, magic).map(|(newest, sequence, values)| {
            let newest = u64::from(newest == 1);
            Self { file, path, magic, sequence, newest, values }
        }))
    }

    /// The values written last.
    pub(super) fn values(&self) -> Values {
        self.values
    }

    /// Replaces the values; durable when it returns.
    pub(super) fn write(&mut self, values: Values) -> Result<(), StorageError> {
        let older = 1 - self.newest;
        let bytes = encode(self.magic, self.sequence + 1, values);
        self.file
            .write_all_at(&bytes, older * SLOT_SPACING)
            .map_err(|error| StorageError::io("write", &self.path, error))?;
        sync::data(&self.file, &self.path)?;
        (self.sequence, self.newest, self.values) = (self.sequence + 1, older, values);
        Ok(())
    }
}

/// The valid slot with the higher sequence: its number, its sequence and what it holds.
pub(super) fn newest(slots: &[FileSlot; 2], magic: [u8; 4]) -> Option<(usize, u64, Values)> {
    let valid = slots.iter().enumerate().filter_map(|(number, slot)| {
        let (sequence, values) = decode(slot, magic)?;
        Some((number, sequence, values))
    });
    valid.max_by_key(|(_, sequence, _)| *sequence)
}

/// A slot that holds these values.
pub(super) fn encode(magic: [u8; 4], sequence: u64, values: Values) -> FileSlot {
    let mut bytes = [0; SLOT_BYTES];
    let fields = magic
        .into_iter()
        .chain(VERSION.to_le_bytes())
        .chain(sequence.to_le_bytes())
        .chain(values.into_iter().flat_map(u64::to_le_bytes));
    for (place, byte) in bytes.iter_mut().zip(fields) {
        *place = byte;
    }
    let (covered, crc) = bytes.split_at_mut(CRC_AT);
    crc.copy_from_slice(&crc32c::crc32c(covered).to_le_bytes());
    bytes
}

fn decode(bytes: &FileSlot, magic: [u8; 4]) -> Option<(u64, Values)> {
    let (covered, crc) = bytes.split_at(CRC_AT);
    let valid = crc32c::crc32c(covered).to_le_bytes() == crc;
    let (found, rest) = covered.split_first_chunk()?;
    let (version, rest) = rest.split_first_chunk()?;
    let (sequence, rest) = rest.split_first_chunk()?;
    let (first, rest) = rest.split_first_chunk()?;
    let (second, rest) = rest.split_first_chunk()?;
    let (third, _) = rest.split_first_chunk()?;
    let ours = *found == magic && u32::from_le_bytes(*version) == VERSION;
    let values = [first, second, third].map(|number| u64::from_le_bytes(*number));
    (valid && ours).then_some((u64::from_le_bytes(*sequence), values))
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "lengths are known here")]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    const MAGIC: [u8; 4] = *b"TEST";

    /// A file that holds `old`, with `new` written over it up to `torn` bytes.
    fn torn(directory: &TempDir, old: Values, new: Values, torn: usize) -> PathBuf {
        let path = directory.path().join("slots");
        let mut slots = SlotFile::create(&path, MAGIC, [0, 0, 0]).expect("created");
        slots.write(old).expect("written");
        let before = fs::read(&path).expect("read");
        slots.write(new).expect("written");
        let mut after = fs::read(&path).expect("read");
        let at = if slots.newest == 0 { 0 } else { 4096 };
        after[at + torn..at + SLOT_BYTES].copy_from_slice(&before[at + torn..at + SLOT_BYTES]);
        fs::write(&path, after).expect("written");
        path
    }

    fn read(path: &Path) -> Option<Values> {
        SlotFile::open(path, MAGIC).expect("read").map(|slots| slots.values())
    }

    #[test]
    fn the_newest_values_come_back() {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("slots");
        assert_eq!(read(&path), None);
        drop(SlotFile::create(&path, MAGIC, [1, 2, 3]).expect("created"));
        for values in [[3, 4, 5], [u64::MAX, 0, u64::MAX], [0, 7, 0], [5, 5, 5]] {
            let mut slots = SlotFile::open(&path, MAGIC).expect("read").expect("valid");
            slots.write(values).expect("written");
            assert_eq!((slots.values(), read(&path)), (values, Some(values)));
        }
        assert!(SlotFile::open(&path, *b"ELSE").expect("read").is_none(), "another file's magic");
    }

    #[test]
    fn a_torn_write_leaves_the_old_values_or_the_new() {
        let directory = TempDir::new().expect("a directory");
        let (old, new) = ([11, 12, 13], [21, 22, 23]);
        for length in 0..=SLOT_BYTES {
            let path = torn(&directory, old, new, length);
            let expected = if length == SLOT_BYTES { new } else { old };
            assert_eq!(read(&path), Some(expected), "torn after {length} bytes");
            let mut slots = SlotFile::open(&path, MAGIC).expect("read").expect("valid");
            slots.write([31, 32, 33]).expect("it goes on");
            assert_eq!(read(&path), Some([31, 32, 33]));
        }
    }

    #[test]
    fn every_flipped_bit_brings_back_the_other_slot_and_two_nothing() {
        let directory = TempDir::new().expect("a directory");
        let path = torn(&directory, [11, 12, 13], [21, 22, 23], SLOT_BYTES);
        let whole = fs::read(&path).expect("read");
        let newest = SlotFile::open(&path, MAGIC).expect("read").expect("valid").newest;
        let (at, other) = if newest == 0 { (0, 4096) } else { (4096, 0) };
        for bit in 0..SLOT_BYTES * 8 {
            let mut flipped = whole.clone();
            flipped[at + bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &flipped).expect("written");
            assert_eq!(read(&path), Some([11, 12, 13]), "bit {bit}");
            flipped[other] ^= 1;
            fs::write(&path, &flipped).expect("written");
            assert_eq!(read(&path), None, "bit {bit}");
        }
    }

    #[test]
    fn a_file_that_was_cut_short_is_not_read_past_its_end() {
        let directory = TempDir::new().expect("a directory");
        let path = torn(&directory, [11, 12, 13], [21, 22, 23], SLOT_BYTES);
        for length in [0, 1, SLOT_BYTES - 1] {
            fs::write(&path, &fs::read(&path).expect("read")[..length.min(SLOT_BYTES)]).expect("cut");
            assert_eq!(read(&path), None, "{length} bytes");
            torn(&directory, [11, 12, 13], [21, 22, 23], SLOT_BYTES);
        }
    }
}
