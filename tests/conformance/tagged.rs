//! Attributes, filters and settings: tagged elements and the JSON object that stands for them.

use serde_json::{Map, Value, json};

use super::layout::Elements;
use super::wire::{Fault, base64_of, bytes_of, number_of, put_number};

/// What stands in an element.
#[derive(Clone, Copy)]
enum Kind {
    Number(usize),
    Text,
    Bytes,
    Header,
    Expires,
    Backoff,
    Late,
}

type Row = (u16, &'static str, Kind);

const ATTRIBUTES: [Row; 9] = [
    (1, "headers", Kind::Header),
    (0x8002, "expires", Kind::Expires),
    (0x8003, "attempts_max", Kind::Number(4)),
    (0x8004, "backoff", Kind::Backoff),
    (5, "fairness_key", Kind::Text),
    (6, "dedupe_retention_ms", Kind::Number(8)),
    (7, "created_at_ms", Kind::Number(8)),
    (8, "schedule_reference", Kind::Bytes),
    (9, "postpone_max_ms", Kind::Number(8)),
];

const FILTER: [Row; 9] = [
    (1, "topic", Kind::Text),
    (2, "states", Kind::Number(1)),
    (3, "due_from_ms", Kind::Number(8)),
    (4, "due_before_ms", Kind::Number(8)),
    (5, "key_prefix", Kind::Bytes),
    (6, "attempts_min", Kind::Number(4)),
    (7, "attempts_max", Kind::Number(4)),
    (8, "buried", Kind::Number(1)),
    (9, "reason", Kind::Text),
];

const SETTINGS: [Row; 13] = [
    (1, "ttr_ms", Kind::Number(4)),
    (2, "priority", Kind::Number(4)),
    (3, "attempts_max", Kind::Number(4)),
    (4, "backoff", Kind::Backoff),
    (5, "expires_after_ms", Kind::Number(8)),
    (6, "jobs_max", Kind::Number(8)),
    (7, "bytes_max", Kind::Number(8)),
    (8, "body_max", Kind::Number(4)),
    (9, "leases_max", Kind::Number(4)),
    (10, "rate", Kind::Number(4)),
    (11, "late", Kind::Late),
    (12, "dead_letters", Kind::Text),
    (13, "remember_ms", Kind::Number(8)),
];

impl Elements {
    fn rows(self) -> &'static [Row] {
        match self {
            Self::Attributes => &ATTRIBUTES,
            Self::Filter => &FILTER,
            Self::Settings => &SETTINGS,
        }
    }
}

/// The object for encoded elements.
pub(super) fn read(elements: Elements, mut bytes: &[u8]) -> Result<Value, Fault> {
    let mut object = Map::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(4).ok_or(Fault::Short("an element"))?;
        let tag = u16::try_from(number_of(head.get(..2).unwrap_or_default())).unwrap_or_default();
        let length = usize::try_from(number_of(head.get(2..).unwrap_or_default())).unwrap_or_default();
        let (value, rest) = rest.split_at_checked(length).ok_or(Fault::Short("an element's value"))?;
        bytes = rest;
        let row = elements.rows().iter().find(|(known, ..)| *known == tag);
        let (name, value) = match row {
            None => ("unknown", json!({ "tag": tag, "value": base64_of(value) })),
            Some((_, name, _)) if value.is_empty() && elements == Elements::Settings => (*name, Value::Null),
            Some((_, name, kind)) => (*name, value_of(*kind, value)?),
        };
        if matches!(name, "unknown" | "headers") {
            let list = object.entry(name).or_insert_with(|| json!([]));
            list.as_array_mut().expect("a list").push(value);
        } else {
            object.insert(name.to_owned(), value);
        }
    }
    Ok(Value::Object(object))
}

fn value_of(kind: Kind, value: &[u8]) -> Result<Value, Fault> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| Fault::NotText("an element"));
    let part = |from: usize, to: usize| value.get(from..to).ok_or(Fault::Short("an element's value"));
    Ok(match kind {
        Kind::Number(width) => number_json(width, part(0, width)?),
        Kind::Text => json!(text(value)?),
        Kind::Bytes => json!(base64_of(value)),
        Kind::Header => {
            let name_end = 1 + usize::from(*value.first().ok_or(Fault::Short("a header"))?);
            json!([text(part(1, name_end)?)?, text(part(name_end, value.len())?)?])
        }
        Kind::Expires => json!({ "kind": number_of(part(0, 1)?), "ms": number_of(part(1, 9)?).to_string() }),
        Kind::Backoff => {
            let waits: Vec<u128> = part(2, value.len())?.chunks(4).map(number_of).collect();
            json!({ "kind": number_of(part(0, 1)?), "jitter": number_of(part(1, 2)?), "waits_ms": small(&waits) })
        }
        Kind::Late => json!({
            "after_ms": number_of(part(0, 8)?).to_string(),
            "action": small(&[number_of(part(8, 9)?)])[0],
            "value": number_of(part(9, 17)?).to_string(),
        }),
    })
}

/// The encoded elements of an object, without their length.
pub(super) fn write(elements: Elements, object: &Value) -> Result<Vec<u8>, Fault> {
    let mut found: Vec<(u16, Vec<u8>)> = Vec::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        if name == "unknown" {
            for one in value.as_array().into_iter().flatten() {
                let tag = one["tag"].as_u64().and_then(|tag| u16::try_from(tag).ok());
                found.push((tag.ok_or(Fault::Value("tag"))?, bytes_of(&one["value"])?));
            }
            continue;
        }
        let row = elements.rows().iter().find(|(_, known, _)| known == name);
        let (tag, _, kind) = row.ok_or_else(|| Fault::Unknown(name.clone()))?;
        match (value, kind) {
            (Value::Null, _) => found.push((*tag, Vec::new())),
            (Value::Array(headers), Kind::Header) => {
                for header in headers {
                    found.push((*tag, bytes(*kind, header)?));
                }
            }
            (value, kind) => found.push((*tag, bytes(*kind, value)?)),
        }
    }
    found.sort_by_key(|(tag, _)| tag & 0x7FFF);
    let mut out = Vec::new();
    for (tag, value) in found {
        out.extend(tag.to_le_bytes());
        put_number(&mut out, 2, value.len() as u128);
        out.extend(value);
    }
    Ok(out)
}

fn bytes(kind: Kind, value: &Value) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    match kind {
        Kind::Number(width) => put_number(&mut out, width, read_number(value)?),
        Kind::Text => out.extend(value.as_str().ok_or(Fault::Value("a text"))?.bytes()),
        Kind::Bytes => out = bytes_of(value)?,
        Kind::Header => {
            let name = value[0].as_str().ok_or(Fault::Value("a header"))?;
            put_number(&mut out, 1, name.len() as u128);
            out.extend(name.bytes());
            out.extend(value[1].as_str().ok_or(Fault::Value("a header"))?.bytes());
        }
        Kind::Expires => {
            put_number(&mut out, 1, read_number(&value["kind"])?);
            put_number(&mut out, 8, read_number(&value["ms"])?);
        }
        Kind::Backoff => {
            put_number(&mut out, 1, read_number(&value["kind"])?);
            put_number(&mut out, 1, read_number(&value["jitter"])?);
            for wait in value["waits_ms"].as_array().into_iter().flatten() {
                put_number(&mut out, 4, read_number(wait)?);
            }
        }
        Kind::Late => {
            put_number(&mut out, 8, read_number(&value["after_ms"])?);
            put_number(&mut out, 1, read_number(&value["action"])?);
            put_number(&mut out, 8, read_number(&value["value"])?);
        }
    }
    Ok(out)
}

/// Numbers of up to 32 bits.
fn small(numbers: &[u128]) -> Vec<u64> {
    numbers.iter().map(|number| u64::try_from(*number).unwrap_or(u64::MAX)).collect()
}

/// A number in JSON: wide ones as text.
pub(super) fn number_json(width: usize, bytes: &[u8]) -> Value {
    let number = number_of(bytes);
    if width > 4 { json!(number.to_string()) } else { json!(small(&[number])[0]) }
}

/// A number from JSON, of any width.
pub(super) fn read_number(value: &Value) -> Result<u128, Fault> {
    match value {
        Value::Number(number) => number.as_u64().map(u128::from).ok_or(Fault::Value("a number")),
        Value::String(text) => text.parse().map_err(|_| Fault::Value("a number")),
        Value::Null => Ok(0),
        _ => Err(Fault::Value("a number")),
    }
}
