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
	queue := adjourntest.NewQueue(t)
	q, ctx := queue.Client(), testContext(t)
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
	queue := adjourntest.NewQueue(t)
	q, ctx := queue.Client(), testContext(t)
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

func TestFailuresOnDemand(t *testing.T) {
	queue := adjourntest.NewQueue(t)
	q, ctx := queue.Client(), testContext(t)
	queue.FailNext("PUSH", adjourn.ErrQuota)
	if _, err := q.Push(ctx, "t", "x"); !errors.Is(err, adjourn.ErrQuota) {
		t.Errorf("%v", err)
	}
	queue.FailNext("PUSH", adjourn.ErrBusy) // the client tries again by itself
	queue.LoseNextAnswer("PUSH")            // and again, when the answer is lost
	if _, err := q.Push(ctx, "t", "x"); err != nil {
		t.Errorf("%v", err)
	}
	if n, err := q.Count(ctx, adjourn.Filter{}); n != 1 || err != nil {
		t.Errorf("%d jobs, %v", n, err)
	}
	queue.LoseNextAnswer("KICK_MANY")
	if _, err := q.KickMany(ctx, "t", 1); !errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	job := take(t, q, "t")
	queue.Disconnect()
	if err := job.Finish(ctx); err != nil {
		t.Errorf("a lease outlives its connection: %v", err)
	}
	queue.LoseNextAnswer("PUSH") // without a session it is sent again under its key
	results, err := queue.Client(adjourn.WithoutSession()).PushBatch(ctx, "t", make([]adjourn.NewJob, 2))
	if err != nil || results[0].Err != nil || results[1].Err != nil {
		t.Errorf("%+v, %v", results, err)
	}
	if n, err := q.Count(ctx, adjourn.Filter{}); n != 2 || err != nil {
		t.Errorf("%d jobs, %v", n, err)
	}
}

func TestAWorkerOnTheQueueInMemory(t *testing.T) {
	queue := adjourntest.NewQueue(t)
	q, ctx := queue.Client(), testContext(t)
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
	for {
		n, err := q.Count(ctx, adjourn.Filter{})
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break // it is finished
		}
	}
	if _, err := q.Push(ctx, "t", "hangs"); err != nil {
		t.Fatal(err)
	}
	<-seen
	queue.EndSessions()
	if err := <-why; err != adjourn.ErrLeaseLost {
		t.Errorf("%v", err)
	}
	if body := <-seen; body != "hangs" {
		t.Errorf("%q", body)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The server may still hold a lease that the client gave up: it is given back once the handler has returned.
func TestALeaseThatCouldNotBeExtendedIsGivenBack(t *testing.T) {
	queue := adjourntest.NewQueue(t)
	q, ctx := queue.Client(), testContext(t)
	for i := 0; i < 50; i++ {
		queue.FailNext("TOUCH", adjourn.ErrInvalid)
	}
	why := make(chan error, 1)
	attempts := make(chan uint32, 2)
	w := q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		attempts <- job.Attempts
		if job.Attempts == 1 {
			<-ctx.Done()
			why <- adjourn.Cause(ctx)
		}
		return nil
	})
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(running) }()
	if _, err := q.Push(ctx, "t", "x", adjourn.TTR(time.Second)); err != nil {
		t.Fatal(err)
	}
	for want := uint32(1); want <= 2; want++ {
		select {
		case got := <-attempts:
			if got != want {
				t.Errorf("attempt %d", got)
			}
		case <-ctx.Done():
			t.Fatalf("attempt %d never came", want)
		}
	}
	if err := <-why; err != adjourn.ErrLeaseExpired {
		t.Errorf("%v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
