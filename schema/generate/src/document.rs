//! The tables of `protocol.md`.

use std::fmt::Write as _;

use crate::names::grouped;
use crate::output::Output;
use crate::schema::{Element, ElementKind, Elements, Field, Frame, Item, Kind, Schema};

const DOCUMENT: &str = "protocol.md";
/// Frames and records that have a table of their own; the text describes the others.
const WITH_TABLE: [&str; 39] = [
    "HELLO",
    "WELCOME",
    "PUSH",
    "new_job",
    "delivered",
    "RESERVE",
    "SUBSCRIBE",
    "CREDIT",
    "LEASES",
    "JOB",
    "KICK_MANY",
    "LIST",
    "COUNT",
    "COUNTED",
    "due_bar",
    "BULK",
    "EDIT",
    "TOPIC_SETTINGS",
    "totals",
    "connection",
    "CLUSTER_REPORT",
    "node",
    "ERROR",
    "stage",
    "SCHEDULE_SET",
    "schedule_rules",
    "job_template",
    "SCHEDULE",
    "schedule_state",
    "firing",
    "SCHEDULE_LIST",
    "SCHEDULE_FILL",
    "SCHEDULE_FILLED",
    "SCHEDULE_PREVIEW",
    "local_instant",
    "GROUP_SET",
    "GROUP_LIST",
    "group_state",
    "reason",
];

pub(crate) fn outputs(schema: &Schema) -> Vec<Output> {
    let table = |name: &str, text: String| Output::Table { path: DOCUMENT, name: name.to_owned(), text };
    let mut outputs: Vec<Output> = WITH_TABLE
        .iter()
        .map(|name| table(&format!("fields of {name}"), fields_table(schema, fields_of(schema, name))))
        .collect();
    outputs.extend([
        table("opcodes", opcodes(schema)),
        table("rights", rights(schema)),
        table("outcomes", outcomes(schema)),
        table("attributes", attributes(schema)),
        table("conditions", conditions(schema)),
        table("settings", settings(schema)),
        table("errors", errors(schema)),
        table("refusals", refusals(schema)),
        table("limits", limits(schema)),
    ]);
    outputs
}

fn fields_of<'a>(schema: &'a Schema, name: &str) -> &'a [Field] {
    let mut frames = schema.requests.iter().chain(&schema.responses);
    match frames.find(|frame| frame.name == name) {
        Some(frame) => &frame.fields,
        None => &schema.record(name).fields,
    }
}

fn fields_table(schema: &Schema, fields: &[Field]) -> String {
    let has_defaults = fields.iter().any(|field| field.default.is_some());
    let mut out = String::from(if has_defaults {
        "| field | type | meaning | default |\n|---|---|---|---|\n"
    } else {
        "| field | type | meaning |\n|---|---|---|\n"
    });
    for field in fields {
        if let Kind::Part(record) = &field.kind {
            for part in &schema.record(record).fields {
                row(schema, part, has_defaults, &mut out);
            }
        } else {
            row(schema, field, has_defaults, &mut out);
        }
    }
    out
}

fn row(schema: &Schema, field: &Field, has_defaults: bool, out: &mut String) {
    let meaning = meaning(schema, field);
    let _ = write!(out, "| {} | {} | {meaning} |", field.name, type_of(&field.kind));
    if has_defaults {
        let _ =
            write!(out, "{} |", field.default.as_ref().map(|text| format!(" {text}")).unwrap_or_default());
    }
    out.push('\n');
}

fn type_of(kind: &Kind) -> String {
    match kind {
        Kind::Magic => "4 bytes".to_owned(),
        Kind::Id => "16 bytes".to_owned(),
        Kind::Number(width) => format!("`u{}`", 8 * width),
        Kind::Signed => "`i64`".to_owned(),
        Kind::Text(width) => format!("`text{}`", 8 * width),
        Kind::Bytes(width) => format!("`bytes{}`", 8 * width),
        Kind::Texts => "`texts8`".to_owned(),
        Kind::Tagged(_) => "`bytes16`".to_owned(),
        Kind::Reference => "reference".to_owned(),
        Kind::List(_) => "list".to_owned(),
        Kind::Part(_) | Kind::Object(_) => "fields".to_owned(),
        Kind::RestText => "text".to_owned(),
        Kind::RestNumbers => "`u32` each".to_owned(),
    }
}

/// What a field means, with the choices or bits that it has.
fn meaning(schema: &Schema, field: &Field) -> String {
    let choice = schema.choice_of(field.choice.as_deref());
    let bits = schema.bits_of(field.bits.as_deref());
    let absent = if field.is_late && !field.doc.contains("bsent") && !field.doc.starts_with("as in") {
        ". May be absent"
    } else {
        ""
    };
    // The outcomes have a table of their own.
    if let Some(choice) = choice.filter(|choice| choice.name != "outcome") {
        let values: Vec<String> = choice
            .values
            .iter()
            .map(|one| format!("{} {}: {}", one.number, spaced(&one.name), one.doc))
            .collect();
        return format!("{}: {}{absent}", field.doc, values.join("; "));
    }
    if let Some(bits) = bits {
        let values: Vec<String> = bits
            .values
            .iter()
            .map(|one| format!("bit {}, *{}*: {}", one.bit, spaced(&one.name), one.doc))
            .collect();
        return format!("{}: {}{absent}", field.doc, values.join("; "));
    }
    format!("{}{}{absent}", field.doc, items(schema, &field.kind))
}

/// What the items of a list are, unless they have a table of their own.
fn items(schema: &Schema, kind: &Kind) -> String {
    match kind {
        Kind::List(Item::Text) => ". Fixed part, 1 byte: the length of a text. Piece: the text".to_owned(),
        Kind::List(Item::Number) => ". Fixed part, 2 bytes: a `u16`".to_owned(),
        Kind::List(Item::Record(record)) if !WITH_TABLE.contains(&record.as_str()) => {
            let record = schema.record(record);
            let field = |field: &Field| {
                format!("{} {} ({})", field.name, type_of(&field.kind), meaning(schema, field))
            };
            let fields: Vec<String> = record.fields.iter().map(field).collect();
            format!(". Fixed part, {} bytes: {}", record.fixed_bytes(), fields.join(", "))
        }
        _ => String::new(),
    }
}

fn spaced(name: &str) -> String {
    name.replace('_', " ")
}

fn opcodes(schema: &Schema) -> String {
    let mut out =
        String::from("| opcode | request | answered by | | opcode | response |\n|---|---|---|---|---|---|\n");
    let answer = |frame: &Frame| match frame.answer.as_deref() {
        Some("SUBSCRIBED") => "SUBSCRIBED, then DELIVER".to_owned(),
        answer => answer.unwrap_or_default().to_owned(),
    };
    for place in 0..schema.requests.len().max(schema.responses.len()) {
        let request = schema.requests.get(place).map_or_else(
            || "| | | |".to_owned(),
            |frame| format!("| `0x{:02X}` | {} | {} |", frame.opcode, frame.name, answer(frame)),
        );
        let response = schema.responses.get(place).map_or_else(
            || " | | |".to_owned(),
            |frame| format!(" | `0x{:02X}` | {} |", frame.opcode, frame.name),
        );
        let _ = writeln!(out, "{request}{response}");
    }
    out
}

fn rights(schema: &Schema) -> String {
    let mut out = String::from("| right | requests |\n|---|---|\n");
    for right in [None, Some("push"), Some("consume"), Some("read"), Some("manage"), Some("admin")] {
        let needing = schema.requests.iter().filter(|frame| frame.right.as_deref() == right);
        let names: Vec<&str> = needing.map(|frame| frame.name.as_str()).collect();
        let _ = writeln!(out, "| {} | {} |", right.unwrap_or("none"), names.join(", "));
    }
    out
}

fn outcomes(schema: &Schema) -> String {
    let mut out = String::from("| outcome | meaning |\n|---|---|\n");
    for choice in schema.choices.iter().filter(|choice| choice.name == "outcome") {
        for one in &choice.values {
            let _ = writeln!(out, "| {} {} | {} |", one.number, spaced(&one.name), one.doc);
        }
        let _ = writeln!(
            out,
            "| any other | of a newer server: {} |",
            choice.open.as_deref().unwrap_or_default()
        );
    }
    out
}

fn attributes(schema: &Schema) -> String {
    let mut out = String::from("| tag | name | value |\n|---|---|---|\n");
    for one in schema.elements(Elements::Attributes) {
        let name = one.name.trim_end_matches("_ms").trim_end_matches('s');
        let name = if one.repeats { name } else { one.name.trim_end_matches("_ms") };
        let _ = writeln!(out, "| `0x{:04x}` | {} | {} |", one.tag, spaced(name), one.doc);
    }
    out
}

fn conditions(schema: &Schema) -> String {
    let mut out = String::from("| tag | condition | value |\n|---|---|---|\n");
    for one in schema.elements(Elements::Filter) {
        let bits = schema.bits_of(one.bits.as_deref());
        let bits = bits.map(|bits| {
            let flags = bits.values.iter().map(|flag| format!("{} {}", 1_u32 << flag.bit, flag.doc));
            format!(", a bit for each: {}", flags.collect::<Vec<_>>().join(", "))
        });
        let _ = writeln!(out, "| {} | {} | {}{} |", one.tag, one.doc, value(one), bits.unwrap_or_default());
    }
    out
}

fn settings(schema: &Schema) -> String {
    let mut out = String::from("| tag | setting | value | meaning |\n|---|---|---|---|\n");
    for one in schema.elements(Elements::Settings) {
        let name = one.cli.as_deref().unwrap_or_default();
        let _ = writeln!(out, "| {} | {name} | {} | {} |", one.tag, value(one), one.doc);
    }
    out
}

fn value(element: &Element) -> String {
    match &element.kind {
        ElementKind::Number(width) => format!("`u{}`", 8 * width),
        ElementKind::Text => {
            element.max.map_or_else(|| "text".to_owned(), |max| format!("text, at most {max} bytes"))
        }
        ElementKind::Bytes => {
            element.max.map_or_else(|| "bytes".to_owned(), |max| format!("bytes, at most {max}"))
        }
        ElementKind::Flag => "`u8` 1".to_owned(),
        ElementKind::Composite(name) if name == "late" => "`u64`, `u8`, `u64`".to_owned(),
        ElementKind::Composite(_) => "as the attribute".to_owned(),
    }
}

fn errors(schema: &Schema) -> String {
    let mut out =
        String::from("| number | code | retryable | meaning | what to do |\n|---|---|---|---|---|\n");
    for code in &schema.errors {
        let retryable = if code.is_retryable { "yes" } else { "no" };
        let _ = writeln!(
            out,
            "| {} | `{}` | {retryable} | {} | {} |",
            code.number, code.name, code.doc, code.remedy
        );
    }
    out
}

fn refusals(schema: &Schema) -> String {
    let mut out = String::from("| request | codes |\n|---|---|\n");
    for frame in &schema.requests {
        let codes: Vec<String> = frame.errors.iter().map(|code| format!("`{code}`")).collect();
        let codes = if codes.is_empty() { "-".to_owned() } else { codes.join(", ") };
        let _ = writeln!(out, "| {} | {codes} |", frame.name);
    }
    out
}

fn limits(schema: &Schema) -> String {
    let mut out = String::from("| limit | value | meaning |\n|---|---|---|\n");
    for limit in &schema.limits {
        let welcome = limit.welcome.as_ref().map(|field| format!(": `{field}`")).unwrap_or_default();
        let _ =
            writeln!(out, "| `{}` | {} | {}{welcome} |", limit.name, grouped(limit.value, ','), limit.doc);
    }
    out
}
