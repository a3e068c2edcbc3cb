//! Values of elements that have several fields: what they are in Python, and the functions that write and read them.

use super::encode::code;
use super::naming;
use super::page::Page;
use super::shape::table_of_choice;
use crate::names::{capitals, pascal};
use crate::schema::{Composite, Field, Kind, Schema};

/// The type of a value.
pub(super) fn hint(name: &str) -> String {
    if is_pair(name) { "tuple[str, str]".to_owned() } else { pascal(name) }
}

/// A header is a pair, and its element is a list of them.
fn is_pair(name: &str) -> bool {
    name == "header"
}

/// The choice of a newer server costs this value alone.
fn skipped_if_unknown<'a>(schema: &Schema, composite: &'a Composite) -> Option<(&'a Field, String)> {
    let field = composite
        .fields
        .iter()
        .find(|field| schema.choice_of(field.choice.as_deref()).is_some_and(|one| one.open.is_some()))?;
    Some((field, table_of_choice(field.choice.as_deref()?)))
}

/// The number or text on the wire, of an object.
pub(super) fn raw(composite: &Composite, place: usize, object: &str) -> String {
    let Some(field) = composite.fields.get(place) else { return String::new() };
    let attribute = naming::attribute_of_field(&composite.name, &field.name);
    match (composite.name.as_str(), field.name.as_str()) {
        ("header", _) => format!("{object}[{place}]"),
        ("expiry", "kind") => format!("int({object}.is_at)"),
        ("backoff", "kind") => format!("BACKOFF_NAMES[{object}.kind]"),
        _ => format!("{object}.{attribute}"),
    }
}

/// The object, of the variables that have the names of the fields.
pub(super) fn made(composite: &Composite) -> String {
    if is_pair(&composite.name) {
        let names: Vec<&str> = composite.fields.iter().map(|field| field.name.as_str()).collect();
        return names.join(", ");
    }
    let argument = |field: &Field| {
        let attribute = naming::attribute_of_field(&composite.name, &field.name);
        match (composite.name.as_str(), field.name.as_str()) {
            ("expiry", "kind") => "is_at=kind == 1".to_owned(),
            ("backoff", "kind") => "kind=BACKOFF_KINDS[kind].name.lower()".to_owned(),
            ("late", "action") => "action=LATE_ACTIONS[action]".to_owned(),
            (_, name) => format!("{attribute}={name}"),
        }
    };
    let arguments: Vec<String> = composite.fields.iter().map(argument).collect();
    format!("{}({})", pascal(&composite.name), arguments.join(", "))
}

/// The struct of the numbers that a value begins with.
pub(super) fn definition(composite: &Composite) -> String {
    let codes: String = composite.fields.iter().filter_map(number_code).collect();
    format!("_{} = struct.Struct(\"<{codes}\")\n", capitals(&composite.name))
}

fn number_code(field: &Field) -> Option<&'static str> {
    match field.kind {
        Kind::Number(width) | Kind::Text(width) => Some(code(width)),
        _ => None,
    }
}

/// Writes the function that writes a value.
pub(super) fn encoder(page: &mut Page, composite: &Composite) {
    let name = &composite.name;
    page.gap();
    page.line(0, &format!("def _encode_{name}(value: {}) -> bytes:", hint(name)));
    if name == "backoff" {
        page.line(1, "value.check()");
    }
    let (mut numbers, mut parts) = (Vec::new(), vec![String::new()]);
    for (place, field) in composite.fields.iter().enumerate() {
        let raw = raw(composite, place, "value");
        match field.kind {
            Kind::Text(_) => {
                page.line(1, &format!("{} = text({raw})", field.name));
                numbers.push(format!("len({})", field.name));
                parts.push(field.name.clone());
            }
            Kind::RestText => parts.push(format!("text({raw})")),
            Kind::RestNumbers => {
                page.line(1, &format!("{} = b\"\".join([U32.pack(one) for one in {raw}])", field.name));
                parts.push(field.name.clone());
            }
            _ => numbers.push(raw),
        }
    }
    if let Some(first) = parts.first_mut() {
        *first = format!("_{}.pack({})", capitals(name), numbers.join(", "));
    }
    page.line(1, &format!("return {}", parts.join(" + ")));
}

/// Writes the function that reads a value.
pub(super) fn decoder(page: &mut Page, schema: &Schema, composite: &Composite) {
    let name = &composite.name;
    let skipped = skipped_if_unknown(schema, composite);
    let none = if skipped.is_some() { " | None" } else { "" };
    page.gap();
    page.line(0, &format!("def _decode_{name}(data: bytes) -> {}{none}:", hint(name)));
    let mut names = Vec::new();
    for field in &composite.fields {
        match field.kind {
            Kind::Text(_) => names.push(format!("{}_length", field.name)),
            Kind::Number(_) => names.push(field.name.clone()),
            _ => {}
        }
    }
    let fixed: usize = composite.fields.iter().filter_map(fixed_bytes).sum();
    page.unpacked(1, &names, &format!("_{}.unpack_from(data)", capitals(name)));
    let mut at = fixed.to_string();
    for field in &composite.fields {
        let name = &field.name;
        match field.kind {
            Kind::Text(_) => {
                page.line(1, &format!("{name}, at = text_at(data, {at}, {name}_length)"));
                "at".clone_into(&mut at);
            }
            Kind::RestText => page.line(1, &format!("{name} = data[{at}:].decode()")),
            Kind::RestNumbers => {
                let least = field.min.unwrap_or(0);
                page.line(1, &format!("{name} = rest_of_numbers(data, {at}, {least})"));
            }
            _ => {}
        }
    }
    if let Some((field, table)) = skipped {
        page.line(1, &format!("if {} not in {table}:", field.name));
        page.line(2, "return None");
    }
    page.line(1, &format!("return {}", made(composite)));
}

fn fixed_bytes(field: &Field) -> Option<usize> {
    match field.kind {
        Kind::Number(width) | Kind::Text(width) => Some(width),
        _ => None,
    }
}

/// True if reading a value may come to nothing.
pub(super) fn may_be_skipped(schema: &Schema, name: &str) -> bool {
    skipped_if_unknown(schema, schema.composite(name)).is_some()
}
