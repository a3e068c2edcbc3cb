//! The port: HTTP/1.1 over the server's door, TLS and limits, and what is refused before a route sees it.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CONNECTION, HOST, ORIGIN, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use axum::response::IntoResponse as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tower_service::Service as _;
use tracing::debug;

use super::caller::Visit;
use super::patience::Patient;
use super::problem::Problem;
use crate::protocol::ErrorCode;
use crate::server::{Local, Visitor};

/// Most bytes of a request's line and headers, and read ahead.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// A client takes something of its answer within this time.
pub(super) const TAKES_WITHIN: Duration = Duration::from_secs(30);

/// What visitors of one port find.
#[derive(Clone)]
pub(super) struct Site {
    router: Router,
    /// Whoever reaches the port may do everything, and only programs of this machine do: so may pages in its browsers.
    is_open: bool,
    deadline: Duration,
}

impl Site {
    /// One with these routes. `is_local` says that the port is the machine's own.
    pub(super) fn new(router: Router, local: &Local, is_local: bool) -> Self {
        Self { router, is_open: local.is_open() && is_local, deadline: local.request_deadline() }
    }

    /// Serves one connection to its end.
    pub(super) async fn serve(self, visitor: Visitor) {
        let Visitor { stream, stay } = visitor;
        let (loss, stopping, deadline) = (stay.loss(), stay.stopping(), self.deadline);
        let visit = Arc::new(Visit::new(stay));
        let service = service_fn(move |request| {
            let (site, visit) = (self.clone(), Arc::clone(&visit));
            async move { Ok::<_, Infallible>(site.answer(request, visit).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(deadline)
            .max_buf_size(HEAD_BYTES_MAX)
            .serve_connection(TokioIo::new(Patient::new(stream, TAKES_WITHIN)), service);
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

    async fn answer(mut self, mut request: Request<Incoming>, visit: Arc<Visit>) -> Response<Body> {
        // Behind a body of chunks may stand what a proxy has taken for a part of it: nothing more is read.
        let is_last = request.headers().contains_key(TRANSFER_ENCODING);
        request.extensions_mut().insert(visit);
        let mut response = match self.check(request.headers()) {
            Ok(()) => match self.router.call(request.map(Body::new)).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Err(problem) => problem.into_response(),
        };
        if is_last {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    /// Refuses what no honest client sends: two hosts, and what a page of another site has a browser ask.
    fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if headers.get_all(HOST).iter().count() > 1 {
            return Err(Problem::malformed("a request has one host"));
        }
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let host = text(HOST).unwrap_or_default();
        let is_of_another_site =
            text(ORIGIN).is_some_and(|origin| origin.split_once("://").is_none_or(|(_, site)| site != host));
        if is_of_another_site || (self.is_open && !is_this_machine(host)) {
            let message =
                "pages of other sites may not ask this server: use a token, and a program that is no browser";
            return Err(Problem::new(StatusCode::FORBIDDEN, ErrorCode::Unauthorised, message));
        }
        Ok(())
    }
}

/// Whether a host is named as nobody else can name it: a page whose own name leads here says that name.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let is_address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
    name.is_empty() || is_address || name == "localhost" || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_has_these_names() {
        for host in
            ["localhost", "localhost:7480", "a.localhost:1", "127.0.0.1", "127.0.0.1:7480", "[::1]:7480", ""]
        {
            assert!(is_this_machine(host), "{host}");
        }
        for host in ["evil.example", "evil.example:7480", "localhost.evil.example", "127.0.0.1.evil.example"]
        {
            assert!(!is_this_machine(host), "{host}");
        }
    }
}
