package adjourn_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

// around adds its name to a header of each job that is pushed, and to what a handler's context has.
func around(name string) adjourn.Option {
	return adjourn.Around(func(next adjourn.Pusher) adjourn.Pusher {
		return func(ctx context.Context, topic string, jobs []adjourn.NewJob) ([]adjourn.PushResult, error) {
			for i := range jobs {
				jobs[i].SetHeader("pushed", jobs[i].Header("pushed")+name)
			}
			return next(ctx, topic, jobs)
		}
	}, inside(name))
}

type within struct{}

func inside(name string) adjourn.Middleware {
	return func(next adjourn.Handler) adjourn.Handler {
		return func(ctx context.Context, job *adjourn.Job) error {
			names, _ := ctx.Value(within{}).(string)
			return next(context.WithValue(ctx, within{}, names+name), job)
		}
	}
}

func TestMiddlewareIsAroundAllPushesAndHandlers(t *testing.T) {
	queue := adjourntest.Start(t)
	ctx := testContext(t)
	q := queue.Dial(around("a"), adjourn.Around(nil, nil), around("b"))
	jobs := []adjourn.NewJob{{Body: "batch", Attributes: adjourn.Attributes{Headers: []adjourn.Header{{Name: "pushed", Value: "-"}}}}}
	must[[]adjourn.PushResult](t)(q.PushBatch(ctx, "t", jobs))
	if jobs[0].Header("pushed") != "-" {
		t.Errorf("the caller's job has %q", jobs[0].Header("pushed"))
	}
	must[adjourn.JobID](t)(q.Push(ctx, "t", "push"))
	must[adjourn.JobID](t)(q.PushOnce(ctx, adjourn.IdempotencyKeyOf("order-17"), "t", "once"))
	seen := make(chan string, 9)
	run(t, q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		seen <- string(job.Body) + " " + job.Header("pushed") + " " + ctx.Value(within{}).(string)
		return nil
	}, adjourn.Concurrency(1), adjourn.Use(inside("c"), inside("d"))))
	for _, want := range []string{"batch -ab abcd", "push ab abcd", "once ab abcd"} {
		if got := <-seen; got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
}

func TestMiddlewareSeesWhatBecameOfAPush(t *testing.T) {
	queue := adjourntest.Start(t)
	var seen []string
	q := queue.Dial(adjourn.Around(func(next adjourn.Pusher) adjourn.Pusher {
		return func(ctx context.Context, topic string, jobs []adjourn.NewJob) ([]adjourn.PushResult, error) {
			results, err := next(ctx, topic, jobs)
			switch {
			case err != nil:
				seen = append(seen, "failed")
			case errors.Is(results[0].Err, adjourn.ErrKeyExists):
				seen = append(seen, "refused")
			default:
				seen = append(seen, "pushed")
			}
			return results, err
		}
	}, nil))
	for i := 0; i < 2; i++ {
		q.Push(testContext(t), "t", "", adjourn.Key("k"))
	}
	q.Push(testContext(t), "not a topic", "")
	if got := strings.Join(seen, " "); got != "pushed refused failed" {
		t.Error(got)
	}
}
