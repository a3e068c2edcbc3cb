//! The input of a request: its body as JSON, its query, the parts of its path. Errors name the field.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::time::Duration;

use axum::RequestPartsExt as _;
use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::value::{MapAccessDeserializer, MapDeserializer, UnitDeserializer};
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tokio::time::timeout;

use super::connection::{HttpConnection, connection};
use super::problem::{Place, Problem};
use super::query_value::QueryValue;
use super::wording;
use adjourn_protocol::ErrorCode;

/// The maximum length of a body that is not a push, in bytes.
pub const SMALL_BYTES_MAX: usize = 256 << 10;
/// The beginning of a body is not charged to the memory account, in bytes.
const SMALL_BYTES: usize = 16 << 10;
/// A body takes memory twice: as text, and parsed.
const BODY_COPIES: usize = 2;
/// A request's body must be complete within this time.
const BODY_TIME_MAX: Duration = Duration::from_secs(30);

/// The JSON body of a request.
pub(crate) struct JsonBody<T>(pub T);

/// The JSON body of a request that may have none: then it is the same as `{}`.
pub(crate) struct MaybeJson<T>(pub T);

/// The query of a request.
pub(crate) struct QueryOf<T>(pub T);

/// The parameters of a query, or other values that come as text: each name with its values.
#[derive(Clone, Debug, Default)]
pub struct Pairs(BTreeMap<String, Vec<String>>);

/// The only variable part of a path.
pub struct Part<T>(pub T);

/// A number in a path.
pub struct Number(pub u64);

/// Not a number.
#[derive(Debug, thiserror::Error)]
#[error("expected a whole number from 0 to {}", u64::MAX)]
pub struct NumberError;

impl FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Self, NumberError> {
        text.parse().map(Self).map_err(|_| NumberError)
    }
}

/// The two variable parts of a path.
pub struct Parts2<T, U>(pub T, pub U);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let text = json_text(request).await?;
        let text = text.ok_or_else(|| Problem::malformed("the request has no body: send JSON"))?;
        of_json(&text).map(Self)
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for MaybeJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let text = json_text(request).await?;
        of_json(text.as_deref().unwrap_or(b"{}")).map(Self)
    }
}

/// The text of a JSON body; `None` if there is none.
async fn json_text(request: Request) -> Result<Option<Bytes>, Problem> {
    let connection = connection(request.extensions())?;
    let (parts, body) = request.into_parts();
    let bytes = read(body, SMALL_BYTES_MAX, &connection).await?;
    if bytes.is_empty() {
        return Ok(None);
    }
    check_json(&parts.headers)?;
    Ok(Some(bytes))
}

impl Pairs {
    /// The parameters of a query.
    pub fn of_query(query: &str) -> Self {
        let mut pairs = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            pairs.add(name.into_owned(), value.into_owned());
        }
        pairs
    }

    /// Adds a value.
    pub fn add(&mut self, name: String, value: String) {
        self.0.entry(name).or_default().push(value);
    }

    /// True if there is a value of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The first value of this name; empty if there is none.
    pub fn first(&self, name: &str) -> &str {
        self.0.get(name).and_then(|values| values.first()).map_or("", String::as_str)
    }

    /// The values of this name.
    pub fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Drops values that are empty, as a form sends them for fields that were not filled in.
    #[must_use]
    pub fn filled(mut self) -> Self {
        self.0.retain(|_, values| {
            values.retain(|value| !value.is_empty());
            !values.is_empty()
        });
        self
    }

    /// The names, each once.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Takes out the values of these names.
    #[must_use]
    pub fn split(&mut self, names: &[&str]) -> Self {
        Self(names.iter().filter_map(|name| self.0.remove_entry(*name)).collect())
    }

    /// Reads all values.
    ///
    /// # Errors
    ///
    /// If a value is not valid, or its name is not known. `place` makes the place of a name.
    pub fn read<'de, T: Deserialize<'de>>(self, place: impl Fn(String) -> Place) -> Result<T, Problem> {
        let pairs = self.0.into_iter().map(|(name, values)| (name, QueryValue::new(values)));
        let source = MapDeserializer::<_, serde::de::value::Error>::new(pairs);
        serde_path_to_error::deserialize(source).map_err(|error| {
            let (name, detail) = wording::of(&error.inner().to_string());
            let path = error.path().iter().find_map(|segment| match segment {
                serde_path_to_error::Segment::Map { key } => Some(key.clone()),
                _ => None,
            });
            match name.or(path) {
                Some(name) => Problem::at(place(name), detail),
                None => Problem::malformed(detail),
            }
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Pairs {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Ok(Self::of_query(parts.uri.query().unwrap_or_default()))
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryOf<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let pairs = Pairs::of_query(parts.uri.query().unwrap_or_default());
        pairs.read(Place::Parameter).map(Self)
    }
}

impl<S, T> FromRequestParts<S> for Part<T>
where
    S: Send + Sync,
    T: FromStr<Err: fmt::Display>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Path(pairs) = parts.extract::<Path<Vec<(String, String)>>>().await.map_err(not_text)?;
        let [(name, text)] = &pairs[..] else { return Err(Problem::malformed("the path has another form")) };
        part(name, text).map(Self)
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
        let Path(pairs) = parts.extract::<Path<Vec<(String, String)>>>().await.map_err(not_text)?;
        let [(first, one), (second, two)] = &pairs[..] else {
            return Err(Problem::malformed("the path has another form"));
        };
        Ok(Self(part(first, one)?, part(second, two)?))
    }
}

fn part<T: FromStr<Err: fmt::Display>>(name: &str, text: &str) -> Result<T, Problem> {
    text.parse().map_err(|error: T::Err| {
        let (_, detail) = wording::of(&error.to_string());
        Problem::at(Place::Path(name.to_owned()), detail)
    })
}

fn not_text(_: axum::extract::rejection::PathRejection) -> Problem {
    Problem::malformed("the path is not UTF-8: escape bytes as %XX")
}

/// Checks that a request has no body.
///
/// # Errors
///
/// If there is one.
pub(crate) async fn no_body(mut body: Body) -> Result<(), Problem> {
    match timeout(BODY_TIME_MAX, body.frame()).await {
        Ok(None) => Ok(()),
        Ok(Some(_)) | Err(_) => Err(Problem::malformed("this request has no body: leave it out")),
    }
}

/// Reads a whole body of at most this size. Memory is taken for what has arrived, not for what was announced.
///
/// # Errors
///
/// If it is larger, late or incomplete, or there is no memory for it.
pub async fn read(body: Body, bytes_max: usize, connection: &HttpConnection) -> Result<Bytes, Problem> {
    let too_large = || {
        let message = format!("the request's body has more than {bytes_max} bytes: send less at once");
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

/// Parses a JSON object.
///
/// # Errors
///
/// If it is not JSON, or not of this type: the problem names the field.
pub(crate) fn of_json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    any_of_json(bytes).map(|Object(read)| read)
}

/// An object and nothing else: what serde derives reads a struct from a list of its values, too, in which no field has a name.
pub(crate) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        object(source).map(Self)
    }
}

/// Reads a field that is an object: see [`of_json`].
pub(crate) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(source: D) -> Result<T, D::Error> {
    struct OfObject<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for OfObject<T> {
        type Value = T;

        /// What the type itself expects, as it says when it finds something else.
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let nothing = UnitDeserializer::<serde::de::value::Error>::new();
            let told = T::deserialize(nothing).err().map(|error| error.to_string()).unwrap_or_default();
            f.write_str(told.split_once(", expected ").map_or("an object", |(_, expected)| expected))
        }

        fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(fields))
        }
    }

    source.deserialize_map(OfObject(PhantomData))
}

/// Parses any JSON.
///
/// # Errors
///
/// If it is not JSON, or not of this type: the problem names the field.
pub(crate) fn any_of_json<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Problem> {
    let mut source = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut source);
    let read = read.map_err(|error| {
        let path = pointer(error.path());
        let error = error.into_inner();
        if !error.is_data() {
            return not_json(&error);
        }
        let text = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let (name, detail) = wording::of(text.strip_suffix(&place).unwrap_or(&text));
        // The path of an unknown or missing field ends at its object.
        let pointer = match name {
            Some(name) if !path.ends_with(&segment(&name)) => path + &segment(&name),
            _ => path,
        };
        Problem::at(Place::Pointer(pointer), detail)
    })?;
    source.end().map_err(|error| not_json(&error))?;
    Ok(read)
}

fn not_json(error: &serde_json::Error) -> Problem {
    Problem::malformed(format!("the request's body is not JSON: {error}"))
}

/// A path as a JSON pointer ([RFC 6901](https://www.rfc-editor.org/rfc/rfc6901)).
fn pointer(path: &serde_path_to_error::Path) -> String {
    let segments = path.iter().filter_map(|part| match part {
        serde_path_to_error::Segment::Seq { index } => Some(format!("/{index}")),
        serde_path_to_error::Segment::Map { key } => Some(segment(key)),
        _ => None,
    });
    segments.collect()
}

/// A name as the part of a JSON pointer.
pub(crate) fn segment(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
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

/// The content type in lower case, without parameters.
pub fn media_type(headers: &HeaderMap) -> String {
    let said = headers.get(CONTENT_TYPE).and_then(|said| said.to_str().ok());
    adjourn_json::media_type(said.unwrap_or_default())
}
