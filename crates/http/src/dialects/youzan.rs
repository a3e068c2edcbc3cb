//! The protocol of the delay queue in Youzan's article: one endpoint, a command in JSON, and an answer with its
//! success.

use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use super::super::caller::{Caller, HttpState};
use super::super::problem::Problem;
use super::{OldJob, Unread, id_of, pop, push, read, remove};

const TTR_S_MAX: i64 = 604_800;

/// The answer to a command.
#[derive(Default, Serialize)]
struct Answer {
    success: bool,
    error: String,
    id: Option<String>,
    value: Option<String>,
}

/// The one endpoint: it takes every path and any method.
pub(crate) fn router(state: HttpState) -> Router {
    Router::new().fallback(command).with_state(state)
}

async fn command(caller: Result<Caller, Problem>, request: Request) -> Response {
    let caller = match caller {
        Ok(caller) => caller,
        Err(problem) => return refusal(problem),
    };
    written(match obey(&caller, request).await {
        Ok(answer) => Answer { success: true, ..answer },
        Err(error) => Answer { error, ..Answer::default() },
    })
}

/// The answer to a caller that may ask nothing.
#[expect(clippy::needless_pass_by_value, reason = "the last use of a problem")]
pub(crate) fn refusal(problem: Problem) -> Response {
    written(Answer { error: problem.json().detail, ..Answer::default() })
}

#[expect(clippy::needless_pass_by_value, reason = "an answer is written once")]
fn written(answer: Answer) -> Response {
    let json = serde_json::to_string(&answer).unwrap_or_default();
    ([(CONTENT_TYPE, "application/json")], json).into_response()
}

async fn obey(caller: &Caller, request: Request) -> Result<Answer, String> {
    let fields = read(caller, request).await.map_err(|unread| match unread {
        Unread::Body(problem) => problem.json().detail,
        Unread::Json => "send a JSON object".to_owned(),
    })?;
    let text = |name: &str| match fields.text(name) {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(format!("{name} must be a text that is not empty")),
    };
    let done = |id| Answer { id: Some(id), ..Answer::default() };
    match text("command")?.as_str() {
        "add" => {
            let within = |name: &str, range: std::ops::RangeInclusive<i64>| match fields.number(name) {
                Some(number) if range.contains(&number) => Ok(number.unsigned_abs()),
                _ => Err(format!(
                    "{name} must be a whole number of seconds, {} to {}",
                    range.start(),
                    range.end()
                )),
            };
            let job = OldJob {
                topic: text("topic")?,
                id: text("id")?,
                delay_s: within("delay", 0..=315_360_000)?,
                ttr_s: within("TTR", 1..=TTR_S_MAX)?,
                body: fields.text("body").ok_or("body must be a text")?,
            };
            push(caller, &job).await.map_err(|why| why.to_string())?;
            Ok(done(job.id))
        }
        "pop" => {
            let topic = text("topic")?;
            let popped = pop(caller, &[&topic], Duration::ZERO).await.map_err(|why| why.to_string())?;
            Ok(popped.map_or_else(Answer::default, |job| Answer {
                value: Some(String::from_utf8_lossy(&job.body).into_owned()),
                ..done(id_of(&job))
            }))
        }
        "finish" | "delete" => {
            let id = text("id")?;
            remove(caller, &id).await.map_err(|why| why.to_string())?;
            Ok(done(id))
        }
        other => Err(format!("there is no command {other}: say add, pop, finish or delete")),
    }
}
