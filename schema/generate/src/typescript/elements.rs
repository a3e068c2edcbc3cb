//! Attributes, filters and settings: tagged elements, in both directions.

use std::fmt::Write as _;

use super::types::PAIR;
use super::{comment, elements_name, elements_type, field_name, import, text_of, value_type};
use crate::names::{camel, pascal};
use crate::schema::{Composite, Element, ElementKind, Elements, Field, Kind, Schema};

pub(super) const ABOUT: &str = "Encodes and decodes tagged elements: the attributes of a job, the conditions of a filter, the settings of a topic. Each is `tag u16`, `length u16`, value; they stand in the order of their tags.";

const ALL: [Elements; 3] = [Elements::Attributes, Elements::Filter, Elements::Settings];

pub(super) fn elements(schema: &Schema) -> String {
    let bytes =
        ["ByteReader", "DecodeError", "inOrder", "type ByteWriter", "type Element", "written", "writtenOnce"];
    let mut out = import(&bytes.map(str::to_owned), "./bytes.js", false);
    out += &import(&["ATTRIBUTES_BYTES_MAX".to_owned()], "./limits.js", false);
    let mut types: Vec<String> = schema.composites.iter().map(|one| value_type(&one.name)).collect();
    types.extend(ALL.map(|one| elements_type(one).to_owned()));
    types.push("Settings".to_owned());
    out += &import(&types, "./messages.js", true);
    out += "\ntype Mutable<T> = { -readonly [K in keyof T]: T[K] };\n\nconst NO_ATTRIBUTES: Attributes = Object.freeze({});\n";
    for elements in ALL {
        out += &kinds(schema, elements);
    }
    for elements in ALL {
        out += &entrances(elements);
        out += &put(schema, elements);
        out += &take(schema, elements);
    }
    for composite in &schema.composites {
        out += &put_composite(composite);
        out += &take_composite(composite);
    }
    out
}

/// What stands in each element, by its name: for those who walk them.
fn kinds(schema: &Schema, elements: Elements) -> String {
    let (name, of) = match elements {
        Elements::Attributes => ("ATTRIBUTES", "Attributes"),
        Elements::Filter => ("CONDITIONS", "FilterValue"),
        Elements::Settings => ("SETTINGS", "Settings"),
    };
    let about = format!("What stands in each {}.", one_of(elements));
    let mut out = format!("\n{}export const {name} = {{\n", comment("", &about));
    for element in schema.elements(elements) {
        let _ = writeln!(out, "  {}: '{}',", camel(&element.name), kind_of_element(element));
    }
    if elements == Elements::Attributes {
        out += "  unknown: 'elements',\n";
    }
    let _ = writeln!(out, "}} as const satisfies Readonly<Record<keyof {of}, string>>;");
    out
}

/// What stands in an element, in a word.
pub(super) fn kind_of_element(element: &Element) -> String {
    match &element.kind {
        ElementKind::Number(width) => format!("u{}", 8 * width),
        ElementKind::Text => "text".to_owned(),
        ElementKind::Bytes => "bytes".to_owned(),
        ElementKind::Flag => "flag".to_owned(),
        ElementKind::Composite(name) => name.clone(),
    }
}

/// What one of them is called.
fn one_of(elements: Elements) -> &'static str {
    match elements {
        Elements::Attributes => "attribute",
        Elements::Filter => "condition",
        Elements::Settings => "setting",
    }
}

/// The functions from and to bytes of their own.
fn entrances(elements: Elements) -> String {
    let (name, of) = (elements_name(elements), elements_type(elements));
    let encode = match elements {
        Elements::Attributes => format!(
            "/** A push asks for the length first, and most jobs of a producer have the same attributes: what is frozen is encoded once. */\n\
             export function encode{name}(value: {of}): Uint8Array {{\n  \
             const bytes = writtenOnce(value, put{name});\n  \
             if (bytes.byteLength <= ATTRIBUTES_BYTES_MAX) return bytes;\n  \
             throw new RangeError(`attributes of ${{bytes.byteLength}} bytes, at most ${{ATTRIBUTES_BYTES_MAX}} are accepted`);\n}}\n"
        ),
        _ => format!(
            "export function encode{name}(value: {of}): Uint8Array {{\n  return written((to) => put{name}(to, value));\n}}\n"
        ),
    };
    format!(
        "\n{encode}\nexport function decode{name}(bytes: Uint8Array): {of} {{\n  return take{name}(new ByteReader(bytes), bytes.byteLength);\n}}\n"
    )
}

fn put(schema: &Schema, elements: Elements) -> String {
    let (name, of) = (elements_name(elements), elements_type(elements));
    let mut out = format!("\nfunction put{name}(to: ByteWriter, value: {of}): void {{\n");
    if elements == Elements::Attributes {
        out += "  const from = to.length;\n";
    }
    for element in schema.elements(elements) {
        out += &put_element(element, elements == Elements::Settings);
    }
    if elements == Elements::Attributes {
        out += "  if (value.unknown !== undefined) to.sortElements(from, value.unknown);\n";
    }
    out + "}\n"
}

fn put_element(element: &Element, may_be_null: bool) -> String {
    let value = format!("value.{}", camel(&element.name));
    let tag = format!("{:#06x}", element.tag);
    let one = if element.repeats { "one" } else { value.as_str() };
    let put = match &element.kind {
        ElementKind::Number(width) => {
            vec![format!("to.element({tag}, {width});"), format!("to.u{}({one});", 8 * width)]
        }
        ElementKind::Flag => vec![format!("to.element({tag}, 1);"), "to.u8(1);".to_owned()],
        ElementKind::Bytes => {
            vec![format!("to.element({tag}, {one}.byteLength);"), format!("to.raw({one});")]
        }
        ElementKind::Text => vec![
            format!("const at = to.openElement({tag});"),
            format!("to.text({one});"),
            "to.closeElement(at);".to_owned(),
        ],
        ElementKind::Composite(name) => vec![
            format!("const at = to.openElement({tag});"),
            format!("put{}(to, {one});", pascal(name)),
            "to.closeElement(at);".to_owned(),
        ],
    };
    let (open, close) = match element.repeats {
        true => (format!("  for (const one of {value} ?? []) {{\n"), "  }\n"),
        false if may_be_null => (
            format!("  if ({value} === null) to.element({tag}, 0);\n  else if ({value} !== undefined) {{\n"),
            "  }\n",
        ),
        false => (format!("  if ({value} !== undefined) {{\n"), "  }\n"),
    };
    let body = text_of(&put, |line| format!("    {line}\n"));
    format!("{open}{body}{close}")
}

fn take(schema: &Schema, elements: Elements) -> String {
    let (name, of) = (elements_name(elements), elements_type(elements));
    let one = one_of(elements);
    let plural = format!("the {one}s");
    let mut out = format!(
        "\n{}export function take{name}(from: ByteReader, bytes: number): {of} {{\n",
        comment("", "From within other bytes.")
    );
    if elements == Elements::Attributes {
        out += "  if (bytes === 0) return NO_ATTRIBUTES;\n";
    }
    let _ =
        writeln!(out, "  const end = from.endOf(bytes, '{plural}');\n  const found: Mutable<{of}> = {{}};");
    let repeating: Vec<&Element> = schema.elements(elements).iter().filter(|one| one.repeats).collect();
    for element in &repeating {
        if let ElementKind::Composite(composite) = &element.kind {
            let _ = writeln!(out, "  const {}: {}[] = [];", camel(&element.name), value_type(composite));
        }
    }
    if elements == Elements::Attributes {
        out += "  const unknown: Element[] = [];\n";
    }
    let may_repeat: Vec<String> = repeating.iter().map(|one| format!("tag === {:#06x}", one.tag)).collect();
    let may_repeat = if may_repeat.is_empty() { "false".to_owned() } else { may_repeat.join(" || ") };
    let _ = write!(
        out,
        "  for (let order = -1; from.at < end; ) {{\n    const tag = from.u16('{plural}');\n    \
         const next = from.valueEnd(end, '{plural}');\n    order = inOrder(order, tag, {may_repeat});\n    \
         switch (tag) {{\n"
    );
    for element in schema.elements(elements) {
        out += &take_element(element, elements == Elements::Settings);
    }
    let other = match elements {
        Elements::Attributes => {
            format!("unknown.push({{ tag, value: from.copy(next - from.at, 'an {one}') }})")
        }
        Elements::Filter => format!("throw new DecodeError(`{one} ${{tag}} is not known here`)"),
        // Settings of a newer peer are skipped.
        Elements::Settings => format!("from.skip(next - from.at, 'a {one}')"),
    };
    let _ =
        write!(out, "      default:\n        {other};\n    }}\n    from.endValue(next, '{plural}');\n  }}\n");
    for element in &repeating {
        let name = camel(&element.name);
        let _ = writeln!(out, "  if ({name}.length > 0) found.{name} = {name};");
    }
    if elements == Elements::Attributes {
        out += "  if (unknown.length > 0) found.unknown = unknown;\n";
    }
    out + "  return found;\n}\n"
}

fn take_element(element: &Element, may_be_null: bool) -> String {
    let (name, camel_name) = (&element.name, camel(&element.name));
    let value = match &element.kind {
        ElementKind::Number(width) => format!("from.u{}('{name}')", 8 * width),
        ElementKind::Flag => format!("from.flag('{name}')"),
        ElementKind::Bytes => format!("from.copy(next - from.at, '{name}')"),
        ElementKind::Text => format!("from.text(next - from.at, '{name}')"),
        ElementKind::Composite(composite) => format!("take{}(from, next)", pascal(composite)),
    };
    let taken = match (element.repeats, may_be_null) {
        (true, _) => format!("{camel_name}.push({value})"),
        (false, true) => format!("found.{camel_name} = next === from.at ? null : {value}"),
        (false, false) => format!("found.{camel_name} = {value}"),
    };
    format!("      case {:#06x}:\n        {taken};\n        break;\n", element.tag)
}

fn put_composite(composite: &Composite) -> String {
    let mut out = format!(
        "\nfunction put{}(to: ByteWriter, value: {}): void {{\n",
        pascal(&composite.name),
        value_type(&composite.name)
    );
    for (place, field) in composite.fields.iter().enumerate() {
        let value = if composite.name == PAIR {
            format!("value[{place}]")
        } else {
            format!("value.{}", field_name(field))
        };
        let _ = match field.kind {
            Kind::Text(width) => writeln!(out, "  to.text{}({value});", 8 * width),
            Kind::RestText => writeln!(out, "  to.text({value});"),
            Kind::RestNumbers => writeln!(out, "  for (const one of {value}) to.u32(one);"),
            _ => writeln!(out, "  to.u{}({value});", 8 * field.fixed_bytes()),
        };
    }
    out + "}\n"
}

fn take_composite(composite: &Composite) -> String {
    let value = |field: &Field| {
        let name = &field.name;
        match field.kind {
            Kind::Text(width) => format!("from.text(from.u{}('{name}'), '{name}')", 8 * width),
            Kind::RestText => format!("from.text(from.rest(end, '{name}'), '{name}')"),
            Kind::RestNumbers => format!("from.u32s(end, '{name}')"),
            _ => format!("from.u{}('{name}')", 8 * field.fixed_bytes()),
        }
    };
    let uses_end = composite.fields.iter().any(|one| matches!(one.kind, Kind::RestText | Kind::RestNumbers));
    let end = if uses_end { "end" } else { "_end" };
    let result = if composite.name == PAIR {
        format!("[{}]", composite.fields.iter().map(value).collect::<Vec<_>>().join(", "))
    } else {
        let fields = composite.fields.iter().map(|one| format!("{}: {}", field_name(one), value(one)));
        format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
    };
    format!(
        "\nfunction take{}(from: ByteReader, {end}: number): {} {{\n  return {result};\n}}\n",
        pascal(&composite.name),
        value_type(&composite.name)
    )
}
