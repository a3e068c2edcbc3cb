package adjourn

import (
	"context"
	"math"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// ReserveRequest says which jobs to take.
type ReserveRequest struct {
	// Topics are 1 to 64. They need not exist yet.
	Topics []string
	// Weights are the shares of the topics, one each, at least 1; none for one order across all topics.
	Weights []uint16
	// Max is how many jobs to take at most; 0 takes 1.
	Max int
	// Wait is how long to wait for the first; 0 does not wait.
	Wait time.Duration
}

// Reserve waits until jobs are ready and leases them, up to Max; it returns none if the wait ended first. A wait that a
// server ends early, because it stops, goes on by itself. When the context ends, the server is told, so that no job is
// leased for nothing.
//
// The caller settles the jobs, and touches those that take long. [Client.Worker] does all that.
func (q *Client) Reserve(ctx context.Context, r ReserveRequest) ([]*Job, error) {
	if err := checkTopics(r.Topics, r.Weights); err != nil {
		return nil, err
	}
	if r.Wait < 0 || r.Max < 0 {
		return nil, usage("a negative wait or number of jobs")
	}
	q.s.mu.Lock()
	max := clamp(r.Max, 1, clamp(int(q.s.welcome.ReserveJobsMax), 1, math.MaxInt32))
	q.s.mu.Unlock()
	req := &wire.Reserve{WaitMs: durationMs(r.Wait), JobsMax: uint32(max), Topics: r.Topics, Weights: r.Weights}
	answer, err := ask[*wire.Reserved](ctx, q, req)
	if err != nil {
		return nil, err
	}
	return q.jobs(answer.Jobs), nil
}

func checkTopics(topics []string, weights []uint16) error {
	if len(topics) == 0 || len(topics) > limits.ReserveTopicsMax {
		return usage("%d topics: name 1 to %d", len(topics), limits.ReserveTopicsMax)
	}
	for _, topic := range topics {
		if err := wire.CheckTopic(topic); err != nil {
			return usage("%v", err)
		}
	}
	if len(weights) != 0 && len(weights) != len(topics) {
		return usage("%d weights for %d topics", len(weights), len(topics))
	}
	for _, weight := range weights {
		if weight == 0 {
			return usage("a weight of 0")
		}
	}
	return nil
}

// waitsOn keeps a reserve open whose answer brought no job before its wait was over, and says whether it did. A server
// ends waits early when it is about to close the connection; then the reserve goes on over the next one. If the
// connection stays, it is sent again after a pause: a server that always answers at once must not be asked all the time.
func (s *session) waitsOn(now time.Time, c *call, came []wire.Delivered) bool {
	left := c.accepted.Add(c.wait()).Sub(now)
	if !c.awaited || left < time.Millisecond {
		return false
	}
	for i := range came {
		if s.leases.left(now, &came[i]) > 0 {
			return false
		}
	}
	if s.state != linkUp || s.closing {
		s.leaveWire(c)
		return true
	}
	pause := s.nextPause(c)
	if pause > left {
		pause = left
	}
	s.sendAgain(now, c, pause)
	return true
}

// jobs makes jobs of what was delivered; those whose lease is over are left out.
func (q *Client) jobs(delivered []wire.Delivered) []*Job {
	var jobs []*Job
	q.s.locked(func(now time.Time) {
		for i := range delivered {
			if job := q.s.newJob(now, &delivered[i]); job.ttr > 0 {
				jobs = append(jobs, job)
			}
		}
	})
	return jobs
}

// Leases lists the leases that this session holds, with their jobs, by job id.
func (q *Client) Leases(ctx context.Context) ([]*Job, error) {
	var jobs []*Job
	req := wire.Leases{JobsMax: 1}
	q.s.mu.Lock()
	if max := q.s.welcome.ReserveJobsMax; max > 0 {
		req.JobsMax = max
	}
	q.s.mu.Unlock()
	for {
		page := req
		answer, err := ask[*wire.Leased](ctx, q, &page)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, q.jobs(answer.Jobs)...)
		if answer.Marks&wire.PageMarkMore == 0 {
			return jobs, nil
		}
		if n := len(answer.Jobs); n > 0 {
			req.After = answer.Jobs[n-1].Job
		}
	}
}
