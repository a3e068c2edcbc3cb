package adjourn

import (
	"context"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// JobRef names one job.
type JobRef struct{ ref wire.JobRef }

// ByID names a job by the queue's id.
func ByID(id JobID) JobRef { return JobRef{wire.JobRef{JobKind: wire.JobKindID, Job: uint64(id)}} }

// ByKey names a job by its topic and key.
func ByKey(topic, key string) JobRef {
	return JobRef{wire.JobRef{JobKind: wire.JobKindKey, Topic: topic, Key: key}}
}

func (r JobRef) check() error {
	if r.ref.JobKind == wire.JobKindID {
		if r.ref.Job == 0 {
			return usage("0 is no job")
		}
		return nil
	}
	if err := wire.CheckTopic(r.ref.Topic); err != nil {
		return usage("%v", err)
	}
	if err := wire.CheckKey(r.ref.Key); err != nil {
		return usage("%v", err)
	}
	return nil
}

// JobInfo shows a job. Times that did not happen or are not known are zero.
type JobInfo struct {
	ID       JobID
	State    State
	Buried   BuriedReason
	Topic    string
	Key      string
	Priority uint32
	Attempts uint32
	Due      time.Time
	TTR      time.Duration
	// LeaseLeft is what is left of its lease.
	LeaseLeft time.Duration
	Body      []byte
	// BodyBytes is the length of the body, also if a list does not show it.
	BodyBytes int
	Attributes
	PushedAt        time.Time
	ReservedFirstAt time.Time
	ReservedLastAt  time.Time
	EditedAt        time.Time
	// HeldBy says who got the last lease: the client's address, its token and its name. Only a token with the right admin for
	// all topics sees it.
	HeldBy string
	// Reason is the last one given with a release or a bury.
	Reason     string
	FinishedAt time.Time
	// Version is new after each change of the job; 0 if it is not known. Lists do not show it.
	Version uint64
}

func infoOf(j *wire.Shown, past *wire.Past) *JobInfo {
	return &JobInfo{
		ID: JobID(j.Job), State: State(j.State), Buried: BuriedReason(j.Buried), Topic: j.Topic, Key: j.Key,
		Priority: j.Priority, Attempts: j.Attempts, Due: wallTime(j.DueMs), TTR: millis(uint64(j.TtrMs)),
		LeaseLeft: millis(uint64(j.TtrLeftMs)), Body: j.Body, BodyBytes: len(j.Body), Attributes: attributesOf(&j.Attributes),
		PushedAt: wallTime(past.PushedMs), ReservedFirstAt: wallTime(past.ReservedFirstMs), ReservedLastAt: wallTime(past.ReservedLastMs),
		EditedAt: wallTime(past.EditedMs), HeldBy: past.HeldBy, Reason: past.Reason,
	}
}

// Get shows one job. A finished job is shown for about a minute under its id, in the state Finished: check the state.
// Without the job the error is [ErrNotFound].
func (q *Client) Get(ctx context.Context, job JobRef) (*JobInfo, error) {
	if err := job.check(); err != nil {
		return nil, err
	}
	return q.show(ctx, &wire.Get{Ref: job.ref})
}

// Peek shows the next job of a topic without reserving it: the first ready one, else the first delayed one. The error
// is [ErrNotFound] if there is neither.
func (q *Client) Peek(ctx context.Context, topic string) (*JobInfo, error) {
	return q.show(ctx, &wire.Peek{Topic: topic})
}

func (q *Client) show(ctx context.Context, req wire.Message) (*JobInfo, error) {
	answer, err := ask[*wire.Job](ctx, q, req)
	if err != nil {
		return nil, err
	}
	info := infoOf(&answer.Shown, &answer.Past)
	info.FinishedAt, info.Version = wallTime(answer.FinishedMs), answer.Version
	return info, nil
}

// Change is what became of one job.
type Change struct {
	ID  JobID
	Due time.Time
	// State is the new state; for a deleted job, the one before.
	State State
	// Version is that of the job after the change; of a deleted job, the one before. 0 if it is not known.
	Version uint64
}

// Delete removes a job in any state, even from a consumer.
func (q *Client) Delete(ctx context.Context, job JobRef) (Change, error) {
	return q.change(ctx, job, &wire.Delete{Ref: job.ref})
}

// RescheduleOption is an option of [Client.Reschedule], [Client.RescheduleAt] and [Client.Edit].
type RescheduleOption struct{ ifVersion uint64 }

// IfVersion changes the job only if it still has this version, which [JobInfo] and [Change] show. Otherwise the error is
// [ErrChanged].
func IfVersion(version uint64) RescheduleOption { return RescheduleOption{ifVersion: version} }

// Reschedule makes a delayed or ready job due after a delay.
func (q *Client) Reschedule(ctx context.Context, job JobRef, delay time.Duration, options ...RescheduleOption) (Change, error) {
	kind, ms, err := dueOf(delay, time.Time{})
	if err != nil {
		return Change{}, err
	}
	return q.reschedule(ctx, job, kind, ms, options)
}

// RescheduleAt makes a delayed or ready job due at a time.
func (q *Client) RescheduleAt(ctx context.Context, job JobRef, at time.Time, options ...RescheduleOption) (Change, error) {
	ms, err := wallMs(at, "the due time")
	if err != nil {
		return Change{}, err
	}
	return q.reschedule(ctx, job, wire.DueKindAt, ms, options)
}

func (q *Client) reschedule(ctx context.Context, job JobRef, kind uint8, ms uint64, options []RescheduleOption) (Change, error) {
	req := &wire.Reschedule{DueKind: kind, DueMs: ms, Ref: job.ref}
	for _, option := range options {
		req.IfVersion = option.ifVersion
	}
	return q.change(ctx, job, req)
}

// RunNow makes a delayed job ready.
func (q *Client) RunNow(ctx context.Context, job JobRef) (Change, error) {
	return q.change(ctx, job, &wire.RunNow{Ref: job.ref})
}

// Kick makes a buried job ready; its attempts start at 0 again.
func (q *Client) Kick(ctx context.Context, job JobRef) (Change, error) {
	return q.change(ctx, job, &wire.Kick{Ref: job.ref})
}

func (q *Client) change(ctx context.Context, job JobRef, req wire.Message) (Change, error) {
	if err := job.check(); err != nil {
		return Change{}, err
	}
	answer, err := ask[*wire.Changed](ctx, q, req)
	if err != nil {
		return Change{}, err
	}
	return Change{ID: JobID(answer.Job), Due: wallTime(answer.DueMs), State: State(answer.State), Version: answer.Version}, nil
}

// KickMany makes up to max buried jobs of a topic ready, and returns how many: fewer than max if no more are buried.
// More than 4,096 are asked for in several requests; if one fails, those before it are counted.
func (q *Client) KickMany(ctx context.Context, topic string, max int) (int, error) {
	kicked := 0
	for kicked < max {
		step := clamp(max-kicked, 1, limits.KickJobsMax)
		answer, err := ask[*wire.Kicked](ctx, q, &wire.KickMany{JobsMax: uint32(step), Topic: topic})
		if err != nil {
			return kicked, err
		}
		kicked += int(answer.Jobs)
		if int(answer.Jobs) < step {
			break
		}
	}
	return kicked, nil
}
