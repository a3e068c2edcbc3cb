//! What stands where in a frame, as calls of `pack` and `unpack` need it.

use super::code::{call, said};
use crate::names::pascal;
use crate::schema::{Field, Frame, Item, Kind, Record, Schema};

/// One number in a fixed part: a value, or the length of bytes that follow.
pub(super) struct Slot {
    /// The name of its field.
    pub(super) name: String,
    /// What `pack` and `unpack` call it.
    pub(super) code: &'static str,
    /// How many bytes it has.
    pub(super) bytes: usize,
    /// What is packed.
    pub(super) value: String,
    /// What must be 0 when it is shifted to the right by so many bits.
    pub(super) check: Option<(String, usize)>,
}

/// A part of a frame.
pub(super) enum Step<'a> {
    /// It stands in the fixed part.
    Fixed(&'a Field),
    /// Here are the bytes of a text, of bytes or the like. Its length came before.
    Piece(&'a Field),
    /// The fields of a record, in place.
    Object(&'a Field, &'a Record),
    /// A job reference.
    Reference(&'a Field),
    /// A list.
    List(&'a Field, &'a Item),
}

/// What one field of a frame has on the wire.
pub(super) fn steps<'a>(schema: &'a Schema, field: &'a Field) -> Vec<Step<'a>> {
    match &field.kind {
        Kind::Part(record) => {
            let fields = &schema.record(record).fields;
            let pieces = fields.iter().filter(|field| field.is_piece()).map(Step::Piece);
            fields.iter().map(Step::Fixed).chain(pieces).collect()
        }
        Kind::Object(record) => vec![Step::Object(field, schema.record(record))],
        Kind::Reference => vec![Step::Reference(field)],
        Kind::List(item) => vec![Step::List(field, item)],
        _ if field.is_piece() => vec![Step::Fixed(field), Step::Piece(field)],
        _ => vec![Step::Fixed(field)],
    }
}

/// The slot of a field whose value is this expression.
pub(super) fn slot(field: &Field, value: &str) -> Slot {
    let (code, bytes) = match &field.kind {
        Kind::Magic => ("a4", 4),
        Kind::Number(1) | Kind::Text(1) | Kind::Bytes(1) | Kind::Texts => ("C", 1),
        Kind::Number(2) | Kind::Text(2) | Kind::Bytes(2) | Kind::Tagged(_) => ("v", 2),
        Kind::Number(4) | Kind::Bytes(4) => ("V", 4),
        Kind::Id | Kind::Number(16) => ("a16", 16),
        _ => ("P", 8),
    };
    let packed = match &field.kind {
        Kind::Magic => "'ADJ1'".to_owned(),
        Kind::Texts => format!("count({value})"),
        _ if field.is_piece() => format!("strlen({value})"),
        _ => value.to_owned(),
    };
    let check = match &field.kind {
        Kind::Magic => None,
        Kind::Id | Kind::Number(16) => Some((format!("(strlen({value}) ^ 16)"), 0)),
        _ if bytes == 8 || matches!(field.kind, Kind::Bytes(4)) => None,
        _ => Some((packed.clone(), 8 * bytes)),
    };
    Slot { name: field.name.clone(), code, bytes, value: packed, check }
}

/// A call of `pack` for these slots.
pub(super) fn pack(slots: &[Slot]) -> String {
    let codes: String = slots.iter().map(|slot| slot.code).collect();
    let values = slots.iter().map(|slot| slot.value.clone());
    call("pack", &std::iter::once(format!("'{codes}'")).chain(values).collect::<Vec<String>>())
}

/// What `unpack` needs for these slots.
pub(super) fn unpack_format(slots: &[Slot]) -> String {
    let codes: Vec<String> = slots.iter().map(|slot| format!("{}{}", slot.code, slot.name)).collect();
    codes.join("/")
}

/// True if bytes are to be UTF-8.
pub(super) fn is_text(field: &Field) -> bool {
    matches!(field.kind, Kind::Text(_))
}

/// What an absent field is.
pub(super) fn default(field: &Field) -> &'static str {
    match field.kind {
        Kind::Id | Kind::Number(16) => "Codec::NONE",
        Kind::Number(_) | Kind::Signed => "0",
        Kind::Texts | Kind::List(_) => "[]",
        _ => "''",
    }
}

/// The type of a field in a doc comment.
fn type_of(field: &Field) -> String {
    match &field.kind {
        Kind::Number(16) | Kind::Id | Kind::Magic => "string".to_owned(),
        Kind::Number(_) | Kind::Signed => "int".to_owned(),
        Kind::Reference => "array{job: int}|array{topic: string, key: string}".to_owned(),
        Kind::List(Item::Record(record)) => format!("list<{}>", pascal(record)),
        Kind::Texts | Kind::List(Item::Text) => "list<string>".to_owned(),
        Kind::List(Item::Number) | Kind::RestNumbers => "list<int>".to_owned(),
        Kind::Object(record) => pascal(record),
        _ => "string".to_owned(),
    }
}

/// The types of the records that these frames have, for the doc comment of their class.
pub(super) fn record_types(schema: &Schema, frames: &[&Frame]) -> Vec<String> {
    let mut lines = Vec::new();
    for record in &schema.records {
        let has = |field: &Field| match &field.kind {
            Kind::List(Item::Record(name)) | Kind::Object(name) => *name == record.name,
            _ => false,
        };
        if frames.iter().flat_map(|frame| &frame.fields).any(has) {
            lines.push(String::new());
            lines.push(format!("@phpstan-type {} array{{", pascal(&record.name)));
            lines.extend(field_types(&record.fields.iter().collect::<Vec<_>>()));
            lines.push("}".to_owned());
        }
    }
    lines
}

/// A line for each field: its name, its type and what it means.
pub(super) fn field_types(fields: &[&Field]) -> Vec<String> {
    let line = |field: &&Field| {
        let mark = if field.is_late { "?" } else { "" };
        format!("    {}{mark}: {}, // {}", field.name, type_of(field), said(&field.doc))
    };
    fields.iter().map(line).collect()
}

/// Fields with those of a part in its place, and without the magic.
pub(super) fn flat<'a>(schema: &'a Schema, fields: &'a [Field]) -> Vec<&'a Field> {
    fields
        .iter()
        .flat_map(|field| match &field.kind {
            Kind::Part(record) => schema.record(record).fields.iter().collect(),
            Kind::Magic => Vec::new(),
            _ => vec![field],
        })
        .collect()
}

/// The lists that frames have, each once, and the kinds of all fields in them.
pub(super) fn used<'a>(schema: &'a Schema, frames: &[&'a Frame]) -> (Vec<&'a Item>, Vec<&'a Kind>) {
    let (mut items, mut kinds): (Vec<&Item>, Vec<&Kind>) = (Vec::new(), Vec::new());
    for field in frames.iter().flat_map(|frame| flat(schema, &frame.fields)) {
        kinds.push(&field.kind);
        let Kind::List(item) = &field.kind else { continue };
        if !items.contains(&item) {
            items.push(item);
        }
        if let Item::Record(record) = item {
            kinds.extend(schema.record(record).fields.iter().map(|field| &field.kind));
        }
    }
    (items, kinds)
}
