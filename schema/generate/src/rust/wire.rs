//! How records and frames are laid out: a struct for each, which is written whole and read whole.
//!
//! The structs are generic over what texts and bytes are, slices when they are written and `Bytes` when they are read,
//! and over the lists in them: an iterator of records when they are written, the values made of the records when they are read.

use std::fmt::Write as _;

use super::DO_NOT_EDIT;
use crate::names::{pascal, sentence};
use crate::schema::{Field, Frame, Item, Kind, Record, Schema, Side};

/// The frames whose fields the table of the requests does not have.
const REQUESTS: [&str; 16] = [
    "HELLO",
    "PUSH",
    "RESERVE",
    "SUBSCRIBE",
    "LIST",
    "COUNT",
    "BULK",
    "EDIT",
    "TOPIC_SET",
    "ADVANCE",
    "SCHEDULE_SET",
    "SCHEDULE_LIST",
    "SCHEDULE_FILL",
    "SCHEDULE_PREVIEW",
    "GROUP_SET",
    "GROUP_LIST",
];

pub(super) fn records(schema: &Schema) -> String {
    let mut out = format!(
        "//! What lists and parts of frames consist of: the fixed part, then the pieces whose lengths are in it.\n{DO_NOT_EDIT}\
         use bytes::{{Bytes, BytesMut}};\n\nuse crate::decode_error::DecodeError;\nuse crate::wire::{{Fields, Fixed, Reader, put_piece}};\n",
    );
    for record in &schema.records {
        record_struct(schema, record, &mut out);
        // The others only lend their fields.
        if [Side::Request, Side::Response]
            .into_iter()
            .any(|side| schema.records_of(side).any(|used| used.name == record.name))
        {
            record_codec(schema, record, &mut out);
        }
    }
    out
}

pub(super) fn frames(schema: &Schema) -> String {
    let mut out = format!(
        "//! The payloads of frames. Bytes behind the last field come from a newer peer: they are not read.\n{DO_NOT_EDIT}\
         use bytes::{{BufMut as _, Bytes, BytesMut}};\n\nuse super::records;\nuse crate::decode_error::DecodeError;\nuse crate::field::{{Field as _, JobRef}};\n\
         use crate::wire::{{Fixed, Reader, put_list}};\n",
    );
    let requests = schema.requests.iter().filter(|frame| REQUESTS.contains(&frame.name.as_str()));
    // DELIVER looks like RESERVED.
    let responses =
        schema.responses.iter().filter(|frame| !frame.fields.is_empty() && frame.name != "DELIVER");
    for frame in requests.chain(responses) {
        Writer { schema, frame }.write(&mut out);
    }
    out
}

/// The records that callers of the protocol have as they are: numbers alone.
const PUBLIC: [&str; 1] = ["totals"];

/// The records whose length code asks for that is written by hand.
const WITH_BYTES: [&str; 1] = ["lease"];

/// The type of a field that has one wherever it stands.
fn plain(kind: &Kind) -> &'static str {
    match kind {
        Kind::Number(1) => "u8",
        Kind::Number(2) => "u16",
        Kind::Number(4) => "u32",
        Kind::Number(8) => "u64",
        Kind::Number(_) => "u128",
        Kind::Signed => "i64",
        Kind::Id => "[u8; 16]",
        Kind::Text(_) | Kind::Bytes(_) | Kind::Tagged(_) => "P",
        Kind::Texts => "Vec<P>",
        Kind::Reference => "JobRef",
        other => panic!("no plain type: {other:?}"),
    }
}

/// The call that writes a number, or a length, into a fixed part.
fn put_fixed(kind: &Kind, value: &str) -> String {
    match kind {
        Kind::Magic => ".array(*b\"ADJ1\")".to_owned(),
        Kind::Number(16) => format!(".array({value}.to_le_bytes())"),
        Kind::Number(width) => format!(".u{}({value})", 8 * width),
        Kind::Signed => format!(".u64({value}.cast_unsigned())"),
        Kind::Id => format!(".array({value})"),
        Kind::Texts => format!(".length8({value}.len())"),
        kind => format!(".length{}({value}.len())", 8 * length_bytes(kind)),
    }
}

/// How a number is read.
fn take_fixed(kind: &Kind, from: &str, name: &str) -> String {
    match kind {
        Kind::Number(16) => format!("u128::from_le_bytes({from}.array(\"{name}\")?)"),
        Kind::Number(width) => format!("{from}.u{}(\"{name}\")?", 8 * width),
        Kind::Signed => format!("{from}.u64(\"{name}\")?.cast_signed()"),
        Kind::Id => format!("{from}.array(\"{name}\")?"),
        Kind::Texts => format!("usize::from({from}.u8(\"{name}\")?)"),
        kind if length_bytes(kind) == 4 => format!("{from}.u32(\"{name}\")? as usize"),
        kind => format!("usize::from({from}.u{}(\"{name}\")?)", 8 * length_bytes(kind)),
    }
}

fn length_bytes(kind: &Kind) -> usize {
    match kind {
        Kind::Text(width) | Kind::Bytes(width) => *width,
        Kind::Tagged(_) => 2,
        other => panic!("no length: {other:?}"),
    }
}

/// What an absent field is.
fn absent(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text(_) | Kind::Bytes(_) | Kind::Tagged(_) => "Bytes::new()",
        Kind::List(_) => "Vec::new()",
        _ => "0",
    }
}

/// A record as a type.
fn record_type(record: &Record) -> String {
    let has_pieces = record.fields.iter().any(Field::is_piece);
    format!("{}{}", pascal(&record.name), if has_pieces { "<P>" } else { "" })
}

/// The fields of a struct. Those of a record that it is like come together: they are one field.
fn grouped<'a>(fields: impl Iterator<Item = &'a Field>) -> Vec<Vec<&'a Field>> {
    let fields: Vec<&Field> = fields.collect();
    let groups = fields.chunk_by(|one, next| one.like.is_some() && one.like == next.like);
    groups.map(<[&Field]>::to_vec).collect()
}

/// The fields of a struct as it declares them.
fn declared<'a>(
    schema: &Schema,
    fields: impl Iterator<Item = &'a Field>,
    records: &str,
    type_of: impl Fn(&Field) -> String,
) -> String {
    let mut out = String::new();
    for group in grouped(fields) {
        let Some(field) = group.first() else { continue };
        let (doc, name, kind) = match field.like.as_deref().map(|like| schema.record(like)) {
            Some(record) => (&record.doc, &record.name, format!("{records}{}", record_type(record))),
            None => (&field.doc, &variable(field).to_owned(), type_of(field)),
        };
        let _ = writeln!(out, "    /// {}\n    pub(crate) {name}: {kind},", sentence(doc));
    }
    out
}

/// The fields of a struct as its literal has them.
fn literal<'a>(
    fields: impl Iterator<Item = &'a Field>,
    records: &str,
    value_of: impl Fn(&Field) -> String,
) -> String {
    let groups = grouped(fields).into_iter().map(|group| {
        let values = group.iter().map(|field| value_of(field)).collect::<Vec<_>>().join(", ");
        match group.first().and_then(|field| field.like.as_deref()) {
            Some(like) => format!("{like}: {records}{} {{ {values} }}", pascal(like)),
            None => values,
        }
    });
    groups.collect::<Vec<_>>().join(", ")
}

/// Where a struct has a field.
fn place(field: &Field) -> String {
    match &field.like {
        Some(like) => format!("self.{like}.{}", field.name),
        None => format!("self.{}", variable(field)),
    }
}

/// The name of a field in Rust, where `ref` is a keyword.
fn variable(field: &Field) -> &str {
    if field.kind == Kind::Reference { "job" } else { &field.name }
}

fn record_struct(schema: &Schema, record: &Record, out: &mut String) {
    let fields = declared(schema, record.fields.iter(), "", |field| plain(&field.kind).to_owned());
    let (doc, kind) = (sentence(&record.doc), record_type(record));
    if PUBLIC.contains(&record.name.as_str()) {
        let fields = fields.replace("pub(crate) ", "pub ");
        let derives = "#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]";
        let _ = write!(out, "\n/// {doc}\n{derives}\npub struct {kind} {{\n{fields}}}\n");
    } else {
        let _ = write!(out, "\n/// {doc}\npub(crate) struct {kind} {{\n{fields}}}\n");
    }
}

/// Whether a record has its length as a constant: frames ask for that of their parts.
fn has_length(schema: &Schema, record: &str) -> bool {
    let mut fields = schema.requests.iter().chain(&schema.responses).flat_map(|frame| &frame.fields);
    let is_part = |field: &Field| match &field.kind {
        Kind::Part(name) | Kind::Object(name) => name == record,
        _ => false,
    };
    WITH_BYTES.contains(&record) || fields.any(is_part)
}

fn record_codec(schema: &Schema, record: &Record, out: &mut String) {
    let name = pascal(&record.name);
    let has_pieces = record.fields.iter().any(Field::is_piece);
    out.push('\n');
    let (of_put, of_take) = if has_pieces { ("<&[u8]>", "<Bytes>") } else { ("", "") };
    let bytes = record.fixed_bytes();
    let open = if has_pieces { String::new() } else { record_take(record) };
    let _ = writeln!(out, "impl {name}{of_put} {{");
    if has_length(schema, &record.name) {
        let _ = write!(
            out,
            "    /// Bytes of the fixed part.\n    pub(crate) const FIXED_BYTES: usize = {bytes};\n\n"
        );
    }
    let _ = write!(
        out,
        "    /// Writes it.\n    #[inline]\n    pub(crate) fn put(&self, out: &mut BytesMut) {{\n        Fixed::<{bytes}>::new()\n"
    );
    for field in &record.fields {
        let _ = writeln!(out, "            {}", put_fixed(&field.kind, &place(field)));
    }
    out.push_str("            .write(out);\n");
    for field in record.fields.iter().filter(|field| field.is_piece()) {
        if field.kind == Kind::Texts {
            let _ = writeln!(
                out,
                "        for text in &{} {{\n            Fixed::<1>::new().length8(text.len()).write(out);\n            \
                 put_piece(out, text);\n        }}",
                place(field)
            );
        } else {
            let _ = writeln!(out, "        put_piece(out, {});", place(field));
        }
    }
    let _ = write!(out, "    }}\n{open}}}\n");
    if has_pieces {
        let _ = write!(out, "\nimpl {name}{of_take} {{{}}}\n", record_take(record));
    }
}

fn record_take(record: &Record) -> String {
    let mut out = String::new();
    let has_pieces = record.fields.iter().any(Field::is_piece);
    let reader = if has_pieces { "reader" } else { "_" };
    let _ = write!(
        out,
        "\n    /// Reads it.\n    #[inline]\n    pub(crate) fn take({reader}: &mut Reader<'_>, mut fields: Fields<'_>) -> Result<Self, DecodeError> {{\n"
    );
    for field in &record.fields {
        let taken = take_fixed(&field.kind, "fields", &field.name);
        let suffix = if field.is_piece() { "_length" } else { "" };
        let taken =
            if field.is_late { format!("if fields.is_empty() {{ 0 }} else {{ {taken} }}") } else { taken };
        let _ = writeln!(out, "        let {}{suffix} = {taken};", field.name);
    }
    let fields = literal(record.fields.iter(), "", |field| {
        let name = &field.name;
        match field.kind {
            Kind::Texts => format!(
                "{name}: (0..{name}_length).map(|_| reader.bytes8(\"{name}\")).collect::<Result<_, _>>()?"
            ),
            _ if field.is_piece() => format!("{name}: reader.bytes({name}_length, \"{name}\")?"),
            _ => name.clone(),
        }
    });
    let _ = write!(out, "        Ok(Self {{ {fields} }})\n    }}\n");
    out
}

/// Writes one frame.
struct Writer<'a> {
    schema: &'a Schema,
    frame: &'a Frame,
}

impl Writer<'_> {
    fn write(&self, out: &mut String) {
        let name = pascal(&self.frame.name);
        let generics = self.generics();
        let list = if generics.is_empty() { String::new() } else { format!("<{}>", generics.join(", ")) };
        let fields = declared(self.schema, self.fields(), "records::", |field| self.type_of(field));
        let doc = sentence(&self.frame.doc);
        let _ = write!(out, "\n/// {doc}\npub(crate) struct {name}{list} {{\n{fields}}}\n\n");
        self.put(&name, out);
        self.take(&name, out);
    }

    /// The fields but for the magic bytes.
    fn fields(&self) -> impl Iterator<Item = &Field> {
        self.frame.fields.iter().filter(|field| field.kind != Kind::Magic)
    }

    fn has_pieces(&self) -> bool {
        self.frame.fields.iter().any(|field| field.is_piece() || matches!(field.kind, Kind::Part(_)))
    }

    fn lists(&self) -> impl Iterator<Item = (&Field, &Item)> {
        self.fields().filter_map(|field| match &field.kind {
            Kind::List(item) => Some((field, item)),
            _ => None,
        })
    }

    /// What the type of a list is called.
    fn generic(&self, list: &Field) -> String {
        let place = self.lists().position(|(field, _)| field.name == list.name);
        ["L", "M"].into_iter().nth(place.unwrap_or_default()).unwrap_or("N").to_owned()
    }

    fn generics(&self) -> Vec<String> {
        let pieces = self.has_pieces().then(|| "P".to_owned());
        pieces.into_iter().chain(self.lists().map(|(field, _)| self.generic(field))).collect()
    }

    /// A request leaves out what it does not need at the end.
    fn is_optional(&self, field: &Field) -> bool {
        self.frame.side == Side::Request && field.is_late && !matches!(field.kind, Kind::List(_))
    }

    fn type_of(&self, field: &Field) -> String {
        let plain = match &field.kind {
            Kind::List(_) => self.generic(field),
            Kind::Object(record) | Kind::Part(record) => {
                format!("records::{}", record_type(self.schema.record(record)))
            }
            kind => plain(kind).to_owned(),
        };
        if self.is_optional(field) { format!("Option<{plain}>") } else { plain }
    }

    fn put(&self, name: &str, out: &mut String) {
        // What is borrowed has a name if the items of a list are, too.
        let is_named = self.lists().any(|(_, item)| self.is_borrowed(item));
        let mut bounds: Vec<String> = is_named.then(|| "'a".to_owned()).into_iter().collect();
        let piece = if is_named { "&'a [u8]" } else { "&[u8]" };
        let mut arguments: Vec<String> = self.has_pieces().then(|| piece.to_owned()).into_iter().collect();
        for (field, item) in self.lists() {
            let generic = self.generic(field);
            let item = match item {
                Item::Record(record) if self.is_borrowed(item) => {
                    format!("records::{}<&'a [u8]>", pascal(record))
                }
                Item::Record(record) => format!("records::{}", pascal(record)),
                Item::Text => "&'a [u8]".to_owned(),
                Item::Number => "u16".to_owned(),
            };
            bounds.push(format!("{generic}: ExactSizeIterator<Item = {item}>"));
            arguments.push(generic);
        }
        let listed = |parts: &[String]| {
            if parts.is_empty() { String::new() } else { format!("<{}>", parts.join(", ")) }
        };
        let _ = write!(
            out,
            "impl{} {name}{} {{\n    /// Writes it.\n    pub(crate) fn put(self, out: &mut BytesMut) {{\n",
            listed(&bounds),
            listed(&arguments)
        );
        self.put_fields(out);
        out.push_str("    }\n");
        out.push_str(if self.has_pieces() || self.lists().next().is_some() { "}\n\n" } else { "\n" });
    }

    fn is_borrowed(&self, item: &Item) -> bool {
        match item {
            Item::Record(record) => self.schema.record(record).fields.iter().any(Field::is_piece),
            Item::Text => true,
            Item::Number => false,
        }
    }

    /// Numbers that stand together, and the length behind them, are written at once.
    fn put_fields(&self, out: &mut String) {
        let (mut calls, mut bytes) = (String::new(), 0);
        let flush = |calls: &mut String, bytes: &mut usize, out: &mut String| {
            if *bytes > 0 {
                let _ = writeln!(out, "        Fixed::<{bytes}>::new(){calls}.write(out);");
            }
            (*calls, *bytes) = (String::new(), 0);
        };
        for field in &self.frame.fields {
            let value = place(field);
            if self.is_optional(field) {
                flush(&mut calls, &mut bytes, out);
                Self::put_optional(field, out);
                continue;
            }
            match &field.kind {
                Kind::Magic => bytes += 4,
                Kind::List(item) => {
                    flush(&mut calls, &mut bytes, out);
                    self.put_list(field, item, out);
                    continue;
                }
                Kind::Object(_) | Kind::Part(_) | Kind::Reference => {
                    flush(&mut calls, &mut bytes, out);
                    let _ = writeln!(out, "        {value}.put(out);");
                    continue;
                }
                _ => bytes += field.fixed_bytes(),
            }
            calls += &put_fixed(&field.kind, &value);
            if field.is_piece() {
                flush(&mut calls, &mut bytes, out);
                let _ = writeln!(out, "        out.put_slice({value});");
            }
        }
        flush(&mut calls, &mut bytes, out);
    }

    fn put_optional(field: &Field, out: &mut String) {
        let bytes = field.fixed_bytes();
        let _ = writeln!(
            out,
            "        if let Some({name}) = self.{name} {{\n            Fixed::<{bytes}>::new(){}.write(out);",
            put_fixed(&field.kind, &field.name),
            name = field.name
        );
        if field.is_piece() {
            let _ = writeln!(out, "            out.put_slice({});", field.name);
        }
        out.push_str("        }\n");
    }

    fn put_list(&self, field: &Field, item: &Item, out: &mut String) {
        let name = &field.name;
        let (bytes, each) = match item {
            Item::Record(record) => (
                self.schema.record(record).fixed_bytes(),
                format!("self.{name}.for_each(|item| item.put(out));"),
            ),
            Item::Text => (
                1,
                format!(
                    "for text in self.{name} {{\n            Fixed::<1>::new().length8(text.len()).write(out);\n            \
                     out.put_slice(text);\n        }}"
                ),
            ),
            Item::Number => (2, format!("self.{name}.for_each(|number| out.put_u16_le(number));")),
        };
        let head = format!("put_list(out, {bytes}, self.{name}.len());");
        if self.frame.side == Side::Request && field.is_late {
            let each = each.replace('\n', "\n    ");
            let _ = writeln!(
                out,
                "        if self.{name}.len() > 0 {{\n            {head}\n            {each}\n        }}"
            );
        } else {
            let _ = writeln!(out, "        {head}\n        {each}");
        }
    }

    fn take(&self, name: &str, out: &mut String) {
        let lists: Vec<(&Field, &Item)> = self.lists().collect();
        let records: Vec<(&Field, &String)> = lists
            .iter()
            .filter_map(|(field, item)| match item {
                Item::Record(record) => Some((*field, record)),
                _ => None,
            })
            .collect();
        let generic: Vec<String> = records.iter().map(|(field, _)| self.generic(field)).collect();
        let mut arguments: Vec<String> = self.has_pieces().then(|| "Bytes".to_owned()).into_iter().collect();
        arguments.extend(lists.iter().map(|(field, item)| match item {
            Item::Record(_) => format!("Vec<{}>", self.generic(field)),
            Item::Text => "Vec<Bytes>".to_owned(),
            Item::Number => "Vec<u16>".to_owned(),
        }));
        if !arguments.is_empty() {
            let generic =
                if generic.is_empty() { String::new() } else { format!("<{}>", generic.join(", ")) };
            let _ = writeln!(out, "impl{generic} {name}<{}> {{", arguments.join(", "));
        }
        let makers: Vec<String> = records
            .iter()
            .map(|(field, record)| {
                let borrowed =
                    if self.is_borrowed(&Item::Record((*record).clone())) { "<Bytes>" } else { "" };
                format!(
                    ",\n        mut make_{}: impl FnMut(records::{}{borrowed}) -> Result<{}, DecodeError>",
                    field.name,
                    pascal(record),
                    self.generic(field)
                )
            })
            .collect();
        let makers = if makers.is_empty() { String::new() } else { format!("{},\n    ", makers.concat()) };
        let first =
            if makers.is_empty() { "reader: &mut Reader<'_>" } else { "\n        reader: &mut Reader<'_>" };
        let _ = writeln!(
            out,
            "    /// Reads it.\n    pub(crate) fn take({first}{makers}) -> Result<Self, DecodeError> {{"
        );
        if self.frame.fields.iter().any(|field| field.kind == Kind::Magic) {
            out.push_str("        if reader.array(\"magic\")? != *b\"ADJ1\" {\n            return Err(DecodeError::Magic);\n        }\n");
        }
        for field in self.fields() {
            let _ = writeln!(out, "        let {} = {};", variable(field), self.take_field(field));
        }
        let fields = literal(self.fields(), "records::", |field| variable(field).to_owned());
        let _ = write!(out, "        Ok(Self {{ {fields} }})\n    }}\n}}\n");
    }

    fn take_field(&self, field: &Field) -> String {
        let name = &field.name;
        let taken = match &field.kind {
            Kind::List(item) => {
                let max = field.max.map_or_else(|| "usize::MAX".to_owned(), |max| max.to_string());
                let one = name.trim_end_matches('s');
                let list = if field.min.is_some() { "list_of_some" } else { "list" };
                let (bytes, each) = match item {
                    Item::Record(record) => {
                        let kind = pascal(record);
                        let borrowed = if self.is_borrowed(item) { "::<Bytes>" } else { "" };
                        (
                            self.schema.record(record).fixed_bytes_min(),
                            format!(
                                "|reader, fields| make_{name}(records::{kind}{borrowed}::take(reader, fields)?)"
                            ),
                        )
                    }
                    Item::Text => (
                        1,
                        format!(
                            "|reader, mut fields| {{\n            let bytes = usize::from(fields.u8(\"{one}\")?);\n            \
                             reader.bytes(bytes, \"{one}\")\n        }}"
                        ),
                    ),
                    Item::Number => (2, format!("|_, mut fields| fields.u16(\"{one}\")")),
                };
                format!(
                    "{{\n            let head = reader.{list}::<{bytes}>(\"{name}\", {max})?;\n            reader.items(head, {each})?\n        }}"
                )
            }
            Kind::Reference => format!("JobRef::take(reader, \"{name}\")?"),
            Kind::Object(record) => {
                let kind = pascal(record);
                format!(
                    "{{\n            let fields = reader.part(records::{kind}::FIXED_BYTES, \"{name}\")?;\n            \
                     records::{kind}::take(reader, fields)?\n        }}"
                )
            }
            Kind::Part(record) => {
                let kind = pascal(record);
                format!(
                    "{{\n            let fields = reader.part(records::{kind}::<&[u8]>::FIXED_BYTES, \"{name}\")?;\n            \
                     records::{kind}::<Bytes>::take(reader, fields)?\n        }}"
                )
            }
            _ if field.is_piece() => {
                format!("reader.bytes{}(\"{name}\")?", 8 * length_bytes(&field.kind))
            }
            kind => take_fixed(kind, "reader", name),
        };
        if !field.is_late {
            taken
        } else if self.is_optional(field) {
            format!("if reader.is_at_end() {{ None }} else {{ Some({taken}) }}")
        } else {
            format!("if reader.is_at_end() {{ {} }} else {{ {taken} }}", absent(&field.kind))
        }
    }
}
