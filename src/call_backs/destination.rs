//! Where a call goes: the parts of a URL.

use std::fmt;

use hyper::Uri;

/// Longest URL in which everything is filled in, in bytes.
const URL_BYTES_MAX: usize = 16 << 10;

/// A URL that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) origin: Origin,
    /// Path and query, as they are sent.
    pub(super) path: String,
}

/// What calls share that may go over one connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    pub(super) is_secure: bool,
    /// A name in small letters, or an IP address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

/// Why a text is no destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no destination: expected http:// or https://, a host and at most {URL_BYTES_MAX} bytes, without a user and a #"
)]
pub(super) struct NotADestination;

impl Destination {
    /// Reads a URL in which everything is filled in.
    pub(super) fn read(url: &str) -> Result<Self, NotADestination> {
        let is_printable = url.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#');
        if !is_printable || url.len() > URL_BYTES_MAX {
            return Err(NotADestination);
        }
        let uri: Uri = url.parse().map_err(|_| NotADestination)?;
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        let authority = authority.ok_or(NotADestination)?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(NotADestination),
        };
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        let port = match authority.port() {
            Some(port) => Some(port.as_u16()).filter(|port| *port > 0).ok_or(NotADestination)?,
            // It has one that is none.
            None if authority.as_str().len() > authority.host().len() => return Err(NotADestination),
            None if is_secure => 443,
            None => 80,
        };
        if host.is_empty() {
            return Err(NotADestination);
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { origin: Origin { is_secure, host, port }, path })
    }
}

impl Origin {
    /// As `Host` has it: without the port that the scheme implies.
    pub(super) fn authority(&self) -> String {
        let implied = if self.is_secure { 443 } else { 80 };
        if self.port == implied { self.bracketed() } else { self.address() }
    }

    /// `host:port`.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.bracketed(), self.port)
    }

    fn bracketed(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_secure { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        for (url, origin, path) in [
            ("http://a", "http://a", "/"),
            ("https://Shop.example/x?y=1", "https://shop.example", "/x?y=1"),
            ("http://a:8080?q", "http://a:8080", "/?q"),
            ("https://[::1]:443/", "https://[::1]", "/"),
            ("http://[::1]:444/{a}", "http://[::1]:444", "/{a}"),
        ] {
            let read = Destination::read(url).expect(url);
            assert_eq!((read.origin.to_string().as_str(), read.path.as_str()), (origin, path));
        }
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        for url in [
            "",
            "/x",
            "a:80",
            "ftp://a",
            "http://u@a/",
            "http://a:0/",
            "http://a:/",
            "http://a b/",
            "http://a/#x",
            "http://a:99999/",
        ] {
            assert_eq!(Destination::read(url), Err(NotADestination), "{url}");
        }
    }
}
