// Package adjournotel traces jobs with OpenTelemetry, from the push to the handler: see [Tracing]. It is a module of its own,
// so that a program without traces has no dependency.
package adjournotel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	adjourn "github.com/adjourn/adjourn-go"
)

// Tracing is an option of [adjourn.Dial]. It uses the global TracerProvider and the global propagator:
//
//   - A span of kind producer around each push, named `push TOPIC`. The headers of the jobs carry its context; a header that
//     a job has already stays as it is.
//   - A span of kind consumer around each handler of a worker, named `process TOPIC`. Its parent is the context in the job's
//     headers, and the handler runs in it. Its status is an error if the handler fails: [adjourn.RetryAfter] and
//     [adjourn.BuryJob] are decisions, not failures.
//
// Without a propagator (otel.SetTextMapPropagator) the spans of pushes and handlers are in different traces.
func Tracing() adjourn.Option {
	tracer := otel.Tracer("github.com/adjourn/adjourn-go/adjournotel", trace.WithInstrumentationVersion(adjourn.Version))
	return adjourn.Around(pushIn(tracer), processIn(tracer))
}

func pushIn(tracer trace.Tracer) adjourn.PushMiddleware {
	return func(next adjourn.Pusher) adjourn.Pusher {
		return func(ctx context.Context, topic string, jobs []adjourn.NewJob) ([]adjourn.PushResult, error) {
			ctx, span := tracer.Start(ctx, "push "+topic, trace.WithSpanKind(trace.SpanKindProducer),
				trace.WithAttributes(messaging("push", "send", topic)...))
			defer span.End()
			if len(jobs) > 1 {
				span.SetAttributes(attribute.Int("messaging.batch.message_count", len(jobs)))
			}
			for i := range jobs {
				job := &jobs[i]
				otel.GetTextMapPropagator().Inject(ctx, carrier{Attributes: &job.Attributes, own: job.Headers})
			}
			results, err := next(ctx, topic, jobs)
			if len(results) == 1 && results[0].ID != 0 {
				span.SetAttributes(messageID(results[0].ID))
			}
			if failed := firstFailure(results, err); failed != nil {
				fail(span, failed)
			}
			return results, err
		}
	}
}

// firstFailure is why the push failed as a whole, or else why the first of its jobs was refused.
func firstFailure(results []adjourn.PushResult, err error) error {
	for i := 0; err == nil && i < len(results); i++ {
		err = results[i].Err
	}
	return err
}

func processIn(tracer trace.Tracer) adjourn.Middleware {
	return func(next adjourn.Handler) adjourn.Handler {
		return func(ctx context.Context, job *adjourn.Job) error {
			ctx = otel.GetTextMapPropagator().Extract(ctx, carrier{Attributes: &job.Attributes})
			ctx, span := tracer.Start(ctx, "process "+job.Topic, trace.WithSpanKind(trace.SpanKindConsumer),
				trace.WithAttributes(messaging("process", "process", job.Topic)...),
				trace.WithAttributes(messageID(job.ID), attribute.Int("adjourn.attempt", int(job.Attempts))))
			defer span.End() // records a panic, too
			returned := false
			defer func() {
				if !returned {
					mark(span, "panic", "the handler panicked")
				}
			}()
			err := next(ctx, job)
			if err != nil && !adjourn.IsDeliberate(err) {
				fail(span, err)
			}
			returned = true
			return err
		}
	}
}

// messaging are the attributes of the semantic conventions that pushes and handlers share.
func messaging(operation, kind, topic string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("messaging.system", "adjourn"),
		attribute.String("messaging.operation.name", operation),
		attribute.String("messaging.operation.type", kind),
		attribute.String("messaging.destination.name", topic),
	}
}

func messageID(id adjourn.JobID) attribute.KeyValue {
	return attribute.String("messaging.message.id", strconv.FormatUint(uint64(id), 10))
}

// fail records the error. Its text is that of fmt, because the Error method of a nil pointer may panic.
func fail(span trace.Span, err error) {
	text, kind := fmt.Sprint(err), fmt.Sprintf("%T", err)
	span.AddEvent("exception", trace.WithAttributes(
		attribute.String("exception.type", kind), attribute.String("exception.message", text)))
	var refused *adjourn.Error
	if errors.As(err, &refused) {
		kind = refused.Code.Name()
	}
	mark(span, kind, text)
}

func mark(span trace.Span, kind, text string) {
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, text)
}

// carrier gives a propagator the headers of a job. It changes none that are the job's own.
type carrier struct {
	*adjourn.Attributes
	own []adjourn.Header
}

func (c carrier) Get(name string) string { return c.Header(name) }

// Set leaves out the tracestate of a job with a traceparent of its own, because it belongs to another trace.
func (c carrier) Set(name, value string) {
	for _, own := range c.own {
		if strings.EqualFold(own.Name, name) || strings.EqualFold(own.Name, "traceparent") && strings.EqualFold(name, "tracestate") {
			return
		}
	}
	c.Headers = append(c.Headers, adjourn.Header{Name: name, Value: value})
}

func (c carrier) Keys() (names []string) {
	for _, header := range c.Headers {
		names = append(names, header.Name)
	}
	return names
}
