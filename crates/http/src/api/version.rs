//! The version of a job or a schedule, as an entity tag.

use std::num::{NonZeroU32, NonZeroU64};

use axum::http::header::{ETAG, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;

use super::super::problem::{Place, Problem};
use adjourn_protocol::{ErrorCode, ErrorReply, IfVersion};

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
    version.map(Some).ok_or_else(|| never_shown("job"))
}

/// A tag that this server has never issued matches nothing.
fn never_shown(what: &str) -> Problem {
    let message = format!("If-Match is no ETag that was shown: look at the {what} again");
    ErrorReply::new(ErrorCode::Changed, message).into()
}

/// Refuses a version that would not be checked.
pub(super) fn no_if_match(headers: &HeaderMap, detail: &str) -> Result<(), Problem> {
    match if_match(headers)? {
        Some(_) => Err(Problem::at(Place::Header("If-Match".to_owned()), detail)),
        None => Ok(()),
    }
}

/// The version that a schedule must still have to be set, or that there must be none.
pub(super) fn if_version(headers: &HeaderMap) -> Result<IfVersion, Problem> {
    let wrong = |name: &str, detail: &str| Err(Problem::at(Place::Header(name.to_owned()), detail));
    let if_new = headers.get(IF_NONE_MATCH);
    if if_new.is_some_and(|tag| tag.as_bytes().trim_ascii() != b"*") {
        return wrong("If-None-Match", "only * is accepted: the schedule must be new");
    }
    match (headers.get(IF_MATCH), if_new) {
        (None, None) => Ok(IfVersion::Any),
        (None, Some(_)) => Ok(IfVersion::New),
        (Some(_), Some(_)) => wrong("If-None-Match", "give If-Match or If-None-Match, not both"),
        (Some(_), None) => match if_match(headers)? {
            None => wrong("If-Match", "give the ETag of the schedule that is replaced"),
            Some(version) => {
                let version = u32::try_from(version.get()).ok().filter(|version| *version < u32::MAX);
                let version = version.and_then(NonZeroU32::new);
                version.map(IfVersion::Is).ok_or_else(|| never_shown("schedule"))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_set_if_its_headers_allow_it() {
        let of = |given: &[(&str, &'static str)]| {
            let pairs = given.iter().map(|(name, value)| {
                let name = name.parse::<axum::http::HeaderName>().expect("a name");
                (name, HeaderValue::from_static(value))
            });
            if_version(&pairs.collect()).map_err(|problem| problem.json().code)
        };
        assert_eq!(of(&[]), Ok(IfVersion::Any));
        assert_eq!(of(&[("if-none-match", "*")]), Ok(IfVersion::New));
        let tag = tag_of(3).expect("a tag");
        assert_eq!(tag, "\"0000000000000003\"");
        let third = NonZeroU32::new(3).map(IfVersion::Is);
        assert_eq!(of(&[("if-match", "\"0000000000000003\"")]).ok(), third);
        // In a frame the highest version means "only if it is new".
        for never in ["\"ffffffff\"", "\"100000003\"", "\"0\"", "3"] {
            assert_eq!(of(&[("if-match", never)]), Err("CHANGED"), "{never}");
        }
        for wrong in [
            &[("if-match", "*")][..],
            &[("if-none-match", "\"3\"")],
            &[("if-none-match", "*"), ("if-match", "\"3\"")],
        ] {
            assert_eq!(of(wrong), Err("MALFORMED"), "{wrong:?}");
        }
    }
}
