package adjournotel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjournotel"
	"github.com/adjourn/adjourn-go/adjourntest"
)

// spans are those that have ended, by name.
type spans struct {
	t  *testing.T
	in *tracetest.InMemoryExporter
}

// record keeps the spans of a test.
func record(t *testing.T) spans {
	exporter := tracetest.NewInMemoryExporter()
	otel.SetTracerProvider(sdk.NewTracerProvider(sdk.WithSyncer(exporter)))
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}))
	return spans{t, exporter}
}

// one is the only span with this name.
func (s spans) one(name string) tracetest.SpanStub {
	s.t.Helper()
	found := s.all(name)
	if len(found) != 1 {
		s.t.Fatalf("%d spans %q among %d", len(found), name, len(s.in.GetSpans()))
	}
	return found[0]
}

func (s spans) all(name string) (found []tracetest.SpanStub) {
	for _, span := range s.in.GetSpans() {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

// attributesOf are the attributes as text, sorted by key.
func attributesOf(span tracetest.SpanStub) string {
	set := attribute.NewSet(span.Attributes...)
	return set.Encoded(attribute.DefaultEncoder())
}

func expectAttributes(t *testing.T, span tracetest.SpanStub, want string) {
	t.Helper()
	if got := attributesOf(span); got != want {
		t.Errorf("%s has\n%s instead of\n%s", span.Name, got, want)
	}
}

func expectChild(t *testing.T, child, parent tracetest.SpanStub) {
	t.Helper()
	if child.Parent.SpanID() != parent.SpanContext.SpanID() || child.SpanContext.TraceID() != parent.SpanContext.TraceID() {
		t.Errorf("%s is no child of %s", child.Name, parent.Name)
	}
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// work runs a worker until it has settled everything that is due.
func work(t *testing.T, queue *adjourntest.Queue, q *adjourn.Client, handler adjourn.Handler) {
	t.Helper()
	workIn(testContext(t), t, queue, q, handler)
}

func workIn(ctx context.Context, t *testing.T, queue *adjourntest.Queue, q *adjourn.Client, handler adjourn.Handler) {
	t.Helper()
	w := q.Worker("emails", handler, adjourn.Concurrency(1))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	<-w.Ready()
	queue.WaitIdle()
	if err := w.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestATraceGoesFromThePushToTheHandler(t *testing.T) {
	spans, queue := record(t), adjourntest.Start(t)
	q, ctx := queue.Dial(adjournotel.Tracing()), testContext(t)
	member, err := baggage.NewMember("customer", "ann")
	if err != nil {
		t.Fatal(err)
	}
	bag, err := baggage.New(member)
	if err != nil {
		t.Fatal(err)
	}
	pushing, checkout := otel.Tracer("shop").Start(baggage.ContextWithBaggage(ctx, bag), "checkout")
	if _, err := q.Push(pushing, "emails", "hello", adjourn.Delay(time.Hour)); err != nil {
		t.Fatal(err)
	}
	checkout.End()
	queue.Advance(time.Hour)
	customer := ""
	work(t, queue, q, func(ctx context.Context, job *adjourn.Job) error {
		customer = baggage.FromContext(ctx).Member("customer").Value()
		_, smtp := otel.Tracer("shop").Start(ctx, "smtp")
		smtp.End()
		return nil
	})
	push, process := spans.one("push emails"), spans.one("process emails")
	expectChild(t, push, spans.one("checkout"))
	expectChild(t, process, push)
	expectChild(t, spans.one("smtp"), process)
	if push.SpanKind != trace.SpanKindProducer || process.SpanKind != trace.SpanKindConsumer || !process.Parent.IsRemote() {
		t.Errorf("%v, then %v", push.SpanKind, process.SpanKind)
	}
	if push.Status.Code != codes.Unset || process.Status.Code != codes.Unset || customer != "ann" {
		t.Errorf("%v, %v, baggage %q", push.Status, process.Status, customer)
	}
	expectAttributes(t, push, "messaging.destination.name=emails,messaging.message.id=1,"+
		"messaging.operation.name=push,messaging.operation.type=send,messaging.system=adjourn")
	expectAttributes(t, process, "adjourn.attempt=1,messaging.destination.name=emails,messaging.message.id=1,"+
		"messaging.operation.name=process,messaging.operation.type=process,messaging.system=adjourn")
}

func TestAFailureOfTheHandlerIsOneOfTheSpan(t *testing.T) {
	for _, c := range []struct {
		name, kind, says string
		result           func() error
	}{
		{"fails", "*errors.errorString", "no route", func() error { return errors.New("no route") }},
		{"is refused", "KEY_EXISTS", "KEY_EXISTS", func() error { return fmt.Errorf("again: %w", &adjourn.Error{Code: adjourn.ErrKeyExists}) }},
		{"has a code", "KEY_EXISTS", "KEY_EXISTS", func() error { return adjourn.ErrKeyExists }},
		{"a nil refusal", "*adjourn.Error", "nil", func() error { return (*adjourn.Error)(nil) }},
		{"panics", "panic", "no paper", func() error { panic("no paper") }},
		{"a nil pointer", "*adjourn.UsageError", "nil", func() error { return (*adjourn.UsageError)(nil) }},
		{"retries", "", "", func() error { return adjourn.RetryAfter(time.Hour, errors.New("later")) }},
		{"buries", "", "", func() error { return fmt.Errorf("so: %w", adjourn.BuryJob(errors.New("hopeless"))) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			spans, queue := record(t), adjourntest.Start(t)
			q := queue.Dial(adjournotel.Tracing())
			if _, err := q.Push(testContext(t), "emails", ""); err != nil {
				t.Fatal(err)
			}
			work(t, queue, q, func(context.Context, *adjourn.Job) error { return c.result() })
			span := spans.one("process emails")
			if c.kind == "" {
				if span.Status.Code != codes.Unset || len(span.Events) != 0 || strings.Contains(attributesOf(span), "error.type") {
					t.Errorf("%+v", span)
				}
				return
			}
			if span.Status.Code != codes.Error || !strings.Contains(attributesOf(span), "error.type="+c.kind+",") {
				t.Errorf("%+v, %s", span.Status, attributesOf(span))
			}
			if len(span.Events) != 1 || span.Events[0].Name != "exception" || !strings.Contains(fmt.Sprint(span.Events[0].Attributes), c.says) {
				t.Errorf("%+v", span.Events)
			}
		})
	}
}

func TestTheNextAttemptIsInTheSameTrace(t *testing.T) {
	spans, queue := record(t), adjourntest.Start(t)
	q := queue.Dial(adjournotel.Tracing())
	if _, err := q.Push(testContext(t), "emails", ""); err != nil {
		t.Fatal(err)
	}
	handler := func(_ context.Context, job *adjourn.Job) error {
		if job.Attempts == 1 {
			return errors.New("no route")
		}
		return nil
	}
	work(t, queue, q, handler)
	queue.AdvanceToNext()
	work(t, queue, q, handler)
	attempts := spans.all("process emails")
	if len(attempts) != 2 || !strings.HasPrefix(attributesOf(attempts[1]), "adjourn.attempt=2,") {
		t.Fatalf("%+v", attempts)
	}
	for _, attempt := range attempts {
		expectChild(t, attempt, spans.one("push emails"))
	}
}

func TestABatchHasOneSpan(t *testing.T) {
	spans, queue := record(t), adjourntest.Start(t)
	q, ctx := queue.Dial(adjournotel.Tracing()), testContext(t)
	if _, err := q.PushBatch(ctx, "emails", []adjourn.NewJob{{Body: "a"}, {Body: "b"}}); err != nil {
		t.Fatal(err)
	}
	push := spans.one("push emails")
	expectAttributes(t, push, "messaging.batch.message_count=2,messaging.destination.name=emails,"+
		"messaging.operation.name=push,messaging.operation.type=send,messaging.system=adjourn")
	work(t, queue, q, func(context.Context, *adjourn.Job) error { return nil })
	for _, process := range spans.all("process emails") {
		expectChild(t, process, push)
	}
	if len(spans.all("process emails")) != 2 {
		t.Error("each job has a span of its own")
	}
}

func TestARefusedPushIsAnError(t *testing.T) {
	spans, queue := record(t), adjourntest.Start(t)
	q, ctx := queue.Dial(adjournotel.Tracing()), testContext(t)
	results, err := q.PushBatch(ctx, "emails", []adjourn.NewJob{{Body: "a", Key: "k"}, {Body: "b", Key: "k"}})
	if err != nil || !errors.Is(results[1].Err, adjourn.ErrKeyExists) {
		t.Fatalf("%+v, %v", results, err)
	}
	gone, leave := context.WithCancel(ctx)
	leave()
	if _, err := q.Push(gone, "lost", "c"); err == nil {
		t.Fatal("the context has ended")
	}
	for name, kind := range map[string]string{"push emails": "KEY_EXISTS", "push lost": "*errors.errorString"} {
		span := spans.one(name)
		if span.Status.Code != codes.Error || len(span.Events) != 1 || !strings.HasPrefix(attributesOf(span), "error.type="+kind+",") {
			t.Errorf("%+v, %s", span.Status, attributesOf(span))
		}
	}
}

func TestAPushUnderAKeyStaysInTheTraceOfTheFirst(t *testing.T) {
	spans, queue := record(t), adjourntest.Start(t)
	q, ctx := queue.Dial(adjournotel.Tracing()), testContext(t)
	for _, name := range []string{"first", "repeat"} {
		pushing, span := otel.Tracer("shop").Start(ctx, name)
		if id, err := q.PushOnce(pushing, adjourn.IdempotencyKeyOf("order-17"), "emails", ""); err != nil || id != 1 {
			t.Fatalf("%d, %v", id, err)
		}
		span.End()
	}
	work(t, queue, q, func(context.Context, *adjourn.Job) error { return nil })
	pushes := spans.all("push emails")
	if len(pushes) != 2 || attributesOf(pushes[0]) != attributesOf(pushes[1]) {
		t.Fatalf("%+v", pushes)
	}
	expectChild(t, pushes[0], spans.one("first"))
	expectChild(t, pushes[1], spans.one("repeat"))
	expectChild(t, spans.one("process emails"), pushes[0])
}

func TestAReconnectRepeatsThePushInItsSpan(t *testing.T) {
	spans, server := record(t), adjourntest.StartServer(t)
	q, ctx := server.Dial(adjournotel.Tracing()), testContext(t)
	server.Freeze()
	pushed := make(chan error, 1)
	go func() {
		_, err := q.Push(ctx, "emails", "")
		pushed <- err
	}()
	server.Kill()
	server.Start()
	if err := <-pushed; err != nil {
		t.Fatal(err)
	}
	jobs, err := q.Reserve(ctx, adjourn.ReserveRequest{Topics: []string{"emails"}, Max: 2})
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	if push := spans.one("push emails"); !strings.Contains(jobs[0].Header("traceparent"), push.SpanContext.SpanID().String()) {
		t.Errorf("%q, pushed in %v", jobs[0].Header("traceparent"), push.SpanContext.SpanID())
	}
}

func TestAHeaderOfTheJobsOwnWins(t *testing.T) {
	spans, queue := record(t), adjourntest.Start(t)
	q := queue.Dial(adjournotel.Tracing())
	state, err := trace.ParseTraceState("shop=1")
	if err != nil {
		t.Fatal(err)
	}
	ctx := trace.ContextWithRemoteSpanContext(testContext(t), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, TraceState: state,
	}))
	const own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	jobs := []adjourn.NewJob{{Body: "own"}, {Body: "follows"}}
	jobs[0].SetHeader("Traceparent", own)
	if _, err := q.PushBatch(ctx, "emails", jobs); err != nil {
		t.Fatal(err)
	}
	if len(jobs[0].Headers) != 1 || len(jobs[1].Headers) != 0 {
		t.Errorf("the caller's jobs were changed: %+v", jobs)
	}
	headers := map[string]string{}
	work(t, queue, q, func(_ context.Context, job *adjourn.Job) error {
		if job.ID == 1 {
			headers["own"] = fmt.Sprint(job.Headers)
		} else {
			headers["follows"] = job.Header("tracestate")
		}
		return nil
	})
	if headers["own"] != "[{Traceparent "+own+"} {content-type text/plain; charset=utf-8}]" || headers["follows"] != "shop=1" {
		t.Errorf("%v", headers)
	}
	parents := map[string]bool{}
	for _, span := range spans.all("process emails") {
		parents[span.Parent.SpanID().String()] = true
	}
	if push := spans.one("push emails"); !parents["00f067aa0ba902b7"] || !parents[push.SpanContext.SpanID().String()] {
		t.Errorf("the handlers' parents are %v", parents)
	}
}

// faulty panics in one of its methods, as a processor or as a propagator.
type faulty struct {
	propagation.TextMapPropagator
	in string
}

func (f faulty) check(method string) {
	if f.in == method {
		panic("a fault in " + method)
	}
}

func (f faulty) OnStart(context.Context, sdk.ReadWriteSpan) { f.check("OnStart") }
func (f faulty) OnEnd(sdk.ReadOnlySpan)                     { f.check("OnEnd") }
func (f faulty) Shutdown(context.Context) error             { return nil }
func (f faulty) ForceFlush(context.Context) error           { return nil }
func (f faulty) Inject(ctx context.Context, to propagation.TextMapCarrier) {
	f.TextMapPropagator.Inject(ctx, to)
	f.check("Inject")
}
func (f faulty) Extract(ctx context.Context, from propagation.TextMapCarrier) context.Context {
	f.check("Extract")
	return f.TextMapPropagator.Extract(ctx, from)
}

// told are the errors that came to OpenTelemetry's handler.
type told struct {
	mu  sync.Mutex
	all []string
}

func (h *told) Handle(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, err.Error())
	panic("a fault in the handler of faults")
}

func TestAFaultOfOpenTelemetryChangesNothing(t *testing.T) {
	for _, method := range []string{"OnStart", "OnEnd", "Inject", "Extract"} {
		t.Run(method, func(t *testing.T) {
			record(t)
			fault, faults := faulty{propagation.TraceContext{}, method}, &told{}
			otel.SetTracerProvider(sdk.NewTracerProvider(sdk.WithSpanProcessor(fault)))
			otel.SetTextMapPropagator(fault)
			before := otel.GetErrorHandler()
			otel.SetErrorHandler(faults)
			defer otel.SetErrorHandler(before)
			queue := adjourntest.Start(t)
			q, ctx := queue.Dial(adjournotel.Tracing()), testContext(t)
			for id := adjourn.JobID(1); id <= 2; id++ {
				if pushed, err := q.Push(ctx, "emails", ""); err != nil || pushed != id {
					t.Fatalf("%d, %v", pushed, err)
				}
			}
			ran := 0
			work(t, queue, q, func(context.Context, *adjourn.Job) error { ran++; return nil })
			if ran != 2 {
				t.Errorf("the handler ran %d times", ran)
			}
			queue.AssertEmpty()
			if len(faults.all) != 1 || !strings.HasSuffix(faults.all[0], "a fault in "+method) {
				t.Errorf("told %q", faults.all)
			}
		})
	}
}

func TestAPanicWithNilIsAFailure(t *testing.T) {
	spans, queue := record(t), adjourntest.Start(t)
	q := queue.Dial(adjournotel.Tracing())
	if _, err := q.Push(testContext(t), "emails", ""); err != nil {
		t.Fatal(err)
	}
	work(t, queue, q, func(context.Context, *adjourn.Job) error { panic(nil) })
	if len(queue.Pending("emails")) != 1 || spans.one("process emails").Status.Code != codes.Error {
		t.Error("the job is finished")
	}
}

func inAnotherTrace(t *testing.T) context.Context {
	state, err := trace.ParseTraceState("shop=1")
	if err != nil {
		t.Fatal(err)
	}
	member, err := baggage.NewMember("customer", "ann")
	if err != nil {
		t.Fatal(err)
	}
	bag, err := baggage.New(member)
	if err != nil {
		t.Fatal(err)
	}
	return trace.ContextWithRemoteSpanContext(baggage.ContextWithBaggage(testContext(t), bag), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, TraceState: state,
	}))
}

func TestATraceTakesOnlyTheRoomThatIsLeft(t *testing.T) {
	record(t)
	queue := adjourntest.Start(t)
	q := queue.Dial(adjournotel.Tracing())
	const ofType, ofParent, ofState, ofBaggage = 12 + 25, 11 + 55, 10 + 6, 7 + 12
	const room = 1024 - ofType
	jobs := []adjourn.NewJob{}
	for _, left := range []int{ofParent - 1, ofParent, ofParent + ofState, ofParent + ofState + ofBaggage} {
		job := adjourn.NewJob{Body: "full"}
		job.SetHeader("fill", strings.Repeat("x", room-left-len("fill")))
		jobs = append(jobs, job)
	}
	results, err := q.PushBatch(inAnotherTrace(t), "emails", jobs)
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	for _, result := range results {
		job, err := q.Get(testContext(t), adjourn.ByID(result.ID))
		if err != nil {
			t.Fatal(err)
		}
		for _, header := range job.Headers[2:] {
			names += header.Name + " "
		}
		names += "| "
	}
	if names != "| traceparent | traceparent tracestate | traceparent tracestate baggage | " {
		t.Error(names)
	}
}

func TestATraceOfAHookWins(t *testing.T) {
	const own = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	hook := adjourn.OnPush(func(_ context.Context, _ string, job *adjourn.NewJob) { job.SetHeader("TraceParent", own) })
	for _, tracingFirst := range []bool{true, false} {
		spans, queue := record(t), adjourntest.Start(t)
		options := []adjourn.Option{adjournotel.Tracing(), hook}
		if !tracingFirst {
			options = []adjourn.Option{hook, adjournotel.Tracing()}
		}
		q := queue.Dial(options...)
		if _, err := q.Push(inAnotherTrace(t), "emails", []byte("")); err != nil {
			t.Fatal(err)
		}
		headers := ""
		work(t, queue, q, func(_ context.Context, job *adjourn.Job) error {
			headers = fmt.Sprint(job.Headers)
			return nil
		})
		if headers != "[{TraceParent "+own+"}]" || spans.one("process emails").Parent.SpanID().String() != "00f067aa0ba902b7" {
			t.Error(headers)
		}
	}
}

func TestAHandlerIsNotInTheTraceOfItsWorker(t *testing.T) {
	spans, queue := record(t), adjourntest.Start(t)
	if _, err := queue.Dial().Push(testContext(t), "emails", ""); err != nil {
		t.Fatal(err)
	}
	customer := ""
	workIn(inAnotherTrace(t), t, queue, queue.Dial(adjournotel.Tracing()), func(ctx context.Context, _ *adjourn.Job) error {
		customer = baggage.FromContext(ctx).Member("customer").Value()
		return nil
	})
	if span := spans.one("process emails"); span.Parent.IsValid() || span.SpanContext.TraceID() == (trace.TraceID{1}) || customer != "" {
		t.Errorf("%+v, baggage %q", span.Parent, customer)
	}
}

func TestAPushOfNothingHasNoSpan(t *testing.T) {
	spans := record(t)
	if _, err := adjourntest.Start(t).Dial(adjournotel.Tracing()).PushBatch(testContext(t), "emails", nil); err != nil {
		t.Fatal(err)
	}
	if all := spans.in.GetSpans(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}
