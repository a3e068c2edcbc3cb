//! The text of a file of tokens with one token added or removed. Everything else in it stays as it was, comments included.
//!
//! The result is parsed before it is used. If it is not as expected, as with a file that is written in an unusual way, the
//! tokens are written from scratch and the comments are lost.

use std::path::Path;

use adjourn_server::tokens::{TokenEntry, TokenFile, TokenName};

/// The beginning of a new file.
const HEAD: &str = "\
# The tokens of a queue. `adjourn token` changes this file; a server that uses it notices within two seconds. It has hashes of the
# secrets, no secrets. Comments stay; one right above a token goes with it.
";
/// The first line of a token.
const BEGIN: &str = "[[token]]";
/// The text of a file without tokens. A running server then admits no client; it takes an empty file for a mistake.
const NONE: &str = "token = []";

/// Adds a token.
pub(super) fn with(text: &str, file: &TokenFile, entry: TokenEntry) -> Result<String, toml::ser::Error> {
    let before: String = text.split_inclusive('\n').filter(|line| line.trim() != NONE).collect();
    let before = if text.is_empty() { HEAD } else { before.as_str() };
    let gap = ["", "\n"].into_iter().find(|gap| format!("{before}{gap}").ends_with("\n\n")).unwrap_or("\n\n");
    let added = TokenFile { tokens: vec![entry.clone()] };
    let made = format!("{before}{gap}{}", toml::to_string(&added)?);
    let wanted = TokenFile { tokens: file.tokens.iter().cloned().chain([entry]).collect() };
    made_or_anew(made, &wanted)
}

/// Removes the token of this name.
pub(super) fn without(text: &str, file: &TokenFile, name: &TokenName) -> Result<String, toml::ser::Error> {
    let begins = begins(text);
    let mut kept = begins.first().and_then(|first| text.get(..*first)).unwrap_or_default().to_owned();
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    for ((begin, end), token) in begins.iter().zip(ends).zip(&file.tokens) {
        if token.name != *name {
            kept.push_str(text.get(*begin..end).unwrap_or_default());
        }
    }
    let mut wanted = file.clone();
    wanted.tokens.retain(|token| token.name != *name);
    if wanted.tokens.is_empty() {
        kept.push_str(NONE);
        kept.push('\n');
    }
    made_or_anew(kept, &wanted)
}

/// The offset of each token, with the comment directly above it.
fn begins(text: &str) -> Vec<usize> {
    let (mut at, mut comment, mut begins) = (0, None, Vec::new());
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with(BEGIN) {
            begins.push(comment.unwrap_or(at));
        }
        comment = line.trim_start().starts_with('#').then(|| comment.unwrap_or(at));
        at += line.len();
    }
    begins
}

fn made_or_anew(made: String, wanted: &TokenFile) -> Result<String, toml::ser::Error> {
    let is_right = TokenFile::parse(&made, Path::new("")).is_ok_and(|found| found == *wanted);
    if is_right { Ok(made) } else { Ok(format!("{HEAD}\n{}", toml::to_string(wanted)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_server::tokens::{Limits, SecretHash, Text};

    fn entry(name: &str) -> TokenEntry {
        TokenEntry {
            name: name.parse().expect("a name"),
            sha256: SecretHash::of(name.as_bytes()),
            allow: vec![Text("push:a".parse().expect("a grant"))],
            expires: None,
            limits: Limits { connections: Some(3), ..Limits::default() },
        }
    }

    fn parsed(text: &str) -> TokenFile {
        TokenFile::parse(text, Path::new("tokens.toml")).expect(text)
    }

    fn add(text: &str, name: &str) -> String {
        with(text, &parsed(text), entry(name)).expect("added")
    }

    fn remove(text: &str, name: &str) -> String {
        without(text, &parsed(text), &name.parse().expect("a name")).expect("removed")
    }

    #[test]
    fn comments_stay_and_one_right_above_a_token_goes_with_it() {
        let one = add("# Ours.\n\n# For the shop.", "shop");
        let two = add(&one.replace("# For the shop.\n\n", "# For the shop.\n"), "mail");
        let three = add(
            &two.replace(
                "\n[[token]]\nname = \"mail\"",
                "\n# For mail: ask Ann.\n[[token]]\nname = \"mail\"",
            ),
            "ops",
        );
        assert_eq!(parsed(&three).tokens, [entry("shop"), entry("mail"), entry("ops")]);
        assert!(three.starts_with("# Ours.\n\n# For the shop.\n[[token]]\n"), "{three}");
        let fewer = remove(&three, "mail");
        assert_eq!(parsed(&fewer).tokens, [entry("shop"), entry("ops")]);
        assert!(fewer.contains("# For the shop.") && !fewer.contains("Ann"), "{fewer}");
        let last = remove(&remove(&fewer, "shop"), "ops");
        assert_eq!(last, "# Ours.\n\ntoken = []\n");
        let again = add(&last, "again");
        assert_eq!(parsed(&again).tokens, [entry("again")]);
        assert!(again.starts_with("# Ours.\n\n[[token]]"), "{again}");
    }

    #[test]
    fn a_file_that_is_written_in_an_unusual_way_is_written_anew() {
        let usual = add(&add("", "shop"), "mail");
        assert!(usual.starts_with(HEAD));
        let listed: Vec<String> = [entry("shop"), entry("mail")]
            .iter()
            .map(|token| {
                format!(
                    "{{ name = \"{}\", sha256 = \"{}\", allow = [\"push:a\"], limits.connections = 3 }}",
                    token.name, token.sha256
                )
            })
            .collect();
        let unusual = format!("token = [{}]\n", listed.join(", "));
        assert_eq!(parsed(&unusual), parsed(&usual));
        assert_eq!(parsed(&add(&unusual, "ops")).tokens, [entry("shop"), entry("mail"), entry("ops")]);
        assert_eq!(parsed(&remove(&unusual, "shop")).tokens, [entry("mail")]);
        // A name that looks like a token's beginning.
        let odd = usual.replace("\"push:a\"", "\"push:a\", '''\n[[token]]\n'''");
        assert!(TokenFile::parse(&odd, Path::new("")).is_err(), "no grant");
        assert_eq!(parsed(&add("token = []\n", "ops")).tokens, [entry("ops")]);
    }
}
