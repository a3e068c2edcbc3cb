package adjourn

import (
	"context"
	"errors"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// ErrUnsubscribed is returned by Next of a subscription that was ended.
var ErrUnsubscribed = errors.New("adjourn: the subscription has ended")

const creditBytesDefault = 64 << 20

// SubscribeRequest says which jobs to receive.
type SubscribeRequest struct {
	// Topics and Weights are as in [ReserveRequest].
	Topics  []string
	Weights []uint16
	// CreditJobs is how many jobs to hold at once at most, CreditBytes how many bytes of bodies; 0 takes 64 MiB.
	// Settling a job returns its credit.
	CreditJobs  int
	CreditBytes int64
}

// Subscription receives jobs as they become ready. It outlives connections: after a reconnect it starts anew by
// itself.
type Subscription struct {
	s      *session
	call   *call
	max    int
	news   chan struct{} // there may be a job
	ready  chan struct{} // closed when the server has confirmed it for the first time
	closed chan struct{} // closed when no more jobs come

	// Guarded by the session's lock.
	jobs      []*Job
	untaken   *time.Timer // for the job that has to be given back first, at
	untakenAt time.Time
	active    bool // confirmed on the present connection
	confirmed bool
	left      bool // the subscriber wants no more
	ended     bool
	err       error
}

// Subscribe asks for jobs as they become ready. Take them with [Subscription.Next] and settle them.
func (q *Client) Subscribe(ctx context.Context, r SubscribeRequest) (*Subscription, error) {
	if err := checkTopics(r.Topics, r.Weights); err != nil {
		return nil, err
	}
	if r.CreditBytes == 0 {
		r.CreditBytes = creditBytesDefault
	}
	if r.CreditJobs < 1 || r.CreditJobs > limits.CreditJobsMax || r.CreditBytes < 1 || r.CreditBytes > limits.CreditBytesMax {
		return nil, usage("credit for %d jobs and %d bytes: give 1 to %d, and up to %d", r.CreditJobs, r.CreditBytes, limits.CreditJobsMax, limits.CreditBytesMax)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	sub := &Subscription{
		s: q.s, max: 2 * r.CreditJobs,
		news: make(chan struct{}, 1), ready: make(chan struct{}), closed: make(chan struct{}),
	}
	req := &wire.Subscribe{
		CreditJobs: uint32(r.CreditJobs), CreditBytes: uint64(r.CreditBytes), Topics: r.Topics, Weights: r.Weights,
	}
	c, err := q.s.start(req, sub)
	if err != nil {
		return nil, err
	}
	sub.call = c
	late := time.NewTimer(requestTime(q.s.cfg.requestTimeout))
	defer late.Stop()
	select {
	case <-sub.ready:
		return sub, nil
	case <-sub.closed:
		return nil, c.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		err = &TimeoutError{After: q.s.cfg.requestTimeout}
	}
	sub.leave()
	return nil, err
}

func requestTime(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return 365 * 24 * time.Hour
	}
	return timeout
}

// Next waits for the next job. It returns [ErrUnsubscribed] or why the subscription has ended when no more come. Many
// goroutines may call it.
func (sub *Subscription) Next(ctx context.Context) (*Job, error) {
	for {
		job, ended, err := sub.take()
		switch {
		case job != nil:
			return job, nil
		case ended && err != nil:
			return nil, err
		case ended:
			return nil, ErrUnsubscribed
		}
		select {
		case <-sub.news:
		case <-sub.closed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take returns the next job whose lease still runs.
func (sub *Subscription) take() (job *Job, ended bool, err error) {
	sub.s.locked(func(now time.Time) {
		for job == nil && len(sub.jobs) > 0 {
			first := sub.jobs[0]
			sub.jobs[0] = nil
			sub.jobs = sub.jobs[1:]
			if first.isHeld(now) {
				job = first
			}
		}
		if len(sub.jobs) > 0 {
			signal(sub.news) // for the next caller
		}
		ended, err = sub.ended, sub.err
	})
	return job, ended, err
}

func (j *Job) isHeld(now time.Time) bool {
	return j.epoch.reason() == nil && now.Before(j.deadline)
}

// AddCredit adds credit, also for the time after a reconnect. It cannot be taken back.
func (sub *Subscription) AddCredit(ctx context.Context, jobs int, bytes int64) error {
	if jobs < 0 || bytes < 0 || jobs > limits.CreditJobsMax || bytes > limits.CreditBytesMax {
		return usage("more credit for %d jobs and %d bytes", jobs, bytes)
	}
	c, err := sub.s.start(&wire.Credit{Subscription: sub.call.id, CreditJobs: uint32(jobs), CreditBytes: uint64(bytes)}, nil)
	if err != nil {
		return err
	}
	sub.s.locked(func(time.Time) {
		req := sub.call.req.(*wire.Subscribe)
		more := *req
		more.CreditJobs = uint32(clamp(int(req.CreditJobs)+jobs, 0, limits.CreditJobsMax))
		more.CreditBytes = uint64(clamp(int(req.CreditBytes)+int(bytes), 0, limits.CreditBytesMax))
		sub.call.req = &more
		sub.max = 2 * int(more.CreditJobs)
	})
	_, err = sub.s.await(ctx, c)
	return err
}

// Unsubscribe ends the subscription and gives back the jobs that Next has not returned, without counting an attempt.
// It waits until the server has confirmed that no more come, or the context ends.
func (sub *Subscription) Unsubscribe(ctx context.Context) error {
	sub.leave()
	select {
	case <-sub.closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (sub *Subscription) leave() {
	sub.s.locked(func(now time.Time) {
		if sub.left || sub.ended {
			return
		}
		sub.left = true
		var held []wire.Lease
		for _, job := range sub.jobs {
			if job.isHeld(now) {
				held = append(held, job.Lease.toWire())
			}
		}
		sub.jobs = nil
		if sub.call.onWire && sub.s.state == linkUp {
			// First no more jobs, then the jobs at hand: they would come back at once.
			sub.s.accept(now, &wire.Unsubscribe{Subscription: sub.call.id}, nil)
		} else {
			sub.s.finish(sub.call, nil, nil)
		}
		sub.s.giveBack(held, wire.ReleaseNotStarted)
	})
}

// The methods below are called under the session's lock.

func (sub *Subscription) subscribed() {
	sub.active = true
	if !sub.confirmed {
		sub.confirmed = true
		close(sub.ready)
	}
}

// feed takes jobs in. What is beyond twice the credit, after reconnects, is given back.
func (s *session) feed(now time.Time, sub *Subscription, delivered []wire.Delivered) {
	var excess []wire.Lease
	for i := range delivered {
		if len(sub.jobs) >= sub.max {
			sub.forgetOver(now)
		}
		if len(sub.jobs) >= sub.max {
			excess = append(excess, delivered[i].Lease())
		} else if job := s.newJob(now, &delivered[i]); job.ttr > 0 {
			sub.jobs = append(sub.jobs, job)
			sub.watch(now, job.waitUntil())
		}
	}
	s.giveBack(excess, wire.ReleaseNotStarted)
	signal(sub.news)
}

// watch makes sure that a job which has to be given back at until is not forgotten.
func (sub *Subscription) watch(now, until time.Time) {
	if !sub.untakenAt.IsZero() && !until.Before(sub.untakenAt) {
		return
	}
	if sub.untaken != nil {
		sub.untaken.Stop()
	}
	sub.untakenAt = until
	sub.untaken = time.AfterFunc(until.Sub(now), func() { sub.s.locked(sub.giveUp) })
}

// giveUp gives back the jobs that have waited in memory for half of their leases, while it is certain that the leases
// run: so none loses an attempt here.
func (sub *Subscription) giveUp(now time.Time) {
	sub.untakenAt = time.Time{}
	var late []wire.Lease
	var kept []*Job
	for _, job := range sub.jobs {
		if until := job.waitUntil(); now.Before(until) {
			kept = append(kept, job)
			sub.watch(now, until)
		} else {
			late = append(late, job.Lease.toWire())
		}
	}
	sub.jobs = kept
	sub.s.giveBack(late, wire.ReleaseNotStarted)
}

// waitUntil is how long the job waits in memory at most.
func (j *Job) waitUntil() time.Time { return j.deadline.Add(-j.ttr / 2) }

func (sub *Subscription) forgetOver(now time.Time) {
	var held []*Job
	for _, job := range sub.jobs {
		if job.isHeld(now) {
			held = append(held, job)
		}
	}
	sub.jobs = held
}

// forgetFeeds takes all jobs out that nobody has taken yet, and returns their leases.
func (s *session) forgetFeeds() []wire.Lease {
	var leases []wire.Lease
	for _, c := range s.open {
		if c.sub == nil {
			continue
		}
		for _, job := range c.sub.jobs {
			leases = append(leases, job.Lease.toWire())
		}
		c.sub.jobs = nil
	}
	return leases
}

func (s *session) endFeed(sub *Subscription, err error) {
	if sub.ended {
		return
	}
	sub.ended, sub.active, sub.err = true, false, err
	sub.jobs = nil
	if sub.untaken != nil {
		sub.untaken.Stop()
	}
	close(sub.closed)
}
