package adjourn

import (
	"context"
	"sync"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// JobID is the queue's id of a job. It is never used again.
type JobID uint64

// Fence is new and larger for each lease. Pass it on to systems that can refuse stale work.
type Fence uint64

// Lease is the right of one session to one job until its deadline. Any session may settle it.
type Lease struct {
	ID    JobID
	Fence Fence
}

func (l Lease) toWire() wire.Lease { return wire.Lease{Job: uint64(l.ID), Fence: uint64(l.Fence)} }

// Job is a delivered job, under a lease. Settle it once: with Finish, Release or Bury.
type Job struct {
	Lease
	Topic    string
	Key      string
	Priority uint32
	// Attempts is how often it was reserved, this time included.
	Attempts uint32
	Due      time.Time
	Body     []byte
	Attributes

	s     *session
	epoch *leaseEpoch
	ttr   time.Duration // what was left of the lease when it came

	mu       sync.Mutex
	deadline time.Time
	stale    bool // the server said so
}

func (s *session) newJob(now time.Time, d *wire.Delivered) *Job {
	left := s.leases.left(now, d)
	return &Job{
		Lease: Lease{JobID(d.Job), Fence(d.Fence)}, Topic: d.Topic, Key: d.Key, Priority: d.Priority,
		Attempts: d.Attempts, Due: wallTime(d.DueMs), Body: d.Body, Attributes: attributesOf(&d.Attributes),
		s: s, epoch: s.leases.epoch, ttr: left, deadline: now.Add(left),
	}
}

// LeaseUntil is when the lease ends for this client, unless it is touched before.
func (j *Job) LeaseUntil() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.deadline
}

// LostReason is why the lease is no longer this client's ([ErrLeaseLost], [ErrLeaseExpired] or
// [ErrLeasePresumedLost]), or nil while it is. Ask before whatever must not be done twice.
func (j *Job) LostReason() error {
	j.s.locked(func(time.Time) {}) // looks at the clocks: the process may have stood still
	if why := j.epoch.reason(); why != nil {
		return why
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.stale {
		return ErrLeaseLost
	}
	if !time.Now().Before(j.deadline) {
		return ErrLeaseExpired
	}
	return nil
}

// Decode decodes the body as its content-type header says, into a pointer. *[]byte and *string take it as it is.
func (j *Job) Decode(into any) error {
	return decodeBody(j.s.cfg.codec, j.Header(contentType), j.Body, into)
}

// Finish says that the work is done: the job is removed.
func (j *Job) Finish(ctx context.Context) error {
	return j.settle(ctx, &wire.Finish{Leases: j.leases()})
}

// Release gives the job back, to be attempted again. An error is a text for the job's history; nil is none.
func (j *Job) Release(ctx context.Context, how ReleaseHow, reason error) error {
	req, err := releaseOf(how, textOf(reason), j.leases())
	if err != nil {
		return err
	}
	return j.settle(ctx, req)
}

// Bury sets the job aside until somebody kicks or deletes it.
func (j *Job) Bury(ctx context.Context, reason error) error {
	return j.settle(ctx, &wire.Bury{Leases: j.leases(), Reason: textOf(reason)})
}

// Touch restarts the lease: it runs for ttr from now, or for the job's own if ttr is 0.
func (j *Job) Touch(ctx context.Context, ttr time.Duration) error {
	ms, err := ttrMs(ttr)
	if err != nil {
		return err
	}
	if why := j.LostReason(); why != nil {
		return why
	}
	touched := time.Now()
	if err := j.settle(ctx, &wire.Touch{TtrMs: ms, Leases: j.leases()}); err != nil {
		return err
	}
	if ttr == 0 {
		ttr = j.ttr
	}
	j.prolong(touched.Add(surely(ttr)))
	return nil
}

func (j *Job) prolong(until time.Time) {
	j.mu.Lock()
	j.deadline = until
	j.mu.Unlock()
}

func (j *Job) leases() []wire.Lease { return []wire.Lease{j.Lease.toWire()} }

// settle sends nothing with the result of a lost lease.
func (j *Job) settle(ctx context.Context, req wire.Message) error {
	if why := j.LostReason(); why != nil {
		return why
	}
	answer, err := j.s.do(ctx, req)
	if err != nil {
		return err
	}
	settled, is := answer.(*wire.Settled)
	if !is {
		return ErrClosed
	}
	code := settled.Results[0].Code
	if code == 0 {
		return nil
	}
	if Code(code) == ErrStaleLease {
		j.mu.Lock()
		j.stale = true
		j.mu.Unlock()
	}
	return itemRefusal(code, 0)
}
