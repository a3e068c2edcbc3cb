//! What a server does with frames: it decodes requests, checks them, and encodes responses. For tools and tests.

use std::fmt::Write as _;

use super::codec::{Reading, element_functions, noted, put_table, puts, types_of};
use super::{field_name, import};
use crate::names::pascal;
use crate::schema::{Field, Item, Kind, Schema, Side};

pub(super) const ABOUT: &str = "The server's side: decodes requests, and encodes responses. For tools and tests; a client does not need it.";

pub(super) fn server(schema: &Schema) -> String {
    let mut out = String::new();
    let bytes = ["ByteReader", "DecodeError", "frameOf", "type ByteWriter"].map(str::to_owned);
    let mut bytes = bytes.to_vec();
    if schema.records_of(Side::Request).any(|one| one.fields.iter().any(|field| field.is_late)) {
        bytes.push("hasField".to_owned());
    }
    out += &import(&bytes, "./bytes.js", false);
    let checks = [
        "atLeast",
        "checkDue",
        "checkMagic",
        "checkedChoice",
        "checkedDelay",
        "checkedKey",
        "checkedTopic",
        "checkedTtr",
        "some",
    ]
    .map(str::to_owned);
    out += &import(&checks, "./checks.js", false);
    let mut functions = element_functions(schema, Side::Request, "take");
    functions.extend(element_functions(schema, Side::Response, "encode"));
    out += &import(&functions, "./elements.js", false);
    out += &import(&["Frame".to_owned()], "./frame.js", true);
    let mut types = types_of(schema, Side::Request);
    types.extend(types_of(schema, Side::Response));
    types.extend(["JobReference", "Request", "ResponseFields", "ResponseName"].map(str::to_owned));
    let types = types.into_iter().map(|name| format!("type {name}")).chain(["RESPONSES".to_owned()]);
    out += &import(&types.collect::<Vec<_>>(), "./messages.js", false);
    out += &decode_request(schema);
    out += "\n/** The whole frame of a response. */\n\
            export function encodeResponse<N extends ResponseName>(name: N, id: number, fields: ResponseFields<N>): Uint8Array {\n  \
            const put = PUT[name];\n  \
            return frameOf(RESPONSES[name], id, (to) => put(to, fields));\n}\n";
    let read = Reading { schema, side: Side::Request };
    for record in schema.records_of(Side::Request) {
        out += &read.record(record);
    }
    for frame in schema.requests.iter().filter(|frame| !frame.fields.is_empty()) {
        out += &read.frame(frame);
    }
    out += "\nfunction takeReference(from: ByteReader): JobReference {\n";
    out += "  const jobKind = checkedChoice(from.u8('job_kind'), 2, 'job_kind');\n";
    out += "  if (jobKind === 0) return { jobKind, job: from.u64('job') };\n";
    out += "  return { jobKind: 1, topic: checkedTopic(from.text(from.u8('topic'), 'topic')), key: checkedKey(from.text(from.u16('key'), 'key')) };\n}\n";
    out += &noted(
        "A topic of a list.",
        "function takeText(from: ByteReader, fixed: number): string {\n  const at = from.skip(fixed, 'a topic');\n  \
         return checkedTopic(from.text(from.view.getUint8(at), 'a topic'));\n}\n",
    );
    out += &noted(
        "A weight of a list.",
        "function takeU16(from: ByteReader, fixed: number): number {\n  return from.view.getUint16(from.skip(fixed, 'a weight'), true);\n}\n",
    );
    out += &puts(schema, Side::Response);
    out + &put_table(schema, Side::Response)
}

fn decode_request(schema: &Schema) -> String {
    let mut out = String::from("\n/** The request in a frame. */\n");
    out += "export function decodeRequest({ opcode, group, id, payload }: Frame): Request {\n";
    out += "  if (group !== 0) throw new DecodeError(`there is no group ${group}`);\n";
    out += "  if (id === 0) throw new DecodeError(\"request id 0 is the server's own\");\n";
    out += "  switch (opcode) {\n";
    for frame in &schema.requests {
        let fields = if frame.fields.is_empty() {
            "{}".to_owned()
        } else {
            format!("take{}(new ByteReader(payload))", pascal(&frame.name))
        };
        let _ = writeln!(out, "    case {:#04x}:", frame.opcode);
        let _ = writeln!(out, "      return {{ name: '{}', fields: {fields} }};", frame.name);
    }
    out += "    default:\n      throw new DecodeError(`opcode ${opcode} is no request that is known here`);\n  }\n}\n";
    out
}

/// A value of a request that is checked when it is read. The schema has no types for topics, keys, times to run and delays:
/// they are known by their names.
pub(super) fn checked(field: &Field, value: String) -> String {
    let name = &field.name;
    match (&field.kind, name.as_str(), field.min) {
        (Kind::Text(_), "topic", _) if field.is_topic() => format!("checkedTopic({value})"),
        (Kind::Text(_), "key", _) => format!("checkedKey({value})"),
        (Kind::Number(4), "ttr_ms", _) => format!("checkedTtr({value})"),
        (Kind::Number(8), "delay_ms", _) => format!("checkedDelay({value})"),
        (Kind::List(Item::Record(_) | Item::Text), _, Some(_)) => format!("some({value}, '{name}')"),
        (Kind::Number(_), _, Some(min)) => format!("atLeast({min}, {value}, '{name}')"),
        _ => value,
    }
}

/// A due time is checked with the kind that says how it counts.
pub(super) fn with_checks(fields: &[Field], body: String) -> String {
    let has = |wanted: &str| fields.iter().any(|field| field_name(field) == wanted);
    if has("dueMs") && has("dueKind") {
        body.replace("return {", "return checkDue({").replace("  };\n", "  });\n")
    } else {
        body
    }
}
