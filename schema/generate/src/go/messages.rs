//! The types of frames and records.

use super::code::Code;
use super::{Piece, documented, elements_name, name, pieces};
use crate::names::{capitals, sentence};
use crate::schema::{Field, Frame, Item, Kind, Record, Schema, Side};

pub(super) fn messages(schema: &Schema) -> String {
    let mut code = Code::file("wire", &[]);
    for record in &schema.records {
        record_type(schema, record, &mut code);
    }
    for side in [Side::Request, Side::Response] {
        for frame in schema.frames(side) {
            frame_type(schema, frame, &mut code);
        }
    }
    code.finish()
}

fn record_type(schema: &Schema, record: &Record, code: &mut Code) {
    let name = name(&record.name);
    code.lines("");
    code.comment(&format!("{name} is a part of frames. {}", sentence(&record.doc)));
    struct_of(schema, &name, &record.name, &record.fields, code);
}

fn frame_type(schema: &Schema, frame: &Frame, code: &mut Code) {
    let name = name(&frame.name);
    code.lines("");
    code.comment(&format!(
        "{name} is the {} {}. {}",
        frame.side.name(),
        capitals(&frame.name),
        sentence(&frame.doc)
    ));
    struct_of(schema, &name, &frame.name, &frame.fields, code);
    code.lines(&format!("\n// Opcode is Op{name}.\nfunc (*{name}) Opcode() Opcode {{ return Op{name} }}"));
}

fn struct_of(schema: &Schema, name: &str, of: &str, fields: &[Field], code: &mut Code) {
    if fields.iter().all(|field| field.kind == Kind::Magic) {
        code.lines(&format!("type {name} struct{{}}"));
        return;
    }
    code.lines(&format!("type {name} struct {{"));
    for piece in pieces(schema, of, fields) {
        match piece {
            Piece::Embedded(record) => {
                let record_name = super::name(&record.name);
                code.comment(&documented(schema, &record_name, &record.doc));
                code.lines(&record_name);
            }
            Piece::Field(field) => field_of(schema, field, code),
        }
    }
    code.lines("}");
}

fn field_of(schema: &Schema, field: &Field, code: &mut Code) {
    if field.kind == Kind::Magic {
        return;
    }
    if let Kind::Part(record) = &field.kind {
        let record_name = name(record);
        code.comment(&documented(schema, &record_name, &field.doc));
        return code.lines(&record_name);
    }
    let field_name = name(&field.name);
    code.comment(&documented(schema, &field_name, &field.doc));
    code.lines(&format!("{field_name} {}", type_of(&field.kind)));
}

fn type_of(kind: &Kind) -> String {
    match kind {
        Kind::Number(1) => "uint8",
        Kind::Number(2) => "uint16",
        Kind::Number(4) => "uint32",
        Kind::Number(8) => "uint64",
        Kind::Number(_) => "U128",
        Kind::Signed => "int64",
        Kind::Id => "[16]byte",
        Kind::Text(_) => "string",
        Kind::Bytes(_) => "[]byte",
        Kind::Texts | Kind::List(Item::Text) => "[]string",
        Kind::Tagged(elements) => elements_name(*elements),
        Kind::Reference => "JobRef",
        Kind::List(Item::Number) => "[]uint16",
        Kind::List(Item::Record(record)) => return format!("[]{}", name(record)),
        Kind::Object(record) => return name(record),
        other => panic!("{other:?} cannot stand in a frame"),
    }
    .to_owned()
}
