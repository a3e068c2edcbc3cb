package adjourn

import (
	"context"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// JobRef names one job.
type JobRef struct{ ref wire.JobRef }

// ByID names a job by the queue's id.
func ByID(id JobID) JobRef { return JobRef{wire.JobRef{JobKind: wire.ByID, Job: uint64(id)}} }

// ByKey names a job by its topic and key.
func ByKey(topic, key string) JobRef {
	return JobRef{wire.JobRef{JobKind: wire.ByKey, Topic: topic, Key: key}}
}

func (r JobRef) check() error {
	if r.ref.JobKind == wire.ByID {
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

// State is the state of a job. A newer server may send others than these; their String is "unknown".
type State uint8

// The states.
const (
	Delayed  State = wire.StateDelayed
	Ready    State = wire.StateReady
	Reserved State = wire.StateReserved
	Buried   State = wire.StateBuried
	Finished State = wire.StateFinished
)

func (s State) String() string {
	names := [...]string{"delayed", "ready", "reserved", "buried", "finished"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// BuriedReason is why a job is buried. A newer server may send others than these; their String is "unknown".
type BuriedReason uint8

// The reasons.
const (
	NotBuried      BuriedReason = 0
	BuriedByWorker BuriedReason = 1
	AttemptsUsedUp BuriedReason = 2
	TooLate        BuriedReason = 3
)

func (r BuriedReason) String() string {
	names := [...]string{"not buried", "buried by a worker", "attempts used up", "too late"}
	if int(r) < len(names) {
		return names[r]
	}
	return "unknown"
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
	// HeldBy is the session that got the last lease.
	HeldBy uint64
	// Reason is the last one given with a release or a bury.
	Reason     string
	FinishedAt time.Time
}

func infoOf(j *wire.Job) *JobInfo {
	return &JobInfo{
		ID: JobID(j.Job), State: State(j.State), Buried: BuriedReason(j.Buried), Topic: j.Topic, Key: j.Key,
		Priority: j.Priority, Attempts: j.Attempts, Due: wallTime(j.DueMs), TTR: millis(uint64(j.TtrMs)),
		LeaseLeft: millis(uint64(j.TtrLeftMs)), Body: j.Body, BodyBytes: len(j.Body), Attributes: attributesOf(&j.Attributes),
		PushedAt: wallTime(j.PushedMs), ReservedFirstAt: wallTime(j.ReservedFirstMs), ReservedLastAt: wallTime(j.ReservedLastMs),
		HeldBy: j.HeldBy, Reason: j.Reason, FinishedAt: wallTime(j.FinishedMs),
	}
}

// Get shows one job. A finished job is shown for about a minute under its id, in the state Finished: check the state.
// Without the job the error is [ErrNotFound].
func (q *Client) Get(ctx context.Context, job JobRef) (*JobInfo, error) {
	if err := job.check(); err != nil {
		return nil, err
	}
	return q.show(ctx, &wire.Get{JobRef: job.ref})
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
	return infoOf(answer), nil
}

// Change is what became of one job.
type Change struct {
	ID  JobID
	Due time.Time
	// State is the new state; for a deleted job, the one before.
	State State
}

// Delete removes a job in any state, even from a consumer.
func (q *Client) Delete(ctx context.Context, job JobRef) (Change, error) {
	return q.change(ctx, job, &wire.Delete{JobRef: job.ref})
}

// Reschedule makes a delayed or ready job due after a delay.
func (q *Client) Reschedule(ctx context.Context, job JobRef, delay time.Duration) (Change, error) {
	kind, ms, err := dueOf(delay, time.Time{})
	if err != nil {
		return Change{}, err
	}
	return q.change(ctx, job, &wire.Reschedule{DueKind: kind, DueMs: ms, JobRef: job.ref})
}

// RescheduleAt makes a delayed or ready job due at a time.
func (q *Client) RescheduleAt(ctx context.Context, job JobRef, at time.Time) (Change, error) {
	ms, err := wallMs(at, "the due time")
	if err != nil {
		return Change{}, err
	}
	return q.change(ctx, job, &wire.Reschedule{DueKind: wire.DueAt, DueMs: ms, JobRef: job.ref})
}

// RunNow makes a delayed job ready.
func (q *Client) RunNow(ctx context.Context, job JobRef) (Change, error) {
	return q.change(ctx, job, &wire.RunNow{JobRef: job.ref})
}

// Kick makes a buried job ready; its attempts start at 0 again.
func (q *Client) Kick(ctx context.Context, job JobRef) (Change, error) {
	return q.change(ctx, job, &wire.Kick{JobRef: job.ref})
}

func (q *Client) change(ctx context.Context, job JobRef, req wire.Message) (Change, error) {
	if err := job.check(); err != nil {
		return Change{}, err
	}
	answer, err := ask[*wire.Changed](ctx, q, req)
	if err != nil {
		return Change{}, err
	}
	return Change{ID: JobID(answer.Job), Due: wallTime(answer.DueMs), State: State(answer.State)}, nil
}

// KickMany makes up to max buried jobs of a topic ready, and returns how many: fewer than max if no more are buried.
// More than 4,096 are asked for in several requests; if one fails, those before it are counted.
func (q *Client) KickMany(ctx context.Context, topic string, max int) (int, error) {
	kicked := 0
	for kicked < max {
		step := clamp(max-kicked, 1, 4096)
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
