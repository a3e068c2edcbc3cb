//! What the TypeScript client takes from the schema: its codec in `src/protocol`, the errors of the server, the JSON of its
//! conformance harness, and the tables that its tests walk.

mod codec;
mod elements;
mod harness;
mod server;
mod tables;
mod types;

use crate::names::{camel, pascal, sentence};
use crate::output::Output;
use crate::schema::{Elements, Field, Item, Kind, Schema};

/// Columns of a comment.
const WIDTH: usize = 120;

pub(crate) fn outputs(schema: &Schema) -> Vec<Output> {
    let file = |path, about: &str, text: String| {
        let head = "// Generated from the schema by `make generate`. Do not edit.\n\n";
        Output::File { path, text: format!("{head}{}\n{text}", comment("", about)) }
    };
    vec![
        file("clients/typescript/src/protocol/limits.ts", tables::ABOUT_LIMITS, tables::limits(schema)),
        file("clients/typescript/src/protocol/codes.ts", tables::ABOUT_CODES, tables::codes(schema)),
        file("clients/typescript/src/protocol/choices.ts", tables::ABOUT_CHOICES, tables::choices(schema)),
        file("clients/typescript/src/server-errors.ts", tables::ABOUT_ERRORS, tables::errors(schema)),
        file("clients/typescript/src/protocol/messages.ts", types::ABOUT, types::messages(schema)),
        file("clients/typescript/src/protocol/elements.ts", elements::ABOUT, elements::elements(schema)),
        file("clients/typescript/src/protocol/requests.ts", codec::ABOUT_REQUESTS, codec::requests(schema)),
        file(
            "clients/typescript/src/protocol/responses.ts",
            codec::ABOUT_RESPONSES,
            codec::responses(schema),
        ),
        file("clients/typescript/src/protocol/server.ts", server::ABOUT, server::server(schema)),
        file("clients/typescript/harness/frames.mjs", harness::ABOUT_FRAMES, harness::frames(schema)),
        file("clients/typescript/tests/support/schema.mjs", harness::ABOUT_TABLES, harness::tables(schema)),
    ]
}

/// The texts of some items, one behind the other.
fn text_of<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    items.iter().map(text).collect::<Vec<_>>().concat()
}

/// A doc comment: on one line if it fits.
fn comment(indent: &str, text: &str) -> String {
    let text = text.replace("*/", "*\\/");
    if indent.len() + text.len() + 7 <= WIDTH {
        return format!("{indent}/** {text} */\n");
    }
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().filter(|line| indent.len() + 4 + line.len() + word.len() <= WIDTH);
        match last {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_owned()),
        }
    }
    let body = text_of(&lines, |line| format!("{indent} * {line}\n"));
    format!("{indent}/**\n{body}{indent} */\n")
}

/// The doc comment of a field: what it means, and the choices or bits that it has.
fn field_comment(schema: &Schema, indent: &str, field: &Field) -> String {
    let of = |names: Vec<String>| format!(": {}", names.join(", "));
    let choice = schema.choice_of(field.choice.as_deref());
    let bits = schema.bits_of(field.bits.as_deref());
    let values = match (choice, bits) {
        (Some(choice), _) => {
            of(choice.values.iter().map(|one| format!("{} {}", one.number, one.name)).collect())
        }
        (_, Some(bits)) => {
            of(bits.values.iter().map(|one| format!("{} {}", 1_u64 << one.bit, one.name)).collect())
        }
        _ => String::new(),
    };
    let doc = sentence(&field.doc);
    comment(indent, &format!("{}{values}.", doc.trim_end_matches('.')))
}

/// The name of a field in TypeScript.
fn field_name(field: &Field) -> String {
    match field.kind {
        Kind::Reference => "reference".to_owned(),
        _ => camel(&field.name),
    }
}

/// The name of the type of a record or composite.
fn value_type(record: &str) -> String {
    format!("{}Value", pascal(record))
}

/// The name of the type of the fields of a frame.
fn fields_type(frame: &str) -> String {
    format!("{}Fields", pascal(frame))
}

/// The name of the type of elements.
fn elements_type(elements: Elements) -> &'static str {
    match elements {
        Elements::Attributes => "Attributes",
        Elements::Filter => "FilterValue",
        Elements::Settings => "SettingsChange",
    }
}

/// What elements are called in the names of functions.
fn elements_name(elements: Elements) -> &'static str {
    match elements {
        Elements::Attributes => "Attributes",
        Elements::Filter => "Filter",
        Elements::Settings => "Settings",
    }
}

fn type_of(kind: &Kind) -> String {
    match kind {
        Kind::Number(8 | 16) | Kind::Signed => "bigint".to_owned(),
        Kind::Number(_) => "number".to_owned(),
        Kind::Text(_) | Kind::RestText => "string".to_owned(),
        Kind::Magic | Kind::Id | Kind::Bytes(_) => "Uint8Array".to_owned(),
        Kind::Texts | Kind::List(Item::Text) => "readonly string[]".to_owned(),
        Kind::RestNumbers | Kind::List(Item::Number) => "readonly number[]".to_owned(),
        Kind::Tagged(elements) => elements_type(*elements).to_owned(),
        Kind::Reference => "JobReference".to_owned(),
        Kind::List(Item::Record(record)) => format!("readonly {}[]", value_type(record)),
        Kind::Part(record) | Kind::Object(record) => value_type(record),
    }
}

/// The value of a field that is absent.
fn default_of(kind: &Kind) -> &'static str {
    match kind {
        Kind::Number(8 | 16) | Kind::Signed => "0n",
        Kind::Text(_) => "''",
        Kind::Texts | Kind::List(_) => "[]",
        Kind::Id | Kind::Bytes(_) => "new Uint8Array(0)",
        _ => "0",
    }
}

/// An import of these names, if there is one, in the order of the alphabet.
fn import(names: &[String], from: &str, is_type: bool) -> String {
    let mut names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.sort_unstable_by_key(|name| name.trim_start_matches("type "));
    names.dedup();
    if names.is_empty() {
        return String::new();
    }
    let word = if is_type { "import type" } else { "import" };
    let line = format!("{word} {{ {} }} from '{from}';\n", names.join(", "));
    if line.len() <= WIDTH {
        return line;
    }
    let lines = text_of(&names, |name| format!("  {name},\n"));
    format!("{word} {{\n{lines}}} from '{from}';\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_has_one_line_if_it_fits() {
        assert_eq!(comment("  ", "Short."), "  /** Short. */\n");
        assert_eq!(comment("", "Ends `*/` here."), "/** Ends `*\\/` here. */\n");
        let long = comment("", &"word ".repeat(40));
        assert!(long.starts_with("/**\n * word"), "{long}");
        assert!(long.lines().all(|line| line.len() <= WIDTH), "{long}");
    }

    #[test]
    fn an_import_has_each_name_once_in_order() {
        let names = ["b", "type A", "b", "C"].map(str::to_owned);
        assert_eq!(import(&names, "./x.js", false), "import { type A, C, b } from './x.js';\n");
        assert_eq!(import(&[], "./x.js", true), "");
    }

    #[test]
    fn every_file_says_that_it_is_generated() -> Result<(), crate::SchemaError> {
        let schema = Schema::load()?;
        for output in outputs(&schema) {
            let Output::File { path, text } = output else { panic!("a whole file each") };
            assert!(
                text.starts_with("// Generated from the schema by `make generate`. Do not edit.\n"),
                "{path}"
            );
            assert!(
                text.lines().all(|line| line.trim_end() == line),
                "{path} has a space at the end of a line"
            );
        }
        Ok(())
    }
}
