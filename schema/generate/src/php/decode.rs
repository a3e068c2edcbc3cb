//! Writes the functions that turn the bytes of a frame into fields.

use super::code::{Code, number, said};
use super::layout::{Slot, Step, default, field_types, flat, is_text, slot, steps, unpack_format, used};
use crate::names::pascal;
use crate::schema::{Field, Frame, Item, Kind, Record, Schema};

/// The function for one frame. A strict one refuses values that the schema does not allow.
pub(super) fn frame(code: &mut Code, schema: &Schema, frame: &Frame, is_strict: bool) {
    let mut doc =
        vec![format!("{}: {}", frame.name, said(&frame.doc)), String::new(), "@return array{".to_owned()];
    doc.extend(field_types(&flat(schema, &frame.fields)).iter().map(|line| line.replacen("?:", ":", 1)));
    doc.push("}".to_owned());
    code.doc(&doc);
    code.begin(&format!("public static function decode{}(string $frame): array", pascal(&frame.name)));
    code.line("$at = Codec::HEAD_BYTES;");
    let early: Vec<&Field> = frame.fields.iter().filter(|field| !field.is_late).collect();
    fields(code, schema, &early, true);
    for field in frame.fields.iter().filter(|field| field.is_late) {
        code.open("if ($at < strlen($frame)) {");
        fields(code, schema, &[field], false);
        code.close_and_open("} else {");
        code.line(&format!("$f['{}'] = {};", field.name, default(field)));
        code.close("}");
    }
    if is_strict {
        for field in flat(schema, &frame.fields) {
            range(code, schema, field, "$f");
        }
        if frame.fields.iter().any(|field| field.kind == Kind::Magic) {
            code.line("self::check($f['magic'] === 'ADJ1', 'magic');");
        }
    }
    code.blank();
    code.line("return $f;");
    code.end();
}

/// Reads fields that follow one another into `$f`.
fn fields(code: &mut Code, schema: &Schema, fields: &[&Field], is_first: bool) {
    let (mut waiting, mut is_first) = (Vec::new(), is_first);
    for step in fields.iter().flat_map(|field| steps(schema, field)) {
        if let Step::Fixed(field) = step {
            waiting.push(slot(field, ""));
            continue;
        }
        flush(code, &mut waiting, &mut is_first);
        if is_first {
            code.line("$f = [];");
            is_first = false;
        }
        match step {
            Step::Piece(field) => code.line(&format!(
                "$f['{0}'] = {1};",
                field.name,
                piece(field, &format!("$f['{}']", field.name))
            )),
            Step::Object(field, record) => {
                let slots: Vec<Slot> = record.fields.iter().map(|field| slot(field, "")).collect();
                code.line(&format!("$f['{}'] = {};", field.name, fixed(&slots)));
            }
            Step::Reference(field) => {
                code.line(&format!("$f['{}'] = self::decodeReference($frame, $at);", field.name));
            }
            Step::List(field, item) => {
                code.line(&format!("$f['{}'] = self::{}($frame, $at);", field.name, list_name(item)));
            }
            Step::Fixed(_) => {}
        }
    }
    flush(code, &mut waiting, &mut is_first);
}

fn flush(code: &mut Code, waiting: &mut Vec<Slot>, is_first: &mut bool) {
    if !waiting.is_empty() {
        code.line(&format!("$f {} {};", if *is_first { "=" } else { "+=" }, fixed(waiting)));
        *is_first = false;
        waiting.clear();
    }
}

fn fixed(slots: &[Slot]) -> String {
    let bytes: usize = slots.iter().map(|slot| slot.bytes).sum();
    format!("Codec::fixed('{}', {bytes}, $frame, $at)", unpack_format(slots))
}

/// Reads a piece of this length.
fn piece(field: &Field, length: &str) -> String {
    match field.kind {
        Kind::Texts => format!("self::decodeShortTexts($frame, $at, {length})"),
        Kind::Text(_) => format!("Codec::text($frame, $at, {length})"),
        _ => format!("Codec::bytes($frame, $at, {length})"),
    }
}

/// Refuses a value that the schema does not allow.
fn range(code: &mut Code, schema: &Schema, field: &Field, of: &str) {
    let value = format!("{of}['{}']", field.name);
    let choice = schema.choice_of(field.choice.as_deref());
    if let Some(choice) = choice.filter(|choice| choice.open.is_none()) {
        let numbers: Vec<String> = choice.values.iter().map(|one| one.number.to_string()).collect();
        code.line(&format!(
            "self::check(in_array({value}, [{}], true), '{}');",
            numbers.join(", "),
            field.name
        ));
    }
    let measure = match field.kind {
        Kind::List(_) | Kind::Texts => format!("count({value})"),
        Kind::Number(16) => return,
        Kind::Number(_) => value,
        _ => format!("strlen({value})"),
    };
    let low = field.min.filter(|min| *min > 0).map(|min| format!("{measure} >= {}", number(min)));
    let high = field.max.map(|max| format!("{measure} <= {}", number(max)));
    let sign = field
        .max
        .filter(|_| field.kind == Kind::Number(8) && low.is_none())
        .map(|_| format!("{measure} >= 0"));
    let conditions: Vec<String> = [low, sign, high].into_iter().flatten().collect();
    if !conditions.is_empty() {
        code.line(&format!("self::check({}, '{}');", conditions.join(" && "), field.name));
    }
}

fn list_name(item: &Item) -> String {
    match item {
        Item::Record(record) => format!("decodeListOf{}", pascal(record)),
        Item::Text => "decodeListOfTexts".to_owned(),
        Item::Number => "decodeListOfNumbers".to_owned(),
    }
}

/// The functions for the lists, references and short texts that these frames have.
pub(super) fn helpers(code: &mut Code, schema: &Schema, frames: &[&Frame], is_strict: bool) {
    let (items, kinds) = used(schema, frames);
    for item in items {
        code.blank();
        match item {
            Item::Record(name) => record_list(code, schema, schema.record(name), is_strict),
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

fn record_list(code: &mut Code, schema: &Schema, record: &Record, is_strict: bool) {
    code.doc(&[said(&record.doc), String::new(), format!("@return list<{}>", pascal(&record.name))]);
    code.begin(&format!(
        "private static function decodeListOf{}(string $frame, int &$at): array",
        pascal(&record.name)
    ));
    code.line(&format!("[$fixed, $count] = Codec::listHead($frame, $at, {});", record.fixed_bytes_min()));
    let slots: Vec<Slot> = record.fields.iter().map(|field| slot(field, "")).collect();
    let has_late = formats(code, record, &slots);
    let has_pieces = record.fields.iter().any(Field::is_piece);
    if has_pieces {
        code.line("$end = strlen($frame);");
    }
    code.open("for ($items = []; $count > 0; --$count) {");
    if has_pieces {
        // Without pieces, the count has shown that all are there.
        code.open("if ($fixed > $end - $at) {");
        code.line("throw Malformed::cutOff();");
        code.close("}");
    }
    let format = if has_late { "$format".to_owned() } else { format!("'{}'", unpack_format(&slots)) };
    code.line(&format!("$item = unpack({format}, $frame, $at);"));
    if has_late {
        code.open("if ($absent !== []) {");
        code.line("$item += $absent;");
        code.close("}");
    }
    code.line("$at += $fixed;");
    pieces(code, record);
    if is_strict {
        for field in &record.fields {
            range(code, schema, field, "$item");
        }
    }
    code.line("$items[] = $item;");
    code.close("}");
    code.blank();
    code.line("return $items;");
    code.end();
}

/// What is read of the fixed part: a peer of an earlier version sends less of it. Says whether that can be.
fn formats(code: &mut Code, record: &Record, slots: &[Slot]) -> bool {
    let early = record.fields.iter().filter(|field| !field.is_late).count();
    if early == record.fields.len() {
        return false;
    }
    let (always, _) = slots.split_at(early);
    code.line(&format!("$format = '{}';", unpack_format(always)));
    code.open("[$late, $absent] = match (true) {");
    for end in (early..=slots.len()).rev() {
        let (here, absent) = slots.split_at(end);
        let bytes: usize = here.iter().map(|slot| slot.bytes).sum();
        let compare = if end == slots.len() { ">=" } else { "===" };
        let absent: Vec<String> = absent.iter().map(|slot| format!("'{}' => 0", slot.name)).collect();
        let (_, late) = here.split_at(early);
        let late = if late.is_empty() { String::new() } else { format!("/{}", unpack_format(late)) };
        code.line(&format!("$fixed {compare} {bytes} => ['{late}', [{}]],", absent.join(", ")));
    }
    code.line("default => throw Malformed::cutOff(),");
    code.close("};");
    code.line("$format .= $late;");
    true
}

/// Cuts the pieces of `$item` out of the frame. The bytes of several are looked for at once.
fn pieces(code: &mut Code, record: &Record) {
    let pieces: Vec<&Field> = record.fields.iter().filter(|field| field.is_piece()).collect();
    for run in pieces.chunk_by(|one, next| (one.kind == Kind::Texts) == (next.kind == Kind::Texts)) {
        if run.iter().any(|field| field.kind == Kind::Texts) {
            for field in run {
                let length = format!("$item['{}']", field.name);
                code.line(&format!("{length} = {};", piece(field, &length)));
            }
            continue;
        }
        let lengths: Vec<String> = run.iter().map(|field| format!("$item['{}']", field.name)).collect();
        code.open(&format!("if ({} > $end - $at) {{", lengths.join(" + ")));
        code.line("throw Malformed::cutOff();");
        code.close("}");
        for (field, length) in run.iter().zip(&lengths) {
            code.line(&format!("$bytes = {length};"));
            code.line(&format!("{length} = substr($frame, $at, $bytes);"));
            code.line("$at += $bytes;");
            if is_text(field) {
                code.open(&format!("if ($bytes !== 0 && preg_match('//u', {length}) !== 1) {{"));
                code.line("throw Malformed::noText();");
                code.close("}");
            }
        }
    }
}

fn text_list(code: &mut Code) {
    code.doc(&["@return list<string>"]);
    code.begin("private static function decodeListOfTexts(string $frame, int &$at): array");
    code.line("[$fixed, $count] = Codec::listHead($frame, $at, 1);");
    code.open("for ($texts = []; $count > 0; --$count) {");
    code.line("$size = Codec::fixed('C', 1, $frame, $at)[1];");
    code.line("Codec::bytes($frame, $at, $fixed - 1);");
    code.line("$texts[] = Codec::text($frame, $at, $size);");
    code.close("}");
    code.blank();
    code.line("return $texts;");
    code.end();
}

fn number_list(code: &mut Code) {
    code.doc(&["@return list<int>"]);
    code.begin("private static function decodeListOfNumbers(string $frame, int &$at): array");
    code.line("[$fixed, $count] = Codec::listHead($frame, $at, 2);");
    code.open("for ($numbers = []; $count > 0; --$count) {");
    code.line("$numbers[] = unpack('v', $frame, $at)[1];");
    code.line("$at += $fixed;");
    code.close("}");
    code.blank();
    code.line("return $numbers;");
    code.end();
}

fn short_texts(code: &mut Code) {
    code.doc(&["@return list<string>"]);
    code.begin("private static function decodeShortTexts(string $frame, int &$at, int $count): array");
    code.open("for ($texts = []; $count > 0; --$count) {");
    code.line("$size = Codec::fixed('C', 1, $frame, $at)[1];");
    code.line("$texts[] = Codec::text($frame, $at, $size);");
    code.close("}");
    code.blank();
    code.line("return $texts;");
    code.end();
}

fn reference(code: &mut Code) {
    code.doc(&["@return array{job: int}|array{topic: string, key: string}"]);
    code.begin("private static function decodeReference(string $frame, int &$at): array");
    code.line("$kind = Codec::fixed('C', 1, $frame, $at)[1];");
    code.open("if ($kind === 0) {");
    code.line("return Codec::fixed('Pjob', 8, $frame, $at);");
    code.close("}");
    code.line("self::check($kind === 1, 'job_kind');");
    code.line("$size = Codec::fixed('C', 1, $frame, $at)[1];");
    code.line("$ref = ['topic' => Codec::text($frame, $at, $size)];");
    code.line("$size = Codec::fixed('v', 2, $frame, $at)[1];");
    code.line("$ref['key'] = Codec::text($frame, $at, $size);");
    code.blank();
    code.line("return $ref;");
    code.end();
}
