//! The types of configuration values. Each validates itself, whether it comes from the file, from the environment or
//! from a flag, and its error names the expected form.

use std::fmt;
use std::str::FromStr;

use jiff::tz::TimeZone;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use adjourn_json::NONE;
use adjourn_json::values::backoff;
use adjourn_types::limits::PEER_ADDRESS_BYTES_MAX;
use adjourn_types::{Backoff, is_host_and_port};

/// Longest server name, in bytes.
pub(super) const SERVER_NAME_BYTES_MAX: usize = 64;

/// The lowest limit of memory: an empty node takes about 20 MiB.
const MEMORY_BYTES_MIN: u64 = 32 << 20;

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within<const MIN: u64, const MAX: u64>(u64);

/// A limit of memory, in bytes; 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBytes(pub u64);

/// An address: a host name or an IP address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort(pub String);

/// An address, or nothing when it is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaybeHostPort(pub Option<String>);

/// The name of a host, in small letters: no port, and no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(pub String);

/// The origin of pages, as browsers write it: in small letters, and without the usual port of its scheme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(pub String);

/// What a server calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerName(pub String);

/// A time zone, or the system's when its name is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneName(pub Option<TimeZone>);

/// A number of attempts; `None` for `none`: without a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempts(pub Option<u32>);

/// Waits between attempts, as `adjourn push --backoff` takes them; `None` for `none`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits(pub Option<Backoff>);

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Errors that end the process or lose something.
    Error,
    /// Also what an operator should look at.
    Warn,
    /// Also start, stop and changes of the leader.
    Info,
    /// Also connections.
    Debug,
    /// Everything.
    Trace,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What moves the queue's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockChoice {
    /// The machine.
    Real,
    /// Tests: it stands still until ADVANCE.
    Manual,
}

/// Why a single value is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueError {
    /// Not a whole number, or not in its range.
    #[error("expected a whole number from {min} to {max}, found {found}{}", unit_advice(.found))]
    Number {
        /// Smallest value that is possible.
        min: u64,
        /// Largest value that is possible.
        max: u64,
        /// The value found.
        found: String,
    },
    /// The process needs more without a single job.
    #[error(
        "{0} is too little, so every push would be refused: set at least {MEMORY_BYTES_MIN} (32 MiB), or 0 for no limit"
    )]
    Memory(u64),
    /// Not an address.
    #[error("expected HOST:PORT, for example 127.0.0.1:7440 or [::1]:7440, found {0:?}")]
    Address(String),
    /// Not a host's name.
    #[error("expected the name of a host without a port, for example queue.example, found {0:?}")]
    HostName(String),
    /// Not one origin.
    #[error(
        "expected the origin of a page, for example https://console.example: a scheme, a host and, if it has one, a port, without \
         a path; * is refused, as it would let every page ask; found {0:?}"
    )]
    Origin(String),
    /// Not a name.
    #[error("a server name has 1 to {SERVER_NAME_BYTES_MAX} bytes without control characters")]
    ServerName,
    /// Not a time zone.
    #[error(
        "expected a time zone that this system knows, as Asia/Shanghai or UTC, found {0:?}: is tzdata installed?"
    )]
    Zone(String),
    /// Not a number of attempts.
    #[error("expected none, or a whole number from 1 to 4294967295, found {0:?}")]
    Attempts(String),
    /// Not a list of waits.
    #[error("expected none, or waits such as 10s, 1s..1h~20% or 10s,30s,2m, found {0:?}")]
    Waits(String),
    /// Not a level.
    #[error("expected error, warn, info, debug or trace, found {0:?}")]
    LogLevel(String),
    /// Not a form.
    #[error("expected text or json, found {0:?}")]
    LogFormat(String),
    /// Not a clock.
    #[error("expected real or manual, found {0:?}")]
    Clock(String),
    /// Not a rule for call-backs.
    #[error("expected allowlist, public_only or open, found {0:?}")]
    Egress(String),
    /// Not a destination.
    #[error("expected a host, *.ENDING, an IP address or a network as 10.0.0.0/8, found {0:?}")]
    Destination(String),
    /// Not a port.
    #[error("expected a port from 1 to 65535, or a range as 8000-8099, found {0:?}")]
    Ports(String),
}

impl<const MIN: u64, const MAX: u64> Within<MIN, MAX> {
    /// The number.
    pub fn as_u64(self) -> u64 {
        self.0
    }

    /// The number. Every range in use fits.
    pub fn as_u32(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }

    /// The number. Every range in use fits.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    fn checked(number: Option<u64>, found: impl fmt::Display) -> Result<Self, ValueError> {
        number.filter(|number| (MIN..=MAX).contains(number)).map(Self).ok_or_else(|| ValueError::Number {
            min: MIN,
            max: MAX,
            found: found.to_string(),
        })
    }
}

impl<const MIN: u64, const MAX: u64> FromStr for Within<MIN, MAX> {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        Self::checked(text.replace('_', "").parse().ok(), format_args!("{text:?}"))
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Within<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let value = toml::Value::deserialize(source)?;
        let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
        Self::checked(number, value).map_err(D::Error::custom)
    }
}

impl MemoryBytes {
    fn checked(limit: Within<0, { 1 << 50 }>) -> Result<Self, ValueError> {
        match limit.0 {
            too_little @ 1..MEMORY_BYTES_MIN => Err(ValueError::Memory(too_little)),
            limit => Ok(Self(limit)),
        }
    }
}

impl FromStr for MemoryBytes {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        text.parse().and_then(Self::checked)
    }
}

impl<'de> Deserialize<'de> for MemoryBytes {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        Self::checked(Within::deserialize(source)?).map_err(D::Error::custom)
    }
}

/// What to write for a number with a unit.
fn unit_advice(found: &str) -> &'static str {
    let text = found.trim_matches('"');
    if text.starts_with(|first: char| first.is_ascii_digit()) && text.ends_with(char::is_alphabetic) {
        ": write the number alone; keys that end in _ms are in milliseconds, those that end in _bytes in bytes"
    } else {
        ""
    }
}

/// The one of some words that is most like another word, if any is: to say what may be meant.
pub fn nearest<'a>(word: &str, words: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// From how like on, of 1, as clap decides it.
    const LIKE: f64 = 0.8;
    let likeness = words.into_iter().map(|known| (strsim::jaro_winkler(word, known), known));
    likeness
        .filter(|(like, _)| *like > LIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known)
}

impl FromStr for HostPort {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let good = is_host_and_port(text) && text.len() <= PEER_ADDRESS_BYTES_MAX;
        if good { Ok(Self(text.to_owned())) } else { Err(ValueError::Address(text.to_owned())) }
    }
}

impl FromStr for MaybeHostPort {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.is_empty() { Ok(Self(None)) } else { text.parse::<HostPort>().map(|it| Self(Some(it.0))) }
    }
}

impl FromStr for HostName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let good = !text.is_empty() && text.len() <= PEER_ADDRESS_BYTES_MAX && text.bytes().all(fits);
        if good { Ok(Self(text.to_ascii_lowercase())) } else { Err(ValueError::HostName(text.to_owned())) }
    }
}

impl FromStr for Origin {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let origin = text.to_ascii_lowercase();
        let parts = match origin.split_once("://") {
            Some(("https", site)) => Some((site, ":443")),
            Some(("http", site)) => Some((site, ":80")),
            _ => None,
        };
        let good = |site: &str| {
            let is_named = site.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte));
            is_named && (is_host_and_port(site) || is_host_and_port(&format!("{site}:1")))
        };
        let Some((_, port)) = parts.filter(|(site, _)| good(site)) else {
            return Err(ValueError::Origin(text.to_owned()));
        };
        Ok(Self(origin.strip_suffix(port).unwrap_or(&origin).to_owned()))
    }
}

impl FromStr for ServerName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let good = (1..=SERVER_NAME_BYTES_MAX).contains(&text.len()) && !text.chars().any(char::is_control);
        if good { Ok(Self(text.to_owned())) } else { Err(ValueError::ServerName) }
    }
}

impl FromStr for ZoneName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        TimeZone::get(text).map(|zone| Self(Some(zone))).map_err(|_| ValueError::Zone(text.to_owned()))
    }
}

impl FromStr for Attempts {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text == NONE {
            return Ok(Self(None));
        }
        let attempts = text.parse().ok().filter(|attempts| *attempts > 0);
        attempts.map(|attempts| Self(Some(attempts))).ok_or_else(|| ValueError::Attempts(text.to_owned()))
    }
}

/// A number, or `none`.
impl<'de> Deserialize<'de> for Attempts {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum NumberOrText {
            Number(i64),
            Text(String),
        }
        let text = match NumberOrText::deserialize(source)? {
            NumberOrText::Number(number) => number.to_string(),
            NumberOrText::Text(text) => text,
        };
        text.parse().map_err(D::Error::custom)
    }
}

impl FromStr for Waits {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if text == NONE {
            return Ok(Self(None));
        }
        let waits = backoff(text).map_err(|_| ValueError::Waits(text.to_owned()))?;
        Ok(Self(Some(waits)))
    }
}

impl LogLevel {
    /// Its name, as it is configured.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl FromStr for LogLevel {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        [Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace]
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| ValueError::LogLevel(text.to_owned()))
    }
}

impl FromStr for LogFormat {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(ValueError::LogFormat(text.to_owned())),
        }
    }
}

impl FromStr for ClockChoice {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "real" => Ok(Self::Real),
            "manual" => Ok(Self::Manual),
            _ => Err(ValueError::Clock(text.to_owned())),
        }
    }
}

macro_rules! read_from_text {
    ($($name:ident),+) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
                String::deserialize(source)?.parse().map_err(D::Error::custom)
            }
        }
    )+};
}
pub(super) use read_from_text;

read_from_text!(HostPort, MaybeHostPort, HostName, Origin, ServerName, ZoneName, Waits, LogLevel, LogFormat);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_to_their_range() {
        type Small = Within<1, 1000>;
        assert_eq!("1_000".parse::<Small>().map(Small::as_u64), Ok(1000));
        for bad in ["0", "1001", "-1", "", "ten", "1.5", "99999999999999999999"] {
            let error = bad.parse::<Small>().expect_err("out of range").to_string();
            assert_eq!(error, format!("expected a whole number from 1 to 1000, found {bad:?}"));
        }
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for good in ["127.0.0.1:7440", "[::1]:0", "queue.example:65535", "localhost:7440"] {
            assert_eq!(good.parse(), Ok(HostPort(good.to_owned())));
        }
        for bad in ["", "127.0.0.1", ":7440", "a:b", "a:65536", "::1:7440", "a:-1"] {
            assert_eq!(bad.parse::<HostPort>(), Err(ValueError::Address(bad.to_owned())));
        }
        assert_eq!("".parse(), Ok(MaybeHostPort(None)));
    }

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        for (said, sent) in [
            ("https://console.example", "https://console.example"),
            ("HTTPS://Console.Example:443", "https://console.example"),
            ("http://localhost:80", "http://localhost"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("https://[::1]:8443", "https://[::1]:8443"),
            ("https://[::1]", "https://[::1]"),
            ("https://10.0.0.1", "https://10.0.0.1"),
        ] {
            assert_eq!(said.parse(), Ok(Origin(sent.to_owned())), "{said}");
        }
        for bad in [
            "",
            "*",
            "null",
            "console.example",
            "https://",
            "https://*",
            "https://*.example",
            "https://console.example/",
            "https://console.example/app",
            "https://me@console.example",
            "https://console.example?x",
            "https://console.example:port",
            "ftp://console.example",
            "https://a, https://b",
        ] {
            assert_eq!(bad.parse::<Origin>(), Err(ValueError::Origin(bad.to_owned())), "{bad}");
        }
    }

    #[test]
    fn names_of_hosts_have_no_port() {
        assert_eq!("Queue.Example".parse(), Ok(HostName("queue.example".to_owned())));
        for bad in ["", "queue:7480", "http://queue", "*.example", "[::1]", "a b"] {
            assert_eq!(bad.parse::<HostName>(), Err(ValueError::HostName(bad.to_owned())));
        }
    }
}
