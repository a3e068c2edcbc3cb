//! For the harness: attributes, filters and settings as JSON.

use crate::java::bindings::Binding;
use crate::java::code::Code;
use crate::java::elements::{made, reader};
use crate::java::tables::PUBLIC;
use crate::schema::{Composite, Element, ElementKind, Elements, Field, Kind, Schema};

const IMPORTS: [&str; 8] = [
    "io.adjourn.client.internal.wire.Attribute",
    "io.adjourn.client.internal.wire.Choice",
    "io.adjourn.client.internal.wire.Composites",
    "io.adjourn.client.internal.wire.Elements",
    "io.adjourn.client.internal.wire.FrameReader",
    "io.adjourn.client.internal.wire.MalformedFrameException",
    "java.util.LinkedHashMap",
    "java.util.List",
];

pub(super) fn mapping(schema: &Schema) -> String {
    let imports: Vec<&str> = IMPORTS.into_iter().chain(["java.util.Map"]).collect();
    let mut code = Code::file(PUBLIC, &imports);
    code.doc("Tagged elements in the neutral JSON form of the conformance suite, as the codec of the client reads and writes them");
    code.open("final class ElementJson");
    code.open("private ElementJson()");
    code.close();
    for (name, elements) in
        [("attributes", Elements::Attributes), ("filter", Elements::Filter), ("settings", Elements::Settings)]
    {
        from_json(&mut code, schema, name, elements);
        to_json(&mut code, schema, name, elements);
    }
    code.close();
    code.finish()
}

fn from_json(code: &mut Code, schema: &Schema, name: &str, elements: Elements) {
    code.blank();
    code.open(&format!("static byte[] {name}(Json f)"));
    code.line("Elements elements = Elements.NONE;");
    for element in schema.elements(elements) {
        let tag = format!("{:#06x}", element.tag);
        if element.repeats {
            code.open(&format!("for (List<?> item : f.lists(\"{}\"))", element.name));
            add(code, "and", element, &tag, &value_of(schema, element));
            code.close();
            continue;
        }
        code.open(&format!("if (f.has(\"{}\"))", element.name));
        if matches!(element.kind, ElementKind::Composite(_)) {
            code.line(&format!("Json value = f.object(\"{}\");", element.name));
        }
        add(code, "with", element, &tag, &value_of(schema, element));
        if elements == Elements::Settings {
            code.close_with(&format!("}} else if (f.contains(\"{}\")) {{", element.name));
            code.line(&format!("    elements = elements.with(new Elements.Element({tag}, new byte[0]));"));
            code.line("}");
        } else {
            code.close();
        }
    }
    if elements == Elements::Attributes {
        code.open("for (Json unknown : f.objects(\"unknown\"))");
        code.line(
            "elements = elements.and(new Elements.Element(unknown.u32(\"tag\"), unknown.bytes(\"value\")));",
        );
        code.close();
    }
    code.line("return elements.encode();");
    code.close();
}

/// Adds an element of this value.
fn add(code: &mut Code, how: &str, element: &Element, tag: &str, value: &str) {
    let element = made(element, tag, value);
    match element.split_once(", ") {
        Some((start, rest)) => {
            code.list(&format!("elements = elements.{how}("), &[start.to_owned(), rest.to_owned()], ");");
        }
        None => code.line(&format!("elements = elements.{how}({element});")),
    }
}

/// The value of an element in the JSON object `f`; of one that repeats, in the list `item`.
fn value_of(schema: &Schema, element: &Element) -> String {
    let name = &element.name;
    match &element.kind {
        ElementKind::Number(1) => format!("f.u32(\"{name}\")"),
        ElementKind::Number(4) => format!("f.number(\"{name}\")"),
        ElementKind::Number(_) => format!("f.u64(\"{name}\")"),
        ElementKind::Text => format!("f.text(\"{name}\")"),
        ElementKind::Bytes => format!("f.bytes(\"{name}\")"),
        ElementKind::Flag => String::new(),
        ElementKind::Composite(composite) => {
            let composite = schema.composite(composite);
            Binding::of(&composite.name).made(composite, |field| {
                if element.repeats { text_at(composite, field) } else { field_of(field) }
            })
        }
    }
}

fn text_at(composite: &Composite, field: &Field) -> String {
    let place = composite.fields.iter().position(|one| one.name == field.name).unwrap_or_default();
    format!("(String) item.get({place})")
}

fn field_of(field: &Field) -> String {
    let read = match field.kind {
        Kind::Number(8) => "u64",
        Kind::Number(_) => "u32",
        Kind::RestNumbers => "wideNumbers",
        _ => "text",
    };
    format!("value.{read}(\"{}\")", field.name)
}

fn to_json(code: &mut Code, schema: &Schema, name: &str, elements: Elements) {
    code.blank();
    code.open(&format!("static Map<String, Object> {name}(byte[] bytes) throws MalformedFrameException"));
    code.line("Elements in = Elements.decode(bytes);");
    code.line("Map<String, Object> json = new LinkedHashMap<>();");
    for element in schema.elements(elements) {
        let tag = format!("{:#06x}", element.tag);
        if element.repeats {
            code.open(&format!("if (in.has({tag}))"));
            let items = format!(
                "in.all({tag}, {}).stream().map(value -> {}).toList()",
                reader(element),
                list_of(schema, element)
            );
            code.list("json.put(", &[format!("\"{}\"", element.name), items], ");");
            code.close();
        } else {
            let mut put = vec![format!("value -> json.put(\"{}\"", element.name)];
            put.extend(entries(&shown(schema, element)));
            let reads = if elements == Elements::Settings { "set" } else { "first" };
            code.list(&format!("in.{reads}({tag}, {}).ifPresent(", reader(element)), &put, "));");
        }
        if elements == Elements::Settings {
            code.open(&format!("if (in.isEmptyAt({tag}))"));
            code.line(&format!("json.put(\"{}\", null);", element.name));
            code.close();
        }
    }
    if elements == Elements::Attributes {
        code.line("List<Map<String, Object>> unknown = in.all().stream().filter(one -> !Attribute.isKnown(one.tag()))");
        code.line("        .map(one -> Map.<String, Object>of(\"tag\", one.tag(), \"value\", Json.base64(one.value()))).toList();");
        code.open("if (!unknown.isEmpty())");
        code.line("json.put(\"unknown\", unknown);");
        code.close();
    }
    code.line("return json;");
    code.close();
}

/// The entries of a map, at which a line can be broken; another expression as it is.
fn entries(value: &str) -> Vec<String> {
    let mut parts = value.split(", \"");
    let first = parts.next().unwrap_or_default().to_owned();
    std::iter::once(first).chain(parts.map(|part| format!("\"{part}"))).collect()
}

/// A value as JSON.
fn shown(schema: &Schema, element: &Element) -> String {
    match &element.kind {
        ElementKind::Number(8) => "Long.toUnsignedString(value)".to_owned(),
        ElementKind::Bytes => "Json.base64(value)".to_owned(),
        ElementKind::Composite(composite) => {
            let composite = schema.composite(composite);
            let fields = composite
                .fields
                .iter()
                .map(|field| format!("\"{}\", {}", field.name, part(composite, field)));
            format!("Map.of({})", fields.collect::<Vec<_>>().join(", "))
        }
        _ => "value".to_owned(),
    }
}

fn list_of(schema: &Schema, element: &Element) -> String {
    match &element.kind {
        ElementKind::Composite(composite) => {
            let composite = schema.composite(composite);
            let parts: Vec<String> = composite.fields.iter().map(|field| part(composite, field)).collect();
            format!("List.of({})", parts.join(", "))
        }
        _ => "value".to_owned(),
    }
}

fn part(composite: &Composite, field: &Field) -> String {
    let value = Binding::of(&composite.name).value(field);
    if field.kind == Kind::Number(8) { format!("Long.toUnsignedString({value})") } else { value.to_owned() }
}
