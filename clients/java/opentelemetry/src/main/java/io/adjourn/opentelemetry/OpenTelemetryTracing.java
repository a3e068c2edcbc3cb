package io.adjourn.opentelemetry;

import io.adjourn.client.AdjournException;
import io.adjourn.client.BuryJobException;
import io.adjourn.client.Handler;
import io.adjourn.client.Job;
import io.adjourn.client.NewJob;
import io.adjourn.client.PushResult;
import io.adjourn.client.RetryJobException;
import io.adjourn.client.Tracing;
import io.opentelemetry.api.OpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanKind;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.api.trace.Tracer;
import io.opentelemetry.context.Context;
import io.opentelemetry.context.Scope;
import io.opentelemetry.context.propagation.TextMapPropagator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Traces jobs from their push to their handler with OpenTelemetry, as its conventions for messaging say:
 *
 * <pre>{@code
 * Client.builder().address("adjourn://127.0.0.1:7440").tracing(OpenTelemetryTracing.of(openTelemetry)).connect()
 * }</pre>
 *
 * <p>Each push is a {@code PRODUCER} span, whose context goes into the headers of its jobs. Each handler runs in a {@code CONSUMER} span, whose
 * parent is the context in the headers of its job. A fault in a step of tracing is logged once, and only that step is left out.
 */
public final class OpenTelemetryTracing implements Tracing {
    private static final String SCOPE = "io.adjourn.client";
    private static final AttributeKey<String> SYSTEM = AttributeKey.stringKey("messaging.system");
    private static final AttributeKey<String> OPERATION_NAME = AttributeKey.stringKey("messaging.operation.name");
    private static final AttributeKey<String> OPERATION_TYPE = AttributeKey.stringKey("messaging.operation.type");
    private static final AttributeKey<String> DESTINATION = AttributeKey.stringKey("messaging.destination.name");
    private static final AttributeKey<String> MESSAGE_ID = AttributeKey.stringKey("messaging.message.id");
    private static final AttributeKey<Long> MESSAGE_COUNT = AttributeKey.longKey("messaging.batch.message_count");
    private static final AttributeKey<String> ERROR_TYPE = AttributeKey.stringKey("error.type");
    private static final AttributeKey<Long> ATTEMPT = AttributeKey.longKey("adjourn.attempt");

    private final Tracer tracer;
    private final TextMapPropagator propagator;
    private final Guard guard = new Guard();

    private OpenTelemetryTracing(OpenTelemetry openTelemetry) {
        this.tracer = openTelemetry.getTracer(SCOPE);
        this.propagator = openTelemetry.getPropagators().getTextMapPropagator();
    }

    /** With its tracers and propagators. */
    public static OpenTelemetryTracing of(OpenTelemetry openTelemetry) {
        return new OpenTelemetryTracing(openTelemetry);
    }

    @Override
    public CompletableFuture<List<PushResult>> push(String topic, List<NewJob> jobs, Pusher next) {
        if (jobs.isEmpty()) {
            return next.push(jobs);
        }
        Context before = guard.get(Context::current, Context.root());
        Span span = start("push", "send", topic, SpanKind.PRODUCER, before,
                jobs.size() > 1 ? Attributes.of(MESSAGE_COUNT, (long) jobs.size()) : Attributes.empty());
        Context context = before.with(span);
        List<NewJob> traced = jobs.stream().map(job -> guard.get(() -> JobHeaders.inject(propagator, context, job), job)).toList();
        CompletableFuture<List<PushResult>> sent;
        try {
            sent = next.push(traced);
        } catch (Throwable e) {
            pushed(span, List.of(), e);
            throw e;
        }
        // An exporter may wait: neither the thread that completes the push nor the one that waits for it may wait for the exporter.
        guard.run(() -> sent.whenCompleteAsync((results, error) -> pushed(span, results, error)));
        return sent;
    }

    private void pushed(Span span, List<PushResult> results, Throwable error) {
        if (error != null) {
            fail(span, error instanceof CompletionException && error.getCause() != null ? error.getCause() : error);
        } else {
            results.stream().map(PushResult::error).filter(Objects::nonNull).findFirst().ifPresent(refusal -> fail(span, refusal));
            if (results.size() == 1 && results.get(0).id() != 0) {
                guard.run(() -> span.setAttribute(MESSAGE_ID, Long.toUnsignedString(results.get(0).id())));
            }
        }
        guard.run(span::end);
    }

    @Override
    public void around(Job job, Handler next) throws Exception {
        // Only the headers say what the parent is, not the context in which the worker's thread was made.
        Context pushed = guard.get(() -> propagator.extract(Context.root(), job, JobHeaders.GETTER), Context.root());
        Span span = start("process", "process", job.topic(), SpanKind.CONSUMER, pushed,
                Attributes.of(MESSAGE_ID, Long.toUnsignedString(job.id()), ATTEMPT, job.attempts()));
        Scope scope = guard.get(pushed.with(span)::makeCurrent, Scope.noop());
        try {
            next.handle(job);
        } catch (RetryJobException | BuryJobException e) {
            // On purpose.
            throw e;
        } catch (Throwable e) {
            fail(span, e);
            throw e;
        } finally {
            guard.run(scope::close);
            guard.run(span::end);
        }
    }

    /** A span that has begun. If it cannot begin, one that only hands on the context of its parent. */
    private Span start(String operation, String type, String topic, SpanKind kind, Context parent, Attributes more) {
        return guard.get(
                () -> tracer.spanBuilder(operation + " " + topic).setSpanKind(kind).setParent(parent).setAttribute(SYSTEM, "adjourn")
                        .setAttribute(OPERATION_NAME, operation).setAttribute(OPERATION_TYPE, type).setAttribute(DESTINATION, topic)
                        .setAllAttributes(more).startSpan(),
                Span.wrap(Span.fromContext(parent).getSpanContext()));
    }

    private void fail(Span span, Throwable error) {
        guard.run(() -> span.setStatus(StatusCode.ERROR)
                .setAttribute(ERROR_TYPE, error instanceof AdjournException known ? known.code() : error.getClass().getName()));
        guard.run(() -> span.recordException(error));
    }
}
