//! Code that writes frames and records.

use super::naming::{self, singular};
use super::page::Page;
use super::shape::{self, Shape, Wire};
use crate::names::capitals;
use crate::schema::{Elements, Item, Kind, Schema};

/// The structs that the code of a file needs.
#[derive(Default)]
pub(super) struct Structs {
    known: Vec<(String, String)>,
}

impl Structs {
    /// The name of a struct with these codes. A new one is called after its owner.
    pub(super) fn name(&mut self, owner: &str, codes: &str) -> String {
        match codes {
            "B" => return "U8".to_owned(),
            "H" => return "U16".to_owned(),
            "I" => return "U32".to_owned(),
            "Q" => return "U64".to_owned(),
            "HI" => return "LIST_HEAD".to_owned(),
            _ => {}
        }
        let base = format!("_{}", capitals(owner));
        for count in 1.. {
            let name = if count == 1 { base.clone() } else { format!("{base}_{count}") };
            match self.known.iter().find(|(known, _)| *known == name) {
                Some((_, there)) if there == codes => return name,
                Some(_) => {}
                None => {
                    self.known.push((name.clone(), codes.to_owned()));
                    return name;
                }
            }
        }
        base
    }

    /// Their definitions.
    pub(super) fn definitions(&self) -> String {
        let mut known: Vec<String> = self
            .known
            .iter()
            .map(|(name, codes)| format!("{name} = struct.Struct(\"<{codes}\")\n"))
            .collect();
        known.sort();
        known.concat()
    }
}

/// What is done with fields that may be absent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    /// Those at the end are left out if they are 0 or empty.
    LeftOut,
    /// They are written.
    Written,
}

/// Writes the statements that append the bytes of an object to `parts`.
pub(super) fn frame(page: &mut Page, structs: &mut Structs, schema: &Schema, shape: &Shape, late: Late) {
    let mut writer = Writer { page, structs, schema, shape, run: Run::default() };
    let first_late = shape.wires.iter().position(|wire| wire.field.is_late).unwrap_or(shape.wires.len());
    let (sure, maybe) =
        shape.wires.split_at(if late == Late::Written { shape.wires.len() } else { first_late });
    for wire in sure {
        writer.wire(1, wire);
    }
    writer.flush(1);
    for (place, wire) in maybe.iter().enumerate() {
        let depth = 1 + place;
        let any: Vec<String> = maybe.iter().skip(place).map(|one| one.raw.replace('@', "one")).collect();
        writer.page.line(depth, &format!("if {}:", any.join(" or ")));
        writer.wire(depth + 1, wire);
        writer.flush(depth + 1);
    }
}

/// Writes the statements that return all of a record but its last piece.
pub(super) fn head(page: &mut Page, structs: &mut Structs, schema: &Schema, shape: &Shape) {
    let mut writer = Writer { page, structs, schema, shape, run: Run::default() };
    for wire in &shape.wires {
        writer.wire(1, wire);
    }
    let Run { codes, values, mut pieces } = std::mem::take(&mut writer.run);
    pieces.pop();
    let name = writer.structs.name(&shape.name, &codes);
    pieces.insert(0, "fixed".to_owned());
    page.list(1, &format!("fixed = {name}.pack("), &values, ")");
    page.line(1, &format!("return {}", pieces.join(" + ")));
}

/// Numbers that are packed together, and what follows them.
#[derive(Default)]
struct Run {
    codes: String,
    values: Vec<String>,
    pieces: Vec<String>,
}

struct Writer<'a> {
    page: &'a mut Page,
    structs: &'a mut Structs,
    schema: &'a Schema,
    shape: &'a Shape,
    run: Run,
}

impl Writer<'_> {
    fn wire(&mut self, depth: usize, wire: &Wire) {
        if !wire.is_deferred && !self.run.pieces.is_empty() {
            self.flush(depth);
        }
        let raw = wire.raw.replace('@', "one");
        match &wire.field.kind {
            Kind::Magic => self.number("4s", "MAGIC".to_owned()),
            Kind::Number(16) => self.number("16s", format!("{raw}.to_bytes(16, \"little\")")),
            Kind::Number(width) => self.number(code(*width), raw),
            Kind::Signed => self.number("q", raw),
            Kind::Id => self.number("16s", raw),
            Kind::Text(width) if wire.field.name == "key" && self.shape.name != "reference" => {
                self.page.line(depth, &format!("{} = text({raw}) if {raw} else b\"\"", wire.local));
                self.piece(code(*width), wire.local.clone());
            }
            Kind::Text(width) => {
                self.page.line(depth, &format!("{} = text({raw})", wire.local));
                self.piece(code(*width), wire.local.clone());
            }
            Kind::Bytes(width) => self.piece(code(*width), raw),
            Kind::Texts => {
                let item = singular(&wire.local).to_owned();
                self.page.line(depth, &format!("{} = [text({item}) for {item} in {raw}]", wire.local));
                self.number("B", format!("len({})", wire.local));
                let joined =
                    format!("b\"\".join([U8.pack(len({item})) + {item} for {item} in {}])", wire.local);
                self.run.pieces.push(joined);
            }
            Kind::Tagged(Elements::Attributes) => {
                let empty = format!("b\"\" if {raw} is NO_ATTRIBUTES else {raw}.encode()");
                self.page.line(depth, &format!("{} = {empty}", wire.local));
                self.piece("H", wire.local.clone());
            }
            Kind::Tagged(_) => {
                self.page.line(depth, &format!("{} = {raw}.encode()", wire.local));
                self.piece("H", wire.local.clone());
            }
            Kind::Reference => {
                self.flush(depth);
                self.page.line(depth, &format!("parts.append({raw}.encode())"));
            }
            Kind::List(item) => self.list(depth, wire, item, &raw),
            Kind::Object(record) => {
                self.flush(depth);
                let sub = shape::of_record(self.schema, self.schema.record(record));
                let values: Vec<String> = sub.wires.iter().map(|one| one.raw.replace('@', &raw)).collect();
                let name = self.structs.name(record, &codes_of(&sub));
                self.page.nested(depth, "parts.append(", &format!("{name}.pack("), &values);
            }
            Kind::Part(_) | Kind::RestText | Kind::RestNumbers => {
                panic!("{} cannot stand in a frame", wire.field.name)
            }
        }
    }

    fn number(&mut self, code: &str, value: String) {
        self.run.codes.push_str(code);
        self.run.values.push(value);
    }

    fn piece(&mut self, code: &str, piece: String) {
        self.number(code, format!("len({piece})"));
        self.run.pieces.push(piece);
    }

    fn list(&mut self, depth: usize, wire: &Wire, item: &Item, raw: &str) {
        let one = singular(&wire.local).to_owned();
        let (fixed, lines): (usize, Vec<(usize, String)>) = match item {
            Item::Text => {
                self.page.line(depth, &format!("{} = [text({one}) for {one} in {raw}]", wire.local));
                let each = format!("for {one} in {}:", wire.local);
                (1, vec![(0, each), (1, format!("parts += (U8.pack(len({one})), {one})"))])
            }
            Item::Number => (2, vec![(0, format!("parts += [U16.pack({one}) for {one} in {raw}]"))]),
            Item::Record(record) => {
                let record = self.schema.record(record);
                (record.fixed_bytes(), self.records(&shape::of_record(self.schema, record), &one, raw))
            }
        };
        self.number("HI", fixed.to_string());
        self.run.values.push(format!("len({raw})"));
        self.flush(depth);
        for (more, line) in lines {
            self.page.line(depth + more, &line);
        }
    }

    fn records(&mut self, item: &Shape, one: &str, raw: &str) -> Vec<(usize, String)> {
        if item.class == "PushJob" {
            let each = format!("for {one} in {raw}:");
            return vec![(0, each), (1, format!("parts += ({one}.head, {one}.body)"))];
        }
        if item.has_pieces() {
            let each = format!("for {one} in {raw}:");
            return vec![(0, each), (1, format!("_write_{}({one}, parts)", item.name))];
        }
        let name = self.structs.name(&item.name, &codes_of(item));
        let values: Vec<String> = item.wires.iter().map(|wire| wire.raw.replace('@', one)).collect();
        let (pack, each) = (format!("{name}.pack({})", values.join(", ")), format!("for {one} in {raw}"));
        let flat = format!("parts += [{pack} {each}]");
        if flat.len() <= 116 {
            return vec![(0, flat)];
        }
        vec![(0, "parts += [".to_owned()), (1, pack), (1, each), (0, "]".to_owned())]
    }

    fn flush(&mut self, depth: usize) {
        let Run { codes, values, pieces } = std::mem::take(&mut self.run);
        if codes.is_empty() {
            return;
        }
        let name = self.structs.name(&self.shape.name, &codes);
        if pieces.is_empty() {
            self.page.nested(depth, "parts.append(", &format!("{name}.pack("), &values);
            return;
        }
        let tail = pieces.join(", ");
        let flat = format!("parts += ({name}.pack({}), {tail})", values.join(", "));
        if 4 * depth + flat.len() <= 120 {
            self.page.line(depth, &flat);
        } else {
            self.page.nested(depth, "parts.append(", &format!("{name}.pack("), &values);
            let is_one = pieces.len() == 1;
            self.page.list(depth, if is_one { "parts.append(" } else { "parts += (" }, &pieces, ")");
        }
    }
}

/// The code of a number of so many bytes.
pub(super) fn code(width: usize) -> &'static str {
    match width {
        1 => "B",
        2 => "H",
        4 => "I",
        8 => "Q",
        _ => "16s",
    }
}

/// The codes of the fixed part of a record.
pub(super) fn codes_of(shape: &Shape) -> String {
    let code_of = |wire: &Wire| match wire.field.kind {
        Kind::Signed => "q",
        Kind::Id => "16s",
        _ => code(wire.field.fixed_bytes()),
    };
    shape.wires.iter().map(code_of).collect()
}

/// The name of the function that writes a frame.
pub(super) fn writer_of(name: &str) -> String {
    format!("_write_{}", naming::variable(&name.to_ascii_lowercase()))
}
