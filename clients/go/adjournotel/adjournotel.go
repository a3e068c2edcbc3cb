// Package adjournotel traces jobs with OpenTelemetry, from the push to the handler: see [Tracing]. It is a module of its own,
// so that a program without traces has no dependency.
package adjournotel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	adjourn "github.com/adjourn/adjourn-go"
)

// Tracing is an option of [adjourn.Dial]. It uses the global TracerProvider and the global propagator:
//
//   - A span of kind producer around each push, named `push TOPIC`. The headers of the jobs carry its context as far as they
//     have room; a header that a job has already stays as it is, and a job with a traceparent gets nothing: see [adjourn.WithTrace].
//   - A span of kind consumer around each handler of a worker, named `process TOPIC`. Its parent is the context in the job's
//     headers, and nothing else; the handler runs in it. Its status is an error if the handler fails: [adjourn.RetryAfter] and
//     [adjourn.BuryJob] are decisions, not failures.
//
// Without a propagator (otel.SetTextMapPropagator) the spans of pushes and handlers are in different traces.
//
// What panics in OpenTelemetry changes no push and no handler: that step is left out, and the first one is told to otel.Handle.
func Tracing() adjourn.Option {
	t := &tracing{tracer: otel.Tracer("github.com/adjourn/adjourn-go/adjournotel", trace.WithInstrumentationVersion(adjourn.Version))}
	return adjourn.Around(t.aroundPush, t.aroundHandler)
}

type tracing struct {
	tracer trace.Tracer
	told   sync.Once
}

// step does one thing with OpenTelemetry, and goes on if it panics.
func (t *tracing) step(do func()) {
	defer func() {
		if p := recover(); p != nil {
			t.told.Do(func() {
				defer func() { _ = recover() }()
				otel.Handle(fmt.Errorf("adjournotel: a step of tracing panicked and was left out, and later ones are not told: %v", p))
			})
		}
	}()
	do()
}

func (t *tracing) aroundPush(next adjourn.Pusher) adjourn.Pusher {
	return func(ctx context.Context, topic string, jobs []adjourn.NewJob) (results []adjourn.PushResult, err error) {
		if len(jobs) == 0 {
			return next(ctx, topic, jobs)
		}
		attributes := messaging("push", "send", topic)
		if len(jobs) > 1 {
			attributes = append(attributes, attribute.Int("messaging.batch.message_count", len(jobs)))
		}
		ctx, o := t.start(ctx, "push "+topic, trace.SpanKindProducer, attributes)
		defer o.end(&err)
		var carries adjourn.NewJob
		t.step(func() { otel.GetTextMapPropagator().Inject(ctx, carrier{&carries}) })
		results, err = next(adjourn.WithTrace(ctx, carries.Headers), topic, jobs)
		o.returned = true
		if len(results) == 1 && results[0].ID != 0 {
			o.note(messageID(results[0].ID))
		}
		if failed := firstFailure(results, err); failed != nil {
			o.fail(failed)
		}
		return results, err
	}
}

// firstFailure is why the push failed as a whole, or else why the first of its jobs was refused.
func firstFailure(results []adjourn.PushResult, err error) error {
	for i := 0; err == nil && i < len(results); i++ {
		err = results[i].Err
	}
	return err
}

func (t *tracing) aroundHandler(next adjourn.Handler) adjourn.Handler {
	return func(ctx context.Context, job *adjourn.Job) (err error) {
		t.step(func() {
			// The worker may run in a span of the program, which is no parent of its jobs.
			none := trace.SpanFromContext(context.Background())
			ctx = baggage.ContextWithoutBaggage(trace.ContextWithSpan(ctx, none))
		})
		t.step(func() {
			ctx = otel.GetTextMapPropagator().Extract(ctx, carrier{&adjourn.NewJob{Attributes: job.Attributes}})
		})
		ctx, o := t.start(ctx, "process "+job.Topic, trace.SpanKindConsumer, append(messaging("process", "process", job.Topic),
			messageID(job.ID), attribute.Int("adjourn.attempt", int(job.Attempts))))
		defer o.end(&err)
		err = next(ctx, job)
		o.returned = true
		if err != nil {
			deliberate := false
			t.step(func() { deliberate = adjourn.IsDeliberate(err) })
			if !deliberate {
				o.fail(err)
			}
		}
		return err
	}
}

// operation is a push or the run of a handler, in its span.
type operation struct {
	*tracing
	span     trace.Span
	returned bool
}

func (t *tracing) start(ctx context.Context, name string, kind trace.SpanKind, attributes []attribute.KeyValue) (context.Context, *operation) {
	o := &operation{tracing: t, span: trace.SpanFromContext(context.Background())}
	t.step(func() {
		ctx, o.span = t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	})
	return ctx, o
}

// end is deferred. It notes a panic, which goes on. That of nil cannot, so that it becomes an error.
func (o *operation) end(err *error) {
	if !o.returned {
		if p := recover(); p != nil {
			defer panic(p)
			o.exception(fmt.Sprintf("%T", p), o.textOf(p))
		} else {
			*err = errors.New("adjournotel: a panic with nil")
		}
		o.mark("panic", "it panicked")
	}
	o.step(func() { o.span.End() })
}

// textOf is the text of fmt, because the Error method of a nil pointer may panic.
func (o *operation) textOf(failure any) (text string) {
	o.step(func() { text = fmt.Sprint(failure) })
	return text
}

// fail notes the error.
func (o *operation) fail(err error) {
	text, kind := o.textOf(err), fmt.Sprintf("%T", err)
	o.exception(kind, text)
	o.step(func() {
		var refused *adjourn.Error
		var code adjourn.Code
		if errors.As(err, &refused) && refused != nil {
			kind = refused.Code.Name()
		} else if errors.As(err, &code) {
			kind = code.Name()
		}
	})
	o.mark(kind, text)
}

func (o *operation) exception(kind, text string) {
	o.step(func() {
		o.span.AddEvent("exception", trace.WithAttributes(
			attribute.String("exception.type", kind), attribute.String("exception.message", text)))
	})
}

func (o *operation) mark(kind, text string) {
	o.note(attribute.String("error.type", kind))
	o.step(func() { o.span.SetStatus(codes.Error, text) })
}

func (o *operation) note(attributes ...attribute.KeyValue) {
	o.step(func() { o.span.SetAttributes(attributes...) })
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

// carrier gives a propagator the headers of a job, whatever the case of their names.
type carrier struct{ job *adjourn.NewJob }

func (c carrier) Get(name string) string { return c.job.Header(name) }

func (c carrier) Set(name, value string) { c.job.SetHeader(name, value) }

func (c carrier) Keys() (names []string) {
	for _, header := range c.job.Headers {
		names = append(names, header.Name)
	}
	return names
}
