//! For the harness: responses as JSON.

use crate::java::code::Code;
use crate::java::fields::{frame_type, is_listed, is_shared, members, record_type};
use crate::java::json_requests::method_of;
use crate::java::tables::PUBLIC;
use crate::names::camel;
use crate::schema::{Field, Item, Kind, Schema, Side};

const IMPORTS: [&str; 5] = [
    "io.adjourn.client.internal.wire.MalformedFrameException",
    "io.adjourn.client.internal.wire.Request",
    "io.adjourn.client.internal.wire.Response",
    "java.util.ArrayList",
    "java.util.LinkedHashMap",
];

pub(super) fn mapping(schema: &Schema) -> String {
    let imports: Vec<&str> = IMPORTS.into_iter().chain(["java.util.List", "java.util.Map"]).collect();
    let mut code = Code::file(PUBLIC, &imports);
    code.doc("Responses in the neutral JSON form of the conformance suite");
    code.open("final class ResponseJson");
    code.open("private ResponseJson()");
    code.close();
    code.blank();
    code.doc("The fields of a response");
    code.open("static Map<String, Object> of(Response response) throws MalformedFrameException");
    for frame in schema.responses.iter().filter(|frame| !frame.fields.is_empty()) {
        code.open(&format!("if (response instanceof Response.{} frame)", frame_type(frame)));
        code.line(&format!("return {}(frame);", camel(&frame.name)));
        code.close();
    }
    code.line("return Map.of();");
    code.close();
    for frame in schema.responses.iter().filter(|frame| !frame.fields.is_empty()) {
        let java = format!("Response.{}", frame_type(frame));
        method(&mut code, &camel(&frame.name), &java, &members(schema, &frame.fields));
    }
    for record in schema.records_of(Side::Response).filter(|one| !is_shared(schema, one)) {
        let java = record_type(schema, &record.name);
        method(&mut code, &camel(&record.name), &java, &members(schema, &record.fields));
        if !is_listed(&schema.responses, record) {
            continue;
        }
        code.blank();
        let name = camel(&record.name);
        code.open(&format!(
            "private static List<Object> {name}Items(List<{java}> items) throws MalformedFrameException"
        ));
        code.line("List<Object> json = new ArrayList<>();");
        code.open(&format!("for ({java} item : items)"));
        code.line(&format!("json.add({name}(item));"));
        code.close();
        code.line("return json;");
        code.close();
    }
    code.close();
    code.finish()
}

fn method(code: &mut Code, name: &str, java: &str, fields: &[Field]) {
    code.blank();
    code.open(&format!(
        "private static Map<String, Object> {name}({java} frame) throws MalformedFrameException"
    ));
    code.line("Map<String, Object> json = new LinkedHashMap<>();");
    for field in fields {
        match &field.kind {
            Kind::Part(record) => {
                code.line(&format!("json.putAll({}(frame.{}()));", camel(record), camel(&field.name)));
            }
            _ => code.line(&format!("json.put(\"{}\", {});", field.name, shown(field))),
        }
    }
    code.line("return json;");
    code.close();
}

/// A field as JSON.
fn shown(field: &Field) -> String {
    let value = format!("frame.{}()", camel(&field.name));
    match &field.kind {
        Kind::Number(4) => format!("Integer.toUnsignedLong({value})"),
        Kind::Number(8) => format!("Long.toUnsignedString({value})"),
        Kind::Number(16) => format!("Json.u128({value})"),
        Kind::Signed => format!("Long.toString({value})"),
        Kind::Id | Kind::Bytes(_) => format!("Json.base64({value})"),
        Kind::Tagged(elements) => format!("ElementJson.{}({value})", method_of(*elements)),
        Kind::List(Item::Record(record)) => format!("{}Items({value})", camel(record)),
        Kind::Object(record) => format!("{}({value})", camel(record)),
        _ => value,
    }
}
