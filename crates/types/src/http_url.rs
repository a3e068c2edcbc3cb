//! URLs for call-backs. Topic settings, jobs and the caller all use this one check.
//!
//! A topic's URL may be a [`Template`](super::Template) after its host: braces are allowed there.

use core::net::Ipv6Addr;

/// The parts of an HTTP or HTTPS URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl<'a> {
    /// True for `https`.
    pub is_secure: bool,
    /// A host name in lower case, or an IP address without brackets.
    pub host: String,
    /// The port; the scheme's default if the URL has none.
    pub port: u16,
    /// Path and query as written; the path may be missing.
    pub path: &'a str,
}

/// Why a text is not a URL that can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HttpUrlError {
    /// Another scheme, or none.
    #[error("not a valid URL: it must begin with http:// or https://")]
    Scheme,
    /// No host, or not a valid name or address.
    #[error(
        "not a valid URL: expected a host name or an IP address after http:// or https://, with or without a port, and no user name"
    )]
    Host,
    /// Not a port number.
    #[error("not a valid URL: its port must be a number from 1 to 65535")]
    Port,
    /// Characters that must be percent-encoded.
    #[error(
        "not a valid URL: percent-encode spaces, control characters, #, \", <, >, ` and all non-ASCII characters"
    )]
    Character,
    /// A path that a receiver may resolve to another one.
    #[error("not a valid URL: . and .. are not allowed in its path")]
    Dots,
}

impl<'a> HttpUrl<'a> {
    /// Parses a URL.
    ///
    /// # Errors
    ///
    /// If the text is not a URL that can be called.
    pub fn read(url: &'a str) -> Result<Self, HttpUrlError> {
        let is_allowed = |byte: u8| byte.is_ascii_graphic() && !b"#\"<>`".contains(&byte);
        let scheme = [("http://", false), ("https://", true)];
        let scheme =
            scheme.into_iter().find_map(|(scheme, secure)| Some((url.strip_prefix(scheme)?, secure)));
        let (rest, is_secure) = scheme.ok_or(HttpUrlError::Scheme)?;
        if !rest.bytes().all(is_allowed) {
            return Err(HttpUrlError::Character);
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (host, port) = host_and_port(authority)?;
        if leaves(path.split('?').next().unwrap_or_default()) {
            return Err(HttpUrlError::Dots);
        }
        let port = port.unwrap_or(if is_secure { 443 } else { 80 });
        Ok(Self { is_secure, host, port, path })
    }
}

/// Splits an authority into host and port.
fn host_and_port(authority: &str) -> Result<(String, Option<u16>), HttpUrlError> {
    if authority.contains('@') {
        return Err(HttpUrlError::Host);
    }
    let (host, port) = if let Some(bracketed) = authority.strip_prefix('[') {
        let (address, behind) = bracketed.split_once(']').ok_or(HttpUrlError::Host)?;
        address.parse::<Ipv6Addr>().map_err(|_| HttpUrlError::Host)?;
        let port = behind.strip_prefix(':');
        if port.is_none() && !behind.is_empty() {
            return Err(HttpUrlError::Host);
        }
        (address, port)
    } else {
        let (name, port) =
            authority.split_once(':').map_or((authority, None), |(name, port)| (name, Some(port)));
        let is_of_label = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        let is_label = |label: &str| !label.is_empty() && label.bytes().all(is_of_label);
        if !name.strip_suffix('.').unwrap_or(name).split('.').all(is_label) {
            return Err(HttpUrlError::Host);
        }
        (name, port)
    };
    // `parse` accepts a sign, so the digits are checked too.
    let read = |port: &str| {
        port.parse().ok().filter(|read| *read > 0 && port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let port = port.map(|port| read(port).ok_or(HttpUrlError::Port)).transpose()?;
    Ok((host.to_ascii_lowercase(), port))
}

/// True if a receiver may resolve this path to another one: a segment is `.` or `..`, percent-encoded or not.
fn leaves(path: &str) -> bool {
    let decoded = ["%2e", "%2E"].into_iter().fold(path.to_owned(), |path, dot| path.replace(dot, "."));
    let slashes = ["%2f", "%2F", "%5c", "%5C", "\\"];
    let decoded = slashes.into_iter().fold(decoded, |path, slash| path.replace(slash, "/"));
    decoded.split('/').any(|segment| segment == "." || segment == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        for (url, is_secure, host, port, path) in [
            ("http://a", false, "a", 80, ""),
            ("https://Shop.example/x?y=1", true, "shop.example", 443, "/x?y=1"),
            ("http://a:8080?q", false, "a", 8080, "?q"),
            ("https://[::1]:443/", true, "::1", 443, "/"),
            ("http://[::1]/{a}", false, "::1", 80, "/{a}"),
            (
                "https://shop_1.example.:65535/orders/{key}?x={attempt}",
                true,
                "shop_1.example.",
                65_535,
                "/orders/{key}?x={attempt}",
            ),
            ("https://a?q={body.form}&y=..", true, "a", 443, "?q={body.form}&y=.."),
            ("http://a/.../..b/%252e%252e/", false, "a", 80, "/.../..b/%252e%252e/"),
        ] {
            let expected = HttpUrl { is_secure, host: host.to_owned(), port, path };
            assert_eq!(HttpUrl::read(url), Ok(expected), "{url}");
        }
    }

    #[test]
    fn what_cannot_be_called_or_leads_elsewhere_is_refused() {
        for (wrong, urls) in [
            (HttpUrlError::Scheme, &["", "a", "/x", "a:80", "ftp://a", "HTTP://a"][..]),
            (
                HttpUrlError::Host,
                &[
                    "http://",
                    "http:///x",
                    "http://?x",
                    "http://u:p@a/",
                    "http://u@a/",
                    "http://{key}/",
                    "http://a..b/",
                    "http://.a/",
                    "http://::1/",
                    "http://[::1/",
                    "http://[::1]x/",
                    "http://[::g]/",
                    "http://[127.0.0.1]/",
                    "http://[]/",
                ],
            ),
            (
                HttpUrlError::Port,
                &[
                    "http://a:/",
                    "http://a:0/",
                    "http://a:99999/",
                    "http://a:80a",
                    "http://a:+80/",
                    "http://[::1]:/",
                    "http://a:{id}/",
                ],
            ),
            (
                HttpUrlError::Character,
                &[
                    "http://a b/",
                    "http://a/\n",
                    "http://a/ü",
                    "http://a/#x",
                    "http://a/<x>",
                    "http://a/\"",
                    "http://a?`",
                ],
            ),
            (
                HttpUrlError::Dots,
                &[
                    "http://a/.",
                    "http://a/..",
                    "http://a/x/../y?z",
                    "http://a/%2e%2E/y",
                    "http://a/x%2F..%2fy",
                    "http://a/..\\y",
                    "http://a/x%5c.%5Cy",
                ],
            ),
        ] {
            for url in urls {
                assert_eq!(HttpUrl::read(url), Err(wrong), "{url}");
            }
        }
    }
}
