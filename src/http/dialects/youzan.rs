//! The delay queue of Youzan's article: one endpoint, a command in JSON, and an answer that says whether it was done.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;

use super::super::caller::{Caller, Desk};
use super::super::input;
use super::{Fields, OldJob, id_of, pop, push, remove};

/// Most bytes of a request.
const REQUEST_BYTES_MAX: usize = 16 << 20;
const TTR_S_MAX: i64 = 604_800;

/// What was done.
#[derive(Default, Serialize)]
struct Answer {
    success: bool,
    error: String,
    id: Option<String>,
    value: Option<String>,
}

/// The one endpoint: every path is it, with any method.
pub(crate) fn router(desk: Desk) -> Router {
    Router::new().fallback(command).with_state(desk)
}

async fn command(caller: Caller, body: Body) -> Response {
    let answer = match obey(&caller, body).await {
        Ok(answer) => Answer { success: true, ..answer },
        Err(error) => Answer { error, ..Answer::default() },
    };
    let json = serde_json::to_string(&answer).unwrap_or_default();
    ([(CONTENT_TYPE, "application/json")], json).into_response()
}

async fn obey(caller: &Caller, body: Body) -> Result<Answer, String> {
    let bytes_max = REQUEST_BYTES_MAX.max(caller.body_bytes_max().saturating_mul(2));
    let bytes = input::read(body, bytes_max).await.map_err(|problem| problem.json().detail)?;
    let fields = Fields::read(&bytes).ok_or("send a JSON object")?;
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
