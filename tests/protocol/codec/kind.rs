//! The kinds of fields that the schema has, as strategies for what stands in them.
//!
//! Most values are small. Some stand at a bound: the least and the greatest number, the longest text.

use std::ops::RangeInclusive;

use adjourn_protocol::ErrorCode;
use adjourn_types::limits::{KEY_BYTES_MAX, TOPIC_BYTES_MAX};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::payload::{Field, Message, Record, Value};
use super::rules;

/// Texts and bytes are seldom longer, unless they have to be.
const USUAL_BYTES_MAX: usize = 60;
/// The greatest bound of a text at which one is drawn.
const BOUND_BYTES_MAX: usize = 1_024;
/// Most items of a list, unless it has to have more.
const USUAL_ITEMS_MAX: usize = 6;
/// The most elements that may stand in one place several times.
const REPEATS_MAX: usize = 3;
/// The tag of an attribute that nobody knows and that is not critical.
const UNKNOWN_TAG: u16 = 900;

/// The fields of a record, one after the other.
pub(super) struct Fields {
    of: &'static str,
    fields: Vec<BoxedStrategy<Field>>,
}

/// Tagged elements, in rising order of their tags.
pub(super) struct Elements {
    of: &'static str,
    elements: Vec<Element>,
}

struct Element {
    tag: u16,
    name: &'static str,
    count_max: usize,
    value: BoxedStrategy<Value>,
}

/// Any of these messages.
pub(super) fn any_of(messages: &[fn() -> BoxedStrategy<Message>]) -> Union<BoxedStrategy<Message>> {
    Union::new(messages.iter().map(|message| message()))
}

impl Fields {
    /// Those of the record or the frame of this name.
    pub(super) fn of(name: &'static str) -> Self {
        Self { of: name, fields: Vec::new() }
    }

    pub(super) fn add(&mut self, name: &'static str, value: BoxedStrategy<Value>) {
        self.push(name, value, false);
    }

    /// Adds a field that may be absent.
    pub(super) fn late(&mut self, name: &'static str, value: BoxedStrategy<Value>) {
        self.push(name, value, true);
    }

    fn push(&mut self, name: &'static str, value: BoxedStrategy<Value>, is_late: bool) {
        let field = move |value| Field { name, tag: 0, value, is_late };
        self.fields.push(value.prop_map(field).boxed());
    }

    pub(super) fn record(self) -> BoxedStrategy<Record> {
        let name = self.of;
        self.fields.prop_map(move |fields| rules::fitted(Record { name, fields })).boxed()
    }

    pub(super) fn message(self, opcode: u8) -> BoxedStrategy<Message> {
        self.record().prop_map(move |record| Message { opcode, record }).boxed()
    }
}

impl Elements {
    /// Those of this name.
    pub(super) fn of(name: &'static str) -> Self {
        Self { of: name, elements: Vec::new() }
    }

    pub(super) fn add(&mut self, tag: u16, name: &'static str, value: BoxedStrategy<Value>) {
        self.elements.push(Element { tag, name, count_max: 1, value });
    }

    /// Adds one that there may be several times.
    pub(super) fn repeat(&mut self, tag: u16, name: &'static str, value: BoxedStrategy<Value>) {
        self.elements.push(Element { tag, name, count_max: REPEATS_MAX, value });
    }

    /// Some of them.
    pub(super) fn only(self) -> BoxedStrategy<Value> {
        let name = self.of;
        let elements = self.elements.into_iter().map(Element::some).collect::<Vec<_>>();
        let elements = elements.prop_map(|some| some.into_iter().flatten().collect());
        elements.prop_map(move |fields| Value::Elements(rules::fitted(Record { name, fields }))).boxed()
    }

    /// Some of them, and perhaps one of a newer peer.
    pub(super) fn and_unknown(mut self) -> BoxedStrategy<Value> {
        self.add(UNKNOWN_TAG, "unknown", bytes(0, 0..=usize::from(u16::MAX)));
        self.only()
    }

    /// Some of them, with or without a value.
    pub(super) fn or_unset(mut self) -> BoxedStrategy<Value> {
        for element in &mut self.elements {
            let unset = Just(Value::Fixed(Vec::new()));
            element.value = prop_oneof![3 => element.value.clone(), 1 => unset].boxed();
        }
        self.only()
    }
}

impl Element {
    fn some(self) -> BoxedStrategy<Vec<Field>> {
        let (tag, name) = (self.tag, self.name);
        let field = move |value| Field { name, tag, value, is_late: false };
        vec(self.value.prop_map(field), 0..=self.count_max).boxed()
    }
}

pub(super) fn any_number(width: usize) -> BoxedStrategy<Value> {
    number(width, 0..=u128::MAX >> (128 - 8 * width))
}

pub(super) fn number(width: usize, range: RangeInclusive<u128>) -> BoxedStrategy<Value> {
    let numbers = prop_oneof![2 => range.clone(), 1 => Just(*range.start()), 1 => Just(*range.end())];
    numbers.prop_map(numbers_of(width, range, true)).boxed()
}

/// One of these numbers.
pub(super) fn choice(width: usize, numbers: &'static [u128]) -> BoxedStrategy<Value> {
    select(numbers).prop_map(numbers_of(width, range_of(numbers), true)).boxed()
}

/// One of these numbers, or one that only a newer peer knows.
pub(super) fn open_choice(width: usize, numbers: &'static [u128]) -> BoxedStrategy<Value> {
    let range = range_of(numbers);
    let unknown = range.end() + 1..1 << (8 * width);
    let unknown = unknown.prop_map(numbers_of(width, range, false));
    prop_oneof![9 => choice(width, numbers), 1 => unknown].boxed()
}

/// An error code, or 0, which stands for none.
pub(super) fn code(width: usize) -> BoxedStrategy<Value> {
    let codes = ErrorCode::ALL.into_iter().map(|code| code as u128);
    select([0].into_iter().chain(codes).collect::<Vec<_>>())
        .prop_map(numbers_of(width, 0..=u128::MAX, true))
        .boxed()
}

/// A set of these bits.
pub(super) fn bits(width: usize, mask: u128) -> BoxedStrategy<Value> {
    let bits = any::<u128>().prop_map(move |bits| bits & mask);
    // A peer ignores the others.
    bits.prop_map(numbers_of(width, 0..=u128::MAX, true)).boxed()
}

fn range_of(numbers: &[u128]) -> RangeInclusive<u128> {
    let (first, last) = (numbers.first(), numbers.last());
    *first.expect("some numbers")..=*last.expect("some numbers")
}

fn numbers_of(width: usize, range: RangeInclusive<u128>, is_known: bool) -> impl Fn(u128) -> Value {
    move |number| Value::Number { width, number, range: range.clone(), is_known }
}

pub(super) fn magic() -> BoxedStrategy<Value> {
    Just(Value::Fixed(b"ADJ1".to_vec())).boxed()
}

pub(super) fn id() -> BoxedStrategy<Value> {
    any::<[u8; 16]>().prop_map(|id| Value::Fixed(id.to_vec())).boxed()
}

pub(super) fn flag() -> BoxedStrategy<Value> {
    Just(Value::Fixed(vec![1])).boxed()
}

/// Text behind a length of `width` bytes, 0 for none.
pub(super) fn text(name: &str, width: usize, range: RangeInclusive<usize>) -> BoxedStrategy<Value> {
    let any_text = || {
        let text = (length(&range), "[ -~üжあ]{0,40}");
        text.prop_map(|(length, text)| {
            let mut text = text.get(..text.floor_char_boundary(length)).unwrap_or_default().to_owned();
            text.extend(std::iter::repeat_n('x', length - text.len()));
            text
        })
    };
    let text = rules::text(name).unwrap_or_else(|| any_text().boxed());
    text.prop_map(move |text| Value::Piece { width, bytes: text.into_bytes(), range: range.clone() }).boxed()
}

/// Bytes behind a length of `width` bytes, 0 for none.
pub(super) fn bytes(width: usize, range: RangeInclusive<usize>) -> BoxedStrategy<Value> {
    let bytes = (length(&range), vec(any::<u8>(), USUAL_BYTES_MAX)).prop_map(|(length, mut bytes)| {
        bytes.resize(length, b'x');
        bytes
    });
    bytes.prop_map(move |bytes| Value::Piece { width, bytes, range: range.clone() }).boxed()
}

fn length(range: &RangeInclusive<usize>) -> BoxedStrategy<usize> {
    let (least, most) = (*range.start(), *range.end());
    let usual = least..=most.min(least.max(USUAL_BYTES_MAX));
    if most > BOUND_BYTES_MAX { usual.boxed() } else { prop_oneof![7 => usual, 1 => Just(most)].boxed() }
}

/// Texts that are text8 each.
pub(super) fn texts(name: &str) -> BoxedStrategy<Value> {
    let texts = vec(text(name, 1, 0..=usize::from(u8::MAX)), 0..=USUAL_ITEMS_MAX);
    let bytes_of = |value| match value {
        Value::Piece { bytes, .. } => bytes,
        other => panic!("no text: {other:?}"),
    };
    texts.prop_map(move |texts| Value::Texts(texts.into_iter().map(bytes_of).collect())).boxed()
}

/// Numbers up to the end.
pub(super) fn rest_numbers(range: RangeInclusive<usize>) -> BoxedStrategy<Value> {
    let numbers = vec(any::<u32>(), range);
    let bytes = numbers.prop_map(|numbers| numbers.into_iter().flat_map(u32::to_le_bytes).collect());
    bytes.prop_map(|bytes| Value::Piece { width: 0, bytes, range: 0..=usize::MAX }).boxed()
}

/// A job's id, or its topic and key.
pub(super) fn reference() -> BoxedStrategy<Value> {
    let kind = |number| Just(number).prop_map(numbers_of(1, 0..=1, true)).boxed();
    let mut by_id = Fields::of("reference");
    by_id.add("job_kind", kind(0));
    by_id.add("job", any_number(8));
    let mut by_key = Fields::of("reference");
    by_key.add("job_kind", kind(1));
    by_key.add("topic", text("topic", 1, 0..=TOPIC_BYTES_MAX));
    by_key.add("key", text("some_key", 2, 0..=KEY_BYTES_MAX));
    composite(prop_oneof![by_id.record(), by_key.record()].boxed())
}

pub(super) fn list(
    fixed_bytes: usize,
    range: RangeInclusive<usize>,
    item: BoxedStrategy<Record>,
) -> BoxedStrategy<Value> {
    let (least, most) = (*range.start(), *range.end());
    let items = vec(item, least..=most.min(least.max(USUAL_ITEMS_MAX)));
    items.prop_map(move |items| Value::List { fixed_bytes, items, range: range.clone() }).boxed()
}

/// An item that is no more than this.
pub(super) fn one(value: BoxedStrategy<Value>) -> BoxedStrategy<Record> {
    let mut fields = Fields::of("item");
    fields.add("item", value);
    fields.record()
}

pub(super) fn part(record: BoxedStrategy<Record>) -> BoxedStrategy<Value> {
    record.prop_map(Value::Part).boxed()
}

pub(super) fn composite(record: BoxedStrategy<Record>) -> BoxedStrategy<Value> {
    record.prop_map(Value::Row).boxed()
}
