//! Tagged elements: composites, attributes and conditions.

use crate::java::bindings::{Binding, variable};
use crate::java::code::Code;
use crate::java::tables::WIRE;
use crate::names::{camel, capitals, grouped};
use crate::schema::{Composite, Element, ElementKind, Elements, Field, Kind, Schema};

const IMPORTS: [&str; 4] = [
    "io.adjourn.client.Backoff",
    "io.adjourn.client.Due",
    "io.adjourn.client.Header",
    "io.adjourn.client.TopicPolicy",
];

/// The values of elements that have several fields.
pub(super) fn composites(schema: &Schema) -> String {
    let imports: Vec<&str> = IMPORTS.into_iter().chain(["java.util.List"]).collect();
    let mut code = Code::file(WIRE, &imports);
    code.doc("Values of elements that have several fields");
    code.open("public final class Composites");
    code.open("private Composites()");
    code.close();
    for composite in &schema.composites {
        write(&mut code, composite);
        read(&mut code, composite);
    }
    code.close();
    code.finish()
}

fn write(code: &mut Code, composite: &Composite) {
    let binding = Binding::of(&composite.name);
    code.blank();
    code.doc(&composite.doc);
    code.open(&format!("public static byte[] {}({} value)", camel(&composite.name), binding.java));
    let calls: Vec<String> = composite
        .fields
        .iter()
        .map(|field| {
            let value = binding.value(field);
            match field.kind {
                Kind::Number(width) => format!(".u{}({value})", width * 8),
                Kind::Text(width) => format!(".text{}({value})", width * 8),
                _ => format!(".rest({value})"),
            }
        })
        .collect();
    code.chain("return new FrameWriter(32)", &calls, ".toBytes();");
    code.close();
}

fn read(code: &mut Code, composite: &Composite) {
    let binding = Binding::of(&composite.name);
    let name = camel(&composite.name);
    code.blank();
    code.doc(&composite.doc);
    code.open(&format!(
        "public static {} {name}(FrameReader in) throws MalformedFrameException",
        binding.java
    ));
    for field in &composite.fields {
        let (java, value) = match field.kind {
            Kind::Number(8) => ("long", "in.u64()".to_owned()),
            Kind::Number(width) => ("int", format!("in.u{}()", width * 8)),
            Kind::Text(width) => ("String", format!("in.text{}()", width * 8)),
            Kind::RestText => ("String", "in.restText()".to_owned()),
            _ => ("List<Long>", "in.restNumbers()".to_owned()),
        };
        code.line(&format!("{java} {} = {value};", variable(field)));
    }
    let wrong: Vec<String> = composite.fields.iter().filter_map(out_of_range).collect();
    if !wrong.is_empty() {
        code.open(&format!("if ({})", wrong.join(" || ")));
        code.line(&format!(
            "throw new MalformedFrameException(\"the value of {} is out of range\");",
            composite.name
        ));
        code.close();
    }
    code.line(&format!("return {};", binding.made(composite, variable)));
    code.close();
}

/// The condition that a value is out of the range that the schema says.
fn out_of_range(field: &Field) -> Option<String> {
    let name = variable(field);
    match field.kind {
        Kind::Number(8) => {
            field.max.map(|max| format!("Long.compareUnsigned({name}, {}L) > 0", grouped(max, '_')))
        }
        Kind::Number(_) => field.max.map(|max| format!("{name} > {max}")),
        Kind::RestNumbers => {
            let least = field.min.map(|min| format!("{name}.size() < {min}"));
            let most = field.max.map(|max| format!("{name}.size() > {max}"));
            Some(least.into_iter().chain(most).collect::<Vec<_>>().join(" || "))
        }
        _ => None,
    }
}

pub(super) fn attributes(schema: &Schema) -> String {
    let mut imports: Vec<&str> = IMPORTS.into_iter().filter(|one| !one.ends_with("TopicPolicy")).collect();
    imports.extend(["java.util.List", "java.util.Optional"]);
    let mut code = Code::file(WIRE, &imports);
    code.doc("The attributes of a job: their tags, and what stands in each");
    class(&mut code, "Attribute", schema.elements(Elements::Attributes), &[made_method, read_method]);
    code.finish()
}

pub(super) fn conditions(schema: &Schema) -> String {
    let mut code = Code::file(WIRE, &[]);
    code.doc("The conditions of a filter: their tags, and what stands in each");
    class(&mut code, "Condition", schema.elements(Elements::Filter), &[made_method]);
    code.finish()
}

/// A method of an element.
type Method = fn(&mut Code, &Element);

fn class(code: &mut Code, name: &str, elements: &[Element], methods: &[Method]) {
    code.open(&format!("public final class {name}"));
    for element in elements {
        code.doc(&element.doc);
        code.line(&format!("public static final int {} = {:#06x};", capitals(&element.name), element.tag));
    }
    code.blank();
    code.open(&format!("private {name}()"));
    code.close();
    code.blank();
    code.doc("Whether this version knows elements with the tag");
    code.open("public static boolean isKnown(int tag)");
    code.open("return switch (tag)");
    let tags: Vec<String> = elements.iter().map(|element| capitals(&element.name)).collect();
    code.list("case ", &tags, " -> true;");
    code.line("default -> false;");
    code.close_with("};");
    code.close();
    for element in elements {
        for method in methods {
            method(code, element);
        }
    }
    code.close();
}

/// An element of this value.
fn made_method(code: &mut Code, element: &Element) {
    code.blank();
    code.open(&format!(
        "public static Elements.Element {}({} value)",
        camel(&element.name),
        types(element).0
    ));
    code.line(&format!("return {};", made(element, &capitals(&element.name), "value")));
    code.close();
}

/// The value in a list of elements.
fn read_method(code: &mut Code, element: &Element) {
    code.blank();
    let (result, reads) = if element.repeats { ("List", "all") } else { ("Optional", "first") };
    code.open(&format!("public static {result}<{}> {}(Elements in)", types(element).1, camel(&element.name)));
    code.line(&format!("return in.{reads}({}, {});", capitals(&element.name), reader(element)));
    code.close();
}

/// The type of an element's value, and the same as an object.
pub(super) fn types(element: &Element) -> (&'static str, &'static str) {
    match &element.kind {
        ElementKind::Number(1) => ("int", "Integer"),
        ElementKind::Number(_) => ("long", "Long"),
        ElementKind::Text => ("String", "String"),
        ElementKind::Bytes => ("byte[]", "byte[]"),
        ElementKind::Flag => ("boolean", "Boolean"),
        ElementKind::Composite(composite) => {
            let java = Binding::of(composite).java;
            (java, java)
        }
    }
}

/// The expression that makes an element of a value.
pub(super) fn made(element: &Element, tag: &str, value: &str) -> String {
    match &element.kind {
        ElementKind::Number(width) => format!("Elements.u{}({tag}, {value})", width * 8),
        ElementKind::Text => format!("Elements.text({tag}, {value})"),
        ElementKind::Bytes => format!("new Elements.Element({tag}, {value})"),
        ElementKind::Flag => format!("Elements.flag({tag})"),
        ElementKind::Composite(composite) => {
            format!("new Elements.Element({tag}, Composites.{}({value}))", camel(composite))
        }
    }
}

/// What reads the value of an element.
pub(super) fn reader(element: &Element) -> String {
    match &element.kind {
        ElementKind::Number(1) => "FrameReader::u8".to_owned(),
        ElementKind::Number(4) => "FrameReader::u32Unsigned".to_owned(),
        ElementKind::Number(_) => "FrameReader::u64".to_owned(),
        ElementKind::Text => "FrameReader::restText".to_owned(),
        ElementKind::Bytes => "FrameReader::rest".to_owned(),
        ElementKind::Flag => "FrameReader::flag".to_owned(),
        ElementKind::Composite(composite) => format!("Composites::{}", camel(composite)),
    }
}
