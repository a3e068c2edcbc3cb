package adjourntest_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

func pushed(t *testing.T, q *adjourn.Client, topic string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if _, err := q.Push(testContext(t), topic, body); err != nil {
			t.Fatal(err)
		}
	}
}

func setTopic(t *testing.T, q *adjourn.Client, topic string, policy adjourn.Policy) {
	t.Helper()
	if err := q.SetTopic(testContext(t), topic, policy); err != nil {
		t.Fatal(err)
	}
}

func pointer[T any](v T) *T { return &v }

// reserved are the bodies of the jobs that one reserve gets.
func reserved(t *testing.T, q *adjourn.Client, r adjourn.ReserveRequest) string {
	t.Helper()
	jobs, err := q.Reserve(testContext(t), r)
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for _, job := range jobs {
		bodies = append(bodies, string(job.Body))
	}
	return strings.Join(bodies, " ")
}

func TestTopicsTakeTurnsByTheirWeights(t *testing.T) {
	q := adjourntest.Start(t).Dial()
	for _, topic := range []string{"a", "b", "c"} {
		pushed(t, q, topic, topic, topic, topic, topic, topic)
	}
	request := adjourn.ReserveRequest{Topics: []string{"a", "b", "c"}, Weights: []uint16{5, 1, 1}, Max: 4}
	if first, second := reserved(t, q, request), reserved(t, q, request); first != "a a b a" || second != "c a a b" {
		t.Errorf("%s, then %s", first, second)
	}
}

// On the wire, a setting without a value is taken away.
func TestAnEmptyTextIsNoSetting(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	setTopic(t, q, "t", adjourn.Policy{CallBackBody: pointer("{}"), DeadLetters: pointer("dead")})
	err := q.SetTopic(ctx, "t", adjourn.Policy{CallBackBody: pointer("")})
	if !errors.Is(err, adjourn.ErrUsage) || !strings.Contains(err.Error(), "SettingCallBackBody") {
		t.Errorf("%v", err)
	}
	if err := q.SetTopic(ctx, "t", adjourn.Policy{DeadLetters: pointer("")}); !errors.Is(err, adjourn.ErrUsage) {
		t.Errorf("%v", err)
	}
	info, err := q.Topic(ctx, "t")
	if err != nil || info.Policy.CallBackBody == nil || *info.Policy.CallBackBody != "{}" || info.Policy.DeadLetters == nil {
		t.Errorf("%+v, %v", info, err)
	}
	if err := q.SetTopic(ctx, "t", adjourn.Policy{}, adjourn.SettingCallBackBody); err != nil {
		t.Error(err)
	}
	if info, err := q.Topic(ctx, "t"); err != nil || info.Policy.CallBackBody != nil {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestARateLetsJobsThroughAsTimePasses(t *testing.T) {
	queue := adjourntest.Start(t)
	q := queue.Dial()
	setTopic(t, q, "t", adjourn.Policy{RatePerSecond: pointer[uint32](2)})
	pushed(t, q, "t", "1", "2", "3")
	all := adjourn.ReserveRequest{Topics: []string{"t"}, Max: 10}
	if bodies := reserved(t, q, all); bodies != "1" {
		t.Errorf("%q at once", bodies)
	}
	queue.Advance(499 * time.Millisecond)
	if bodies := reserved(t, q, all); bodies != "" {
		t.Errorf("%q before its time", bodies)
	}
	queue.Advance(time.Millisecond)
	if bodies := reserved(t, q, all); bodies != "2" {
		t.Errorf("%q after half a second", bodies)
	}
}

func TestLimitsOfATopic(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	setTopic(t, q, "t", adjourn.Policy{
		JobsMax: pointer[uint64](2), BytesMax: pointer[uint64](4), BodyBytesMax: pointer[uint32](3), LeasesMax: pointer[uint32](1),
	})
	if _, err := q.Push(ctx, "t", "four"); !errors.Is(err, adjourn.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if _, err := q.Push(ctx, "t", "abc", adjourn.Key("k")); err != nil {
		t.Error(err)
	}
	if _, err := q.Push(ctx, "t", "de"); !errors.Is(err, adjourn.ErrQuota) {
		t.Errorf("five bytes: %v", err)
	}
	pushed(t, q, "t", "d")
	if _, err := q.Push(ctx, "t", ""); !errors.Is(err, adjourn.ErrQuota) {
		t.Errorf("three jobs: %v", err)
	}
	if _, err := q.Push(ctx, "t", "xyz", adjourn.Key("k"), adjourn.OnExisting(adjourn.Replace)); err != nil {
		t.Errorf("a replacement is no more jobs: %v", err)
	}
	if bodies := reserved(t, q, adjourn.ReserveRequest{Topics: []string{"t"}, Max: 10}); bodies != "d" {
		t.Errorf("%q under a limit of one lease", bodies)
	}
}

func TestLateJobsAndDeadLetters(t *testing.T) {
	queue := adjourntest.Start(t)
	q, ctx := queue.Dial(), testContext(t)
	setTopic(t, q, "drops", adjourn.Policy{Late: &adjourn.Late{After: time.Minute, Action: adjourn.LateDrop}})
	setTopic(t, q, "buries", adjourn.Policy{Late: &adjourn.Late{After: time.Minute, Action: adjourn.LateBury}})
	setTopic(t, q, "letters", adjourn.Policy{DeadLetters: pointer("dead")})
	pushed(t, q, "drops", "x")
	pushed(t, q, "buries", "x")
	if _, err := q.Push(ctx, "letters", "x", adjourn.Key("k"), adjourn.Attempts(1)); err != nil {
		t.Fatal(err)
	}
	queue.Advance(time.Minute + time.Millisecond)
	if bodies := reserved(t, q, adjourn.ReserveRequest{Topics: []string{"drops", "buries"}, Max: 10}); bodies != "" {
		t.Errorf("%q", bodies)
	}
	stats, err := q.Stats(ctx)
	if err != nil || stats.Expired != 1 || stats.Buried != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	if n, err := q.Count(ctx, adjourn.Filter{Buried: adjourn.TooLate}); n != 1 || err != nil {
		t.Errorf("%d too late, %v", n, err)
	}
	job := take(t, q, "letters")
	if err := job.Release(ctx, adjourn.WithBackoff(), errors.New("no")); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Get(ctx, adjourn.ByKey("dead", "k")); !errors.Is(err, adjourn.ErrNotFound) {
		t.Errorf("a dead letter is not found by its key: %v", err)
	}
	letter := take(t, q, "dead")
	if letter == nil || letter.ID != job.ID || letter.Key != "k" || letter.Attempts != 1 {
		t.Fatalf("%+v", letter)
	}
	if err := letter.Release(ctx, adjourn.NotStarted(), nil); err != nil {
		t.Fatal(err)
	}
	if n, err := q.Bulk(adjourn.MoveJobs("letters"), adjourn.Filter{Topic: "dead"}).Run(ctx); n != 1 || err != nil {
		t.Errorf("%d moved, %v", n, err)
	}
	if _, err := q.Get(ctx, adjourn.ByKey("letters", "k")); err != nil {
		t.Errorf("moved back, it has its key again: %v", err)
	}
}
