//! Requests: their types, and how they are encoded.

use crate::java::code::Code;
use crate::java::fields::{PUBLIC_RECORDS, components, frame_type, is_listed, parameters, record_type};
use crate::java::tables::WIRE;
use crate::names::{camel, pascal};
use crate::schema::{Field, Frame, Item, Kind, Record, Repeat, Schema, Side};

pub(super) fn types(schema: &Schema) -> String {
    let mut code =
        Code::file(WIRE, &["io.adjourn.client.JobRef", "io.adjourn.client.Lease", "java.util.List"]);
    code.doc(
        "What a client sends: each request with its fields as they are on the wire. Numbers are unsigned",
    );
    code.open("public sealed interface Request");
    code.doc("Which request it is");
    code.line("Opcode opcode();");
    repeatable(&mut code, schema);
    for frame in &schema.requests {
        request(&mut code, schema, frame);
    }
    for record in own_records(schema) {
        code.blank();
        code.doc_of(&record.doc, &parameters(&record.fields));
        code.open_record(&pascal(&record.name), &components(schema, "Request", &record.fields), "");
        if is_listed(&schema.requests, record) {
            frame_bytes(&mut code, record);
        }
        code.close();
    }
    code.close();
    code.finish()
}

/// The records of requests that are types of this interface.
fn own_records(schema: &Schema) -> impl Iterator<Item = &Record> {
    let is_public = |record: &Record| PUBLIC_RECORDS.iter().any(|(name, _)| *name == record.name);
    schema.records_of(Side::Request).filter(move |record| !is_public(record))
}

fn repeatable(code: &mut Code, schema: &Schema) {
    let names = |repeat: Repeat| {
        let frames = schema.requests.iter().filter(move |frame| frame.repeat == repeat);
        frames.map(|frame| frame.name.clone()).collect::<Vec<String>>()
    };
    code.blank();
    code.doc("Whether carrying it out twice does no more than carrying it out once. A push needs a number for that");
    code.open("default boolean isRepeatable()");
    code.open("return switch (opcode())");
    code.list("case ", &names(Repeat::Safe), " -> true;");
    for frame in schema.requests.iter().filter(|frame| frame.repeat == Repeat::SafeById) {
        code.line(&format!(
            "case {} -> (({}) this).ref() instanceof JobRef.Id;",
            frame.name,
            frame_type(frame)
        ));
    }
    code.line("default -> false;");
    code.close_with("};");
    code.close();
}

fn request(code: &mut Code, schema: &Schema, frame: &Frame) {
    let fields: Vec<Field> = frame.fields.iter().filter(|field| field.kind != Kind::Magic).cloned().collect();
    code.blank();
    code.doc_of(&frame.doc, &parameters(&fields));
    code.open_record(&frame_type(frame), &components(schema, "Request", &fields), " implements Request");
    code.line("@Override");
    code.open("public Opcode opcode()");
    code.line(&format!("return Opcode.{};", frame.name));
    code.close();
    code.close();
}

/// How many bytes one item takes: what a list is split by.
fn frame_bytes(code: &mut Code, record: &Record) {
    let pieces = record.fields.iter().filter(|field| field.is_piece());
    let lengths = pieces.map(|field| match field.kind {
        Kind::Text(_) => format!("FrameWriter.utf8({}).length", camel(&field.name)),
        _ => format!("{}.length", camel(&field.name)),
    });
    let sum =
        std::iter::once(record.fixed_bytes().to_string()).chain(lengths).collect::<Vec<_>>().join(" + ");
    code.doc("How many bytes it adds to its frame");
    code.open("public int frameBytes()");
    code.line(&format!("return {sum};"));
    code.close();
}

pub(super) fn encoder(schema: &Schema) -> String {
    let mut code =
        Code::file(WIRE, &["io.adjourn.client.JobRef", "io.adjourn.client.Lease", "java.util.List"]);
    code.doc("Writes requests as frames");
    code.open("public final class RequestEncoder");
    code.doc("The bytes that a HELLO begins with: {@code ADJ1}");
    code.line("private static final int MAGIC = 0x314a_4441;");
    code.blank();
    code.open("private RequestEncoder()");
    code.close();
    code.blank();
    code.doc("Appends the whole frame");
    code.open("public static void encode(Request request, int requestId, FrameWriter out)");
    code.line("int start = out.begin(request.opcode().number(), requestId);");
    code.open("switch (request.opcode())");
    for frame in schema.requests.iter().filter(|frame| !frame.fields.is_empty()) {
        let name = frame_type(frame);
        code.line(&format!("case {} -> {}((Request.{name}) request, out);", frame.name, camel(&frame.name)));
    }
    code.open("default ->");
    code.line("// The others have no fields.");
    code.close();
    code.close();
    code.line("out.end(start);");
    code.close();
    for frame in schema.requests.iter().filter(|frame| !frame.fields.is_empty()) {
        encode(&mut code, frame);
    }
    for record in schema.records_of(Side::Request) {
        if is_listed(&schema.requests, record) {
            encode_list(&mut code, schema, record);
        }
        encode_record(&mut code, schema, record);
    }
    code.blank();
    code.lines(REFERENCE);
    code.close();
    code.finish()
}

const REFERENCE: &str = r"
private static void reference(JobRef ref, FrameWriter out) {
    if (ref instanceof JobRef.Id id) {
        out.u8(Choice.JobKind.ID).u64(id.job());
    } else if (ref instanceof JobRef.Key key) {
        out.u8(Choice.JobKind.KEY).text8(key.topic()).text16(key.key());
    }
}";

fn encode(code: &mut Code, frame: &Frame) {
    code.blank();
    code.open(&format!(
        "private static void {}(Request.{} frame, FrameWriter out)",
        camel(&frame.name),
        frame_type(frame)
    ));
    let late = frame.fields.iter().position(|field| field.is_late).unwrap_or(frame.fields.len());
    let (always, late) = frame.fields.split_at(late);
    write_fields(code, always);
    write_late(code, late);
    code.close();
}

/// What is at its default at the end is left out.
fn write_late(code: &mut Code, late: &[Field]) {
    let Some((first, rest)) = late.split_first() else {
        return;
    };
    let set: Vec<String> = late.iter().map(is_set).collect();
    code.open(&format!("if ({})", set.join(" || ")));
    write_fields(code, std::slice::from_ref(first));
    write_late(code, rest);
    code.close();
}

fn is_set(field: &Field) -> String {
    let value = format!("frame.{}()", camel(&field.name));
    match field.kind {
        Kind::Text(_) | Kind::List(_) => format!("!{value}.isEmpty()"),
        Kind::Number(16) | Kind::Id => format!("FrameWriter.isSet({value})"),
        _ => format!("{value} != 0"),
    }
}

/// Calls of the writer in a chain, and calls of methods for what it does not know.
fn write_fields(code: &mut Code, fields: &[Field]) {
    let mut chain = Vec::new();
    for field in fields {
        let value = format!("frame.{}()", camel(&field.name));
        match &field.kind {
            Kind::List(Item::Record(record)) => {
                flush(code, &mut chain);
                code.line(&format!("{}Items({value}, out);", camel(record)));
            }
            Kind::Part(record) => {
                flush(code, &mut chain);
                code.line(&format!("{}({value}, out);", camel(record)));
            }
            Kind::Reference => {
                flush(code, &mut chain);
                code.line(&format!("reference({value}, out);"));
            }
            kind => chain.push(call(kind, &value)),
        }
    }
    flush(code, &mut chain);
}

fn flush(code: &mut Code, chain: &mut Vec<String>) {
    if !chain.is_empty() {
        code.chain("out", chain, ";");
        chain.clear();
    }
}

fn call(kind: &Kind, value: &str) -> String {
    match kind {
        Kind::Magic => ".u32(MAGIC)".to_owned(),
        Kind::Number(16) | Kind::Id => format!(".raw({value})"),
        Kind::Number(width) => format!(".u{}({value})", width * 8),
        Kind::Text(width) => format!(".text{}({value})", width * 8),
        Kind::Bytes(width) => format!(".bytes{}({value})", width * 8),
        Kind::Tagged(_) => format!(".bytes16({value})"),
        Kind::List(Item::Text) => format!(".texts({value})"),
        Kind::List(Item::Number) => format!(".numbers({value})"),
        other => panic!("a request has no {other:?}"),
    }
}

/// Writes a record: its fixed part, then its pieces.
fn encode_record(code: &mut Code, schema: &Schema, record: &Record) {
    code.blank();
    code.open(&format!(
        "private static void {}({} item, FrameWriter out)",
        camel(&record.name),
        record_type(schema, &record.name)
    ));
    for piece in record.fields.iter().filter(|field| matches!(field.kind, Kind::Text(_))) {
        let name = camel(&piece.name);
        code.line(&format!("byte[] {name} = FrameWriter.utf8(item.{name}());"));
    }
    let mut calls = Vec::new();
    for field in &record.fields {
        calls.push(match &field.kind {
            Kind::Text(width) => format!(".length{}({}.length)", width * 8, camel(&field.name)),
            Kind::Bytes(width) => format!(".length{}(item.{}().length)", width * 8, camel(&field.name)),
            Kind::Tagged(_) => format!(".length16(item.{}().length)", camel(&field.name)),
            kind => call(kind, &format!("item.{}()", camel(&field.name))),
        });
    }
    for piece in record.fields.iter().filter(|field| field.is_piece()) {
        calls.push(match &piece.kind {
            Kind::Text(_) => format!(".raw({})", camel(&piece.name)),
            _ => format!(".raw(item.{}())", camel(&piece.name)),
        });
    }
    code.chain("out", &calls, ";");
    code.close();
}

fn encode_list(code: &mut Code, schema: &Schema, record: &Record) {
    let item = record_type(schema, &record.name);
    code.blank();
    code.open(&format!(
        "private static void {}Items(List<{item}> items, FrameWriter out)",
        camel(&record.name)
    ));
    code.line(&format!("out.list({}, items.size());", record.fixed_bytes()));
    code.open(&format!("for ({item} item : items)"));
    code.line(&format!("{}(item, out);", camel(&record.name)));
    code.close();
    code.close();
}
