//! Attributes, filters and settings: their types and codecs.

use super::code::Code;
use super::{documented, elements_name, name, variable};
use crate::schema::{Composite, Element, ElementKind, Elements, Field, Kind, Schema};

const KINDS: [Elements; 3] = [Elements::Attributes, Elements::Filter, Elements::Settings];

/// The types, and what a client encodes and decodes.
pub(super) fn client(schema: &Schema) -> String {
    let mut code = Code::file("wire", &[]);
    for composite in &schema.composites {
        composite_type(schema, composite, &mut code);
    }
    for kind in KINDS {
        elements_type(schema, kind, &mut code);
    }
    for composite in &schema.composites {
        append_composite(composite, &mut code);
        read_composite(composite, &mut code);
    }
    attributes_size(schema, &mut code);
    for kind in KINDS {
        append(schema, kind, &mut code);
    }
    read(schema, Elements::Attributes, "", &mut code);
    read(schema, Elements::Settings, "", &mut code);
    code.finish()
}

/// What only a server decodes.
pub(super) fn server(schema: &Schema) -> String {
    let mut code = Code::file("serverside", &[&["github.com/adjourn/adjourn-go/internal/wire"]]);
    read(schema, Elements::Filter, "wire.", &mut code);
    change(schema, &mut code);
    code.finish()
}

/// What a change of settings does.
fn change(schema: &Schema, code: &mut Code) {
    code.lines("\n// Change applies a change of settings: what it sets, and what it takes away.");
    code.lines("func Change(v, by *wire.Settings) {");
    for setting in &schema.settings {
        let (field, tag) = (name(&setting.name), setting.tag);
        let (none, there) = match setting.kind {
            ElementKind::Flag => ("false", format!("by.{field}")),
            _ => ("nil", format!("by.{field} != nil")),
        };
        code.lines(&format!(
            "if by.IsUnset({tag}) {{\nv.{field} = {none}\n}} else if {there} {{\nv.{field} = by.{field}\n}}"
        ));
    }
    code.lines("}");
}

fn composite_type(schema: &Schema, composite: &Composite, code: &mut Code) {
    let composite_name = name(&composite.name);
    code.lines("");
    code.comment(&documented(schema, &composite_name, &composite.doc));
    code.lines(&format!("type {composite_name} struct {{"));
    for field in &composite.fields {
        let field_name = name(&field.name);
        code.comment(&documented(schema, &field_name, &field.doc));
        code.lines(&format!("{field_name} {}", composite_field_type(field)));
    }
    code.lines("}");
}

fn composite_field_type(field: &Field) -> &'static str {
    match field.kind {
        Kind::Number(1) => "uint8",
        Kind::Number(4) => "uint32",
        Kind::Number(_) => "uint64",
        Kind::RestNumbers => "[]uint32",
        _ => "string",
    }
}

fn elements_type(schema: &Schema, kind: Elements, code: &mut Code) {
    let (kind_name, doc) = (
        elements_name(kind),
        match kind {
            Elements::Attributes => "are what a job carries beside its body. A nil field is not there.",
            Elements::Filter => "is what jobs must meet. A nil condition is not there.",
            Elements::Settings => "are the policy of a topic, or a change of it. A nil setting is not there.",
        },
    );
    code.lines("");
    code.comment(&format!("{kind_name} {doc}"));
    code.lines(&format!("type {kind_name} struct {{"));
    for element in schema.elements(kind) {
        let element_name = name(&element.name);
        code.comment(&documented(schema, &element_name, &element.doc));
        code.lines(&format!("{element_name} {}", type_of(element)));
    }
    match kind {
        Elements::Attributes => {
            code.comment("Unknown has the attributes that this version does not know, as they came.");
            code.lines("Unknown []UnknownElement");
        }
        Elements::Settings => {
            code.comment("Unset has the tags of settings that TOPIC_SET takes away.");
            code.lines("Unset []uint16");
        }
        Elements::Filter => {}
    }
    code.lines("}");
}

fn type_of(element: &Element) -> String {
    match &element.kind {
        ElementKind::Number(bytes) => format!("*uint{}", bytes * 8),
        ElementKind::Text => "*string".to_owned(),
        ElementKind::Bytes => "[]byte".to_owned(),
        ElementKind::Flag => "bool".to_owned(),
        ElementKind::Composite(composite) if element.repeats => format!("[]{}", name(composite)),
        ElementKind::Composite(composite) => format!("*{}", name(composite)),
    }
}

fn append_composite(composite: &Composite, code: &mut Code) {
    let composite_name = name(&composite.name);
    code.lines(&format!("\nfunc append{composite_name}(w *Writer, v *{composite_name}) {{"));
    for field in &composite.fields {
        let value = format!("v.{}", name(&field.name));
        code.lines(&match field.kind {
            Kind::Number(bytes) => format!("w.U{}({value})", bytes * 8),
            Kind::RestNumbers => format!("for _, number := range {value} {{\nw.U32(number)\n}}"),
            Kind::Text(_) => format!("w.Text8({value})"),
            _ => format!("w.Text({value})"),
        });
    }
    code.lines("}");
}

fn read_composite(composite: &Composite, code: &mut Code) {
    let composite_name = name(&composite.name);
    code.lines(&format!("\nfunc read{composite_name}(r *Reader, v *{composite_name}) {{"));
    for field in &composite.fields {
        let value = format!("v.{}", name(&field.name));
        code.lines(&match field.kind {
            Kind::Number(bytes) => format!("{value} = r.U{}()", bytes * 8),
            Kind::RestNumbers => format!(
                "{value} = make([]uint32, 0, r.Left()/4)\nfor r.More() {{\n{value} = append({value}, r.U32())\n}}"
            ),
            Kind::Text(_) => format!("{value} = r.Text8()"),
            _ => format!("{value} = r.Text(r.Left())"),
        });
    }
    code.lines("}");
}

/// The bytes of an element behind its tag and length, and of all elements with the same tag.
fn size_of(schema: &Schema, element: &Element, value: &str) -> String {
    match &element.kind {
        ElementKind::Number(bytes) => format!("n += {}", 4 + bytes),
        ElementKind::Text => format!("n += 4 + len(*{value})"),
        ElementKind::Bytes => format!("n += 4 + len({value})"),
        ElementKind::Flag => "n += 5".to_owned(),
        ElementKind::Composite(composite) => {
            let (mut fixed, mut more) = (4, Vec::new());
            for field in &schema.composite(composite).fields {
                let place = format!("{value}.{}", name(&field.name));
                match field.kind {
                    Kind::Number(bytes) => fixed += bytes,
                    Kind::RestNumbers => more.push(format!(" + 4*len({place})")),
                    Kind::Text(bytes) => {
                        fixed += bytes;
                        more.push(format!(" + len({place})"));
                    }
                    _ => more.push(format!(" + len({place})")),
                }
            }
            format!("n += {fixed}{}", more.concat())
        }
    }
}

fn attributes_size(schema: &Schema, code: &mut Code) {
    code.lines("\n// Size is the length of their encoding.\nfunc (v *Attributes) Size() (n int) {");
    for element in &schema.attributes {
        let value = format!("v.{}", name(&element.name));
        if element.repeats {
            code.lines(&format!("for i := range {value} {{"));
            code.lines(&size_of(schema, element, &format!("{value}[i]")));
        } else {
            code.lines(&format!("if {} {{", is_there(element, &value)));
            code.lines(&size_of(schema, element, &value));
        }
        code.lines("}");
    }
    code.lines("for i := range v.Unknown {\nn += 4 + len(v.Unknown[i].Value)\n}\nreturn n\n}");
}

pub(super) fn is_there(element: &Element, value: &str) -> String {
    match element.kind {
        ElementKind::Flag => value.to_owned(),
        _ => format!("{value} != nil"),
    }
}

fn append(schema: &Schema, kind: Elements, code: &mut Code) {
    let kind_name = elements_name(kind);
    code.lines(&format!(
        "\n// Append{kind_name} appends them, in the order of their tags.\nfunc Append{kind_name}(w *Writer, v *{kind_name}) {{"
    ));
    for element in schema.elements(kind) {
        let (tag, value) = (format!("{:#06x}", element.tag), format!("v.{}", name(&element.name)));
        let line = match &element.kind {
            ElementKind::Number(bytes) => format!("w.ElementU{}({tag}, *{value})", bytes * 8),
            ElementKind::Text => format!("w.ElementText({tag}, *{value})"),
            ElementKind::Bytes => format!("w.ElementBytes({tag}, {value})"),
            ElementKind::Flag => format!("w.ElementU8({tag}, 1)"),
            ElementKind::Composite(composite) => {
                let value = if element.repeats { format!("&{value}[i]") } else { value.clone() };
                format!("at := w.BeginElement({tag})\nappend{}(w, {value})\nw.End(at)", name(composite))
            }
        };
        let condition = is_there(element, &value);
        if element.repeats {
            code.lines(&format!("for i := range {value} {{\n{line}\n}}"));
        } else if kind == Elements::Settings {
            code.lines(&format!(
                "if v.IsUnset({tag}) {{\nw.ElementBytes({tag}, nil)\n}} else if {condition} {{\n{line}\n}}"
            ));
        } else {
            code.lines(&format!("if {condition} {{\n{line}\n}}"));
        }
    }
    if kind == Elements::Attributes {
        code.lines("for i := range v.Unknown {\nw.ElementBytes(v.Unknown[i].Tag, v.Unknown[i].Value)\n}");
    }
    code.lines("}");
}

fn read(schema: &Schema, kind: Elements, wire: &str, code: &mut Code) {
    let kind_name = elements_name(kind);
    let repeated =
        schema.elements(kind).iter().find(|element| element.repeats).map_or(0, |element| element.tag);
    let function =
        if wire.is_empty() { format!("Read{kind_name}") } else { variable(&format!("read_{kind_name}")) };
    code.lines("");
    code.comment(&format!("{function} decodes size bytes of them."));
    code.lines(&format!(
        "func {function}(r *{wire}Reader, size int, v *{wire}{kind_name}) {{\n\
         for e := r.Elements(size, {repeated:#x}); e.Next(); {{"
    ));
    if kind == Elements::Settings {
        code.lines("if e.Value.Left() == 0 {\nv.Unset = append(v.Unset, e.Tag)\ncontinue\n}");
    }
    code.lines("switch e.Tag {");
    for element in schema.elements(kind) {
        code.lines(&format!("case {:#06x}:", element.tag));
        read_element(schema, element, code);
    }
    code.lines(match kind {
        Elements::Attributes => "default:\nv.Unknown = append(v.Unknown, e.Unknown())",
        Elements::Filter => "default:\nr.Fail(\"there is no condition with the tag %d\", e.Tag)",
        Elements::Settings => "default:\ne.Skip() // a newer server has more settings",
    });
    code.lines("}\n}\n}");
}

fn read_element(schema: &Schema, element: &Element, code: &mut Code) {
    let value = format!("v.{}", name(&element.name));
    match &element.kind {
        ElementKind::Number(bytes) => {
            code.lines(&format!("number := e.Value.U{}()\n{value} = &number", bytes * 8));
        }
        ElementKind::Text => code.lines(&format!("text := e.Value.Text(e.Value.Left())\n{value} = &text")),
        ElementKind::Bytes => {
            code.lines(&format!("{value} = append([]byte{{}}, e.Value.Take(e.Value.Left())...)"));
        }
        ElementKind::Flag => code.lines(&format!("{value} = e.Value.U8() != 0")),
        ElementKind::Composite(composite) => {
            let composite = schema.composite(composite);
            let composite_name = name(&composite.name);
            let read = if element.repeats {
                format!(
                    "var one {composite_name}\nread{composite_name}(&e.Value, &one)\n{value} = append({value}, one)"
                )
            } else {
                format!("{value} = &{composite_name}{{}}\nread{composite_name}(&e.Value, {value})")
            };
            match choice_in(schema, composite) {
                Some((at, greatest)) => {
                    code.lines(&format!("if e.Knows({at}, {greatest}) {{\n{read}\n}}"));
                }
                None => code.lines(&read),
            }
        }
    }
}

/// Where in a composite the choice stands that says what the rest means, and its greatest number.
fn choice_in(schema: &Schema, composite: &Composite) -> Option<(usize, u64)> {
    let mut at = 0;
    for field in &composite.fields {
        let choice = schema.choice_of(field.choice.as_deref());
        if let Some(choice) = choice {
            return Some((at, choice.values.iter().map(|value| value.number).max()?));
        }
        let Kind::Number(bytes) = field.kind else { return None };
        at += bytes;
    }
    None
}
