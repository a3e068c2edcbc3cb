//! The input of a request: its body as JSON, its query, the parts of its path. Errors become problems.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use axum::RequestPartsExt as _;
use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use super::connection::{HttpConnection, connection};
use super::problem::Problem;
use adjourn_protocol::ErrorCode;

/// The maximum length of a body that is not a push, in bytes.
pub(crate) const SMALL_BYTES_MAX: usize = 256 << 10;
/// The beginning of a body is not charged to the memory account, in bytes.
const SMALL_BYTES: usize = 16 << 10;
/// A body takes memory twice: as text, and parsed.
const BODY_COPIES: usize = 2;
/// A request's body must be complete within this time.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// The JSON body of a request. Without a body, the default value.
pub(crate) struct JsonBody<T>(pub T);

/// The query of a request.
pub(crate) struct QueryOf<T>(pub T);

/// The only variable part of a path.
pub(crate) struct Part<T>(pub T);

/// The two variable parts of a path.
pub(crate) struct Parts2<T, U>(pub T, pub U);

impl<S: Send + Sync, T: DeserializeOwned + Default> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let connection = connection(request.extensions())?;
        let (parts, body) = request.into_parts();
        let bytes = read(body, SMALL_BYTES_MAX, &connection).await?;
        if bytes.is_empty() {
            return Ok(Self(T::default()));
        }
        check_json(&parts.headers)?;
        of_json(&bytes).map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned + 'static> FromRequestParts<S> for QueryOf<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.extract::<Query<T>>().await;
        query.map(|Query(query)| Self(query)).map_err(|error| wrong(&error.body_text()))
    }
}

impl<S, T> FromRequestParts<S> for Part<T>
where
    S: Send + Sync,
    T: FromStr<Err: fmt::Display>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Path(text) = parts.extract::<Path<String>>().await.map_err(|error| wrong(&error.body_text()))?;
        text.parse().map(Self).map_err(|error| wrong(&error))
    }
}

impl<S, T, U> FromRequestParts<S> for Parts2<T, U>
where
    S: Send + Sync,
    T: FromStr<Err: fmt::Display>,
    U: FromStr<Err: fmt::Display>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Path((first, second)) =
            parts.extract::<Path<(String, String)>>().await.map_err(|error| wrong(&error.body_text()))?;
        let first = first.parse().map_err(|error| wrong(&error))?;
        second.parse().map(|second| Self(first, second)).map_err(|error| wrong(&error))
    }
}

/// Reads a whole body of at most this size. Memory is taken for what has arrived, not for what was announced.
///
/// # Errors
///
/// If it is larger, late or incomplete, or there is no memory for it.
pub(crate) async fn read(
    body: Body,
    bytes_max: usize,
    connection: &HttpConnection,
) -> Result<Bytes, Problem> {
    let too_large = || {
        let message = format!("the request has more than {bytes_max} bytes: send less at once");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, ErrorCode::TooLarge, message)
    };
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_large());
    }
    let mut body = Limited::new(body, bytes_max);
    let reading = async {
        let mut bytes = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                if error.is::<LengthLimitError>() {
                    return too_large();
                }
                Problem::malformed(format!("the request's body broke off: {error}"))
            })?;
            let Ok(data) = frame.into_data() else { continue };
            let is_small = bytes.len() + data.len() <= SMALL_BYTES;
            if !is_small {
                connection.take(BODY_COPIES * data.len())?;
            }
            bytes.extend_from_slice(&data);
        }
        Ok(bytes.freeze())
    };
    timeout(BODY_TIME_MAX, reading).await.unwrap_or_else(|_| {
        let message = format!("the request's body did not come within {} s", BODY_TIME_MAX.as_secs());
        Err(Problem::new(StatusCode::REQUEST_TIMEOUT, ErrorCode::Malformed, message))
    })
}

/// Parses JSON.
///
/// # Errors
///
/// If it is not of this type: the problem names the place.
pub(crate) fn of_json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(bytes)
        .map_err(|error| Problem::malformed(format!("the JSON is not as it should be: {error}")))
}

/// Checks that the content type is JSON. A browser asks before it lets a page send that to another site.
///
/// # Errors
///
/// If it is something else.
pub(crate) fn check_json(headers: &HeaderMap) -> Result<(), Problem> {
    if media_type(headers) == "application/json" {
        return Ok(());
    }
    let message = "send JSON, and say Content-Type: application/json (as curl --json does)";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, ErrorCode::Unsupported, message))
}

/// The content type, without parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> &str {
    let said = headers.get(CONTENT_TYPE).and_then(|said| said.to_str().ok()).unwrap_or_default();
    said.split(';').next().unwrap_or_default().trim()
}

fn wrong(error: &dyn fmt::Display) -> Problem {
    Problem::malformed(error.to_string())
}
