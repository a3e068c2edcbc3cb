//! The codecs of attributes, conditions and settings: from an array by name to tagged elements, and back.

use super::code::{Code, said};
use super::frames::tidy;
use super::tables;
use crate::names::pascal;
use crate::output::Output;
use crate::schema::{Choice, Composite, Element, ElementKind, Elements, Field, Kind, Schema};

/// The one composite that is a pair, not an array by name.
pub(super) const PAIR: &str = "header";

struct Kinds {
    elements: Elements,
    class: &'static str,
    path: &'static str,
    about: &'static str,
}

const CODECS: [Kinds; 3] = [
    Kinds {
        elements: Elements::Attributes,
        class: "AttributesCodec",
        path: "clients/php/client/src/Protocol/AttributesCodec.php",
        about: "The attributes of a job, by name. Those that this version does not know are kept as they came, in `unknown`.",
    },
    Kinds {
        elements: Elements::Filter,
        class: "FilterCodec",
        path: "clients/php/client/src/Protocol/FilterCodec.php",
        about: "The conditions of a filter, by name.",
    },
    Kinds {
        elements: Elements::Settings,
        class: "SettingsCodec",
        path: "clients/php/client/src/Protocol/SettingsCodec.php",
        about: "The settings of a topic, by name. Null takes a setting away. Those that this version does not know are skipped.",
    },
];

pub(super) fn outputs(schema: &Schema) -> Vec<Output> {
    CODECS.iter().map(|one| Output::File { path: one.path, text: class(schema, one) }).collect()
}

fn class(schema: &Schema, kinds: &Kinds) -> String {
    let elements = schema.elements(kinds.elements);
    let mut code = Code::file(
        "Adjourn\\Protocol",
        &[
            "function array_key_exists",
            "function chr",
            "function count",
            "function in_array",
            "function ord",
            "function strlen",
            "function substr",
        ],
    );
    code.doc(&[kinds.about]);
    code.begin(&format!("final class {}", kinds.class));
    constants(&mut code, schema, kinds.elements);
    code.blank();
    encode(&mut code, schema, kinds.elements);
    if kinds.elements != Elements::Filter {
        // A client sends filters, and gets none.
        code.blank();
        decode(&mut code, schema, kinds.elements);
    }
    for composite in composites(schema, elements) {
        code.blank();
        encode_composite(&mut code, composite);
        if kinds.elements != Elements::Filter {
            code.blank();
            decode_composite(&mut code, schema, composite);
        }
    }
    code.blank();
    code.begin("private static function element(int $tag, string $value): string");
    code.line("return pack('vv', $tag, strlen($value)) . $value;");
    code.end();
    code.end();
    let text = tidy(code.text());
    if text.contains("array_key_exists(") {
        text
    } else {
        text.replace("use function array_key_exists;\n", "")
    }
}

fn composites<'a>(schema: &'a Schema, elements: &[Element]) -> Vec<&'a Composite> {
    let is_used = |composite: &&Composite| {
        elements.iter().any(|element| element.kind == ElementKind::Composite(composite.name.clone()))
    };
    schema.composites.iter().filter(is_used).collect()
}

/// The bits and choices of these elements that no frame and no earlier codec has.
fn constants(code: &mut Code, schema: &Schema, elements: Elements) {
    let fields_of = |elements: &[Element]| -> Vec<Field> {
        composites(schema, elements).iter().flat_map(|composite| composite.fields.clone()).collect()
    };
    let here = fields_of(schema.elements(elements));
    let earlier = if elements == Elements::Settings { fields_of(&schema.attributes) } else { Vec::new() };
    let in_frames = |name: &str| {
        let fields = schema.records.iter().flat_map(|record| &record.fields);
        let of_frames = schema.requests.iter().flat_map(|frame| &frame.fields);
        fields.chain(of_frames).any(|field| field.choice.as_deref() == Some(name))
    };
    for choice in &schema.choices {
        let has = |fields: &[Field]| fields.iter().any(|field| field.choice.as_ref() == Some(&choice.name));
        if has(&here) && !has(&earlier) && !in_frames(&choice.name) {
            tables::choice(code, choice);
        }
    }
    for bits in &schema.bits {
        if schema.elements(elements).iter().any(|element| element.bits.as_ref() == Some(&bits.name)) {
            tables::bits(code, bits);
        }
    }
}

/// The type of the array that the codec takes and gives.
fn shape(schema: &Schema, elements: Elements) -> Vec<String> {
    let null = if elements == Elements::Settings { "|null" } else { "" };
    let mut lines: Vec<String> = schema
        .elements(elements)
        .iter()
        .map(|element| {
            let of = element_type(schema, element);
            let of = if element.repeats { format!("list<{of}>") } else { of };
            format!("    {}?: {of}{null}, // {}", element.name, said(&element.doc))
        })
        .collect();
    if elements == Elements::Attributes {
        lines.push(
            "    unknown?: list<array{int, string}>, // Tags and values that this version does not know."
                .to_owned(),
        );
    }
    lines
}

fn element_type(schema: &Schema, element: &Element) -> String {
    match &element.kind {
        ElementKind::Number(_) => "int".to_owned(),
        ElementKind::Text | ElementKind::Bytes => "string".to_owned(),
        ElementKind::Flag => "bool".to_owned(),
        ElementKind::Composite(name) => composite_type(schema.composite(name)),
    }
}

fn composite_type(composite: &Composite) -> String {
    let fields: Vec<String> = composite
        .fields
        .iter()
        .map(|field| match (&field.kind, composite.name == PAIR) {
            (_, true) => "string".to_owned(),
            (Kind::RestNumbers, _) => format!("{}: list<int>", field.name),
            (Kind::RestText | Kind::Text(_), _) => format!("{}: string", field.name),
            _ => format!("{}: int", field.name),
        })
        .collect();
    format!("array{{{}}}", fields.join(", "))
}

fn encode(code: &mut Code, schema: &Schema, elements: Elements) {
    let mut doc = vec!["@param array{".to_owned()];
    doc.extend(shape(schema, elements));
    doc.push("} $a".to_owned());
    code.doc(&doc);
    code.begin("public static function encode(array $a): string");
    code.line("$out = '';");
    for element in schema.elements(elements) {
        let (tag, name) = (element.tag, &element.name);
        if element.repeats {
            code.open(&format!("foreach ($a['{name}'] ?? [] as $one) {{"));
            code.line(&format!("$out .= self::element(0x{tag:04X}, {});", value(element, "$one")));
            code.close("}");
        } else if elements == Elements::Settings {
            code.open(&format!("if (array_key_exists('{name}', $a)) {{"));
            let bytes = value(element, &format!("$a['{name}']"));
            code.line(&format!("$out .= self::element(0x{tag:04X}, $a['{name}'] === null ? '' : {bytes});"));
            code.close("}");
        } else {
            code.open(&format!("if (isset($a['{name}'])) {{"));
            code.line(&format!(
                "$out .= self::element(0x{tag:04X}, {});",
                value(element, &format!("$a['{name}']"))
            ));
            code.close("}");
        }
    }
    code.blank();
    if elements == Elements::Attributes {
        code.line("return ($a['unknown'] ?? []) === [] ? $out : Tagged::merge($out, $a['unknown']);");
    } else {
        code.line("return $out;");
    }
    code.end();
}

/// The bytes of an element's value.
fn value(element: &Element, of: &str) -> String {
    match &element.kind {
        ElementKind::Number(width) => number(*width, of, &element.name),
        ElementKind::Text | ElementKind::Bytes => of.to_owned(),
        ElementKind::Flag => format!("({of} ? \"\\x01\" : '')"),
        ElementKind::Composite(name) => format!("self::encode{}({of})", pascal(name)),
    }
}

fn number(width: usize, of: &str, name: &str) -> String {
    match width {
        8 => format!("pack('P', {of})"),
        _ => format!("pack('{}', {})", pack_code(width), narrow(width, of, name)),
    }
}

fn pack_code(width: usize) -> &'static str {
    match width {
        1 => "C",
        2 => "v",
        4 => "V",
        _ => "P",
    }
}

fn decode(code: &mut Code, schema: &Schema, elements: Elements) {
    code.doc(&["What `encode` was given.", "", "@return array<string, mixed>", "@throws Malformed"]);
    code.begin("public static function decode(string $bytes): array");
    code.line("$a = [];");
    code.open("foreach (Tagged::decode($bytes) as [$tag, $value]) {");
    code.open("switch ($tag) {");
    for element in schema.elements(elements) {
        code.open(&format!("case 0x{:04X}:", element.tag));
        decode_element(code, schema, element, elements);
        code.line("break;");
        code.close_quietly();
    }
    if elements == Elements::Attributes {
        code.open("default:");
        code.line("$a['unknown'][] = [$tag, $value];");
        code.close_quietly();
    }
    code.close("}");
    code.close("}");
    code.blank();
    code.line("return $a;");
    code.end();
}

fn decode_element(code: &mut Code, schema: &Schema, element: &Element, elements: Elements) {
    let place = format!("$a['{}']{}", element.name, if element.repeats { "[]" } else { "" });
    let read = match &element.kind {
        ElementKind::Number(width) => format!("Tagged::number('{}', $value)", pack_code(*width)),
        ElementKind::Text | ElementKind::Bytes => "$value".to_owned(),
        ElementKind::Flag => "Tagged::number('C', $value) === 1".to_owned(),
        ElementKind::Composite(name) => format!("self::decode{}($value)", pascal(name)),
    };
    let is_settings = elements == Elements::Settings;
    let has_unknown = match &element.kind {
        ElementKind::Composite(name) => open_choice(schema, schema.composite(name)).is_some(),
        _ => false,
    };
    if !has_unknown {
        let read = if is_settings { format!("$value === '' ? null : {read}") } else { read };
        code.line(&format!("{place} = {read};"));
        return;
    }
    if is_settings {
        code.open("if ($value === '') {");
        code.line(&format!("{place} = null;"));
        code.close_and_open(&format!("}} elseif (($known = {read}) !== null) {{"));
        code.line(&format!("{place} = $known;"));
        code.close("}");
    } else {
        code.open(&format!("if (($known = {read}) !== null) {{"));
        code.line(&format!("{place} = $known;"));
        code.close_and_open("} else {");
        code.line("$a['unknown'][] = [$tag, $value];");
        code.close("}");
    }
}

/// The field of a composite in which a newer server may have a number that this version does not know.
fn open_choice<'a>(schema: &'a Schema, composite: &'a Composite) -> Option<(&'a Field, &'a Choice)> {
    composite.fields.iter().find_map(|field| {
        let choice = schema.choice_of(field.choice.as_deref())?;
        choice.open.as_ref().map(|_| (field, choice))
    })
}

fn access(composite: &Composite, place: usize, field: &Field) -> String {
    if composite.name == PAIR { format!("$of[{place}]") } else { format!("$of['{}']", field.name) }
}

fn encode_composite(code: &mut Code, composite: &Composite) {
    code.doc(&[said(&composite.doc), String::new(), format!("@param {} $of", composite_type(composite))]);
    code.begin(&format!("private static function encode{}(array $of): string", pascal(&composite.name)));
    let mut parts: Vec<String> = Vec::new();
    let (mut codes, mut values) = (String::new(), Vec::new());
    for (place, field) in composite.fields.iter().enumerate() {
        let of = access(composite, place, field);
        parts.push(match &field.kind {
            Kind::Number(width) => {
                codes += pack_code(*width);
                values.push(if *width == 8 { of } else { narrow(*width, &of, &field.name) });
                continue;
            }
            Kind::Text(_) => format!("chr(Codec::narrow(strlen({of}), 8, '{}')) . {of}", field.name),
            Kind::RestNumbers => format!("pack('V*', ...{of})"),
            _ => of,
        });
    }
    if !values.is_empty() {
        // Numbers come before all that has no length of its own.
        parts.insert(0, format!("pack('{codes}', {})", values.join(", ")));
    }
    code.line(&format!("return {};", parts.join(" . ")));
    code.end();
}

fn narrow(width: usize, of: &str, name: &str) -> String {
    format!("Codec::narrow({of}, {}, '{name}')", 8 * width)
}

fn decode_composite(code: &mut Code, schema: &Schema, composite: &Composite) {
    let open = open_choice(schema, composite);
    let null = open.map_or("", |_| "|null");
    let mut doc = vec![said(&composite.doc)];
    doc.extend(
        open.map(|(field, _)| format!("Null if its {} is one that only a newer server knows.", field.name)),
    );
    doc.extend([String::new(), format!("@return {}{null}", composite_type(composite))]);
    code.doc(&doc);
    let mark = if open.is_some() { "?" } else { "" };
    code.begin(&format!(
        "private static function decode{}(string $value): {mark}array",
        pascal(&composite.name)
    ));
    if composite.name == PAIR {
        // Its length comes first, and the value goes up to the end.
        code.line("$bytes = $value === '' ? 256 : ord($value[0]);");
        code.open("if (strlen($value) <= $bytes) {");
        code.line(&format!("throw Malformed::element('{}');", composite.name));
        code.close("}");
        code.blank();
        code.line("return [substr($value, 1, $bytes), substr($value, 1 + $bytes)];");
        code.end();
        return;
    }
    numbers(code, composite);
    if let Some((field, choice)) = open {
        let known: Vec<String> = choice.values.iter().map(|one| one.number.to_string()).collect();
        code.open(&format!("if (!in_array($of['{}'], [{}], true)) {{", field.name, known.join(", ")));
        code.line("return null;");
        code.close("}");
    }
    rest(code, composite);
    code.blank();
    code.line("return $of;");
    code.end();
}

/// Reads the numbers at the beginning of a composite.
fn numbers(code: &mut Code, composite: &Composite) {
    let widths: Vec<(usize, &str)> = composite
        .fields
        .iter()
        .filter_map(|field| match field.kind {
            Kind::Number(width) => Some((width, field.name.as_str())),
            _ => None,
        })
        .collect();
    let bytes: usize = widths.iter().map(|(width, _)| width).sum();
    let is_all = widths.len() == composite.fields.len();
    code.open(&format!("if (strlen($value) {} {bytes}) {{", if is_all { "!==" } else { "<" }));
    code.line(&format!("throw Malformed::element('{}');", composite.name));
    code.close("}");
    let format: Vec<String> =
        widths.iter().map(|(width, name)| format!("{}{name}", pack_code(*width))).collect();
    code.line(&format!("$of = unpack('{}', $value);", format.join("/")));
}

/// Reads what stands behind the numbers, up to the end.
fn rest(code: &mut Code, composite: &Composite) {
    let bytes: usize = composite
        .fields
        .iter()
        .map(|field| if let Kind::Number(width) = field.kind { width } else { 0 })
        .sum();
    for field in composite.fields.iter().filter(|field| field.kind == Kind::RestNumbers) {
        let (min, max) = (4 * field.min.unwrap_or(0), field.max.map(|max| 4 * max));
        code.line(&format!("$bytes = strlen($value) - {bytes};"));
        let above = max.map(|max| format!(" || $bytes > {max}")).unwrap_or_default();
        code.open(&format!("if ($bytes % 4 !== 0 || $bytes < {min}{above}) {{"));
        code.line(&format!("throw Malformed::element('{}');", composite.name));
        code.close("}");
        code.line(&format!("$of['{}'] = array_values(unpack('V*', $value, {bytes}));", field.name));
    }
}
