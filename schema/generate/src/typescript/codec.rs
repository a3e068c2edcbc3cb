//! What a client does with frames: it encodes requests and decodes responses.

use std::fmt::Write as _;

use super::{comment, default_of, elements_name, field_name, fields_type, import, value_type};
use crate::names::pascal;
use crate::schema::{Field, Frame, Item, Kind, Record, Schema, Side, Unknown};

pub(super) const ABOUT_REQUESTS: &str = "Encodes requests.";
pub(super) const ABOUT_RESPONSES: &str = "Decodes responses.";

/// `ADJ1` as a number of four bytes.
const MAGIC: u32 = u32::from_le_bytes(*b"ADJ1");

/// The functions that are imported to encode or decode the elements in these fields.
pub(super) fn element_functions(schema: &Schema, side: Side, verb: &str) -> Vec<String> {
    let fields = schema.frames(side).iter().flat_map(|frame| &frame.fields);
    let fields = fields.chain(schema.records_of(side).flat_map(|record| &record.fields));
    fields
        .filter_map(|field| match field.kind {
            Kind::Tagged(elements) => Some(format!("{verb}{}", elements_name(elements))),
            _ => None,
        })
        .collect()
}

/// The types of records and frames that the functions of one side name.
pub(super) fn types_of(schema: &Schema, side: Side) -> Vec<String> {
    let records = schema.records_of(side).map(|record| value_type(&record.name));
    let frames = schema.frames(side).iter().filter(|frame| !frame.fields.is_empty());
    records.chain(frames.map(|frame| fields_type(&frame.name))).collect()
}

pub(super) fn requests(schema: &Schema) -> String {
    let mut out = import(&["frameOf".to_owned(), "type ByteWriter".to_owned()], "./bytes.js", false);
    out += &import(&element_functions(schema, Side::Request, "encode"), "./elements.js", false);
    let mut types = types_of(schema, Side::Request);
    types.extend(["JobReference", "RequestFields", "RequestName"].map(str::to_owned));
    let types = types.into_iter().map(|name| format!("type {name}")).chain(["REQUESTS".to_owned()]);
    out += &import(&types.collect::<Vec<_>>(), "./messages.js", false);
    out += "\n/** The whole frame of a request. */\n\
            export function encodeRequest<N extends RequestName>(name: N, id: number, fields: RequestFields<N>): Uint8Array {\n  \
            const put = PUT[name];\n  \
            return frameOf(REQUESTS[name], id, (to) => put(to, fields));\n}\n";
    out += &puts(schema, Side::Request);
    out += "\nfunction putReference(to: ByteWriter, value: JobReference): void {\n  to.u8(value.jobKind);\n";
    out += "  if (value.jobKind === 0) return to.u64(value.job);\n  to.text8(value.topic);\n  to.text16(value.key);\n}\n";
    out + &put_table(schema, Side::Request)
}

/// The functions that write records and frames.
pub(super) fn puts(schema: &Schema, side: Side) -> String {
    let mut out = String::new();
    for record in schema.records_of(side) {
        let _ = write!(
            out,
            "\nfunction put{}(to: ByteWriter, value: {}): void {{\n{}}}\n",
            pascal(&record.name),
            value_type(&record.name),
            put_record(record)
        );
    }
    for frame in schema.frames(side).iter().filter(|frame| !frame.fields.is_empty()) {
        let _ = write!(
            out,
            "\nfunction put{}(to: ByteWriter, fields: {}): void {{\n{}}}\n",
            pascal(&frame.name),
            fields_type(&frame.name),
            put_frame(schema, frame)
        );
    }
    out
}

/// The function of each frame by its name.
pub(super) fn put_table(schema: &Schema, side: Side) -> String {
    let one = pascal(side.name());
    let mut out = format!(
        "\nconst PUT: {{ readonly [N in {one}Name]: (to: ByteWriter, fields: {one}Fields<N>) => void }} = {{\n"
    );
    for frame in schema.frames(side) {
        let put = if frame.fields.is_empty() {
            "() => {}".to_owned()
        } else {
            format!("put{}", pascal(&frame.name))
        };
        let _ = writeln!(out, "  {}: {put},", frame.name);
    }
    out + "};\n"
}

/// The fixed part, then the pieces.
fn put_record(record: &Record) -> String {
    let mut out = String::new();
    for field in &record.fields {
        let name = field_name(field);
        let _ = match field.kind {
            Kind::Texts => writeln!(out, "  to.u8(value.{name}.length);"),
            _ if field.is_piece() => writeln!(out, "  const {name}At = to.skip({});", field.fixed_bytes()),
            _ => writeln!(out, "  {};", put_plain(field, &format!("value.{name}"))),
        };
    }
    for field in record.fields.iter().filter(|field| field.is_piece()) {
        let name = field_name(field);
        let _ = match field.kind {
            Kind::Texts => writeln!(out, "  for (const text of value.{name}) to.text8(text);"),
            Kind::Text(width) => writeln!(out, "  to.textAt{}({name}At, value.{name});", 8 * width),
            Kind::Tagged(elements) => {
                writeln!(out, "  to.rawAt16({name}At, encode{}(value.{name}));", elements_name(elements))
            }
            _ => writeln!(out, "  to.rawAt{}({name}At, value.{name});", 8 * field.fixed_bytes()),
        };
    }
    out
}

/// A field of known width.
fn put_plain(field: &Field, value: &str) -> String {
    match field.kind {
        Kind::Signed => format!("to.i64({value})"),
        Kind::Id => format!("to.exactly(16, {value})"),
        _ => format!("to.u{}({value})", 8 * field.fixed_bytes()),
    }
}

fn put_frame(schema: &Schema, frame: &Frame) -> String {
    let mut out = String::new();
    let is_optional = |field: &&Field| field.is_late && frame.side == Side::Request;
    let defaults = frame.fields.iter().filter(is_optional);
    let defaults: Vec<String> =
        defaults.map(|field| format!("{} = {}", bound(field), default_of(&field.kind))).collect();
    if !defaults.is_empty() {
        let _ = writeln!(out, "  const {{ {} }} = fields;", defaults.join(", "));
    }
    for (place, field) in frame.fields.iter().enumerate() {
        if !is_optional(&field) {
            out += &put_field(schema, field, &format!("fields.{}", field_name(field)), "  ");
            continue;
        }
        // It is left out if it and all that follow say nothing.
        let said: Vec<String> = frame.fields.iter().skip(place).map(is_said).collect();
        let condition = said.join(" || ");
        let put = put_field(schema, field, &local(field), "    ");
        let _ = match put.lines().count() {
            1 => writeln!(out, "  if ({condition}) {}", put.trim()),
            _ => writeln!(out, "  if ({condition}) {{\n{put}  }}"),
        };
    }
    out
}

/// The variable of a field that may be absent. `to` is where a frame is written to.
fn local(field: &Field) -> String {
    match field_name(field).as_str() {
        "to" => "target".to_owned(),
        name => name.to_owned(),
    }
}

/// How that variable gets its value.
fn bound(field: &Field) -> String {
    let (name, local) = (field_name(field), local(field));
    if name == local { name } else { format!("{name}: {local}") }
}

fn is_said(field: &Field) -> String {
    let name = local(field);
    match field.kind {
        Kind::List(_) | Kind::Text(_) => format!("{name}.length > 0"),
        Kind::Bytes(_) => format!("{name}.byteLength > 0"),
        _ => format!("{name} !== {}", default_of(&field.kind)),
    }
}

fn put_field(schema: &Schema, field: &Field, value: &str, indent: &str) -> String {
    let put = match &field.kind {
        Kind::Magic => format!("to.u32({MAGIC:#x}); // ADJ1\n"),
        Kind::Text(width) => format!("to.text{}({value});\n", 8 * width),
        Kind::Bytes(width) => format!("to.raw{}({value});\n", 8 * width),
        Kind::Tagged(elements) => {
            format!("to.raw16(encode{}({value}));\n", elements_name(*elements))
        }
        Kind::Reference => format!("putReference(to, {value});\n"),
        Kind::Part(record) => format!("put{}(to, fields);\n", pascal(record)),
        Kind::Object(record) => format!("put{}(to, {value});\n", pascal(record)),
        Kind::List(item) => {
            let (fixed, put) = match item {
                Item::Record(record) => {
                    (schema.record(record).fixed_bytes(), format!("put{}(to, item)", pascal(record)))
                }
                Item::Text => (1, "to.text8(item)".to_owned()),
                Item::Number => (2, "to.u16(item)".to_owned()),
            };
            format!("to.list({fixed}, {value}.length);\n{indent}for (const item of {value}) {put};\n")
        }
        _ => format!("{};\n", put_plain(field, value)),
    };
    format!("{indent}{put}")
}

pub(super) fn responses(schema: &Schema) -> String {
    let mut out = import(&["ByteReader".to_owned(), "hasField".to_owned()], "./bytes.js", false);
    out += &import(&["knownOr".to_owned(), "knownOutcome".to_owned()], "./checks.js", false);
    out += &import(&element_functions(schema, Side::Response, "take"), "./elements.js", false);
    out += &import(&["Frame".to_owned()], "./frame.js", true);
    let types: Vec<String> =
        types_of(schema, Side::Response).into_iter().chain(["Response".to_owned()]).collect();
    out += &import(&types, "./messages.js", true);
    out += "\n/** The response in a frame; `null` for an opcode of a newer server. */\n";
    out += "export function decodeResponse({ opcode, payload }: Frame): Response | null {\n  switch (opcode) {\n";
    for frame in &schema.responses {
        let fields = if frame.fields.is_empty() {
            "{}".to_owned()
        } else {
            format!("take{}(new ByteReader(payload))", pascal(&frame.name))
        };
        let _ = writeln!(out, "    case {:#04x}:", frame.opcode);
        let _ = writeln!(out, "      return {{ name: '{}', fields: {fields} }};", frame.name);
    }
    out += "    default:\n      return null;\n  }\n}\n";
    let read = Reading { schema, side: Side::Response };
    for record in schema.records_of(Side::Response) {
        out += &read.record(record);
    }
    for frame in schema.responses.iter().filter(|frame| !frame.fields.is_empty()) {
        out += &read.frame(frame);
    }
    out
}

/// Writes the functions that read what one side sends.
pub(super) struct Reading<'a> {
    pub(super) schema: &'a Schema,
    pub(super) side: Side,
}

impl Reading<'_> {
    /// The function that reads a record, whose fixed part may be longer or shorter than this version's.
    pub(super) fn record(&self, record: &Record) -> String {
        let name = pascal(&record.name);
        let mut fields = String::new();
        let mut at = 0;
        for field in &record.fields {
            let value = self.in_fixed(field, at);
            let value = if field.is_late {
                format!(
                    "hasField(fixed, {at}, {}, '{}') ? {value} : {}",
                    field.fixed_bytes(),
                    field.name,
                    default_of(&field.kind)
                )
            } else {
                value
            };
            let _ = writeln!(fields, "    {}: {value},", field_name(field));
            at += field.fixed_bytes();
        }
        let (open, close) = match (record.name.as_str(), self.side) {
            ("push_result", Side::Response) => ("knownOutcome({", "})"),
            _ => ("{", "}"),
        };
        let uses_view = record.fields.iter().any(|field| !matches!(field.kind, Kind::Id));
        let view = if uses_view { "  const { view } = from;\n" } else { "" };
        let body = format!(
            "  const at = from.skip(fixed, 'the fixed part of {}');\n{view}  return {open}\n{fields}  {close};\n",
            record.name
        );
        let body = match self.side {
            Side::Request => super::server::with_checks(&record.fields, body),
            Side::Response => body,
        };
        format!(
            "\nfunction take{name}(from: ByteReader, fixed: number): {} {{\n{body}}}\n",
            value_type(&record.name)
        )
    }

    /// A field whose number, or length, stands at a place of the fixed part.
    fn in_fixed(&self, field: &Field, at: usize) -> String {
        let place = if at == 0 { "at".to_owned() } else { format!("at + {at}") };
        let number = |width| match width {
            1 => format!("view.getUint8({place})"),
            2 => format!("view.getUint16({place}, true)"),
            4 => format!("view.getUint32({place}, true)"),
            _ => format!("view.getBigUint64({place}, true)"),
        };
        let name = &field.name;
        let value = match &field.kind {
            Kind::Signed => format!("view.getBigInt64({place}, true)"),
            Kind::Text(width) => format!("from.text({}, '{name}')", number(*width)),
            Kind::Bytes(width) => format!("from.copy({}, '{name}')", number(*width)),
            Kind::Texts => format!("from.texts({}, '{name}')", number(1)),
            Kind::Tagged(elements) => {
                format!("take{}(from, {})", elements_name(*elements), number(2))
            }
            _ => number(field.fixed_bytes()),
        };
        self.known(field, value)
    }

    /// The function that reads the payload of a frame.
    pub(super) fn frame(&self, frame: &Frame) -> String {
        let mut fields = String::new();
        for field in &frame.fields {
            if let Kind::Part(record) = &field.kind {
                let bytes = self.schema.record(record).fixed_bytes();
                let _ = writeln!(fields, "    ...take{}(from, {bytes}),", pascal(record));
                continue;
            }
            if field.kind == Kind::Magic {
                continue;
            }
            let value = self.in_frame(field);
            let value = if field.is_late {
                format!("from.left > 0 ? {value} : {}", default_of(&field.kind))
            } else {
                value
            };
            let _ = writeln!(fields, "    {}: {value},", field_name(field));
        }
        let magic = if frame.fields.iter().any(|field| field.kind == Kind::Magic) {
            format!("  checkMagic(from, {MAGIC:#x});\n")
        } else {
            String::new()
        };
        let body = format!("{magic}  return {{\n{fields}  }};\n");
        let body = match self.side {
            Side::Request => super::server::with_checks(&frame.fields, body),
            Side::Response => body,
        };
        format!(
            "\nfunction take{}(from: ByteReader): {} {{\n{body}}}\n",
            pascal(&frame.name),
            fields_type(&frame.name)
        )
    }

    fn in_frame(&self, field: &Field) -> String {
        let name = &field.name;
        let value = match &field.kind {
            Kind::Id => format!("from.copy(16, '{name}')"),
            Kind::Text(width) => format!("from.text(from.u{}('{name}'), '{name}')", 8 * width),
            Kind::Bytes(width) => format!("from.copy(from.u{}('{name}'), '{name}')", 8 * width),
            Kind::Tagged(elements) => {
                format!("take{}(from, from.u16('{name}'))", elements_name(*elements))
            }
            Kind::Reference => "takeReference(from)".to_owned(),
            Kind::Object(record) => {
                format!("take{}(from, {})", pascal(record), self.schema.record(record).fixed_bytes())
            }
            Kind::List(Item::Record(record)) => format!(
                "from.list({}, '{name}', take{})",
                self.schema.record(record).fixed_bytes_min(),
                pascal(record)
            ),
            Kind::List(Item::Text) => format!("from.list(1, '{name}', takeText)"),
            Kind::List(Item::Number) => format!("from.list(2, '{name}', takeU16)"),
            _ => format!("from.u{}('{name}')", 8 * field.fixed_bytes()),
        };
        self.known(field, value)
    }

    /// Bits that nobody knows are ignored. What a newer peer chooses is kept, or is what the schema says that it means.
    fn known(&self, field: &Field, value: String) -> String {
        if let Some(bits) = self.schema.bits_of(field.bits.as_deref()) {
            return format!("{value} & {:#x}", bits.mask());
        }
        let choice = self.schema.choice_of(field.choice.as_deref());
        let Some(choice) = choice else {
            return match self.side {
                Side::Request => super::server::checked(field, value),
                Side::Response => value,
            };
        };
        let count = choice.values.len();
        match &choice.unknown {
            Some(Unknown { number, code: None }) => format!("knownOr({number}, {value}, {count})"),
            _ if choice.open.is_none() && self.side == Side::Request => {
                format!("checkedChoice({value}, {count}, '{}')", field.name)
            }
            _ => value,
        }
    }
}

/// A comment line of its own, for functions that both sides have.
pub(super) fn noted(text: &str, function: &str) -> String {
    format!("\n{}{function}", comment("", text))
}
