package adjourntest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

type email struct {
	To    string `json:"to"`
	Order int    `json:"order"`
}

func push(t *testing.T, q *adjourn.Client, topic string, body any, options ...adjourn.PushOption) adjourn.JobID {
	t.Helper()
	id, err := q.Push(testContext(t), topic, body, options...)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// fails is a test that is to fail: it keeps why.
type fails struct {
	testing.TB
	said string
}

func (f *fails) Helper()           {}
func (f *fails) Fatal(args ...any) { f.Fatalf("%s", fmt.Sprint(args...)) }
func (f *fails) Fatalf(format string, args ...any) {
	f.said = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// watched is a queue, and why an assertion on it fails its test: empty if it does not.
func watched(t *testing.T) (queue *adjourntest.Queue, why func(assert func()) string) {
	t.Helper()
	test := &fails{TB: t}
	return adjourntest.Start(test), func(assert func()) string {
		test.said = ""
		ended := make(chan struct{})
		go func() { // Fatal ends its goroutine
			defer close(ended)
			assert()
		}()
		<-ended
		return test.said
	}
}

func expect(t *testing.T, got string, parts ...string) {
	t.Helper()
	if len(parts) == 0 && got != "" {
		t.Errorf("it fails: %s", got)
	}
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("it fails with %q, not with %q", got, part)
		}
	}
}

func TestWhatWasPushedIsFound(t *testing.T) {
	queue, why := watched(t)
	q := queue.Dial()
	id := push(t, q, "emails", email{"ann", 17}, adjourn.Key("order-17"), adjourn.Delay(time.Hour))
	push(t, q, "emails", "plain", adjourn.Delay(time.Minute))
	push(t, q, "others", "a bit later", adjourn.Delay(time.Microsecond))
	push(t, q, "emails", []byte{0, 255})
	queue.Advance(30 * time.Second) // the delay of a job is the one that it was pushed with
	expect(t, why(func() {
		job := queue.AssertPushed("emails", adjourntest.Key("order-17"), adjourntest.Body(email{"ann", 17}), adjourntest.Delay(time.Hour))
		if job.ID != id || job.Due.Sub(queue.Now()) != time.Hour-30*time.Second {
			t.Errorf("%+v", job)
		}
		queue.AssertPushed("emails", adjourntest.Body(map[string]any{"order": 17, "to": "ann"}))
		queue.AssertPushed("emails", adjourntest.Body("plain"), adjourntest.Delay(time.Minute))
		queue.AssertPushed("emails", adjourntest.Body([]byte{0, 255}), adjourntest.Delay(0))
		queue.AssertPushed("emails", adjourntest.Where(func(job *adjourn.JobInfo) bool { return job.Priority == 1024 }))
		queue.AssertNotPushed("emails", adjourntest.Key("order-18"))
		queue.AssertNotPushed("emails", adjourntest.Key("order-17"), adjourntest.Delay(time.Minute))
		queue.AssertPushed("others", adjourntest.Delay(time.Microsecond)) // rounded up, as by the push
		queue.AssertNotPushed("none")
	}))
	expect(t, why(func() { queue.AssertPushed("emails", adjourntest.Key("order-18"), adjourntest.Delay(time.Hour)) }),
		`no job was pushed to "emails" with key "order-18", delay 1h0m0s`, `key "order-17", due in 59m30s, body "{\"to\":\"ann\"`, "3 jobs")
	expect(t, why(func() { queue.AssertPushed("none") }), `no job was pushed to "none"`, "0 jobs")
	expect(t, why(func() { queue.AssertNotPushed("emails", adjourntest.Body("plain")) }), `a job was pushed to "emails" with body plain`, "1 jobs")
	expect(t, why(func() { queue.AssertNotPushed("emails") }), `a job was pushed to "emails"`, "3 jobs")
}

func TestJobsThatAreGoneAreNotTakenForNone(t *testing.T) {
	queue, why := watched(t)
	q, ctx := queue.Dial(), testContext(t)
	push(t, q, "t", "forgotten", adjourn.Key("a"))
	push(t, q, "u", "remembered", adjourn.Key("b"), adjourn.Remember(time.Hour))
	for _, topic := range []string{"t", "u"} {
		if err := take(t, q, topic).Finish(ctx); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, why(func() {
		queue.AssertEmpty()
		if job := queue.AssertPushed("u", adjourntest.Body("remembered")); job.State != adjourn.Finished {
			t.Errorf("%+v", job)
		}
		queue.AssertNotPushed("u", adjourntest.Key("c"))
	}))
	expect(t, why(func() { queue.AssertPushed("t") }), "0 jobs, and 1 that are finished, deleted or expired")
	expect(t, why(func() { queue.AssertNotPushed("t") }), `1 jobs were pushed to "t", and are gone by now`)
	expect(t, why(func() { queue.AssertNotPushed("t", adjourntest.Key("x")) }), "may have been pushed", "1 of the topic are gone")
	queue.Advance(11 * time.Minute)
	push(t, q, "v", "a change")
	expect(t, why(func() { queue.AssertNotPushed("t") })) // the queue has forgotten the topic
}

func TestPendingJobsComeInTheOrderInWhichTheyAreDue(t *testing.T) {
	queue, why := watched(t)
	q := queue.Dial()
	begin := queue.Now()
	expect(t, why(func() { queue.AdvanceToNext() }), "no job is delayed")
	push(t, q, "t", "late", adjourn.Delay(2*time.Hour))
	push(t, q, "t", "soon", adjourn.Delay(time.Hour))
	push(t, q, "t", "held")
	push(t, q, "u", "buried")
	if err := take(t, q, "u").Bury(testContext(t), nil); err != nil {
		t.Fatal(err)
	}
	take(t, q, "t")
	var all []string
	for _, job := range queue.Pending("t") {
		all = append(all, fmt.Sprint(string(job.Body), " ", job.State, " in ", job.Due.Sub(begin)))
	}
	if got := strings.Join(all, ", "); got != "held reserved in 0s, soon delayed in 1h0m0s, late delayed in 2h0m0s" {
		t.Error(got)
	}
	if pending := queue.Pending("u"); len(pending) != 0 {
		t.Errorf("%+v", pending)
	}
	expect(t, why(queue.AssertEmpty), "the queue is not empty", `in "u": buried`, "4 jobs")
	if now := queue.AdvanceToNext(); !now.Equal(begin.Add(time.Hour)) {
		t.Errorf("the clock shows %v after the start", now.Sub(begin))
	}
	expect(t, why(func() { queue.Advance(-time.Second) }), "cannot advance")
}

func TestEachTestHasAQueueOfItsOwn(t *testing.T) {
	one, other := adjourntest.Start(t), adjourntest.Start(t)
	push(t, one.Dial(), "t", "x")
	other.AssertEmpty()
	other.AssertNotPushed("t")
	one.Advance(time.Hour)
	if ahead := one.Now().Sub(other.Now()); ahead < 50*time.Minute {
		t.Errorf("their clocks differ by %v", ahead)
	}
}
