//! Traces of [OpenTelemetry](https://opentelemetry.io) from the push of a job to its handler.
//!
//! [`push`] and [`push_one`] push under a span, and give its context to the jobs as headers (`traceparent` and what else the program's propagator
//! writes). [`handler`] runs the handler of a [`Worker`](adjourn_client::Worker) under a span whose parent is that context, so that a trace
//! goes on where it began, days later and in another process. Names and attributes are those of the
//! [conventions for messaging](https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/).
//!
//! Tracer and propagator are the global ones. A program that has set none pays for empty spans, and its jobs get no header.
//!
//! ```no_run
//! # async fn example(client: adjourn_client::Client) -> Result<(), adjourn_client::ClientError> {
//! use adjourn_client::protocol::{Delivered, NewJob};
//! use adjourn_client::types::TopicName;
//! use adjourn_client::{Cancellation, Worker, WorkerConfig};
//!
//! async fn close_order(order: Delivered, _: Cancellation) -> Result<(), String> {
//!     println!("{:?} was not paid", order.body);
//!     Ok(())
//! }
//!
//! let topic: TopicName = "unpaid-orders".parse().expect("a good name");
//! let worker = Worker::start(&client, WorkerConfig::new(topic.clone()), adjourn_opentelemetry::handler(close_order)).await?;
//! adjourn_opentelemetry::push_one(&client, &topic, NewJob::new("order 17")).await?;
//! # worker.stop().await
//! # }
//! ```

use std::future::Future;
use std::pin::Pin;

use adjourn_client::protocol::{Delivered, NewJob, PushResult};
use adjourn_client::types::{AttributesBuilder, JobId, TopicName};
use adjourn_client::{Cancellation, Client, ClientError, IntoJobOutcome, JobOutcome};
use opentelemetry::propagation::{Extractor, Injector};
use opentelemetry::trace::{FutureExt as _, SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, KeyValue, global};

/// [`Client::push`] under a span `push TOPIC`, which ends when the jobs are acknowledged or refused.
///
/// # Errors
///
/// Those of [`Client::push`]. The span shows an error also if a job is refused.
pub async fn push(
    client: &Client,
    topic: &TopicName,
    jobs: Vec<NewJob>,
) -> Result<Vec<PushResult>, ClientError> {
    let pushing = pushing(topic);
    pushing.note([KeyValue::new(
        "messaging.batch.message_count",
        i64::try_from(jobs.len()).unwrap_or(i64::MAX),
    )]);
    let jobs = jobs.into_iter().map(|job| carrying(job, &pushing.context)).collect();
    let pushed = client.push(topic, jobs).await;
    let refused = pushed.iter().flatten().find_map(|result| match result {
        PushResult::Refused(code, _) => Some(*code),
        _ => None,
    });
    match (&pushed, refused) {
        (Err(error), _) => pushing.fail(code_of(error), error.to_string()),
        (Ok(_), Some(code)) => pushing.fail(code.to_string(), format!("a job was refused: {code}")),
        (Ok(_), None) => {}
    }
    pushing.end();
    pushed
}

/// [`Client::push_one`] under a span `push TOPIC`, which ends when the job is acknowledged or refused.
///
/// # Errors
///
/// Those of [`Client::push_one`].
pub async fn push_one(client: &Client, topic: &TopicName, job: NewJob) -> Result<JobId, ClientError> {
    let pushing = pushing(topic);
    let pushed = client.push_one(topic, carrying(job, &pushing.context)).await;
    match &pushed {
        Ok(id) => pushing.note([message_id(*id)]),
        Err(error) => pushing.fail(code_of(error), error.to_string()),
    }
    pushing.end();
    pushed
}

/// The code of a refusal, or what stands for another error.
fn code_of(error: &ClientError) -> String {
    error.code().map_or_else(|| OTHER.to_owned(), |code| code.to_string())
}

/// The type of an error that has no name, by the conventions.
const OTHER: &str = "_OTHER";

/// Gives a job the current context as headers, for ways to push that have no span of their own: a [`Producer`](adjourn_client::Producer),
/// [`Client::push_detached`]. A header that the job has already stays. A job whose headers have no room stays as it is.
#[must_use]
pub fn with_context(job: NewJob) -> NewJob {
    carrying(job, &Context::current())
}

/// The handler of a [`Worker`](adjourn_client::Worker), each time under a span `process TOPIC`. Spans that the handler starts are its children. The span shows
/// an error if the handler fails, panics or is cancelled; a job that is buried or retried on purpose is none.
pub fn handler<H, F>(
    handler: H,
) -> impl Fn(Delivered, Cancellation) -> Pin<Box<dyn Future<Output = JobOutcome> + Send>>
where
    H: Fn(Delivered, Cancellation) -> F,
    F: Future<Output: IntoJobOutcome> + Send + 'static,
{
    move |job, cancellation| {
        let parent = global::get_text_map_propagator(|propagator| propagator.extract(&Headers(&job)));
        let processing = Operation::start("process", SpanKind::Consumer, "process", &job.topic, &parent);
        processing
            .note([message_id(job.lease.job), KeyValue::new("adjourn.attempt", i64::from(job.attempts))]);
        // The handler itself may start spans, before its future is polled.
        let future = {
            let _current = processing.context.clone().attach();
            handler(job, cancellation)
        };
        let context = processing.context.clone();
        Box::pin(
            async move {
                let outcome = future.await.into_job_outcome();
                if let JobOutcome::Failed(reason) = &outcome {
                    processing.fail(OTHER.to_owned(), reason.clone());
                }
                processing.end();
                outcome
            }
            .with_context(context),
        )
    }
}

/// The span of an operation on a topic, and the context that it makes.
struct Operation {
    context: Context,
    has_ended: bool,
}

impl Operation {
    fn start(name: &str, kind: SpanKind, sort: &'static str, topic: &TopicName, parent: &Context) -> Self {
        let tracer = global::tracer("adjourn");
        let attributes = [
            KeyValue::new("messaging.system", "adjourn"),
            KeyValue::new("messaging.operation.name", name.to_owned()),
            KeyValue::new("messaging.operation.type", sort),
            KeyValue::new("messaging.destination.name", topic.to_string()),
        ];
        let span = tracer.span_builder(format!("{name} {topic}")).with_kind(kind).with_attributes(attributes);
        Self { context: parent.with_span(span.start_with_context(&tracer, parent)), has_ended: false }
    }

    fn note(&self, attributes: impl IntoIterator<Item = KeyValue>) {
        self.context.span().set_attributes(attributes);
    }

    /// Ends the span in order.
    fn end(mut self) {
        self.has_ended = true;
        self.context.span().end();
    }

    /// Lets the span show an error: the type of it, and its text.
    fn fail(&self, kind: String, error: String) {
        let span = self.context.span();
        span.set_attribute(KeyValue::new("error.type", kind));
        span.set_status(Status::error(error));
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if !self.has_ended {
            self.fail(OTHER.to_owned(), "it was cancelled, or panicked".to_owned());
            self.context.span().end();
        }
    }
}

fn pushing(topic: &TopicName) -> Operation {
    Operation::start("push", SpanKind::Producer, "send", topic, &Context::current())
}

fn message_id(id: JobId) -> KeyValue {
    KeyValue::new("messaging.message.id", id.to_string())
}

fn carrying(job: NewJob, context: &Context) -> NewJob {
    if job.attributes.headers().any(|(name, _)| name.eq_ignore_ascii_case("traceparent")) {
        // It is of another trace.
        return job;
    }
    let mut added = NewHeaders { builder: AttributesBuilder::from(&job.attributes), job: &job };
    global::get_text_map_propagator(|propagator| propagator.inject_context(context, &mut added));
    match added.builder.build() {
        Ok(attributes) => NewJob { attributes, ..job },
        // The headers of the job leave no room: it goes without.
        Err(_) => job,
    }
}

/// The headers that a propagator adds to a job.
struct NewHeaders<'a> {
    builder: AttributesBuilder,
    job: &'a NewJob,
}

impl Injector for NewHeaders<'_> {
    fn set(&mut self, name: &str, value: String) {
        if !value.is_empty() && self.job.attributes.headers().all(|(has, _)| !has.eq_ignore_ascii_case(name))
        {
            self.builder = std::mem::take(&mut self.builder).header(name, &value);
        }
    }
}

/// The headers of a job that a propagator reads.
struct Headers<'a>(&'a Delivered);

impl Extractor for Headers<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        let mut headers = self.0.attributes.headers();
        headers.find(|(has, _)| has.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.attributes.headers().map(|(name, _)| name).collect()
    }
}

#[cfg(test)]
mod tests;
