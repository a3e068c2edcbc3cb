//! Code that reads frames and records.

use super::encode::{Structs, code, codes_of};
use super::page::Page;
use super::shape::{self, Shape, Wire};
use crate::names::grouped;
use crate::schema::{Elements, Field, Item, Kind, Record, Schema};

/// Whether what is read is checked, as a server does it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Checks {
    /// Values out of range are refused.
    Ranges,
    /// What a server says is taken as it is.
    None,
}

/// Writes the function that reads the payload of a frame.
pub(super) fn frame(page: &mut Page, structs: &mut Structs, schema: &Schema, shape: &Shape, checks: Checks) {
    let class = shape.class.clone();
    page.line(0, &format!("def {}(data: bytes) -> {class}:", reader_of(&shape.name)));
    if shape.wires.is_empty() {
        page.line(1, &format!("return {class}()"));
        return;
    }
    let mut reader = Reader { page, structs, schema, shape, at: At::Fixed(0), run: Run::default() };
    for (place, wire) in shape.wires.iter().enumerate() {
        reader.is_last(place + 1 == shape.wires.len());
        reader.wire(wire);
    }
    reader.flush();
    if checks == Checks::Ranges {
        for wire in &shape.wires {
            if let Some(check) = check_of(&shape.name, &wire.field, &wire.local) {
                reader.page.line(1, &check);
            }
        }
    }
    made(page, shape);
}

/// Writes the statements that make the objects in it.
fn parts(page: &mut Page, depth: usize, shape: &Shape) {
    for part in &shape.parts {
        page.list(depth, &format!("{} = {}(", part.local, part.class), &part.arguments, ")");
    }
}

/// Writes the statement that returns the object.
pub(super) fn made(page: &mut Page, shape: &Shape) {
    parts(page, 1, shape);
    page.list(1, &format!("return {}(", shape.class), &shape.arguments(), ")");
}

/// Writes the function that reads a list of records.
pub(super) fn records(
    page: &mut Page,
    structs: &mut Structs,
    schema: &Schema,
    record: &Record,
    checks: Checks,
) {
    let shape = shape::of_record(schema, record);
    let class = if shape.is_bare() { "ErrorCode | int".to_owned() } else { shape.class.clone() };
    let name = list_reader_of(&record.name);
    let returns = format!("tuple[tuple[{class}, ...], int]");
    page.line(0, &format!("def {name}(data: bytes, at: int) -> {returns}:"));
    let fields = structs.name(&record.name, &codes_of(&shape));
    let locals: Vec<String> = shape.wires.iter().map(local_of).collect();
    if !shape.has_pieces() {
        assert!(shape.parts.is_empty(), "{}: a list of it is made in one expression", record.name);
        page.line(1, &format!("found, at = records({fields}, data, at)"));
        let made = match shape.attributes.as_slice() {
            [one] if shape.is_bare() => one.value.clone(),
            _ => format!("{class}({})", shape.arguments().join(", ")),
        };
        let names = if locals.len() == 1 { format!("({},)", locals.concat()) } else { locals.join(", ") };
        let flat = format!("return tuple([{made} for {names} in found]), at");
        if flat.len() <= 116 {
            page.line(1, &flat);
        } else {
            page.line(1, "made = [");
            page.list(2, &format!("{class}("), &shape.arguments(), ")");
            page.line(2, &format!("for {names} in found"));
            page.line(1, "]");
            page.line(1, "return tuple(made), at");
        }
        return;
    }
    let least = record.fixed_bytes_min();
    page.line(1, &format!("fixed, items, at = list_at(data, at, {least})"));
    let unpack = if shape.has_late() {
        let sizes: Vec<String> = sizes(record).iter().map(usize::to_string).collect();
        let sizes = format!("({}{})", sizes.join(", "), if sizes.len() == 1 { "," } else { "" });
        page.line(1, &format!("fields = unpacker({fields}, fixed, {sizes})"));
        "fields(data, at)".to_owned()
    } else {
        format!("{fields}.unpack_from(data, at)")
    };
    page.line(1, &format!("found: list[{class}] = []"));
    page.line(1, "for _ in range(items):");
    page.unpacked(2, &locals, &unpack);
    pieces(page, &shape, checks);
    parts(page, 2, &shape);
    page.nested(2, "found.append(", &format!("{class}("), &shape.arguments());
    page.line(1, "return tuple(found), at");
}

/// The fixed parts that are shorter than the whole one and may come.
fn sizes(record: &Record) -> Vec<usize> {
    let mut size = record.fixed_bytes_min();
    let mut sizes = Vec::new();
    for field in record.fields.iter().filter(|field| field.is_late) {
        sizes.push(size);
        size += field.fixed_bytes();
    }
    sizes
}

/// The statements that read the pieces of an item, behind its fixed part.
fn pieces(page: &mut Page, shape: &Shape, checks: Checks) {
    let wires: Vec<&Wire> = shape.wires.iter().filter(|wire| wire.field.is_piece()).collect();
    let mut begin = "at";
    page.line(2, "at += fixed");
    for wire in &wires {
        let end = if begin == "at" { "end" } else { "at" };
        let (local, length) = (&wire.local, local_of(wire));
        if wire.field.kind == Kind::Texts {
            page.line(2, &format!("{local}, {end} = texts_at(data, {begin}, {length})"));
            begin = end;
            continue;
        }
        page.line(2, &format!("{end} = {begin} + {length}"));
        let slice = format!("data[{begin}:{end}]");
        let value = match &wire.field.kind {
            Kind::Text(_) => format!("{slice}.decode()"),
            Kind::Tagged(Elements::Attributes) => {
                format!("Attributes.decode({slice}) if {length} else NO_ATTRIBUTES")
            }
            _ => slice,
        };
        page.line(2, &format!("{local} = {value}"));
        begin = end;
    }
    if begin == "end" {
        page.line(2, "at = end");
    }
    page.line(2, "if at > len(data):");
    page.line(3, &format!("raise cut_off(\"{}\")", shape.name));
    if checks == Checks::Ranges {
        for wire in &shape.wires {
            if let Some(check) = check_of(&shape.name, &wire.field, &wire.local) {
                page.line(2, &check);
            }
        }
    }
}

/// Where the next field is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Fixed(usize),
    Variable,
}

#[derive(Default)]
struct Run {
    codes: String,
    bytes: usize,
    locals: Vec<String>,
    /// Pieces, in the order in which they follow.
    pieces: Vec<Wire>,
    /// Statements behind it.
    then: Vec<String>,
    is_last: bool,
}

struct Reader<'a> {
    page: &'a mut Page,
    structs: &'a mut Structs,
    schema: &'a Schema,
    shape: &'a Shape,
    at: At,
    run: Run,
}

impl Reader<'_> {
    fn is_last(&mut self, is_last: bool) {
        self.run.is_last = is_last;
    }

    fn wire(&mut self, wire: &Wire) {
        if !wire.is_deferred && !self.run.pieces.is_empty() {
            let is_last = std::mem::replace(&mut self.run.is_last, false);
            self.flush();
            self.run.is_last = is_last;
        }
        if wire.field.is_late {
            let is_last = std::mem::replace(&mut self.run.is_last, false);
            self.flush();
            self.run.is_last = is_last;
            self.late(wire);
            return;
        }
        let local = wire.local.clone();
        match &wire.field.kind {
            Kind::Magic => {
                self.number("4s", 4, local);
                self.run.then.push("check_magic(magic)".to_owned());
            }
            Kind::Number(16) => {
                self.number("16s", 16, format!("{local}_bytes"));
                self.run.then.push(format!("{local} = int.from_bytes({local}_bytes, \"little\")"));
            }
            Kind::Number(width) => self.number(code(*width), *width, local),
            Kind::Signed => self.number("q", 8, local),
            Kind::Id => self.number("16s", 16, local),
            Kind::Text(width) | Kind::Bytes(width) => self.piece(wire, *width),
            Kind::Tagged(_) => self.piece(wire, 2),
            Kind::Reference => self.behind(&local, "ref_at"),
            Kind::List(Item::Text) => self.behind(&local, "text_list_at"),
            Kind::List(Item::Number) => self.behind(&local, "number_list_at"),
            Kind::List(Item::Record(record)) => self.behind(&local, &list_reader_of(record)),
            Kind::Object(record) => self.object(&local, record),
            Kind::Texts | Kind::Part(_) | Kind::RestText | Kind::RestNumbers => {
                panic!("{} cannot stand in a frame", wire.field.name)
            }
        }
    }

    fn number(&mut self, codes: &str, bytes: usize, local: String) {
        self.run.codes.push_str(codes);
        self.run.bytes += bytes;
        self.run.locals.push(local);
    }

    fn piece(&mut self, wire: &Wire, width: usize) {
        self.number(code(width), width, local_of(wire));
        self.run.pieces.push(wire.clone());
    }

    /// Something that a function reads, which says where it ends.
    fn behind(&mut self, local: &str, function: &str) {
        let is_last = std::mem::replace(&mut self.run.is_last, false);
        self.flush();
        let end = if is_last { "_" } else { "at" };
        let at = self.place();
        self.page.line(1, &format!("{local}, {end} = {function}(data, {at})"));
        self.at = At::Variable;
    }

    fn object(&mut self, local: &str, record: &str) {
        self.run.is_last = false;
        self.flush();
        let record = self.schema.record(record);
        let (sub, bytes) = (shape::of_record(self.schema, record), record.fixed_bytes());
        let name = self.structs.name(&record.name, &codes_of(&sub));
        let unpack = format!("{name}.unpack_from(data, {})", self.place());
        let locals: Vec<String> = sub.wires.iter().map(local_of).collect();
        if sub.arguments() == locals {
            self.page.line(1, &format!("{local} = {}(*{unpack})", sub.class));
        } else {
            self.page.unpacked(1, &locals, &unpack);
            self.page.list(1, &format!("{local} = {}(", sub.class), &sub.arguments(), ")");
        }
        match self.at {
            At::Fixed(place) => self.at = At::Fixed(place + bytes),
            At::Variable => self.page.line(1, &format!("at += {bytes}")),
        }
    }

    fn late(&mut self, wire: &Wire) {
        let local = &wire.local;
        let at = self.place();
        let end = if self.run.is_last { "_" } else { "at" };
        let call = match &wire.field.kind {
            Kind::Number(16) => format!("late_wide(data, {at})"),
            Kind::Number(width) => format!("late({}, data, {at})", self.structs.name("", code(*width))),
            Kind::Text(width) => format!("late_text({}, data, {at})", self.structs.name("", code(*width))),
            Kind::List(Item::Number) => {
                format!("number_list_at(data, {at}) if {at} < len(data) else ((), {at})")
            }
            Kind::List(Item::Record(record)) => {
                format!("{}(data, {at}) if {at} < len(data) else ((), {at})", list_reader_of(record))
            }
            _ => panic!("{} cannot be absent", wire.field.name),
        };
        self.page.line(1, &format!("{local}, {end} = {call}"));
        self.at = At::Variable;
    }

    fn place(&self) -> String {
        match self.at {
            At::Fixed(place) => place.to_string(),
            At::Variable => "at".to_owned(),
        }
    }

    fn flush(&mut self) {
        let Run { codes, bytes, locals, pieces, then, is_last } = std::mem::take(&mut self.run);
        if codes.is_empty() {
            return;
        }
        let name = self.structs.name(&self.shape.name, &codes);
        let from = match self.at {
            At::Fixed(0) => String::new(),
            _ => format!(", {}", self.place()),
        };
        self.page.unpacked(1, &locals, &format!("{name}.unpack_from(data{from})"));
        match self.at {
            At::Fixed(place) => self.at = At::Fixed(place + bytes),
            At::Variable if is_last && pieces.is_empty() => {}
            At::Variable => self.page.line(1, &format!("at += {bytes}")),
        }
        for line in then {
            self.page.line(1, &line);
        }
        for (count, wire) in pieces.iter().enumerate() {
            let end = if is_last && count + 1 == pieces.len() { "_" } else { "at" };
            let at = self.place();
            let (local, length) = (&wire.local, local_of(wire));
            if let Kind::Text(_) = wire.field.kind {
                self.page.line(1, &format!("{local}, {end} = text_at(data, {at}, {length})"));
            } else if let Kind::Tagged(elements) = wire.field.kind {
                self.page.line(1, &format!("{local}_bytes, {end} = bytes_at(data, {at}, {length})"));
                let decode = decoder_of(elements);
                self.page.line(1, &format!("{local} = {decode}({local}_bytes)"));
            } else {
                self.page.line(1, &format!("{local}, {end} = bytes_at(data, {at}, {length})"));
            }
            self.at = At::Variable;
        }
    }
}

fn decoder_of(elements: Elements) -> &'static str {
    match elements {
        Elements::Attributes => "Attributes.decode",
        Elements::Filter => "decode_filter",
        Elements::Settings => "TopicPolicy.decode",
    }
}

/// The variable of the number that stands in the fixed part.
fn local_of(wire: &Wire) -> String {
    if wire.field.is_piece() { format!("{}_length", wire.local) } else { wire.local.clone() }
}

/// The function that reads a frame or a record.
pub(super) fn reader_of(name: &str) -> String {
    format!("_read_{}", name.to_ascii_lowercase())
}

/// The function that reads a list of records.
fn list_reader_of(name: &str) -> String {
    format!("_{name}_list")
}

/// The statement that refuses what a server refuses.
fn check_of(owner: &str, field: &Field, local: &str) -> Option<String> {
    match (&field.kind, owner, field.name.as_str()) {
        (Kind::Text(_), _, "topic") if field.min == Some(0) => {
            Some(format!("check_topic({local}, may_be_empty=True)"))
        }
        (Kind::Text(_), _, _) if field.is_topic() && field.is_late => {
            Some(format!("check_topic({local}, may_be_empty=True)"))
        }
        (Kind::Text(_), _, _) if field.is_topic() => Some(format!("check_topic({local})")),
        (Kind::List(Item::Text), _, _) => Some(format!("check_topics({local})")),
        (Kind::Number(_), "new_job" | "RESCHEDULE", "due_ms") => {
            Some("check_due(due_ms, due_kind)".to_owned())
        }
        (Kind::Number(_), _, "ttr_ms") => Some("check_ttr(ttr_ms)".to_owned()),
        (Kind::Number(_), "RELEASE", "delay_ms") => Some("check_release(delay_ms)".to_owned()),
        (Kind::Number(_), _, name) if field.min.is_some() || field.max.is_some() => {
            let (least, most) = (field.min.unwrap_or(0), field.max.unwrap_or(u64::MAX));
            Some(format!("check_range(\"{name}\", {local}, {least}, {})", grouped(most, '_')))
        }
        // How many is a setting of the server.
        (Kind::List(_), _, name) if field.min.is_some() => {
            Some(format!("check_range(\"{name}\", len({local}), {}, 0xFFFF_FFFF)", field.min.unwrap_or(0)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_may_end_before_each_of_its_late_fields() {
        let Ok(schema) = Schema::load() else { panic!("the schema cannot be read") };
        assert_eq!(sizes(schema.record("delivered")), [45]);
        assert_eq!(sizes(schema.record("listed")), []);
        assert_eq!(reader_of("PUSH"), "_read_push");
    }
}
