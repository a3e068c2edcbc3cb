//! The fields of a payload: checked reading, direct writing.
//!
//! Numbers have a fixed width and are little-endian. Texts and bytes follow their length. A **list** is the length of
//! its items' fixed part (`u16`), their number (`u32`), then the items: the fixed part, then the pieces whose lengths
//! are in it. A reader takes the fields that it knows from the fixed part and skips the rest, so items can grow
//! without a length per item.

use std::ops::RangeInclusive;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::codes::choices::due_kind;
use super::decode_error::DecodeError;
use adjourn_types::limits::{KEY_BYTES_MAX, TOPIC_BYTES_MAX};
use adjourn_types::{Key, Millis, TopicName, When, first_bytes};

/// Reads a payload from its start to its end. Never panics, whatever the bytes.
pub(super) struct Reader<'a> {
    payload: &'a Bytes,
    fields: Fields<'a>,
    /// The largest body of a pushed job that the server accepts.
    body_bytes_max: usize,
}

/// Consecutive numbers.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(&'a [u8]);

/// The head of a list whose items' fixed part takes `KNOWN` bytes in this version, checked against what has
/// arrived.
#[derive(Clone, Copy)]
pub(super) struct List<const KNOWN: usize> {
    field: &'static str,
    fixed_bytes: usize,
    /// How many items follow: safe to allocate for.
    count: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(DecodeError::Truncated(field))?;
        self.0 = rest;
        Ok(*array)
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.array(field).map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.array(field).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn slice(&mut self, bytes: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let (slice, rest) = self.0.split_at_checked(bytes).ok_or(DecodeError::Truncated(field))?;
        self.0 = rest;
        Ok(slice)
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(payload: &'a Bytes) -> Self {
        Self::of_request(payload, usize::MAX)
    }

    /// Like [`Self::new`], for a request to a server that accepts bodies of up to `body_bytes_max` bytes.
    pub(super) fn of_request(payload: &'a Bytes, body_bytes_max: usize) -> Self {
        Self { payload, fields: Fields(payload), body_bytes_max }
    }

    /// The largest body of a pushed job that the server accepts.
    pub(super) fn body_bytes_max(&self) -> usize {
        self.body_bytes_max
    }

    /// True if the payload ends here: older peers do not send the fields that follow.
    pub(super) fn is_at_end(&self) -> bool {
        self.fields.0.is_empty()
    }

    pub(super) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        self.fields.array(field)
    }

    pub(super) fn u8(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.fields.u8(field)
    }

    pub(super) fn u16(&mut self, field: &'static str) -> Result<u16, DecodeError> {
        self.fields.u16(field)
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.fields.u32(field)
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.fields.u64(field)
    }

    /// A piece of this length, sharing the payload's memory.
    pub(super) fn bytes(&mut self, bytes: usize, field: &'static str) -> Result<Bytes, DecodeError> {
        let start = self.payload.len() - self.fields.0.len();
        let slice = self.fields.slice(bytes, field)?;
        Ok(self.payload.slice(start..start + slice.len()))
    }

    /// The next bytes, as fields of their own.
    pub(super) fn part(&mut self, bytes: usize, field: &'static str) -> Result<Fields<'a>, DecodeError> {
        self.fields.slice(bytes, field).map(Fields)
    }

    /// A piece after its length in a `u8`.
    pub(super) fn bytes8(&mut self, field: &'static str) -> Result<Bytes, DecodeError> {
        let bytes = self.u8(field)?;
        self.bytes(usize::from(bytes), field)
    }

    /// A piece after its length in a `u16`.
    pub(super) fn bytes16(&mut self, field: &'static str) -> Result<Bytes, DecodeError> {
        let bytes = self.u16(field)?;
        self.bytes(usize::from(bytes), field)
    }

    /// A piece after its length in a `u32`.
    pub(super) fn bytes32(&mut self, field: &'static str) -> Result<Bytes, DecodeError> {
        let bytes = self.u32(field)?;
        self.bytes(bytes as usize, field)
    }

    /// The head of a list with at most `max` items.
    pub(super) fn list<const KNOWN: usize>(
        &mut self,
        field: &'static str,
        max: usize,
    ) -> Result<List<KNOWN>, DecodeError> {
        let fixed_bytes = usize::from(self.u16(field)?);
        let count = self.u32(field)? as usize;
        not_more(count, max, field)?;
        if fixed_bytes < KNOWN {
            return Err(DecodeError::ItemTooShort { field, bytes: fixed_bytes, min: KNOWN });
        }
        if count.saturating_mul(fixed_bytes) > self.fields.0.len() {
            return Err(DecodeError::Truncated(field));
        }
        Ok(List { field, fixed_bytes, count })
    }

    /// Like [`Self::list`], for a list with at least one item.
    pub(super) fn list_of_some<const KNOWN: usize>(
        &mut self,
        field: &'static str,
        max: usize,
    ) -> Result<List<KNOWN>, DecodeError> {
        let list = self.list(field, max)?;
        some_not_more(list.count, max, field)?;
        Ok(list)
    }

    /// Every item of a list. `read` decodes an item: it reads the fields that it knows from the item's fixed part, and the rest
    /// from the bytes after that part.
    pub(super) fn items<const KNOWN: usize, T>(
        &mut self,
        list: List<KNOWN>,
        mut read: impl FnMut(&mut Self, Fields<'a>) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let mut items = Vec::with_capacity(list.count);
        for _ in 0..list.count {
            let fixed = self.fields.slice(list.fixed_bytes, list.field)?;
            items.push(read(self, Fields(fixed))?);
        }
        Ok(items)
    }
}

/// Refuses a number that is out of its range.
pub(super) fn in_range<T: Copy + PartialOrd + Into<u64>>(
    value: T,
    range: RangeInclusive<T>,
    field: &'static str,
) -> Result<(), DecodeError> {
    if range.contains(&value) {
        return Ok(());
    }
    let (min, max) = (*range.start(), *range.end());
    Err(DecodeError::OutOfRange { field, value: value.into(), min: min.into(), max: max.into() })
}

/// Refuses a text, or bytes, that are too long.
pub(super) fn not_longer(bytes: usize, max: usize, field: &'static str) -> Result<(), DecodeError> {
    if bytes > max { Err(DecodeError::TooLong { field, bytes, max }) } else { Ok(()) }
}

/// Refuses a list with too many items.
pub(super) fn not_more(count: usize, max: usize, field: &'static str) -> Result<(), DecodeError> {
    if count > max { Err(DecodeError::TooMany { field, count, max }) } else { Ok(()) }
}

/// The same, and one without an item.
pub(super) fn some_not_more(count: usize, max: usize, field: &'static str) -> Result<(), DecodeError> {
    if count == 0 { Err(DecodeError::Empty(field)) } else { not_more(count, max, field) }
}

/// A topic's name from its bytes.
pub(super) fn topic(bytes: Bytes) -> Result<TopicName, DecodeError> {
    not_longer(bytes.len(), TOPIC_BYTES_MAX, "topic")?;
    Ok(TopicName::new(bytes)?)
}

/// A topic from its bytes; no bytes stand for all topics.
pub(super) fn some_topic(bytes: Bytes) -> Result<Option<TopicName>, DecodeError> {
    if bytes.is_empty() { Ok(None) } else { topic(bytes).map(Some) }
}

/// A key from its bytes; no bytes stand for no key.
pub(super) fn key(bytes: Bytes) -> Result<Option<Key>, DecodeError> {
    if bytes.is_empty() { Ok(None) } else { some_key(bytes).map(Some) }
}

/// A key from its bytes.
pub(super) fn some_key(bytes: Bytes) -> Result<Key, DecodeError> {
    not_longer(bytes.len(), KEY_BYTES_MAX, "key")?;
    Ok(Key::new(bytes)?)
}

/// A text from its bytes.
pub(super) fn text(bytes: &[u8], field: &'static str) -> Result<String, DecodeError> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| DecodeError::NotText(field))
}

/// A text that says nothing if it is empty.
pub(super) fn some_text(bytes: &[u8], field: &'static str) -> Result<Option<String>, DecodeError> {
    if bytes.is_empty() { Ok(None) } else { text(bytes, field).map(Some) }
}

/// The milliseconds of a time; 0 stands for none.
pub(super) fn time_ms(time: Option<Millis>) -> u64 {
    time.unwrap_or_default().0
}

/// A time that is unknown, or not there, if it is 0.
pub(super) fn time(ms: u64) -> Option<Millis> {
    (ms != 0).then_some(Millis(ms))
}

/// A point in time from its two fields.
pub(super) fn when(kind: u8, due_ms: u64) -> Result<When, DecodeError> {
    match kind {
        due_kind::AFTER => Ok(When::After(due_ms)),
        due_kind::AT => Ok(When::At(Millis(due_ms))),
        value => Err(DecodeError::Choice { field: "due_kind", value }),
    }
}

/// Encodes a point in time as its two fields.
pub(super) fn when_fields(when: When) -> (u8, u64) {
    match when {
        When::After(delay_ms) => (due_kind::AFTER, delay_ms),
        When::At(at) => (due_kind::AT, at.0),
    }
}

/// Collects `N` bytes of numbers, so that they are written at once. Methods take and return a reference, so that the
/// compiler knows each number's place.
pub(super) struct Fixed<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Fixed<N> {
    pub(super) fn new() -> Self {
        Self { bytes: [0; N], at: 0 }
    }

    pub(super) fn array<const M: usize>(&mut self, array: [u8; M]) -> &mut Self {
        if let Some(place) = self.bytes.get_mut(self.at..self.at + M) {
            place.copy_from_slice(&array);
        }
        self.at += M;
        self
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Self {
        self.array([value])
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.array(value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.array(value.to_le_bytes())
    }

    pub(super) fn u64(&mut self, value: u64) -> &mut Self {
        self.array(value.to_le_bytes())
    }

    /// The length of a piece that follows, in a `u8`.
    pub(super) fn length8(&mut self, bytes: usize) -> &mut Self {
        self.u8(u8::try_from(bytes).unwrap_or(u8::MAX))
    }

    /// The length of a piece that follows, in a `u16`.
    pub(super) fn length16(&mut self, bytes: usize) -> &mut Self {
        self.u16(u16::try_from(bytes).unwrap_or(u16::MAX))
    }

    /// The length of a piece that follows, in a `u32`.
    pub(super) fn length32(&mut self, bytes: usize) -> &mut Self {
        self.u32(u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    /// The bytes; all of them must have been set.
    pub(super) fn finish(&self) -> [u8; N] {
        assert_eq!(self.at, N, "a fixed part is written whole");
        self.bytes
    }

    pub(super) fn write(&self, out: &mut BytesMut) {
        out.put_slice(&self.finish());
    }
}

/// Writes the head of a list.
pub(super) fn put_list(out: &mut BytesMut, fixed_bytes: usize, count: usize) {
    Fixed::<6>::new().length16(fixed_bytes).length32(count).write(out);
}

/// Writes a piece whose length was written before; most jobs have no key and no attributes.
pub(super) fn put_piece(out: &mut BytesMut, piece: &[u8]) {
    if !piece.is_empty() {
        out.put_slice(piece);
    }
}

/// Writes a text after its length, truncated to 255 bytes.
pub(super) fn put_text8(out: &mut BytesMut, text: &str) {
    let text = text8(text);
    Fixed::<1>::new().length8(text.len()).write(out);
    out.put_slice(text);
}

/// Writes a topic's name after its length.
pub(super) fn put_topic8(out: &mut BytesMut, topic: &TopicName) {
    put_text8(out, topic.as_str());
}

/// The bytes of a key; empty for no key.
pub(super) fn key_bytes(key: Option<&Key>) -> &[u8] {
    key.map_or(&[], Key::as_bytes)
}

/// A bit of marks or options, if it is so.
pub(super) fn mark<T: Default>(is_so: bool, mark: T) -> T {
    if is_so { mark } else { T::default() }
}

/// A text that fits behind a length in a `u8`: cut between characters.
pub(super) fn text8(text: &str) -> &[u8] {
    first_bytes(text, usize::from(u8::MAX)).as_bytes()
}

/// A text that fits behind a length in a `u16`: cut between characters.
pub(super) fn text16(text: &str) -> &[u8] {
    first_bytes(text, usize::from(u16::MAX)).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let mut out = BytesMut::new();
        put_text8(&mut out, &"ü".repeat(200));
        let bytes = out.freeze();
        let mut reader = Reader::new(&bytes);
        let bytes = reader.bytes8("text").expect("whole");
        assert_eq!(text(&bytes, "text"), Ok("ü".repeat(127)));
    }

    #[test]
    fn a_list_is_checked_before_anything_is_allocated() {
        let head = |fixed: u16, count: u32, rest: usize| {
            let mut out = BytesMut::new();
            out.put_u16_le(fixed);
            out.put_u32_le(count);
            out.put_bytes(0, rest);
            let payload = out.freeze();
            Reader::new(&payload).list::<4>("jobs", 100).map(|list| list.count)
        };
        assert_eq!(head(4, 2, 8), Ok(2));
        assert_eq!(head(5, 2, 9), Err(DecodeError::Truncated("jobs")));
        assert_eq!(head(3, 2, 8), Err(DecodeError::ItemTooShort { field: "jobs", bytes: 3, min: 4 }));
        let many = u32::MAX as usize;
        assert_eq!(head(4, u32::MAX, 8), Err(DecodeError::TooMany { field: "jobs", count: many, max: 100 }));
        assert_eq!(head(u16::MAX, 100, 8), Err(DecodeError::Truncated("jobs")));
    }

    #[test]
    fn items_may_grow() {
        let payload = Bytes::from_static(&[3, 0, 2, 0, 0, 0, 1, 0xAA, 0xAA, b'x', 1, 0xAA, 0xAA, b'y']);
        let mut reader = Reader::new(&payload);
        let list = reader.list::<1>("topics", 10).expect("valid");
        let topics = reader.items(list, |reader, mut fields| {
            let bytes = fields.u8("topic")?;
            topic(reader.bytes(usize::from(bytes), "topic")?)
        });
        assert_eq!(topics, Ok(vec!["x".parse().expect("valid"), "y".parse().expect("valid")]));
    }
}
