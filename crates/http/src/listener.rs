//! The port: HTTP/1.1 over the server's listener, TLS and limits, and the checks before a route.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::http::header::{ALLOW, CONNECTION, HOST, ORIGIN, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, Version};
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;
use tracing::debug;

use super::CONSOLE;
use super::connection::HttpConnection;
use super::cors::{Origins, preflight};
use super::memory;
use super::patience::Patient;
use super::problem::Problem;
use adjourn_protocol::{ErrorCode, ErrorReply};
use adjourn_server::{Accepted, Local};

/// The maximum length of a request's line and headers, and of what is read ahead, in bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// A client must read some of its answer within this time.
pub(super) const TAKES_WITHIN: Duration = Duration::from_secs(30);

/// The header that says how long a connection may be idle.
const KEEP_ALIVE: &str = "keep-alive";
/// The header with which a browser states the site of a request. Other programs do not send it.
const SEC_FETCH_SITE: &str = "sec-fetch-site";
/// The headers that tell whether a person followed a link, or a page asked by itself.
const SEC_FETCH_MODE: &str = "sec-fetch-mode";
const SEC_FETCH_DEST: &str = "sec-fetch-dest";
/// The headers of an answer for browsers, unless it has others: other sites may not use it, and it is not an active page.
const FOR_BROWSERS: [(&str, &str); 3] = [
    ("x-content-type-options", "nosniff"),
    (
        "content-security-policy",
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The routes and the checks of one port.
#[derive(Clone)]
pub(super) struct Site {
    router: Router,
    /// The names of this server, if callers need no token: then pages in browsers that reach it need none either.
    hosts: Option<Arc<[String]>>,
    /// The origins of pages that may ask all the same.
    origins: Origins,
    /// How a request is refused before it reaches a route.
    refuse: fn(Problem) -> Response<Body>,
    /// The time for the head of a request, and for the first request of a caller that is not admitted yet.
    deadline: Duration,
    /// How long the connection of an admitted caller may be idle.
    keep_alive: Duration,
    stopping: CancellationToken,
}

impl Site {
    /// A site with these routes. If callers need no token, the host must be an address, this machine, or one of `hosts`.
    pub(super) fn new(
        router: Router,
        local: &Local,
        hosts: Option<Arc<[String]>>,
        keep_alive: Duration,
    ) -> Self {
        let (deadline, stopping) = (local.request_deadline(), local.stopping());
        let (origins, refuse) = (Origins::default(), Problem::into_response);
        Self { router, hosts, origins, refuse, deadline, keep_alive, stopping }
    }

    /// The same site for pages of these origins, too.
    pub(super) fn with_origins(self, origins: &[String]) -> Self {
        Self { origins: Origins::new(origins), ..self }
    }

    /// The same site, which refuses requests in its own words.
    pub(super) fn refusing(self, refuse: fn(Problem) -> Response<Body>) -> Self {
        Self { refuse, ..self }
    }

    /// Serves one connection to its end.
    pub(super) async fn serve(self, accepted: Accepted) {
        let Accepted { stream, hold } = accepted;
        let (loss, stopping) = (hold.loss(), self.stopping.clone());
        let connection = Arc::new(HttpConnection::new(hold));
        let progress = Arc::clone(connection.progress());
        let stream = Patient::new(stream, TAKES_WITHIN).with_requests(progress, self.deadline);
        let service = service_fn(move |request| {
            connection.progress().begin();
            let (site, connection) = (self.clone(), Arc::clone(&connection));
            async move { Ok::<_, Infallible>(site.answer(request, connection).await) }
        });
        let connection = http1::Builder::new()
            // The stream limits the time of heads.
            .header_read_timeout(None)
            // A caller that has closed its side gets its answer.
            .half_close(true)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            () = loss.cancelled() => return,
            () = stopping.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            debug!(%error, "a connection of HTTP broke");
        }
    }

    async fn answer(
        mut self,
        mut request: Request<Incoming>,
        connection: Arc<HttpConnection>,
    ) -> Response<Body> {
        // After a chunked body there may be bytes that a proxy took for a part of it: nothing more is read.
        let is_last = request.headers().contains_key(TRANSFER_ENCODING);
        let stays_open = !is_last && stays_open(&request);
        request.extensions_mut().insert(Arc::clone(&connection));
        let (method, had_body) = (request.method().clone(), !request.body().is_end_stream());
        let origins = self.origins.clone();
        // Other origins may use the API, not the console.
        let origin = origins.of(request.headers()).filter(|_| !request.uri().path().starts_with(CONSOLE));
        let preflight = origin.and_then(|_| preflight(&request));
        let response = match (self.check(&request, origin.is_some()), preflight) {
            (Ok(()), Some(response)) => response,
            (Ok(()), None) => match self.router.call(request.map(Body::new)).await {
                Ok(response) => with_methods(response, &method),
                Err(never) => match never {},
            },
            (Err(problem), _) => (self.refuse)(problem),
        };
        let mut response = memory::answer(response, &connection, &method, self.refuse).await;
        // Strangers hold no slot for longer than they have for their first request.
        let idle_max = if connection.is_admitted() { self.keep_alive } else { self.deadline };
        let headers = response.headers_mut();
        if is_last {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if stays_open
            && !self.stopping.is_cancelled()
            && let Ok(timeout) = HeaderValue::from_str(&format!("timeout={}", idle_max.as_secs()))
        {
            headers.insert(KEEP_ALIVE, timeout);
        }
        for (name, value) in FOR_BROWSERS {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
        origins.admit(origin, headers);
        connection.progress().answer(idle_max, had_body);
        response
    }

    /// Refuses requests that no honest client sends: with two hosts, or sent by a browser for a page of another site.
    /// A page of an origin that is allowed may ask all the same.
    fn check<B>(&self, request: &Request<B>, is_allowed: bool) -> Result<(), Problem> {
        let headers = request.headers();
        if headers.get_all(HOST).iter().count() > 1 {
            return Err(Problem::malformed("a request has one host"));
        }
        let text = |name: &str| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let host = text(HOST.as_str()).unwrap_or_default().to_ascii_lowercase();
        let is_own = |origin: &str| {
            origin.to_ascii_lowercase().split_once("://").is_some_and(|(_, site)| site == host)
        };
        // A link to the console that a person follows: the page that has it never sees the answer.
        let is_link = request.uri().path().starts_with(CONSOLE)
            && request.method().is_safe()
            && text(SEC_FETCH_MODE) == Some("navigate")
            && text(SEC_FETCH_DEST) == Some("document");
        let is_of_another_site = text(ORIGIN.as_str()).is_some_and(|origin| !is_own(origin))
            || text(SEC_FETCH_SITE).is_some_and(|site| !is_link && !["same-origin", "none"].contains(&site));
        if is_of_another_site && !is_allowed {
            let message = "pages of other sites may not ask this server: use a program that is no browser; for the JSON API, \
                           http_cors_origins may name the origin of the page";
            return Err(ErrorReply::new(ErrorCode::Forbidden, message).into());
        }
        if self.hosts.as_ref().is_some_and(|hosts| !is_this_server(&host, hosts)) {
            let message = format!(
                "Host is {host:?}, which is no name of this server: add it to http_hosts, or use the address"
            );
            return Err(ErrorReply::new(ErrorCode::Forbidden, message).into());
        }
        Ok(())
    }
}

/// True if the connection is used again after this request.
fn stays_open<B>(request: &Request<B>) -> bool {
    let says = |word: &str| {
        let said = request.headers().get_all(CONNECTION).iter().filter_map(|said| said.to_str().ok());
        said.flat_map(|said| said.split(',')).any(|said| said.trim().eq_ignore_ascii_case(word))
    };
    if request.version() == Version::HTTP_11 { !says("close") } else { says("keep-alive") }
}

/// The router names the methods of a route when it refuses one. `OPTIONS` asks for them.
fn with_methods(mut response: Response<Body>, method: &Method) -> Response<Body> {
    if response.status() == StatusCode::METHOD_NOT_ALLOWED
        && let Some(allowed) = response.headers().get(ALLOW)
        && let Ok(allowed) = HeaderValue::from_bytes(&[allowed.as_bytes(), b",OPTIONS"].concat())
    {
        if method == Method::OPTIONS {
            response = StatusCode::NO_CONTENT.into_response();
        }
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// True if the host is an address, this machine, or a name of this server. A page that uses DNS rebinding to reach this
/// server sends its own name.
fn is_this_server(host: &str, hosts: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
    let name = name.strip_suffix('.').unwrap_or(name);
    name.is_empty()
        || is_address
        || name == "localhost"
        || name.ends_with(".localhost")
        || hosts.iter().any(|host| host == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_server_has_these_names() {
        let hosts = ["queue.example".to_owned()];
        for host in [
            "localhost",
            "localhost:7480",
            "localhost.",
            "a.localhost:1",
            "127.0.0.1",
            "127.0.0.1:7480",
            "[::1]:7480",
            "queue.example:7480",
            "",
        ] {
            assert!(is_this_server(host, &hosts), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:7480",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "a.queue.example",
        ] {
            assert!(!is_this_server(host, &hosts), "{host}");
        }
    }
}
