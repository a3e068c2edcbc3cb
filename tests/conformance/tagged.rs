//! Attributes, filters and settings: tagged elements and the JSON object that stands for them.

use adjourn_generate::{Element, ElementKind, Elements, Field, Kind};
use serde_json::{Map, Value, json};

use super::schema::schema;
use super::wire::{Fault, base64_of, bytes_of, number_of, put_number};

/// The object for encoded elements.
pub(super) fn read(elements: Elements, mut bytes: &[u8]) -> Result<Value, Fault> {
    let mut object = Map::new();
    while !bytes.is_empty() {
        let (head, rest) = bytes.split_at_checked(4).ok_or(Fault::Short("an element"))?;
        let tag = u16::try_from(number_of(head.get(..2).unwrap_or_default())).unwrap_or_default();
        let length = usize::try_from(number_of(head.get(2..).unwrap_or_default())).unwrap_or_default();
        let (value, rest) = rest.split_at_checked(length).ok_or(Fault::Short("an element's value"))?;
        bytes = rest;
        let known = schema().elements(elements).iter().find(|known| known.tag == tag);
        let (name, value, repeats) = match known {
            None => ("unknown", json!({ "tag": tag, "value": base64_of(value) }), true),
            Some(known) if value.is_empty() && elements == Elements::Settings => {
                (known.name.as_str(), Value::Null, false)
            }
            Some(known) => (known.name.as_str(), value_of(&known.kind, value)?, known.repeats),
        };
        if repeats {
            let list = object.entry(name).or_insert_with(|| json!([]));
            list.as_array_mut().expect("a list").push(value);
        } else {
            object.insert(name.to_owned(), value);
        }
    }
    Ok(Value::Object(object))
}

fn value_of(kind: &ElementKind, value: &[u8]) -> Result<Value, Fault> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| Fault::NotText("an element"));
    Ok(match kind {
        ElementKind::Number(width) => {
            number_json(*width, value.get(..*width).ok_or(Fault::Short("an element's value"))?)
        }
        ElementKind::Text => json!(text(value)?),
        ElementKind::Bytes => json!(base64_of(value)),
        ElementKind::Flag => json!(value == [1]),
        ElementKind::Composite(name) if name == "header" => {
            let fields = parts_of(&schema().composite(name).fields, value)?;
            json!(fields.values().collect::<Vec<_>>())
        }
        ElementKind::Composite(name) => Value::Object(parts_of(&schema().composite(name).fields, value)?),
    })
}

/// The fields of a composite.
fn parts_of(fields: &[Field], mut value: &[u8]) -> Result<Map<String, Value>, Fault> {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| Fault::NotText("an element"));
    let mut object = Map::new();
    for field in fields {
        let read = match &field.kind {
            Kind::Number(width) => number_json(*width, part(&mut value, *width)?),
            Kind::Text(width) => {
                let length = usize::try_from(number_of(part(&mut value, *width)?)).unwrap_or(usize::MAX);
                json!(text(part(&mut value, length)?)?)
            }
            Kind::RestText => json!(text(value)?),
            Kind::RestNumbers => json!(small(&value.chunks(4).map(number_of).collect::<Vec<_>>())),
            other => panic!("not in a composite: {other:?}"),
        };
        object.insert(field.name.clone(), read);
    }
    Ok(object)
}

fn part<'a>(value: &mut &'a [u8], bytes: usize) -> Result<&'a [u8], Fault> {
    let (taken, rest) = value.split_at_checked(bytes).ok_or(Fault::Short("an element's value"))?;
    *value = rest;
    Ok(taken)
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
        let known = schema().elements(elements).iter().find(|known| known.name == *name);
        let Element { tag, kind, repeats, .. } = known.ok_or_else(|| Fault::Unknown(name.clone()))?;
        match value {
            Value::Null => found.push((*tag, Vec::new())),
            Value::Array(values) if *repeats => {
                for value in values {
                    found.push((*tag, bytes(kind, value)?));
                }
            }
            value => found.push((*tag, bytes(kind, value)?)),
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

fn bytes(kind: &ElementKind, value: &Value) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    match kind {
        ElementKind::Number(width) => put_number(&mut out, *width, read_number(value)?),
        ElementKind::Text => out.extend(value.as_str().ok_or(Fault::Value("a text"))?.bytes()),
        ElementKind::Bytes => out = bytes_of(value)?,
        ElementKind::Flag => out.push(u8::from(value.as_bool().unwrap_or_default())),
        ElementKind::Composite(name) => {
            for (place, field) in schema().composite(name).fields.iter().enumerate() {
                let part = if value.is_array() { &value[place] } else { &value[field.name.as_str()] };
                put_part(&mut out, &field.kind, part)?;
            }
        }
    }
    Ok(out)
}

fn put_part(out: &mut Vec<u8>, kind: &Kind, part: &Value) -> Result<(), Fault> {
    match kind {
        Kind::Number(width) => put_number(out, *width, read_number(part)?),
        Kind::Text(width) => {
            let text = part.as_str().ok_or(Fault::Value("a text"))?;
            put_number(out, *width, text.len() as u128);
            out.extend(text.bytes());
        }
        Kind::RestText => out.extend(part.as_str().ok_or(Fault::Value("a text"))?.bytes()),
        Kind::RestNumbers => {
            for number in part.as_array().into_iter().flatten() {
                put_number(out, 4, read_number(number)?);
            }
        }
        other => panic!("not in a composite: {other:?}"),
    }
    Ok(())
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
