//! The destination of a call: the parts of a URL.

use std::fmt;

use adjourn_types::{HttpUrl, HttpUrlError};

/// The maximum length of a filled-in URL, in bytes.
pub(super) const URL_BYTES_MAX: usize = 16 << 10;

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Destination {
    pub(super) origin: Origin,
    /// Path and query, as they are sent.
    pub(super) path: String,
}

/// What calls have in common that can use the same connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Origin {
    pub(super) is_secure: bool,
    /// A name in small letters, or an IP address without brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

/// Why a text is not a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotADestination {
    #[error("{0}")]
    Url(#[from] HttpUrlError),
    #[error("not a valid URL: it is longer than {URL_BYTES_MAX} bytes")]
    TooLong,
}

impl Destination {
    /// Parses a filled-in URL.
    pub(super) fn read(url: &str) -> Result<Self, NotADestination> {
        if url.len() > URL_BYTES_MAX {
            return Err(NotADestination::TooLong);
        }
        let HttpUrl { is_secure, host, port, path } = HttpUrl::read(url)?;
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        Ok(Self { origin: Origin { is_secure, host, port }, path })
    }
}

impl Origin {
    /// The value of the `Host` header: without the port that the scheme implies.
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
    use hyper::Uri;
    use hyper::header::HeaderValue;
    use hyper::http::uri::Authority;
    use proptest::prelude::*;

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
    fn what_is_too_long_or_leads_elsewhere_is_refused() {
        let long = format!("http://a/{}", "x".repeat(URL_BYTES_MAX));
        assert_eq!(Destination::read(&long), Err(NotADestination::TooLong));
        assert_eq!(Destination::read("ftp://a"), Err(NotADestination::Url(HttpUrlError::Scheme)));
    }

    proptest! {
        #[test]
        fn a_destination_can_be_sent(rest in "[a-c.]{1,4}(:[0-9]{1,5})?[/?][ -~é]{0,16}") {
            if let Ok(read) = Destination::read(&format!("http://{rest}")) {
                prop_assert!(read.path.parse::<Uri>().is_ok_and(|uri| uri.path_and_query().is_some()), "{:?}", read);
                prop_assert!(HeaderValue::from_str(&read.origin.authority()).is_ok());
                prop_assert!(read.origin.address().parse::<Authority>().is_ok(), "{:?}", read);
            }
        }
    }
}
