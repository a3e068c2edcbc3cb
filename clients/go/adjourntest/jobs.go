package adjourntest

import (
	"sort"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// Finished jobs are shown by their id for this long.
const finishedFor = time.Minute

type job struct {
	id         uint64
	topic      string
	key        string
	priority   uint32
	ttr        time.Duration
	attributes wire.Attributes
	body       []byte

	state    uint8
	buried   uint8
	due      time.Time
	order    time.Time // the due time that counts among ready jobs
	expires  time.Time
	attempts uint32
	fence    uint64
	deadline time.Time
	session  *session
	holder   *waiter
	reason   string

	pushed, reservedFirst, reservedLast, finished time.Time
	forget                                        time.Time
	keyed                                         bool // it is found by its key
}

func span(ms uint64) time.Duration { return time.Duration(ms) * time.Millisecond }

func ms(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixMilli())
}

func (f *Queue) sorted() []*job {
	jobs := make([]*job, 0, len(f.jobs))
	for _, j := range f.jobs {
		jobs = append(jobs, j)
	}
	sort.Slice(jobs, func(a, b int) bool { return jobs[a].id < jobs[b].id })
	return jobs
}

func (f *Queue) byKey(topic, key string) *job {
	for _, j := range f.jobs {
		if j.keyed && j.topic == topic && j.key == key {
			return j
		}
	}
	return nil
}

// settleClock does what the clock asks for.
func (f *Queue) settleClock() {
	for _, j := range f.sorted() {
		if j.state == wire.StateReserved && !f.now.Before(j.deadline) {
			f.attemptFailed(j, nil)
		}
		if j.state == wire.StateDelayed && !f.now.Before(j.due) {
			j.state, j.order = wire.StateReady, j.due
		}
		if j.state != wire.StateReserved && j.state != wire.StateFinished && !j.expires.IsZero() && !f.now.Before(j.expires) {
			f.topic(j.topic).totals.Expired++
			delete(f.jobs, j.id)
		}
		if j.state == wire.StateFinished && !f.now.Before(j.forget) {
			delete(f.jobs, j.id)
		}
	}
}

// attemptFailed ends a lease without FINISH. A delay takes the place of the backoff.
func (f *Queue) attemptFailed(j *job, delayMs *uint64) {
	f.leaseEnds(j)
	if most := j.attributes.AttemptsMax; most != nil && j.attempts >= *most {
		f.bury(j, uint8(adjourn.AttemptsUsedUp))
		return
	}
	wait := backoff(j.attributes.Backoff, j.attempts)
	if delayMs != nil {
		wait = span(*delayMs)
	}
	if wait == 0 {
		j.state = wire.StateReady
		return
	}
	j.state, j.due = wire.StateDelayed, f.now.Add(wait)
}

// backoff is the wait after failed attempt n, without jitter.
func backoff(b *wire.Backoff, n uint32) time.Duration {
	if b == nil || n == 0 {
		return 0
	}
	at := func(i int) time.Duration { return span(uint64(b.WaitsMs[i])) }
	wait := at(0)
	switch b.Kind {
	case 1:
		wait *= time.Duration(n)
	case 2:
		for i := uint32(1); i < n && wait < at(1); i++ {
			wait *= 2
		}
	case 3:
		i := int(n) - 1
		if i >= len(b.WaitsMs) {
			i = len(b.WaitsMs) - 1
		}
		return at(i)
	}
	if b.Kind != 0 && wait > at(1) {
		wait = at(1)
	}
	return wait
}

func (f *Queue) finish(j *job) {
	f.leaseEnds(j)
	f.topic(j.topic).totals.Finished++
	j.state, j.finished, j.forget = wire.StateFinished, f.now, f.now.Add(finishedFor)
	if r := j.attributes.DedupeRetentionMs; r != nil && *r > 0 {
		j.forget = f.now.Add(span(*r))
		return
	}
	j.keyed, j.key, j.body, j.attributes = false, "", nil, wire.Attributes{}
}

func (f *Queue) push(s *session, m *wire.Push) wire.Message {
	pushed := &wire.Pushed{}
	results, first := s.results, wire.U128{}.Plus(m.Sequence)
	if m.Sequence == 0 {
		results, first = f.keyed, m.Idempotency
	}
	for i := range m.Jobs {
		number := first.Plus(uint64(i))
		result, known := results[number]
		if !known {
			result = f.pushOne(m.Topic, &m.Jobs[i])
		}
		if m.Sequence != 0 || result.Outcome != wire.OutcomeRefused {
			results[number] = result
		}
		pushed.Results = append(pushed.Results, result)
	}
	return pushed
}

func refused(code adjourn.Code, job uint64) wire.PushResult {
	return wire.PushResult{Outcome: wire.OutcomeRefused, Code: uint16(code), Job: job}
}

func (f *Queue) pushOne(topic string, n *wire.NewJob) wire.PushResult {
	t := f.topic(topic)
	j := f.newJob(topic, t, n)
	if !j.expires.IsZero() && j.expires.Before(j.due) {
		return refused(adjourn.ErrExpiresBeforeDue, 0)
	}
	outcome := uint8(wire.OutcomePushed)
	old := f.byKey(topic, n.Key)
	if n.Key != "" && old != nil {
		switch {
		case n.IfExists == uint8(adjourn.Reject):
			return refused(adjourn.ErrKeyExists, old.id)
		case n.IfExists == uint8(adjourn.Keep):
			return wire.PushResult{Outcome: wire.OutcomeKept, Job: old.id}
		case old.state == wire.StateReserved && n.IfExists != uint8(adjourn.ReplaceAny):
			return refused(adjourn.ErrReserved, old.id)
		case n.IfExists == uint8(adjourn.Postpone) && old.state <= wire.StateReady:
			old.postpone(j)
			f.settleClock()
			return wire.PushResult{Outcome: wire.OutcomePostponed, Job: old.id}
		}
		outcome = wire.OutcomeReplaced
	} else {
		old = nil
	}
	if code := f.quota(topic, t, n.Body, old); code != 0 {
		return refused(code, 0)
	}
	if old != nil {
		f.drop(old)
	}
	f.last.job++
	j.id = f.last.job
	f.jobs[j.id] = j
	t.totals.Pushed++
	f.settleClock()
	return wire.PushResult{Outcome: outcome, Job: j.id}
}

// postpone takes what a new push says.
func (j *job) postpone(n *job) {
	j.body, j.attributes, j.priority, j.ttr, j.expires = n.body, n.attributes, n.priority, n.ttr, n.expires
	j.state, j.due = wire.StateDelayed, n.due
	if most := n.attributes.PostponeMaxMs; most != nil && *most > 0 {
		if last := j.pushed.Add(span(*most)); j.due.After(last) {
			j.due = last
		}
	}
}

func (f *Queue) newJob(topic string, t *topic, n *wire.NewJob) *job {
	j := &job{
		topic: topic, key: n.Key, keyed: n.Key != "", priority: n.Priority, ttr: span(uint64(n.TtrMs)), attributes: n.Attributes, body: n.Body,
		pushed: f.now, due: f.now.Add(span(n.DueMs)), state: wire.StateDelayed,
	}
	if n.DueKind == wire.DueAt {
		j.due = f.wall(n.DueMs)
	}
	policy := &t.settings
	if j.priority == wire.PriorityUnsaid {
		j.priority = 1024
		if policy.Priority != nil {
			j.priority = *policy.Priority
		}
	}
	if j.ttr == 0 {
		j.ttr = time.Minute
		if policy.TtrMs != nil {
			j.ttr = span(uint64(*policy.TtrMs))
		}
	}
	if j.attributes.AttemptsMax == nil {
		j.attributes.AttemptsMax = policy.AttemptsMax
	}
	if j.attributes.Backoff == nil {
		j.attributes.Backoff = policy.Backoff
	}
	if j.attributes.DedupeRetentionMs == nil {
		j.attributes.DedupeRetentionMs = policy.RememberMs
	}
	switch e := j.attributes.Expires; {
	case e != nil && e.Kind == wire.DueAfter:
		j.expires = f.now.Add(span(e.Ms))
	case e != nil:
		j.expires = f.wall(e.Ms)
	case policy.ExpiresAfterMs != nil:
		j.expires = j.due.Add(span(*policy.ExpiresAfterMs))
	}
	return j
}

// wall is a time of the wall clock; one beyond what Go can tell is far away.
func (f *Queue) wall(ms uint64) time.Time {
	if far := uint64(1) << 52; ms > far {
		ms = far
	}
	return time.UnixMilli(int64(ms))
}

// drop removes a job from the queue, and from its consumer.
func (f *Queue) drop(j *job) {
	f.leaseEnds(j)
	delete(f.jobs, j.id)
	if j.state != wire.StateFinished {
		f.topic(j.topic).totals.Deleted++
	}
}
