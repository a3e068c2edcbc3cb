//! JSON as the package `encoding/json` of Go reads and writes it: the older queue is written in Go.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What Go puts in the place of a byte that is no UTF-8, or of half a surrogate pair.
const REPLACEMENT: char = '\u{fffd}';
const HALF_REPLACED: &str = "\\ufffd";
/// The length of `\u` and four digits.
const ESCAPE_BYTES: usize = 6;

/// A text of JSON in which each byte that is no UTF-8, and each half of a surrogate pair, is replaced as Go does it.
pub(super) fn mended(json: &[u8]) -> Cow<'_, str> {
    let text = if let Ok(text) = std::str::from_utf8(json) {
        Cow::Borrowed(text)
    } else {
        let mut text = String::with_capacity(json.len());
        for chunk in json.utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| REPLACEMENT));
        }
        Cow::Owned(text)
    };
    if text.contains("\\ud") || text.contains("\\uD") { Cow::Owned(with_whole_pairs(&text)) } else { text }
}

/// Replaces each half of a surrogate pair that stands alone.
fn with_whole_pairs(text: &str) -> String {
    let (mut whole, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        whole.push_str(before);
        let (kept, bytes) = match (unit(escape), escape.get(ESCAPE_BYTES..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (escape, 2 * ESCAPE_BYTES),
            (Some(0xd800..=0xdfff), _) => (HALF_REPLACED, ESCAPE_BYTES),
            // What is escaped may be a backslash.
            _ => (escape, 1 + escape.chars().nth(1).map_or(0, char::len_utf8)),
        };
        whole.push_str(kept.get(..bytes).unwrap_or(kept));
        rest = escape.get(bytes..).unwrap_or_default();
    }
    whole + rest
}

/// The unit of UTF-16 with whose escape a text begins.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u16::from_str_radix(digits, 16).ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// A text as a JSON string, with its quotation marks.
pub(crate) fn quoted(text: &[u8]) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => json.push_str("\\\""),
                '\\' => json.push_str("\\\\"),
                '\n' => json.push_str("\\n"),
                '\r' => json.push_str("\\r"),
                '\t' => json.push_str("\\t"),
                // Writing to a text cannot fail.
                '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    let _ = write!(json, "\\u{:04x}", u32::from(character));
                }
                plain => json.push(plain),
            }
        }
        json.extend(chunk.invalid().iter().map(|_| HALF_REPLACED));
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_utf_8_is_replaced_byte_by_byte() {
        for (bytes, text) in [
            (&b"\"\xe8\xae\""[..], "\"\u{fffd}\u{fffd}\""),
            (b"\xff", "\u{fffd}"),
            (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}"),
            (b"a", "a"),
        ] {
            assert_eq!(mended(bytes), text);
        }
    }

    #[test]
    fn half_a_pair_is_replaced() {
        for (text, expected) in [
            (r"\ud83d\ude00", r"\ud83d\ude00"),
            (r"\uD83D\uDE00!", r"\uD83D\uDE00!"),
            (r"a\ud800b", r"a\ufffdb"),
            (r"\ud800\ud83d\ude00", r"\ufffd\ud83d\ude00"),
            (r"\ude00\ud83d", r"\ufffd\ufffd"),
            (r"\ud800\u0041", r"\ufffd\u0041"),
            (r"\\ud800", r"\\ud800"),
            (r"\\\ud800", r"\\\ufffd"),
            (r"\ud80", r"\ud80"),
            (r"\ud+00", r"\ud+00"),
            ("\\\u{fc}\\ud8ff", "\\\u{fc}\\ufffd"),
            (r"\ud800\", r"\ufffd\"),
        ] {
            assert_eq!(mended(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn texts_are_written_to_the_byte() {
        let written = quoted("<a>&\"\\\n\r\t\u{8}\u{c}\u{1f}\u{7f}ü\u{2028}\u{2029}\u{fffd}😀/".as_bytes());
        let expected = "\"\\u003ca\\u003e\\u0026\\\"\\\\\\n\\r\\t\\u0008\\u000c\\u001f\u{7f}ü\\u2028\\u2029\u{fffd}😀/\"";
        assert_eq!(written, expected);
        assert_eq!(quoted(b"\xe8\xaea\xff"), r#""\ufffd\ufffda\ufffd""#);
    }
}
