package adjourn

import (
	"context"
	"math"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// NewJob is a job to push. Only the body is needed.
type NewJob struct {
	// Body: bytes go as they are, a string as text, anything else by the client's codec.
	Body any
	// Delay or At is when the job is due. Neither: at once.
	Delay time.Duration
	At    time.Time
	// Key is the caller's own id, unique in its topic while the job lives.
	Key      string
	IfExists IfExists
	// Priority: lower numbers come first. Nil takes the topic's default, or 1,024.
	Priority *uint32
	// TTR is how long a consumer may hold the job. 0 takes the topic's default, or a minute.
	TTR time.Duration
	Attributes
	err error
	// parts are those that options have set, of the parts that [Client.Edit] can change.
	parts uint16
}

// SetHeader sets a header, in place of one with the same name.
func (j *NewJob) SetHeader(name, value string) { j.setHeader(name, value) }

// PushOption sets a field of a [NewJob].
type PushOption func(*NewJob)

// part is an option for a part of a job that [Client.Edit] can change, too.
func part(bit uint16, set func(j *NewJob)) PushOption {
	return func(j *NewJob) {
		set(j)
		j.parts |= bit
	}
}

// Delay makes the job due after d, which the queue counts in elapsed time.
func Delay(d time.Duration) PushOption {
	return part(wire.EditedDue, func(j *NewJob) { j.Delay = d })
}

// At makes the job due at t on the wall clock. The zero time is refused.
func At(t time.Time) PushOption {
	return part(wire.EditedDue, func(j *NewJob) {
		j.At = t
		if t.IsZero() {
			j.err = usage("At is the zero time")
		}
	})
}

// Key gives the job an id of the caller's own.
func Key(key string) PushOption {
	return func(j *NewJob) {
		j.Key = key
		if key == "" {
			j.err = usage("the key is empty")
		}
	}
}

// OnExisting says what to do if a job with the key exists.
func OnExisting(what IfExists) PushOption { return func(j *NewJob) { j.IfExists = what } }

// Priority: lower numbers come first.
func Priority(p uint32) PushOption {
	return part(wire.EditedPriority, func(j *NewJob) { j.Priority = &p })
}

// TTR is how long a consumer may hold the job before its lease ends.
func TTR(d time.Duration) PushOption {
	return part(wire.EditedTtr, func(j *NewJob) { j.TTR = d })
}

// Attempts buries the job after max failed ones.
func Attempts(max uint32) PushOption {
	return part(wire.EditedAttemptsMax, func(j *NewJob) { j.AttemptsMax = max })
}

// RetryBackoff is how long the job waits after a failed attempt.
func RetryBackoff(b *Backoff) PushOption {
	return part(wire.EditedBackoff, func(j *NewJob) { j.Backoff = b })
}

// ExpiresAfter drops the job after d, unless it is reserved then.
func ExpiresAfter(d time.Duration) PushOption {
	return part(wire.EditedExpires, func(j *NewJob) { j.ExpiresAfter = d })
}

// ExpiresAt drops the job at t, unless it is reserved then. The zero time is refused.
func ExpiresAt(t time.Time) PushOption {
	return part(wire.EditedExpires, func(j *NewJob) {
		j.ExpiresAt = t
		if t.IsZero() {
			j.err = usage("ExpiresAt is the zero time")
		}
	})
}

// Remember keeps the job under its key for d after it was finished, so that a repeated push finds it.
func Remember(d time.Duration) PushOption {
	return part(wire.EditedDedupeRetention, func(j *NewJob) { j.Retention = d })
}

// Group puts the job into a group of its topic, such as a tenant: 1 to [limits.GroupBytesMax] bytes of UTF-8 without control
// characters. Groups take turns if the topic's [Policy] has one of the settings for groups, such as Fair.
func Group(name string) PushOption {
	return part(wire.EditedGroup, func(j *NewJob) {
		j.Group = name
		if name == "" {
			j.err = usage("the group is empty: to take it away from a job, give Edit WithoutGroup")
		}
	})
}

// PostponeMax bounds how long pushes with [Postpone] can put the job off.
func PostponeMax(d time.Duration) PushOption { return func(j *NewJob) { j.PostponeMax = d } }

// BuriedFor buries the job at once, for this reason, which may be empty: for a job that comes from elsewhere and was set aside there.
func BuriedFor(reason string) PushOption { return func(j *NewJob) { j.Buried = &reason } }

// WithHeader adds a header.
func WithHeader(name, value string) PushOption { return func(j *NewJob) { j.SetHeader(name, value) } }

// PushResult is what became of one job of a batch.
type PushResult struct {
	Outcome PushOutcome
	// ID is the job in the queue: the new one, or for Kept and Postponed the one that exists.
	ID JobID
	// Err is why the job was refused, or what happened to its whole request.
	Err error
}

// Pusher pushes jobs to one topic and returns one result per job, as [Client.PushBatch] does.
type Pusher func(ctx context.Context, topic string, jobs []NewJob) ([]PushResult, error)

// PushMiddleware wraps the pushes of a client. It may change the jobs, which are copies, but not how many there are.
type PushMiddleware func(next Pusher) Pusher

// Push adds one job and returns its id once it is durable. The queue accepts it once, however often the connection is
// lost meanwhile. For [Keep] and [Postpone] the id may be that of the existing job.
func (q *Client) Push(ctx context.Context, topic string, body any, options ...PushOption) (JobID, error) {
	job := NewJob{Body: body}
	for _, option := range options {
		option(&job)
	}
	results, err := q.PushBatch(ctx, topic, []NewJob{job})
	if err != nil {
		return 0, err
	}
	return results[0].ID, results[0].Err
}

// PushBatch adds jobs to one topic and returns one result per job, in order. The refusal of one job is the Err of its
// result and does not affect the others. More than fits into one request is sent as several; err is the first that
// failed as a whole, and its jobs have it as their Err.
func (q *Client) PushBatch(ctx context.Context, topic string, jobs []NewJob) ([]PushResult, error) {
	return q.push(ctx, topic, jobs, q.sendNumbered)
}

// push gives copies of the jobs to the middleware of the client, and sends what it makes of them.
func (q *Client) push(ctx context.Context, topic string, jobs []NewJob,
	send func(ctx context.Context, topic string, encoded []wire.NewJob) ([]PushResult, error)) ([]PushResult, error) {
	push := Pusher(func(ctx context.Context, topic string, jobs []NewJob) ([]PushResult, error) {
		encoded, err := q.encoded(ctx, topic, jobs)
		if err != nil {
			return nil, err
		}
		return send(ctx, topic, encoded)
	})
	around := q.s.cfg.aroundPush
	for i := len(around) - 1; i >= 0; i-- {
		push = around[i](push)
	}
	jobs = append([]NewJob(nil), jobs...)
	for i := range jobs {
		jobs[i].Headers = append([]Header(nil), jobs[i].Headers...)
	}
	return push(ctx, topic, jobs)
}

func (q *Client) sendNumbered(ctx context.Context, topic string, encoded []wire.NewJob) (results []PushResult, err error) {
	ofKey := 0
	if q.s.cfg.withoutSession {
		ofKey = keyBytes
	}
	var parts []*wire.Push
	for len(encoded) > 0 {
		n := q.fitting(topic, encoded, ofKey)
		parts = append(parts, &wire.Push{Topic: topic, Jobs: encoded[:n:n]})
		encoded = encoded[n:]
	}
	calls := make([]*call, len(parts))
	failed := make([]error, len(parts))
	for i, part := range parts {
		calls[i], failed[i] = q.s.start(part, nil)
	}
	for i, part := range parts {
		var answer *wire.Pushed
		if failed[i] == nil {
			var resp wire.Message
			resp, failed[i] = q.s.await(ctx, calls[i])
			answer, _ = resp.(*wire.Pushed)
		}
		if failed[i] != nil && err == nil {
			err = failed[i]
		}
		results = append(results, pushResults(len(part.Jobs), answer, failed[i])...)
	}
	return results, err
}

// encoded are the jobs as they go on the wire.
func (q *Client) encoded(ctx context.Context, topic string, jobs []NewJob) (encoded []wire.NewJob, err error) {
	if err := wire.CheckTopic(topic); err != nil {
		return nil, usage("%v", err)
	}
	trace, _ := ctx.Value(traceKey{}).([]Header)
	encoded = make([]wire.NewJob, len(jobs))
	for i := range jobs {
		if encoded[i], err = jobs[i].toWire(q.s.cfg.codec); err != nil {
			return nil, err
		}
		addTrace(&encoded[i].Attributes, trace)
	}
	return encoded, ctx.Err()
}

func pushResults(jobs int, answer *wire.Pushed, failed error) []PushResult {
	results := make([]PushResult, jobs)
	for i := range results {
		if failed != nil || answer == nil {
			results[i] = PushResult{Outcome: Refused, Err: failed}
			continue
		}
		r := answer.Results[i]
		results[i] = PushResult{Outcome: PushOutcome(r.Outcome), ID: JobID(r.Job)}
		if r.Outcome == wire.OutcomeRefused {
			results[i] = PushResult{Outcome: Refused, Err: itemRefusal(r.Code, r.Job)}
		}
	}
	return results
}

// fitting is how many of the jobs fit into one request with so many bytes of a key, at least one.
func (q *Client) fitting(topic string, jobs []wire.NewJob, ofKey int) int {
	q.s.mu.Lock()
	jobsMax, bytesMax := q.s.pushJobsMax(), int(q.s.welcome.FrameBytesMax)
	q.s.mu.Unlock()
	bytes := wire.HeaderBytes + 8 + 1 + len(topic) + 6 + ofKey
	for n := range jobs {
		bytes += jobs[n].Size()
		if n > 0 && (n == jobsMax || bytes > bytesMax) {
			return n
		}
	}
	return len(jobs)
}

func (j *NewJob) toWire(codec Codec) (w wire.NewJob, err error) {
	if j.err != nil {
		return w, j.err
	}
	body, kind, err := encodeBody(codec, j.Body)
	if err != nil {
		return w, err
	}
	if kind != "" && j.Header(contentType) == "" {
		j.SetHeader(contentType, kind)
	}
	if w.Attributes, err = j.Attributes.toWire(); err != nil {
		return w, err
	}
	w.Body, w.Key, w.IfExists, w.Priority = body, j.Key, uint8(j.IfExists), limits.PriorityUnsaid
	if j.Priority != nil {
		w.Priority = *j.Priority
	}
	if j.Key != "" {
		if err := wire.CheckKey(j.Key); err != nil {
			return w, usage("%v", err)
		}
	} else if j.IfExists != Reject {
		return w, usage("what to do if the key exists is said, and no key")
	}
	if w.TtrMs, err = ttrMs(j.TTR); err != nil {
		return w, err
	}
	w.DueKind, w.DueMs, err = dueOf(j.Delay, j.At)
	return w, err
}

func ttrMs(ttr time.Duration) (uint32, error) {
	ms := durationMs(ttr)
	if ttr < 0 || ms > math.MaxUint32 {
		return 0, usage("a ttr of %v", ttr)
	}
	return uint32(ms), nil
}

func dueOf(delay time.Duration, at time.Time) (kind uint8, ms uint64, err error) {
	switch {
	case delay < 0:
		return 0, 0, usage("a delay of %v", delay)
	case at.IsZero():
		return wire.DueKindAfter, durationMs(delay), nil
	case delay > 0:
		return 0, 0, usage("a job is due after a delay or at a time, not both")
	}
	ms, err = wallMs(at, "At")
	return wire.DueKindAt, ms, err
}
