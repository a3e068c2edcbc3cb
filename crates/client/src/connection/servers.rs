//! The addresses of a client in their text form: `host:port`, several separated by commas, and `adjourns://` before them
//! for TLS.

use std::str::FromStr;

use crate::error::ClientError;
use adjourn_types::is_host_and_port;

/// The addresses of servers, and whether they use TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Servers {
    /// The addresses, each as `host:port`.
    pub addresses: Vec<String>,
    /// True if they use TLS.
    pub tls: bool,
}

const PLAIN: &str = "adjourn://";
const TLS: &str = "adjourns://";

impl Servers {
    /// The address of one of them in its text form.
    pub fn written(&self, address: &str) -> String {
        format!("{}{address}", if self.tls { TLS } else { PLAIN })
    }
}

impl FromStr for Servers {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        let refused = |reason| ClientError::Address { found: text.to_owned(), reason };
        let (mut addresses, mut tls) = (Vec::new(), None);
        for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            let (scheme, address) = match (one.strip_prefix(PLAIN), one.strip_prefix(TLS)) {
                (Some(address), _) => (Some(false), address),
                (_, Some(address)) => (Some(true), address),
                _ if one.contains("://") => {
                    return Err(refused("write adjourns:// before it for TLS, or nothing"));
                }
                _ => (None, one),
            };
            if addresses.is_empty() {
                tls = scheme;
            } else if scheme.is_some() && scheme != tls {
                return Err(refused(
                    "either all servers use TLS or none: write adjourns:// once, before the first",
                ));
            }
            let address = address.trim_end_matches('/');
            if !is_host_and_port(address) {
                return Err(refused(advice(address)));
            }
            addresses.push(address.to_owned());
        }
        if addresses.is_empty() {
            return Err(refused("name a server as HOST:PORT"));
        }
        Ok(Self { addresses, tls: tls == Some(true) })
    }
}

/// What to write instead of this address.
fn advice(address: &str) -> &'static str {
    match address.rsplit_once(':') {
        Some((host, _)) if host.contains(':') && !host.starts_with('[') => {
            "write an IPv6 address in brackets, for example [::1]:7440"
        }
        Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_err() => {
            "a port is a number from 1 to 65535; the port for clients is 7440 unless the server says otherwise"
        }
        _ => "write HOST:PORT; the port for clients is 7440 unless the server says otherwise",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_of_the_first_holds_for_all() {
        for (text, tls) in [
            ("a:1,b:2", false),
            ("adjourn://a:1, b:2,", false),
            ("adjourns://a:1,b:2", true),
            ("adjourns://a:1/,adjourns://b:2/", true),
        ] {
            let servers: Servers = text.parse().expect(text);
            assert_eq!((servers.tls, servers.addresses.join(" ")), (tls, "a:1 b:2".to_owned()));
            assert_eq!(servers.written("c:3").parse::<Servers>().map(|it| it.tls).ok(), Some(tls));
        }
        for text in [
            "",
            " , ",
            "a",
            "a:1,b",
            "::1:7440",
            "a:70000",
            "http://a:1",
            "a:1,adjourns://b:2",
            "adjourns://a:1,adjourn://b:2",
        ] {
            assert!(matches!(text.parse::<Servers>(), Err(ClientError::Address { .. })), "{text}");
        }
    }

    #[test]
    fn wrong_addresses_are_told_what_to_write() {
        for (address, told) in [
            ("localhost", "write HOST:PORT"),
            (":7440", "write HOST:PORT"),
            ("::1:7440", "write an IPv6 address in brackets"),
            ("::1", "write an IPv6 address in brackets"),
            ("a:99999", "a port is a number from 1 to 65535"),
            ("a:clients", "a port is a number from 1 to 65535"),
            ("[::1]:", "a port is a number from 1 to 65535"),
        ] {
            let error = address.parse::<Servers>().expect_err(address).to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
