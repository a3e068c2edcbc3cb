//! From push to handler against a server of the process, with the SDK's exporter in memory.

#![expect(clippy::indexing_slicing, reason = "a test that panics has failed, as it should")]

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use adjourn_client::protocol::{Delivered, NewJob};
use adjourn_client::types::{AttributesBuilder, TopicName, When};
use adjourn_client::{Cancellation, Client, ClientConfig, JobOutcome, Worker, WorkerConfig};
use adjourn_server::testing::TestServer;
use opentelemetry::trace::{
    FutureExt as _, SpanId, SpanKind, Status, TraceContextExt as _, TraceId, Tracer as _,
};
use opentelemetry::{Context, global};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tokio::sync::Notify;

/// The spans of all tests of the process: each looks for those of its own trace.
static EXPORTED: LazyLock<InMemorySpanExporter> = LazyLock::new(|| {
    let exporter = InMemorySpanExporter::default();
    global::set_tracer_provider(SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build());
    global::set_text_map_propagator(TraceContextPropagator::new());
    exporter
});

/// A server, a client of it, and a span of the application.
struct Rig {
    server: TestServer,
    client: Client,
    topic: TopicName,
    application: Context,
}

impl Rig {
    async fn new() -> Self {
        LazyLock::force(&EXPORTED);
        let server = TestServer::start().await.expect("it serves");
        let client =
            Client::connect(ClientConfig::new(server.address().to_string())).await.expect("connected");
        let topic = "orders".parse().expect("a good name");
        let application = Context::new().with_span(global::tracer("application").start("request"));
        Self { server, client, topic, application }
    }

    fn trace(&self) -> TraceId {
        self.application.span().span_context().trace_id()
    }

    /// Works until the queue is empty or its jobs are buried.
    async fn work<H, F>(&self, handle: H)
    where
        H: Fn(Delivered) -> F + Send + Sync + 'static,
        F: Future<Output = JobOutcome> + Send + 'static,
    {
        let handled = Arc::new(Notify::new());
        let ended = Arc::clone(&handled);
        let traced = crate::handler(move |job, _: Cancellation| {
            let (outcome, ended) = (handle(job), Arc::clone(&ended));
            async move {
                // Told also if the handler panics.
                let _told = Told(ended);
                outcome.await
            }
        });
        let worker = Worker::start(&self.client, WorkerConfig::new(self.topic.clone()), traced).await;
        let worker = worker.expect("subscribed");
        handled.notified().await;
        worker.stop().await.expect("stopped");
    }

    /// The spans of this test by their names.
    fn spans(&self) -> BTreeMap<String, SpanData> {
        self.application.span().end();
        let spans = EXPORTED.get_finished_spans().expect("kept");
        let own = spans.into_iter().filter(|span| span.span_context.trace_id() == self.trace());
        own.map(|span| (span.name.to_string(), span)).collect()
    }
}

struct Told(Arc<Notify>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn attribute(span: &SpanData, key: &str) -> Option<String> {
    span.attributes.iter().find(|found| found.key.as_str() == key).map(|found| found.value.to_string())
}

#[tokio::test]
async fn a_trace_goes_from_the_push_to_spans_of_the_handler() {
    let rig = Rig::new().await;
    let job = NewJob { due: When::After(900_000), ..NewJob::new("order 17") };
    let pushed = crate::push_one(&rig.client, &rig.topic, job).with_context(rig.application.clone());
    let id = pushed.await.expect("pushed").to_string();
    rig.server.advance(Duration::from_mins(15)).await.expect("moved");
    rig.work(|_| async {
        global::tracer("application").in_span("close", |_| {});
        JobOutcome::Done
    })
    .await;

    let spans = rig.spans();
    let (push, process) = (&spans["push orders"], &spans["process orders"]);
    assert_eq!((&push.span_kind, &process.span_kind), (&SpanKind::Producer, &SpanKind::Consumer));
    assert_eq!(push.parent_span_id, spans["request"].span_context.span_id());
    assert_eq!(process.parent_span_id, push.span_context.span_id());
    assert_eq!(spans["close"].parent_span_id, process.span_context.span_id());
    assert!(process.parent_span_is_remote);
    for (span, operation, kind) in [(push, "push", "send"), (process, "process", "process")] {
        let of = |key| attribute(span, key).unwrap_or_default();
        assert_eq!(of("messaging.system"), "adjourn");
        assert_eq!(of("messaging.operation.name"), operation);
        assert_eq!(of("messaging.operation.type"), kind);
        assert_eq!(of("messaging.destination.name"), "orders");
        assert_eq!(of("messaging.message.id"), id);
        assert_eq!(span.status, Status::Unset);
    }
    assert_eq!(attribute(process, "adjourn.attempt").as_deref(), Some("1"));
}

#[tokio::test]
async fn a_handler_that_fails_or_panics_shows_in_its_span() {
    for fails in [true, false] {
        let rig = Rig::new().await;
        let pushed = crate::push(&rig.client, &rig.topic, vec![NewJob::new("x"), NewJob::new("y")]);
        pushed.with_context(rig.application.clone()).await.expect("pushed");
        rig.work(move |_| async move {
            assert!(fails, "a fault");
            JobOutcome::Failed("no such order".to_owned())
        })
        .await;
        let spans = rig.spans();
        assert_eq!(attribute(&spans["push orders"], "messaging.batch.message_count").as_deref(), Some("2"));
        assert_eq!(attribute(&spans["push orders"], "messaging.message.id"), None);
        let said = if fails { "no such order" } else { "it was cancelled, or panicked" };
        assert_eq!(spans["process orders"].status, Status::error(said));
        assert!(attribute(&spans["process orders"], "error.type").is_some());
    }
}

#[tokio::test]
async fn a_push_that_is_refused_shows_in_its_span() {
    let rig = Rig::new().await;
    let job = NewJob { ttr_ms: 1, ..NewJob::new("x") };
    let pushed = crate::push_one(&rig.client, &rig.topic, job).with_context(rig.application.clone());
    let refusal = pushed.await.expect_err("no job is held for a millisecond").to_string();
    assert_eq!(rig.spans()["push orders"].status, Status::error(refusal));
}

#[tokio::test]
async fn a_job_that_is_refused_among_others_shows_in_the_span_of_the_push() {
    let rig = Rig::new().await;
    let job = || NewJob { key: Some("k".parse().expect("a key")), ..NewJob::new("x") };
    let pushed = crate::push(&rig.client, &rig.topic, vec![job(), job()]);
    pushed.with_context(rig.application.clone()).await.expect("answered");
    let spans = rig.spans();
    assert_eq!(attribute(&spans["push orders"], "error.type").as_deref(), Some("KEY_EXISTS"));
    assert_eq!(spans["push orders"].status, Status::error("a job was refused: KEY_EXISTS"));
}

#[tokio::test]
async fn headers_of_the_job_come_first_and_a_producer_carries_the_current_context() {
    let rig = Rig::new().await;
    let own = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
    let attributes = AttributesBuilder::default().header("Traceparent", own).build().expect("good");
    let (given, open) = (NewJob { attributes, ..NewJob::new("x") }, NewJob::new("y"));
    let [given, open] = [given, open].map(|job| {
        let _current = rig.application.clone().attach();
        crate::with_context(job)
    });
    assert_eq!(given.attributes.headers().collect::<Vec<_>>(), [("Traceparent", own)]);
    let span = rig.application.span().span_context().span_id();
    let shown = open.attributes.headers().collect::<BTreeMap<_, _>>()["traceparent"].to_owned();
    assert_eq!(shown, format!("00-{}-{span}-01", rig.trace()));
    crate::push_one(&rig.client, &rig.topic, given).await.expect("pushed");
    rig.work(|_| async { JobOutcome::Bury("seen".to_owned()) }).await;
    let spans = EXPORTED.get_finished_spans().expect("kept");
    let parent = SpanId::from_hex("00f067aa0ba902b7").expect("hex");
    let process =
        spans.iter().find(|span| span.parent_span_id == parent).expect("under the job's own header");
    assert_eq!((process.name.as_ref(), &process.status), ("process orders", &Status::Unset));
}
