//! `PATCH` of a job: changes parts of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use axum::extract::Request;
use axum::http::HeaderMap;
use serde_json::value::RawValue;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::super::caller::Caller;
use super::super::connection::connection;
use super::super::input::{self, Number, Part, Parts2};
use super::super::problem::{Place, Problem, ProblemJson};
use super::change::{change, of_one_job_with_body};
use super::new_job::NewJobJson;
use super::push::bytes_max;
use super::{Answer, version};
use adjourn_json::ChangedJson;
use adjourn_protocol::{Edit, JobRef, NewJob, Request as Asked};
use adjourn_types::{AttributeSet, JobId, Key, TopicName};

/// The fields of a new job that no edit changes.
const FIXED: [&str; 5] = ["key", "if_exists", "postpone_max", "postpone_max_ms", "buried"];
/// The fields of a due time, of which an edit has at most one.
const DUE: [&str; 4] = ["due", "due_ms", "delay", "delay_ms"];
/// The fields that are attributes.
const ATTRIBUTES: [(&str, AttributeSet); 7] = [
    ("headers", AttributeSet::HEADERS),
    ("expires", AttributeSet::EXPIRES),
    ("attempts_max", AttributeSet::ATTEMPTS_MAX),
    ("backoff", AttributeSet::BACKOFF),
    ("remember", AttributeSet::DEDUPE_RETENTION),
    ("remember_ms", AttributeSet::DEDUPE_RETENTION),
    ("group", AttributeSet::GROUP),
];

/// The fields of a job that change, for the `OpenAPI` document: those of a new job, but for the [fixed](FIXED) ones.
pub(super) struct EditJson;

impl PartialSchema for EditJson {
    fn schema() -> RefOr<Schema> {
        let mut schema = NewJobJson::schema();
        if let RefOr::T(Schema::Object(object)) = &mut schema {
            object.properties.retain(|name, _| !FIXED.contains(&&**name));
            object.description =
                Some("What changes. Fields that are left out stay; `null` takes a setting away.".to_owned());
            object.examples = vec![serde_json::json!({"priority": 1, "attempts_max": null})];
        }
        schema
    }
}

impl ToSchema for EditJson {
    fn name() -> Cow<'static, str> {
        "EditJob".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        NewJobJson::schemas(schemas);
    }
}

/// Reads the fields of a request about this job.
fn changes(job: JobRef, text: &[u8]) -> Result<Edit, Problem> {
    let new: NewJobJson<'_> = input::of_json(text)?;
    let given: BTreeMap<Cow<'_, str>, &RawValue> = input::of_json(text)?;
    let has_value = |name: &str| given.get(name).is_some_and(|value| value.get() != "null");
    let is_given = |name: &str| given.contains_key(name);
    refuse_fixed(is_given)?;
    let is_due = DUE.into_iter().any(has_value);
    if let Some(name) = DUE.into_iter().find(|name| is_given(name)).filter(|_| !is_due) {
        let detail = "every job has a due time: give another one, or leave it out";
        return Err(Problem::at_pointer(&format!("/{name}"), detail));
    }
    // Here `null` is a body, too.
    let has_body = is_given("body") || has_value("body_base64");
    edit_of(job, new.job()?, has_body, is_given)
}

/// Refuses an edit of what never changes.
///
/// # Errors
///
/// If any of it is given.
pub(super) fn refuse_fixed(is_given: impl Fn(&str) -> bool) -> Result<(), Problem> {
    let fixed = FIXED.into_iter().find(|name| is_given(name));
    fixed.map_or(Ok(()), |name| {
        Err(Problem::at_pointer(&format!("/{name}"), "an edit cannot change it: leave it out"))
    })
}

/// The edit of what is given of `new`.
///
/// # Errors
///
/// If that is nothing.
pub(super) fn edit_of(
    job: JobRef,
    new: NewJob,
    has_body: bool,
    is_given: impl Fn(&str) -> bool,
) -> Result<Edit, Problem> {
    let replaced = ATTRIBUTES.into_iter().filter(|(name, _)| is_given(name));
    let edit = Edit {
        due: DUE.into_iter().any(&is_given).then_some(new.due),
        priority: is_given("priority").then_some(new.priority),
        ttr_ms: (is_given("ttr") || is_given("ttr_ms")).then_some(new.ttr_ms),
        body: has_body.then_some(new.body),
        replaced: replaced.fold(AttributeSet::NONE, |set, (_, attribute)| set.and(attribute)),
        attributes: new.attributes,
        ..Edit::new(job)
    };
    if !edit.changes_something() {
        return Err(Problem::malformed("give at least one field that changes, such as {\"priority\": 1}"));
    }
    Ok(edit)
}

async fn edited(caller: &Caller, job: JobRef, headers: &HeaderMap, request: Request) -> Answer {
    if matches!(&job, JobRef::Key { topic, .. } if topic.is_any()) {
        return Err(Problem::at(Place::Path("topic".to_owned()), "an edit needs the topic of the job"));
    }
    let connection = connection(request.extensions())?;
    input::check_json(headers)?;
    let if_version = version::if_match(headers)?;
    let text = input::read(request.into_body(), bytes_max(caller), &connection).await?;
    change(caller, Asked::Edit(Edit { if_version, ..changes(job, &text)? })).await
}

of_one_job_with_body!(
    /// Change parts of a delayed, ready or buried job
    ///
    /// Fields that are left out stay as they are, `null` takes a setting away: the topic's default then counts, if there is one. `headers` replaces all
    /// headers but the content type, which goes with the body. With `If-Match`, only if the job has not changed since its `ETag` was shown.
    patch edit, edit_by_key, "", EditJson,
    |caller, job, headers, request => Request| edited(&caller, job, &headers, request)
);

#[cfg(test)]
mod tests {
    use super::*;
    use adjourn_types::limits::PRIORITY_UNSAID;
    use adjourn_types::{Millis, When};

    fn read(text: &str) -> Result<Edit, String> {
        changes(JobRef::Id(JobId(1)), text.as_bytes()).map_err(|problem| problem.json().detail)
    }

    #[test]
    fn fields_that_are_left_out_stay() {
        let one = read(r#"{"priority": 7}"#);
        assert_eq!(one, Ok(Edit { priority: Some(7), ..Edit::new(JobRef::Id(JobId(1))) }));
        let all = read(
            r#"{"due_ms": 9, "ttr": null, "priority": null, "expires": null, "attempts_max": 3, "backoff": null, "remember": "1d"}"#,
        )
        .expect("an edit");
        assert_eq!((all.due, all.ttr_ms), (Some(When::At(Millis(9))), Some(0)));
        assert_eq!((all.priority, all.body), (Some(PRIORITY_UNSAID), None));
        assert!(!all.replaced.has(AttributeSet::HEADERS) && all.replaced.has(AttributeSet::EXPIRES));
        assert_eq!(all.attributes.policy().attempts_max, Some(3));
    }

    #[test]
    fn the_content_type_goes_with_the_body() {
        const JSON: Option<&str> = Some("application/json");
        for (text, content_type, has_headers) in [
            (r#"{"body": {}}"#, JSON, false),
            (r#"{"body": null}"#, JSON, false),
            (r#"{"body": "text"}"#, None, false),
            (r#"{"headers": {"Content-Type": "x"}}"#, Some("x"), true),
            (r#"{"headers": {"Content-Type": "x"}, "body": []}"#, Some("x"), true),
            (r#"{"headers": {"b": "2"}, "body": []}"#, JSON, true),
        ] {
            let edit = read(text).expect("an edit");
            assert_eq!(edit.attributes.content_type(), content_type, "{text}");
            assert!(edit.replaces().has(AttributeSet::CONTENT_TYPE), "{text}");
            assert_eq!(edit.replaces().has(AttributeSet::HEADERS), has_headers, "{text}");
        }
        for text in [r#"{"headers": {"b": "2"}}"#, r#"{"headers": null}"#, r#"{"priority": 1}"#] {
            let edit = read(text).expect("an edit");
            assert!(!edit.replaces().has(AttributeSet::CONTENT_TYPE), "{text}");
        }
    }

    #[test]
    fn what_cannot_change_is_refused() {
        for (text, reason) in [
            ("{}", "give at least one field that changes"),
            (r#"{"key": null}"#, "/key: an edit cannot change it"),
            (r#"{"if_exists": "keep"}"#, "/if_exists: an edit cannot change it"),
            (r#"{"delay": null}"#, "/delay: every job has a due time"),
            (r#"{"due_ms": 1, "delay": "1s"}"#, "/due: give a delay or a due time, not both"),
            (r#"{"colour": 1}"#, "/colour"),
        ] {
            let told = read(text).map(|_| ()).expect_err(text);
            assert!(told.contains(reason), "{text}: {told}");
        }
    }
}
