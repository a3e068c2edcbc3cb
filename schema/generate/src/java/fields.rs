//! The names and types of fields in Java, and how they are read and written.

use crate::names::{camel, pascal};
use crate::schema::{Bits, Field, Frame, Item, Kind, Record, Schema, Side, Unknown};

/// Records that are types of the public API.
pub(super) const PUBLIC_RECORDS: [(&str, &str); 1] = [("lease", "Lease")];

/// The name of a frame's type.
pub(super) fn frame_type(frame: &Frame) -> String {
    match (frame.side, frame.name.as_str()) {
        // `List` is the list of the language.
        (Side::Request, "LIST") => "ListJobs".to_owned(),
        (_, name) => pascal(name),
    }
}

/// The name of a record's type, as it is written outside of the interface that has it.
pub(super) fn record_type(schema: &Schema, record: &str) -> String {
    if let Some((_, public)) = PUBLIC_RECORDS.iter().find(|(name, _)| *name == record) {
        return (*public).to_owned();
    }
    let side = if schema.has_record(Side::Request, record) { "Request" } else { "Response" };
    format!("{side}.{}", pascal(record))
}

/// Whether frames have lists of it.
pub(super) fn is_listed(frames: &[Frame], record: &Record) -> bool {
    let mut fields = frames.iter().flat_map(|frame| &frame.fields);
    fields.any(|field| field.kind == Kind::List(Item::Record(record.name.clone())))
}

/// Whether the record is no type of its own, but fields that responses have: an interface.
pub(super) fn is_shared(schema: &Schema, record: &Record) -> bool {
    let mut fields = schema.responses.iter().flat_map(|frame| &frame.fields);
    !schema.has_record(Side::Request, &record.name)
        && !fields.any(|field| match &field.kind {
            Kind::List(Item::Record(name)) | Kind::Object(name) => *name == record.name,
            _ => false,
        })
}

/// The records whose fields are all among these.
pub(super) fn shared_by<'a>(schema: &'a Schema, fields: &[Field]) -> Vec<&'a Record> {
    let has =
        |wanted: &Field| fields.iter().any(|field| field.name == wanted.name && field.kind == wanted.kind);
    schema.records.iter().filter(|one| is_shared(schema, one) && one.fields.iter().all(has)).collect()
}

/// The fields that a type has: those of interfaces in place, and one for each other record whose fields stand there.
pub(super) fn members(schema: &Schema, fields: &[Field]) -> Vec<Field> {
    let mut all = Vec::new();
    for group in grouped(schema, fields) {
        match group {
            [] | [Field { kind: Kind::Magic, .. }] => {}
            [field] => match &field.kind {
                Kind::Part(record) if is_shared(schema, schema.record(record)) => {
                    all.extend(schema.record(record).fields.iter().cloned());
                }
                _ => all.push(field.clone()),
            },
            [first, ..] => {
                let record = schema.record(first.like.as_deref().unwrap_or_default());
                let (name, doc) = (record.name.clone(), record.doc.clone());
                all.push(Field { kind: Kind::Part(name.clone()), name, doc, like: None, ..first.clone() });
            }
        }
    }
    all
}

/// Fields one by one, but together those of a record that is a type of its own.
pub(super) fn grouped<'a>(schema: &Schema, fields: &'a [Field]) -> impl Iterator<Item = &'a [Field]> {
    let is_type = |record: &String| !is_shared(schema, schema.record(record));
    fields.chunk_by(move |one, next| one.like == next.like && one.like.as_ref().is_some_and(is_type))
}

/// The type of a field, as it is written outside of the interfaces.
pub(super) fn java_type(schema: &Schema, field: &Field) -> String {
    match &field.kind {
        Kind::Number(16) | Kind::Id | Kind::Bytes(_) | Kind::Tagged(_) => "byte[]".to_owned(),
        Kind::Number(8) | Kind::Signed => "long".to_owned(),
        Kind::Number(_) | Kind::Magic => "int".to_owned(),
        Kind::Text(_) | Kind::RestText => "String".to_owned(),
        Kind::Texts | Kind::List(Item::Text) => "List<String>".to_owned(),
        Kind::List(Item::Number) => "List<Integer>".to_owned(),
        Kind::List(Item::Record(record)) => format!("List<{}>", record_type(schema, record)),
        Kind::Object(record) | Kind::Part(record) => record_type(schema, record),
        Kind::Reference => "JobRef".to_owned(),
        Kind::RestNumbers => "List<Long>".to_owned(),
    }
}

/// The components of a record in Java, within the interface of this name.
pub(super) fn components(schema: &Schema, interface: &str, fields: &[Field]) -> Vec<String> {
    let short = |field: &Field| java_type(schema, field).replace(&format!("{interface}."), "");
    fields.iter().map(|field| format!("{} {}", short(field), camel(&field.name))).collect()
}

/// The names and docs of these fields.
pub(super) fn parameters(fields: &[Field]) -> Vec<(String, String)> {
    fields.iter().map(|field| (camel(&field.name), field.doc.clone())).collect()
}

/// The bits of a set that are known, as a number; `None` if the field is no set.
pub(super) fn known_bits(schema: &Schema, field: &Field) -> Option<u64> {
    schema.bits_of(field.bits.as_deref()).map(Bits::mask)
}

/// The expression that reads a number, with only the bits that are known.
pub(super) fn read_number(schema: &Schema, field: &Field) -> String {
    let read = match field.kind {
        Kind::Number(1) => "in.u8()",
        Kind::Number(2) => "in.u16()",
        Kind::Number(4) => "in.u32()",
        Kind::Number(16) | Kind::Id => "in.raw(16)",
        _ => "in.u64()",
    };
    if let Some(bits) = known_bits(schema, field) {
        return format!("{read} & {bits:#x}");
    }
    let choice = schema.choice_of(field.choice.as_deref());
    match choice.and_then(|choice| Some((choice.unknown.as_ref()?, choice.values.last()?))) {
        Some((Unknown { number, code: None }, greatest)) => {
            format!("FrameReader.known({read}, {}, {number})", greatest.number)
        }
        _ => read.to_owned(),
    }
}

/// The expression that reads a field of a frame. Lists of records are read by methods that have their names.
pub(super) fn read(schema: &Schema, field: &Field) -> String {
    let read = match &field.kind {
        Kind::Text(1) => "in.text8()".to_owned(),
        Kind::Text(_) => "in.text16()".to_owned(),
        Kind::Bytes(4) => "in.bytes32()".to_owned(),
        Kind::Bytes(1) => "in.raw(in.u8())".to_owned(),
        Kind::Bytes(_) | Kind::Tagged(_) => "in.bytes16()".to_owned(),
        Kind::List(Item::Text) => "in.texts()".to_owned(),
        Kind::List(Item::Number) => "in.numbers()".to_owned(),
        Kind::List(Item::Record(record)) => format!("{}Items(in)", camel(record)),
        Kind::Object(record) | Kind::Part(record) => format!("{}(in)", camel(record)),
        _ => read_number(schema, field),
    };
    if !field.is_late {
        return read;
    }
    let absent = match &field.kind {
        Kind::Text(_) => "\"\"",
        Kind::List(_) => "List.of()",
        Kind::Number(16) | Kind::Id => "new byte[16]",
        Kind::Bytes(_) | Kind::Tagged(_) => "new byte[0]",
        _ => "0",
    };
    format!("in.isOver() ? {absent} : {read}")
}

/// The expression that reads the length of a piece in the fixed part of a record.
pub(super) fn read_length(field: &Field) -> &'static str {
    match field.fixed_bytes() {
        1 => "in.u8()",
        2 => "in.u16()",
        _ => "in.u32()",
    }
}

/// The expression that reads a piece behind the fixed part.
pub(super) fn read_piece(field: &Field) -> String {
    let length = length_name(field);
    match field.kind {
        Kind::Text(_) => format!("in.text({length})"),
        Kind::Texts => format!("in.texts8({length})"),
        _ => format!("in.raw({length})"),
    }
}

/// The name of the variable that has the length of a piece, or the number of its texts.
pub(super) fn length_name(field: &Field) -> String {
    let what = if field.kind == Kind::Texts { "Number" } else { "Length" };
    format!("{}{what}", camel(&field.name))
}
