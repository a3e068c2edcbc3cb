//! What serde says is wrong, in the words of the API: expected ..., found ...

/// A name has a value more than once.
pub(super) const TWICE: &str = "it is given more than once: give it once";

/// The field that a message of serde names, if it names one, and what is wrong.
pub(super) fn of(message: &str) -> (Option<String>, String) {
    let quoted = |rest: &str| rest.split('`').nth(1).unwrap_or_default().to_owned();
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return (Some(quoted(rest)), no_such("field", &quoted(rest), &choices(rest)));
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        return (Some(quoted(rest)), "it is missing".to_owned());
    }
    if let Some(rest) = message.strip_prefix("duplicate field ") {
        return (Some(quoted(rest)), TWICE.to_owned());
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let expected = choices(rest).join(", ");
        return (None, format!("expected one of {expected}, found {:?}", quoted(rest)));
    }
    let of_type = message.strip_prefix("invalid type: ").or(message.strip_prefix("invalid value: "));
    if let Some((found, expected)) = of_type.and_then(|rest| rest.rsplit_once(", expected ")) {
        return (None, format!("expected {}, found {}", wanted(expected), plain(found)));
    }
    (None, message.to_owned())
}

/// A longer name is like none that is known.
const NAME_BYTES_MAX: usize = 64;

/// Says that there is no field or parameter of this name, and names the known one that is most like it.
pub(super) fn no_such(what: &str, name: &str, known: &[&str]) -> String {
    let is_short = name.len() <= NAME_BYTES_MAX;
    // A much shorter name is like every longer one that begins with it.
    let alike = known.iter().copied().filter(|known| is_short && known.len() * 2 > name.len());
    match (adjourn_server::config::nearest(name, alike), known) {
        (Some(meant), _) => format!("there is no such {what}: is {meant} meant?"),
        (None, []) => format!("there is no such {what} here"),
        (None, [only]) => format!("there is no such {what}: there is only {only}"),
        (None, known) => format!("there is no such {what}: there are {}", known.join(", ")),
    }
}

/// The names behind `expected`.
fn choices(rest: &str) -> Vec<&str> {
    let listed = rest.split_once(", expected ").map_or("", |(_, listed)| listed);
    listed.split('`').skip(1).step_by(2).collect()
}

/// What serde expects, in the words of JSON.
fn wanted(expected: &str) -> &str {
    match expected {
        "a map" => "an object",
        "a sequence" => "a list",
        "a string" | "a borrowed string" => "a text",
        "a boolean" => "true or false",
        expected => expected,
    }
}

/// A value as serde shows it, in the words of JSON.
fn plain(found: &str) -> String {
    for (theirs, ours) in [("integer", "number"), ("floating point", "number"), ("string", "text")] {
        if let Some(value) = found.strip_prefix(theirs).and_then(|rest| rest.strip_prefix(' ')) {
            return format!("the {ours} {}", value.trim_matches('`'));
        }
    }
    match found {
        "map" | "struct" => "an object".to_owned(),
        "sequence" => "a list".to_owned(),
        "unit value" | "Option value" => "null".to_owned(),
        boolean if boolean.starts_with("boolean ") => boolean.trim_start_matches("boolean ").replace('`', ""),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_in_words_of_the_api() {
        for (theirs, field, ours) in [
            ("unknown field `dealy`, expected one of `key`, `delay`", Some("dealy"), "is delay meant?"),
            ("unknown field `x`, expected `url`", Some("x"), "there is only url"),
            ("unknown field `x`, there are no fields", Some("x"), "there is no such field here"),
            ("missing field `url`", Some("url"), "it is missing"),
            ("unknown variant `maybe`, expected `a` or `b`", None, "expected one of a, b, found \"maybe\""),
            ("invalid type: integer `1`, expected a key", None, "expected a key, found the number 1"),
            (
                "invalid type: string \"x\", expected a number",
                None,
                "expected a number, found the text \"x\"",
            ),
            ("invalid type: null, expected a key", None, "expected a key, found null"),
            ("invalid type: boolean `true`, expected a key", None, "expected a key, found true"),
            ("invalid type: map, expected a list", None, "expected a list, found an object"),
            ("invalid type: sequence, expected a map", None, "expected an object, found a list"),
            ("anything else", None, "anything else"),
        ] {
            let (named, detail) = of(theirs);
            assert_eq!(named.as_deref(), field, "{theirs}");
            assert!(detail.ends_with(ours), "{detail}");
        }
    }
}
