//! POSTs to a URL that the operator of this node has configured, for other parts of the server.
//!
//! It shares the client of call-backs, but not its allowlist: an operator who can edit the files of a node may name any
//! address, except those from which machines get their credentials.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue, USER_AGENT};
use hyper::http::uri::InvalidUri;
use hyper::{Method, Request};

use super::call_slots::Reputation;
use super::client::{Client, Deadline};
use super::destination::{Destination, NotADestination, URL_BYTES_MAX};
use super::outcome::Fault;
use adjourn_server::config::{CallBackConfig, Egress, PortRange};
use adjourn_transport::tls::TlsError;
use adjourn_types::HttpUrlError;

/// The client that all hooks share.
#[derive(Clone, Debug)]
pub struct Hooks(Arc<Client>);

/// One URL and its headers.
#[derive(Clone)]
pub struct Hook {
    client: Arc<Client>,
    destination: Destination,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// Why a hook cannot be used. The text shows neither the URL nor the value of a header.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The URL is not valid.
    #[error("{0}")]
    Url(HttpUrlError),
    /// The URL is too long.
    #[error("not a valid URL: it is longer than {URL_BYTES_MAX} bytes")]
    UrlTooLong,
    /// A header cannot be sent.
    #[error("the header {0:?} cannot be sent")]
    Header(String),
}

/// Why a POST failed.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// There is no reply.
    #[error("{0}")]
    NoReply(String),
    /// The status of the reply is not a success.
    #[error("the reply has status {0}")]
    Refused(u16),
}

impl Hooks {
    /// A client that trusts these CAs, or those that the system knows.
    ///
    /// # Errors
    ///
    /// If the CAs cannot be used.
    pub fn new(ca: Option<PathBuf>) -> Result<Self, TlsError> {
        let ports = vec![PortRange { first: 1, last: u16::MAX }];
        let config = CallBackConfig { egress: Egress::Open, ports, ca, ..CallBackConfig::default() };
        Ok(Self(Arc::new(Client::new(&config)?)))
    }

    /// A URL to post to, with headers in addition to those of every request.
    ///
    /// # Errors
    ///
    /// If the URL or a header cannot be used.
    pub fn hook<'a>(
        &self,
        url: &str,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<Hook, HookError> {
        let destination = Destination::read(url).map_err(|why| match why {
            NotADestination::Url(why) => HookError::Url(why),
            NotADestination::TooLong => HookError::UrlTooLong,
        })?;
        let headers = headers.map(|(name, value)| {
            let read = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
            read.ok_or_else(|| HookError::Header(name.to_owned()))
        });
        Ok(Hook { client: Arc::clone(&self.0), destination, headers: headers.collect::<Result<_, _>>()? })
    }

    /// Closes connections that were idle for too long.
    pub fn close_idle(&self) {
        self.0.close_idle();
    }
}

impl Hook {
    /// Posts JSON, and waits for a reply with a status of 200 to 299.
    ///
    /// # Errors
    ///
    /// If no such reply came in time.
    pub async fn post(&self, json: Bytes, within: Duration) -> Result<(), PostError> {
        let Destination { origin, path } = &self.destination;
        let mut request = Request::new(Full::new(json));
        *request.method_mut() = Method::POST;
        let no_reply = |fault: &dyn std::fmt::Display| PostError::NoReply(fault.to_string());
        *request.uri_mut() = path.parse().map_err(|error: InvalidUri| no_reply(&error))?;
        let headers = request.headers_mut();
        let host = HeaderValue::from_str(&origin.authority()).map_err(|error| no_reply(&error))?;
        headers.insert(HOST, host);
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("adjourn/", env!("CARGO_PKG_VERSION"))));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        let reply = self.client.call(Reputation::Proven, origin, &request, Deadline::of(within)).await;
        let reply = reply.map_err(|fault: Fault| no_reply(&fault))?;
        if reply.status.is_success() { Ok(()) } else { Err(PostError::Refused(reply.status.as_u16())) }
    }
}

impl std::fmt::Debug for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The path and the headers may be secrets.
        f.debug_struct("Hook").field("origin", &self.destination.origin).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_refused_with_the_reason() {
        let egress = CallBackConfig::default();
        let hooks = Hooks(Arc::new(Client::new(&egress).expect("a client")));
        let long = format!("http://a/{}", "x".repeat(20_000));
        for (url, why) in [
            ("ftp://secret/", "http:// or https://"),
            ("http://user:secret@a/", "no user name"),
            ("http://a:secret/", "its port must be a number from 1 to 65535"),
            ("http://a/secret x", "spaces"),
            ("http://a/secret/..", ".. are not allowed in its path"),
            (long.as_str(), "longer than 16384 bytes"),
        ] {
            let refused = hooks.hook(url, std::iter::empty()).expect_err(url).to_string();
            assert!(refused.contains(why) && !refused.contains("secret"), "{refused}");
        }
    }
}
