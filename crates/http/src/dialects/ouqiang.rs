//! The calls of `ouqiang/delay-queue`: `/push`, `/pop`, `/finish`, `/delete` and `/get`, with any method and always status 200.

use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::any;

use super::super::caller::{Caller, HttpState};
use super::super::problem::Problem;
use super::fields::Fields;
use super::go_json::quoted;
use super::{Failure, OldJob, Unread, find, id_of, pop, push, read, remove, topic_from};
use adjourn_protocol::ErrorCode;

/// How long a pop waits for a job.
const POP_WAIT: Duration = Duration::from_secs(178);
const DELAY_S_MAX: i64 = 1 << 31;
const TTR_S_MAX: i64 = 86_400;

/// The content type of every answer.
const TEXT: &str = "text/plain; charset=utf-8";
const NOT_JSON: &str = "解析json失败";
const NOT_READ: &str = "读取request body失败";

/// The caller of a request, unless it is refused.
type MayBeCaller = Result<Caller, Problem>;

/// All routes.
pub(crate) fn router(state: HttpState) -> Router {
    Router::new()
        .route("/push", any(push_job))
        .route("/pop", any(pop_job))
        .route("/finish", any(remove_job))
        .route("/delete", any(remove_job))
        .route("/get", any(show_job))
        .fallback(no_page)
        .with_state(state)
}

/// The answer of Go for an unknown path.
async fn no_page() -> impl IntoResponse {
    (StatusCode::NOT_FOUND, [(CONTENT_TYPE, TEXT)], "404 page not found\n")
}

async fn push_job(caller: MayBeCaller, request: Request) -> Response {
    let (caller, fields) = match read_by(caller, request).await {
        Ok(read) => read,
        Err(answer) => return answer,
    };
    let texts = [fields.text("id"), fields.text("topic"), fields.text("body")];
    let numbers = [fields.number("delay"), fields.number("ttr")];
    let ([Some(id), Some(topic), Some(body)], [Some(delay), Some(ttr)]) = (texts, numbers) else {
        return failed(NOT_JSON);
    };
    let checks = [
        (!id.is_empty(), "job id不能为空"),
        (!topic.is_empty(), "topic 不能为空"),
        ((1..=DELAY_S_MAX).contains(&delay), "delay 取值范围1 - (2^31 - 1)"),
        ((1..=TTR_S_MAX).contains(&ttr), "ttr 取值范围1 - 86400"),
    ];
    if let Some((_, wrong)) = checks.into_iter().find(|(holds, _)| !holds) {
        return failed(wrong);
    }
    let job = OldJob { topic, id, delay_s: delay.unsigned_abs(), ttr_s: ttr.unsigned_abs(), body };
    match push(&caller, &job).await {
        Ok(()) => done("添加成功", None),
        Err(why) => refused("添加失败", &why),
    }
}

async fn pop_job(caller: MayBeCaller, request: Request) -> Response {
    let (caller, fields) = match read_by(caller, request).await {
        Ok(read) => read,
        Err(answer) => return answer,
    };
    let Some(topics) = fields.text("topic") else { return failed(NOT_JSON) };
    if topics.is_empty() {
        return failed("topic不能为空");
    }
    let topics: Vec<&str> = topics.split(',').filter(|topic| !topic.is_empty()).collect();
    match pop(&caller, &topics, POP_WAIT).await {
        Ok(job) => {
            let popped = job.map(|job| {
                format!(r#"{{"id":{},"body":{}}}"#, quoted(id_of(&job).as_bytes()), quoted(&job.body))
            });
            done("操作成功", popped)
        }
        Err(why) => refused("获取Job失败", &why),
    }
}

async fn remove_job(caller: MayBeCaller, request: Request) -> Response {
    match read_id(caller, request).await {
        Ok((caller, id)) => match remove(&caller, &id).await {
            Ok(()) => done("操作成功", None),
            Err(why) => refused("删除失败", &why),
        },
        Err(answer) => answer,
    }
}

async fn show_job(caller: MayBeCaller, request: Request) -> Response {
    let (caller, id) = match read_id(caller, request).await {
        Ok(read) => read,
        Err(answer) => return answer,
    };
    match find(&caller, &id).await {
        Ok(found) => {
            let shown = found.map(|job| {
                format!(
                    r#"{{"topic":{},"id":{},"delay":{},"ttr":{},"body":{}}}"#,
                    quoted(topic_from(job.topic.as_str()).as_bytes()),
                    quoted(id.as_bytes()),
                    // When it is due, in seconds since 1970.
                    job.due.0 / 1000,
                    job.ttr_ms / 1000,
                    quoted(&job.body)
                )
            });
            done("操作成功", shown)
        }
        Err(why) => refused("查询失败", &why),
    }
}

/// The caller and the fields of a request, or the answer that refuses it.
async fn read_by(caller: MayBeCaller, request: Request) -> Result<(Caller, Fields), Response> {
    let caller = caller.map_err(refusal)?;
    let fields = read(&caller, request).await.map_err(|unread| {
        failed(match unread {
            Unread::Body(_) => NOT_READ,
            Unread::Json => NOT_JSON,
        })
    })?;
    Ok((caller, fields))
}

async fn read_id(caller: MayBeCaller, request: Request) -> Result<(Caller, String), Response> {
    let (caller, fields) = read_by(caller, request).await?;
    let id = fields.text("id").ok_or_else(|| failed(NOT_JSON))?;
    if id.is_empty() { Err(failed("job id不能为空")) } else { Ok((caller, id)) }
}

fn done(message: &str, data: Option<String>) -> Response {
    written(0, message, data)
}

fn failed(message: &str) -> Response {
    written(1, message, None)
}

/// The original says only that it failed; this adds the reason. A job that is too large cannot be read.
fn refused(message: &str, why: &Failure) -> Response {
    match why {
        Failure::Refused(problem) if problem.json().code == ErrorCode::TooLarge.name() => failed(NOT_READ),
        why => failed(&format!("{message}: {why}")),
    }
}

/// The answer to a caller that may ask nothing.
#[expect(clippy::needless_pass_by_value, reason = "the last use of a problem")]
pub(crate) fn refusal(problem: Problem) -> Response {
    failed(&problem.json().detail)
}

/// An answer, with its fields in the order of the original.
fn written(code: u8, message: &str, data: Option<String>) -> Response {
    let (message, data) = (quoted(message.as_bytes()), data.unwrap_or_else(|| "null".to_owned()));
    ([(CONTENT_TYPE, TEXT)], format!(r#"{{"code":{code},"message":{message},"data":{data}}}"#))
        .into_response()
}
