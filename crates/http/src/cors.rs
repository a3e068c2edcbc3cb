//! Pages of other origins that may use the API, by the rules of the [Fetch standard](https://fetch.spec.whatwg.org/#http-cors-protocol).
//!
//! Browsers send no cookies and no passwords of their own to it: a page shows a token in `Authorization`.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};

/// The methods that a page may use.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE";
/// The headers that a page may send, beside those that begin with `adjourn-`.
const SENT: &str = "authorization, content-type, idempotency-key, if-match, if-none-match";
const SENT_PREFIX: &str = "adjourn-";
/// The headers that a page may read, beside those that every page may read.
const READ: &str = "ETag, Location, Retry-After";
/// How long a browser need not ask again, in seconds.
const MAX_AGE_S: &str = "3600";

/// The origins of these pages; none by default.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins(Arc<[HeaderValue]>);

impl Origins {
    /// These origins, as browsers write them.
    pub(super) fn new(origins: &[String]) -> Self {
        Self(origins.iter().filter_map(|origin| HeaderValue::from_str(origin).ok()).collect())
    }

    /// The origin of a request, if its pages may use the API.
    pub(super) fn of(&self, headers: &HeaderMap) -> Option<&HeaderValue> {
        let origin = headers.get(ORIGIN)?;
        self.0.iter().find(|allowed| *allowed == origin)
    }

    /// Says in an answer which pages may read it: those of this origin, if it is allowed.
    pub(super) fn admit(&self, origin: Option<&HeaderValue>, headers: &mut HeaderMap) {
        if self.0.is_empty() {
            return;
        }
        // Without it, a cache would give one origin the answer to another one.
        headers.append(VARY, HeaderValue::from_static("Origin"));
        if let Some(origin) = origin {
            headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(READ));
        }
    }
}

/// The answer to a browser that asks whether a page of an allowed origin may send a request. `None` for other requests.
pub(super) fn preflight<B>(request: &Request<B>) -> Option<Response<Body>> {
    let headers = request.headers();
    if request.method() != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let asked = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).and_then(|asked| asked.to_str().ok());
    let own = asked.unwrap_or_default().split(',').map(str::trim).filter(|name| is_own(name));
    let sent = own.fold(SENT.to_owned(), |sent, name| sent + ", " + name);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_str(&sent).ok()?);
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE_S));
    headers.insert(VARY, HeaderValue::from_static("Access-Control-Request-Headers"));
    Some(response)
}

/// True for the name of one of the queue's own headers.
fn is_own(name: &str) -> bool {
    let prefix = name.get(..SENT_PREFIX.len()).unwrap_or_default();
    prefix.eq_ignore_ascii_case(SENT_PREFIX)
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
