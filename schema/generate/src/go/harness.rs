//! Frames in the JSON of the conformance suite.

use super::code::{Code, quoted};
use super::elements::is_there;
use super::{Piece, elements_name, name, pieces};
use crate::schema::{Composite, Element, ElementKind, Elements, Field, Frame, Item, Kind, Schema, Side};

const WIRE: &[&str] = &["github.com/adjourn/adjourn-go/internal/wire"];

/// All frames and records.
pub(super) fn frames(schema: &Schema) -> String {
    let mut code = Code::file("main", &[&["strconv"], WIRE]);
    code.lines("");
    code.comment("takeMessage reads the fields of a frame. It returns nil if there is none of this name.");
    code.lines("func takeMessage(name string, f fields) wire.Message {\nswitch name {");
    let all = || [Side::Request, Side::Response].into_iter().flat_map(|side| schema.frames(side));
    for frame in all() {
        let frame_name = name(&frame.name);
        code.lines(&format!("case {}:", quoted(&frame.name)));
        if has_fields(frame) {
            code.lines(&format!("m := &wire.{frame_name}{{}}\ntake{frame_name}(f, m)\nreturn m"));
        } else {
            code.lines(&format!("return &wire.{frame_name}{{}}"));
        }
    }
    code.lines("}\nreturn nil\n}\n\n// showMessage has the fields of a frame.\nfunc showMessage(m wire.Message) map[string]any {");
    code.lines("to := map[string]any{}\nswitch m := m.(type) {");
    for frame in all().filter(|frame| has_fields(frame)) {
        let frame_name = name(&frame.name);
        code.lines(&format!("case *wire.{frame_name}:\nshow{frame_name}(m, to)"));
    }
    code.lines("}\nreturn to\n}");
    for record in &schema.records {
        mapping(schema, &record.name, &record.fields, &mut code);
    }
    for frame in all().filter(|frame| has_fields(frame)) {
        mapping(schema, &frame.name, &frame.fields, &mut code);
    }
    code.finish()
}

fn has_fields(frame: &Frame) -> bool {
    !frame.fields.is_empty()
}

fn mapping(schema: &Schema, of: &str, fields: &[Field], code: &mut Code) {
    let type_name = name(of);
    let parts = pieces(schema, of, fields);
    code.lines(&format!("\nfunc take{type_name}(f fields, v *wire.{type_name}) {{"));
    for piece in &parts {
        match piece {
            Piece::Embedded(record) => code.lines(&format!("take{0}(f, &v.{0})", name(&record.name))),
            Piece::Field(field) => take(field, code),
        }
    }
    code.lines(&format!("}}\n\nfunc show{type_name}(v *wire.{type_name}, to map[string]any) {{"));
    for piece in &parts {
        match piece {
            Piece::Embedded(record) => code.lines(&format!("show{0}(&v.{0}, to)", name(&record.name))),
            Piece::Field(field) => show(field, code),
        }
    }
    code.lines("}");
}

fn take(field: &Field, code: &mut Code) {
    let (value, key) = (format!("v.{}", name(&field.name)), quoted(&field.name));
    code.lines(&match &field.kind {
        Kind::Magic => return,
        Kind::Number(bytes) => format!("{value} = f.u{}({key})", bytes * 8),
        Kind::Signed => format!("{value} = f.i64({key})"),
        Kind::Id => format!("{value} = f.id({key})"),
        Kind::Text(_) => format!("{value} = f.text({key})"),
        Kind::Bytes(_) => format!("{value} = f.bytes({key})"),
        Kind::Texts | Kind::List(Item::Text) => format!("{value} = f.texts({key})"),
        Kind::List(Item::Number) => format!("{value} = f.numbers({key})"),
        Kind::List(Item::Record(record)) => format!("{value} = takeItems(f, {key}, take{})", name(record)),
        Kind::Tagged(elements) => format!("take{}(f.object({key}), &{value})", elements_name(*elements)),
        Kind::Reference => format!("takeJobRef(f, &{value})"),
        Kind::Part(record) => format!("take{0}(f, &v.{0})", name(record)),
        Kind::Object(record) => format!("take{}(f.object({key}), &{value})", name(record)),
        kind => panic!("{kind:?} stands in no frame"),
    });
}

fn show(field: &Field, code: &mut Code) {
    let (value, key) = (format!("v.{}", name(&field.name)), quoted(&field.name));
    code.lines(&match &field.kind {
        Kind::Magic => return,
        Kind::Number(8) => format!("to[{key}] = decimal({value})"),
        Kind::Number(16) => format!("to[{key}] = decimal128({value})"),
        Kind::Number(_) | Kind::Text(_) => format!("to[{key}] = {value}"),
        Kind::Signed => format!("to[{key}] = strconv.FormatInt({value}, 10)"),
        Kind::Id => format!("to[{key}] = bytesOf({value}[:])"),
        Kind::Bytes(_) => format!("to[{key}] = bytesOf({value})"),
        Kind::Texts | Kind::List(Item::Text | Item::Number) => format!("to[{key}] = listOf({value})"),
        Kind::List(Item::Record(record)) => format!("to[{key}] = showItems({value}, show{})", name(record)),
        Kind::Tagged(elements) => format!("to[{key}] = show{}(&{value})", elements_name(*elements)),
        Kind::Reference => format!("showJobRef(&{value}, to)"),
        Kind::Part(record) => format!("show{0}(&v.{0}, to)", name(record)),
        Kind::Object(record) => format!("to[{key}] = showObject(&{value}, show{})", name(record)),
        kind => panic!("{kind:?} stands in no frame"),
    });
}

/// Attributes, filters and settings.
pub(super) fn elements(schema: &Schema) -> String {
    let mut code = Code::file("main", &[WIRE]);
    for composite in schema.composites.iter().filter(|composite| composite.name != "header") {
        composite_mapping(composite, &mut code);
    }
    for kind in [Elements::Attributes, Elements::Filter, Elements::Settings] {
        elements_mapping(schema, kind, &mut code);
    }
    code.finish()
}

fn composite_mapping(composite: &Composite, code: &mut Code) {
    let composite_name = name(&composite.name);
    code.lines(&format!(
        "\nfunc take{composite_name}(f fields) *wire.{composite_name} {{\nv := &wire.{composite_name}{{}}"
    ));
    for field in &composite.fields {
        match field.kind {
            Kind::RestNumbers => {
                code.lines(&format!("v.{} = f.numbers32({})", name(&field.name), quoted(&field.name)));
            }
            _ => take(field, code),
        }
    }
    code.lines(&format!(
        "return v\n}}\n\nfunc show{composite_name}(v *wire.{composite_name}) map[string]any {{\nto := map[string]any{{}}"
    ));
    for field in &composite.fields {
        match field.kind {
            Kind::RestNumbers => {
                code.lines(&format!("to[{}] = listOf(v.{})", quoted(&field.name), name(&field.name)));
            }
            _ => show(field, code),
        }
    }
    code.lines("return to\n}");
}

fn elements_mapping(schema: &Schema, kind: Elements, code: &mut Code) {
    let kind_name = elements_name(kind);
    code.lines(&format!("\nfunc take{kind_name}(f fields, v *wire.{kind_name}) {{"));
    for element in schema.elements(kind) {
        take_element(element, kind, code);
    }
    if kind == Elements::Attributes {
        code.lines("v.Unknown = takeUnknown(f)");
    }
    code.lines(&format!(
        "}}\n\nfunc show{kind_name}(v *wire.{kind_name}) map[string]any {{\nto := map[string]any{{}}"
    ));
    for element in schema.elements(kind) {
        show_element(element, code);
        if kind == Elements::Settings {
            code.lines(&format!(
                "if v.IsUnset({:#06x}) {{\nto[{}] = nil\n}}",
                element.tag,
                quoted(&element.name)
            ));
        }
    }
    if kind == Elements::Attributes {
        code.lines("showUnknown(v.Unknown, to)");
    }
    code.lines("return to\n}");
}

fn take_element(element: &Element, kind: Elements, code: &mut Code) {
    let (value, key) = (format!("v.{}", name(&element.name)), quoted(&element.name));
    let read = match &element.kind {
        ElementKind::Number(bytes) => format!("{value} = pointer(f.u{}({key}))", bytes * 8),
        ElementKind::Text => format!("{value} = pointer(f.text({key}))"),
        ElementKind::Bytes => format!("{value} = f.bytes({key})"),
        ElementKind::Flag => format!("{value} = f.flag({key})"),
        ElementKind::Composite(_) if element.repeats => format!("{value} = takeHeaders(f, {key})"),
        ElementKind::Composite(composite) => format!("{value} = take{}(f.object({key}))", name(composite)),
    };
    if kind == Elements::Settings {
        let tag = format!("{:#06x}", element.tag);
        code.lines(&format!(
            "if f.isNull({key}) {{\nv.Unset = append(v.Unset, {tag})\n}} else if f.has({key}) {{\n{read}\n}}"
        ));
    } else {
        code.lines(&format!("if f.has({key}) {{\n{read}\n}}"));
    }
}

fn show_element(element: &Element, code: &mut Code) {
    let (value, key) = (format!("v.{}", name(&element.name)), quoted(&element.name));
    let shown = match &element.kind {
        ElementKind::Number(8) => format!("decimal(*{value})"),
        ElementKind::Number(_) | ElementKind::Text => format!("*{value}"),
        ElementKind::Bytes => format!("bytesOf({value})"),
        ElementKind::Flag => value.clone(),
        ElementKind::Composite(_) if element.repeats => format!("showHeaders({value})"),
        ElementKind::Composite(composite) => format!("show{}({value})", name(composite)),
    };
    code.lines(&format!("if {} {{\nto[{key}] = {shown}\n}}", is_there(element, &value)));
}
