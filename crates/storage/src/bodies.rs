//! The records that are in memory: key, attributes and body of each, found by place.
//!
//! A record is one block of bytes, so that it costs a job one allocation and 16 bytes of table:
//!
//! ```text
//! key length + 1, or 0 for no key  u16 | attributes length  u16 | key | attributes | body
//! ```
//!
//! The row of a chunk has the same block. The place of a forgotten record is reused.

use bytes::Bytes;

use adjourn_engine::slab::Slab;
use adjourn_engine::{BodyRef, Place, Record};

/// Bytes before a record's key.
const HEAD_BYTES: usize = 4;
/// Estimated overhead of an allocation, in bytes.
const ALLOCATION_BYTES: usize = 16;

/// Records in memory.
#[derive(Debug, Default)]
pub(super) struct MemoryBodies {
    /// No block is empty.
    blocks: Slab<Box<[u8]>>,
    /// Bytes of all blocks.
    bytes: usize,
}

/// A copy of a record, to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRecord {
    /// The user's own id.
    pub key: Option<Bytes>,
    /// The encoded attributes.
    pub attributes: Bytes,
    /// Opaque.
    pub body: Bytes,
}

impl StoredRecord {
    /// The record in a block; `None` if the block is not valid.
    pub(super) fn within(block: &Bytes) -> Option<Self> {
        let Record { key, attributes, body } = split(block)?;
        Some(Self {
            key: key.map(|key| block.slice_ref(key)),
            attributes: block.slice_ref(attributes),
            body: block.slice_ref(body),
        })
    }
}

impl MemoryBodies {
    /// How many records are kept.
    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Estimated memory that the records take, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes + self.len() * ALLOCATION_BYTES + self.blocks.memory_bytes()
    }

    /// Stores a record.
    pub(super) fn keep(&mut self, record: Record<'_>) -> BodyRef {
        let checksum = checksum(record);
        let block = join(record);
        self.bytes += block.len();
        let place = self.blocks.insert(block);
        let body_bytes = u32::try_from(record.body.len()).expect("bodies have a ceiling far below 4 GiB");
        BodyRef { place: Place(place.into()), body_bytes, checksum }
    }

    /// Drops a record.
    pub(super) fn forget(&mut self, place: u32) {
        assert!(!self.blocks[place].is_empty(), "the record at {place} is forgotten twice");
        self.bytes -= self.blocks.remove(place).len();
    }

    /// Frees the unused places at the end.
    pub(super) fn shrink(&mut self) {
        while self.blocks.can_shrink() {
            self.blocks.shrink();
        }
    }

    /// A copy of a record.
    ///
    /// # Panics
    ///
    /// If nothing is kept there.
    pub(super) fn record(&self, place: u32) -> StoredRecord {
        let block = Bytes::copy_from_slice(self.block(place));
        StoredRecord::within(&block).unwrap_or_else(|| unreachable!("a record is a valid block"))
    }

    /// The block of a record, without a copy.
    ///
    /// # Panics
    ///
    /// If nothing is kept there.
    pub(super) fn block(&self, place: u32) -> &[u8] {
        let block = &self.blocks[place];
        assert!(!block.is_empty(), "no record at {place}");
        block
    }
}

/// Encodes a record as a block.
pub(super) fn join(record: Record<'_>) -> Box<[u8]> {
    let key = record.key.unwrap_or_default();
    let narrow = |bytes: usize| u16::try_from(bytes).expect("keys and attributes have limits below 64 KiB");
    let key_mark = record.key.map_or(0, |key| narrow(key.len() + 1));
    let bytes = HEAD_BYTES + key.len() + record.attributes.len() + record.body.len();
    let mut block = Vec::with_capacity(bytes);
    block.extend_from_slice(&key_mark.to_le_bytes());
    block.extend_from_slice(&narrow(record.attributes.len()).to_le_bytes());
    block.extend_from_slice(key);
    block.extend_from_slice(record.attributes);
    block.extend_from_slice(record.body);
    block.into_boxed_slice()
}

/// CRC32C of key, attributes and body.
pub(super) fn checksum(record: Record<'_>) -> u32 {
    let checksum = crc32c::crc32c(record.key.unwrap_or_default());
    crc32c::crc32c_append(crc32c::crc32c_append(checksum, record.attributes), record.body)
}

/// Splits a block into the parts of its record; `None` if it is not valid.
pub(super) fn split(block: &[u8]) -> Option<Record<'_>> {
    let (key_mark, rest) = block.split_first_chunk()?;
    let (attributes_bytes, rest) = rest.split_first_chunk()?;
    let key_mark = usize::from(u16::from_le_bytes(*key_mark));
    let (key, rest) = rest.split_at_checked(key_mark.saturating_sub(1))?;
    let (attributes, body) = rest.split_at_checked(usize::from(u16::from_le_bytes(*attributes_bytes)))?;
    Some(Record { key: (key_mark > 0).then_some(key), attributes, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(body: BodyRef) -> u32 {
        u32::try_from(body.place.0).expect("a place in memory")
    }

    fn read(bodies: &MemoryBodies, body: BodyRef) -> Record<'_> {
        split(bodies.block(place(body))).expect("a record")
    }

    fn record(number: u8) -> (Option<Vec<u8>>, Vec<u8>, Vec<u8>) {
        let key = (!number.is_multiple_of(3)).then(|| vec![number; usize::from(number % 5)]);
        (key, vec![number; usize::from(number % 7)], vec![number; usize::from(number)])
    }

    #[test]
    fn what_is_kept_is_read_back_until_it_is_forgotten() {
        let mut bodies = MemoryBodies::default();
        let mut kept = Vec::new();
        for number in 0..=255 {
            let (key, attributes, body) = record(number);
            let record = Record { key: key.as_deref(), attributes: &attributes, body: &body };
            kept.push((number, bodies.keep(record)));
            if number % 4 == 3 {
                let (_, first) = kept.remove(kept.len() / 2);
                bodies.forget(place(first));
            }
        }
        assert_eq!(bodies.len(), 192);
        for (number, reference) in &kept {
            let (key, attributes, body) = record(*number);
            let expected = Record { key: key.as_deref(), attributes: &attributes, body: &body };
            assert_eq!(read(&bodies, *reference), expected, "{number}");
            let copy = bodies.record(place(*reference));
            assert_eq!((copy.key.as_deref(), &copy.body[..]), (key.as_deref(), &body[..]));
        }
        for (_, reference) in kept {
            bodies.forget(place(reference));
        }
        assert_eq!((bodies.len(), bodies.bytes), (0, 0));
        assert_eq!(bodies.blocks.places().count(), 193, "places are used again");
    }

    #[test]
    fn no_key_is_not_an_empty_key() {
        let mut bodies = MemoryBodies::default();
        let empty = bodies.keep(Record { key: Some(b""), attributes: b"", body: b"" });
        let none = bodies.keep(Record { key: None, attributes: b"", body: b"" });
        assert_eq!(read(&bodies, empty).key, Some(&b""[..]));
        assert_eq!(read(&bodies, none).key, None);
    }

    #[test]
    #[should_panic(expected = "forgotten twice")]
    fn forgetting_twice_is_found_out() {
        let mut bodies = MemoryBodies::default();
        let reference = bodies.keep(Record { key: None, attributes: b"", body: b"x" });
        bodies.forget(place(reference));
        bodies.forget(place(reference));
    }
}
