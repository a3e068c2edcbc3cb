//! Logging in and out, and the language.

use std::net::IpAddr;

use askama::Template;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Redirect, Response};

use super::Answer;
use crate::Console;
use crate::form::{self, Posted};
use crate::texts::{self, Language};
use crate::view::{View, html};
use crate::visitor::{address, cookie, is_own, session_cookie, set_cookie, stranger};
use adjourn_http::{CONSOLE, Pairs, Problem, SMALL_BYTES_MAX, connection, read};
use adjourn_protocol::{ErrorCode, ErrorReply};

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    view: View,
    /// Where the person goes on to.
    next: String,
    problem: Option<String>,
}

/// The page for logging in.
pub(super) async fn show(
    State(console): State<Console>,
    method: Method,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let query = Pairs::of_query(uri.query().unwrap_or_default());
    let next = own(query.first("next"));
    let is_in = cookie(&headers, &session_cookie(&console))
        .is_some_and(|cookie| console.sessions.find(cookie).is_some());
    if is_in || console.http.local().is_open() {
        return Redirect::to(next).into_response();
    }
    login_page(stranger(&method, &headers, &uri), next, None)
}

fn login_page(view: View, next: &str, problem: Option<Problem>) -> Response {
    let status = problem.as_ref().map_or(StatusCode::OK, Problem::status);
    let page = LoginPage { view, next: next.to_owned(), problem: problem.map(|problem| problem.detail()) };
    page.render()
        .map_or_else(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response(), |text| html(status, text))
}

/// Opens a session for who shows a token.
pub(super) async fn log_in(State(console): State<Console>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let view = stranger(&parts.method, &parts.headers, &parts.uri);
    let fields = match fields(&parts.extensions, &parts.headers, body).await {
        Ok(fields) => fields,
        Err(problem) => return problem.into_response(),
    };
    let next = own(fields.first("next"));
    let opened = async {
        let connection = connection(&parts.extensions)?;
        let from = address(&connection);
        let secret = fields.first("token").trim();
        let client = console.http.admit(secret.as_bytes(), connection.address());
        // Who has a token is let in however many others fail: tokens are random, nobody guesses them.
        let client = client.map_err(|error| failed(&console, from, error))?;
        Ok::<_, Problem>(console.sessions.open(client.token())?)
    };
    match opened.await {
        Ok(cookie) => {
            let has_tls = console.http.local().has_tls();
            let name = session_cookie(&console);
            ([set_cookie(&name, Some(&cookie), true, has_tls)], Redirect::to(next)).into_response()
        }
        Err(problem) => login_page(view, next, Some(problem)),
    }
}

/// Counts a login that failed, and says why it did.
fn failed(console: &Console, from: IpAddr, error: ErrorReply) -> Problem {
    if error.code != ErrorCode::Unauthenticated {
        return error.into();
    }
    if let Err(wait) = console.sessions.may_log_in(from) {
        let message = format!("too many logins have failed: try again in {} s", wait.as_secs() + 1);
        return Problem::new(StatusCode::TOO_MANY_REQUESTS, ErrorCode::Busy, message);
    }
    console.sessions.has_failed(from);
    in_words_of_the_console(error)
}

/// The queue tells a program where to put its token.
fn in_words_of_the_console(error: ErrorReply) -> Problem {
    if error.code == ErrorCode::Unauthenticated && !error.message.contains("expired") {
        let message =
            "there is no such token: ask the operator of the server for one (adjourn token create makes it)";
        return Problem::from(ErrorReply::new(ErrorCode::Unauthenticated, message));
    }
    error.into()
}

/// Ends the session.
pub(super) async fn log_out(
    State(console): State<Console>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    if let Err(refused) = Posted::even_if_read_only(request, &console).await {
        return refused;
    }
    let name = session_cookie(&console);
    if let Some(cookie) = cookie(&headers, &name) {
        console.sessions.close(cookie);
    }
    let has_tls = console.http.local().has_tls();
    ([set_cookie(&name, None, true, has_tls)], Redirect::to(&format!("{CONSOLE}/login"))).into_response()
}

/// Remembers the language. It changes nothing but how pages look, so the form needs no session.
pub(super) async fn choose_language(State(console): State<Console>, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    let fields = fields(&parts.extensions, &parts.headers, body).await?;
    let language = Language::of_code(fields.first("to"))
        .ok_or_else(|| Problem::malformed("there is no such language: choose one on a page"))?;
    let has_tls = console.http.local().has_tls();
    let chosen = set_cookie(texts::COOKIE, Some(language.code()), false, has_tls);
    Ok(([chosen], Redirect::to(own(fields.first("back")))).into_response())
}

async fn fields(
    extensions: &axum::http::Extensions,
    headers: &HeaderMap,
    body: Body,
) -> Result<Pairs, Problem> {
    form::fields(headers, &read(body, SMALL_BYTES_MAX, &*connection(extensions)?).await?)
}

fn own(next: &str) -> &str {
    if is_own(next) { next } else { CONSOLE }
}
