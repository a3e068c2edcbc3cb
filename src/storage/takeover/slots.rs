//! Reads a small file of two checksummed slots, as format 1 had for the vote and for the watermark.
//!
//! ```text
//!  0       4         8          16      24       32      40    44
//!  | magic | version | sequence | first | second | third | crc |      the second slot: the same at 4096
//!  |       | u32     | u64      | u64   | u64    | u64   | u32 |
//! ```
//!
//! All numbers are little-endian; `crc` is the CRC32C of the 40 bytes before it. The valid slot with the higher sequence
//! counts.

const VERSION: u32 = 1;
const CRC_AT: usize = 40;
const SLOT_SPACING: usize = 4096;

/// What a file holds; `None` if neither slot is valid.
pub(super) fn read(file: &[u8], magic: [u8; 4]) -> Option<[u64; 3]> {
    let slots = [file, file.get(SLOT_SPACING..).unwrap_or_default()];
    let valid = slots.into_iter().filter_map(|slot| decode(slot, magic));
    valid.max_by_key(|(sequence, _)| *sequence).map(|(_, values)| values)
}

fn decode(slot: &[u8], magic: [u8; 4]) -> Option<(u64, [u64; 3])> {
    let (covered, crc) = slot.split_at_checked(CRC_AT)?;
    let is_valid = crc32c::crc32c(covered).to_le_bytes() == *crc.first_chunk()?;
    let (found, rest) = covered.split_first_chunk()?;
    let (version, rest) = rest.split_first_chunk()?;
    let mut numbers =
        rest.chunks_exact(8).filter_map(|number| number.try_into().ok().map(u64::from_le_bytes));
    let mut next = || numbers.next();
    let (sequence, values) = (next()?, [next()?, next()?, next()?]);
    (is_valid && *found == magic && u32::from_le_bytes(*version) == VERSION).then_some((sequence, values))
}
