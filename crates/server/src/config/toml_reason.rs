//! What is wrong with a file in TOML, told to its author: the library speaks of types of Rust.

use super::value::nearest;

/// Why a file cannot be read: the reason of `error`, with what to write.
pub fn toml_reason(error: &toml::de::Error) -> String {
    let message = error.message();
    let type_or_value =
        ["invalid type: ", "invalid value: "].iter().find_map(|kind| message.strip_prefix(kind));
    if let Some((found, expected)) = type_or_value.and_then(|rest| rest.rsplit_once(", expected ")) {
        return format!("expected {}, found {}", form(expected), value(found));
    }
    if let Some((key, known)) = quoted_after(message, "unknown field `") {
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        return match nearest(key, known.iter().copied()) {
            Some(meant) => format!("there is no key {key}: do you mean {meant}?"),
            None => format!("there is no key {key}: expected {}", known.join(", ")),
        };
    }
    if let Some((key, _)) = quoted_after(message, "missing field `") {
        return format!("the key {key} is missing");
    }
    if message.starts_with("invalid ") && message.ends_with(", expected nothing") {
        return "expected a number, or a text in quotation marks".to_owned();
    }
    message.to_owned()
}

/// The error as the library shows it, with the line, and with the reason in our words.
pub(super) fn shown(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let line = text.trim_end().strip_suffix(error.message()).unwrap_or_default();
    format!("{line}{}", toml_reason(error))
}

/// The name that follows `begin`, up to its closing quotation mark, and the rest.
fn quoted_after<'a>(message: &'a str, begin: &str) -> Option<(&'a str, &'a str)> {
    message.strip_prefix(begin)?.split_once('`')
}

/// What is expected, as TOML calls it.
fn form(expected: &str) -> &str {
    match expected {
        "a string" | "path string" => "a text in quotation marks",
        "a boolean" => "true or false",
        "a sequence" => "a list in brackets",
        "u32" | "u64" => "a whole number",
        "a map" => "a table",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// What is there, as TOML writes it: "integer `7`" is 7.
fn value(found: &str) -> &str {
    match found.split_once(' ') {
        None if found == "sequence" => "a list",
        None if found == "map" => "a table",
        Some(("string", text)) => text,
        _ => found.split('`').nth(1).unwrap_or(found),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct File {
        text: String,
        path: PathBuf,
        is_set: bool,
        count: u32,
        list: Vec<String>,
        table: BTreeMap<String, String>,
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are looked at")]
    struct Inner {
        name: String,
    }

    #[test]
    fn reasons_are_told_in_the_words_of_the_file() {
        for (text, reason) in [
            ("text = 7", "expected a text in quotation marks, found 7"),
            ("path = true", "expected a text in quotation marks, found true"),
            ("text = 1.5", "expected a text in quotation marks, found 1.5"),
            ("text = []", "expected a text in quotation marks, found a list"),
            ("text = {}", "expected a text in quotation marks, found a table"),
            ("is_set = \"a, expected b\"", "expected true or false, found \"a, expected b\""),
            ("list = \"a\"", "expected a list in brackets, found \"a\""),
            ("count = \"a\"", "expected a whole number, found \"a\""),
            ("count = -1", "expected a whole number, found -1"),
            ("table = 1", "expected a table, found 1"),
            ("inner = 1", "expected a table, found 1"),
            ("inner = {}", "the key name is missing"),
            ("pahts = 1", "there is no key pahts: do you mean path?"),
            ("colour = 1", "there is no key colour: expected text, path, is_set, count, list, table, inner"),
            ("inner = { size = 1 }", "there is no key size: expected name"),
            ("text = 127.0.0.1:7440", "expected a number, or a text in quotation marks"),
            ("text = here", "string values must be quoted, expected literal string"),
        ] {
            let error = toml::from_str::<File>(text).expect_err(text);
            assert_eq!(toml_reason(&error), reason, "{text}: {error}");
            let whole = shown(&error);
            assert!(whole.contains("at line 1") && whole.ends_with(reason), "{whole}");
        }
    }
}
