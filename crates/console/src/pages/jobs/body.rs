//! A job's body as a page shows it: as JSON, as text, or byte by byte.

use std::fmt::Write as _;

use adjourn_json::media_type;
use serde::de::IgnoredAny;

/// Bytes of a body that a page shows.
const SHOWN_MAX: usize = 64 << 10;
/// Deeper JSON is indented no further: each level makes every line longer.
const INDENTED_MAX: usize = 16;
/// Bytes in a line of the hexadecimal form.
const HEX_LINE: usize = 16;

/// A body as the page shows it.
pub(super) struct ShownBody {
    /// `json`, `text` or `hex`.
    pub(super) form: &'static str,
    pub(super) text: String,
    /// True if the page shows only its beginning.
    pub(super) is_cut: bool,
    /// The body as a form can take and give it back; `None` if a form would change it.
    pub(super) editable: Option<String>,
}

impl ShownBody {
    /// The body in the form that is asked for, or in the one that fits it.
    pub(super) fn of(body: &[u8], content_type: &str, asked: &str) -> Self {
        let is_cut = body.len() > SHOWN_MAX;
        let start = body.get(..SHOWN_MAX).unwrap_or(body);
        let whole = str::from_utf8(body).ok();
        let is_json = !is_cut && serde_json::from_slice::<IgnoredAny>(body).is_ok();
        let says_json =
            media_type(content_type).ends_with("json") || body.starts_with(b"{") || body.starts_with(b"[");
        let form = match asked {
            "hex" => "hex",
            "json" if is_json => "json",
            "text" | "json" => "text",
            _ if whole.is_none() => "hex",
            _ if is_json && says_json => "json",
            _ => "text",
        };
        let text = match (form, whole) {
            ("hex", _) => hex(start),
            ("json", Some(json)) => indented(json),
            _ => String::from_utf8_lossy(start).into_owned(),
        };
        // A form has no other ends of lines than its own, and no NUL.
        let editable = whole.filter(|text| !is_cut && !text.contains(['\r', '\0'])).map(str::to_owned);
        Self { form, text, is_cut, editable }
    }
}

/// JSON with a line for each value. Nothing but the space between the values changes: neither numbers nor the order of fields.
fn indented(json: &str) -> String {
    let mut text = String::with_capacity(json.len() * 2);
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    let mut rest = json.chars().peekable();
    while let Some(one) = rest.next() {
        if is_text {
            text.push(one);
            is_text = is_escaped || one != '"';
            is_escaped = !is_escaped && one == '\\';
            continue;
        }
        match one {
            ' ' | '\n' | '\r' | '\t' => {}
            '{' | '[' => {
                text.push(one);
                while rest.next_if(char::is_ascii_whitespace).is_some() {}
                if let Some(end) = rest.next_if(|next| ['}', ']'].contains(next)) {
                    text.push(end);
                } else {
                    depth += 1;
                    new_line(&mut text, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut text, depth);
                text.push(one);
            }
            ',' => {
                text.push(one);
                new_line(&mut text, depth);
            }
            ':' => text.push_str(": "),
            one => {
                is_text = one == '"';
                text.push(one);
            }
        }
    }
    text
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth.min(INDENTED_MAX)));
}

/// Bytes as people look at them: the offset, the bytes, and the characters among them.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 5);
    for (line, chunk) in bytes.chunks(HEX_LINE).enumerate() {
        let _ = write!(text, "{:08x} ", line * HEX_LINE);
        for place in 0..HEX_LINE {
            let _ = match chunk.get(place) {
                Some(byte) => write!(text, " {byte:02x}"),
                None => write!(text, "   "),
            };
        }
        text.push_str("  ");
        text.extend(chunk.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' }));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_shown_as_what_it_is() {
        let shown = |body: &[u8], kind: &str, asked: &str| {
            let shown = ShownBody::of(body, kind, asked);
            (shown.form, shown.text)
        };
        assert_eq!(shown(b"{\"a\":1}", "application/json", ""), ("json", "{\n  \"a\": 1\n}".to_owned()));
        assert_eq!(shown(b"hello", "", ""), ("text", "hello".to_owned()));
        assert_eq!(shown(b"{\"a\":1}", "", "text").1, "{\"a\":1}");
        let line = "00000000  ff 41                                            .A\n";
        assert_eq!(shown(b"\xffA", "", ""), ("hex", line.to_owned()));
        let large = ShownBody::of(&vec![b'x'; SHOWN_MAX + 1], "", "");
        assert!(large.is_cut && large.text.len() == SHOWN_MAX && large.editable.is_none());
        let editable = |body: &[u8]| ShownBody::of(body, "", "json").editable;
        assert_eq!(editable(b"\n{\"b\":1.10}").as_deref(), Some("\n{\"b\":1.10}"));
        assert!(editable(b"a\r\nb").is_none() && editable(b"\xff").is_none() && editable(b"\0").is_none());
    }

    #[test]
    fn indented_json_is_the_same_json() {
        let json = r#"{"z":1,"a":[12345678901234567890123,1.10,[],{ },{"x":"a,\"{b}\\"}],"":null}"#;
        let shown = indented(json);
        assert_eq!(shown.lines().count(), 13, "{shown}");
        let without = |text: &str| text.chars().filter(|one| !one.is_whitespace()).collect::<String>();
        assert_eq!(without(&shown), without(json));
        assert!(shown.contains("\n    1.10,\n    [],\n    {},\n"), "{shown}");
    }

    #[test]
    fn deep_json_stays_small() {
        let deep = "[".repeat(SHOWN_MAX / 2) + &"]".repeat(SHOWN_MAX / 2);
        let shown = ShownBody::of(deep.as_bytes(), "", "");
        assert_eq!(shown.form, "json");
        assert!(shown.text.len() < SHOWN_MAX * 40, "{} bytes", shown.text.len());
    }
}
