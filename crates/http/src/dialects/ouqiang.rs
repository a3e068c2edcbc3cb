//! The calls of `ouqiang/delay-queue`: `/push`, `/pop`, `/finish`, `/delete` and `/get`, with any method and always status 200.

use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use serde::Serialize;

use super::super::caller::{Caller, HttpState};
use super::{Failure, OldJob, Unread, as_go_writes, find, id_of, pop, push, read, remove, topic_from};

/// How long a pop waits for a job.
const POP_WAIT: Duration = Duration::from_secs(178);
const DELAY_S_MAX: i64 = 1 << 31;
const TTR_S_MAX: i64 = 86_400;

/// An answer, with its fields in the order of the original.
#[derive(Serialize)]
struct Answer<D> {
    code: u8,
    message: String,
    data: Option<D>,
}

/// A job that was popped.
#[derive(Serialize)]
struct Popped {
    id: String,
    body: String,
}

/// A job in an answer.
#[derive(Serialize)]
struct Shown {
    topic: String,
    id: String,
    /// When it is due, in seconds since 1970.
    delay: u64,
    ttr: u32,
    body: String,
}

/// All routes.
pub(crate) fn router(state: HttpState) -> Router {
    Router::new()
        .route("/push", any(push_job))
        .route("/pop", any(pop_job))
        .route("/finish", any(remove_job))
        .route("/delete", any(remove_job))
        .route("/get", any(show_job))
        .with_state(state)
}

async fn push_job(caller: Caller, request: Request) -> Response {
    let fields = match read(&caller, request).await {
        Ok(read) => read,
        Err(unread) => return failed(unread_text(&unread)),
    };
    let texts = [fields.text("id"), fields.text("topic"), fields.text("body")];
    let numbers = [fields.number("delay"), fields.number("ttr")];
    let ([Some(id), Some(topic), Some(body)], [Some(delay), Some(ttr)]) = (texts, numbers) else {
        return failed("解析json失败");
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
        Ok(()) => done::<()>("添加成功", None),
        Err(why) => refused("添加失败", &why),
    }
}

async fn pop_job(caller: Caller, request: Request) -> Response {
    let fields = match read(&caller, request).await {
        Ok(fields) => fields,
        Err(unread) => return failed(unread_text(&unread)),
    };
    let Some(topics) = fields.text("topic") else { return failed("解析json失败") };
    if topics.is_empty() {
        return failed("topic不能为空");
    }
    let topics: Vec<&str> = topics.split(',').filter(|topic| !topic.is_empty()).collect();
    match pop(&caller, &topics, POP_WAIT).await {
        Ok(job) => {
            let popped = job
                .map(|job| Popped { id: id_of(&job), body: String::from_utf8_lossy(&job.body).into_owned() });
            done("操作成功", popped)
        }
        Err(why) => refused("获取Job失败", &why),
    }
}

async fn remove_job(caller: Caller, request: Request) -> Response {
    match read_id(&caller, request).await {
        Ok(id) => match remove(&caller, &id).await {
            Ok(()) => done::<()>("操作成功", None),
            Err(why) => refused("删除失败", &why),
        },
        Err(answer) => answer,
    }
}

async fn show_job(caller: Caller, request: Request) -> Response {
    let id = match read_id(&caller, request).await {
        Ok(id) => id,
        Err(answer) => return answer,
    };
    match find(&caller, &id).await {
        Ok(found) => {
            let shown = found.into_iter().next_back().map(|job| Shown {
                topic: topic_from(job.topic.as_str()),
                id,
                delay: job.due.0 / 1000,
                ttr: job.ttr_ms / 1000,
                body: String::from_utf8_lossy(&job.body).into_owned(),
            });
            done("操作成功", shown)
        }
        Err(why) => refused("查询失败", &why),
    }
}

async fn read_id(caller: &Caller, request: Request) -> Result<String, Response> {
    let fields = read(caller, request).await.map_err(|unread| failed(unread_text(&unread)))?;
    let id = fields.text("id").ok_or_else(|| failed("解析json失败"))?;
    if id.is_empty() { Err(failed("job id不能为空")) } else { Ok(id) }
}

fn unread_text(unread: &Unread) -> &'static str {
    match unread {
        Unread::Body(_) => "读取request body失败",
        Unread::Json => "解析json失败",
    }
}

fn done<D: Serialize>(message: &str, data: Option<D>) -> Response {
    written(&Answer { code: 0, message: message.to_owned(), data })
}

fn failed(message: &str) -> Response {
    written(&Answer::<()> { code: 1, message: message.to_owned(), data: None })
}

/// The original says only that it failed; this adds the reason.
fn refused(message: &str, why: &Failure) -> Response {
    failed(&format!("{message}: {why}"))
}

fn written(answer: &impl Serialize) -> Response {
    let json = serde_json::to_string(answer).unwrap_or_default();
    ([(CONTENT_TYPE, "text/plain; charset=utf-8")], as_go_writes(&json)).into_response()
}
