//! Responses: their types, and how they are decoded.

use crate::java::code::Code;
use crate::java::fields::{
    components, frame_type, grouped, is_listed, is_shared, java_type, length_name, members, parameters, read,
    read_length, read_number, read_piece, record_type, shared_by,
};
use crate::java::tables::WIRE;
use crate::names::{camel, capitals, pascal};
use crate::schema::{Choice, ChoiceValue, Field, Frame, Kind, Record, Schema, Side, Unknown, UnknownCode};

pub(super) fn types(schema: &Schema) -> String {
    let mut code = Code::file(WIRE, &["java.util.List"]);
    code.doc(
        "What a server sends: each response with its fields as they are on the wire. Numbers are unsigned",
    );
    code.open("public sealed interface Response");
    code.doc(
        "A response that proves that the session was connected to the leader after the request was sent. A frame of jobs that answers a \
         RESERVE needs at least one job for that",
    );
    code.open("interface Proof");
    code.close();
    code.blank();
    code.doc_of(
        "A response with an opcode of a newer server",
        &[("opcode".to_owned(), "its number".to_owned())],
    );
    code.open("record Unknown(int opcode) implements Response");
    code.close();
    for frame in &schema.responses {
        let proof = if frame.is_proof { ", Proof" } else { "" };
        let implemented = format!("Response{proof}");
        record(&mut code, schema, &frame_type(frame), &frame.doc, &frame.fields, &implemented);
    }
    for one in own_records(schema) {
        if is_shared(schema, one) {
            shared(&mut code, schema, one);
        } else {
            record(&mut code, schema, &pascal(&one.name), &one.doc, &one.fields, "");
        }
    }
    code.close();
    code.finish()
}

fn own_records(schema: &Schema) -> impl Iterator<Item = &Record> {
    schema.records.iter().filter(|record| !schema.has_record(Side::Request, &record.name))
}

fn record(code: &mut Code, schema: &Schema, name: &str, doc: &str, fields: &[Field], implemented: &str) {
    let fields = &members(schema, fields);
    let shared = shared_by(schema, fields).into_iter().map(|one| pascal(&one.name));
    let own = Some(implemented.to_owned()).filter(|one| !one.is_empty());
    let interfaces: Vec<String> = own.into_iter().chain(shared).collect();
    let rest =
        if interfaces.is_empty() { String::new() } else { format!(" implements {}", interfaces.join(", ")) };
    code.blank();
    code.doc_of(doc, &parameters(fields));
    code.open_record(name, &components(schema, "Response", fields), &rest);
    for field in fields {
        let bits = schema.bits_of(field.bits.as_deref());
        for flag in bits.map(|bits| bits.values.as_slice()).unwrap_or_default() {
            code.blank();
            code.doc(&flag.doc);
            code.open(&format!("public boolean isMarked{}()", pascal(&flag.name)));
            code.line(&format!("return ({} & {:#x}) != 0;", camel(&field.name), 1_u32 << flag.bit));
            code.close();
        }
    }
    code.close();
}

/// Fields that several types have.
fn shared(code: &mut Code, schema: &Schema, record: &Record) {
    code.blank();
    code.doc(&record.doc);
    code.open(&format!("interface {}", pascal(&record.name)));
    for field in &record.fields {
        code.blank();
        code.doc(&field.doc);
        let java = java_type(schema, field).replace("Response.", "");
        code.line(&format!("{java} {}();", camel(&field.name)));
    }
    code.close();
}

pub(super) fn decoder(schema: &Schema) -> String {
    let mut code =
        Code::file(WIRE, &["io.adjourn.client.ErrorCode", "java.util.ArrayList", "java.util.List"]);
    code.doc("Reads responses. What a newer server adds at the end of a frame or of an item is skipped");
    code.open("public final class ResponseDecoder");
    code.open("private ResponseDecoder()");
    code.close();
    code.blank();
    code.lines(
        "/** Decodes what follows the head of a frame; {@link Response.Unknown} for an opcode that this client does not know. */",
    );
    code.open("public static Response decode(int opcode, byte[] payload) throws MalformedFrameException");
    code.line("FrameReader in = new FrameReader(payload);");
    code.line("Opcode known = Opcode.of(opcode);");
    code.open("return known == null ? new Response.Unknown(opcode) : switch (known)");
    for frame in &schema.responses {
        let name = frame_type(frame);
        let made = if frame.fields.is_empty() {
            format!("new Response.{name}()")
        } else {
            format!("{}(in)", camel(&frame.name))
        };
        code.line(&format!("case {} -> {made};", frame.name));
    }
    code.line("default -> new Response.Unknown(opcode);");
    code.close_with("};");
    code.close();
    for frame in schema.responses.iter().filter(|frame| !frame.fields.is_empty()) {
        frame_method(&mut code, schema, frame);
    }
    for record in schema.records_of(Side::Response).filter(|record| !is_shared(schema, record)) {
        let name = &record.name;
        let mut kinds = schema.responses.iter().flat_map(|frame| &frame.fields).map(|field| &field.kind);
        if kinds.any(|kind| matches!(kind, Kind::Part(of) | Kind::Object(of) if of == name)) {
            record_method(&mut code, schema, record);
        }
        if is_listed(&schema.responses, record) {
            list_method(&mut code, schema, record);
        }
    }
    code.close();
    code.finish()
}

fn method(code: &mut Code, result: &str, name: &str) {
    code.blank();
    code.open(&format!("private static {result} {name}(FrameReader in) throws MalformedFrameException"));
}

fn frame_method(code: &mut Code, schema: &Schema, frame: &Frame) {
    let name = format!("Response.{}", frame_type(frame));
    method(code, &name, &camel(&frame.name));
    let mut values = Vec::new();
    for field in &frame.fields {
        match &field.kind {
            Kind::Part(record) if is_shared(schema, schema.record(record)) => {
                assert!(values.is_empty(), "{}: {} must stand first", frame.name, field.name);
                values = fixed_part(code, schema, schema.record(record));
            }
            _ => values.push(read(schema, field)),
        }
    }
    code.list(&format!("return new {name}("), &values, ");");
    code.close();
}

fn record_method(code: &mut Code, schema: &Schema, record: &Record) {
    let name = record_type(schema, &record.name);
    method(code, &name, &camel(&record.name));
    let values = if record.fields.iter().any(Field::is_piece) {
        fixed_part(code, schema, record)
    } else {
        record.fields.iter().map(|field| read(schema, field)).collect()
    };
    code.list(&format!("return new {name}("), &values, ");");
    code.close();
}

fn list_method(code: &mut Code, schema: &Schema, record: &Record) {
    let name = record_type(schema, &record.name);
    method(code, &format!("List<{name}>"), &format!("{}Items", camel(&record.name)));
    code.line(&format!("int fixed = in.fixed({});", record.fixed_bytes_min()));
    code.line("int size = in.size(fixed);");
    code.line(&format!("List<{name}> items = new ArrayList<>(size);"));
    code.open("for (int i = 0; i < size; i++)");
    code.line("int end = in.beginFixed(fixed);");
    let mut values = fixed_part_until(code, schema, record, "in.endFixed(end);");
    made_within(schema, record, &mut values);
    code.list(&format!("items.add(new {name}("), &values, "));");
    code.close();
    code.line("return items;");
    code.close();
}

/// Makes the values that belong to a record that is a type of its own into one.
fn made_within(schema: &Schema, record: &Record, values: &mut [String]) {
    let mut at = 0;
    for group in grouped(schema, &record.fields) {
        let last = at + group.len() - 1;
        if let ([first, _, ..], Some([one, .., other])) = (group, values.get_mut(at..=last)) {
            let like = first.like.as_deref().unwrap_or_default();
            *one = format!("new {}({one}", record_type(schema, like));
            other.push(')');
        }
        at = last + 1;
    }
}

/// Reads the fixed part into variables. Returns what the fields are made of, in their order: pieces are read there.
fn fixed_part(code: &mut Code, schema: &Schema, record: &Record) -> Vec<String> {
    let mut values = Vec::new();
    for field in &record.fields {
        let (java, name, value) = if field.is_piece() {
            values.push(read_piece(field));
            ("int".to_owned(), length_name(field), read_length(field).to_owned())
        } else {
            values.push(camel(&field.name));
            (java_type(schema, field), camel(&field.name), read_number(schema, field))
        };
        let value = if field.is_late { format!("in.isOver() ? 0 : {value}") } else { value };
        code.line(&format!("{java} {name} = {value};"));
    }
    values
}

fn fixed_part_until(code: &mut Code, schema: &Schema, record: &Record, end: &str) -> Vec<String> {
    let values = fixed_part(code, schema, record);
    code.line(end);
    for field in &record.fields {
        let choice = schema.choice_of(field.choice.as_deref());
        let unknown = choice.and_then(|choice| Some((choice, choice.unknown.as_ref()?)));
        if let Some((choice, Unknown { number, code: Some(error) })) = unknown {
            refuse_newer(code, record, field, choice, *number, error);
        }
    }
    values
}

/// A number of a newer server leaves this item, and no other, in doubt.
fn refuse_newer(
    code: &mut Code,
    record: &Record,
    field: &Field,
    choice: &Choice,
    number: u64,
    error: &UnknownCode,
) {
    let constant = |value: Option<&ChoiceValue>| capitals(value.map_or("", |value| &value.name));
    let last = constant(choice.values.last());
    let instead = constant(choice.values.iter().find(|value| value.number == number));
    let (name, class) = (camel(&field.name), pascal(&choice.name));
    let code_field = record.fields.iter().find(|one| one.choice.as_deref() == Some("error"));
    code.open(&format!("if ({name} > Choice.{class}.{last})"));
    code.line("// What a newer server says of this item leaves it, and no other, in doubt.");
    code.line(&format!("{name} = Choice.{class}.{instead};"));
    if let Some(code_field) = code_field {
        code.line(&format!("{} = ErrorCode.{}.number();", camel(&code_field.name), error.name));
    }
    code.close();
}
