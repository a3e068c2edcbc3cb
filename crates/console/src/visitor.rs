//! Who looks at a page.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::header::{COOKIE, REFERER, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Redirect, Response};
use form_urlencoded::byte_serialize;

use super::sessions::{LASTS, random};
use super::texts::{self, Language};
use super::view::View;
use super::{Console, said};
use adjourn_http::{CONSOLE, Caller, HttpConnection, Pairs, Problem, connection};
use adjourn_protocol::{ErrorCode, ErrorReply, Request};
use adjourn_server::wall;
use adjourn_types::Access;

/// The cookie of a session at a node. Members under one host name have one each: cookies know no ports.
pub(crate) fn session_cookie(console: &Console) -> String {
    format!("adjourn_console_{}", console.config.node)
}

/// How long a browser remembers the language.
const LANGUAGE_LASTS: Duration = Duration::from_hours(365 * 24);

/// What forms carry where people need not log in.
static OPEN_FORM_TOKEN: LazyLock<Arc<str>> = LazyLock::new(|| random().unwrap_or_default().into());

/// A person who may see pages.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) caller: Caller,
    pub(crate) console: Console,
    pub(crate) query: Pairs,
    pub(crate) language: Language,
    form_token: Arc<str>,
    has_session: bool,
    here: Uri,
}

impl FromRequestParts<Console> for Visitor {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, console: &Console) -> Result<Self, Response> {
        let connection = connection(&parts.extensions).map_err(Problem::into_response)?;
        let cookie = cookie(&parts.headers, &session_cookie(console)).unwrap_or_default();
        let is_open = console.http.local().is_open();
        let session = if is_open { None } else { console.sessions.find(cookie) };
        let (shown, form_token) = match &session {
            Some(session) => (shown_as(cookie), Arc::clone(session.form_token())),
            None if is_open => (Vec::new(), Arc::clone(&OPEN_FORM_TOKEN)),
            None => return Err(to_login(&parts.headers, page_of(&parts.method, &parts.headers, &parts.uri))),
        };
        let search = |from: &str| match &session {
            Some(session) => session.token().admit().map(Arc::new),
            None => console.http.admit(b"", from),
        };
        let caller = Caller::showing(&connection, &console.http, &shown, search).await;
        let caller = caller.map_err(|error| Problem::from(error).into_response())?;
        Ok(Self {
            caller,
            console: console.clone(),
            query: Pairs::of_query(parts.uri.query().unwrap_or_default()),
            language: language(&parts.headers),
            form_token,
            has_session: session.is_some(),
            here: parts.uri.clone(),
        })
    }
}

impl Visitor {
    /// What the page has of them. `section` is the part of the console that it belongs to.
    pub(crate) fn view(&self, section: &'static str) -> View {
        View {
            language: self.language,
            section,
            form_token: Arc::clone(&self.form_token),
            access: self.caller.access(),
            has_session: self.has_session,
            is_read_only: self.console.config.is_read_only,
            now: wall(),
            here: here(&self.here).to_owned(),
            said: said::of(self.language, &self.query),
        }
    }

    /// Asks the queue.
    ///
    /// # Errors
    ///
    /// What the queue says.
    pub(crate) async fn ask<T>(&self, request: Request) -> Result<T, Problem>
    where
        T: TryFrom<adjourn_protocol::Response, Error = adjourn_protocol::Response>,
    {
        self.caller.ask(request).await
    }

    /// What forms of this person carry.
    pub(super) fn form_token(&self) -> &str {
        &self.form_token
    }

    /// The rights of the person.
    pub(crate) fn access(&self) -> Arc<Access> {
        self.caller.access()
    }

    /// Checks that the person may see what is about the node and all clients.
    ///
    /// # Errors
    ///
    /// If they may not.
    pub(crate) fn check_sees_server(&self) -> Result<(), Problem> {
        if self.view("").sees_server() {
            return Ok(());
        }
        let message = "this page is for tokens with the right admin for all topics: log in with such a token";
        Err(ErrorReply::new(ErrorCode::Forbidden, message).into())
    }
}

/// What a cookie is on a connection: nothing that can be shown as a token in a header, which has no such byte.
fn shown_as(cookie: &str) -> Vec<u8> {
    [b"\0", cookie.as_bytes()].concat()
}

/// A view for a page that needs no session.
pub(crate) fn stranger(method: &Method, headers: &HeaderMap, uri: &Uri) -> View {
    View {
        language: language(headers),
        section: "",
        form_token: "".into(),
        access: Arc::new(Access { grants: Vec::new(), ..Access::open() }),
        has_session: false,
        is_read_only: true,
        now: wall(),
        here: page_of(method, headers, uri).to_owned(),
        said: None,
    }
}

/// The page of this console from which a browser says that a request comes.
pub(crate) fn page_before(headers: &HeaderMap) -> &str {
    let referer = headers.get(REFERER).and_then(|referer| referer.to_str().ok()).unwrap_or_default();
    let path =
        referer.split_once("://").and_then(|(_, rest)| rest.find('/').and_then(|start| rest.get(start..)));
    path.filter(|path| is_own(path)).unwrap_or(CONSOLE)
}

/// True if this is a page of the console, and cannot lead elsewhere.
pub(crate) fn is_own(path: &str) -> bool {
    let rest = path.strip_prefix(CONSOLE);
    let is_below = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?']));
    is_below && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') && !path.contains("//")
}

/// The page that a person sees: the one that is asked for, or the one with the form that was posted.
fn page_of<'a>(method: &Method, headers: &'a HeaderMap, uri: &'a Uri) -> &'a str {
    if method.is_safe() { here(uri) } else { page_before(headers) }
}

/// The path and the query of a page.
fn here(uri: &Uri) -> &str {
    uri.path_and_query().map_or(CONSOLE, |here| here.as_str())
}

fn language(headers: &HeaderMap) -> Language {
    let chosen = cookie(headers, texts::COOKIE).and_then(Language::of_code);
    chosen.unwrap_or_else(|| Language::preferred(headers))
}

/// The value of a cookie.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let sent = headers.get_all(COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let all = sent.flat_map(|cookies| cookies.split(';'));
    all.filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(found, _)| *found == name)
        .map(|(_, value)| value)
}

/// A header that sets a cookie for the console. Without a value it is removed.
pub(crate) fn set_cookie(
    name: &str,
    value: Option<&str>,
    is_secret: bool,
    has_tls: bool,
) -> (HeaderName, HeaderValue) {
    let lasts = if is_secret { LASTS } else { LANGUAGE_LASTS };
    let age = if value.is_some() { lasts.as_secs() } else { 0 };
    let secret = if is_secret { "; HttpOnly" } else { "" };
    let secure = if has_tls { "; Secure" } else { "" };
    let text = format!(
        "{name}={}; Path={CONSOLE}; Max-Age={age}; SameSite=Strict{secret}{secure}",
        value.unwrap_or_default()
    );
    // Its parts are plain ASCII.
    (SET_COOKIE, HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("")))
}

/// The address of the person, without a port.
pub(crate) fn address(connection: &HttpConnection) -> IpAddr {
    connection.address().parse().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |address: SocketAddr| address.ip())
}

/// Sends the person to the page for logging in, and back afterwards.
fn to_login(headers: &HeaderMap, here: &str) -> Response {
    let next: String = byte_serialize(here.as_bytes()).collect();
    let login = format!("{CONSOLE}/login?next={next}");
    // A part of a page cannot be replaced by another page: the whole page goes there.
    if headers.contains_key("hx-request")
        && let Ok(login) = HeaderValue::from_str(&login)
    {
        return (StatusCode::NO_CONTENT, [(HeaderName::from_static("hx-redirect"), login)]).into_response();
    }
    Redirect::to(&login).into_response()
}
