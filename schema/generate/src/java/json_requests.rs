//! For the harness: requests as JSON, and JSON as requests.

use crate::java::code::Code;
use crate::java::fields::{frame_type, is_listed, length_name, read_length, read_piece, record_type};
use crate::java::tables::PUBLIC;
use crate::names::camel;
use crate::schema::{Elements, Field, Frame, Item, Kind, Record, Schema, Side};

const IMPORTS: [&str; 9] = [
    "io.adjourn.client.internal.Names",
    "io.adjourn.client.internal.wire.Choice",
    "io.adjourn.client.internal.wire.FrameReader",
    "io.adjourn.client.internal.wire.MalformedFrameException",
    "io.adjourn.client.internal.wire.Opcode",
    "io.adjourn.client.internal.wire.Request",
    "java.util.ArrayList",
    "java.util.LinkedHashMap",
    "java.util.List",
];

pub(super) fn mapping(schema: &Schema) -> String {
    let imports: Vec<&str> = IMPORTS.into_iter().chain(["java.util.Map"]).collect();
    let mut code = Code::file(PUBLIC, &imports);
    code.doc(
        "Requests in the neutral JSON form of the conformance suite. They are read as strictly as by a server: the client itself only \
         writes them",
    );
    code.open("final class RequestJson");
    code.open("private RequestJson()");
    code.close();
    from_json(&mut code, schema);
    decode(&mut code, schema);
    for frame in schema.requests.iter().filter(|frame| !frame.fields.is_empty()) {
        decode_frame(&mut code, schema, frame);
    }
    for record in schema.records_of(Side::Request) {
        record_from_json(&mut code, schema, record);
        if is_listed(&schema.requests, record) {
            decode_list(&mut code, schema, record);
        } else {
            decode_part(&mut code, schema, record);
        }
    }
    code.close();
    code.finish()
}

fn from_json(code: &mut Code, schema: &Schema) {
    code.blank();
    code.doc("The request with these fields");
    code.open("static Request of(Opcode opcode, Json f)");
    code.open("return switch (opcode)");
    for frame in &schema.requests {
        let fields = frame.fields.iter().filter(|field| field.kind != Kind::Magic);
        let values: Vec<String> = fields.map(value_of).collect();
        code.list(&format!("case {} -> new Request.{}(", frame.name, frame_type(frame)), &values, ");");
    }
    code.line("default -> throw new UsageException(opcode + \" is no request\");");
    code.close_with("};");
    code.close();
}

/// The value of a field in the JSON object `f`.
fn value_of(field: &Field) -> String {
    let name = &field.name;
    match &field.kind {
        Kind::Number(8) | Kind::Signed => format!("f.u64(\"{name}\")"),
        Kind::Number(16) => format!("f.u128(\"{name}\")"),
        Kind::Number(_) => format!("f.u32(\"{name}\")"),
        Kind::Text(_) => format!("f.text(\"{name}\")"),
        Kind::Tagged(elements) => format!("ElementJson.{}(f.object(\"{name}\"))", method_of(*elements)),
        Kind::Reference => "f.reference()".to_owned(),
        Kind::List(Item::Text) => format!("f.texts(\"{name}\")"),
        Kind::List(Item::Number) => format!("f.numbers(\"{name}\")"),
        Kind::List(Item::Record(record)) => {
            format!("f.objects(\"{name}\").stream().map(RequestJson::{}).toList()", camel(record))
        }
        Kind::Part(record) => format!("{}(f)", camel(record)),
        _ => format!("f.bytes(\"{name}\")"),
    }
}

/// The method that maps these elements.
pub(super) fn method_of(elements: Elements) -> &'static str {
    match elements {
        Elements::Attributes => "attributes",
        Elements::Filter => "filter",
        Elements::Settings => "settings",
    }
}

fn record_from_json(code: &mut Code, schema: &Schema, record: &Record) {
    let java = record_type(schema, &record.name);
    let values: Vec<String> = record.fields.iter().map(value_of).collect();
    code.blank();
    code.open(&format!("static {java} {}(Json f)", camel(&record.name)));
    code.list(&format!("return new {java}("), &values, ");");
    code.close();
}

fn decode(code: &mut Code, schema: &Schema) {
    code.blank();
    code.doc("Reads what follows the head of a frame");
    code.open(
        "static Map<String, Object> decode(Opcode opcode, FrameReader in) throws MalformedFrameException",
    );
    code.line("Map<String, Object> json = new LinkedHashMap<>();");
    code.open("switch (opcode)");
    for frame in schema.requests.iter().filter(|frame| !frame.fields.is_empty()) {
        code.line(&format!("case {} -> {}(in, json);", frame.name, camel(&frame.name)));
    }
    code.open("default ->");
    code.line("// The others have no fields.");
    code.close();
    code.close();
    code.line("return json;");
    code.close();
}

fn decode_frame(code: &mut Code, schema: &Schema, frame: &Frame) {
    code.blank();
    code.open(&format!(
        "private static void {}(FrameReader in, Map<String, Object> json) throws MalformedFrameException",
        camel(&frame.name)
    ));
    for field in &frame.fields {
        match &field.kind {
            Kind::Magic => code.line("Strict.magic(in.u32());"),
            Kind::Reference => code.line("Strict.reference(in, json);"),
            Kind::Part(record) => code.line(&format!("{}(in, json);", camel(record))),
            _ => {
                let read = checked(schema, field, &read(field, &frame.name));
                code.line(&format!("json.put(\"{}\", {});", field.name, optional(field, &frame.name, &read)));
            }
        }
    }
    if frame.fields.iter().any(|field| field.name == "due_kind") {
        code.line("Strict.due(json);");
    }
    code.close();
}

/// The expression that reads a field of a frame.
fn read(field: &Field, frame: &str) -> String {
    match &field.kind {
        Kind::Text(width) => format!("in.text{}()", width * 8),
        Kind::Tagged(_) | Kind::Bytes(2) => "in.bytes16()".to_owned(),
        Kind::Bytes(4) => "in.raw(in.u32())".to_owned(),
        Kind::List(Item::Text) => "in.texts()".to_owned(),
        Kind::List(Item::Number) => "in.numbers()".to_owned(),
        Kind::List(Item::Record(record)) => format!("{}Items(in)", camel(record)),
        Kind::Number(16) | Kind::Id => "in.raw(16)".to_owned(),
        Kind::Number(8) if frame == "RELEASE" => "Strict.release(in.u64())".to_owned(),
        Kind::Number(width) => format!("in.u{}()", width * 8),
        other => panic!("a request has no {other:?}"),
    }
}

/// What a field that is absent is.
fn optional(field: &Field, frame: &str, read: &str) -> String {
    if !field.is_late {
        return read.to_owned();
    }
    let absent = match &field.kind {
        Kind::Text(_) => "\"\"",
        Kind::List(_) => "List.of()",
        Kind::Number(8 | 16) => "\"0\"",
        _ => "0",
    };
    // What stands there with another change is skipped.
    let other = if frame == "BULK" { " || (int) json.get(\"change\") != Choice.Change.MOVE" } else { "" };
    format!("in.isOver(){other} ? {absent} : {read}")
}

/// The value as JSON, if it is in its range.
fn checked(schema: &Schema, field: &Field, value: &str) -> String {
    let name = &field.name;
    match &field.kind {
        Kind::Text(_) if field.is_topic() => format!("Names.topic({value})"),
        Kind::List(Item::Text) => format!("Strict.topics({value})"),
        Kind::Text(_) | Kind::List(Item::Number) => value.to_owned(),
        Kind::List(Item::Record(_)) => {
            let (min, max) = (field.min.unwrap_or_default(), field.max.unwrap_or(u64::from(u32::MAX)));
            format!("Strict.size({value}, {min}, {max}L, \"{name}\")")
        }
        Kind::Tagged(elements) => format!("ElementJson.{}({value})", method_of(*elements)),
        Kind::Id | Kind::Bytes(_) => format!("Json.base64({value})"),
        Kind::Number(16) => format!("Json.u128({value})"),
        Kind::Number(8) => match field.max {
            Some(max) => format!("Long.toUnsignedString(Strict.range({value}, 0, {max}L, \"{name}\"))"),
            None => format!("Long.toUnsignedString({value})"),
        },
        Kind::Number(4) if name == "ttr_ms" => format!("Strict.ttr({value})"),
        Kind::Number(_) => number(schema, field, value),
        other => panic!("a request has no {other:?}"),
    }
}

fn number(schema: &Schema, field: &Field, value: &str) -> String {
    let choice = schema.choice_of(field.choice.as_deref());
    if let Some(bits) = crate::java::fields::known_bits(schema, field) {
        return format!("{value} & {bits:#x}");
    }
    if let Some(choice) = choice {
        return format!("Strict.choice({value}, {}, \"{}\")", choice.values.len(), field.name);
    }
    let wide = if field.kind == Kind::Number(4) {
        format!("Integer.toUnsignedLong({value})")
    } else {
        value.to_owned()
    };
    match (field.min, field.max) {
        (None, None) => wide,
        (min, max) => {
            let (min, max) = (min.unwrap_or_default(), max.unwrap_or(u64::from(u32::MAX)));
            format!("Strict.range({wide}, {min}, {max}L, \"{}\")", field.name)
        }
    }
}

fn decode_list(code: &mut Code, schema: &Schema, record: &Record) {
    code.blank();
    let name = camel(&record.name);
    code.open(&format!(
        "private static List<Object> {name}Items(FrameReader in) throws MalformedFrameException"
    ));
    code.line(&format!("int fixed = in.fixed({});", record.fixed_bytes_min()));
    code.line("int size = in.size(fixed);");
    code.line("List<Object> items = new ArrayList<>(size);");
    code.open("for (int i = 0; i < size; i++)");
    code.line("int end = in.beginFixed(fixed);");
    code.line("Map<String, Object> json = new LinkedHashMap<>();");
    decode_fields(code, schema, record, Some("in.endFixed(end);"));
    code.line("items.add(json);");
    code.close();
    code.line("return items;");
    code.close();
}

fn decode_part(code: &mut Code, schema: &Schema, record: &Record) {
    code.blank();
    code.open(&format!(
        "private static void {}(FrameReader in, Map<String, Object> json) throws MalformedFrameException",
        camel(&record.name)
    ));
    decode_fields(code, schema, record, None);
    code.close();
}

/// Reads the fixed part, what may stand behind it, and the pieces.
fn decode_fields(code: &mut Code, schema: &Schema, record: &Record, end: Option<&str>) {
    for field in &record.fields {
        if field.is_piece() {
            code.line(&format!("int {} = {};", length_name(field), read_length(field)));
        } else {
            code.line(&format!(
                "json.put(\"{}\", {});",
                field.name,
                checked(schema, field, &read(field, ""))
            ));
        }
    }
    if let Some(end) = end {
        code.line(end);
    }
    for field in record.fields.iter().filter(|field| field.is_piece()) {
        code.line(&format!("json.put(\"{}\", {});", field.name, checked(schema, field, &read_piece(field))));
    }
    if record.fields.iter().any(|field| field.name == "due_kind") {
        code.line("Strict.due(json);");
    }
}
