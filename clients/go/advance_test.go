package adjourn_test

import (
	"errors"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// takeNow has the jobs of a topic that are ready now.
func takeNow(t testing.TB, q *adjourn.Client, topic string) []*adjourn.Job {
	t.Helper()
	return must[[]*adjourn.Job](t)(q.Reserve(testContext(t), adjourn.ReserveRequest{Topics: []string{topic}, Max: 9}))
}

func TestATestMovesTheClockOfAServerInMemory(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	begin := must[time.Time](t)(q.Ping(ctx))
	id := must[adjourn.JobID](t)(q.Push(ctx, "reminders", "x", adjourn.Delay(15*time.Minute)))
	must[adjourn.JobID](t)(q.Push(ctx, "reminders", "x", adjourn.Delay(time.Hour)))
	now := must[time.Time](t)(q.Advance(ctx, 15*time.Minute-time.Millisecond))
	if want := begin.Add(15*time.Minute - time.Millisecond); !now.Equal(want) {
		t.Errorf("the clock shows %v, not %v", now, want)
	}
	if early := takeNow(t, q, "reminders"); len(early) != 0 {
		t.Errorf("%d jobs are early", len(early))
	}
	must[time.Time](t)(q.Advance(ctx, time.Nanosecond)) // rounded up to a millisecond
	jobs := takeNow(t, q, "reminders")
	if len(jobs) != 1 || jobs[0].ID != id || !jobs[0].Due.Equal(begin.Add(15*time.Minute)) {
		t.Fatalf("%+v", jobs)
	}
	if err := jobs[0].Finish(ctx); err != nil {
		t.Error(err)
	}
	if now := must[time.Time](t)(q.AdvanceToNext(ctx)); !now.Equal(begin.Add(time.Hour)) {
		t.Errorf("the next job is due at %v, and the clock shows %v", begin.Add(time.Hour), now)
	}
	if jobs := takeNow(t, q, "reminders"); len(jobs) != 1 {
		t.Errorf("%d jobs are ready", len(jobs))
	}
	if _, err := q.AdvanceToNext(ctx); !errors.Is(err, adjourn.ErrNotFound) {
		t.Errorf("no job is delayed: %v", err)
	}
	if _, err := q.Advance(ctx, -time.Second); !errors.Is(err, adjourn.ErrUsage) {
		t.Errorf("back in time: %v", err)
	}
	if now := must[time.Time](t)(q.Ping(ctx)); !now.Equal(begin.Add(time.Hour)) {
		t.Errorf("the clock moved to %v", now)
	}
}

func TestOtherServersRefuseToMoveTheirClock(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	if _, err := q.Advance(ctx, time.Hour); !errors.Is(err, adjourn.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	if _, err := q.AdvanceToNext(ctx); !errors.Is(err, adjourn.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

func TestTheClockIsNotMovedTwice(t *testing.T) {
	address, connections := scripted(t, func(p *peer) {
		p.welcome(nil)
		if _, m := p.next(); m == nil || m.Opcode() != wire.OpAdvance {
			t.Errorf("the client sent %v", m)
		}
	}, func(p *peer) {
		p.welcome(nil)
		if _, m := p.next(); m != nil && m.Opcode() != wire.OpGoodbye {
			t.Errorf("the client sent %v after its connection was lost", m.Opcode())
		}
	})
	q := must[*adjourn.Client](t)(adjourn.Dial(testContext(t), address))
	if _, err := q.Advance(testContext(t), time.Hour); !errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	eventually(t, "the client is connected again", func() bool { return connections.Load() == 2 && q.Info().Connected })
	q.Close()
}
