//! One job: everything that the queue has of it, why it is not running, and what can be done to it.

use std::num::NonZeroU64;

use askama::Template;
use axum::extract::Path;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};

use super::super::Answer;
use super::super::topics::at;
use super::body::ShownBody;
use crate::form::{Posted, is_line};
use crate::said::Said;
use crate::shown::header_lines;
use crate::view::{View, page};
use crate::visitor::Visitor;
use adjourn_call_backs::Attempt;
use adjourn_http::{Problem, edit};
use adjourn_json::state_text;
use adjourn_json::values::{backoff_text, delay_ms, time};
use adjourn_protocol::{Changed, Edit, ErrorCode, JobRef, JobReport, Reason, Request};
use adjourn_types::{Attributes, JobId, JobState, Key, Millis, Right, When};

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage {
    view: View,
    job: JobReport,
    here: String,
    state: String,
    key: String,
    group: String,
    content_type: String,
    headers: Vec<(String, String)>,
    /// The same as the form for an edit takes it.
    header_lines: Option<String>,
    backoff: String,
    attempts_max: Option<u32>,
    expires: Option<Millis>,
    reasons: Vec<Reason>,
    attempts: Vec<Attempt>,
    body: ShownBody,
    may_manage: bool,
    /// True if its parts can be changed in this state.
    is_editable: bool,
}

impl JobPage {
    fn forms(&self) -> [&'static str; 3] {
        ["json", "text", "hex"]
    }

    fn is(&self, state: &str) -> bool {
        self.state == state
    }
}

/// A job's page.
pub(super) async fn show(Path(id): Path<u64>, visitor: Visitor) -> Answer {
    let view = visitor.view("jobs");
    let job: JobReport = visitor.ask(Request::Get(JobRef::Id(JobId(id)))).await?;
    let is_finished = job.state == Some(JobState::Finished);
    // What is finished is not asked why it does not run.
    let reasons: Vec<Reason> =
        if is_finished { Vec::new() } else { visitor.ask(Request::Why(JobRef::Id(JobId(id)))).await? };
    let access = visitor.access();
    let attempts = visitor.console.http.call_backs().attempts(JobId(id)).await.unwrap_or_default();
    let attempts = attempts.into_iter().filter(|attempt| access.has(Right::Read, &attempt.topic)).collect();
    let policy = job.attributes.policy();
    let content_type = job.attributes.content_type().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = job
        .attributes
        .headers()
        .filter(|(name, _)| !name.eq_ignore_ascii_case("content-type"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let state = state_text(job.state);
    page(&JobPage {
        here: format!("/console/jobs/{id}"),
        key: job.key.as_ref().map(Key::as_str).unwrap_or_default().to_owned(),
        group: Attributes::group_of(job.attributes.as_bytes()).unwrap_or_default().to_owned(),
        header_lines: lines_of(&headers),
        headers,
        backoff: policy.backoff.as_ref().map(backoff_text).unwrap_or_default(),
        attempts_max: policy.attempts_max,
        expires: policy.expires.map(|expires| match expires {
            When::At(at) => at,
            When::After(after_ms) => job.history.pushed.unwrap_or_default().after(after_ms),
        }),
        body: ShownBody::of(&job.body, &content_type, visitor.query.first("as")),
        content_type,
        reasons,
        attempts,
        may_manage: view.may_manage(job.topic.as_str()),
        is_editable: ["delayed", "ready", "buried"].contains(&state.as_str()),
        state,
        job,
        view,
    })
}

/// The headers as a form takes them; `None` if one of them is no line.
fn lines_of(headers: &[(String, String)]) -> Option<String> {
    let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    headers.clone().all(is_line).then(|| header_lines(headers))
}

/// A job's body as a file.
pub(super) async fn body(Path(id): Path<u64>, visitor: Visitor) -> Answer {
    let job: JobReport = visitor.ask(Request::Get(JobRef::Id(JobId(id)))).await?;
    let name = HeaderValue::from_str(&format!("attachment; filename=\"job-{id}\""));
    let name = name.unwrap_or(HeaderValue::from_static("attachment"));
    // Whatever it is, a browser does not open it here.
    let kind = HeaderValue::from_static("application/octet-stream");
    Ok(([(CONTENT_TYPE, kind), (CONTENT_DISPOSITION, name)], job.body).into_response())
}

/// Does something to a job.
pub(super) async fn act(
    Path((id, action)): Path<(u64, String)>,
    posted: Posted,
) -> Result<Response, Problem> {
    let job = JobRef::Id(JobId(id));
    let here = format!("/console/jobs/{id}");
    let version = match posted.fields.first("version") {
        "" => None,
        version => NonZeroU64::new(version.parse().map_err(|error| at("version", &error))?),
    };
    let (request, said) = match action.as_str() {
        "run-now" => (Request::RunNow(job), Said::RunNow),
        "kick" => (Request::Kick(job), Said::RunNow),
        "delete" => (Request::Delete(job), Said::Deleted),
        "reschedule" => {
            let due = due(posted.fields.first("delay"), posted.fields.first("due"))?;
            (Request::Reschedule { due, job, if_version: version }, Said::Rescheduled)
        }
        "edit" => (Request::Edit(edited(job, &posted, version)?), Said::Edited),
        _ => return Err(Problem::malformed("there is no such action: load the page again")),
    };
    posted.visitor.ask::<Changed>(request).await.map_err(|problem| {
        if problem.is(ErrorCode::Changed) {
            let message = "the job has changed since its page was shown: load it again";
            return Problem::new(problem.status(), ErrorCode::Changed, message);
        }
        problem
    })?;
    let next = if action == "delete" { "/console/jobs" } else { &here };
    Ok(posted.done(next, said, 0))
}

fn due(delay: &str, due: &str) -> Result<When, Problem> {
    match (delay, due) {
        ("", "") => Err(at("delay", &"give a delay or a due time")),
        (delay, "") => Ok(When::After(delay_ms(delay).map_err(|error| at("delay", &error))?)),
        ("", due) => Ok(When::At(time(due).map_err(|error| at("due", &error))?)),
        _ => Err(at("due", &"give a delay or a due time, not both")),
    }
}

/// The edit of a form. A part whose box is not ticked stays.
fn edited(job: JobRef, posted: &Posted, if_version: Option<NonZeroU64>) -> Result<Edit, Problem> {
    let mut fields = posted.fields.clone();
    let _ = fields.split(&["version"]);
    let ticked = fields.split(&["with_body", "with_headers"]);
    if !ticked.has("with_body") {
        let _ = fields.split(&["body", "content_type"]);
    }
    if !ticked.has("with_headers") {
        let _ = fields.split(&["headers"]);
    }
    Ok(Edit { if_version, ..edit(job, fields)? })
}
