//! Every message as a strategy: what the tests of the codec draw.
//!
//! A strategy makes the fields of a payload as the schema has them, and knows no type of the crate of the protocol: so a new
//! field is drawn, written, read back and cut off without an edit of a test. The kinds of fields are in
//! `tests/protocol/codec/kind.rs`, and what the schema does not say of them in `rules.rs` beside it.

use std::fmt::Write as _;

use super::DO_NOT_EDIT;
use crate::names::{capitals, grouped, sentence};
use crate::schema::{Element, ElementKind, Elements, Field, Frame, Item, Kind, Record, Schema, Side};

pub(super) fn file(schema: &Schema) -> String {
    let mut out = format!(
        "//! Every message with every kind of field, as strategies: what the properties of the codec are tried on.\n{DO_NOT_EDIT}\
         use proptest::prelude::*;\n\nuse super::kind::{{self, Elements, Fields}};\nuse super::payload::{{Message, Record}};\n"
    );
    for side in [Side::Request, Side::Response] {
        let frames = schema.frames(side);
        let _ = write!(
            out,
            "\n/// Every {name}.\npub(super) const {}S: [fn() -> BoxedStrategy<Message>; {}] = [\n",
            capitals(side.name()),
            frames.len(),
            name = side.name(),
        );
        for frame in frames {
            let _ = writeln!(out, "    {},", frame.name.to_ascii_lowercase());
        }
        out.push_str("];\n");
    }
    let writer = Writer { schema };
    for frame in schema.requests.iter().chain(&schema.responses) {
        writer.frame(frame, &mut out);
    }
    let is_used = |record: &&Record| {
        let sides = [Side::Request, Side::Response];
        sides.into_iter().any(|side| schema.records_of(side).any(|used| used.name == record.name))
    };
    for record in schema.records.iter().filter(is_used) {
        let name = format!("{}_record", record.name);
        writer.record(&name, &record.name, &record.doc, &record.fields, &mut out);
    }
    for composite in &schema.composites {
        let name = format!("{}_value", composite.name);
        writer.record(&name, &composite.name, &composite.doc, &composite.fields, &mut out);
    }
    for elements in [Elements::Attributes, Elements::Filter, Elements::Settings] {
        writer.elements(elements, &mut out);
    }
    out
}

/// What a set of elements is called, and what it is.
fn elements_name(elements: Elements) -> (&'static str, &'static str) {
    match elements {
        Elements::Attributes => ("attributes", "What a job can carry."),
        Elements::Filter => ("filter", "What a filter can ask for."),
        Elements::Settings => ("settings", "What a topic can decide."),
    }
}

/// Writes the functions.
struct Writer<'a> {
    schema: &'a Schema,
}

impl Writer<'_> {
    fn frame(&self, frame: &Frame, out: &mut String) {
        let (name, function) = (&frame.name, frame.name.to_ascii_lowercase());
        let _ = write!(
            out,
            "\n/// {}\npub(super) fn {function}() -> BoxedStrategy<Message> {{\n",
            sentence(&frame.doc)
        );
        self.fields(name, &frame.fields, frame.side, out);
        let _ = write!(out, "    fields.message(0x{:02x})\n}}\n", frame.opcode);
    }

    /// A record or a composite. Requests and responses share the first, but for the numbers that only a newer server sends.
    fn record(&self, function: &str, name: &str, doc: &str, fields: &[Field], out: &mut String) {
        let is_in = |side| self.schema.records_of(side).any(|record| record.name == name);
        let side = if is_in(Side::Response) { Side::Response } else { Side::Request };
        let _ =
            write!(out, "\n/// {}\npub(super) fn {function}() -> BoxedStrategy<Record> {{\n", sentence(doc));
        self.fields(name, fields, side, out);
        out.push_str("    fields.record()\n}\n");
    }

    fn fields(&self, name: &str, fields: &[Field], side: Side, out: &mut String) {
        let variable = if fields.is_empty() { "fields" } else { "mut fields" };
        let _ = writeln!(out, "    let {variable} = Fields::of(\"{name}\");");
        for field in fields {
            let add = if field.is_late { "late" } else { "add" };
            let _ = writeln!(out, "    fields.{add}(\"{}\", {});", field.name, self.value(field, side));
        }
    }

    fn value(&self, field: &Field, side: Side) -> String {
        let name = &field.name;
        match &field.kind {
            Kind::Number(width) => self.number(
                *width,
                (field.min, field.max),
                field.choice.as_deref(),
                field.bits.as_deref(),
                side,
            ),
            Kind::Magic => "kind::magic()".to_owned(),
            Kind::Signed => "kind::any_number(8)".to_owned(),
            Kind::Id => "kind::id()".to_owned(),
            Kind::Text(width) => format!("kind::text(\"{name}\", {width}, {})", lengths(field, *width)),
            Kind::Bytes(width) => format!("kind::bytes({width}, {})", lengths(field, *width)),
            Kind::Texts => format!("kind::texts(\"{name}\")"),
            Kind::RestText => format!("kind::text(\"{name}\", 0, {})", lengths(field, 2)),
            Kind::RestNumbers => format!("kind::rest_numbers({})", lengths(field, 2)),
            Kind::Reference => "kind::reference()".to_owned(),
            Kind::List(item) => self.list(field, item),
            Kind::Part(record) | Kind::Object(record) => format!("kind::part({record}_record())"),
            Kind::Tagged(elements) => {
                let ending = match (elements, side) {
                    (Elements::Attributes, _) => "and_unknown",
                    (Elements::Settings, Side::Request) => "or_unset",
                    _ => "only",
                };
                format!("{}_elements().{ending}()", elements_name(*elements).0)
            }
        }
    }

    fn list(&self, field: &Field, item: &Item) -> String {
        let name = &field.name;
        let (fixed_bytes, item) = match item {
            Item::Record(record) => (self.schema.record(record).fixed_bytes(), format!("{record}_record()")),
            Item::Text => (1, format!("kind::one(kind::text(\"{name}\", 1, 0..=255))")),
            Item::Number => (2, "kind::one(kind::any_number(2))".to_owned()),
        };
        format!("kind::list({fixed_bytes}, {}, {item})", lengths(field, 4))
    }

    fn number(
        &self,
        width: usize,
        (min, max): (Option<u64>, Option<u64>),
        choice: Option<&str>,
        bits: Option<&str>,
        side: Side,
    ) -> String {
        if choice == Some("error") {
            return format!("kind::code({width})");
        }
        if let Some(choice) = self.schema.choice_of(choice) {
            let numbers: Vec<String> = choice.values.iter().map(|value| value.number.to_string()).collect();
            let is_open = side == Side::Response && choice.open.is_some();
            let open = if is_open { "open_" } else { "" };
            return format!("kind::{open}choice({width}, &[{}])", numbers.join(", "));
        }
        if let Some(bits) = self.schema.bits_of(bits) {
            return format!("kind::bits({width}, {:#04x})", bits.mask());
        }
        if min.is_none() && max.is_none() {
            return format!("kind::any_number({width})");
        }
        let max = max.unwrap_or_else(|| greatest(width));
        format!("kind::number({width}, {}..={})", grouped(min.unwrap_or(0), '_'), grouped(max, '_'))
    }

    fn elements(&self, elements: Elements, out: &mut String) {
        let (name, doc) = elements_name(elements);
        let _ = write!(
            out,
            "\n/// {doc}\nfn {name}_elements() -> Elements {{\n    let mut elements = Elements::of(\"{name}\");\n"
        );
        for element in self.schema.elements(elements) {
            let add = if element.repeats { "repeat" } else { "add" };
            let (tag, name) = (element.tag, &element.name);
            let tag = if tag & 0x8000 == 0 { tag.to_string() } else { format!("{tag:#06x}") };
            let _ =
                writeln!(out, "    elements.{add}({tag}, \"{name}\", {});", self.element(elements, element));
        }
        out.push_str("    elements\n}\n");
    }

    fn element(&self, elements: Elements, element: &Element) -> String {
        // An empty value takes a setting away.
        let least = u64::from(elements == Elements::Settings);
        let range = || {
            let (min, max) = (element.min.unwrap_or(least), element.max.unwrap_or_else(|| greatest(2)));
            format!("{}..={}", grouped(min, '_'), grouped(max, '_'))
        };
        match &element.kind {
            ElementKind::Number(width) => self.number(
                *width,
                (element.min, element.max),
                element.choice.as_deref(),
                element.bits.as_deref(),
                Side::Request,
            ),
            ElementKind::Text => format!("kind::text(\"{}\", 0, {})", element.name, range()),
            ElementKind::Bytes => format!("kind::bytes(0, {})", range()),
            ElementKind::Flag => "kind::flag()".to_owned(),
            ElementKind::Composite(name) => format!("kind::composite({name}_value())"),
        }
    }
}

/// How long a text, bytes or a list behind a length of so many bytes may be.
fn lengths(field: &Field, width: usize) -> String {
    let max = field.max.unwrap_or_else(|| greatest(width));
    format!("{}..={}", grouped(field.min.unwrap_or(0), '_'), grouped(max, '_'))
}

/// The greatest number of so many bytes, up to eight.
fn greatest(width: usize) -> u64 {
    u64::MAX >> (64 - 8 * width)
}
