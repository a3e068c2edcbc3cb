//! A form that was posted.

use axum::extract::{FromRequest, FromRequestParts as _, Request};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use form_urlencoded::Serializer;

use super::Console;
use super::said::Said;
use super::visitor::{Visitor, is_own};
use adjourn_http::{Pairs, Problem, SMALL_BYTES_MAX, connection, media_type, read};
use adjourn_protocol::{ErrorCode, ErrorReply};
use adjourn_server::tokens::SecretHash;

/// The field of a form with the token of its session.
pub(crate) const FORM_TOKEN: &str = "form_token";

/// A form from a page of this console, posted by a person who may act.
pub(crate) struct Posted {
    pub(crate) visitor: Visitor,
    /// What was filled in.
    pub(crate) fields: Pairs,
}

impl FromRequest<Console> for Posted {
    type Rejection = Response;

    async fn from_request(request: Request, console: &Console) -> Result<Self, Response> {
        let posted = Self::even_if_read_only(request, console).await?;
        if console.config.is_read_only {
            let message = "this console only shows the queue: console_read_only is set on this server";
            return Err(Problem::from(ErrorReply::new(ErrorCode::Forbidden, message)).into_response());
        }
        Ok(posted)
    }
}

impl Posted {
    /// A form that changes nothing of the queue.
    ///
    /// # Errors
    ///
    /// If it is of no page of the person's session.
    pub(crate) async fn even_if_read_only(request: Request, console: &Console) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let visitor = Visitor::from_request_parts(&mut parts, console).await?;
        let fields = async {
            let connection = connection(&parts.extensions)?;
            let mut fields = fields(&parts.headers, &read(body, SMALL_BYTES_MAX, &connection).await?)?;
            let token = fields.split(&[FORM_TOKEN]);
            check_form_token(token.first(FORM_TOKEN), visitor.form_token())?;
            Ok::<_, Problem>(fields)
        };
        let fields = fields.await.map_err(Problem::into_response)?;
        Ok(Self { visitor, fields })
    }

    /// The page that the person goes on to, which says what was done. `path` is below the console.
    pub(crate) fn done(&self, path: &str, said: Said, count: u64) -> Response {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let kept = form_urlencoded::parse(query.as_bytes())
            .filter(|(name, _)| name != "said" && name != "said_count");
        let mut query = Serializer::new(String::new());
        query.extend_pairs(kept).append_pair("said", said.code());
        if count > 0 {
            query.append_pair("said_count", &count.to_string());
        }
        Redirect::to(&format!("{path}?{}", query.finish())).into_response()
    }

    /// The page from which the form was sent, if it says so; else `path`.
    pub(crate) fn back_or<'a>(&'a self, path: &'a str) -> &'a str {
        let back = self.fields.first("back");
        if is_own(back) { back } else { path }
    }
}

/// The fields of a form.
///
/// # Errors
///
/// If it is none.
pub(crate) fn fields(headers: &HeaderMap, body: &[u8]) -> Result<Pairs, Problem> {
    if media_type(headers) != "application/x-www-form-urlencoded" {
        let message = "the console takes forms of its own pages: programs use /v1/openapi.json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::Unsupported, message));
    }
    let text = str::from_utf8(body).map_err(|_| Problem::malformed("the form is not UTF-8"))?;
    Ok(Pairs::of_query(text))
}

/// Checks the token of a form, in a time that reveals nothing.
fn check_form_token(sent: &str, expected: &str) -> Result<(), Problem> {
    let is_right = SecretHash::of(sent.as_bytes()).matches(&SecretHash::of(expected.as_bytes()));
    if is_right && !expected.is_empty() {
        return Ok(());
    }
    let message = "the form is of another session, or from before the server started: load its page again";
    Err(ErrorReply::new(ErrorCode::Forbidden, message).into())
}

/// True if a line of a form can be this header.
pub(crate) fn is_line((name, value): (&str, &str)) -> bool {
    let is_plain = |text: &str| text.trim() == text && !text.contains(char::is_control);
    !name.is_empty() && is_plain(name) && !name.contains(':') && is_plain(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_led_elsewhere() {
        for own in ["/console", "/console/topics/a?x=1", "/console?x"] {
            assert!(is_own(own), "{own}");
        }
        for other in [
            "",
            "/",
            "//evil.example",
            "/console.evil",
            "/console//evil.example",
            "/console/\\evil",
            "https://x/console",
            "/console/\n",
        ] {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn a_form_carries_the_token_of_its_session() {
        assert!(check_form_token("a", "a").is_ok());
        assert!(check_form_token("b", "a").is_err() && check_form_token("", "a").is_err());
        assert!(check_form_token("", "").is_err());
    }
}
