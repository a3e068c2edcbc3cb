//! The types of all messages, and what a client has to know of each kind.

use std::fmt::Write as _;

use super::{
    comment, elements_type, field_comment, field_name, fields_type, import, text_of, type_of, value_type,
};
use crate::names::{camel, sentence};
use crate::schema::{Composite, Element, ElementKind, Elements, Field, Frame, Kind, Repeat, Schema, Side};

pub(super) const ABOUT: &str = "Every request and every response of the protocol, with the names and the meaning of their fields. Numbers of more than 32 bits are `bigint`.";

/// A composite that is a pair in TypeScript, as everywhere in this client.
pub(super) const PAIR: &str = "header";

pub(super) fn messages(schema: &Schema) -> String {
    let mut out = import(&["Element".to_owned()], "./bytes.js", true);
    for composite in &schema.composites {
        out += &composite_type(schema, composite);
    }
    for (elements, about) in [
        (Elements::Attributes, "What a job can carry."),
        (Elements::Filter, "Which jobs: those that meet all conditions that are there."),
        (Elements::Settings, "What a topic decides for its jobs."),
    ] {
        out += &elements_interface(schema, elements, about);
    }
    out += "\n/** `null` takes a setting away; a setting that is not there stays as it is. */\n";
    out += "export type SettingsChange = { readonly [K in keyof Settings]?: Settings[K] | null };\n";
    out += "\n/** One job, by its id or by its key. */\nexport type JobReference =\n";
    out += "  | { readonly jobKind: 0; readonly job: bigint }\n";
    out += "  | { readonly jobKind: 1; readonly topic: string; readonly key: string };\n";
    for record in &schema.records {
        out += &interface(schema, &value_type(&record.name), &record.doc, &record.fields);
    }
    out += "\n/** Of messages without fields. */\nexport type NoFields = Readonly<Record<string, never>>;\n";
    for side in [Side::Request, Side::Response] {
        for frame in schema.frames(side).iter().filter(|frame| !frame.fields.is_empty()) {
            let about = format!("{}: {}", frame.name, frame.doc);
            out += &interface(schema, &fields_type(&frame.name), &about, &frame.fields);
        }
        out += &table(schema, side);
    }
    out + &knowledge(schema)
}

fn composite_type(schema: &Schema, composite: &Composite) -> String {
    let name = value_type(&composite.name);
    if composite.name == PAIR {
        let parts = composite.fields.iter().map(|field| format!("{}: {}", field.name, type_of(&field.kind)));
        let parts: Vec<String> = parts.collect();
        let doc = comment("", &sentence(&composite.doc));
        return format!("\n{doc}export type {name} = readonly [{}];\n", parts.join(", "));
    }
    interface(schema, &name, &composite.doc, &composite.fields)
}

fn interface(schema: &Schema, name: &str, doc: &str, fields: &[Field]) -> String {
    let parts: Vec<String> = fields
        .iter()
        .filter(|field| matches!(field.kind, Kind::Part(_)))
        .map(|field| type_of(&field.kind))
        .collect();
    let extends = if parts.is_empty() { String::new() } else { format!(" extends {}", parts.join(", ")) };
    let mut out = format!("\n{}export interface {name}{extends} {{\n", comment("", &sentence(doc)));
    for field in fields.iter().filter(|field| !matches!(field.kind, Kind::Part(_) | Kind::Magic)) {
        out += &field_comment(schema, "  ", field);
        let _ = writeln!(out, "  readonly {}: {};", field_name(field), type_of(&field.kind));
    }
    out + "}\n"
}

fn elements_interface(schema: &Schema, elements: Elements, about: &str) -> String {
    let name = if elements == Elements::Settings { "Settings" } else { elements_type(elements) };
    let mut out = format!("\n{}export interface {name} {{\n", comment("", about));
    for element in schema.elements(elements) {
        let values = schema.choice_of(element.choice.as_deref());
        let values = values.map(|choice| {
            let names = choice.values.iter().map(|one| format!("{} {}", one.number, one.name));
            format!(": {}", names.collect::<Vec<_>>().join(", "))
        });
        let bits = schema.bits_of(element.bits.as_deref());
        let bits = bits.map(|bits| {
            let names = bits.values.iter().map(|one| format!("{} {}", 1_u64 << one.bit, one.name));
            format!(": {}", names.collect::<Vec<_>>().join(", "))
        });
        let doc = sentence(&element.doc);
        let more = values.or(bits).unwrap_or_default();
        out += &comment("  ", &format!("{}{more}.", doc.trim_end_matches('.')));
        let _ = writeln!(out, "  readonly {}?: {};", camel(&element.name), element_type(element));
    }
    if elements == Elements::Attributes {
        out += "  /** Those that this version does not know. */\n  readonly unknown?: readonly Element[];\n";
    }
    out + "}\n"
}

fn element_type(element: &Element) -> String {
    let one = match &element.kind {
        ElementKind::Number(8) => "bigint".to_owned(),
        ElementKind::Number(_) => "number".to_owned(),
        ElementKind::Text => "string".to_owned(),
        ElementKind::Bytes => "Uint8Array".to_owned(),
        ElementKind::Flag => "true".to_owned(),
        ElementKind::Composite(name) => value_type(name),
    };
    if element.repeats { format!("readonly {one}[]") } else { one }
}

/// The opcodes of one side, and the fields by name.
fn table(schema: &Schema, side: Side) -> String {
    let (many, one) = match side {
        Side::Request => ("REQUESTS", "Request"),
        Side::Response => ("RESPONSES", "Response"),
    };
    let mut out = format!("\n/** The opcode of each {}. */\nexport const {many} = {{\n", side.name());
    for frame in schema.frames(side) {
        out += &comment("  ", &sentence(&frame.doc));
        let _ = writeln!(out, "  {}: {:#04x},", frame.name, frame.opcode);
    }
    let _ = write!(out, "}} as const;\n\nexport interface {one}FieldsByName {{\n");
    for frame in schema.frames(side) {
        let fields = if frame.fields.is_empty() { "NoFields".to_owned() } else { fields_type(&frame.name) };
        let _ = writeln!(out, "  readonly {}: {fields};", frame.name);
    }
    let _ = writeln!(
        out,
        "}}\n\nexport type {one}Name = keyof {one}FieldsByName;\n\
         export type {one}Fields<N extends {one}Name> = {one}FieldsByName[N];\n\n\
         /** A {} with its fields. */\n\
         export type {one}<N extends {one}Name = {one}Name> = {{ [K in N]: {{ readonly name: K; readonly fields: {one}FieldsByName[K] }} }}[N];",
        side.name()
    );
    out
}

/// What a client has to know of each kind of message.
fn knowledge(schema: &Schema) -> String {
    let names = |frames: Vec<&Frame>| text_of(&frames, |frame| format!("  '{}',\n", frame.name));
    let repeating =
        |repeat: Repeat| names(schema.requests.iter().filter(|frame| frame.repeat == repeat).collect());
    let mut out = String::new();
    out += "\n/** Requests that may be sent again when nobody knows whether the server got them. */\n";
    let _ = write!(
        out,
        "export const REPEATABLE: ReadonlySet<RequestName> = new Set([\n{}]);\n",
        repeating(Repeat::Safe)
    );
    out += "\n/** Requests that may be sent again only if they name a job by its id. */\n";
    let _ = write!(
        out,
        "export const REPEATABLE_BY_ID: ReadonlySet<RequestName> = new Set([\n{}]);\n",
        repeating(Repeat::SafeById)
    );
    let proofs: Vec<&Frame> = schema.responses.iter().filter(|frame| frame.is_proof).collect();
    out += "\n/** Responses that prove that the session was connected to the leader after their request was sent. */\n";
    let _ = write!(out, "export const PROOFS: ReadonlySet<ResponseName> = new Set([\n{}]);\n", names(proofs));
    out
}
