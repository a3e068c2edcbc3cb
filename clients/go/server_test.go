package adjourn_test

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

const patience = 20 * time.Second

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never came: %s", what)
		}
	}
}

func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func reserveOne(t testing.TB, q *adjourn.Client, topic string) *adjourn.Job {
	t.Helper()
	jobs := must[[]*adjourn.Job](t)(q.Reserve(testContext(t), adjourn.ReserveRequest{Topics: []string{topic}, Wait: patience}))
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	return jobs[0]
}

// onBoth runs a test on a server with files, and on one in memory whose clock stands still: the two behave the same.
func onBoth(t *testing.T, test func(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client)) {
	t.Run("files", func(t *testing.T) { test(t, adjourntest.StartServer(t).Dial) })
	t.Run("memory", func(t *testing.T) { test(t, adjourntest.Start(t).Dial) })
}

type order struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
}

func TestAJobFromPushToFinish(t *testing.T) {
	server := adjourntest.StartServer(t)
	q, ctx := server.Dial(), testContext(t)
	pushed := time.Now()
	id, err := q.Push(ctx, "orders", order{17, "ann"}, adjourn.Delay(200*time.Millisecond), adjourn.Key("order-17"),
		adjourn.Priority(3), adjourn.TTR(30*time.Second), adjourn.WithHeader("traceparent", "00-1"), adjourn.Attempts(5))
	if err != nil {
		t.Fatal(err)
	}
	info := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByKey("orders", "order-17")))
	if info.ID != id || info.State != adjourn.Delayed || info.Priority != 3 || info.TTR != 30*time.Second || info.AttemptsMax != 5 {
		t.Errorf("%+v", info)
	}
	job := reserveOne(t, q, "orders")
	if early := 200*time.Millisecond - time.Since(pushed); early > 0 {
		t.Errorf("%v early", early)
	}
	var got order
	if err := job.Decode(&got); err != nil || got != (order{17, "ann"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if job.ID != id || job.Key != "order-17" || job.Attempts != 1 || job.Header("traceparent") != "00-1" || job.Header("Content-Type") != "application/json" {
		t.Errorf("%+v", job)
	}
	if left := time.Until(job.LeaseUntil()); left < 20*time.Second || left > 30*time.Second {
		t.Errorf("the lease lasts for %v", left)
	}
	if err := job.Touch(ctx, 5*time.Second); err != nil {
		t.Error(err)
	}
	if left := time.Until(job.LeaseUntil()); left > 5*time.Second {
		t.Errorf("the lease lasts for %v after a touch of 5 s", left)
	}
	if err := job.Finish(ctx); err != nil {
		t.Error(err)
	}
	if err := job.Finish(ctx); err != nil {
		t.Errorf("a repeated finish: %v", err)
	}
	if _, err := q.Get(ctx, adjourn.ByKey("orders", "order-17")); !errors.Is(err, adjourn.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestErrorsSayWhatTheyAre(t *testing.T) { onBoth(t, testErrors) }

func testErrors(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(), testContext(t)
	first := must[adjourn.JobID](t)(q.Push(ctx, "t", "a", adjourn.Key("k")))
	_, err := q.Push(ctx, "t", "b", adjourn.Key("k"))
	var refused *adjourn.Error
	if !errors.Is(err, adjourn.ErrKeyExists) || !errors.As(err, &refused) || refused.Job != first || refused.Retryable {
		t.Errorf("%v", err)
	}
	if kept := must[adjourn.JobID](t)(q.Push(ctx, "t", "b", adjourn.Key("k"), adjourn.OnExisting(adjourn.Keep))); kept != first {
		t.Errorf("%d was kept instead of %d", kept, first)
	}
	results := must[[]adjourn.PushResult](t)(q.PushBatch(ctx, "t", []adjourn.NewJob{
		{Body: "c", Key: "k", IfExists: adjourn.Replace}, {Body: "d", Key: "k"}, {Body: "e", Key: "k", IfExists: adjourn.Postpone, Delay: time.Hour},
	}))
	if results[0].Outcome != adjourn.Replaced || !errors.Is(results[1].Err, adjourn.ErrKeyExists) || results[2].Outcome != adjourn.Postponed {
		t.Errorf("%+v", results)
	}
	if _, err := q.Finish(ctx, adjourn.Lease{ID: first, Fence: 9}); err != nil {
		t.Error(err)
	}
	stale := must[[]error](t)(q.Finish(ctx, adjourn.Lease{ID: first, Fence: 9}))
	if !errors.Is(stale[0], adjourn.ErrStaleLease) {
		t.Errorf("%v", stale)
	}
	_, err = q.Reschedule(ctx, adjourn.ByID(1<<60), time.Second)
	if !errors.Is(err, adjourn.ErrNotFound) || errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	for _, body := range []any{adjourn.NewJob{Body: "x", Delay: time.Hour}, &adjourn.NewJob{}, adjourn.Delay(time.Hour)} {
		if _, err := q.Push(ctx, "t", body); !errors.Is(err, adjourn.ErrUsage) || !strings.Contains(err.Error(), "PushBatch") {
			t.Errorf("%T as a body: %v", body, err)
		}
	}
	for what, options := range map[string][]adjourn.PushOption{
		"the zero time":        {adjourn.At(time.Time{})},
		"a negative delay":     {adjourn.Delay(-1)},
		"both":                 {adjourn.Delay(1), adjourn.At(time.Now())},
		"a key with a newline": {adjourn.Key("a\nb")},
		"keep without a key":   {adjourn.OnExisting(adjourn.Keep)},
	} {
		if _, err := q.Push(ctx, "t", "", options...); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := q.Push(ctx, "t", make([]byte, 2<<20)); !errors.Is(err, adjourn.ErrUsage) {
		t.Errorf("a large body: %v", err)
	}
}

func TestWithoutASessionAClientPushesAndLooks(t *testing.T) { onBoth(t, testWithoutSession) }

func testWithoutSession(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(adjourn.WithoutSession()), testContext(t)
	results := must[[]adjourn.PushResult](t)(q.PushBatch(ctx, "t", make([]adjourn.NewJob, 3)))
	if results[0].Err != nil || results[2].ID != results[0].ID+2 {
		t.Errorf("%+v", results)
	}
	if n := must[uint64](t)(q.Count(ctx, adjourn.Filter{Topic: "t"})); n != 3 {
		t.Errorf("%d jobs", n)
	}
	if stats := must[*adjourn.Stats](t)(q.Stats(ctx)); stats.Sessions != 0 || q.Info().Session != 0 {
		t.Errorf("%d sessions, and session %d", stats.Sessions, q.Info().Session)
	}
	_, reserve := q.Reserve(ctx, adjourn.ReserveRequest{Topics: []string{"t"}})
	_, subscribe := q.Subscribe(ctx, adjourn.SubscribeRequest{Topics: []string{"t"}, CreditJobs: 1})
	_, leases := q.Leases(ctx)
	work := q.Worker("t", func(context.Context, *adjourn.Job) error { return nil }).Run(ctx)
	for _, err := range []error{reserve, subscribe, leases, work} {
		if !errors.Is(err, adjourn.ErrUsage) || !strings.Contains(err.Error(), "WithoutSession") {
			t.Errorf("%v", err)
		}
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
}

func TestEveryOperation(t *testing.T) { onBoth(t, testOperations) }

func testOperations(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(adjourn.Name("tester")), testContext(t)
	for i := 0; i < 5; i++ {
		must[adjourn.JobID](t)(q.Push(ctx, "bulk", fmt.Sprint(i), adjourn.Key(fmt.Sprintf("k%d", i)), adjourn.Delay(time.Hour)))
	}
	var keys []string
	jobs := q.List(adjourn.Filter{Topic: "bulk"}, adjourn.ListOptions{PageJobs: 2, Bodies: true, Order: adjourn.OrderKey})
	for jobs.Next(ctx) {
		keys = append(keys, jobs.Job().Key+string(jobs.Job().Body))
	}
	if jobs.Err() != nil || fmt.Sprint(keys) != "[k00 k11 k22 k33 k44]" {
		t.Errorf("%v, %v", keys, jobs.Err())
	}
	if n := must[uint64](t)(q.Count(ctx, adjourn.Filter{KeyPrefix: "k", States: []adjourn.State{adjourn.Delayed}})); n != 5 {
		t.Errorf("%d jobs", n)
	}
	if n := must[uint64](t)(q.Bulk(adjourn.MoveJobs("moved"), adjourn.Filter{Topic: "bulk", KeyPrefix: "k4"}).Run(ctx)); n != 1 {
		t.Errorf("%d moved", n)
	}
	steps := q.Bulk(adjourn.RescheduleJobs(clockOf(ctx, q).Add(time.Hour)), adjourn.Filter{Topic: "bulk"}).StepJobs(3)
	if more := steps.Next(ctx); !more || steps.Changed() > 3 {
		t.Errorf("%d jobs in a step of 3, %v", steps.Changed(), steps.Err())
	}
	if n := must[uint64](t)(steps.Run(ctx)); n != 4 {
		t.Errorf("%d rescheduled", n)
	}
	if peeked := must[*adjourn.JobInfo](t)(q.Peek(ctx, "moved")); peeked.Key != "k4" {
		t.Errorf("%+v", peeked)
	}
	ref := adjourn.ByKey("bulk", "k0")
	if c := must[adjourn.Change](t)(q.RescheduleAt(ctx, ref, clockOf(ctx, q).Add(2*time.Hour))); c.State != adjourn.Delayed || c.Due.Sub(clockOf(ctx, q)) < time.Hour {
		t.Errorf("%+v", c)
	}
	if c := must[adjourn.Change](t)(q.RunNow(ctx, ref)); c.State != adjourn.Ready {
		t.Errorf("%+v", c)
	}
	job := reserveOne(t, q, "bulk")
	held := must[[]*adjourn.Job](t)(q.Leases(ctx))
	if len(held) != 1 || held[0].Lease != job.Lease {
		t.Errorf("%+v", held)
	}
	if err := job.Bury(ctx, errors.New("no such address")); err != nil {
		t.Fatal(err)
	}
	info := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(job.ID)))
	if info.State != adjourn.Buried || info.Buried != adjourn.BuriedByWorker || info.Reason != "no such address" {
		t.Errorf("%+v", info)
	}
	if n := must[int](t)(q.KickMany(ctx, "bulk", 10)); n != 1 {
		t.Errorf("%d kicked", n)
	}
	job = reserveOne(t, q, "bulk")
	if err := job.Release(ctx, adjourn.After(time.Hour), errors.New("later")); err != nil {
		t.Fatal(err)
	}
	if err := job.Finish(ctx); !errors.Is(err, adjourn.ErrStaleLease) {
		t.Errorf("%v", err)
	}
	if !errors.Is(job.LostReason(), adjourn.ErrLeaseLost) {
		t.Errorf("%v", job.LostReason())
	}
	if c := must[adjourn.Change](t)(q.Delete(ctx, ref)); c.ID != job.ID {
		t.Errorf("%+v", c)
	}
	if err := q.Pause(ctx, "bulk"); err != nil {
		t.Error(err)
	}
	_, err := q.Reserve(ctx, adjourn.ReserveRequest{Topics: []string{"bulk"}})
	if !errors.Is(err, adjourn.ErrPaused) {
		t.Errorf("%v", err)
	}
	if err := q.Resume(ctx, "bulk"); err != nil {
		t.Error(err)
	}
	ttr, rate, dead := 7*time.Second, uint32(5), "dead"
	if err := q.SetTopic(ctx, "bulk", adjourn.Policy{TTR: &ttr, RatePerSecond: &rate, DeadLetters: &dead, Late: &adjourn.Late{After: time.Minute, Action: adjourn.LateBury}}); err != nil {
		t.Error(err)
	}
	if err := q.SetTopic(ctx, "bulk", adjourn.Policy{}, adjourn.SettingRatePerSecond); err != nil {
		t.Error(err)
	}
	topic := must[*adjourn.TopicInfo](t)(q.Topic(ctx, "bulk"))
	if p := topic.Policy; topic.Jobs != 3 || *p.TTR != ttr || p.RatePerSecond != nil || *p.DeadLetters != dead || p.Late.Action != adjourn.LateBury {
		t.Errorf("%+v", topic)
	}
	if err := q.DeleteTopic(ctx, "bulk"); !errors.Is(err, adjourn.ErrWrongState) {
		t.Errorf("%v", err)
	}
	stats := must[*adjourn.Stats](t)(q.Stats(ctx))
	if stats.Delayed != 4 || stats.Pushed != 6 || len(stats.Topics) != 2 {
		t.Errorf("%+v", stats)
	}
	topics := must[[]adjourn.TopicCounts](t)(q.Topics(ctx))
	sort.Slice(topics, func(i, j int) bool { return topics[i].Topic < topics[j].Topic })
	if topics[0].Topic != "bulk" || topics[0].Delayed != 3 {
		t.Errorf("%+v", topics)
	}
	connections := must[[]adjourn.Connection](t)(q.Connections(ctx))
	if len(connections) != 1 || connections[0].Name != "tester" {
		t.Errorf("%+v", connections)
	}
	if err := q.Disconnect(ctx, 1<<40, false); !errors.Is(err, adjourn.ErrNotFound) {
		t.Errorf("%v", err)
	}
	cluster := must[*adjourn.Cluster](t)(q.Cluster(ctx))
	if cluster.Leader == 0 || len(cluster.Members) != 1 || cluster.Members[0].Role != adjourn.Leader {
		t.Errorf("%+v", cluster)
	}
	if err := q.RemoveMember(ctx, cluster.Leader); !errors.Is(err, adjourn.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if now := must[time.Time](t)(q.Ping(ctx)); time.Since(now) > time.Minute || time.Since(now) < -time.Minute {
		t.Errorf("the server says that it is %v", now)
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	if _, err := q.Ping(ctx); !errors.Is(err, adjourn.ErrClosed) {
		t.Errorf("%v", err)
	}
	if err := q.Close(); err != nil {
		t.Errorf("a second close: %v", err)
	}
}

func TestATopicHasANameOfUpTo200Bytes(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	longest := "aZ09._:/-+;$()" + strings.Repeat("x", 186)
	must[adjourn.JobID](t)(q.Push(ctx, longest, "a"))
	if job := reserveOne(t, q, longest); job.Topic != longest {
		t.Errorf("%q", job.Topic)
	}
	for _, refused := range []string{"", "-a", "a b", "a=b", longest + "x"} {
		if _, err := q.Push(ctx, refused, "a"); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%q: %v", refused, err)
		}
	}
}

func TestAPauseEndsByItself(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	must[adjourn.JobID](t)(q.Push(ctx, "t", "a"))
	pauseLeft := func() time.Duration { return must[*adjourn.TopicInfo](t)(q.Topic(ctx, "t")).PauseLeft }
	for _, d := range []time.Duration{0, -time.Second} {
		if err := q.PauseFor(ctx, "t", d); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%v: %v", d, err)
		}
	}
	if err := q.PauseFor(ctx, "t", time.Hour); err != nil {
		t.Fatal(err)
	}
	if left := pauseLeft(); left <= time.Hour-patience || left > time.Hour {
		t.Errorf("%v of an hour are left", left)
	}
	if err := q.Pause(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if left := pauseLeft(); left != 0 {
		t.Errorf("a pause without an end ends in %v", left)
	}
	paused := time.Now()
	if err := q.PauseFor(ctx, "t", time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Reserve(ctx, adjourn.ReserveRequest{Topics: []string{"t"}}); !errors.Is(err, adjourn.ErrPaused) {
		t.Errorf("%v", err)
	}
	reserveOne(t, q, "t")
	if lasted := time.Since(paused); lasted < 900*time.Millisecond {
		t.Errorf("a pause of 1 s lasted for %v", lasted)
	}
	if topic := must[*adjourn.TopicInfo](t)(q.Topic(ctx, "t")); topic.Paused || topic.PauseLeft != 0 {
		t.Errorf("%+v", topic)
	}
}

// clockOf is the wall clock of the queue.
func clockOf(ctx context.Context, q *adjourn.Client) time.Time {
	now, _ := q.Ping(ctx)
	return now
}

func TestALongPollIsCancelledWithItsContext(t *testing.T) { onBoth(t, testCancel) }

func testCancel(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(), testContext(t)
	waiting, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := q.Reserve(waiting, adjourn.ReserveRequest{Topics: []string{"t"}, Wait: time.Hour})
		ended <- err
	}()
	eventually(t, "the poll waits", func() bool { return must[*adjourn.Stats](t)(q.Stats(ctx)).Waiting == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	eventually(t, "the server knows", func() bool { return must[*adjourn.Stats](t)(q.Stats(ctx)).Waiting == 0 })
}

func TestASubscriptionKeepsToItsCreditAndGivesBack(t *testing.T) { onBoth(t, testCredit) }

func testCredit(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(), testContext(t)
	for i := 0; i < 5; i++ {
		must[adjourn.JobID](t)(q.Push(ctx, "t", nil))
	}
	sub := must[*adjourn.Subscription](t)(q.Subscribe(ctx, adjourn.SubscribeRequest{Topics: []string{"t"}, CreditJobs: 2}))
	job := must[*adjourn.Job](t)(sub.Next(ctx))
	eventually(t, "two are reserved", func() bool { return must[*adjourn.Stats](t)(q.Stats(ctx)).Reserved == 2 })
	if err := sub.AddCredit(ctx, 1, 0); err != nil {
		t.Error(err)
	}
	eventually(t, "three are reserved", func() bool { return must[*adjourn.Stats](t)(q.Stats(ctx)).Reserved == 3 })
	if err := sub.Unsubscribe(ctx); err != nil {
		t.Error(err)
	}
	if _, err := sub.Next(ctx); !errors.Is(err, adjourn.ErrUnsubscribed) {
		t.Errorf("%v", err)
	}
	eventually(t, "what was not taken is ready", func() bool { return must[*adjourn.Stats](t)(q.Stats(ctx)).Reserved == 1 })
	if err := job.Finish(ctx); err != nil {
		t.Error(err)
	}
	for it := q.List(adjourn.Filter{Topic: "t"}, adjourn.ListOptions{}); it.Next(ctx); {
		if it.Job().Attempts != 0 {
			t.Errorf("an attempt was counted: %+v", it.Job())
		}
	}
}

// The queue's clock stands still: nothing but the client ends the lease.
func TestAJobThatNobodyTakesIsGivenBackAtHalfOfItsLease(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	const lease = 2 * time.Second
	id := must[adjourn.JobID](t)(q.Push(ctx, "t", "", adjourn.TTR(lease)))
	state := func() adjourn.State { return must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id))).State }
	begun := time.Now()
	sub := must[*adjourn.Subscription](t)(q.Subscribe(ctx, adjourn.SubscribeRequest{Topics: []string{"t"}, CreditJobs: 2}))
	eventually(t, "it waits in memory", func() bool { return state() == adjourn.Reserved })
	if err := q.Pause(ctx, "t"); err != nil { // so that it does not come back at once
		t.Fatal(err)
	}
	eventually(t, "it is given back", func() bool { return state() == adjourn.Ready })
	if waited := time.Since(begun); waited < lease/2-50*time.Millisecond || waited >= lease {
		t.Errorf("after %v", waited)
	}
	if err := q.Resume(ctx, "t"); err != nil {
		t.Fatal(err)
	}
	if job := must[*adjourn.Job](t)(sub.Next(ctx)); job.Attempts != 1 {
		t.Errorf("%d attempts", job.Attempts)
	}
}

func TestManyPushersAtOnce(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	var pushers sync.WaitGroup
	for p := 0; p < 50; p++ {
		pushers.Add(1)
		go func() {
			defer pushers.Done()
			for i := 0; i < 40; i++ {
				if _, err := q.Push(ctx, "t", []byte("x")); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	pushers.Wait()
	// Far more than one request takes, and than the window of numbers.
	jobs := make([]adjourn.NewJob, 30_000)
	results := must[[]adjourn.PushResult](t)(q.PushBatch(ctx, "t", jobs))
	seen := map[adjourn.JobID]bool{}
	for _, r := range results {
		seen[r.ID] = true
	}
	if n := must[uint64](t)(q.Count(ctx, adjourn.Filter{})); n != 32_000 || len(seen) != 30_000 {
		t.Errorf("%d jobs, %d ids", n, len(seen))
	}
}

func TestStatsShowWhereTheTimeGoes(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	must[adjourn.JobID](t)(q.Push(ctx, "t", "now"))
	reserveOne(t, q, "t")
	stages := must[*adjourn.Stats](t)(q.Stats(ctx)).Stages
	if len(stages) != 4 || stages[0].Name != "wait" || stages[2].Name != "apply" {
		t.Fatalf("%+v", stages)
	}
	commit, lateness := stages[1], stages[3]
	if commit.Name != "commit" || commit.Count < 2 || commit.P50 <= 0 || commit.P50 > commit.P99 || commit.P999 > commit.Max {
		t.Errorf("%+v", commit)
	}
	if lateness.Name != "lateness" || lateness.Count != 1 {
		t.Errorf("%+v", lateness)
	}
}
