package adjourntest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

// idleMax is how long WaitIdle waits, on the machine's clock.
const idleMax = 10 * time.Second

// Match is a condition on a job, for [Queue.AssertPushed] and [Queue.AssertNotPushed].
type Match struct {
	what string
	fits func(job *adjourn.JobInfo) bool
}

// Key matches the job with this key.
func Key(key string) Match {
	return Match{fmt.Sprintf("key %q", key), func(job *adjourn.JobInfo) bool { return job.Key == key }}
}

// Body matches jobs with this body: bytes and strings as they are, anything else as JSON of the same value.
func Body(body any) Match {
	return Match{fmt.Sprintf("body %+v", body), func(job *adjourn.JobInfo) bool { return isBody(body, job.Body) }}
}

func isBody(want any, got []byte) bool {
	switch want := want.(type) {
	case []byte:
		return bytes.Equal(want, got)
	case string:
		return want == string(got)
	}
	encoded, err := json.Marshal(want)
	if err != nil {
		return false
	}
	var left, right any
	return json.Unmarshal(encoded, &left) == nil && json.Unmarshal(got, &right) == nil && reflect.DeepEqual(left, right)
}

// Delay matches jobs that are due so long after they were pushed.
func Delay(d time.Duration) Match {
	delay := (d + time.Millisecond - 1).Truncate(time.Millisecond) // as a push rounds it
	return Match{fmt.Sprintf("delay %v", d), func(job *adjourn.JobInfo) bool { return job.Due.Sub(job.PushedAt) == delay }}
}

// Where matches jobs for which fits returns true.
func Where(fits func(job *adjourn.JobInfo) bool) Match { return Match{"what Where looks for", fits} }

// AssertPushed fails the test unless a job of the topic meets all matches, and returns the first such job, with its body. It
// looks at all jobs that the queue still has. A finished job is gone, unless it was pushed with [adjourn.Remember].
func (f *Queue) AssertPushed(topic string, matches ...Match) *adjourn.JobInfo {
	f.t.Helper()
	jobs := f.jobs(adjourn.Filter{Topic: topic, States: everyState})
	if found := matching(jobs, matches); len(found) > 0 {
		return found[0]
	}
	f.t.Fatalf("no job was pushed to %q%s\n%s", topic, with(matches), f.described(jobs, f.gone(topic, jobs)))
	return nil
}

// AssertNotPushed fails the test if a job of the topic meets all matches; without matches, if any was pushed to it, even
// one that is gone by now. With matches it fails also if jobs of the topic are gone, as it cannot look at them.
//
// The queue forgets a topic, with its counts, at its next change after the topic has been without jobs for 10 minutes of
// queue time, unless the topic has a policy or is paused. The check then no longer sees that jobs were pushed to it.
func (f *Queue) AssertNotPushed(topic string, matches ...Match) {
	f.t.Helper()
	jobs := f.jobs(adjourn.Filter{Topic: topic, States: everyState})
	gone := f.gone(topic, jobs)
	if found := matching(jobs, matches); len(found) > 0 {
		f.t.Fatalf("a job was pushed to %q%s\n%s", topic, with(matches), f.described(found, 0))
	}
	if gone > 0 && len(matches) > 0 {
		f.t.Fatalf("a job may have been pushed to %q%s: %d of the topic are gone\n%s", topic, with(matches), gone, f.described(jobs, gone))
	}
	if gone > 0 {
		f.t.Fatalf("%d jobs were pushed to %q, and are gone by now", gone, topic)
	}
}

// Pending are the jobs of a topic that are delayed, ready or reserved, with their bodies and due times, in the order in
// which they are due.
func (f *Queue) Pending(topic string) []*adjourn.JobInfo {
	f.t.Helper()
	return f.jobs(adjourn.Filter{Topic: topic, States: []adjourn.State{adjourn.Delayed, adjourn.Ready, adjourn.Reserved}})
}

// AssertEmpty fails the test if the queue has a job, in any topic and any state but Finished.
func (f *Queue) AssertEmpty() {
	f.t.Helper()
	if jobs := f.jobs(adjourn.Filter{}); len(jobs) > 0 {
		f.t.Fatalf("the queue is not empty\n%s", f.described(jobs, 0))
	}
}

// WaitIdle waits until no job is ready or reserved: the workers have settled everything that is due. The test fails if
// that takes longer than ten seconds.
func (f *Queue) WaitIdle() {
	f.t.Helper()
	due := adjourn.Filter{States: []adjourn.State{adjourn.Ready, adjourn.Reserved}}
	for deadline := time.Now().Add(idleMax); ; time.Sleep(time.Millisecond) {
		n, err := f.client().Count(context.Background(), due)
		f.check("count the jobs", err)
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("jobs are still ready or reserved after %v\n%s", idleMax, f.described(f.jobs(due), 0))
		}
	}
}

var everyState = []adjourn.State{adjourn.Delayed, adjourn.Ready, adjourn.Reserved, adjourn.Buried, adjourn.Finished}

func (f *Queue) jobs(filter adjourn.Filter) (jobs []*adjourn.JobInfo) {
	f.t.Helper()
	list := f.client().List(filter, adjourn.ListOptions{Order: adjourn.OrderDue, Bodies: true})
	for list.Next(context.Background()) {
		jobs = append(jobs, list.Job())
	}
	f.check("list the jobs", list.Err())
	return jobs
}

// gone is how many jobs were pushed to the topic and are not listed: finished, deleted or expired ones.
func (f *Queue) gone(topic string, listed []*adjourn.JobInfo) int {
	f.t.Helper()
	topics, err := f.client().Topics(context.Background())
	f.check("count the jobs", err)
	for i := range topics {
		if counts := &topics[i]; counts.Topic == topic {
			gone := int(counts.Finished + counts.Deleted + counts.Expired)
			for _, job := range listed {
				if job.State == adjourn.Finished {
					gone--
				}
			}
			return gone
		}
	}
	return 0
}

func matching(jobs []*adjourn.JobInfo, matches []Match) (found []*adjourn.JobInfo) {
next:
	for _, job := range jobs {
		for _, match := range matches {
			if !match.fits(job) {
				continue next
			}
		}
		found = append(found, job)
	}
	return found
}

func with(matches []Match) string {
	var all []string
	for _, match := range matches {
		all = append(all, match.what)
	}
	if all == nil {
		return ""
	}
	return " with " + strings.Join(all, ", ")
}

func (f *Queue) described(jobs []*adjourn.JobInfo, gone int) string {
	f.t.Helper()
	now := f.Now()
	var text strings.Builder
	for _, job := range jobs {
		fmt.Fprintf(&text, "  job %d in %q: %v", job.ID, job.Topic, job.State)
		if job.Key != "" {
			fmt.Fprintf(&text, ", key %q", job.Key)
		}
		if job.State == adjourn.Delayed {
			fmt.Fprintf(&text, ", due in %v", job.Due.Sub(now))
		}
		fmt.Fprintf(&text, ", body %q\n", job.Body)
	}
	fmt.Fprintf(&text, "  %d jobs", len(jobs))
	if gone > 0 {
		fmt.Fprintf(&text, ", and %d that are finished, deleted or expired", gone)
	}
	return text.String()
}
