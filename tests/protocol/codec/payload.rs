//! A payload as values, and the forms in which peers of this version, of older and of newer ones write it.
//!
//! It knows how the kinds of fields stand on the wire, and nothing of the codec: what the codec writes is compared with it.

use std::fmt::{self, Debug, Formatter};
use std::ops::RangeInclusive;

use adjourn_protocol::{Frame, FrameHeader, Request, RequestId, Response};
use adjourn_types::GroupId;
use adjourn_types::limits::BODY_BYTES_CEILING;
use bytes::Bytes;

use super::rules;

/// The request id of every frame.
pub(super) const ID: RequestId = RequestId(77);
/// Bytes of a frame's header that its length counts.
const COUNTED_HEADER_BYTES: usize = 8;

/// A message: its number, and the fields of its payload.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) opcode: u8,
    pub(super) record: Record,
}

/// The fields of a frame, of an item or a part of one, of a composite; or tagged elements.
#[derive(Clone, PartialEq)]
pub(super) struct Record {
    /// The schema's name.
    pub(super) name: &'static str,
    pub(super) fields: Vec<Field>,
}

/// A field, or an element.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Field {
    /// The schema's name.
    pub(super) name: &'static str,
    /// Of an element.
    pub(super) tag: u16,
    pub(super) value: Value,
    /// It may be absent, with all that follows.
    pub(super) is_late: bool,
}

/// What stands in a field.
#[derive(Clone, PartialEq)]
pub(super) enum Value {
    Number {
        width: usize,
        number: u128,
        range: RangeInclusive<u128>,
        /// False for a choice that only a newer server sends.
        is_known: bool,
    },
    /// Bytes of a fixed length.
    Fixed(Vec<u8>),
    /// Bytes behind a length of `width` bytes; up to the end if that is 0.
    Piece {
        width: usize,
        bytes: Vec<u8>,
        range: RangeInclusive<usize>,
    },
    /// Texts behind their number.
    Texts(Vec<Vec<u8>>),
    Elements(Record),
    /// Items whose fixed part takes `fixed_bytes`.
    List {
        fixed_bytes: usize,
        items: Vec<Record>,
        range: RangeInclusive<usize>,
    },
    /// All lengths first, then the bytes.
    Part(Record),
    /// One field behind the other.
    Row(Record),
}

/// In what a peer's items differ from those of this version.
#[derive(Clone, Copy)]
struct Peer<'a> {
    /// What a newer one adds to the fixed part.
    extra: &'a [u8],
    /// An older one leaves out the fields that may be absent.
    is_older: bool,
}

const PRESENT: Peer<'static> = Peer { extra: &[], is_older: false };

impl Message {
    /// The payload with every field.
    pub(super) fn payload(&self) -> Bytes {
        self.first(self.record.fields.len(), PRESENT)
    }

    /// Every payload that says the same: fields at the end that are 0 or empty may be absent.
    pub(super) fn forms(&self) -> Vec<Bytes> {
        let says = |field: &Field| !field.is_late || field.value != field.value.absent();
        let needed = self.record.fields.iter().rposition(says).map_or(0, |last| last + 1);
        (needed..=self.record.fields.len()).map(|count| self.first(count, PRESENT)).collect()
    }

    /// Where the payload of an older peer may end, and the whole payload that says the same.
    pub(super) fn ends(&self) -> Vec<(usize, Bytes)> {
        let fields = self.record.fields.iter().enumerate();
        let late = fields.filter(|(_, field)| field.is_late);
        let end = |(count, _)| {
            let mut older = self.clone();
            older.record.fields.iter_mut().skip(count).for_each(Field::clear);
            (self.first(count, PRESENT).len(), older.payload())
        };
        late.map(end).collect()
    }

    /// The payload whose items have no field that may be absent, and one with these fields that says the same.
    pub(super) fn with_older_items(&self) -> (Bytes, Bytes) {
        let mut older = self.clone();
        for field in &mut older.record.fields {
            if let Value::List { items, .. } = &mut field.value {
                let fields = items.iter_mut().flat_map(|item| &mut item.fields);
                fields.filter(|field| field.is_late).for_each(Field::clear);
            }
        }
        (self.first(self.record.fields.len(), Peer { is_older: true, ..PRESENT }), older.payload())
    }

    /// The payload of a newer peer, which adds this to each item and behind the last field.
    pub(super) fn with_newer_items(&self, extra: &[u8]) -> Bytes {
        let known = self.first(self.record.fields.len(), Peer { extra, ..PRESENT });
        [known.as_ref(), extra].concat().into()
    }

    /// The same message with one value beyond its bounds, for each bound.
    pub(super) fn beyond(&self) -> Vec<Self> {
        self.record.beyond().into_iter().map(|record| Self { opcode: self.opcode, record }).collect()
    }

    /// True if this version knows every choice in it.
    pub(super) fn is_known(&self) -> bool {
        self.record.is_known()
    }

    /// The same message with another number.
    pub(super) fn with(mut self, name: &str, number: impl Into<u128>) -> Self {
        self.record.set(name, number.into());
        self
    }

    /// The same message with a list of so many items, all like the first.
    pub(super) fn repeated(mut self, name: &str, count: usize) -> Self {
        let items = self.record.items(name);
        let first = items.first().cloned().expect("an item");
        items.resize(count, first);
        self
    }

    pub(super) fn frame(&self, payload: Bytes) -> Frame {
        let length = u32::try_from(COUNTED_HEADER_BYTES + payload.len()).expect("not larger than a frame");
        let header = FrameHeader { length, opcode: self.opcode, flags: 0, group: GroupId::ONLY, id: ID };
        Frame { header, payload }
    }

    /// What the codec reads from it.
    pub(super) fn request(&self) -> Request {
        let request = Request::decode(&self.frame(self.payload()), BODY_BYTES_CEILING);
        request.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What the codec reads from it.
    pub(super) fn response(&self) -> Response {
        let response = Response::decode(&self.frame(self.payload()));
        response.unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The first fields of the payload.
    fn first(&self, count: usize, peer: Peer<'_>) -> Bytes {
        row(self.record.fields.iter().take(count), peer).into()
    }
}

impl Record {
    /// The number in a field.
    pub(super) fn number(&self, name: &str) -> u128 {
        match self.value(name) {
            Some(Value::Number { number, .. }) => *number,
            other => panic!("no number: {name} of {}, {other:?}", self.name),
        }
    }

    /// Puts a number into a field.
    pub(super) fn set(&mut self, name: &str, to: u128) {
        match self.value_mut(name) {
            Some(Value::Number { number, .. }) => *number = to,
            other => panic!("no number: {name}, {other:?}"),
        }
    }

    /// Puts a text, or bytes, into a field; also in place of its elements.
    pub(super) fn put(&mut self, name: &str, to: &[u8]) {
        match self.value_mut(name) {
            Some(Value::Piece { bytes, .. }) => *bytes = to.to_vec(),
            Some(value @ Value::Elements(_)) => {
                *value = Value::Piece { width: 2, bytes: to.to_vec(), range: 0..=usize::MAX };
            }
            other => panic!("no text: {name}, {other:?}"),
        }
    }

    /// The items of a list.
    pub(super) fn items(&mut self, name: &str) -> &mut Vec<Self> {
        match self.value_mut(name) {
            Some(Value::List { items, .. }) => items,
            other => panic!("no list: {name}, {other:?}"),
        }
    }

    /// The elements in a field.
    pub(super) fn elements(&mut self, name: &str) -> &mut Self {
        match self.value_mut(name) {
            Some(Value::Elements(elements)) => elements,
            other => panic!("no elements: {name}, {other:?}"),
        }
    }

    /// Takes an element away from those in a field.
    pub(super) fn without_element(&mut self, name: &str, element: &str) {
        if let Some(Value::Elements(elements)) = self.value_mut(name) {
            elements.fields.retain(|field| field.name != element);
        }
    }

    /// Makes a field 0 or empty.
    pub(super) fn clear(&mut self, name: &str) {
        self.fields.iter_mut().filter(|field| field.name == name).for_each(Field::clear);
    }

    /// What stands in a field, or in an element that is there.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|field| field.name == name).map(|field| &field.value)
    }

    pub(super) fn value_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.fields.iter_mut().find(|field| field.name == name).map(|field| &mut field.value)
    }

    fn is_known(&self) -> bool {
        self.fields.iter().all(|field| match &field.value {
            Value::Number { is_known, .. } => *is_known,
            Value::List { items, .. } => items.iter().all(Self::is_known),
            Value::Part(record) | Value::Row(record) | Value::Elements(record) => record.is_known(),
            _ => true,
        })
    }

    /// The same with one value beyond its bounds, for each bound; but for values that [`rules`] would change.
    fn beyond(&self) -> Vec<Self> {
        let mut found = Vec::new();
        for (at, field) in self.fields.iter().enumerate() {
            for value in field.value.beyond() {
                let mut record = self.clone();
                record.fields.iter_mut().skip(at).take(1).for_each(|field| field.value = value.clone());
                if rules::fitted(record.clone()) == record {
                    found.push(record);
                }
            }
        }
        found
    }

    /// An item, or a part: the lengths among the fixed fields, the bytes behind them.
    fn part(&self, peer: Peer<'_>) -> Vec<u8> {
        let (mut out, mut pieces) = (Vec::new(), Vec::new());
        for field in self.fields.iter().filter(|field| !(peer.is_older && field.is_late)) {
            let (head, piece) = field.value.halves(peer);
            out.extend(head);
            pieces.extend(piece);
        }
        [out.as_slice(), peer.extra, &pieces].concat()
    }

    /// How many bytes of the fixed part an older peer does not send.
    fn late_bytes(&self) -> usize {
        let late = self.fields.iter().filter(|field| field.is_late);
        late.map(|field| field.value.halves(PRESENT).0.len()).sum()
    }
}

impl Field {
    fn clear(&mut self) {
        self.value = self.value.absent();
    }
}

impl Value {
    /// What stands for it in the payload of a peer that does not send it.
    fn absent(&self) -> Self {
        let mut value = self.clone();
        match &mut value {
            Self::Number { number, is_known, .. } => (*number, *is_known) = (0, true),
            Self::Fixed(bytes) => bytes.fill(0),
            Self::Piece { bytes, .. } => bytes.clear(),
            Self::Texts(texts) => texts.clear(),
            Self::List { items, .. } => items.clear(),
            Self::Elements(record) => record.fields.clear(),
            Self::Part(record) | Self::Row(record) => record.fields.iter_mut().for_each(Field::clear),
        }
        value
    }

    /// What stands in a fixed part, and the bytes that belong behind it.
    fn halves(&self, peer: Peer<'_>) -> (Vec<u8>, Vec<u8>) {
        let behind = |width, bytes: Vec<u8>| (little_endian(bytes.len() as u128, width), bytes);
        match self {
            Self::Number { width, number, .. } => (little_endian(*number, *width), Vec::new()),
            Self::Fixed(bytes) => (bytes.clone(), Vec::new()),
            Self::Piece { width, bytes, .. } => behind(*width, bytes.clone()),
            Self::Texts(texts) => {
                let text = |text: &Vec<u8>| [little_endian(text.len() as u128, 1), text.clone()].concat();
                (little_endian(texts.len() as u128, 1), texts.iter().flat_map(text).collect())
            }
            Self::Elements(elements) => {
                let element = |element: &Field| {
                    let value = row([element].into_iter(), PRESENT);
                    [little_endian(element.tag.into(), 2), little_endian(value.len() as u128, 2), value]
                        .concat()
                };
                behind(2, elements.fields.iter().flat_map(element).collect())
            }
            Self::List { fixed_bytes, items, .. } => {
                let late_bytes = items.first().filter(|_| peer.is_older).map_or(0, Record::late_bytes);
                let fixed_bytes = fixed_bytes + peer.extra.len() - late_bytes;
                let mut list = little_endian(fixed_bytes as u128, 2);
                list.extend(little_endian(items.len() as u128, 4));
                list.extend(items.iter().flat_map(|item| item.part(peer)));
                (list, Vec::new())
            }
            Self::Part(record) => (record.part(PRESENT), Vec::new()),
            Self::Row(record) => (row(record.fields.iter(), PRESENT), Vec::new()),
        }
    }

    /// Values beyond the bounds.
    fn beyond(&self) -> Vec<Self> {
        match self {
            Self::Number { width, range, .. } => {
                let fits = |number: &u128| number.checked_shr(bits(*width)).unwrap_or(0) == 0;
                let numbers = [range.start().checked_sub(1), range.end().checked_add(1).filter(fits)];
                let number =
                    |number| Self::Number { width: *width, number, range: range.clone(), is_known: true };
                numbers.into_iter().flatten().map(number).collect()
            }
            Self::Piece { width, range, .. } => {
                // The length of an element has two bytes.
                let length_bytes = if *width == 0 { 2 } else { *width };
                let fits = |length: &usize| length.checked_shr(bits(length_bytes)) == Some(0);
                // What reaches up to the end may be empty for another reason.
                let shorter = range.start().checked_sub(1).filter(|_| *width > 0);
                let lengths = [shorter, range.end().checked_add(1).filter(fits)];
                let piece =
                    |length| Self::Piece { width: *width, bytes: vec![b'x'; length], range: range.clone() };
                lengths.into_iter().flatten().map(piece).collect()
            }
            Self::List { fixed_bytes, items, range } => Self::lists_beyond(*fixed_bytes, items, range),
            Self::Elements(record) => record.beyond().into_iter().map(Self::Elements).collect(),
            Self::Part(record) => record.beyond().into_iter().map(Self::Part).collect(),
            Self::Row(record) => record.beyond().into_iter().map(Self::Row).collect(),
            Self::Fixed(_) | Self::Texts(_) => Vec::new(),
        }
    }

    fn lists_beyond(fixed_bytes: usize, items: &[Record], range: &RangeInclusive<usize>) -> Vec<Self> {
        let Some((first, rest)) = items.split_first() else { return Vec::new() };
        let mut lists: Vec<Vec<Record>> =
            first.beyond().into_iter().map(|first| [&[first], rest].concat()).collect();
        lists.extend(range.start().checked_sub(1).map(|length| vec![first.clone(); length]));
        if *range.end() < u32::MAX as usize {
            lists.push(vec![first.clone(); range.end() + 1]);
        }
        let list = |items| Self::List { fixed_bytes, items, range: range.clone() };
        lists.into_iter().map(list).collect()
    }
}

impl Debug for Record {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct(self.name);
        self.fields.iter().for_each(|field| {
            out.field(field.name, &field.value);
        });
        out.finish()
    }
}

impl Debug for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { number, .. } => number.fmt(f),
            Self::Fixed(bytes) | Self::Piece { bytes, .. } => Bytes::copy_from_slice(bytes).fmt(f),
            Self::Texts(texts) => texts.fmt(f),
            Self::Elements(record) | Self::Part(record) | Self::Row(record) => record.fmt(f),
            Self::List { items, .. } => items.fmt(f),
        }
    }
}

/// Fields one behind the other.
fn row<'a>(fields: impl Iterator<Item = &'a Field>, peer: Peer<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for field in fields {
        let (head, piece) = field.value.halves(peer);
        out.extend(head);
        out.extend(piece);
    }
    out
}

fn bits(width: usize) -> u32 {
    u32::try_from(8 * width).expect("a number of a few bytes")
}

fn little_endian(number: u128, width: usize) -> Vec<u8> {
    number.to_le_bytes().into_iter().take(width).collect()
}
