//! `frames.py` of the harness: frames as neutral JSON, and from it.

use super::composites;
use super::decode::made;
use super::imports;
use super::naming::{attribute_of_element, singular};
use super::page::Page;
use super::shape::{self, Shape, Wire};
use crate::schema::{Composite, Element, ElementKind, Elements, Frame, Item, Kind, Record, Schema};

const HEAD: &str = "from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from adjourn.protocol.elements import Attributes, Filter, TopicPolicy
from adjourn.protocol.framing import FrameDecoder, decode_response, encode
@imports
from adjourn.protocol.values import BACKOFF_NAMES, UNSET, Backoff, Expiry, JobRef, Late, Unset
from harness.server import decode_request, encode_response

Json = dict[str, Any]


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def raw(text: str) -> bytes:
    return base64.b64decode(text)


def decoded(side: str, data: bytes) -> Json:
    \"\"\"A frame as JSON.\"\"\"
    (frame,) = FrameDecoder().feed(data)
    message = decode_request(frame) if side == \"request\" else decode_response(frame)
    if message is None:
        return {\"request_id\": frame.request_id, \"opcode\": frame.opcode, \"fields\": {}}
    fields = TO_JSON[message.NAME](message)
    return {\"request_id\": frame.request_id, \"opcode\": message.NAME, \"fields\": fields}


def encoded(frame: Json) -> bytes:
    \"\"\"A frame from JSON.\"\"\"
    message = FROM_JSON[frame[\"opcode\"]](frame[\"fields\"])
    request_id = int(frame[\"request_id\"])
    return bytes(encode(request_id, message) if isinstance(message, Request) else encode_response(request_id, message))


def ref_json(ref: JobRef) -> Json:
    \"\"\"A job reference as JSON.\"\"\"
    if ref.job is not None:
        return {\"job_kind\": 0, \"job\": str(ref.job)}
    return {\"job_kind\": 1, \"topic\": ref.topic, \"key\": ref.key}


def ref_of(found: Json) -> JobRef:
    \"\"\"A job reference from JSON.\"\"\"
    if found.get(\"job_kind\", 0) == 1:
        return JobRef(topic=found[\"topic\"], key=found[\"key\"])
    return JobRef(job=int(found[\"job\"]))
";

pub(super) fn file(schema: &Schema) -> String {
    let mut page = Page::new("Frames as neutral JSON: the fields of protocol.md under their names there.");
    for composite in &schema.composites {
        composite_functions(&mut page, composite);
    }
    for (elements, class, name) in [
        (Elements::Attributes, "Attributes", "attributes"),
        (Elements::Filter, "Filter", "filter"),
        (Elements::Settings, "TopicPolicy", "settings"),
    ] {
        elements_to_json(&mut page, schema, elements, class, name);
        elements_from_json(&mut page, schema, elements, class, name);
    }
    for record in schema.records.iter().filter(|record| is_item(schema, record)) {
        let shape = shape::of_record(schema, record);
        if !shape.is_bare() {
            functions(&mut page, schema, &shape);
        }
    }
    let frames: Vec<&Frame> = schema.requests.iter().chain(&schema.responses).collect();
    for frame in &frames {
        functions(&mut page, schema, &shape::of_frame(schema, frame));
    }
    for (table, hint, end) in [
        ("TO_JSON", "dict[str, Callable[[Any], Json]]", "json"),
        ("FROM_JSON", "dict[str, Callable[[Json], Request | Response]]", "of"),
    ] {
        page.gap();
        page.line(0, &format!("{table}: {hint} = {{"));
        for frame in &frames {
            page.line(1, &format!("\"{}\": _{}_{end},", frame.name, frame.name.to_ascii_lowercase()));
        }
        page.line(0, "}");
    }
    let imports = imports::of_classes(schema, &page);
    page.with_head(&HEAD.replace("@imports\n", &imports))
}

fn is_item(schema: &Schema, record: &Record) -> bool {
    let mut fields = schema.requests.iter().chain(&schema.responses).flat_map(|frame| &frame.fields);
    fields.any(|field| {
        field.kind == Kind::List(Item::Record(record.name.clone()))
            || field.kind == Kind::Object(record.name.clone())
    })
}

/// The functions that turn a frame or a record into JSON, and make it of JSON.
fn functions(page: &mut Page, schema: &Schema, shape: &Shape) {
    let name = shape.name.to_ascii_lowercase();
    page.gap();
    page.line(0, &format!("def _{name}_json(one: {}) -> Json:", shape.class));
    if shape.wires.is_empty() {
        page.line(1, "return {}");
    } else {
        page.line(1, "return {");
        for wire in shape.wires.iter().filter(|wire| wire.field.kind != Kind::Magic) {
            page.item(2, &to_json(schema, wire));
        }
        page.line(1, "}");
    }
    page.gap();
    page.line(0, &format!("def _{name}_of(found: Json) -> {}:", shape.class));
    for wire in shape.wires.iter().filter(|wire| wire.field.kind != Kind::Magic) {
        page.line(1, &format!("{} = {}", wire.local, from_json(schema, wire)));
    }
    made(page, shape);
}

fn to_json(schema: &Schema, wire: &Wire) -> String {
    let (name, raw) = (&wire.field.name, wire.raw.replace('@', "one"));
    let value = match &wire.field.kind {
        Kind::Number(width) if *width >= 8 => format!("str({raw})"),
        Kind::Signed => format!("str({raw})"),
        Kind::Text(_) if name == "key" => format!("{raw} or \"\""),
        Kind::Id | Kind::Bytes(_) => format!("b64({raw})"),
        Kind::Tagged(elements) => format!("{}_json({raw})", elements_name(*elements)),
        Kind::Reference => return format!("**ref_json({raw})"),
        Kind::Texts | Kind::List(Item::Text | Item::Number) => format!("list({raw})"),
        Kind::List(Item::Record(record)) => match bare_field(schema, record) {
            Some(field) => format!("[{{\"{field}\": int(item)}} for item in {raw}]"),
            None => format!("[_{record}_json(item) for item in {raw}]"),
        },
        Kind::Object(record) => format!("_{record}_json({raw})"),
        _ => raw,
    };
    format!("\"{name}\": {value}")
}

fn from_json(schema: &Schema, wire: &Wire) -> String {
    let name = &wire.field.name;
    let item = singular(name).to_owned();
    match &wire.field.kind {
        Kind::Number(_) | Kind::Signed => format!("int(found.get(\"{name}\", 0))"),
        Kind::Id => format!("raw(found[\"{name}\"]) if \"{name}\" in found else bytes(16)"),
        Kind::Bytes(_) => format!("raw(found.get(\"{name}\", \"\"))"),
        Kind::Tagged(elements) => format!("{}_of(found.get(\"{name}\", {{}}))", elements_name(*elements)),
        Kind::Reference => "ref_of(found)".to_owned(),
        Kind::Texts | Kind::List(Item::Text | Item::Number) => format!("tuple(found.get(\"{name}\", ()))"),
        Kind::List(Item::Record(record)) => {
            let each = match bare_field(schema, record) {
                Some(field) => format!("{item}[\"{field}\"]"),
                None => format!("_{record}_of({item})"),
            };
            format!("tuple({each} for {item} in found.get(\"{name}\", ()))")
        }
        Kind::Object(record) => format!("_{record}_of(found.get(\"{name}\", {{}}))"),
        _ => format!("found.get(\"{name}\", \"\")"),
    }
}

/// The only field of a record that stands for itself.
fn bare_field<'a>(schema: &'a Schema, record: &str) -> Option<&'a str> {
    let record = schema.record(record);
    let is_bare = shape::of_record(schema, record).is_bare();
    record.fields.first().filter(|_| is_bare).map(|field| field.name.as_str())
}

fn elements_name(elements: Elements) -> &'static str {
    match elements {
        Elements::Attributes => "attributes",
        Elements::Filter => "filter",
        Elements::Settings => "settings",
    }
}

fn composite_functions(page: &mut Page, composite: &Composite) {
    if composite.name == "header" {
        return;
    }
    let (name, class) = (&composite.name, composites::hint(&composite.name));
    page.gap();
    page.line(0, &format!("def _{name}_json(one: {class}) -> Json:"));
    page.line(1, "return {");
    for (place, field) in composite.fields.iter().enumerate() {
        let raw = composites::raw(composite, place, "one");
        let value = match field.kind {
            Kind::Number(8) => format!("str({raw})"),
            Kind::RestNumbers => format!("list({raw})"),
            _ => raw,
        };
        page.line(2, &format!("\"{}\": {value},", field.name));
    }
    page.line(1, "}");
    page.gap();
    page.line(0, &format!("def _{name}_of(found: Json) -> {class}:"));
    for field in &composite.fields {
        let name = &field.name;
        let value = match field.kind {
            Kind::Number(8) => format!("int(found[\"{name}\"])"),
            Kind::RestNumbers => format!("tuple(found[\"{name}\"])"),
            _ => format!("found.get(\"{name}\", 0)"),
        };
        page.line(1, &format!("{name} = {value}"));
    }
    page.line(1, &format!("return {}", composites::made(composite)));
}

fn elements_to_json(page: &mut Page, schema: &Schema, elements: Elements, class: &str, name: &str) {
    page.gap();
    page.line(0, &format!("def {name}_json(one: {class}) -> Json:"));
    page.line(1, "found: Json = {}");
    for element in schema.elements(elements) {
        let attribute = format!("one.{}", attribute_of_element(&element.name));
        if element.repeats {
            page.line(1, &format!("if {attribute}:"));
            page.line(2, &format!("found[\"{}\"] = [list(value) for value in {attribute}]", element.name));
            continue;
        }
        let mut word = "if";
        if elements == Elements::Settings {
            page.line(1, &format!("if isinstance({attribute}, Unset):"));
            page.line(2, &format!("found[\"{}\"] = None", element.name));
            word = "elif";
        }
        page.line(1, &format!("{word} {attribute} is not None:"));
        page.line(2, &format!("found[\"{}\"] = {}", element.name, element_json(element, &attribute)));
    }
    if elements == Elements::Attributes {
        page.line(1, "if one.others:");
        page.line(
            2,
            "found[\"unknown\"] = [{\"tag\": tag, \"value\": b64(value)} for tag, value in one.others]",
        );
    }
    page.line(1, "return found");
}

fn element_json(element: &Element, value: &str) -> String {
    match &element.kind {
        ElementKind::Number(8) => format!("str({value})"),
        ElementKind::Number(_) if element.bits.is_some() || element.choice.is_some() => {
            format!("int({value})")
        }
        ElementKind::Bytes => format!("b64({value})"),
        ElementKind::Composite(name) => format!("_{name}_json({value})"),
        _ => value.to_owned(),
    }
}

fn elements_from_json(page: &mut Page, schema: &Schema, elements: Elements, class: &str, name: &str) {
    page.gap();
    page.line(0, &format!("def {name}_of(found: Json) -> {class}:"));
    page.line(1, "values: Json = {}");
    for element in schema.elements(elements) {
        let attribute = attribute_of_element(&element.name);
        let is_setting = elements == Elements::Settings;
        let there = if is_setting { "value".to_owned() } else { format!("found[\"{}\"]", element.name) };
        page.line(1, &format!("if \"{}\" in found:", element.name));
        let value = match &element.kind {
            _ if element.repeats => format!("tuple((name, value) for name, value in {there})"),
            ElementKind::Number(8) => format!("int({there})"),
            ElementKind::Number(_) if element.bits.is_some() => format!("States({there})"),
            ElementKind::Bytes => format!("raw({there})"),
            ElementKind::Composite(name) => format!("_{name}_of({there})"),
            _ => there.clone(),
        };
        if is_setting {
            page.line(2, &format!("value = found[\"{}\"]", element.name));
            page.line(2, &format!("values[\"{attribute}\"] = UNSET if value is None else {value}"));
        } else {
            page.line(2, &format!("values[\"{attribute}\"] = {value}"));
        }
    }
    if elements == Elements::Attributes {
        page.line(1, "if \"unknown\" in found:");
        page.line(
            2,
            "values[\"others\"] = tuple((one[\"tag\"], raw(one[\"value\"])) for one in found[\"unknown\"])",
        );
    }
    page.line(1, &format!("return {class}(**values)"));
}
