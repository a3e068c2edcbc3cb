//! The configuration of call-backs.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::Settings;
use super::value::{ValueError, Within};

/// Size of the log of attempts, if it is not configured.
const LOG_BYTES_DEFAULT: u64 = 64 << 20;

/// The limits and the files of a node's call-backs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallBackConfig {
    /// Which addresses may be called.
    pub egress: Egress,
    /// Destinations that may be called whatever `egress` says, except for those that are always forbidden.
    pub allow: Vec<Allowed>,
    /// Ports that may be called.
    pub ports: Vec<PortRange>,
    /// The CAs that may have signed a destination's certificate; `None` for those that the system knows.
    pub ca: Option<PathBuf>,
    /// The file of the secrets that sign calls.
    pub secrets_file: Option<PathBuf>,
    /// The most that the log of attempts takes on the disk, in bytes.
    pub log_bytes: u64,
    /// Most concurrent calls to the destinations of each reputation, and most connections kept between calls. Not a key: it
    /// is a share of the file descriptors.
    pub calls_per_reputation_max: usize,
}

/// Which addresses may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// Only those in the list.
    Allowlist,
    /// Those of the public internet.
    PublicOnly,
    /// All.
    Open,
}

/// A destination of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// The host of this name.
    Name(String),
    /// All hosts whose name ends with this, which begins with a dot.
    Suffix(String),
    /// All addresses that share their first bits with this one.
    Network {
        /// An address of the network.
        address: IpAddr,
        /// The number of these bits.
        bits: u8,
    },
}

/// Ports from the first to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The first.
    pub first: u16,
    /// The last.
    pub last: u16,
}

impl Default for CallBackConfig {
    fn default() -> Self {
        Self {
            egress: Egress::Allowlist,
            allow: Vec::new(),
            ports: vec![PortRange { first: 80, last: 80 }, PortRange { first: 443, last: 443 }],
            ca: None,
            secrets_file: None,
            log_bytes: LOG_BYTES_DEFAULT,
            calls_per_reputation_max: 2048,
        }
    }
}

impl CallBackConfig {
    /// Sets every key that `settings` has.
    pub(super) fn apply(&mut self, settings: &mut Settings) {
        super::set(&mut self.egress, settings.call_back_egress);
        super::set(&mut self.allow, settings.call_back_allow.take());
        super::set(&mut self.ports, settings.call_back_ports.take());
        super::set_file(&mut self.ca, settings.call_back_ca.take());
        super::set_file(&mut self.secrets_file, settings.call_back_secrets_file.take());
        super::set(&mut self.log_bytes, settings.call_back_log_bytes.map(Within::as_u64));
    }
}

impl FromStr for Egress {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        match text {
            "allowlist" => Ok(Self::Allowlist),
            "public_only" => Ok(Self::PublicOnly),
            "open" => Ok(Self::Open),
            _ => Err(ValueError::Egress(text.to_owned())),
        }
    }
}

impl FromStr for Allowed {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let wrong = || ValueError::Destination(text.to_owned());
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        if let Ok(address) = address.trim_matches(['[', ']']).parse::<IpAddr>() {
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.map_or(Ok(most), str::parse).map_err(|_| wrong())?;
            return if bits <= most { Ok(Self::Network { address, bits }) } else { Err(wrong()) };
        }
        let name = text.strip_prefix('*').unwrap_or(text);
        let labels = name.strip_prefix('.').filter(|_| name != text).unwrap_or(name);
        let is_label = |label: &str| {
            !label.is_empty()
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        let is_pattern = name == text || name.starts_with('.');
        if !is_pattern || !labels.split('.').all(is_label) {
            return Err(wrong());
        }
        let name = name.to_ascii_lowercase();
        Ok(if name.starts_with('.') { Self::Suffix(name) } else { Self::Name(name) })
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Suffix(suffix) => write!(f, "*{suffix}"),
            Self::Network { address, bits } => write!(f, "{address}/{bits}"),
        }
    }
}

impl FromStr for PortRange {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(Self { first, last }),
            _ => Err(ValueError::Ports(text.to_owned())),
        }
    }
}

impl<'de> Deserialize<'de> for PortRange {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Port(u16),
            Range(String),
        }
        let text = match Written::deserialize(source)? {
            Written::Port(port) => port.to_string(),
            Written::Range(text) => text,
        };
        text.parse().map_err(D::Error::custom)
    }
}

super::value::read_from_text!(Egress, Allowed);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_names_endings_and_networks() {
        for (text, shown) in [
            ("Shop.example", "shop.example"),
            ("*.example", "*.example"),
            ("10.0.0.0/8", "10.0.0.0/8"),
            ("::1", "::1/128"),
            ("[fd00::]/8", "fd00::/8"),
            ("127.0.0.1", "127.0.0.1/32"),
        ] {
            assert_eq!(text.parse::<Allowed>().map(|allowed| allowed.to_string()).as_deref(), Ok(shown));
        }
        for wrong in [
            "",
            "*",
            "*example",
            ".example",
            "a b",
            "http://a",
            "a:80",
            "10.0.0.0/33",
            "::/129",
            "a..b",
            "10.0.0.0/-1",
        ] {
            assert!(wrong.parse::<Allowed>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ports_are_single_or_ranges() {
        assert_eq!("443".parse(), Ok(PortRange { first: 443, last: 443 }));
        assert_eq!("8000-8099".parse(), Ok(PortRange { first: 8000, last: 8099 }));
        for wrong in ["", "0", "9-8", "x", "1-", "65536", "-"] {
            assert!(wrong.parse::<PortRange>().is_err(), "{wrong}");
        }
    }
}
