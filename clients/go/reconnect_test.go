package adjourn_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

func TestAPushWhoseAnswerIsLostIsAcceptedOnce(t *testing.T) { testLostAnswers(t) }

func TestWithoutASessionAPushWhoseAnswerIsLostIsAcceptedOnce(t *testing.T) {
	testLostAnswers(t, adjourn.WithoutSession())
}

func testLostAnswers(t *testing.T, options ...adjourn.Option) {
	server, p := behindProxy(t)
	direct, ctx := server.Dial(), testContext(t)
	q := must[*adjourn.Client](t)(adjourn.Dial(ctx, p.addr(), options...))
	defer q.Close()
	for round := 1; round <= 3; round++ {
		p.hold()
		type result struct {
			id  adjourn.JobID
			err error
		}
		done := make(chan result, 10)
		for i := 0; i < 10; i++ {
			go func() {
				id, err := q.Push(ctx, "t", "once")
				done <- result{id, err}
			}()
		}
		eventually(t, "the server has accepted all", func() bool {
			return must[uint64](t)(direct.Count(ctx, adjourn.Filter{})) == uint64(10*round) && p.holds() > 0
		})
		p.drop()
		ids := map[adjourn.JobID]bool{}
		for i := 0; i < 10; i++ {
			r := <-done
			if r.err != nil {
				t.Fatal(r.err)
			}
			ids[r.id] = true
		}
		if n := must[uint64](t)(direct.Count(ctx, adjourn.Filter{})); n != uint64(10*round) || len(ids) != 10 {
			t.Fatalf("%d jobs, %d ids after %d rounds", n, len(ids), round)
		}
	}
}

func TestWhatMustNotBeRepeatedEndsAsOutcomeUnknown(t *testing.T) {
	server, p := behindProxy(t)
	direct, ctx := server.Dial(), testContext(t)
	q := must[*adjourn.Client](t)(adjourn.Dial(ctx, p.addr()))
	defer q.Close()
	id := must[adjourn.JobID](t)(q.Push(ctx, "t", "", adjourn.Key("k"), adjourn.Delay(time.Hour)))
	p.hold()
	ended := make(chan error, 2)
	go func() {
		_, err := q.RunNow(ctx, adjourn.ByID(id))
		ended <- err
	}()
	go func() {
		_, err := q.Get(ctx, adjourn.ByID(id)) // a read is repeated
		ended <- err
	}()
	eventually(t, "it was applied", func() bool {
		return must[*adjourn.JobInfo](t)(direct.Get(ctx, adjourn.ByID(id))).State == adjourn.Ready && p.holds() > 0
	})
	p.drop()
	var unknown *adjourn.OutcomeUnknownError
	first, second := <-ended, <-ended
	if first == nil {
		first, second = second, first
	}
	if !errors.Is(first, adjourn.ErrOutcomeUnknown) || !errors.As(first, &unknown) || unknown.Request != "RUN_NOW" || second != nil {
		t.Errorf("%v, %v", first, second)
	}
}

func TestAClientWaitsForAServerThatWasKilled(t *testing.T) {
	server := adjourntest.StartServer(t)
	q, ctx := server.Dial(), testContext(t)
	first := must[adjourn.JobID](t)(q.Push(ctx, "t", "before"))
	job := reserveOne(t, q, "t")
	server.Kill()
	pushed := make(chan error, 1)
	go func() {
		_, err := q.Push(ctx, "t", "meanwhile")
		pushed <- err
	}()
	server.Start()
	if err := <-pushed; err != nil {
		t.Fatal(err)
	}
	if job.ID != first {
		t.Errorf("job %d", job.ID)
	}
	// The session and its lease outlive the crash.
	if err := job.Finish(ctx); err != nil {
		t.Error(err)
	}
	if n := must[uint64](t)(q.Count(ctx, adjourn.Filter{})); n != 1 {
		t.Errorf("%d jobs", n)
	}
	if q.Info().Connections < 2 {
		t.Errorf("%+v", q.Info())
	}
}

func TestAClientOutlivesAServerThatIsStopped(t *testing.T) {
	server := adjourntest.StartServer(t)
	q, ctx := server.Dial(), testContext(t)
	sub := must[*adjourn.Subscription](t)(q.Subscribe(ctx, adjourn.SubscribeRequest{Topics: []string{"t"}, CreditJobs: 1}))
	reserved := make(chan []*adjourn.Job, 1)
	go func() {
		reserved <- must[[]*adjourn.Job](t)(q.Reserve(ctx, adjourn.ReserveRequest{Topics: []string{"u"}, Wait: patience}))
	}()
	eventually(t, "both wait", func() bool { return must[*adjourn.Stats](t)(q.Stats(ctx)).Waiting == 2 })
	server.Stop()
	server.Start()
	eventually(t, "both wait again", func() bool {
		stats, err := q.Stats(ctx)
		return err == nil && stats.Waiting >= 1
	})
	must[adjourn.JobID](t)(q.Push(ctx, "t", ""))
	job := must[*adjourn.Job](t)(sub.Next(ctx))
	if err := job.Finish(ctx); err != nil {
		t.Error(err)
	}
	// A stopping server answers a waiting reserve without a job: that is an answer.
	must[adjourn.JobID](t)(q.Push(ctx, "u", ""))
	if jobs := <-reserved; len(jobs) > 1 {
		t.Errorf("%d jobs", len(jobs))
	}
}

func TestJobsThatNeverArrivedAreGivenBackAtOnce(t *testing.T) {
	server, p := behindProxy(t)
	direct, ctx := server.Dial(), testContext(t)
	q := must[*adjourn.Client](t)(adjourn.Dial(ctx, p.addr()))
	defer q.Close()
	must[adjourn.JobID](t)(direct.Push(ctx, "seen", ""))
	seen := reserveOne(t, q, "seen")
	polling, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := q.Reserve(polling, adjourn.ReserveRequest{Topics: []string{"lost"}, Wait: time.Hour})
		ended <- err
	}()
	eventually(t, "it waits", func() bool { return must[*adjourn.Stats](t)(direct.Stats(ctx)).Waiting == 1 })
	p.hold()
	id := must[adjourn.JobID](t)(direct.Push(ctx, "lost", "", adjourn.TTR(time.Hour)))
	eventually(t, "it is reserved", func() bool {
		return must[*adjourn.JobInfo](t)(direct.Get(ctx, adjourn.ByID(id))).State == adjourn.Reserved && p.holds() > 0
	})
	cancel() // nobody wants it any more
	<-ended
	p.drop()
	job := reserveOne(t, direct, "lost")
	if job.ID != id || job.Attempts != 1 {
		t.Errorf("%+v", job)
	}
	if err := seen.Finish(ctx); err != nil {
		t.Errorf("the job that did arrive: %v", err)
	}
}

func TestLeasesArePresumedLostWhenNothingProvesThem(t *testing.T) {
	server, p := behindProxy(t, "--session-grace-ms", "1000", "--heartbeat-ms", "250")
	direct, ctx := server.Dial(), testContext(t)
	q := must[*adjourn.Client](t)(adjourn.Dial(ctx, p.addr()))
	defer q.Close()
	must[adjourn.JobID](t)(direct.Push(ctx, "t", ""))
	var stopped atomic.Value
	started := make(chan struct{})
	var runs atomic.Int32
	w := q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		if runs.Add(1) > 1 {
			return nil
		}
		close(started)
		<-ctx.Done()
		stopped.Store(fmt.Sprint(errors.Is(adjourn.Cause(ctx), adjourn.ErrLeasePresumedLost), errors.Is(job.LostReason(), adjourn.ErrStaleLease)))
		return nil // must settle nothing
	}, adjourn.Concurrency(1))
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(running) }()
	<-started
	p.setRefuse(true)
	p.cut()
	eventually(t, "it is not consuming", func() bool { return !w.Health().Consuming })
	// Another consumer gets the job, and not before the handler was stopped.
	job := reserveOne(t, direct, "t")
	if stopped.Load() != "true true" {
		t.Errorf("when another consumer got the job, the handler knew %v", stopped.Load())
	}
	if job.Attempts != 2 {
		t.Errorf("attempt %d", job.Attempts)
	}
	p.setRefuse(false)
	eventually(t, "it consumes again", func() bool { return w.Health().Consuming })
	if err := job.Finish(ctx); err != nil {
		t.Errorf("the late result disturbed the new lease: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAFrozenServerIsNotWaitedForForEver(t *testing.T) {
	server := adjourntest.StartServer(t, "--heartbeat-ms", "200")
	q, ctx := server.Dial(adjourn.RequestTimeout(700*time.Millisecond)), testContext(t)
	server.Freeze()
	eventually(t, "it is frozen", func() bool {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err := q.Ping(short)
		return err != nil
	})
	_, err := q.Get(ctx, adjourn.ByID(1))
	var timeout *adjourn.TimeoutError
	if !errors.As(err, &timeout) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	_, err = q.Push(ctx, "t", "")
	if !errors.As(err, &timeout) {
		t.Errorf("%v", err)
	}
	server.Thaw()
	eventually(t, "it answers again", func() bool {
		_, err := q.Ping(ctx)
		return err == nil
	})
}

func TestAConnectionThatIsSilentIsReplaced(t *testing.T) {
	_, p := behindProxy(t, "--heartbeat-ms", "200")
	ctx := testContext(t)
	q := must[*adjourn.Client](t)(adjourn.Dial(ctx, p.addr()))
	defer q.Close()
	p.hold()
	pushed := make(chan error, 1)
	go func() {
		_, err := q.Push(ctx, "t", "")
		pushed <- err
	}()
	eventually(t, "the connection is given up", func() bool { return !q.Info().Connected })
	p.drop()
	if err := <-pushed; err != nil {
		t.Error(err)
	}
	if n := must[uint64](t)(q.Count(ctx, adjourn.Filter{})); n != 1 {
		t.Errorf("%d jobs", n)
	}
}

func TestTokensAndHopelessServers(t *testing.T) {
	ctx := testContext(t)
	if _, err := adjourn.Dial(ctx, "nowhere://x"); !errors.Is(err, adjourn.ErrUsage) {
		t.Errorf("%v", err)
	}
	var connect *adjourn.ConnectError
	if _, err := adjourn.Dial(ctx, adjourntest.FreeAddress(t)); !errors.As(err, &connect) {
		t.Errorf("%v", err)
	}
	server := adjourntest.StartServer(t, "--tokens-file", tokens(t, "sesame"))
	if _, err := adjourn.Dial(ctx, server.Addr(), adjourn.Token("wrong")); !errors.Is(err, adjourn.ErrUnauthenticated) {
		t.Errorf("%v", err)
	}
	server.Dial(adjourn.Token("sesame"))
	// The first address is nobody's, the second one serves.
	must[*adjourn.Client](t)(adjourn.Dial(ctx, "adjourn://"+adjourntest.FreeAddress(t)+","+server.Addr(), adjourn.Token("sesame"))).Close()
}
