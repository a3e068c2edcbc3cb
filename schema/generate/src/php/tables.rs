//! Plain tables: opcodes, choices, bits, error codes and their exceptions, limits.

use super::code::{Code, quoted, said};
use crate::names::{capitals, pascal};
use crate::output::Output;
use crate::schema::{Bits, Choice, Frame, Repeat, Schema};

/// A choice that has an enum in PHP.
struct Enum {
    choice: &'static str,
    name: &'static str,
    path: &'static str,
    /// Whether numbers of a newer server are shown as `Unknown`.
    has_unknown: bool,
    /// The choice that is null in PHP.
    none: Option<&'static str>,
}

macro_rules! an_enum {
    ($choice:literal, $name:literal, $has_unknown:literal, $none:expr) => {
        Enum {
            choice: $choice,
            name: $name,
            path: concat!("clients/php/client/src/", $name, ".php"),
            has_unknown: $has_unknown,
            none: $none,
        }
    };
}

const ENUMS: [Enum; 6] = [
    an_enum!("if_exists", "IfExists", false, None),
    an_enum!("order", "ListOrder", false, None),
    an_enum!("outcome", "PushOutcome", false, None),
    an_enum!("state", "JobState", true, None),
    an_enum!("buried", "BuriedReason", true, Some("not_buried")),
    an_enum!("role", "MemberRole", true, None),
];
/// Where the exceptions of the error codes are.
const EXCEPTIONS: &str = "clients/php/client/src/Error/Server";
/// The code whose exception is not a refusal.
const UNKNOWN_OUTCOME: &str = "OUTCOME_UNKNOWN";

pub(super) fn outputs(schema: &Schema) -> Vec<Output> {
    let mut outputs = vec![
        Output::File { path: "clients/php/client/src/Protocol/Opcode.php", text: opcodes(schema) },
        Output::File { path: "clients/php/client/src/Error/ErrorCode.php", text: error_codes(schema) },
        Output::File { path: "clients/php/client/src/Limit.php", text: limits(schema) },
    ];
    for one in &ENUMS {
        for choice in schema.choices.iter().filter(|choice| choice.name == one.choice) {
            outputs.push(Output::File { path: one.path, text: an_enum(choice, one) });
        }
    }
    for error in schema.errors.iter().filter(|error| error.name != UNKNOWN_OUTCOME) {
        let name = pascal(&error.name);
        let mut code = Code::file("Adjourn\\Error\\Server", &["Adjourn\\Error\\ServerError"]);
        code.doc(&[format!("{} What to do: {}", said(&error.doc), without_capital(&said(&error.remedy)))]);
        code.begin(&format!("final class {name} extends ServerError"));
        code.end();
        // An output has the path of a file that is known when the generator is built; these follow from the schema.
        let path: &'static str = format!("{EXCEPTIONS}/{name}.php").leak();
        outputs.push(Output::File { path, text: code.text() });
    }
    outputs
}

pub(super) fn has_enum(choice: &str) -> bool {
    ENUMS.iter().any(|one| one.choice == choice)
}

/// Constants for the bits of a set.
pub(super) fn bits(code: &mut Code, bits: &Bits) {
    for flag in &bits.values {
        let name = format!("{}_{}", capitals(&bits.name), capitals(&flag.name));
        code.constant(&name, 1 << flag.bit, &flag.doc);
    }
}

/// Constants for the numbers of a choice.
pub(super) fn choice(code: &mut Code, choice: &Choice) {
    for one in &choice.values {
        let name = format!("{}_{}", capitals(&choice.name), capitals(&one.name));
        code.constant(&name, one.number, &one.doc);
    }
}

fn without_capital(text: &str) -> String {
    let starts_with_word = text.chars().nth(1).is_some_and(char::is_lowercase);
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if starts_with_word => first.to_lowercase().to_string() + letters.as_str(),
        _ => text.to_owned(),
    }
}

fn an_enum(choice: &Choice, one: &Enum) -> String {
    let mut code = Code::file("Adjourn", &[]);
    code.doc(&[said(&choice.doc)]);
    code.begin(&format!("enum {}: int", one.name));
    for value in choice.values.iter().filter(|value| Some(value.name.as_str()) != one.none) {
        code.doc(&[said(&value.doc)]);
        // The name of a case that would say less without its preposition.
        let name = if value.name == "consumer" { "ByConsumer".to_owned() } else { pascal(&value.name) };
        code.line(&format!("case {name} = {};", value.number));
    }
    if one.has_unknown {
        code.doc(&[format!(
            "{} No frame has this number.",
            said(choice.open.as_deref().unwrap_or_default())
        )]);
        code.line("case Unknown = -1;");
        code.blank();
        if one.none.is_some() {
            code.doc(&["Null for 0."]);
            code.begin("public static function of(int $number): ?self");
            code.line("return $number === 0 ? null : self::tryFrom($number) ?? self::Unknown;");
        } else {
            code.begin("public static function of(int $number): self");
            code.line("return self::tryFrom($number) ?? self::Unknown;");
        }
        code.end();
    }
    code.end();
    code.text()
}

fn opcodes(schema: &Schema) -> String {
    let mut code = Code::file("Adjourn\\Protocol", &[]);
    code.doc(&["The kinds of frames. Requests are below 0x80, responses at or above."]);
    code.begin("enum Opcode: int");
    for frame in schema.requests.iter().chain(&schema.responses) {
        code.doc(&[said(&frame.doc)]);
        code.line(&format!("case {} = 0x{:02X};", pascal(&frame.name), frame.opcode));
    }
    code.blank();
    code.doc(&["The response that answers this request. Any request may be answered by Error instead."]);
    code.begin("public function answer(): self");
    code.open("return match ($this) {");
    for response in &schema.responses {
        let asking: Vec<String> = schema
            .requests
            .iter()
            .filter(|request| request.answer.as_ref() == Some(&response.name))
            .map(|request| format!("self::{}", pascal(&request.name)))
            .collect();
        if !asking.is_empty() {
            code.line(&format!("{} => self::{},", asking.join(", "), pascal(&response.name)));
        }
    }
    code.line("default => self::Error,");
    code.close("};");
    code.end();
    code.blank();
    code.doc(&[
        "Whether sending this request twice does no more than sending it once. That of DELETE holds if it names the job by its id,",
        "that of PUSH if its jobs have numbers or a key.",
    ]);
    is_one_of(&mut code, "isRepeatable", &schema.requests, |frame| frame.repeat != Repeat::Unsafe);
    code.blank();
    code.doc(&[
        "Whether this response proves that the session was connected to the leader after the request was sent. RESERVED and",
        "DELIVER do only if they have a job.",
    ]);
    is_one_of(&mut code, "isProof", &schema.responses, |frame| frame.is_proof);
    code.end();
    code.text()
}

fn is_one_of(code: &mut Code, name: &str, frames: &[Frame], is_so: impl Fn(&Frame) -> bool) {
    code.begin(&format!("public function {name}(): bool"));
    code.open("return match ($this) {");
    let cases: Vec<String> = frames
        .iter()
        .filter(|frame| is_so(frame))
        .map(|frame| format!("self::{}", pascal(&frame.name)))
        .collect();
    for line in cases.chunks(8) {
        code.line(&format!("{},", line.join(", ")));
    }
    code.line("    => true,");
    code.line("default => false,");
    code.close("};");
    code.end();
}

fn error_codes(schema: &Schema) -> String {
    let mut code = Code::file("Adjourn\\Error", &[]);
    code.doc(&["Error codes of the protocol: why a request, or one item of it, is refused."]);
    code.begin("enum ErrorCode: int");
    for error in &schema.errors {
        code.doc(&[said(&error.doc)]);
        code.line(&format!("case {} = {};", pascal(&error.name), error.number));
    }
    code.blank();
    code.doc(&["Whether the same request may succeed later, as it is."]);
    code.begin("public function isRetryable(): bool");
    code.open("return match ($this) {");
    let retryable: Vec<String> = schema
        .errors
        .iter()
        .filter(|error| error.is_retryable)
        .map(|error| format!("self::{}", pascal(&error.name)))
        .collect();
    code.line(&format!("{} => true,", retryable.join(", ")));
    code.line("default => false,");
    code.close("};");
    code.end();
    for (name, doc, text) in [
        (
            "meaning",
            "What it means, for a person.",
            (|error| &error.doc) as fn(&crate::schema::ErrorCode) -> &String,
        ),
        ("remedy", "What to do, for a person.", |error| &error.remedy),
    ] {
        code.blank();
        code.doc(&[doc]);
        code.begin(&format!("public function {name}(): string"));
        code.open("return match ($this) {");
        for error in &schema.errors {
            code.line(&format!("self::{} => {},", pascal(&error.name), quoted(&said(text(error)))));
        }
        code.close("};");
        code.end();
    }
    code.end();
    code.text()
}

fn limits(schema: &Schema) -> String {
    let mut code = Code::file("Adjourn", &[]);
    code.doc(&[
        "The limits of the queue. A name says its unit, BYTES or MS; all others are counts. Those that a server can be configured",
        "with are its defaults.",
    ]);
    code.begin("final class Limit");
    for limit in &schema.limits {
        code.constant(&limit.name, limit.value, &limit.doc);
    }
    code.end();
    code.text()
}
