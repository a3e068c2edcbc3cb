//! Frames as bytes and as JSON, by their [layout](super::layout).
//!
//! Whatever the layout allows is written, also what the codec would refuse: so the fake server can send it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::layout::{Field, Kind, Layout, Side, by_name, by_opcode};
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
    let layout = by_name(side, name).ok_or_else(|| Fault::Unknown(name.to_owned()))?;
    let mut writer = Writer { out: vec![0, 0, 0, 0, layout.opcode, newer.flags, 0, newer.flags], newer };
    writer.number(4, read_number(&frame["request_id"])?);
    let mut pieces = Vec::new();
    writer.fields(&layout.fields, &frame["fields"], &mut pieces)?;
    writer.out.extend(pieces);
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
    let Some(Layout { name, fields, .. }) = by_opcode(side, opcode) else {
        return Ok(json!({ "request_id": id, "opcode": opcode, "fields": {} }));
    };
    let mut reader = Reader(bytes.get(HEADER_BYTES..).unwrap_or_default());
    let fields = reader.group(fields, None)?;
    Ok(json!({ "request_id": id, "opcode": name, "fields": fields }))
}

impl Writer {
    fn number(&mut self, width: usize, number: u128) {
        put_number(&mut self.out, width, number);
    }

    fn fields(&mut self, fields: &[Field], object: &Value, pieces: &mut Vec<u8>) -> Result<(), Fault> {
        for field in fields {
            let value = if field.name.is_empty() { object } else { &object[field.name.as_str()] };
            match &field.kind {
                Kind::Magic => self.out.extend(b"ADJ1"),
                Kind::Number(width) => self.number(*width, read_number(value)?),
                Kind::Signed => {
                    let number = value.as_str().map_or(Ok(0), str::parse::<i64>);
                    let number = number.map_err(|_| Fault::Value("a signed number"))?;
                    self.out.extend(number.to_le_bytes());
                }
                Kind::Id => {
                    let mut id = bytes_of(value)?;
                    id.resize(16, 0);
                    self.out.extend(id);
                }
                Kind::Text(width) => {
                    let text = value.as_str().unwrap_or_default().as_bytes().to_vec();
                    self.piece(*width, text, field, pieces);
                }
                Kind::Bytes(width) => self.piece(*width, bytes_of(value)?, field, pieces),
                Kind::Tagged(elements) => self.piece(2, tagged::write(*elements, value)?, field, pieces),
                Kind::Pieces => self.out.append(pieces),
                Kind::Reference => self.reference(object)?,
                Kind::Texts => {
                    let texts = value.as_array().map(Vec::as_slice).unwrap_or_default();
                    self.number(1, texts.len() as u128);
                    for text in texts {
                        let text = text.as_str().unwrap_or_default();
                        put_number(pieces, 1, text.len() as u128);
                        pieces.extend(text.bytes());
                    }
                }
                Kind::List(item) => self.list(item, value, field.is_late)?,
                Kind::Object(fields) => self.fields(fields, value, pieces)?,
            }
        }
        Ok(())
    }

    fn piece(&mut self, width: usize, bytes: Vec<u8>, field: &Field, pieces: &mut Vec<u8>) {
        self.number(width, bytes.len() as u128);
        if field.is_piece { pieces.extend(bytes) } else { self.out.extend(bytes) }
    }

    fn list(&mut self, item: &[Field], items: &Value, is_late: bool) -> Result<(), Fault> {
        let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
        // A list that may be absent is absent when it is empty.
        if items.is_empty() && is_late {
            return Ok(());
        }
        self.number(2, (fixed_bytes(item) + self.newer.fixed) as u128);
        self.number(4, items.len() as u128);
        for value in items {
            let mut pieces = Vec::new();
            self.fields(item, value, &mut pieces)?;
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

    /// The fields of a frame, or of an item whose fixed part stands apart.
    fn group(&mut self, fields: &[Field], fixed: Option<&'a [u8]>) -> Result<Value, Fault> {
        let mut object = Map::new();
        let mut waiting: Vec<(&Field, usize)> = Vec::new();
        let mut fixed = fixed.map(Reader);
        for field in fields {
            if matches!(field.kind, Kind::Pieces) {
                self.pieces(&mut waiting, &mut object)?;
                continue;
            }
            let reader = fixed.as_mut().unwrap_or(self);
            let absent = field.is_late && reader.0.is_empty();
            let value = match &field.kind {
                kind if absent => default_of(kind),
                kind if field.is_piece => {
                    let width = match kind {
                        Kind::Text(width) | Kind::Bytes(width) => *width,
                        Kind::Texts => 1,
                        _ => 2,
                    };
                    waiting.push((field, reader.length(width, &field.name)?));
                    continue;
                }
                Kind::Reference => {
                    reader.reference(&mut object)?;
                    continue;
                }
                kind => reader.value(kind, &field.name)?,
            };
            if field.name.is_empty() && !matches!(field.kind, Kind::Magic) {
                return Ok(value);
            }
            if !field.name.is_empty() {
                object.insert(field.name.clone(), value);
            }
        }
        self.pieces(&mut waiting, &mut object)?;
        // A list of texts or numbers.
        Ok(object.remove("").unwrap_or(Value::Object(object)))
    }

    fn pieces(
        &mut self,
        waiting: &mut Vec<(&Field, usize)>,
        object: &mut Map<String, Value>,
    ) -> Result<(), Fault> {
        for (field, length) in waiting.drain(..) {
            let value = if matches!(field.kind, Kind::Texts) {
                let texts = (0..length).map(|_| self.value(&Kind::Text(1), &field.name));
                Value::Array(texts.collect::<Result<_, _>>()?)
            } else {
                let bytes = self.take(length, &field.name)?;
                content(&field.kind, bytes)?
            };
            object.insert(field.name.clone(), value);
        }
        Ok(())
    }

    fn value(&mut self, kind: &Kind, name: &str) -> Result<Value, Fault> {
        Ok(match kind {
            Kind::Magic => {
                self.take(4, "magic")?;
                Value::Null
            }
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
            Kind::List(item) => {
                let (fixed, count) = (self.length(2, name)?, self.length(4, name)?);
                let mut items = Vec::new();
                for _ in 0..count {
                    let fixed = self.take(fixed, name)?;
                    items.push(self.group(item, Some(fixed))?);
                }
                Value::Array(items)
            }
            Kind::Object(fields) => self.group(fields, None)?,
            Kind::Pieces | Kind::Reference | Kind::Texts => Value::Null,
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

/// Bytes of the fixed part of an item.
fn fixed_bytes(fields: &[Field]) -> usize {
    let bytes = fields.iter().map(|field| match &field.kind {
        Kind::Number(width) | Kind::Text(width) | Kind::Bytes(width) => *width,
        Kind::Signed => 8,
        Kind::Tagged(_) => 2,
        Kind::Texts => 1,
        other => panic!("no field of an item: {other:?}"),
    });
    bytes.sum()
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
