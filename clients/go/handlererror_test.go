package adjourn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

// addressError has a text only if it is not nil.
type addressError struct{ address string }

func (e *addressError) Error() string { return "no route to " + e.address }

// unprintable panics with itself while it is printed.
type unprintable struct{}

func (e unprintable) Error() string { panic(e) }

// handledWith pushes a job, lets a worker handle it with an error, and returns the job once it is not leased any more.
func handledWith(t *testing.T, q *adjourn.Client, result func() error) *adjourn.JobInfo {
	t.Helper()
	ctx := testContext(t)
	id := must[adjourn.JobID](t)(q.Push(ctx, "t", "", adjourn.RetryBackoff(adjourn.FixedBackoff(time.Hour))))
	stop := run(t, q.Worker("t", func(context.Context, *adjourn.Job) error { return result() }))
	defer stop()
	var info *adjourn.JobInfo
	eventually(t, "the job is settled", func() bool {
		info = must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id)))
		return info.State != adjourn.Ready && info.State != adjourn.Reserved
	})
	return info
}

func TestAnErrorWithoutATextSettlesItsJob(t *testing.T) {
	q := adjourntest.Start(t).Dial()
	var none *addressError
	for _, c := range []struct {
		name   string
		result func() error
		state  adjourn.State
		reason string
	}{
		{"a retry of nil", func() error { return adjourn.RetryAfter(time.Second, nil) }, adjourn.Delayed, "asked for a later attempt"},
		{"a burial of nil", func() error { return adjourn.BuryJob(nil) }, adjourn.Buried, "the handler buried the job"},
		{"a typed nil", func() error { return none }, adjourn.Delayed, "*adjourn_test.addressError, and its Error method panicked"},
		{"a retry of a typed nil", func() error { return adjourn.RetryAfter(time.Second, none) }, adjourn.Delayed, "panicked"},
		{"a burial of a typed nil", func() error { return adjourn.BuryJob(none) }, adjourn.Buried, "panicked"},
		{"an error that panics with itself", func() error { return unprintable{} }, adjourn.Delayed, "adjourn_test.unprintable"},
		{"a panic that cannot be printed", func() error { panic(unprintable{}) }, adjourn.Delayed, "the handler panicked: adjourn_test.unprintable"},
	} {
		info := handledWith(t, q, c.result)
		if info.State != c.state || !strings.Contains(info.Reason, c.reason) {
			t.Errorf("%s: %v, %q", c.name, info.State, info.Reason)
		}
	}
	if errors.Unwrap(adjourn.RetryAfter(0, nil)) != nil || adjourn.BuryJob(errors.New("hopeless")).Error() != "hopeless" {
		t.Error("a wrapper has the cause and the text that it was given")
	}
}

func TestARetryWithAnImpossibleDelayWaitsForTheBackoff(t *testing.T) {
	warnings := make(chan string, 99)
	q := adjourntest.Start(t).Dial(adjourn.Logf(func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); strings.Contains(line, "warning") {
			warnings <- line
		}
	}))
	for _, delay := range []time.Duration{-time.Second, 11 * 365 * 24 * time.Hour} {
		info := handledWith(t, q, func() error { return adjourn.RetryAfter(delay, errors.New("try later")) })
		if info.State != adjourn.Delayed || info.Reason != "try later" || info.Attempts != 1 {
			t.Errorf("after %v: %+v", delay, info)
		}
		if left := info.Due.Sub(clockOf(testContext(t), q)); left < 59*time.Minute || left > time.Hour {
			t.Errorf("after %v: the next attempt is in %v, not after the backoff", delay, left)
		}
		said := ""
		for len(warnings) > 0 {
			said += <-warnings + "\n"
		}
		if !strings.Contains(said, fmt.Sprintf("a release after %v", delay)) {
			t.Errorf("the warnings are %q", said)
		}
	}
}
