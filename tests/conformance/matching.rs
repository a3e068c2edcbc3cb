//! Whether an answer is what a scenario expects.

use std::collections::BTreeMap;

use serde_json::Value;

/// How `found` differs from `expected`, which may leave out fields of objects.
///
/// Two texts stand for more than themselves: `"*"` is anything, `">7"` a number greater than 7.
pub(crate) fn differs(expected: &Value, found: &Value) -> Option<String> {
    differs_at("", expected, found)
}

fn differs_at(path: &str, expected: &Value, found: &Value) -> Option<String> {
    match (expected, found) {
        (Value::String(text), _) if text == "*" && !found.is_null() => None,
        (Value::String(text), Value::String(number)) if text.starts_with('>') => {
            let bound = text.get(1..).unwrap_or_default().parse::<u64>();
            let is_greater = bound.ok().zip(number.parse().ok()).is_some_and(|(bound, found)| bound < found);
            (!is_greater).then(|| format!("{path}: {found} is not {text}"))
        }
        (Value::Object(fields), Value::Object(_)) => fields.iter().find_map(|(name, value)| {
            differs_at(&format!("{path}.{name}"), value, found.get(name).unwrap_or(&Value::Null))
        }),
        (Value::Array(items), Value::Array(others)) => {
            let length = (items.len() != others.len())
                .then(|| format!("{path}: {} items instead of {}", others.len(), items.len()));
            let mut pairs = items.iter().zip(others).enumerate();
            length.or_else(|| {
                pairs.find_map(|(at, (item, other))| differs_at(&format!("{path}.{at}"), item, other))
            })
        }
        _ => (expected != found).then(|| format!("{path}: {found} instead of {expected}")),
    }
}

/// The value at a path like `results.0.job`.
pub(crate) fn at_path<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    })
}

/// Puts saved values where a text is `$name` or `>$name`.
pub(crate) fn filled_in(value: &Value, saved: &BTreeMap<String, Value>) -> Value {
    match value {
        Value::String(text) => {
            if let Some(value) = text.strip_prefix('$').and_then(|name| saved.get(name)) {
                return value.clone();
            }
            let bound = text.strip_prefix(">$").and_then(|name| saved.get(name)?.as_str());
            bound.map_or_else(|| value.clone(), |bound| Value::String(format!(">{bound}")))
        }
        Value::Array(items) => items.iter().map(|item| filled_in(item, saved)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), filled_in(value, saved))).collect()
        }
        other => other.clone(),
    }
}
