package adjourn_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

func tokens(t testing.TB, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	file := fmt.Sprintf("[[token]]\nname = 'shop'\nsha256 = '%x'\nallow = ['push,consume']\n", sha256.Sum256([]byte(token)))
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a worker until the test or the returned function stops it.
func run(t testing.TB, w *adjourn.Worker) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(testContext(t))
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	select {
	case <-w.Ready():
	case err := <-ended:
		t.Fatalf("the worker ended: %v", err)
	}
	stop = func() error {
		cancel()
		err := <-ended
		ended <- err
		return err
	}
	t.Cleanup(func() { stop() })
	return stop
}

func TestAWorkerSettlesAsItsHandlerReturns(t *testing.T) { onBoth(t, testSettling) }

func testSettling(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(), testContext(t)
	now := clockOf(ctx, q)
	ids := map[string]adjourn.JobID{}
	for _, body := range []string{"good", "fails", "panics", "retries", "buries"} {
		ids[body] = must[adjourn.JobID](t)(q.Push(ctx, "t", body, adjourn.RetryBackoff(adjourn.FixedBackoff(time.Hour))))
	}
	var seen sync.Map
	trace := func(next adjourn.Handler) adjourn.Handler {
		return func(ctx context.Context, job *adjourn.Job) error {
			seen.Store(string(job.Body), true)
			return next(ctx, job)
		}
	}
	w := q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		switch string(job.Body) {
		case "fails":
			return errors.New("no route\xff " + strings.Repeat("ü", 2000))
		case "panics":
			panic("oh no")
		case "retries":
			return adjourn.RetryAfter(2*time.Hour, errors.New("try later"))
		case "buries":
			return adjourn.BuryJob(errors.New("hopeless"))
		}
		return nil
	}, adjourn.Use(trace))
	stop := run(t, w)
	state := func(body string) *adjourn.JobInfo {
		return must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(ids[body])))
	}
	eventually(t, "all are settled", func() bool {
		return must[*adjourn.Stats](t)(q.Stats(ctx)).Ready+must[*adjourn.Stats](t)(q.Stats(ctx)).Reserved == 0
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	if info := state("good"); info.State != adjourn.Finished {
		t.Errorf("good: %+v", info)
	}
	if info := state("fails"); info.State != adjourn.Delayed || !strings.HasPrefix(info.Reason, "no route") || info.Due.Sub(now) > time.Hour+time.Minute {
		t.Errorf("fails: %+v", info)
	}
	if info := state("panics"); info.State != adjourn.Delayed || info.Reason != "the handler panicked: oh no" {
		t.Errorf("panics: %+v", info)
	}
	if info := state("retries"); info.State != adjourn.Delayed || info.Due.Sub(now) < time.Hour {
		t.Errorf("retries: %+v", info)
	}
	if info := state("buries"); info.State != adjourn.Buried || info.Reason != "hopeless" {
		t.Errorf("buries: %+v", info)
	}
	for body := range ids {
		if _, was := seen.Load(body); !was {
			t.Errorf("the middleware has not seen %q", body)
		}
	}
}

func TestFinishComesAfterTheHandler(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	id := must[adjourn.JobID](t)(q.Push(ctx, "t", ""))
	started, proceed := make(chan struct{}), make(chan struct{})
	run(t, q.Worker("t", func(context.Context, *adjourn.Job) error {
		close(started)
		<-proceed
		return nil
	}))
	<-started
	if info := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id))); info.State != adjourn.Reserved {
		t.Errorf("%+v", info)
	}
	close(proceed)
	eventually(t, "it is finished", func() bool {
		return must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id))).State == adjourn.Finished
	})
}

func TestALongHandlerKeepsItsLease(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	id := must[adjourn.JobID](t)(q.Push(ctx, "t", "", adjourn.TTR(300*time.Millisecond)))
	proceed := make(chan struct{})
	var runs atomic.Int32
	var first *adjourn.Job
	started := make(chan *adjourn.Job, 9)
	run(t, q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		runs.Add(1)
		started <- job
		<-proceed
		return adjourn.Cause(ctx)
	}))
	first = <-started
	begun := first.LeaseUntil()
	eventually(t, "the lease was extended again and again", func() bool { return first.LeaseUntil().Sub(begun) > time.Second })
	close(proceed)
	eventually(t, "it is finished", func() bool {
		info := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id)))
		return info.State == adjourn.Finished && info.Attempts == 1
	})
	if runs.Load() != 1 {
		t.Errorf("%d runs", runs.Load())
	}
}

func TestALostLeaseStopsTheHandler(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	must[adjourn.JobID](t)(q.Push(ctx, "t", "", adjourn.TTR(400*time.Millisecond)))
	why := make(chan error, 2)
	run(t, q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		if _, err := q.Delete(ctx, adjourn.ByID(job.ID)); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		why <- adjourn.Cause(ctx)
		why <- job.LostReason()
		return nil
	}))
	if err := <-why; err != adjourn.ErrLeaseLost {
		t.Errorf("the context was cancelled: %v", err)
	}
	if err := <-why; err != adjourn.ErrLeaseLost {
		t.Errorf("the job says %v", err)
	}
}

func TestAHandlerThatRunsTooLongIsCancelled(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	id := must[adjourn.JobID](t)(q.Push(ctx, "t", "", adjourn.Attempts(1)))
	run(t, q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		<-ctx.Done()
		return adjourn.Cause(ctx)
	}, adjourn.MaxRun(100*time.Millisecond)))
	eventually(t, "its attempts are used up", func() bool {
		info := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id)))
		return info.State == adjourn.Buried && strings.Contains(info.Reason, "ran longer than 100ms")
	})
}

func TestAGracefulStopDrainsAndGivesBack(t *testing.T) {
	server := adjourntest.StartServer(t)
	q, other, ctx := server.Dial(), server.Dial(), testContext(t)
	for i := 0; i < 4; i++ {
		must[adjourn.JobID](t)(q.Push(ctx, "t", ""))
	}
	started, proceed := make(chan struct{}, 4), make(chan struct{})
	w := q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		started <- struct{}{}
		<-proceed
		return ctx.Err()
	}, adjourn.Concurrency(1), adjourn.Prefetch(3))
	stop := run(t, w)
	<-started
	eventually(t, "the others are prefetched", func() bool { return must[*adjourn.Stats](t)(other.Stats(ctx)).Reserved == 4 })
	ended := make(chan error, 1)
	go func() { ended <- stop() }()
	eventually(t, "the others are given back", func() bool { return must[*adjourn.Stats](t)(other.Stats(ctx)).Ready == 3 })
	if w.Health().Consuming {
		t.Error("a worker that stops does not consume")
	}
	close(proceed)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	stats := must[*adjourn.Stats](t)(other.Stats(ctx))
	if stats.Finished != 1 || stats.Ready != 3 || len(started) != 0 {
		t.Errorf("%+v, %d more started", stats, len(started))
	}
	for it := other.List(adjourn.Filter{}, adjourn.ListOptions{}); it.Next(ctx); {
		if it.Job().Attempts != 0 {
			t.Errorf("an attempt was counted: %+v", it.Job())
		}
	}
}

func TestAStopEndsAtItsDeadline(t *testing.T) {
	server := adjourntest.StartServer(t)
	q, other, ctx := server.Dial(), server.Dial(), testContext(t)
	polite := must[adjourn.JobID](t)(q.Push(ctx, "t", "polite"))
	rude := must[adjourn.JobID](t)(q.Push(ctx, "t", "rude"))
	started, proceed := make(chan struct{}, 2), make(chan struct{})
	defer close(proceed)
	stop := run(t, q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		started <- struct{}{}
		if string(job.Body) == "rude" {
			<-proceed
			return nil
		}
		<-ctx.Done()
		return adjourn.Cause(ctx)
	}, adjourn.StopTimeout(400*time.Millisecond)))
	<-started
	<-started
	if err := stop(); !errors.Is(err, adjourn.ErrStopTimeout) {
		t.Errorf("%v", err)
	}
	if info := must[*adjourn.JobInfo](t)(other.Get(ctx, adjourn.ByID(polite))); info.State != adjourn.Ready || !strings.Contains(info.Reason, "stop") {
		t.Errorf("%+v", info)
	}
	// The rude handler still runs: nobody else may have its job yet.
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	if info := must[*adjourn.JobInfo](t)(other.Get(ctx, adjourn.ByID(rude))); info.State != adjourn.Reserved {
		t.Errorf("%+v", info)
	}
}

func TestNoLeaseEndsWhileItsJobWaitsInMemory(t *testing.T) {
	server := adjourntest.StartServer(t)
	q, other, ctx := server.Dial(), server.Dial(), testContext(t)
	must[adjourn.JobID](t)(q.Push(ctx, "t", "busy"))
	waiting := must[adjourn.JobID](t)(q.Push(ctx, "t", "waits", adjourn.TTR(400*time.Millisecond), adjourn.Attempts(1)))
	started, proceed := make(chan struct{}, 2), make(chan struct{})
	run(t, q.Worker("t", func(context.Context, *adjourn.Job) error {
		started <- struct{}{}
		<-proceed
		return nil
	}, adjourn.Concurrency(1), adjourn.Prefetch(1)))
	<-started
	// It comes and goes again and again, each time with half of its lease.
	seen := map[adjourn.State]bool{}
	deliveries := uint64(0)
	eventually(t, "it was given back and came again", func() bool {
		info := must[*adjourn.JobInfo](t)(other.Get(ctx, adjourn.ByID(waiting)))
		if info.State == adjourn.Buried || info.Attempts > 1 {
			t.Fatalf("an attempt was lost in memory: %+v", info)
		}
		if info.State == adjourn.Reserved && !seen[info.State] {
			deliveries++
		}
		seen = map[adjourn.State]bool{info.State: true}
		return deliveries >= 2
	})
	close(proceed)
	eventually(t, "it is finished", func() bool {
		return must[*adjourn.JobInfo](t)(other.Get(ctx, adjourn.ByID(waiting))).State == adjourn.Finished
	})
}

func TestCloseWaitsForTheHandlersOfRunningWorkers(t *testing.T) {
	server := adjourntest.StartServer(t)
	q, other, ctx := server.Dial(), server.Dial(), testContext(t)
	id := must[adjourn.JobID](t)(q.Push(ctx, "t", ""))
	started, proceed := make(chan struct{}), make(chan struct{})
	w := q.Worker("t", func(context.Context, *adjourn.Job) error {
		close(started)
		<-proceed
		return nil
	})
	run(t, w)
	<-started
	closed := make(chan error, 1)
	go func() { closed <- q.Close() }()
	<-w.Stopping()
	if info := must[*adjourn.JobInfo](t)(other.Get(ctx, adjourn.ByID(id))); info.State != adjourn.Reserved {
		t.Errorf("the handler runs, and its job is %v", info.State)
	}
	close(proceed)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if info := must[*adjourn.JobInfo](t)(other.Get(ctx, adjourn.ByID(id))); info.State != adjourn.Finished {
		t.Errorf("%+v", info)
	}
	if err := q.Worker("t", func(context.Context, *adjourn.Job) error { return nil }).Run(ctx); !errors.Is(err, adjourn.ErrClosed) {
		t.Errorf("a worker of a closed client runs: %v", err)
	}
}

func TestAFailureIsLoggedOnceForEachJobAndReason(t *testing.T) {
	lines := make(chan string, 99)
	server := adjourntest.StartServer(t)
	q := server.Dial(adjourn.Logf(func(format string, args ...any) { lines <- fmt.Sprintf(format, args...) }))
	ctx := testContext(t)
	id := must[adjourn.JobID](t)(q.Push(ctx, "t", "", adjourn.Attempts(3), adjourn.RetryBackoff(adjourn.FixedBackoff(0))))
	run(t, q.Worker("t", func(context.Context, *adjourn.Job) error { return errors.New("no paper") }))
	eventually(t, "its attempts are used up", func() bool {
		return must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id))).State == adjourn.Buried
	})
	said := 0
	for len(lines) > 0 {
		if line := <-lines; strings.Contains(line, "no paper") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the failure was logged %d times", said)
	}
}

func TestAWorkerSurvivesACrashOfTheServer(t *testing.T) {
	server := adjourntest.StartServer(t)
	q, ctx := server.Dial(), testContext(t)
	var runs sync.Map
	w := q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		count, _ := runs.LoadOrStore(job.ID, new(atomic.Int32))
		count.(*atomic.Int32).Add(1)
		return nil
	})
	run(t, w)
	const jobs = 300
	pushed := make(chan error, 1)
	go func() {
		for i := 0; i < jobs; i++ {
			if _, err := q.Push(ctx, "t", "x"); err != nil {
				pushed <- err
				return
			}
		}
		pushed <- nil
	}()
	for i := 0; i < 2; i++ {
		eventually(t, "some work is done", func() bool {
			stats, err := q.Stats(ctx)
			return err == nil && stats.Finished >= uint64(50*(i+1))
		})
		server.Kill()
		eventually(t, "it is not consuming", func() bool { return !w.Health().Consuming })
		server.Start()
	}
	if err := <-pushed; err != nil {
		t.Fatal(err)
	}
	eventually(t, "all are finished", func() bool {
		stats, err := q.Stats(ctx)
		return err == nil && stats.Finished == jobs && stats.Reserved+stats.Ready == 0
	})
	seen := 0
	runs.Range(func(_, count any) bool {
		seen++
		return true
	})
	if seen != jobs {
		t.Errorf("%d jobs were worked on", seen)
	}
	eventually(t, "it consumes", func() bool { return w.Health().Consuming })
}
