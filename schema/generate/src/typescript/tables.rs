//! Plain tables: limits, error codes and their classes, choices and bits.

use std::fmt::Write as _;

use super::comment;
use crate::names::{camel, capitals, grouped, pascal, sentence};
use crate::schema::{ErrorCode, Schema};

pub(super) const ABOUT_LIMITS: &str = "The limits of the queue, and other numbers of the protocol.";
pub(super) const ABOUT_CODES: &str = "The error codes of the protocol.";
pub(super) const ABOUT_CHOICES: &str =
    "Numbers that stand for one of some choices, by their names and in their order, and bits by their names.";
pub(super) const ABOUT_ERRORS: &str =
    "The errors of the server: a class for each code, with what it means and what to do.";

/// The largest number that is exact without being a `bigint`.
const SAFE_MAX: u64 = (1 << 53) - 1;

pub(super) fn limits(schema: &Schema) -> String {
    let mut out = String::new();
    let limits = schema.limits.iter().map(|one| (&one.name, one.value, &one.doc, one.welcome.as_ref()));
    let constants = schema.constants.iter().map(|one| (&one.name, one.value, &one.doc, None));
    for (name, value, doc, welcome) in limits.chain(constants) {
        let told = welcome
            .map(|field| format!(" WELCOME has the server's own, as `{}`.", camel(field)))
            .unwrap_or_default();
        out += &comment("", &(sentence(doc) + &told));
        let _ = writeln!(out, "export const {name} = {};", number(value));
    }
    out += "\n/** What all members of a cluster may have in common: the feature level that brings it. */\n";
    out += "export const FEATURE_LEVELS = {\n";
    for level in &schema.levels {
        out += &comment("  ", &sentence(&level.doc));
        let _ = writeln!(out, "  {}: {},", level.name, level.number);
    }
    out + "} as const;\n"
}

fn number(value: u64) -> String {
    match value {
        0..=SAFE_MAX => grouped(value, '_'),
        _ => format!("{value:#x}n"),
    }
}

pub(super) fn codes(schema: &Schema) -> String {
    let mut out = String::from("/** The number of each code. */\nexport const ERROR_CODES = {\n");
    for code in &schema.errors {
        out += &comment("  ", &meaning(code));
        let _ = writeln!(out, "  {}: {},", code.name, code.number);
    }
    out += "} as const;\n\nexport type ErrorCodeName = keyof typeof ERROR_CODES;\n\n";
    out += "/** The name of a code; `undefined` for one of a newer server. */\n";
    out += "export function codeName(code: number): ErrorCodeName | undefined {\n  switch (code) {\n";
    for code in &schema.errors {
        let _ = writeln!(out, "    case {}:\n      return '{}';", code.number, code.name);
    }
    out += "    default:\n      return undefined;\n  }\n}\n\n";
    let retryable = schema.errors.iter().filter(|code| code.is_retryable);
    let names: Vec<String> = retryable.map(|code| format!("'{}'", code.name)).collect();
    let _ = writeln!(out, "const RETRYABLE: ReadonlySet<ErrorCodeName> = new Set([{}]);\n", names.join(", "));
    out += "/** Whether a request that was refused so may succeed later, as it is. */\n";
    out + "export function isRetryable(name: ErrorCodeName): boolean {\n  return RETRYABLE.has(name);\n}\n"
}

fn meaning(code: &ErrorCode) -> String {
    format!("{} What to do: {}", sentence(&code.doc), sentence(&code.remedy))
}

/// The code that has an error of the client itself: the outcome is unknown whoever says so.
const OF_CLIENT: &str = "OUTCOME_UNKNOWN";

pub(super) fn errors(schema: &Schema) -> String {
    let mut out = String::from("import { ServerError } from './errors.js';\n");
    out += "import type { ErrorCodeName } from './protocol/codes.js';\n";
    let codes: Vec<&ErrorCode> = schema.errors.iter().filter(|code| code.name != OF_CLIENT).collect();
    for code in &codes {
        let _ = write!(out, "\n{}", comment("", &meaning(code)));
        let _ = writeln!(out, "export class {}Error extends ServerError {{}}", pascal(&code.name));
    }
    out += "\n/** The class of each code. Of OUTCOME_UNKNOWN it is `OutcomeUnknownError`, as of a lost answer. */\n";
    let _ = writeln!(
        out,
        "export const SERVER_ERRORS: Readonly<Record<Exclude<ErrorCodeName, '{OF_CLIENT}'>, typeof ServerError>> = {{"
    );
    for code in &codes {
        let _ = writeln!(out, "  {}: {}Error,", code.name, pascal(&code.name));
    }
    out + "};\n"
}

pub(super) fn choices(schema: &Schema) -> String {
    let mut out = String::new();
    for choice in &schema.choices {
        let name = capitals(&choice.name);
        let names: Vec<String> = choice.values.iter().map(|one| format!("'{}'", one.name)).collect();
        if !out.is_empty() {
            out.push('\n');
        }
        let open = choice.open.as_ref().map(|open| format!(" Any other number: {open}.")).unwrap_or_default();
        out += &comment("", &(sentence(&choice.doc) + &open));
        let _ = writeln!(out, "export const {name} = {{");
        for one in &choice.values {
            out += &comment("  ", &sentence(&one.doc));
            let _ = writeln!(out, "  {}: {},", one.name, one.number);
        }
        let _ = writeln!(out, "}} as const;\n/** The names of `{name}`, each at the place of its number. */");
        let _ = writeln!(out, "export const {name}_NAMES = [{}] as const;", names.join(", "));
    }
    for bits in &schema.bits {
        let _ = write!(out, "\n{}", comment("", &sentence(&bits.doc)));
        let _ = writeln!(out, "export const {} = {{", capitals(&bits.name));
        for one in &bits.values {
            out += &comment("  ", &sentence(&one.doc));
            let _ = writeln!(out, "  {}: {},", camel(&one.name), 1_u64 << one.bit);
        }
        out += "} as const;\n";
    }
    out
}
