package adjourn_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

func bodies(n int) []adjourn.NewJob {
	jobs := make([]adjourn.NewJob, n)
	for i := range jobs {
		jobs[i].Body = fmt.Sprint(i)
	}
	return jobs
}

// More jobs than one request takes: the list goes in several, and is known again as a whole.
func TestAListUnderAKeyIsPushedOnce(t *testing.T) {
	server := adjourntest.StartServer(t)
	q, ctx := server.Dial(), testContext(t)
	key := must[adjourn.IdempotencyKey](t)(adjourn.NewIdempotencyKey())
	n := q.Info().PushJobsMax + 904
	first := must[[]adjourn.PushResult](t)(q.PushBatchOnce(ctx, key, "t", bodies(n)))
	again := must[[]adjourn.PushResult](t)(server.Dial(adjourn.WithoutSession()).PushBatchOnce(ctx, key, "t", bodies(n)))
	if len(first) != n || first[0].ID == 0 || first[n-1].ID != first[0].ID+adjourn.JobID(n-1) || !reflect.DeepEqual(first, again) {
		t.Errorf("%d results, from job %d to %d; then %d", len(first), first[0].ID, first[n-1].ID, len(again))
	}
	longer := must[[]adjourn.PushResult](t)(q.PushBatchOnce(ctx, key, "t", bodies(n+1)))
	if len(longer) != n+1 || !errors.Is(longer[0].Err, adjourn.ErrSequenceReused) || !errors.Is(longer[n].Err, adjourn.ErrSequenceReused) {
		t.Errorf("%d results, the first is %+v", len(longer), longer[0])
	}
	if jobs := must[uint64](t)(q.Count(ctx, adjourn.Filter{})); jobs != uint64(n) {
		t.Errorf("%d jobs", jobs)
	}
	_, none := q.PushBatchOnce(ctx, adjourn.IdempotencyKey{}, "t", bodies(1))
	_, long := q.PushBatchOnce(ctx, key, "t", bodies(limits.IdempotentListJobsMax+1))
	if !errors.Is(none, adjourn.ErrUsage) || !errors.Is(long, adjourn.ErrUsage) {
		t.Errorf("%v, %v", none, long)
	}
}

func TestOneJobUnderAKeyIsPushedOnce(t *testing.T) { onBoth(t, testOnce) }

func testOnce(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(), testContext(t)
	key := adjourn.IdempotencyKeyOf("order-17")
	id := must[adjourn.JobID](t)(q.PushOnce(ctx, key, "t", "x", adjourn.Delay(time.Hour)))
	if again := must[adjourn.JobID](t)(dial().PushOnce(ctx, key, "t", "x", adjourn.Delay(time.Hour))); again != id {
		t.Errorf("job %d, and then %d", id, again)
	}
	if other := must[adjourn.JobID](t)(q.PushOnce(ctx, adjourn.IdempotencyKeyOf("order-18"), "t", "x")); other == id {
		t.Errorf("job %d under two keys", id)
	}
}

func TestAListUnderAKeySaysItsLengthInEachPart(t *testing.T) {
	parts := make(chan *wire.Push, 4)
	address, _ := scripted(t, func(p *peer) {
		p.welcome(func(w *wire.Welcome) { w.PushJobsMax = 2 })
		for {
			id, m := p.next()
			push, is := m.(*wire.Push)
			if !is {
				p.say(id, &wire.Done{})
				return
			}
			parts <- push
			results := make([]wire.PushResult, len(push.Jobs))
			if string(push.Jobs[0].Body) == "2" {
				results[1] = wire.PushResult{Outcome: wire.OutcomeRefused, Code: uint16(adjourn.ErrSequenceReused)}
			}
			p.say(id, &wire.Pushed{Results: results})
		}
	})
	q, key := dialScripted(t, address), adjourn.IdempotencyKey{0xff, 0xff}
	results := must[[]adjourn.PushResult](t)(q.PushBatchOnce(testContext(t), key, "t", bodies(7)))
	first, second := <-parts, <-parts
	if first.ListJobs != 7 || second.ListJobs != 7 || first.Sequence != 0 || first.Idempotency != wire.U128(key) ||
		second.Idempotency != (wire.U128{1, 0, 1}) {
		t.Errorf("%+v, %+v", first, second)
	}
	if len(parts) > 0 {
		t.Errorf("after a key that is used otherwise, %+v was sent", <-parts)
	}
	for i, r := range results {
		if reused := errors.Is(r.Err, adjourn.ErrSequenceReused); reused != (i >= 3) {
			t.Errorf("job %d: %+v", i, r)
		}
	}
}

// The number behind the highest one would be 0, which is no key.
func TestAKeyWithoutNumbersForAllJobsIsRefused(t *testing.T) {
	pushes := make(chan *wire.Push, 4)
	address, _ := scripted(t, func(p *peer) {
		p.welcome(func(w *wire.Welcome) { w.PushJobsMax = 2 })
		for {
			id, m := p.next()
			push, is := m.(*wire.Push)
			if !is {
				p.say(id, &wire.Done{})
				return
			}
			pushes <- push
			p.say(id, &wire.Pushed{Results: make([]wire.PushResult, len(push.Jobs))})
		}
	})
	q, ctx := dialScripted(t, address), testContext(t)
	var key adjourn.IdempotencyKey // 2^128 - 3: three numbers are left
	for i := range key {
		key[i] = 0xff
	}
	key[0] = 0xfd
	for _, n := range []int{4, 5, 6} {
		if _, err := q.PushBatchOnce(ctx, key, "t", bodies(n)); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%d jobs: %v", n, err)
		}
	}
	if len(pushes) > 0 {
		t.Errorf("%+v was sent", <-pushes)
	}
	if results := must[[]adjourn.PushResult](t)(q.PushBatchOnce(ctx, key, "t", bodies(3))); len(results) != 3 || len(pushes) != 2 {
		t.Errorf("%d results of %d requests", len(results), len(pushes))
	}
	must[[]adjourn.PushResult](t)(q.PushBatchOnce(ctx, key, "t", nil))
}

func TestAParkedJobHasLostNoAttempt(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	must[adjourn.JobID](t)(q.Push(ctx, "t", "x"))
	job := reserveOne(t, q, "t")
	if err := job.Release(ctx, adjourn.Parked(time.Hour), errors.New("the bank is closed")); err != nil {
		t.Fatal(err)
	}
	info := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(job.ID)))
	if wait := info.Due.Sub(clockOf(ctx, q)); info.State != adjourn.Delayed || info.Attempts != 0 || wait < 59*time.Minute || wait > 61*time.Minute {
		t.Errorf("%+v, due in %v", info, wait)
	}
	if info.Reason != "the bank is closed" {
		t.Errorf("%q", info.Reason)
	}
	must[adjourn.Change](t)(q.RunNow(ctx, adjourn.ByID(job.ID)))
	job = reserveOne(t, q, "t")
	results := must[[]error](t)(q.Release(ctx, adjourn.Parked(0), "", job.Lease))
	if info := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(job.ID))); results[0] != nil || info.State != adjourn.Ready || info.Attempts != 0 {
		t.Errorf("%v, %+v", results, info)
	}
	for _, delay := range []time.Duration{-1, 11 * 365 * 24 * time.Hour} {
		if _, err := q.Release(ctx, adjourn.Parked(delay), "", job.Lease); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%v: %v", delay, err)
		}
	}
}

func TestAJobThatChangedMeanwhileIsNotRescheduled(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	id := must[adjourn.JobID](t)(q.Push(ctx, "t", "x", adjourn.Delay(time.Hour)))
	seen := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id))).Version
	change := must[adjourn.Change](t)(q.Reschedule(ctx, adjourn.ByID(id), 2*time.Hour, adjourn.IfVersion(seen)))
	if seen == 0 || change.Version == 0 || change.Version == seen {
		t.Errorf("version %d, and then %d", seen, change.Version)
	}
	at := clockOf(ctx, q).Add(time.Minute)
	if _, err := q.RescheduleAt(ctx, adjourn.ByID(id), at, adjourn.IfVersion(seen)); !errors.Is(err, adjourn.ErrChanged) {
		t.Errorf("%v", err)
	}
	must[adjourn.Change](t)(q.RescheduleAt(ctx, adjourn.ByID(id), at))
}
