//! The JSON of the conformance suite for each frame, and the tables that the tests of the client walk.

use std::fmt::Write as _;

use super::elements::kind_of_element;
use super::types::PAIR;
use super::{WIDTH, field_name, text_of};
use crate::names::{camel, capitals, pascal};
use crate::schema::{Element, ElementKind, Elements, Field, Item, Kind, Schema, Side};

pub(super) const ABOUT_FRAMES: &str = "The fields of every frame: their names in the JSON of the conformance suite, their names in the codec, and what they are.";
pub(super) const ABOUT_TABLES: &str =
    "What there is in the protocol, for tests that see to it that the client has all of it.";

const KINDS: [&str; 13] = [
    "BYTES",
    "FLAG",
    "ID",
    "NUMBER",
    "REFERENCE",
    "TEXT",
    "TEXTS",
    "WIDE",
    "elements",
    "fields",
    "list",
    "object",
    "pair",
];

pub(super) fn frames(schema: &Schema) -> String {
    let mut out = format!("import {{ {} }} from './json.mjs';\n\n", KINDS.join(", "));
    for composite in &schema.composites {
        let of = if composite.name == PAIR { "pair" } else { "object" };
        let head = format!("const {} = {of}(", capitals(&composite.name));
        let _ = writeln!(out, "{head}{});", table(&rows(schema, &composite.fields), "", head.len() + 2));
    }
    for (elements, name) in
        [(Elements::Attributes, "ATTRIBUTES"), (Elements::Filter, "FILTER"), (Elements::Settings, "SETTINGS")]
    {
        let _ = writeln!(out, "\nexport const {name} = elements([");
        for element in schema.elements(elements) {
            let _ = writeln!(
                out,
                "  ['{}', '{}', {}],",
                element.name,
                camel(&element.name),
                element_kind(element)
            );
        }
        if elements == Elements::Attributes {
            out += "  ['unknown', 'unknown', list(object([['tag', 'tag', NUMBER], ['value', 'value', BYTES]]))],\n";
        }
        out += "]);\n";
    }
    out.push('\n');
    for record in &schema.records {
        let head = format!("const {} = object(", capitals(&record.name));
        let _ = writeln!(out, "{head}{});", table(&rows(schema, &record.fields), "", head.len() + 2));
    }
    for side in [Side::Request, Side::Response] {
        let _ = writeln!(out, "\nexport const {}S = {{", capitals(side.name()));
        for frame in schema.frames(side) {
            let head = format!("  {}: fields(", frame.name);
            let _ = writeln!(out, "{head}{}),", table(&rows(schema, &frame.fields), "  ", head.len() + 2));
        }
        out += "};\n";
    }
    out
}

fn rows(schema: &Schema, fields: &[Field]) -> Vec<String> {
    let mut rows = Vec::new();
    for field in fields {
        match &field.kind {
            Kind::Magic => {}
            Kind::Part(record) => rows.extend(self::rows(schema, &schema.record(record).fields)),
            kind => rows.push(format!("['{}', '{}', {}]", field.name, field_name(field), kind_name(kind))),
        }
    }
    rows
}

/// Rows as a list: on one line if it fits.
fn table(rows: &[String], indent: &str, taken: usize) -> String {
    let line = format!("[{}]", rows.join(", "));
    if taken + line.len() <= WIDTH {
        return line;
    }
    let lines = text_of(rows, |row| format!("{indent}  {row},\n"));
    format!("[\n{lines}{indent}]")
}

fn kind_name(kind: &Kind) -> String {
    match kind {
        Kind::Number(8 | 16) | Kind::Signed => "WIDE".to_owned(),
        Kind::Id => "ID".to_owned(),
        Kind::Text(_) | Kind::RestText => "TEXT".to_owned(),
        Kind::Bytes(_) => "BYTES".to_owned(),
        Kind::Texts | Kind::List(Item::Text) => "TEXTS".to_owned(),
        Kind::List(Item::Number) | Kind::RestNumbers => "list(NUMBER)".to_owned(),
        Kind::Tagged(Elements::Attributes) => "ATTRIBUTES".to_owned(),
        Kind::Tagged(Elements::Filter) => "FILTER".to_owned(),
        Kind::Tagged(Elements::Settings) => "SETTINGS".to_owned(),
        Kind::Reference => "REFERENCE".to_owned(),
        Kind::List(Item::Record(record)) => format!("list({})", capitals(record)),
        Kind::Object(record) | Kind::Part(record) => capitals(record),
        Kind::Number(_) | Kind::Magic => "NUMBER".to_owned(),
    }
}

fn element_kind(element: &Element) -> String {
    let one = match &element.kind {
        ElementKind::Number(8) => "WIDE".to_owned(),
        ElementKind::Number(_) => "NUMBER".to_owned(),
        ElementKind::Text => "TEXT".to_owned(),
        ElementKind::Bytes => "BYTES".to_owned(),
        ElementKind::Flag => "FLAG".to_owned(),
        ElementKind::Composite(name) => capitals(name),
    };
    if element.repeats { format!("list({one})") } else { one }
}

pub(super) fn tables(schema: &Schema) -> String {
    let mut out = String::new();
    for side in [Side::Request, Side::Response] {
        let names: Vec<String> =
            schema.frames(side).iter().map(|frame| format!("'{}'", frame.name)).collect();
        let head = format!("export const {}S = ", capitals(side.name()));
        let _ = writeln!(out, "{head}{};", table(&names, "", head.len() + 1));
    }
    for (elements, name) in [
        (Elements::Attributes, "ATTRIBUTES"),
        (Elements::Filter, "CONDITIONS"),
        (Elements::Settings, "SETTINGS"),
    ] {
        let rows = text_of(schema.elements(elements), |one| {
            format!("  {}: '{}',\n", camel(&one.name), kind_of_element(one))
        });
        let _ = write!(out, "/** What stands in each of them. */\nexport const {name} = {{\n{rows}}};\n");
    }
    out += "export const ERRORS = [\n";
    for code in &schema.errors {
        let _ = writeln!(
            out,
            "  {{ name: '{}', number: {}, retryable: {}, type: '{}Error' }},",
            code.name,
            code.number,
            code.is_retryable,
            pascal(&code.name)
        );
    }
    out += "];\nexport const LIMITS = {\n";
    for limit in &schema.limits {
        let _ = writeln!(out, "  {}: {},", limit.name, limit.value);
    }
    out += "};\nexport const CONSTANTS = {\n";
    for constant in &schema.constants {
        let _ = writeln!(out, "  {}: {}n,", constant.name, constant.value);
    }
    out + "};\n"
}
