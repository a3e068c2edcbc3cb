//! Server-sent events (the [HTML standard](https://html.spec.whatwg.org/multipage/server-sent-events.html)): counts at
//! intervals, and events of jobs.
//!
//! Any member shows what it has applied. Events of jobs are for people and screens, not for work: a reader that is too
//! slow, or was disconnected, misses some; nothing is kept for it.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::channel::{Channel, Sender};
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use utoipa::{IntoParams, ToSchema};

use super::super::caller::Caller;
use super::super::fields::{Bounds, Field, Span, SpanMs, Text, either, schema, schema_ms};
use super::super::input::QueryOf;
use super::super::patience::CallerWatch;
use super::super::problem::{Place, Problem, ProblemJson};
use super::super::streams::StreamSlot;
use super::Answer;
use adjourn_json::values::time_text;
use adjourn_json::{TopicJson, TotalsJson};
use adjourn_protocol::{ErrorCode, ErrorReply};
use adjourn_server::{JobEvent, Observation, wall};
use adjourn_types::limits::WAIT_MS_MAX;
use adjourn_types::{Access, Grant, Right, TopicPattern};

/// The default interval between counts.
const EVERY_DEFAULT: Duration = Duration::from_secs(5);
/// The longest silence towards a reader: proxies close silent connections.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Most events of jobs that are written together.
const EVENTS_TOGETHER_MAX: usize = 256;
/// Messages that may wait for a reader.
const WAITING_MAX: usize = 16;

/// What is watched.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct EventsQuery {
    /// Names of topics, or prefixes with `*`. The default is all topics.
    #[param(value_type = Option<Vec<String>>, example = json!(["orders", "mail*"]))]
    topics: Option<Vec<Field<Pattern>>>,
    /// The default is counts.
    #[param(inline, value_type = Option<Vec<WhatJson>>)]
    what: Option<Vec<WhatJson>>,
    /// How often counts are sent. The default is 5s.
    #[param(schema_with = schema::<Span<Every>>, required = false)]
    every: Option<Field<Span<Every>>>,
    /// The same in milliseconds.
    #[param(schema_with = schema_ms::<Every>, required = false)]
    every_ms: Option<SpanMs<Every>>,
}

/// A kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = What)]
pub(super) enum WhatJson {
    /// Counts at intervals.
    Counts,
    /// Each change of a job.
    Jobs,
}

/// A topic's name, or a prefix.
enum Pattern {}
/// How often counts are sent.
enum Every {}

impl Text for Pattern {
    type Value = TopicPattern;
    type Error = &'static str;
    const EXPECTED: &'static str = "a topic's name, or a prefix with *";
    const EXAMPLE: &'static str = "mail*";

    fn of_text(text: &str) -> Result<TopicPattern, &'static str> {
        text.parse().map_err(|_| "expected a topic's name, or a prefix with *")
    }
}

impl Bounds for Every {
    const MILLIS: RangeInclusive<u64> = 1000..=WAIT_MS_MAX;
    const EXAMPLE: &'static str = "5s";
}

/// An event `counts`.
#[derive(Serialize)]
struct CountsJson<'a> {
    /// The node's clock, RFC 3339.
    at: String,
    /// The node that counts.
    node: u64,
    /// The node that leads, as far as it knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<u64>,
    /// The sums over all topics, if the caller may read all of them and watches all.
    #[serde(skip_serializing_if = "Option::is_none")]
    totals: Option<TotalsJson>,
    /// By topic: 512 at most.
    topics: Vec<TopicJson<'a>>,
}

/// An event `job`.
#[derive(Serialize)]
struct JobEventJson<'a> {
    /// The job.
    job: u64,
    /// Its topic.
    topic: &'a str,
    /// `pushed`, `delayed`, `ready`, `reserved`, `buried`, `finished`, `deleted`, `expired` or `moved`.
    event: &'a str,
    /// How often it was reserved.
    attempts: u32,
    /// When it is, or was, due, RFC 3339.
    due: String,
    /// When it happened, RFC 3339.
    at: String,
}

/// An event `lagged`: the reader was too slow.
#[derive(Serialize)]
struct LaggedJson {
    /// The number of missed events, of any topic.
    missed: u64,
}

/// The events that a reader asks for.
struct Wanted {
    topics: Vec<TopicPattern>,
    counts: bool,
    jobs: bool,
    every: Duration,
}

/// Watch counts and jobs
#[utoipa::path(
    get,
    path = "/v1/events",
    operation_id = "watch",
    tag = "server",
    params(EventsQuery),
    responses(
        (status = 200, description = "Server-sent events, without end: `counts`, `job`, and `lagged` when events of jobs were left out", body = String, content_type = "text/event-stream"),
        (status = "default", description = "Refused", body = ProblemJson, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn events(caller: Caller, QueryOf(query): QueryOf<EventsQuery>) -> Answer {
    let wanted = Wanted::read(query)?;
    caller.with_right(Right::Read, "events need")?;
    let place = caller.state().stream(&caller.token()).ok_or_else(|| {
        let message = "the node, or the token, has as many event streams as it may have: close one";
        Problem::from(ErrorReply { retry_after_ms: 1000, ..ErrorReply::new(ErrorCode::Busy, message) })
    })?;
    let jobs = if wanted.jobs {
        let watched = caller.state().local().job_events().await;
        Some(watched.ok_or_else(|| {
            Problem::from(ErrorReply::new(ErrorCode::Busy, "the node does not answer: look at its log"))
        })?)
    } else {
        None
    };
    let (sender, body) = Channel::new(WAITING_MAX);
    let gone = CancellationToken::new();
    let mut response = Response::new(watched(body, gone.clone()));
    let watch = caller.watch();
    tokio::spawn(Stream { caller, wanted, sender, gone, _place: place, _watch: watch }.run(jobs));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The body of a stream. Its drop cancels `gone`: the reader is gone, and its slot is free.
fn watched(body: Channel<Bytes>, gone: CancellationToken) -> Body {
    let guard = gone.drop_guard();
    Body::new(body.map_frame(move |frame| {
        let _held = &guard;
        frame
    }))
}

impl Wanted {
    fn read(query: EventsQuery) -> Result<Self, Problem> {
        let topics = query.topics.unwrap_or_default();
        let what = query.what.unwrap_or_else(|| vec![WhatJson::Counts]);
        let every_ms = either("every", query.every.as_ref(), query.every_ms.as_ref());
        let every_ms = every_ms.map_err(|problem| problem.elsewhere(Place::Parameter))?;
        Ok(Self {
            topics: topics.into_iter().map(|topic| topic.0).collect(),
            counts: what.contains(&WhatJson::Counts),
            jobs: what.contains(&WhatJson::Jobs),
            every: every_ms.map_or(EVERY_DEFAULT, Duration::from_millis),
        })
    }

    /// The right to read the requested topics, as far as the caller has it. So the core counts no other topics.
    fn of(&self, access: &Arc<Access>) -> Arc<Access> {
        if self.topics.is_empty() {
            return Arc::clone(access);
        }
        let readable = access.grants.iter().filter(|grant| grant.rights.has(Right::Read));
        let rights = [Right::Read].into_iter().collect();
        let wanted = readable.flat_map(|grant| {
            let common = self.topics.iter().filter_map(|wanted| wanted.common(&grant.topics));
            common.map(|topics| Grant { rights, topics })
        });
        Arc::new(Access { grants: wanted.collect(), ..Access::clone(access) })
    }
}

/// One reader.
struct Stream {
    caller: Caller,
    wanted: Wanted,
    sender: Sender<Bytes>,
    /// Cancelled when the reader is gone.
    gone: CancellationToken,
    _place: StreamSlot,
    /// The reader is gone when it closes its side of the connection.
    _watch: CallerWatch,
}

impl Stream {
    /// Sends until the reader is gone, its token ends, or the server stops.
    async fn run(mut self, mut jobs: Option<broadcast::Receiver<JobEvent>>) {
        let (stopping, gone) = (self.caller.state().local().stopping(), self.gone.clone());
        let (caller, access) = (self.caller.clone(), self.wanted.of(&self.caller.access()));
        let mut counts = interval(self.wanted.every);
        counts.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut silence = interval(SILENCE_MAX);
        silence.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let text = tokio::select! {
                biased;
                () = stopping.cancelled() => return,
                () = gone.cancelled() => return,
                () = caller.ended() => return,
                _ = counts.tick(), if self.wanted.counts => self.counts(&access).await,
                watched = next(jobs.as_mut()) => match watched {
                    Ok(event) => job_messages(&access, &event, jobs.as_mut()),
                    Err(RecvError::Lagged(missed)) => message("lagged", &LaggedJson { missed }),
                    // The core has ended.
                    Err(RecvError::Closed) => return,
                },
                _ = silence.tick() => ": \n\n".to_owned(),
            };
            if text.is_empty() {
                continue;
            }
            // A reader that does not read has used up its share of memory. It may reconnect.
            let Some(text) = caller.event(text) else { return };
            tokio::select! {
                biased;
                () = stopping.cancelled() => return,
                () = gone.cancelled() => return,
                () = caller.ended() => return,
                sent = self.sender.send_data(text) => if sent.is_err() { return },
            }
        }
    }

    async fn counts(&self, access: &Arc<Access>) -> String {
        // If the core does not answer in time, it may do so the next time.
        let Some(observed) = self.caller.state().local().observe(Arc::clone(access)).await else {
            return String::new();
        };
        let Observation { cluster, totals, topics, .. } = &observed.observation;
        let counts = CountsJson {
            at: time_text(wall()),
            node: cluster.node,
            leader: cluster.leader,
            totals: totals.as_ref().map(TotalsJson::of),
            topics: topics.iter().map(TopicJson::of).collect(),
        };
        message("counts", &counts)
    }
}

async fn next(jobs: Option<&mut broadcast::Receiver<JobEvent>>) -> Result<JobEvent, RecvError> {
    match jobs {
        Some(jobs) => jobs.recv().await,
        None => std::future::pending().await,
    }
}

fn message(event: &str, data: &impl Serialize) -> String {
    format!("event: {event}\ndata: {}\n\n", serde_json::to_string(data).unwrap_or_default())
}

/// This event, and the waiting ones after it.
fn job_messages(
    access: &Access,
    first: &JobEvent,
    jobs: Option<&mut broadcast::Receiver<JobEvent>>,
) -> String {
    let mut text = job_message(access, first);
    let Some(jobs) = jobs else { return text };
    for _ in 0..EVENTS_TOGETHER_MAX {
        match jobs.try_recv() {
            Ok(event) => text.push_str(&job_message(access, &event)),
            Err(TryRecvError::Lagged(missed)) => {
                text.push_str(&message("lagged", &LaggedJson { missed }));
            }
            Err(TryRecvError::Empty | TryRecvError::Closed) => break,
        }
    }
    text
}

/// An event as text; empty if the caller may not see it.
fn job_message(access: &Access, event: &JobEvent) -> String {
    let topic = event.topic.as_str();
    if !access.has(Right::Read, topic) {
        return String::new();
    }
    let event = JobEventJson {
        job: event.job.0,
        topic,
        event: event.kind.name(),
        attempts: event.attempts,
        due: time_text(event.due),
        at: time_text(event.at),
    };
    message("job", &event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_of_a_body_is_told_at_once() {
        let (mut sender, body) = Channel::new(WAITING_MAX);
        let gone = CancellationToken::new();
        let mut body = watched(body, gone.clone());
        sender.send_data("a".into()).await.expect("there is room");
        let frame = body.frame().await.expect("a frame").expect("good");
        assert!(frame.into_data().is_ok_and(|data| data == "a") && !gone.is_cancelled());
        drop(body);
        gone.cancelled().await;
    }
}
