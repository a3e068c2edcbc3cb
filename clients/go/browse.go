package adjourn

import (
	"context"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// Filter is what jobs must meet; the zero value of a field is no condition, and the zero Filter matches every job.
type Filter struct {
	Topic string
	// States: a job is in one of them. Without any, all but finished ones match.
	States []State
	// DueFrom and DueBefore bound the due time.
	DueFrom, DueBefore time.Time
	KeyPrefix          string
	// AttemptsMin and AttemptsMax bound how often it was reserved.
	AttemptsMin, AttemptsMax *uint32
	Buried                   BuriedReason
	// Reason is a part of its last reason.
	Reason string
	// Group is the one that it belongs to.
	Group string
}

func (f *Filter) toWire() (w wire.Filter, err error) {
	if f.Topic != "" {
		if err := wire.CheckTopic(f.Topic); err != nil {
			return w, usage("%v", err)
		}
		w.Topic = &f.Topic
	}
	if len(f.States) > 0 {
		var states uint8
		for _, state := range f.States {
			if state > Finished {
				return w, usage("jobs cannot be looked for by a state of a newer server: %d", state)
			}
			states |= 1 << state
		}
		w.States = &states
	}
	for _, bound := range []struct {
		at time.Time
		to **uint64
	}{{f.DueFrom, &w.DueFromMs}, {f.DueBefore, &w.DueBeforeMs}} {
		if !bound.at.IsZero() {
			ms, err := wallMs(bound.at, "a bound of the due time")
			if err != nil {
				return w, err
			}
			*bound.to = &ms
		}
	}
	if f.KeyPrefix != "" {
		w.KeyPrefix = []byte(f.KeyPrefix)
	}
	w.AttemptsMin, w.AttemptsMax = f.AttemptsMin, f.AttemptsMax
	if f.Buried != NotBuried {
		buried := uint8(f.Buried)
		w.Buried = &buried
	}
	if f.Reason != "" {
		w.Reason = &f.Reason
	}
	if f.Group != "" {
		w.Group = &f.Group
	}
	return w, nil
}

// ListOptions say how to list. The zero value is a good one.
type ListOptions struct {
	Order Order
	// Bodies shows the bodies.
	Bodies bool
	// PageJobs is how many jobs a page has at most; 0 takes 256.
	PageJobs int
}

// Jobs goes through the jobs of a list, page by page:
//
//	for it := q.List(filter, adjourn.ListOptions{}); it.Next(ctx); {
//		use(it.Job())
//	}
type Jobs struct {
	q    *Client
	req  wire.List
	page []wire.Listed
	at   int
	last bool
	err  error
}

// List lists the jobs that match. Nothing is sent before the first Next.
func (q *Client) List(filter Filter, options ListOptions) *Jobs {
	it := &Jobs{q: q}
	it.req.Filter, it.err = filter.toWire()
	it.req.Order = uint8(options.Order)
	it.req.JobsMax = uint32(clamp(options.PageJobs, 0, limits.ListJobsMax))
	if options.PageJobs == 0 {
		it.req.JobsMax = 256
	}
	if options.Bodies {
		it.req.Marks = wire.ListMarkBodies
	}
	return it
}

// Next goes to the next job. It returns false after the last one, and after an error, which Err returns.
func (it *Jobs) Next(ctx context.Context) bool {
	it.at++
	for it.err == nil && it.at >= len(it.page) {
		if it.last {
			return false
		}
		req := it.req
		answer, err := ask[*wire.Jobs](ctx, it.q, &req)
		if err != nil {
			it.err = err
			break
		}
		it.page, it.at = answer.Jobs, 0
		it.req.Cursor = answer.Cursor
		it.last = len(answer.Cursor) == 0
	}
	return it.err == nil
}

// Job is the job that Next went to.
func (it *Jobs) Job() *JobInfo {
	listed := &it.page[it.at]
	info := infoOf(&listed.Shown, &listed.Past)
	info.BodyBytes = int(listed.BodyBytes)
	return info
}

// Err is why the list ended early, or nil.
func (it *Jobs) Err() error { return it.err }

// Count counts the jobs that match.
func (q *Client) Count(ctx context.Context, filter Filter) (uint64, error) {
	w, err := filter.toWire()
	if err != nil {
		return 0, err
	}
	answer, err := ask[*wire.Counted](ctx, q, &wire.Count{Filter: w})
	if err != nil {
		return 0, err
	}
	return answer.Jobs, nil
}

// DueBar is how many jobs are due in a part of a time.
type DueBar struct {
	// Start is when it begins: it goes on to the next one, and the last one has no end. Zero for the jobs before the first bar.
	Start time.Time
	Jobs  uint64
}

// CountByDue counts the jobs that match by when they are due: before start, in each of the bars of this length from start on, and
// after them. There are 1 to limits.DueBarsMax bars.
func (q *Client) CountByDue(ctx context.Context, filter Filter, start time.Time, bar time.Duration, bars int) ([]DueBar, error) {
	w, err := filter.toWire()
	if err != nil {
		return nil, err
	}
	from, err := wallMs(start, "the start of the bars")
	if err != nil {
		return nil, err
	}
	if bars < 1 || bars > limits.DueBarsMax || bar <= 0 {
		return nil, usage("%d bars of %v: give 1 to %d bars of at least 1ms", bars, bar, limits.DueBarsMax)
	}
	// Rounded up.
	width := uint64((bar + time.Millisecond - 1) / time.Millisecond)
	req := &wire.Count{Filter: w, Bars: uint32(bars), BarsFromMs: from, BarMs: width}
	answer, err := ask[*wire.Counted](ctx, q, req)
	if err != nil {
		return nil, err
	}
	counted := make([]DueBar, len(answer.ByDue))
	for i, one := range answer.ByDue {
		counted[i] = DueBar{Start: wallTime(one.StartMs), Jobs: one.Jobs}
	}
	return counted, nil
}

// BulkChange is a change of many jobs.
type BulkChange struct {
	change uint8
	due    time.Time
	to     string
}

// DeleteJobs removes jobs, also from consumers unless the filter excludes them.
func DeleteJobs() BulkChange { return BulkChange{change: wire.ChangeDelete} }

// KickJobs makes buried jobs ready.
func KickJobs() BulkChange { return BulkChange{change: wire.ChangeKick} }

// RunJobsNow makes delayed jobs ready.
func RunJobsNow() BulkChange { return BulkChange{change: wire.ChangeRunNow} }

// RescheduleJobs makes jobs due at a time.
func RescheduleJobs(at time.Time) BulkChange {
	return BulkChange{change: wire.ChangeReschedule, due: at}
}

// MoveJobs puts jobs into another topic.
func MoveJobs(to string) BulkChange { return BulkChange{change: wire.ChangeMove, to: to} }

// BulkSteps changes jobs step by step, each step durable on its own.
type BulkSteps struct {
	q       *Client
	req     wire.Bulk
	last    bool
	err     error
	changed uint64
	skipped uint64
}

// Bulk changes all jobs that match:
//
//	steps := q.Bulk(adjourn.KickJobs(), filter)
//	for steps.Next(ctx) {
//		log.Print(steps.Changed())
//	}
//	err := steps.Err()
func (q *Client) Bulk(change BulkChange, filter Filter) *BulkSteps {
	steps := &BulkSteps{q: q}
	steps.req = wire.Bulk{JobsMax: limits.BulkJobsMax, Change: change.change, To: change.to}
	steps.req.Filter, steps.err = filter.toWire()
	if change.change == wire.ChangeReschedule && steps.err == nil {
		steps.req.DueMs, steps.err = wallMs(change.due, "the due time")
	}
	return steps
}

// ContinueAt goes on from a cursor of an earlier Bulk with the same change and filter.
func (b *BulkSteps) ContinueAt(cursor []byte) *BulkSteps {
	b.req.Cursor = cursor
	return b
}

// StepJobs bounds how many jobs one step changes; without it 1,024.
func (b *BulkSteps) StepJobs(max int) *BulkSteps {
	b.req.JobsMax = uint32(clamp(max, 1, limits.BulkJobsMax))
	return b
}

// Next carries out one step. It returns false when all are done, and after an error. After an [ErrOutcomeUnknown] the
// same step may be sent again: call ContinueAt with Cursor on a new Bulk.
func (b *BulkSteps) Next(ctx context.Context) bool {
	if b.err != nil || b.last {
		return false
	}
	req := b.req
	answer, err := ask[*wire.Bulked](ctx, b.q, &req)
	if err != nil {
		b.err = err
		return false
	}
	b.changed += uint64(answer.Jobs)
	b.skipped += uint64(answer.Skipped)
	b.req.Cursor = answer.Cursor
	b.last = len(answer.Cursor) == 0
	return true
}

// Run carries out all steps, and returns how many jobs were changed.
func (b *BulkSteps) Run(ctx context.Context) (uint64, error) {
	for b.Next(ctx) {
	}
	return b.changed, b.err
}

// Changed is how many jobs were changed so far.
func (b *BulkSteps) Changed() uint64 { return b.changed }

// Skipped is how many jobs met the conditions and were left as they are: their state does not allow the change, or the
// other topic has their key.
func (b *BulkSteps) Skipped() uint64 { return b.skipped }

// Cursor is where the next step begins.
func (b *BulkSteps) Cursor() []byte { return b.req.Cursor }

// Err is why the steps ended early, or nil.
func (b *BulkSteps) Err() error { return b.err }
