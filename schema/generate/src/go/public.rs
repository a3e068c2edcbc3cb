//! Tables that are a part of the client's public surface: choices and error codes.

use super::code::{Code, quoted};
use super::{documented, lowered, name, with_small_letter};
use crate::names::{sentence, without_links};
use crate::schema::{Choice, ChoiceValue, Schema};

/// The choices that users see: the name in the schema, the type, and what the names of its values begin with.
const CHOICES: [(&str, &str, &str); 8] = [
    ("if_exists", "IfExists", ""),
    ("order", "Order", "Order"),
    ("outcome", "PushOutcome", ""),
    ("state", "State", ""),
    ("buried", "BuriedReason", ""),
    ("role", "Role", ""),
    ("backoff_kind", "BackoffKind", "Backoff"),
    ("late_action", "LateAction", "Late"),
];

pub(super) fn choices(schema: &Schema) -> String {
    let mut code = Code::file("adjourn", &[]);
    for choice in &schema.choices {
        let public = CHOICES.iter().find(|(schema_name, ..)| *schema_name == choice.name);
        if let Some((_, type_name, prefix)) = public {
            choice_type(schema, choice, type_name, prefix, &mut code);
        }
    }
    code.finish()
}

fn choice_type(schema: &Schema, choice: &Choice, type_name: &str, prefix: &str, code: &mut Code) {
    let is_open = choice.open.as_ref().is_some_and(|open| open.ends_with("that only a newer server knows"));
    let newer = if is_open { " A newer server may send others; their String is \"unknown\"." } else { "" };
    code.lines("");
    code.comment(&format!("{type_name} says {}{newer}", lowered(&sentence(&choice.doc))));
    code.lines(&format!("type {type_name} uint8\n\n// The values of {type_name}.\nconst ("));
    for value in &choice.values {
        let constant = constant(choice, value, prefix);
        code.comment(&documented(schema, &constant, &value.doc));
        code.lines(&format!("{constant} {type_name} = {}", value.number));
    }
    let names: Vec<String> = choice.values.iter().map(|value| quoted(&shown(choice, value))).collect();
    let variable = format!("{}Names", with_small_letter(type_name));
    code.lines(&format!(
        ")\n\nvar {variable} = [...]string{{{}}}\n\n\
         func (v {type_name}) String() string {{\nif int(v) < len({variable}) {{\nreturn {variable}[v]\n}}\nreturn \"unknown\"\n}}",
        names.join(", ")
    ));
}

fn constant(choice: &Choice, value: &ChoiceValue, prefix: &str) -> String {
    match (choice.name.as_str(), value.name.as_str()) {
        // Its name from before there was a schema.
        ("buried", "consumer") => "BuriedByWorker".to_owned(),
        (_, value) => format!("{prefix}{}", name(value)),
    }
}

fn shown(choice: &Choice, value: &ChoiceValue) -> String {
    match (choice.name.as_str(), value.name.as_str()) {
        ("buried", "consumer") => "buried by a worker".to_owned(),
        (_, value) => value.replace('_', " "),
    }
}

pub(super) fn codes(schema: &Schema) -> String {
    let mut code = Code::file("adjourn", &[]);
    code.lines("");
    code.comment(
        "The codes of the protocol. A newer server may send others: decide about them by [Error.Retryable] and \
         [Error.Applied].",
    );
    code.lines("const (");
    for error in &schema.errors {
        let constant = format!("Err{}", name(&error.name));
        code.comment(&format!("{} {}", documented(schema, &constant, &error.doc), sentence(&error.remedy)));
        code.lines(&format!("{constant} Code = {}", error.number));
    }
    code.lines(")\n\n// codes has what is known of each code of this version.\nvar codes = [...]codeEntry{");
    let rows = schema.errors.iter().map(|error| {
        let retryable = if error.is_retryable { ", retryable: true" } else { "" };
        let texts = [&error.name, &error.doc, &error.remedy].map(|text| quoted(&without_links(text)));
        let [error_name, meaning, remedy] = texts;
        (
            format!("Err{}:", name(&error.name)),
            format!("{{name: {error_name}, meaning: {meaning}, remedy: {remedy}{retryable}}},"),
        )
    });
    code.rows(&rows.collect::<Vec<_>>());
    code.lines("}");
    code.finish()
}
