package adjournotel_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjournotel"
	"github.com/adjourn/adjourn-go/adjourntest"
)

// runExample has the lines of README, section Traces.
func runExample(ctx context.Context, address string) error {
	otel.SetTextMapPropagator(propagation.TraceContext{})
	q, err := adjourn.Dial(ctx, address, adjournotel.Tracing())
	if err != nil {
		return err
	}
	defer q.Close()
	pushing, checkout := otel.Tracer("shop").Start(ctx, "checkout")
	if _, err := q.Push(pushing, "emails", "hello"); err != nil { // "push emails", a child of "checkout"
		return err
	}
	checkout.End()
	worker := q.Worker("emails", func(ctx context.Context, job *adjourn.Job) error { // "process emails", a child of "push emails"
		_, smtp := otel.Tracer("shop").Start(ctx, "smtp") // a child of "process emails"
		defer smtp.End()
		return nil
	})
	return worker.Run(ctx)
}

func TestTheExampleOnThePage(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Traces\n")
	_, example, _ := strings.Cut(section, "\n```go\n")
	example, _, _ = strings.Cut(example, "\n```")
	_, runs, _ := strings.Cut(string(code), "address string) error {\n\t")
	runs, _, _ = strings.Cut(runs, "\n}\n")
	if runs = strings.ReplaceAll(runs, "\n\t", "\n"); example != runs {
		t.Errorf("the page has\n%s\nand this runs:\n%s", example, runs)
	}

	spans, queue := record(t), adjourntest.Start(t)
	ctx, stop := context.WithCancel(testContext(t))
	ended := make(chan error, 1)
	go func() { ended <- runExample(ctx, queue.Addr()) }()
	for len(spans.all("smtp")) == 0 && ctx.Err() == nil {
		queue.WaitIdle()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	expectChild(t, spans.one("push emails"), spans.one("checkout"))
	expectChild(t, spans.one("process emails"), spans.one("push emails"))
	expectChild(t, spans.one("smtp"), spans.one("process emails"))
}
