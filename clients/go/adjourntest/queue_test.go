package adjourntest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func take(t *testing.T, q *adjourn.Client, topic string) *adjourn.Job {
	t.Helper()
	jobs, err := q.Reserve(testContext(t), adjourn.ReserveRequest{Topics: []string{topic}})
	if err != nil {
		t.Fatal(err)
	}
	if len(jobs) == 0 {
		return nil
	}
	return jobs[0]
}

func TestTheClockIsTheTests(t *testing.T) {
	queue := adjourntest.Start(t)
	q, ctx := queue.Dial(), testContext(t)
	id, err := q.Push(ctx, "t", "x", adjourn.Delay(15*time.Minute), adjourn.TTR(time.Minute),
		adjourn.Attempts(3), adjourn.RetryBackoff(adjourn.ExponentialBackoff(10*time.Second, time.Minute)))
	if err != nil {
		t.Fatal(err)
	}
	queue.Advance(15*time.Minute - time.Millisecond)
	if job := take(t, q, "t"); job != nil {
		t.Fatalf("%+v is early", job)
	}
	queue.Advance(time.Millisecond)
	job := take(t, q, "t")
	if job == nil || job.ID != id || !job.Due.Equal(queue.Now()) {
		t.Fatalf("%+v", job)
	}
	// The lease ends, and the job waits for its backoff: 10 s after the first attempt, 20 s after the second.
	queue.Advance(time.Minute)
	if err := job.Finish(ctx); !errors.Is(err, adjourn.ErrStaleLease) {
		t.Errorf("%v", err)
	}
	queue.Advance(10*time.Second - time.Millisecond)
	if job := take(t, q, "t"); job != nil {
		t.Fatalf("%+v has not waited for its backoff", job)
	}
	queue.Advance(time.Millisecond)
	job = take(t, q, "t")
	if job == nil || job.Attempts != 2 {
		t.Fatalf("%+v", job)
	}
	if err := job.Release(ctx, adjourn.WithBackoff(), errors.New("no")); err != nil {
		t.Fatal(err)
	}
	queue.Advance(20 * time.Second)
	job = take(t, q, "t")
	if job == nil || job.Attempts != 3 {
		t.Fatalf("%+v", job)
	}
	if err := job.Release(ctx, adjourn.WithBackoff(), nil); err != nil {
		t.Fatal(err)
	}
	info, err := q.Get(ctx, adjourn.ByID(id))
	if err != nil || info.State != adjourn.Buried || info.Buried != adjourn.AttemptsUsedUp || info.Reason != "no" {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestExpiryAndMemory(t *testing.T) {
	queue := adjourntest.Start(t)
	q, ctx := queue.Dial(), testContext(t)
	if _, err := q.Push(ctx, "t", "x", adjourn.ExpiresAt(queue.Now().Add(time.Hour)), adjourn.Key("expires")); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Push(ctx, "done", "x", adjourn.Remember(time.Hour), adjourn.Key("k")); err != nil {
		t.Fatal(err)
	}
	if err := take(t, q, "done").Finish(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Push(ctx, "done", "x", adjourn.Key("k")); !errors.Is(err, adjourn.ErrKeyExists) {
		t.Errorf("%v", err)
	}
	queue.Advance(time.Hour)
	if _, err := q.Get(ctx, adjourn.ByKey("t", "expires")); !errors.Is(err, adjourn.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if _, err := q.Push(ctx, "done", "x", adjourn.Key("k")); err != nil {
		t.Errorf("%v", err)
	}
}

// endSession ends the session of a client, as after an outage that was longer than the grace.
func endSession(t *testing.T, q *adjourn.Client, name string) {
	t.Helper()
	connections, err := q.Connections(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, connection := range connections {
		if connection.Name != name {
			continue
		}
		if err := q.Disconnect(testContext(t), connection.ID, true); err != nil {
			t.Error(err)
		}
		return
	}
	t.Errorf("%s is not connected: %+v", name, connections)
}

func TestAWorkerGetsWhatComesDue(t *testing.T) {
	queue := adjourntest.Start(t)
	q, ctx := queue.Dial(adjourn.Name("worker")), testContext(t)
	running, stop := context.WithCancel(ctx)
	seen := make(chan string, 4)
	why := make(chan error, 1)
	w := q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		seen <- string(job.Body)
		if string(job.Body) == "hangs" && job.Attempts == 1 {
			<-ctx.Done()
			why <- adjourn.Cause(ctx)
		}
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- w.Run(running) }()
	if _, err := q.Push(ctx, "t", "later", adjourn.Delay(time.Hour)); err != nil {
		t.Fatal(err)
	}
	<-w.Ready()
	queue.Advance(time.Hour)
	if body := <-seen; body != "later" {
		t.Errorf("%q", body)
	}
	queue.WaitIdle()
	queue.AssertEmpty()
	if _, err := q.Push(ctx, "t", "hangs"); err != nil {
		t.Fatal(err)
	}
	<-seen
	endSession(t, queue.Dial(), "worker")
	if err := <-why; err != adjourn.ErrLeaseLost {
		t.Errorf("%v", err)
	}
	queue.AdvanceToNext() // its attempt failed: it waits for its backoff
	if body := <-seen; body != "hangs" {
		t.Errorf("%q", body)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
