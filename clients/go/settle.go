package adjourn

import (
	"context"
	"time"
	"unicode/utf8"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

const delayMax = limits.DelayMsMax * time.Millisecond

// ReleaseHow says when a released job is attempted again. The zero value follows the job's backoff.
type ReleaseHow struct {
	after      time.Duration
	isAfter    bool
	notStarted bool
	isParked   bool
}

// WithBackoff: the attempt failed, the job waits as its backoff says.
func WithBackoff() ReleaseHow { return ReleaseHow{} }

// After: the attempt failed, the next one is after d, whatever the backoff; d is 0 to ten years.
func After(d time.Duration) ReleaseHow { return ReleaseHow{after: d, isAfter: true} }

// NotStarted: no attempt is counted, and the job is ready at once.
func NotStarted() ReleaseHow { return ReleaseHow{notStarted: true} }

// Parked: the work was not started, and is not to start before d is over; no attempt is counted. d is 0 to ten years.
func Parked(d time.Duration) ReleaseHow { return ReleaseHow{after: d, isParked: true} }

func releaseOf(how ReleaseHow, reason string, leases []wire.Lease) (*wire.Release, error) {
	req := &wire.Release{DelayMs: wire.ReleaseByBackoff, Leases: leases, Reason: reason}
	switch {
	case how.notStarted:
		req.DelayMs = wire.ReleaseNotStarted
	case how.isAfter, how.isParked:
		if how.after < 0 || how.after > delayMax {
			return nil, usage("a release after %v: a delay is 0 to ten years", how.after)
		}
		req.DelayMs = durationMs(how.after)
		if how.isParked {
			req.DelayMs += wire.ReleaseParked
		}
	}
	return req, nil
}

func textOf(reason error) string {
	if reason == nil {
		return ""
	}
	return shortened(reason.Error())
}

// shortened is the start of a text that fits a reason, cut between characters.
func shortened(text string) string {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	if len(text) <= limits.ReasonBytesMax {
		return text
	}
	end := limits.ReasonBytesMax
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// Finish settles leases of any session: the work is done. One error per lease, in order, nil for done; err is about
// the request as a whole.
func (q *Client) Finish(ctx context.Context, leases ...Lease) (results []error, err error) {
	return q.settle(ctx, leases, func(l []wire.Lease) (wire.Message, error) { return &wire.Finish{Leases: l}, nil })
}

// Release gives jobs back. The results are as those of Finish.
func (q *Client) Release(ctx context.Context, how ReleaseHow, reason string, leases ...Lease) (results []error, err error) {
	return q.settle(ctx, leases, func(l []wire.Lease) (wire.Message, error) { return releaseOf(how, shortened(reason), l) })
}

// Touch restarts leases: they run for ttr from now, or for each job's own if ttr is 0. The results are as those of
// Finish. For a job at hand, [Job.Touch] also keeps its own deadline up to date.
func (q *Client) Touch(ctx context.Context, ttr time.Duration, leases ...Lease) (results []error, err error) {
	return q.settle(ctx, leases, func(l []wire.Lease) (wire.Message, error) {
		ms, err := ttrMs(ttr)
		return &wire.Touch{TtrMs: ms, Leases: l}, err
	})
}

// Bury sets jobs aside until somebody kicks or deletes them. The results are as those of Finish.
func (q *Client) Bury(ctx context.Context, reason string, leases ...Lease) (results []error, err error) {
	return q.settle(ctx, leases, func(l []wire.Lease) (wire.Message, error) {
		return &wire.Bury{Leases: l, Reason: shortened(reason)}, nil
	})
}

func (q *Client) settle(ctx context.Context, leases []Lease, request func([]wire.Lease) (wire.Message, error)) ([]error, error) {
	if len(leases) == 0 {
		return nil, nil
	}
	encoded := make([]wire.Lease, len(leases))
	for i, lease := range leases {
		encoded[i] = lease.toWire()
	}
	req, err := request(encoded)
	if err != nil {
		return nil, err
	}
	answer, err := ask[*wire.Settled](ctx, q, req)
	if err != nil {
		return nil, err
	}
	results := make([]error, len(leases))
	for i, r := range answer.Results {
		if r.Code != 0 {
			results[i] = itemRefusal(r.Code, 0)
		}
	}
	return results, nil
}
