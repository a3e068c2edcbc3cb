package io.adjourn.opentelemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.adjourn.client.BuryJobException;
import io.adjourn.client.Client;
import io.adjourn.client.Filter;
import io.adjourn.client.Handler;
import io.adjourn.client.Header;
import io.adjourn.client.IdempotencyKey;
import io.adjourn.client.JobInfo;
import io.adjourn.client.Limits;
import io.adjourn.client.NewJob;
import io.adjourn.client.PushResult;
import io.adjourn.client.ServerException;
import io.adjourn.client.Worker;
import io.adjourn.client.testing.TestQueue;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.baggage.Baggage;
import io.opentelemetry.api.baggage.propagation.W3CBaggagePropagator;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.api.trace.TracerProvider;
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.ContextPropagators;
import io.opentelemetry.context.propagation.TextMapGetter;
import io.opentelemetry.context.propagation.TextMapPropagator;
import io.opentelemetry.context.propagation.TextMapSetter;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.ExceptionEventData;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Spans from push to handler, on a real server. */
class OpenTelemetryTracingTest {
    private static final String OTHER_TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    private final InMemorySpanExporter exporter = InMemorySpanExporter.create();
    private final Queue<String> started = new ConcurrentLinkedQueue<>();
    /** The steps that throw. */
    private final Set<String> broken = ConcurrentHashMap.newKeySet();
    private final SdkTracerProvider tracers = SdkTracerProvider.builder().addSpanProcessor(SimpleSpanProcessor.create(exporter))
            .addSpanProcessor(new Breakable()).build();
    private final OpenTelemetry telemetry = new OpenTelemetry() {
        @Override
        public TracerProvider getTracerProvider() {
            return tracers;
        }

        @Override
        public ContextPropagators getPropagators() {
            return ContextPropagators.create(new BreakablePropagator());
        }
    };
    private final TestQueue queue = TestQueue.start();
    private final Client client = Client.builder().address(queue.address()).tracing(OpenTelemetryTracing.of(telemetry)).connect();

    private void breakIf(String step) {
        if (broken.contains(step)) {
            throw new IllegalStateException(step + " is broken");
        }
    }

    private final class Breakable implements SpanProcessor {
        @Override
        public void onStart(Context parent, ReadWriteSpan span) {
            started.add(span.getName());
            breakIf("start");
        }

        @Override
        public boolean isStartRequired() {
            return true;
        }

        @Override
        public void onEnd(ReadableSpan span) {
            breakIf("end");
        }

        @Override
        public boolean isEndRequired() {
            return true;
        }
    }

    private final class BreakablePropagator implements TextMapPropagator {
        private final TextMapPropagator w3c = TextMapPropagator.composite(
                W3CTraceContextPropagator.getInstance(), W3CBaggagePropagator.getInstance());

        @Override
        public Collection<String> fields() {
            return w3c.fields();
        }

        @Override
        public <C> void inject(Context context, C carrier, TextMapSetter<C> setter) {
            breakIf("inject");
            w3c.inject(context, carrier, setter);
        }

        @Override
        public <C> Context extract(Context context, C carrier, TextMapGetter<C> getter) {
            breakIf("extract");
            return w3c.extract(context, carrier, getter);
        }
    }

    @AfterEach
    void stop() {
        client.close();
        queue.close();
        tracers.close();
    }

    /** Does something inside of a span of the application, which it returns. */
    private Span inSpan(Runnable work) {
        Span span = telemetry.getTracer("shop").spanBuilder("order").startSpan();
        try (Scope scope = span.makeCurrent()) {
            work.run();
        } finally {
            span.end();
        }
        return span;
    }

    /** Handles so many jobs, and stops. Then the spans of the handlers have ended. */
    private void handle(String topic, int jobs, Handler handler) throws InterruptedException {
        CountDownLatch begun = new CountDownLatch(jobs);
        Worker worker = Worker.builder(client).topic(topic).concurrency(1).handler(job -> {
            begun.countDown();
            handler.handle(job);
        }).start();
        assertTrue(begun.await(10, TimeUnit.SECONDS));
        assertTrue(worker.stop(Duration.ofSeconds(10)));
    }

    private SpanData one(String name) {
        return some(name, 1).get(0);
    }

    /** The spans of this name. That of a push ends soon after it. */
    private List<SpanData> some(String name, int count) {
        Supplier<List<SpanData>> ended = () -> exporter.getFinishedSpanItems().stream().filter(span -> span.getName().equals(name)).toList();
        long until = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (ended.get().size() < count && System.nanoTime() < until) {
            Thread.yield();
        }
        assertEquals(count, ended.get().size(), () -> exporter.getFinishedSpanItems().toString());
        return ended.get();
    }

    private static Map<String, Object> attributes(SpanData span) {
        Attributes attributes = span.getAttributes();
        return attributes.asMap().entrySet().stream().collect(Collectors.toMap(one -> one.getKey().getKey(), Map.Entry::getValue));
    }

    private static void assertFailed(SpanData span, String type, Class<?> thrown) {
        assertEquals(StatusCode.ERROR, span.getStatus().getStatusCode());
        assertEquals(type, span.getAttributes().get(AttributeKey.stringKey("error.type")));
        assertEquals(thrown, ((ExceptionEventData) span.getEvents().get(0)).getException().getClass());
    }

    @Test
    void aTraceGoesFromThePushToTheHandlerAndOn() throws InterruptedException {
        PushResult[] pushed = new PushResult[1];
        Span order = inSpan(() -> pushed[0] = client.push("orders", NewJob.text("17").delay(Duration.ofMinutes(30))));
        queue.advance(Duration.ofMinutes(30));
        handle("orders", 1, job -> telemetry.getTracer("shop").spanBuilder("close").startSpan().end());

        String id = Long.toUnsignedString(pushed[0].id());
        SpanData push = one("push orders");
        assertEquals(SpanKind.PRODUCER, push.getKind());
        assertEquals(order.getSpanContext().getSpanId(), push.getParentSpanId());
        assertEquals(Map.of("messaging.system", "adjourn", "messaging.operation.name", "push", "messaging.operation.type", "send",
                "messaging.destination.name", "orders", "messaging.message.id", id), attributes(push));
        assertEquals(StatusCode.UNSET, push.getStatus().getStatusCode());
        SpanData process = one("process orders");
        assertEquals(SpanKind.CONSUMER, process.getKind());
        assertEquals(push.getSpanId(), process.getParentSpanId());
        assertEquals(Map.of("messaging.system", "adjourn", "messaging.operation.name", "process", "messaging.operation.type", "process",
                "messaging.destination.name", "orders", "messaging.message.id", id, "adjourn.attempt", 1L), attributes(process));
        assertEquals(StatusCode.UNSET, process.getStatus().getStatusCode());
        assertEquals(process.getSpanId(), one("close").getParentSpanId());
        assertEquals(List.of(order.getSpanContext().getTraceId()),
                exporter.getFinishedSpanItems().stream().map(SpanData::getTraceId).distinct().toList());
    }

    @Test
    void theBaggageIsThereInTheHandler() throws InterruptedException {
        try (Scope scope = Baggage.builder().put("tenant", "7").build().makeCurrent()) {
            client.push("t", NewJob.text("x"));
        }
        BlockingQueue<String> seen = new LinkedBlockingQueue<>();
        handle("t", 1, job -> seen.add(String.valueOf(Baggage.current().getEntryValue("tenant"))));
        assertEquals("7", seen.remove());
    }

    @Test
    void aHandlerThatFailsHasAnErrorAndEachAttemptItsSpan() throws InterruptedException {
        client.push("t", NewJob.text("x").attemptsMax(2));
        handle("t", 1, job -> {
            throw new IllegalStateException("the bank does not answer");
        });
        assertFailed(one("process t"), "java.lang.IllegalStateException", IllegalStateException.class);
        exporter.reset();
        queue.advanceToNext();
        handle("t", 1, job -> {
            throw new BuryJobException("there is no such order");
        });
        SpanData second = one("process t");
        assertEquals(StatusCode.UNSET, second.getStatus().getStatusCode());
        assertEquals(List.of(), second.getEvents());
        assertEquals(2L, attributes(second).get("adjourn.attempt"));
    }

    @Test
    void aPushThatIsRefusedHasAnError() {
        client.push("t", NewJob.text("x").key("k"));
        one("push t");
        exporter.reset();
        assertThrows(ServerException.KeyExists.class, () -> client.push("t", NewJob.text("x").key("k")));
        assertFailed(one("push t"), "KEY_EXISTS", ServerException.KeyExists.class);
    }

    @Test
    void aListIsOneSpanAndAllOfItsJobsHaveItAsTheirParent() throws InterruptedException {
        List<PushResult> results = client.pushAllAsync("t", List.of(NewJob.text("a"), NewJob.text("b"))).join();
        assertEquals(2, results.size());
        handle("t", 2, job -> { });
        SpanData push = one("push t");
        assertEquals(2L, attributes(push).get("messaging.batch.message_count"));
        assertFalse(attributes(push).containsKey("messaging.message.id"));
        List<SpanData> handled = exporter.getFinishedSpanItems().stream().filter(span -> span.getKind() == SpanKind.CONSUMER).toList();
        assertEquals(List.of(push.getSpanId(), push.getSpanId()), handled.stream().map(SpanData::getParentSpanId).toList());
        exporter.reset();
        int before = started.size();
        assertEquals(List.of(), client.pushAll("t", List.of()));
        assertEquals(before, started.size());
    }

    @Test
    void aHeaderThatTheJobNamesWins() throws InterruptedException {
        SpanContext withState = SpanContext.create("1".repeat(32), "2".repeat(16), TraceFlags.getSampled(),
                TraceState.builder().put("vendor", "state").build());
        try (Scope state = Span.wrap(withState).makeCurrent();
                Scope scope = Baggage.current().toBuilder().put("tenant", "7").build().makeCurrent()) {
            client.push("u", NewJob.text("x"));
            client.push("t", NewJob.text("x").header("TraceParent", OTHER_TRACE));
        }
        assertEquals("vendor=state", header("u", "tracestate"));
        List<Header> headers = queue.assertPushed("t", job -> true).attributes().headers();
        assertEquals(List.of(new Header("content-type", "text/plain; charset=utf-8"), new Header("TraceParent", OTHER_TRACE)), headers);
        handle("t", 1, job -> { });
        assertEquals("b7ad6b7169203331", one("process t").getParentSpanId());
    }

    @Test
    void aJobWithoutAContextBeginsATrace() throws InterruptedException {
        queue.client().push("t", NewJob.text("x"));
        BlockingQueue<String> seen = new LinkedBlockingQueue<>();
        CountDownLatch handled = new CountDownLatch(1);
        Context around = Context.root().with(telemetry.getTracer("shop").spanBuilder("around").startSpan())
                .with(Baggage.builder().put("tenant", "7").build());
        Worker worker = Worker.builder(client).topic("t").threads(work -> new Thread(around.wrap(work))).handler(job -> {
            seen.add(String.valueOf(Baggage.current().getEntryValue("tenant")));
            handled.countDown();
        }).start();
        assertTrue(handled.await(10, TimeUnit.SECONDS));
        assertTrue(worker.stop(Duration.ofSeconds(10)));
        assertEquals("null", seen.remove());
        assertFalse(one("process t").getParentSpanContext().isValid());
    }

    @Test
    void aContextThatDoesNotFitIsLeftOut() {
        NewJob full = NewJob.of(new byte[0]).header("own", "x".repeat(Limits.HEADERS_BYTES_MAX - 3));
        client.push("full", full);
        assertEquals(1, queue.assertPushed("full", job -> true).attributes().headers().size());
        SpanContext withState = SpanContext.create("1".repeat(32), "2".repeat(16), TraceFlags.getSampled(),
                TraceState.builder().put("a", "b").build());
        try (Scope scope = Span.wrap(withState).makeCurrent()) {
            client.push("nearly", NewJob.of(new byte[0]).header("own", "x".repeat(Limits.HEADERS_BYTES_MAX - 53)));
        }
        assertEquals(1, queue.assertPushed("nearly", job -> true).attributes().headers().size());
        try (Scope scope = Baggage.builder().put("large", "x".repeat(Limits.HEADERS_BYTES_MAX)).build().makeCurrent()) {
            client.push("large", NewJob.text("x"));
        }
        assertTrue(header("large", "traceparent").startsWith("00-"));
        assertEquals("", header("large", "baggage"));
    }

    @Test
    void aRepeatUnderAKeyIsTakenOnceAndItsHandlerContinuesTheTraceOfTheFirstPush() throws InterruptedException {
        IdempotencyKey key = new IdempotencyKey(1, 2);
        long id = client.push("t", NewJob.text("x"), key).id();
        SpanData first = one("push t");
        inSpan(() -> assertEquals(id, client.push("t", NewJob.text("x"), key).id()));
        some("push t", 2);
        handle("t", 1, job -> { });
        assertEquals(first.getSpanId(), one("process t").getParentSpanId());
        assertEquals(first.getTraceId(), one("process t").getTraceId());
        assertEquals(0, client.count(Filter.topic("t")));
    }

    @Test
    void aFaultLeavesOutItsStepAndChangesNoOutcome() throws InterruptedException {
        List<Set<String>> faults = List.of(Set.of("start"), Set.of("inject"), Set.of("extract"), Set.of("end"),
                Set.of("start", "inject", "extract", "end"));
        for (Set<String> steps : faults) {
            String topic = String.join("-", new TreeSet<>(steps));
            broken.addAll(steps);
            client.push(topic, NewJob.text("x"));
            assertEquals(steps.contains("start") || steps.contains("inject"), header(topic, "traceparent").isEmpty(), topic);
            assertEquals(1, client.count(Filter.topic(topic)), topic);
            handle(topic, 1, job -> { });
            assertEquals(0, client.count(Filter.topic(topic)), topic);
            broken.removeAll(steps);
        }
        assertEquals(one("push end").getSpanId(), one("process end").getParentSpanId());
        assertFalse(one("process inject").getParentSpanContext().isValid());
        assertFalse(one("process extract").getParentSpanContext().isValid());
    }

    @Test
    void theFutureOfAPushIsNotThatOfItsSpan() {
        CompletableFuture<List<PushResult>> sent = new CompletableFuture<>();
        assertSame(sent, OpenTelemetryTracing.of(telemetry).push("t", List.of(NewJob.text("x")), jobs -> sent));
    }

    private String header(String topic, String name) {
        JobInfo job = queue.assertPushed(topic, pushed -> true);
        return job.attributes().header(name).orElse("");
    }
}
