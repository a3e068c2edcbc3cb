//! The file of tokens.
//!
//! ```toml
//! [[token]]
//! name = "shop"
//! sha256 = "0b5e…"                       # of the secret, which is not stored
//! allow = ["push:orders.*", "read"]      # see Grant
//! expires = "2027-01-31T00:00:00Z"       # never, if it is left out
//!
//! [token.limits]                         # none, for each that is left out
//! connections = 100
//! ```
//!
//! It is not part of the replicated state: a new cluster would need a token before the first one exists, and backups would
//! contain tokens. Each node reads a file of its own; give all members the same.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::Timestamp;
use ring::digest::{SHA256, digest};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::super::config::toml_reason;
use super::super::entropy::{self, NoEntropy};
use adjourn_types::{Grant, Millis};

/// The content of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenFile {
    /// The tokens, in their order.
    #[serde(default, rename = "token")]
    pub tokens: Vec<TokenEntry>,
}

/// One token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// The name, which is used in logs and to revoke it.
    pub name: TokenName,
    /// The hash of its secret.
    pub sha256: SecretHash,
    /// The rights that it grants.
    pub allow: Vec<Text<Grant>>,
    /// When it expires; `None` for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Text<Timestamp>>,
    /// The limits of its use.
    #[serde(default, skip_serializing_if = "Limits::are_none")]
    pub limits: Limits,
}

/// How much a token may do, on this node. What is not set is not limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::Args)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Most connections at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// Most sessions at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
    /// Most topics that it may push to or manage; beyond that it creates none
    #[arg(long, value_name = "N")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topics: Option<u32>,
    /// Requests per second; further ones wait
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests_per_second: Option<u32>,
    /// Pushed jobs a second; more are refused with BUSY
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs_per_second: Option<u32>,
    /// Bytes of pushed bodies a second; more are refused with BUSY
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_second: Option<u32>,
    /// Largest body, in bytes
    #[arg(long, value_name = "BYTES")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u32>,
}

/// The name of a token: 1 to 64 of `A-Z a-z 0-9 . _ -`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TokenName(String);

/// A SHA-256 of a secret, written in hex.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretHash([u8; 32]);

/// A value that the file has as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<T>(pub T);

/// Why a file of tokens cannot be used, or a text in it.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    #[error("cannot read the tokens in {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A key is unknown, or a value is impossible. The text names the line, but does not show it: it may contain a secret.
    #[error("{}, line {line}: {reason}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The reason, without the values.
        reason: String,
    },
    /// Two tokens have one name.
    #[error("{}: two tokens are called {name}: names must be unique", path.display())]
    Twice {
        /// The file.
        path: PathBuf,
        /// The name.
        name: TokenName,
    },
    /// Two tokens have one secret.
    #[error("{}: the tokens {one} and {other} have the same sha256: secrets must be unique", path.display())]
    SameSecret {
        /// The file.
        path: PathBuf,
        /// One of them.
        one: TokenName,
        /// The other one.
        other: TokenName,
    },
    /// Not a name.
    #[error("a token's name has 1 to {TOKEN_NAME_BYTES_MAX} characters of A-Z a-z 0-9 . _ -, found {0:?}")]
    Name(String),
    /// Not a hash.
    #[error("expected the SHA-256 of a secret, 64 hex digits")]
    Hash,
}

/// Longest name of a token, in bytes.
const TOKEN_NAME_BYTES_MAX: usize = 64;
/// The prefix of every secret, by which a secret that is found somewhere can be recognized.
const SECRET_PREFIX: &str = "adjourn_";

/// A secret that cannot be guessed: 256 random bits.
pub fn new_secret() -> Result<String, NoEntropy> {
    let drawn: [u8; 32] = entropy::draw()?;
    Ok(format!("{SECRET_PREFIX}{}", Hex(&drawn)))
}

/// Bytes in hex.
struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl TokenFile {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let text = std::fs::read_to_string(path);
        Self::parse(&text.map_err(|source| TokenError::Unreadable { path: path.to_owned(), source })?, path)
    }

    /// Decodes the text of this file.
    pub fn parse(text: &str, path: &Path) -> Result<Self, TokenError> {
        let file: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let (line, reason) = (before.matches('\n').count() + 1, without_values(&toml_reason(&error)));
            TokenError::Wrong { path: path.to_owned(), line, reason }
        })?;
        let mut tokens: Vec<&TokenEntry> = file.tokens.iter().collect();
        tokens.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        if let Some([one, _]) = tokens.array_windows().find(|[one, other]| one.name == other.name) {
            return Err(TokenError::Twice { path: path.to_owned(), name: one.name.clone() });
        }
        tokens.sort_by_key(|token| token.sha256);
        if let Some([one, other]) = tokens.array_windows().find(|[one, other]| one.sha256 == other.sha256) {
            let (one, other) = (one.name.clone(), other.name.clone());
            return Err(TokenError::SameSecret { path: path.to_owned(), one, other });
        }
        Ok(file)
    }
}

/// Removes quoted values, and what looks like a secret, from a reason.
fn without_values(reason: &str) -> String {
    let parts = reason.split('"').enumerate();
    let reason: String = parts.map(|(at, part)| if at % 2 == 0 { part } else { "\"...\"" }).collect();
    let mut pieces = reason.split(SECRET_PREFIX);
    let mut shown = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        shown.push_str(SECRET_PREFIX);
        shown.push_str("...");
        shown.push_str(piece.trim_start_matches(|character: char| character.is_ascii_alphanumeric()));
    }
    shown
}

impl TokenEntry {
    /// True if it has expired.
    pub fn has_expired(&self, now: Millis) -> bool {
        let expires =
            self.expires.as_ref().map(|expires| u64::try_from(expires.0.as_millisecond()).unwrap_or(0));
        expires.is_some_and(|expires| expires <= now.0)
    }
}

impl Limits {
    fn are_none(&self) -> bool {
        *self == Self::default()
    }
}

impl SecretHash {
    /// The hash of a secret.
    pub fn of(secret: &[u8]) -> Self {
        let hash = digest(&SHA256, secret);
        Self(hash.as_ref().first_chunk().copied().unwrap_or_default())
    }

    /// True if both are the same. Takes the same time wherever they differ.
    pub fn matches(&self, other: &Self) -> bool {
        let differences =
            self.0.iter().zip(other.0).fold(0, |differences, (one, other)| differences | (one ^ other));
        std::hint::black_box(differences) == 0
    }
}

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash(..)")
    }
}

impl fmt::Display for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Hex(&self.0).fmt(f)
    }
}

impl FromStr for SecretHash {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let mut hash = [0; 32];
        let is_hex = text.len() == 2 * hash.len() && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_hex {
            return Err(TokenError::Hash);
        }
        for (byte, digits) in hash.iter_mut().zip(text.as_bytes().as_chunks::<2>().0) {
            let digits = std::str::from_utf8(digits).map_err(|_| TokenError::Hash)?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| TokenError::Hash)?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for TokenName {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Self, TokenError> {
        let is_name = (1..=TOKEN_NAME_BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if is_name { Ok(Self(text.to_owned())) } else { Err(TokenError::Name(text.to_owned())) }
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        String::deserialize(source)?.parse().map(Self).map_err(D::Error::custom)
    }
}

impl<T: fmt::Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(&self.0)
    }
}

macro_rules! written_as_text {
    ($($name:ident),+) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                Text::deserialize(source).map(|text| text.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.collect_str(self)
            }
        }
    )+};
}

written_as_text!(TokenName, SecretHash);

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"
[[token]]
name = "shop"
sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
allow = ["push:orders.*", "read"]
expires = "2027-01-31T00:00:00Z"

[token.limits]
connections = 100

[[token]]
name = "mail"
sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
allow = ["consume:mail"]
"#;

    fn read(text: &str) -> Result<TokenFile, TokenError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens.toml");
        std::fs::write(&path, text).expect("written");
        TokenFile::read(&path)
    }

    #[test]
    fn a_file_is_read_as_it_is_written() {
        let file = read(WHOLE).expect("tokens");
        let [shop, mail] = file.tokens.as_slice() else { panic!("{file:?}") };
        assert!(shop.sha256.matches(&SecretHash::of(b"secret")) && !mail.sha256.matches(&shop.sha256));
        assert_eq!((shop.limits.connections, mail.limits.connections), (Some(100), None));
        let expires = Millis(1_801_353_600_000);
        assert!(shop.has_expired(expires) && !shop.has_expired(Millis(expires.0 - 1)));
        assert!(!mail.has_expired(Millis(u64::MAX)));
        assert_eq!(read(&toml::to_string(&file).expect("written")).expect("read"), file);
        assert!(!format!("{file:?}").contains("2bb8"), "hashes are not logged");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        for (from, to, reason) in [
            ("push:orders.*", "write:orders.*", "expected push, consume, read, manage or admin"),
            ("2bb8", "2bb", "64 hex digits"),
            ("2bb8", "2bbx", "64 hex digits"),
            ("\"shop\"", "\"a shop\"", "a token's name has"),
            ("2027-01-31T", "some day ", "integer as year"),
            ("connections", "conections", "do you mean connections?"),
            ("sha256", "sha257", "there is no key sha257: do you mean sha256?"),
            ("\"mail\"", "\"shop\"", "two tokens are called shop"),
        ] {
            let error = read(&WHOLE.replacen(from, to, 1)).expect_err(reason).to_string();
            assert!(error.contains(reason) && error.contains("tokens.toml"), "{error}");
            assert!(error.contains("line") || error.contains("two"), "{error}");
        }
        let wrong = read(&WHOLE.replace("\"mail\"", "1")).expect_err("no name");
        assert!(
            wrong.to_string().contains("tokens.toml, line 12: expected a text in quotation marks, found 1"),
            "{wrong}"
        );
        assert!(read("").expect("none").tokens.is_empty());
    }

    #[test]
    fn each_token_has_a_secret_of_its_own() {
        let hash = SecretHash::of(b"secret").to_string();
        let error = read(&WHOLE.replace(&"0".repeat(64), &hash)).expect_err("refused").to_string();
        assert!(error.contains("the tokens mail and shop have the same sha256"), "{error}");
    }

    #[test]
    fn a_secret_that_somebody_put_into_the_file_is_not_shown() {
        let secret = new_secret().expect("drawn");
        let hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
        for (from, to) in [
            (hash, secret.clone()),
            ("\"shop\"", format!("\"{secret}\"")),
            ("\"shop\"", secret.clone()),
            ("[\"push:orders.*\", \"read\"]", format!("\"{secret}\"")),
            ("\"read\"", format!("\"{secret}\"")),
            ("\"read\"", format!("\"read:{secret}*x\"")),
            ("allow", secret.clone()),
            ("\"2027", format!("\"{secret}")),
            ("100", format!("\"{secret}\"")),
            ("[[token]]", secret.clone()),
        ] {
            let error = read(&WHOLE.replacen(from, &to, 1)).expect_err(&to);
            for shown in [error.to_string(), format!("{error:?}")] {
                assert!(!shown.contains(&secret[SECRET_PREFIX.len()..]), "{to}: {shown}");
                assert!(shown.contains("line"), "{shown}");
            }
        }
    }
}
