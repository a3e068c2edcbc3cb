//! The records that are in memory: key, attributes and body of each, found by place.
//!
//! A record is one block of bytes, so that it costs a job one allocation and 16 bytes of table:
//!
//! ```text
//! key length + 1, or 0 for no key  u16 | attributes length  u16 | key | attributes | body
//! ```
//!
//! The same block stands in the row of a chunk. A place is used again when its record is forgotten. Pages of places never
//! move, so that a growing table costs no pause.

use bytes::Bytes;

use crate::engine::free::FreeNumbers;
use crate::engine::{BodyRef, Place, Record};

/// Places in one page.
const PAGE_PLACES: usize = 1 << 16;
/// Bytes before a record's key.
const HEAD_BYTES: usize = 4;
/// What an allocation takes beyond its length, by and large.
const ALLOCATION_BYTES: usize = 16;

/// Records in memory.
#[derive(Debug, Default)]
pub(super) struct MemoryBodies {
    /// All pages but the last are full.
    pages: Vec<Page>,
    /// Places that are used again, the lowest first, so that pages at the end can go. Some may lie behind the end: they
    /// are forgotten before it moves on.
    free: FreeNumbers,
    kept: usize,
    /// Bytes of all blocks.
    bytes: usize,
}

#[derive(Debug, Default)]
struct Page {
    /// An empty one is a free place.
    blocks: Vec<Box<[u8]>>,
    used: usize,
}

/// A copy of a record, for whoever sends it.
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
    /// The record that a block is; `None` if it is none.
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
        self.kept
    }

    /// Bytes of memory that they take: an estimate.
    pub(super) fn memory_bytes(&self) -> usize {
        self.bytes + self.len() * ALLOCATION_BYTES + self.places() * size_of::<Box<[u8]>>()
    }

    /// Takes a record in.
    pub(super) fn keep(&mut self, record: Record<'_>) -> BodyRef {
        let checksum = checksum(record);
        let block = join(record);
        self.bytes += block.len();
        self.kept += 1;
        let place = if let Some(place) = self.free.take_below(self.places()) {
            let page = self.page(place);
            page.used += 1;
            *page.block(place) = block;
            place
        } else {
            self.append(block)
        };
        let body_bytes = u32::try_from(record.body.len()).expect("bodies have a ceiling far below 4 GiB");
        BodyRef { place: Place(place.into()), body_bytes, checksum }
    }

    /// Drops a record.
    pub(super) fn forget(&mut self, place: u32) {
        let page = self.page(place);
        let block = std::mem::take(page.block(place));
        assert!(!block.is_empty(), "the record at {place} is forgotten twice");
        page.used -= 1;
        self.bytes -= block.len();
        self.kept -= 1;
        self.free.insert(place);
    }

    /// Gives back the pages at the end of which no place is used.
    pub(super) fn shrink(&mut self) {
        while self.pages.last().is_some_and(|page| page.used == 0) {
            self.pages.pop();
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

    /// A record as it lies there.
    ///
    /// # Panics
    ///
    /// If nothing is kept there.
    pub(super) fn block(&self, place: u32) -> &[u8] {
        let block = self.pages.get(page(place)).and_then(|page| page.blocks.get(within(place)));
        match block {
            Some(block) if !block.is_empty() => block,
            _ => panic!("no record at {place}"),
        }
    }

    fn places(&self) -> usize {
        self.pages.last().map_or(0, |last| (self.pages.len() - 1) * PAGE_PLACES + last.blocks.len())
    }

    fn append(&mut self, block: Box<[u8]>) -> u32 {
        let place = u32::try_from(self.places()).expect("fewer than 2^32 jobs fit into memory");
        if self.pages.last().is_none_or(|page| page.blocks.len() == PAGE_PLACES) {
            self.pages.push(Page { blocks: Vec::with_capacity(PAGE_PLACES), used: 0 });
        }
        if let Some(page) = self.pages.last_mut() {
            page.blocks.push(block);
            page.used += 1;
        }
        place
    }

    fn page(&mut self, place: u32) -> &mut Page {
        self.pages.get_mut(page(place)).unwrap_or_else(|| panic!("no record was ever at {place}"))
    }
}

impl Page {
    fn block(&mut self, place: u32) -> &mut Box<[u8]> {
        self.blocks.get_mut(within(place)).unwrap_or_else(|| panic!("no record was ever at {place}"))
    }
}

fn join(record: Record<'_>) -> Box<[u8]> {
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

/// The record that a block is; `None` if it is none.
pub(super) fn split(block: &[u8]) -> Option<Record<'_>> {
    let (key_mark, rest) = block.split_first_chunk()?;
    let (attributes_bytes, rest) = rest.split_first_chunk()?;
    let key_mark = usize::from(u16::from_le_bytes(*key_mark));
    let (key, rest) = rest.split_at_checked(key_mark.saturating_sub(1))?;
    let (attributes, body) = rest.split_at_checked(usize::from(u16::from_le_bytes(*attributes_bytes)))?;
    Some(Record { key: (key_mark > 0).then_some(key), attributes, body })
}

fn page(place: u32) -> usize {
    place as usize / PAGE_PLACES
}

fn within(place: u32) -> usize {
    place as usize % PAGE_PLACES
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
        assert_eq!(bodies.places(), 193, "places are used again");
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
    fn a_table_of_several_pages() {
        let mut bodies = MemoryBodies::default();
        let many = PAGE_PLACES + 2;
        let body = |place: usize| (place as u64).to_le_bytes();
        let kept: Vec<BodyRef> = (0..many)
            .map(|place| bodies.keep(Record { key: None, attributes: b"", body: &body(place) }))
            .collect();
        for (place, reference) in kept.iter().enumerate() {
            assert_eq!(read(&bodies, *reference).body, body(place));
        }
        assert_eq!((bodies.len(), bodies.pages.len()), (many, 2));
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
