//! The codec of frames: one function for each frame and record.

use super::code::{Code, quoted};
use super::{elements_name, known_bits, name, records_of, variable, width};
use crate::schema::{Elements, Field, Frame, Item, Kind, Record, Schema, Side, Unknown, UnknownCode};

const WIRE: &[&str] = &["github.com/adjourn/adjourn-go/internal/wire"];

/// Where a codec stands, and how it names what package `wire` has.
struct Place<'a> {
    schema: &'a Schema,
    /// `wire.` outside of that package.
    wire: &'static str,
    package: &'static str,
    /// Refuses what is out of its range, as a server does.
    is_strict: bool,
}

impl<'a> Place<'a> {
    fn of(schema: &'a Schema, is_client: bool) -> Self {
        if is_client {
            Self { schema, wire: "", package: "wire", is_strict: false }
        } else {
            Self { schema, wire: "wire.", package: "serverside", is_strict: true }
        }
    }

    fn file(&self) -> Code {
        match self.wire {
            "" => Code::file(self.package, &[&["encoding/binary"]]),
            _ => Code::file(self.package, &[&["encoding/binary"], WIRE]),
        }
    }
}

/// Everything that encodes the frames of one side.
pub(super) fn encoder(schema: &Schema, side: Side) -> String {
    let place = Place::of(schema, side == Side::Request);
    let (mut code, wire, side_name) = (place.file(), place.wire, side.name());
    let function = variable(&format!("append_{side_name}"));
    code.lines("");
    code.comment(&format!(
        "{function} appends the payload of a {side_name}. It says whether the message is one."
    ));
    code.lines(&format!(
        "func {function}(w *{wire}Writer, m {wire}Message) bool {{\nswitch m := m.(type) {{"
    ));
    for frame in schema.frames(side).iter().filter(|frame| !frame.fields.is_empty()) {
        let frame_name = name(&frame.name);
        code.lines(&format!("case *{wire}{frame_name}:\nappend{frame_name}(w, m)"));
    }
    let empty = schema.frames(side).iter().filter(|frame| frame.fields.is_empty());
    let empty: Vec<String> = empty.map(|frame| format!("*{wire}{}", name(&frame.name))).collect();
    code.lines(&format!("case {}:\ndefault:\nreturn false\n}}\nreturn true\n}}", empty.join(", ")));
    for record in records_of(schema, side) {
        let record_name = name(&record.name);
        code.lines(&format!("\nfunc append{record_name}(w *{wire}Writer, v *{wire}{record_name}) {{"));
        append_record(&place, record, &mut code);
        code.lines("}");
    }
    for frame in schema.frames(side).iter().filter(|frame| !frame.fields.is_empty()) {
        let frame_name = name(&frame.name);
        code.lines(&format!("\nfunc append{frame_name}(w *{wire}Writer, m *{wire}{frame_name}) {{"));
        append_frame(&place, frame, &mut code);
        code.lines("}");
    }
    code.finish()
}

fn append_record(place: &Place, record: &Record, code: &mut Code) {
    for field in &record.fields {
        if field.kind == Kind::Tagged(Elements::Attributes) {
            code.lines(&format!("{} := v.{}.Size()", variable(&field.name), name(&field.name)));
        }
    }
    code.lines(&format!("b := w.Fixed({})", record.fixed_bytes()));
    let mut at = 0;
    for field in &record.fields {
        put(place.schema, "v", field, at, code);
        at += field.fixed_bytes();
    }
    for field in record.fields.iter().filter(|field| field.is_piece()) {
        let value = format!("v.{}", name(&field.name));
        match &field.kind {
            Kind::Text(_) => code.lines(&format!("w.Text({value})")),
            Kind::Bytes(_) => code.lines(&format!("w.Bytes({value})")),
            Kind::Texts => code.lines(&format!("w.Texts({value})")),
            Kind::Tagged(elements) => {
                code.lines(&format!("{}Append{}(w, &{value})", place.wire, elements_name(*elements)));
            }
            _ => {}
        }
    }
}

/// Puts one field into the bytes `b`.
fn put(schema: &Schema, of: &str, field: &Field, at: usize, code: &mut Code) {
    let value = format!("{of}.{}", name(&field.name));
    let place = if at == 0 { "b".to_owned() } else { format!("b[{at}:]") };
    let length = |width: usize, count: &str| match width {
        1 => format!("b[{at}] = w.Len8({count})"),
        2 => format!("binary.LittleEndian.PutUint16({place}, w.Len16({count}))"),
        _ => format!("binary.LittleEndian.PutUint32({place}, w.Len32({count}))"),
    };
    let line = match &field.kind {
        Kind::Magic => format!("copy({place}, Magic)"),
        Kind::Number(1) => format!("b[{at}] = {value}"),
        Kind::Number(16) | Kind::Id => format!("copy({place}, {value}[:])"),
        Kind::Number(bytes) => format!("binary.LittleEndian.PutUint{}({place}, {value})", bytes * 8),
        Kind::Signed => format!("binary.LittleEndian.PutUint64({place}, uint64({value}))"),
        Kind::Text(bytes) | Kind::Bytes(bytes) => length(*bytes, &format!("len({value})")),
        Kind::Texts => length(1, &format!("len({value})")),
        Kind::Tagged(_) => length(2, &variable(&field.name)),
        Kind::Object(record) => {
            let mut at = at;
            for part in &schema.record(record).fields {
                put(schema, &value, part, at, code);
                at += part.fixed_bytes();
            }
            return;
        }
        _ => return,
    };
    code.lines(&line);
}

fn append_frame(place: &Place, frame: &Frame, code: &mut Code) {
    let mut rest = frame.fields.as_slice();
    let mut is_first = true;
    while let Some((field, behind)) = rest.split_first() {
        let run = fixed_run(place.schema, rest);
        if !run.is_empty() {
            let bytes: usize = run.iter().filter_map(|field| width(place.schema, &field.kind)).sum();
            code.lines(&format!("b {}= w.Fixed({bytes})", if is_first { ":" } else { "" }));
            is_first = false;
            let mut at = 0;
            for field in run {
                put(place.schema, "m", field, at, code);
                at += width(place.schema, &field.kind).unwrap_or_default();
            }
            rest = rest.get(run.len()..).unwrap_or_default();
            continue;
        }
        // A server sends all fields; a client leaves out what is at its default, if nothing stands behind it.
        let leaves_out = field.is_late && frame.side == Side::Request;
        if leaves_out {
            let is_set: Vec<String> = rest.iter().map(is_set).collect();
            code.lines(&format!("if {} {{", is_set.join(" || ")));
        }
        append_field(place, field, code);
        if leaves_out {
            code.lines("}");
        }
        rest = behind;
    }
}

/// The fields at the beginning that always stand there and take the same room.
fn fixed_run<'a>(schema: &Schema, fields: &'a [Field]) -> &'a [Field] {
    let is_fixed = |field: &&Field| !field.is_late && width(schema, &field.kind).is_some();
    let count = fields.iter().take_while(is_fixed).count();
    let has_object = fields.first().is_some_and(|field| matches!(field.kind, Kind::Object(_)));
    // One number alone has a method of its own.
    if count == 1 && !has_object { &[] } else { fields.get(..count).unwrap_or_default() }
}

fn is_set(field: &Field) -> String {
    let value = format!("m.{}", name(&field.name));
    match field.kind {
        Kind::Number(16) => format!("{value} != (U128{{}})"),
        Kind::Text(_) => format!("{value} != \"\""),
        Kind::List(_) | Kind::Bytes(_) => format!("len({value}) > 0"),
        _ => format!("{value} != 0"),
    }
}

fn append_field(place: &Place, field: &Field, code: &mut Code) {
    let value = format!("m.{}", name(&field.name));
    let line = match &field.kind {
        Kind::Number(bytes) => format!("w.U{}({value})", bytes * 8),
        Kind::Text(bytes) => format!("w.Text{}({value})", bytes * 8),
        Kind::Bytes(bytes) => format!("w.Bytes{}({value})", bytes * 8),
        Kind::Tagged(elements) => format!(
            "{0} := w.Begin()\n{1}Append{2}(w, &{value})\nw.End({0})",
            variable(&field.name),
            place.wire,
            elements_name(*elements)
        ),
        Kind::Reference => format!("w.JobRef(&{value})"),
        Kind::List(Item::Text) => format!("w.TextList({value})"),
        Kind::List(Item::Number) => format!("w.NumberList({value})"),
        Kind::List(Item::Record(record)) => format!(
            "w.List({}, len({value}))\nfor i := range {value} {{\nappend{}(w, &{value}[i])\n}}",
            place.schema.record(record).fixed_bytes(),
            name(record)
        ),
        Kind::Part(record) => format!("append{0}(w, &m.{0})", name(record)),
        kind => panic!("{kind:?} has no place of its own in a frame"),
    };
    code.lines(&line);
}

/// Everything that decodes the frames of one side.
pub(super) fn decoder(schema: &Schema, side: Side) -> String {
    let place = Place::of(schema, side == Side::Response);
    let (mut code, wire, side_name) = (place.file(), place.wire, side.name());
    let function = if side == Side::Request { "readRequest" } else { "readResponse" };
    code.lines("");
    code.comment(&format!(
        "{function} decodes the payload of a {side_name}. It returns nil if there is none of this opcode."
    ));
    code.lines(&format!("func {function}(op {wire}Opcode, r *{wire}Reader) {wire}Message {{\nswitch op {{"));
    for frame in schema.frames(side) {
        let frame_name = name(&frame.name);
        code.lines(&format!("case {wire}Op{frame_name}:"));
        if frame.fields.is_empty() {
            code.lines(&format!("return &{wire}{frame_name}{{}}"));
        } else {
            code.lines(&format!("m := &{wire}{frame_name}{{}}\nread{frame_name}(r, m)\nreturn m"));
        }
    }
    code.lines("}\nreturn nil\n}");
    for record in records_of(schema, side) {
        let record_name = name(&record.name);
        code.lines(&format!(
            "\nfunc read{record_name}(r *{wire}Reader, fixed int, v *{wire}{record_name}) {{"
        ));
        read_record(&place, record, &mut code);
        code.lines("}");
    }
    for frame in schema.frames(side).iter().filter(|frame| !frame.fields.is_empty()) {
        let frame_name = name(&frame.name);
        code.lines(&format!("\nfunc read{frame_name}(r *{wire}Reader, m *{wire}{frame_name}) {{"));
        read_frame(&place, frame, &mut code);
        code.lines("}");
    }
    code.finish()
}

fn read_record(place: &Place, record: &Record, code: &mut Code) {
    code.lines("b := r.Take(fixed)\nif b == nil {\nreturn\n}");
    let mut at = 0;
    for field in &record.fields {
        let bytes = field.fixed_bytes();
        if field.is_late {
            if field.is_piece() {
                code.lines(&format!("{} := 0", variable(&field.name)));
            }
            code.lines(&format!("if r.Has(b, {at}, {bytes}) {{"));
        }
        let assign = if field.is_late { "=" } else { ":=" };
        get(place, "v", field, at, assign, code);
        if field.is_late {
            code.lines("}");
        }
        at += bytes;
    }
    for field in record.fields.iter().filter(|field| !field.is_piece()) {
        read_values(place, "v", field, code);
    }
    for field in record.fields.iter().filter(|field| field.is_piece()) {
        let (value, length) = (format!("v.{}", name(&field.name)), variable(&field.name));
        let line = match &field.kind {
            // Most jobs of a list are of one topic.
            Kind::Text(_) if field.name == "topic" => format!("{value} = r.RepeatedText({length})"),
            Kind::Text(_) => format!("{value} = r.Text({length})"),
            Kind::Bytes(_) => format!("{value} = r.Bytes({length})"),
            Kind::Texts => format!("{value} = r.Texts({length})"),
            Kind::Tagged(elements) => read_tagged(place, *elements, &length, &value),
            _ => continue,
        };
        code.lines(&line);
        read_values(place, "v", field, code);
    }
}

fn read_tagged(place: &Place, elements: Elements, length: &str, value: &str) -> String {
    match elements {
        Elements::Filter => format!("readFilter(r, {length}, &{value})"),
        _ => format!("{}Read{}(r, {length}, &{value})", place.wire, elements_name(elements)),
    }
}

/// Takes one field from the bytes `b`. Of a piece it is the length.
fn get(place: &Place, of: &str, field: &Field, at: usize, assign: &str, code: &mut Code) {
    let value = format!("{of}.{}", name(&field.name));
    let bytes_at = if at == 0 { "b".to_owned() } else { format!("b[{at}:]") };
    let number = |width: usize| match width {
        1 => format!("b[{at}]"),
        width => format!("binary.LittleEndian.Uint{}({bytes_at})", width * 8),
    };
    let mask = known_bits(place.schema, field).map_or_else(String::new, |known| format!(" & {known:#x}"));
    let line = match &field.kind {
        Kind::Magic => {
            format!("if string(b[:4]) != {}Magic {{\nr.Fail(\"the magic is another one\")\n}}", place.wire)
        }
        Kind::Number(16) | Kind::Id => format!("copy({value}[:], {bytes_at})"),
        Kind::Number(bytes) => format!("{value} = {}{mask}", number(*bytes)),
        Kind::Signed => format!("{value} = int64({})", number(8)),
        Kind::Text(bytes) | Kind::Bytes(bytes) => {
            format!("{} {assign} int({})", variable(&field.name), number(*bytes))
        }
        Kind::Texts => format!("{} {assign} int({})", variable(&field.name), number(1)),
        Kind::Tagged(_) => format!("{} {assign} int({})", variable(&field.name), number(2)),
        Kind::Object(record) => {
            let mut at = at;
            for part in &place.schema.record(record).fields {
                get(place, &value, part, at, assign, code);
                at += part.fixed_bytes();
            }
            return;
        }
        _ => return,
    };
    code.lines(&line);
}

/// What is done with a value that was read: one that only a newer peer knows, or that is out of its range.
fn read_values(place: &Place, of: &str, field: &Field, code: &mut Code) {
    let value = format!("{of}.{}", name(&field.name));
    let choice = place.schema.choice_of(field.choice.as_deref());
    if let Some(choice) = choice {
        let greatest = choice.values.iter().map(|value| value.number).max().unwrap_or_default();
        if let Some(unknown) = &choice.unknown {
            let instead = instead_of(unknown, of);
            code.lines(&format!("if {value} > {greatest} {{\n{value}{instead}\n}}"));
        }
        if choice.open.is_none() && place.is_strict {
            code.lines(&format!("atMost(r, {}, uint64({value}), {greatest})", quoted(&field.name)));
        }
    }
    if !place.is_strict {
        return;
    }
    let size = match &field.kind {
        Kind::Number(16) => None,
        Kind::Number(_) => Some(format!("uint64({value})")),
        Kind::Text(_) | Kind::Bytes(_) | Kind::List(_) => Some(format!("uint64(len({value}))")),
        _ => None,
    };
    if let Some(size) = size {
        match (field.min, field.max) {
            (Some(min), Some(max)) => {
                code.lines(&format!("inRange(r, {}, {size}, {min}, {max})", quoted(&field.name)));
            }
            (None, Some(max)) => code.lines(&format!("atMost(r, {}, {size}, {max})", quoted(&field.name))),
            _ => {}
        }
    }
    match (field.name.as_str(), &field.kind) {
        ("topic", Kind::Text(_)) if field.is_topic() => code.lines(&format!("topicName(r, {value})")),
        ("key", Kind::Text(_)) => code.lines(&format!("keyOrNone(r, {value})")),
        ("topics", Kind::List(Item::Text)) => {
            code.lines(&format!("for _, name := range {value} {{\ntopicName(r, name)\n}}"));
        }
        _ => {}
    }
}

/// What stands in place of a number that only a newer server knows.
fn instead_of(unknown: &Unknown, of: &str) -> String {
    let Unknown { number, code } = unknown;
    match code {
        None => format!(" = {number}"),
        Some(UnknownCode { number: error, name }) => format!(", {of}.Code = {number}, {error} // {name}"),
    }
}

fn read_frame(place: &Place, frame: &Frame, code: &mut Code) {
    let mut rest = frame.fields.as_slice();
    while let Some((field, behind)) = rest.split_first() {
        let run = fixed_run(place.schema, rest);
        if !run.is_empty() {
            let bytes: usize = run.iter().filter_map(|field| width(place.schema, &field.kind)).sum();
            code.lines(&format!("if b := r.Take({bytes}); b != nil {{"));
            let mut at = 0;
            for field in run {
                get(place, "m", field, at, "=", code);
                at += width(place.schema, &field.kind).unwrap_or_default();
            }
            for field in run {
                read_values(place, "m", field, code);
            }
            code.lines("}");
            rest = rest.get(run.len()..).unwrap_or_default();
            continue;
        }
        if frame.name == "BULK" && field.name == "to" {
            // With any other change, what stands there is skipped.
            code.lines(&format!("if r.More() && m.Change == {}ChangeMove {{", place.wire));
        } else if field.is_late {
            code.lines("if r.More() {");
        }
        read_field(place, field, code);
        read_values(place, "m", field, code);
        if field.is_late {
            code.lines("}");
        }
        rest = behind;
    }
}

fn read_field(place: &Place, field: &Field, code: &mut Code) {
    let value = format!("m.{}", name(&field.name));
    let mask = known_bits(place.schema, field).map_or_else(String::new, |known| format!(" & {known:#x}"));
    let line = match &field.kind {
        Kind::Number(bytes) => format!("{value} = r.U{}(){mask}", bytes * 8),
        Kind::Text(bytes) => format!("{value} = r.Text{}()", bytes * 8),
        Kind::Bytes(bytes) => format!("{value} = r.Bytes{}()", bytes * 8),
        Kind::Tagged(elements) => read_tagged(place, *elements, "int(r.U16())", &value),
        Kind::Reference => format!("{value} = readJobRef(r)"),
        Kind::List(Item::Text) => format!("{value} = r.TextList()"),
        Kind::List(Item::Number) => format!("{value} = r.NumberList()"),
        Kind::List(Item::Record(record)) => format!(
            "if fixed, count := r.List({min}); count > 0 {{\n\
             {value} = make([]{wire}{item}, count)\nfor i := range {value} {{\nread{item}(r, fixed, &{value}[i])\n}}\n}}",
            min = place.schema.record(record).fixed_bytes_min(),
            wire = place.wire,
            item = name(record)
        ),
        Kind::Part(record) => {
            let bytes = place.schema.record(record).fixed_bytes();
            format!("read{0}(r, {bytes}, &m.{0})", name(record))
        }
        kind => panic!("{kind:?} has no place of its own in a frame"),
    };
    code.lines(&line);
}
