//! The version of a job, as an entity tag.

use std::num::NonZeroU64;

use axum::http::header::{ETAG, IF_MATCH};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use super::super::problem::{Place, Problem};
use adjourn_protocol::{ErrorCode, ErrorReply};

/// The tag of a version; `None` if it is not known.
pub(super) fn tag_of(version: u64) -> Option<HeaderValue> {
    (version != 0).then(|| HeaderValue::from_str(&format!("\"{version:016x}\"")).ok()).flatten()
}

/// Adds a tag to an answer.
pub(super) fn tagged(mut answer: Response, tag: Option<HeaderValue>) -> Response {
    if let Some(tag) = tag {
        answer.headers_mut().insert(ETAG, tag);
    }
    answer
}

/// The version that the job must still have.
pub(super) fn if_match(headers: &HeaderMap) -> Result<Option<NonZeroU64>, Problem> {
    let mut tags = headers.get_all(IF_MATCH).into_iter();
    let Some(tag) = tags.next() else { return Ok(None) };
    if tags.next().is_some() || tag.as_bytes().contains(&b',') {
        return Err(Problem::at(Place::Header("If-Match".to_owned()), "give one ETag"));
    }
    let tag = tag.to_str().unwrap_or_default().trim();
    if tag == "*" {
        return Ok(None);
    }
    let version = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    let version = version.and_then(|version| NonZeroU64::new(u64::from_str_radix(version, 16).ok()?));
    // A tag that this server has never issued matches no job.
    version.map(Some).ok_or_else(|| {
        ErrorReply::new(ErrorCode::Changed, "If-Match is no ETag that was shown: look at the job again")
            .into()
    })
}
