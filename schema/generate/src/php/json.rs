//! The JSON of the conformance suite, for the harness: the fields of each frame, and those of elements.

use super::code::{Code, number};
use super::elements::PAIR;
use super::frames::tidy;
use crate::names::{camel, pascal};
use crate::output::Output;
use crate::schema::{
    Composite, Element, ElementKind, Elements, Field, Frame, Item, Kind, Record, Schema, Unknown,
};

const PATH: &str = "clients/php/harness/FrameJson.php";

/// From JSON, or to it.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    In,
    Out,
}

impl Way {
    fn name(self) -> &'static str {
        if self == Self::In { "In" } else { "Out" }
    }
}

pub(super) fn outputs(schema: &Schema) -> Vec<Output> {
    let uses = [
        "Adjourn\\Protocol\\AttributesCodec",
        "Adjourn\\Protocol\\Codec",
        "Adjourn\\Protocol\\FilterCodec",
        "Adjourn\\Protocol\\Opcode",
        "Adjourn\\Protocol\\SettingsCodec",
        "Adjourn\\Protocol\\Tagged",
        "Adjourn\\U64",
        "function in_array",
    ];
    let mut code = Code::file("Adjourn\\Harness", &uses);
    code.doc(&[
        "Frames and elements as the conformance suite writes them, in JSON. Numbers that are wider than 32 bits are decimal strings, and",
        "bytes are base64.",
    ]);
    code.begin("final class FrameJson");
    for way in [Way::In, Way::Out] {
        frames(&mut code, schema, way);
        code.blank();
    }
    for elements in [Elements::Attributes, Elements::Filter, Elements::Settings] {
        for way in [Way::In, Way::Out] {
            elements_of(&mut code, schema, elements, way);
            code.blank();
        }
    }
    for record in schema.records.iter().filter(|record| is_listed(schema, &record.name)) {
        for way in [Way::In, Way::Out] {
            record_of(&mut code, schema, record, way);
            code.blank();
        }
    }
    for composite in schema.composites.iter().filter(|composite| composite.name != PAIR) {
        for way in [Way::In, Way::Out] {
            composite_of(&mut code, composite, way);
            code.blank();
        }
    }
    filter_bytes(&mut code, schema);
    code.blank();
    references(&mut code);
    code.end();
    vec![Output::File { path: PATH, text: tidy(code.text()) }]
}

/// Whether a record has an object of its own in JSON.
fn is_listed(schema: &Schema, name: &str) -> bool {
    let mut fields = schema.requests.iter().chain(&schema.responses).flat_map(|frame| &frame.fields);
    fields.any(|field| match &field.kind {
        Kind::List(Item::Record(record)) | Kind::Object(record) => record == name,
        _ => false,
    })
}

fn frames(code: &mut Code, schema: &Schema, way: Way) {
    let (doc, given) = match way {
        Way::In => ("The fields of a frame from its JSON.", "$j"),
        Way::Out => ("The fields of a frame as JSON.", "$f"),
    };
    code.doc(&[doc, "", &format!("@param array<string, mixed> {given}"), "@return array<string, mixed>"]);
    code.begin(&format!("public static function fields{}(Opcode $opcode, array {given}): array", way.name()));
    code.open("return match ($opcode) {");
    let is_empty = |frame: &Frame| frame.fields.is_empty();
    for frame in schema.requests.iter().chain(&schema.responses).filter(|frame| !is_empty(frame)) {
        code.open(&format!("Opcode::{} => [", pascal(&frame.name)));
        for field in super::layout::flat(schema, &frame.fields) {
            line(code, schema, field, way, given);
        }
        code.close("],");
    }
    code.line("default => [],");
    code.close("};");
    code.end();
}

/// One field of an array.
fn line(code: &mut Code, schema: &Schema, field: &Field, way: Way, given: &str) {
    if field.kind == Kind::Reference {
        code.line(&match way {
            Way::In => format!("'{}' => self::referenceIn({given}),", field.name),
            Way::Out => format!("...self::referenceOut({given}['{}']),", field.name),
        });
        return;
    }
    let value = match way {
        Way::In => from_json(field, &format!("{given}['{}']", field.name)),
        Way::Out => to_json(schema, field, &format!("{given}['{}']", field.name)),
    };
    code.line(&format!("'{}' => {value},", field.name));
}

fn from_json(field: &Field, of: &str) -> String {
    match &field.kind {
        Kind::Number(8) => format!("U64::parse({of} ?? '0')"),
        Kind::Number(16) => format!("U128::parse({of} ?? '0')"),
        Kind::Number(_) => format!("{of} ?? 0"),
        Kind::Signed => format!("(int) ({of} ?? '0')"),
        Kind::Id => format!("isset({of}) ? base64_decode({of}) : Codec::NONE"),
        Kind::Bytes(_) => format!("base64_decode({of} ?? '')"),
        Kind::Tagged(elements) => {
            let (codec, name) = codec_of(*elements);
            format!("{codec}::encode(self::{name}In({of} ?? []))")
        }
        Kind::List(Item::Record(record)) => format!("array_map(self::{}In(...), {of} ?? [])", camel(record)),
        Kind::Object(record) => format!("self::{}In({of} ?? [])", camel(record)),
        Kind::Texts | Kind::List(_) => format!("{of} ?? []"),
        _ => format!("{of} ?? ''"),
    }
}

fn to_json(schema: &Schema, field: &Field, of: &str) -> String {
    match &field.kind {
        Kind::Number(8) => format!("U64::toString({of})"),
        Kind::Number(16) => format!("U128::toString({of})"),
        Kind::Number(_) => small_to_json(schema, field, of),
        Kind::Signed => format!("(string) {of}"),
        Kind::Id | Kind::Bytes(_) => format!("base64_encode({of})"),
        Kind::Tagged(Elements::Filter) => format!("(object) self::filterOfBytes({of})"),
        Kind::Tagged(elements) => {
            let (codec, name) = codec_of(*elements);
            format!("(object) self::{name}Out({codec}::decode({of}))")
        }
        Kind::List(Item::Record(record)) => format!("array_map(self::{}Out(...), {of})", camel(record)),
        Kind::Object(record) => format!("self::{}Out({of})", camel(record)),
        _ => of.to_owned(),
    }
}

/// A number without the bits that nobody knows, and with the one that stands for unknown ones.
fn small_to_json(schema: &Schema, field: &Field, of: &str) -> String {
    if let Some(bits) = schema.bits_of(field.bits.as_deref()) {
        return format!("{of} & {}", number(bits.mask()));
    }
    let choice = schema.choice_of(field.choice.as_deref());
    match choice.map(|choice| (choice, &choice.unknown)) {
        Some((choice, Some(Unknown { number: other, code: None }))) => {
            let known: Vec<String> = choice.values.iter().map(|one| one.number.to_string()).collect();
            format!("in_array({of}, [{}], true) ? {of} : {other}", known.join(", "))
        }
        _ => of.to_owned(),
    }
}

fn codec_of(elements: Elements) -> (&'static str, &'static str) {
    match elements {
        Elements::Attributes => ("AttributesCodec", "attributes"),
        Elements::Filter => ("FilterCodec", "filter"),
        Elements::Settings => ("SettingsCodec", "settings"),
    }
}

fn record_of(code: &mut Code, schema: &Schema, record: &Record, way: Way) {
    let given = if way == Way::In { "$j" } else { "$f" };
    code.begin(&format!(
        "private static function {}{}(array {given}): array",
        camel(&record.name),
        way.name()
    ));
    code.open("return [");
    for field in &record.fields {
        line(code, schema, field, way, given);
    }
    code.close("];");
    code.end();
}

fn composite_of(code: &mut Code, composite: &Composite, way: Way) {
    code.begin(&format!(
        "private static function {}{}(array $of): array",
        camel(&composite.name),
        way.name()
    ));
    let fields: Vec<String> = composite
        .fields
        .iter()
        .map(|field| {
            let of = format!("$of['{}']", field.name);
            let value = match (&field.kind, way) {
                (Kind::Number(8), Way::In) => format!("U64::parse({of})"),
                (Kind::Number(8), Way::Out) => format!("U64::toString({of})"),
                _ => of,
            };
            format!("'{}' => {value}", field.name)
        })
        .collect();
    code.line(&format!("return [{}];", fields.join(", ")));
    code.end();
}

/// Elements by name. Most values are the same in JSON.
fn elements_of(code: &mut Code, schema: &Schema, elements: Elements, way: Way) {
    let (_, name) = codec_of(elements);
    let doc = match way {
        Way::In => format!("The {name} from their JSON, by name."),
        Way::Out => format!("The {name} as JSON."),
    };
    code.doc(&[doc.as_str(), "", "@param array<string, mixed> $elements", "@return array<string, mixed>"]);
    code.begin(&format!("public static function {name}{}(array $elements): array", way.name()));
    code.open("foreach ($elements as $name => $value) {");
    code.open("$elements[$name] = $value === null ? null : match ($name) {");
    let of_kind = |is_it: fn(&Element) -> bool| -> Vec<String> {
        let found = schema.elements(elements).iter().filter(|element| is_it(element));
        found.map(|element| format!("'{}'", element.name)).collect()
    };
    let convert = |way_in: &'static str, way_out: &'static str| if way == Way::In { way_in } else { way_out };
    let wide = of_kind(|element| element.kind == ElementKind::Number(8));
    if !wide.is_empty() {
        code.line(&format!(
            "{} => {},",
            wide.join(", "),
            convert("U64::parse($value)", "U64::toString($value)")
        ));
    }
    let bytes = of_kind(|element| element.kind == ElementKind::Bytes);
    if !bytes.is_empty() {
        code.line(&format!(
            "{} => {},",
            bytes.join(", "),
            convert("base64_decode($value)", "base64_encode($value)")
        ));
    }
    for element in schema.elements(elements) {
        match &element.kind {
            ElementKind::Composite(composite) if composite != PAIR => {
                code.line(&format!(
                    "'{}' => self::{}{}($value),",
                    element.name,
                    camel(composite),
                    way.name()
                ));
            }
            _ => {}
        }
    }
    if elements == Elements::Attributes {
        code.line(convert(
            "'unknown' => array_map(static fn (array $one): array => [$one['tag'], base64_decode($one['value'])], $value),",
            "'unknown' => array_map(static fn (array $one): array => ['tag' => $one[0], 'value' => base64_encode($one[1])], $value),",
        ));
    }
    code.line("default => $value,");
    code.close("};");
    code.close("}");
    code.blank();
    code.line("return $elements;");
    code.end();
}

/// A client sends filters, and gets none: only a server has to read one.
fn filter_bytes(code: &mut Code, schema: &Schema) {
    code.doc(&["@return array<string, mixed>"]);
    code.begin("private static function filterOfBytes(string $bytes): array");
    code.line("$elements = [];");
    code.open("foreach (Tagged::decode($bytes) as [$tag, $value]) {");
    code.open("[$name, $known] = match ($tag) {");
    for element in schema.elements(Elements::Filter) {
        let value = match element.kind {
            ElementKind::Number(1) => "Tagged::number('C', $value)",
            ElementKind::Number(4) => "Tagged::number('V', $value)",
            ElementKind::Number(_) => "Tagged::number('P', $value)",
            _ => "$value",
        };
        code.line(&format!("{} => ['{}', {value}],", element.tag, element.name));
    }
    code.line("default => ['', null],");
    code.close("};");
    code.line("$elements[$name] = $known;");
    code.close("}");
    code.line("unset($elements['']);");
    code.blank();
    code.line("return self::filterOut($elements);");
    code.end();
}

fn references(code: &mut Code) {
    code.begin("private static function referenceIn(array $j): array");
    code.open("return ($j['job_kind'] ?? 0) === 1");
    code.line("? ['topic' => $j['topic'], 'key' => $j['key']]");
    code.line(": ['job' => U64::parse($j['job'])];");
    code.close_quietly();
    code.end();
    code.blank();
    code.begin("private static function referenceOut(array $ref): array");
    code.line("return isset($ref['key']) ? ['job_kind' => 1] + $ref : ['job_kind' => 0, 'job' => U64::toString($ref['job'])];");
    code.end();
}
