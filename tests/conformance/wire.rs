//! Frames as bytes and as JSON, by the [schema](super::schema).
//!
//! Whatever the schema's types allow is written, also what the codec would refuse: so the fake server can send it.

use adjourn_generate::{Field, Item, Kind, Record, Side};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::schema::{by_name, by_opcode, schema};
use super::tagged::{self, number_json, read_number};

const HEADER_BYTES: usize = 12;

/// Why a frame cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("the frame ends before {0}")]
    Short(&'static str),
    #[error("the frame ends before `{0}`")]
    Cut(String),
    #[error("{0} is not UTF-8")]
    NotText(&'static str),
    #[error("{0} has a wrong value")]
    Value(&'static str),
    #[error("there is no {0}")]
    Unknown(String),
}

/// What a newer peer adds to a frame.
#[derive(Clone, Copy, Default)]
pub(crate) struct Newer {
    /// Bytes behind the fixed part of each item.
    pub(crate) fixed: usize,
    /// Bytes behind the payload.
    pub(crate) trailing: usize,
    /// The header's flags and reserved byte.
    pub(crate) flags: u8,
}

struct Writer {
    out: Vec<u8>,
    newer: Newer,
}

struct Reader<'a>(&'a [u8]);

/// A whole frame of this JSON.
pub(crate) fn write(side: Side, frame: &Value, newer: Newer) -> Result<Vec<u8>, Fault> {
    let name = frame["opcode"].as_str().unwrap_or_default();
    let known = by_name(side, name).ok_or_else(|| Fault::Unknown(name.to_owned()))?;
    let mut writer = Writer { out: vec![0, 0, 0, 0, known.opcode, newer.flags, 0, newer.flags], newer };
    writer.number(4, read_number(&frame["request_id"])?);
    for field in &known.fields {
        writer.field(field, &frame["fields"])?;
    }
    writer.out.extend(std::iter::repeat_n(0xA5, newer.trailing));
    let length = u32::try_from(writer.out.len() - 4).map_err(|_| Fault::Value("the length"))?;
    writer.out.splice(..4, length.to_le_bytes());
    Ok(writer.out)
}

/// The JSON of a whole frame.
pub(crate) fn read(side: Side, bytes: &[u8]) -> Result<Value, Fault> {
    let header = bytes.get(..HEADER_BYTES).ok_or(Fault::Short("the end of the header"))?;
    let id = number_json(4, header.get(8..).unwrap_or_default());
    let opcode = header.get(4).copied().unwrap_or_default();
    let Some(frame) = by_opcode(side, opcode) else {
        return Ok(json!({ "request_id": id, "opcode": opcode, "fields": {} }));
    };
    let mut reader = Reader(bytes.get(HEADER_BYTES..).unwrap_or_default());
    let mut fields = Map::new();
    for field in &frame.fields {
        reader.field(field, &mut fields)?;
    }
    Ok(json!({ "request_id": id, "opcode": frame.name, "fields": fields }))
}

impl Writer {
    fn number(&mut self, width: usize, number: u128) {
        put_number(&mut self.out, width, number);
    }

    /// A field that stands in `object` under its name.
    fn field(&mut self, field: &Field, object: &Value) -> Result<(), Fault> {
        let value = &object[field.name.as_str()];
        match &field.kind {
            Kind::Magic => self.out.extend(b"ADJ1"),
            Kind::Reference => self.reference(object)?,
            Kind::List(item) => self.list(item, value, field.is_late)?,
            Kind::Part(record) => {
                let pieces = self.fixed(schema().record(record), object)?;
                self.out.extend(pieces);
            }
            Kind::Object(record) => {
                for field in &schema().record(record).fields {
                    self.field(field, value)?;
                }
            }
            kind => {
                let (head, piece) = halves(kind, value)?;
                self.out.extend(head);
                self.out.extend(piece);
            }
        }
        Ok(())
    }

    /// The fixed part of a record. Returns the pieces that belong behind it.
    fn fixed(&mut self, record: &Record, object: &Value) -> Result<Vec<u8>, Fault> {
        let mut pieces = Vec::new();
        for field in &record.fields {
            let (head, piece) = halves(&field.kind, &object[field.name.as_str()])?;
            self.out.extend(head);
            pieces.extend(piece);
        }
        Ok(pieces)
    }

    fn list(&mut self, item: &Item, items: &Value, is_late: bool) -> Result<(), Fault> {
        let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
        // A list that may be absent is absent when it is empty.
        if items.is_empty() && is_late {
            return Ok(());
        }
        let fixed_bytes = match item {
            Item::Record(record) => schema().record(record).fixed_bytes(),
            Item::Text => 1,
            Item::Number => 2,
        };
        self.number(2, (fixed_bytes + self.newer.fixed) as u128);
        self.number(4, items.len() as u128);
        for value in items {
            let pieces = match item {
                Item::Record(record) => self.fixed(schema().record(record), value)?,
                plain => {
                    let (head, piece) = halves(&plain_kind(plain), value)?;
                    self.out.extend(head);
                    piece
                }
            };
            self.out.extend(std::iter::repeat_n(0xA5, self.newer.fixed));
            self.out.extend(pieces);
        }
        Ok(())
    }

    fn reference(&mut self, object: &Value) -> Result<(), Fault> {
        let kind = read_number(&object["job_kind"])?;
        self.number(1, kind);
        if kind == 0 {
            self.number(8, read_number(&object["job"])?);
            return Ok(());
        }
        for (name, width) in [("topic", 1), ("key", 2)] {
            let text = object[name].as_str().unwrap_or_default();
            self.number(width, text.len() as u128);
            self.out.extend(text.bytes());
        }
        Ok(())
    }
}

/// What stands in a fixed part for a value, and the bytes that belong behind it.
fn halves(kind: &Kind, value: &Value) -> Result<(Vec<u8>, Vec<u8>), Fault> {
    let mut head = Vec::new();
    let (width, piece) = match kind {
        Kind::Number(width) => {
            put_number(&mut head, *width, read_number(value)?);
            return Ok((head, Vec::new()));
        }
        Kind::Signed => {
            let number = value.as_str().map_or(Ok(0), str::parse::<i64>);
            let number = number.map_err(|_| Fault::Value("a signed number"))?;
            return Ok((number.to_le_bytes().to_vec(), Vec::new()));
        }
        Kind::Id => {
            let mut id = bytes_of(value)?;
            id.resize(16, 0);
            return Ok((id, Vec::new()));
        }
        Kind::Texts => {
            let texts = value.as_array().map(Vec::as_slice).unwrap_or_default();
            put_number(&mut head, 1, texts.len() as u128);
            let mut pieces = Vec::new();
            for text in texts {
                let text = text.as_str().unwrap_or_default();
                put_number(&mut pieces, 1, text.len() as u128);
                pieces.extend(text.bytes());
            }
            return Ok((head, pieces));
        }
        Kind::Text(width) => (*width, value.as_str().unwrap_or_default().as_bytes().to_vec()),
        Kind::Bytes(width) => (*width, bytes_of(value)?),
        Kind::Tagged(elements) => (2, tagged::write(*elements, value)?),
        other => panic!("not in one place: {other:?}"),
    };
    put_number(&mut head, width, piece.len() as u128);
    Ok((head, piece))
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize, name: &str) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or_else(|| Fault::Cut(name.to_owned()))?;
        self.0 = rest;
        Ok(taken)
    }

    fn length(&mut self, width: usize, name: &str) -> Result<usize, Fault> {
        let number = number_of(self.take(width, name)?);
        usize::try_from(number).map_err(|_| Fault::Value("a length"))
    }

    /// Reads a field into `object`, under its name.
    fn field(&mut self, field: &Field, object: &mut Map<String, Value>) -> Result<(), Fault> {
        let value = match &field.kind {
            Kind::Magic => return self.take(4, "magic").map(|_| ()),
            Kind::Reference => return self.reference(object),
            Kind::Part(record) => {
                let record = schema().record(record);
                let fixed = self.take(record.fixed_bytes(), &field.name)?;
                return self.record(record, fixed, object);
            }
            kind if field.is_late && self.0.is_empty() => default_of(kind),
            Kind::Object(record) => {
                let mut inner = Map::new();
                for field in &schema().record(record).fields {
                    self.field(field, &mut inner)?;
                }
                Value::Object(inner)
            }
            Kind::List(item) => self.list(item, &field.name)?,
            kind => self.value(kind, &field.name)?,
        };
        object.insert(field.name.clone(), value);
        Ok(())
    }

    /// Reads a record whose fixed part stands apart into `object`; the pieces come next.
    fn record(
        &mut self,
        record: &Record,
        fixed: &'a [u8],
        object: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        let mut fixed = Reader(fixed);
        let mut waiting: Vec<(&Field, usize)> = Vec::new();
        for field in &record.fields {
            if field.is_piece() {
                waiting.push((field, fixed.length(field.fixed_bytes(), &field.name)?));
            } else {
                fixed.field(field, object)?;
            }
        }
        for (field, length) in waiting {
            let value = if field.kind == Kind::Texts {
                let texts = (0..length).map(|_| self.value(&Kind::Text(1), &field.name));
                Value::Array(texts.collect::<Result<_, _>>()?)
            } else {
                content(&field.kind, self.take(length, &field.name)?)?
            };
            object.insert(field.name.clone(), value);
        }
        Ok(())
    }

    fn list(&mut self, item: &Item, name: &str) -> Result<Value, Fault> {
        let (fixed, count) = (self.length(2, name)?, self.length(4, name)?);
        let mut items = Vec::new();
        for _ in 0..count {
            let fixed = self.take(fixed, name)?;
            items.push(match item {
                Item::Record(record) => {
                    let mut object = Map::new();
                    self.record(schema().record(record), fixed, &mut object)?;
                    Value::Object(object)
                }
                Item::Number => Reader(fixed).value(&Kind::Number(2), name)?,
                Item::Text => {
                    let length = Reader(fixed).length(1, name)?;
                    content(&Kind::Text(1), self.take(length, name)?)?
                }
            });
        }
        Ok(Value::Array(items))
    }

    fn value(&mut self, kind: &Kind, name: &str) -> Result<Value, Fault> {
        Ok(match kind {
            Kind::Number(width) => number_json(*width, self.take(*width, name)?),
            Kind::Signed => {
                let bits = u64::try_from(number_of(self.take(8, name)?)).unwrap_or_default();
                json!(bits.cast_signed().to_string())
            }
            Kind::Id => json!(base64_of(self.take(16, name)?)),
            Kind::Text(width) | Kind::Bytes(width) => {
                let length = self.length(*width, name)?;
                content(kind, self.take(length, name)?)?
            }
            Kind::Tagged(_) => {
                let length = self.length(2, name)?;
                content(kind, self.take(length, name)?)?
            }
            other => panic!("no single value: {other:?}"),
        })
    }

    fn reference(&mut self, object: &mut Map<String, Value>) -> Result<(), Fault> {
        let kind = number_of(self.take(1, "job_kind")?);
        object.insert("job_kind".to_owned(), json!(u64::try_from(kind).unwrap_or_default()));
        if kind == 0 {
            object.insert("job".to_owned(), self.value(&Kind::Number(8), "job")?);
        } else {
            object.insert("topic".to_owned(), self.value(&Kind::Text(1), "topic")?);
            object.insert("key".to_owned(), self.value(&Kind::Text(2), "key")?);
        }
        Ok(())
    }
}

/// What the items of a plain list are.
fn plain_kind(item: &Item) -> Kind {
    if *item == Item::Number { Kind::Number(2) } else { Kind::Text(1) }
}

fn content(kind: &Kind, bytes: &[u8]) -> Result<Value, Fault> {
    match kind {
        Kind::Tagged(elements) => tagged::read(*elements, bytes),
        Kind::Bytes(_) => Ok(json!(base64_of(bytes))),
        _ => String::from_utf8(bytes.to_vec()).map(Value::String).map_err(|_| Fault::NotText("a text")),
    }
}

fn default_of(kind: &Kind) -> Value {
    match kind {
        Kind::Number(width) if *width > 4 => json!("0"),
        Kind::Number(_) => json!(0),
        Kind::List(_) => json!([]),
        _ => json!(""),
    }
}

pub(super) fn put_number(out: &mut Vec<u8>, width: usize, number: u128) {
    out.extend(number.to_le_bytes().iter().take(width));
}

pub(super) fn number_of(bytes: &[u8]) -> u128 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
}

pub(crate) fn base64_of(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Bytes from their JSON; nothing for an absent one.
pub(crate) fn bytes_of(value: &Value) -> Result<Vec<u8>, Fault> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => STANDARD.decode(text).map_err(|_| Fault::Value("base64")),
        _ => Err(Fault::Value("base64")),
    }
}
