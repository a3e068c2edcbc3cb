//! Writes the functions that turn the fields of a frame into bytes.

use super::code::{Code, WIDTH, said};
use super::layout::{Slot, Step, default, field_types, flat, pack, slot, steps, used};
use crate::names::{camel, pascal};
use crate::schema::{Field, Frame, Item, Kind, Record, Schema};

/// How a field is written in an expression.
type Access<'a> = &'a dyn Fn(&str) -> String;

/// The function for one frame.
pub(super) fn frame(code: &mut Code, schema: &Schema, frame: &Frame) {
    let mut doc =
        vec![format!("{}: {}", frame.name, said(&frame.doc)), String::new(), "@param array{".to_owned()];
    doc.extend(field_types(&flat(schema, &frame.fields)));
    doc.push("} $f".to_owned());
    code.doc(&doc);
    code.begin(&format!("public static function encode{}(array $f): string", pascal(&frame.name)));
    let access = |name: &str| format!("$f['{name}']");
    let early: Vec<&Field> = frame.fields.iter().filter(|field| !field.is_late).collect();
    let (parts, slots) = parts(schema, &early, &access);
    let has_check = check(code, &slots);
    let late: Vec<&Field> = frame.fields.iter().filter(|field| field.is_late).collect();
    let bytes = match parts.split_first() {
        None => "''".to_owned(),
        Some((first, rest)) => {
            let rest = rest.iter().map(|part| format!("\n    . {}", part.replace('\n', "\n    ")));
            first.clone() + &rest.collect::<String>()
        }
    };
    if late.is_empty() {
        if has_check {
            code.blank();
        }
        code.line(&format!("return {bytes};"));
    } else {
        code.line("$late = '';");
        for (place, field) in late.iter().rev().enumerate() {
            late_field(code, schema, field, place == 0);
        }
        code.blank();
        code.line(&format!("return {bytes}\n    . $late;"));
    }
    code.end();
}

/// A field that is left out if it says nothing, and no later one says something.
fn late_field(code: &mut Code, schema: &Schema, field: &Field, is_last: bool) {
    let variable = format!("${}", camel(&field.name));
    code.line(&format!("{variable} = $f['{}'] ?? {};", field.name, default(field)));
    let others = if is_last { "" } else { "$late !== '' || " };
    code.open(&format!("if ({others}{variable} !== {}) {{", default(field)));
    let (parts, slots) = parts(schema, &[field], &|_| variable.clone());
    check(code, &slots);
    let behind = if is_last { "" } else { " . $late" };
    code.line(&format!("$late = {}{behind};", parts.join(" . ")));
    code.close("}");
}

/// The expressions whose values follow one another, and all slots in them.
fn parts(schema: &Schema, fields: &[&Field], access: Access<'_>) -> (Vec<String>, Vec<Slot>) {
    let (mut parts, mut waiting, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for step in fields.iter().flat_map(|field| steps(schema, field)) {
        match step {
            Step::Fixed(field) => waiting.push(slot(field, &access(&field.name))),
            Step::Object(object, record) => {
                let of = access(&object.name);
                waiting.extend(
                    record.fields.iter().map(|field| slot(field, &format!("{of}['{}']", field.name))),
                );
            }
            other => {
                flush(&mut parts, &mut waiting, &mut all);
                parts.push(match other {
                    Step::Piece(field) if field.kind == Kind::Texts => {
                        format!("self::encodeShortTexts({})", access(&field.name))
                    }
                    Step::Reference(field) => format!("self::encodeReference({})", access(&field.name)),
                    Step::List(field, item) => format!("self::{}({})", list_name(item), access(&field.name)),
                    Step::Piece(field) | Step::Fixed(field) | Step::Object(field, _) => access(&field.name),
                });
            }
        }
    }
    flush(&mut parts, &mut waiting, &mut all);
    (parts, all)
}

fn flush(parts: &mut Vec<String>, waiting: &mut Vec<Slot>, all: &mut Vec<Slot>) {
    if !waiting.is_empty() {
        parts.push(pack(waiting));
        all.append(waiting);
    }
}

/// Refuses what does not fit into its bytes: `pack` would cut it. Says whether something might not.
fn check(code: &mut Code, slots: &[Slot]) -> bool {
    let checks: Vec<(&str, &(String, usize))> =
        slots.iter().filter_map(|slot| Some((slot.name.as_str(), slot.check.as_ref()?))).collect();
    if checks.is_empty() {
        return false;
    }
    let mut terms = Vec::new();
    for bits in [0, 8, 16, 32] {
        let values: Vec<&str> =
            checks.iter().filter(|(_, check)| check.1 == bits).map(|(_, check)| check.0.as_str()).collect();
        let joined = values.join(" | ");
        match (values.len(), bits) {
            (0, _) => {}
            (_, 0) => terms.push(joined),
            (1, _) => terms.push(format!("{joined} >> {bits}")),
            _ => terms.push(format!("({joined}) >> {bits}")),
        }
    }
    let one_line = terms.join(" | ");
    let condition = match terms.len() {
        1 => format!("({one_line} !== 0)"),
        _ if one_line.len() < WIDTH => format!("(({one_line}) !== 0)"),
        _ => format!("(\n    ({}) !== 0\n)", terms.join("\n    | ")),
    };
    code.open(&format!("if {condition} {{"));
    let entries: Vec<String> =
        checks.iter().map(|(name, (value, bits))| format!("'{name}' => [{value}, {bits}]")).collect();
    let one_line = entries.join(", ");
    let entries =
        if one_line.len() < WIDTH { one_line } else { format!("\n    {},\n", entries.join(",\n    ")) };
    code.line(&format!("throw Codec::outOfRange([{entries}]);"));
    code.close("}");
    true
}

fn list_name(item: &Item) -> String {
    match item {
        Item::Record(record) => format!("encodeListOf{}", pascal(record)),
        Item::Text => "encodeListOfTexts".to_owned(),
        Item::Number => "encodeListOfNumbers".to_owned(),
    }
}

/// The functions for the lists, references and short texts that these frames have.
pub(super) fn helpers(code: &mut Code, schema: &Schema, frames: &[&Frame]) {
    let (items, kinds) = used(schema, frames);
    for item in items {
        code.blank();
        match item {
            Item::Record(name) => record_list(code, schema.record(name)),
            Item::Text => text_list(code),
            Item::Number => number_list(code),
        }
    }
    if kinds.contains(&&Kind::Texts) {
        code.blank();
        short_texts(code);
    }
    if kinds.contains(&&Kind::Reference) {
        code.blank();
        reference(code);
    }
}

fn record_list(code: &mut Code, record: &Record) {
    code.doc(&[said(&record.doc), String::new(), format!("@param list<{}> $items", pascal(&record.name))]);
    code.begin(&format!(
        "private static function encodeListOf{}(array $items): string",
        pascal(&record.name)
    ));
    code.line(&format!("$out = pack('vV', {}, count($items));", record.fixed_bytes()));
    code.open("foreach ($items as $item) {");
    let access = |name: &str| format!("$item['{name}']");
    let slots: Vec<Slot> = record.fields.iter().map(|field| slot(field, &access(&field.name))).collect();
    check(code, &slots);
    let pieces = record.fields.iter().filter(|field| field.is_piece()).map(|field| match field.kind {
        Kind::Texts => format!("self::encodeShortTexts({})", access(&field.name)),
        _ => access(&field.name),
    });
    let parts: Vec<String> = std::iter::once(pack(&slots)).chain(pieces).collect();
    code.line(&format!("$out .= {};", parts.join(" . ")));
    code.close("}");
    code.blank();
    code.line("return $out;");
    code.end();
}

fn text_list(code: &mut Code) {
    code.doc(&["@param list<string> $texts"]);
    code.begin("private static function encodeListOfTexts(array $texts): string");
    code.line("$out = pack('vV', 1, count($texts));");
    code.open("foreach ($texts as $text) {");
    code.line("$out .= chr(Codec::narrow(strlen($text), 8, 'a text')) . $text;");
    code.close("}");
    code.blank();
    code.line("return $out;");
    code.end();
}

fn number_list(code: &mut Code) {
    code.doc(&["@param list<int> $numbers"]);
    code.begin("private static function encodeListOfNumbers(array $numbers): string");
    code.line("$out = pack('vV', 2, count($numbers));");
    code.open("foreach ($numbers as $number) {");
    code.line("$out .= pack('v', Codec::narrow($number, 16, 'a number'));");
    code.close("}");
    code.blank();
    code.line("return $out;");
    code.end();
}

fn short_texts(code: &mut Code) {
    code.doc(&["@param list<string> $texts"]);
    code.begin("private static function encodeShortTexts(array $texts): string");
    code.line("$out = '';");
    code.open("foreach ($texts as $text) {");
    code.line("$out .= chr(Codec::narrow(strlen($text), 8, 'a text')) . $text;");
    code.close("}");
    code.blank();
    code.line("return $out;");
    code.end();
}

fn reference(code: &mut Code) {
    code.doc(&["@param array{job: int}|array{topic: string, key: string} $ref"]);
    code.begin("private static function encodeReference(array $ref): string");
    code.open("if (isset($ref['job'])) {");
    code.line("return pack('CP', 0, $ref['job']);");
    code.close("}");
    code.open("if (strlen($ref['topic']) >> 8 !== 0 || strlen($ref['key']) >> 16 !== 0) {");
    code.line("throw Codec::outOfRange(['topic' => [strlen($ref['topic']), 8], 'key' => [strlen($ref['key']), 16]]);");
    code.close("}");
    code.blank();
    code.line("return pack('CC', 1, strlen($ref['topic'])) . $ref['topic'] . pack('v', strlen($ref['key'])) . $ref['key'];");
    code.end();
}
