package adjourn

import (
	"math"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// ScheduleRules say when a schedule fires, and what it does then. Only When is needed.
type ScheduleRules struct {
	// When is a recurrence: a cron expression, "@daily" and the like, "@every 90s", or "@at" with times.
	When string
	// Zone is the IANA name of the time zone of a cron expression; "" is UTC.
	Zone string
	// DST says what happens when the clocks of the zone are changed.
	DST DST
	// Origin is from when "@every" counts; the zero time: from when the schedule is set first, which is shown afterwards.
	Origin time.Time
	// Start and End: it does not fire before the one or after the other. The zero time is no bound.
	Start, End time.Time
	// Count: it ends when it has pushed a job at so many instants; 0: it does not.
	Count uint64
	// Jitter: a job is due up to this long after its instant. How long follows from the name and the instant.
	Jitter time.Duration
	// Missed says which of the instants that passed unnoticed are fired late; [MissedLast] if it is not set.
	Missed Missed
	// MissedWindow: only those that were missed no longer ago than this; 0 for any.
	MissedWindow time.Duration
	// MissedMax: with [MissedAll], at most so many instants, the last ones; 0 means 100.
	MissedMax uint32
	// Overlap says what it does while an earlier job of it has not ended; [OverlapSkip] if it is not set.
	Overlap Overlap
	// FailuresMax: it is paused after so many failures one after another; 0: it is not.
	FailuresMax uint32
	// Key is the key of its jobs; "" makes one of the name, "@", and the instant in milliseconds.
	Key string
	// Note is for people.
	Note string
}

// JobTemplate is what the jobs of a schedule have in common.
type JobTemplate struct {
	// Body: bytes go as they are, a string as text, anything else by the client's codec. As it is shown, it is a []byte.
	Body any
	// Priority: lower numbers come first. Nil takes the topic's default, or 1,024.
	Priority *uint32
	// TTR is how long a consumer may hold a job. 0 takes the topic's default, or a minute.
	TTR time.Duration
	// Attributes are those of each job. ExpiresAfter counts from when the job is pushed.
	Attributes
}

// Scheduled is what became of [Client.SetSchedule].
type Scheduled struct {
	// ID is the schedule's; it stays when the schedule is set again.
	ID uint64
	// Version is how often it was set.
	Version uint32
	// Next is its next instant; the zero time if there is none.
	Next time.Time
}

// ScheduleState is where a schedule stands.
type ScheduleState struct {
	ID uint64
	// Version is how often it was set.
	Version uint32
	// Next is its next instant; the zero time if there is none any more.
	Next time.Time
	// HasCome says that its next instant has come, and is about to be fired.
	HasCome bool
	// IsHeld says that its next instant has come, and waits until an earlier job has ended.
	IsHeld bool
	// Paused is why it does not fire at present.
	Paused SchedulePause
	// PauseNote is what the user who paused it noted.
	PauseNote string
	// Fired is at how many instants it pushed a job.
	Fired uint64
	// Running is how many of its jobs have not ended.
	Running uint32
	// Failures is how many jobs failed one after another until now.
	Failures uint32
}

// ScheduleInfo shows a schedule.
type ScheduleInfo struct {
	ScheduleState
	Rules    ScheduleRules
	Template JobTemplate
	// History is what it did of late, the oldest first.
	History []Firing
}

// ListedSchedule is a schedule in a list.
type ListedSchedule struct {
	Topic, Name string
	ScheduleState
	Rules ScheduleRules
}

// Firing is what a schedule did at an instant, or at several ones that it skipped together.
type Firing struct {
	// Instant is the first of them, Last the last one, and Instants how many they are; 10,000 means that or more.
	Instant, Last time.Time
	Instants      uint64
	// At is when the schedule fired or skipped them.
	At time.Time
	// Job is the one that it pushed; 0 for none.
	Job JobID
	// Outcome is what became of it.
	Outcome FiringOutcome
}

// ScheduleFilled is what became of one part of a time that [Client.FillSchedule] fills.
type ScheduleFilled struct {
	// Instants is how many the schedule has in this part.
	Instants uint32
	// Pushed is how many jobs were pushed, Kept at how many instants the topic has the job already, by its key, and Refused how many
	// jobs the topic's policy, or a limit of the queue, did not allow.
	Pushed, Kept, Refused uint32
	// Next is from when the next part goes on; the zero time if this was the last one.
	Next time.Time
}

// SchedulePreview is when a schedule would fire.
type SchedulePreview struct {
	// ZoneData is the version and the origin of the server's zone data, such as "2026f, bundled".
	ZoneData string
	// Instants are the next ones, in order: fewer than were asked for if it fires no more.
	Instants []LocalInstant
}

// LocalInstant is an instant of a schedule, and what the clocks of its zone show.
type LocalInstant struct {
	Instant time.Time
	// Local is the date, time, offset and abbreviation in the zone, such as "2027-03-28 03:00:00 +02:00 CEST".
	Local string
}

// DST says what a schedule does when the clocks of its zone are changed. A newer server may send others; their String is "unknown".
type DST uint8

// The values of DST.
const (
	// DSTVixie: as cron: a time that is skipped fires at once after the gap, a repeated one fires once.
	DSTVixie DST = wire.DstVixie
	// DSTLiteral: a time that is skipped does not fire, a repeated one fires twice.
	DSTLiteral DST = wire.DstLiteral
)

func (v DST) String() string { return nameOf(v, "vixie", "literal") }

// Missed says which of the instants that passed unnoticed are fired late. A newer server may send others; their String is "unknown".
type Missed uint8

// The values of Missed.
const (
	// MissedLast: the last one. This is the default.
	MissedLast Missed = wire.MissedLast
	// MissedNone: none of them.
	MissedNone Missed = wire.MissedNone
	// MissedAll: all of them, up to a number.
	MissedAll Missed = wire.MissedAll
)

func (v Missed) String() string { return nameOf(v, "last", "none", "all") }

// Overlap says what a schedule does at an instant while an earlier job of it has not ended. A newer server may send others; their
// String is "unknown".
type Overlap uint8

// The values of Overlap.
const (
	// OverlapSkip: it pushes no job. This is the default.
	OverlapSkip Overlap = wire.OverlapSkip
	// OverlapAllow: it pushes another job.
	OverlapAllow Overlap = wire.OverlapAllow
	// OverlapQueueOne: it pushes the job as soon as the earlier one has ended; further instants until then are skipped.
	OverlapQueueOne Overlap = wire.OverlapQueueOne
	// OverlapReplace: it deletes the earlier job, also a reserved one, and pushes another.
	OverlapReplace Overlap = wire.OverlapReplace
)

func (v Overlap) String() string { return nameOf(v, "skip", "allow", "queue one", "replace") }

// SchedulePause says why a schedule does not fire at present. A newer server may send others; their String is "unknown".
type SchedulePause uint8

// The values of SchedulePause.
const (
	// NotPaused: it fires.
	NotPaused SchedulePause = wire.PausedNotPaused
	// PausedByUser: a user paused it.
	PausedByUser SchedulePause = wire.PausedUser
	// PausedByFailures: too many of its jobs failed one after another.
	PausedByFailures SchedulePause = wire.PausedFailures
)

func (v SchedulePause) String() string { return nameOf(v, "not paused", "user", "failures") }

// FiringOutcome says what became of an instant of a schedule. A newer server may send others; their String is "unknown".
type FiringOutcome uint8

// The values of FiringOutcome.
const (
	// FiringPushed: it pushed the job, which has not ended.
	FiringPushed FiringOutcome = wire.FiredPushed
	// FiringFinished: it pushed the job, and a consumer finished that.
	FiringFinished FiringOutcome = wire.FiredFinished
	// FiringFailed: it pushed the job, and that was buried, or moved to the dead letters.
	FiringFailed FiringOutcome = wire.FiredFailed
	// FiringDeleted: it pushed the job, and that was deleted or replaced.
	FiringDeleted FiringOutcome = wire.FiredDeleted
	// FiringExpired: it pushed the job, and that expired, or was dropped because it was late.
	FiringExpired FiringOutcome = wire.FiredExpired
	// FiringMissed: it was skipped: it had passed when the schedule was looked at.
	FiringMissed FiringOutcome = wire.FiredMissed
	// FiringOverlap: it was skipped: an earlier job had not ended.
	FiringOverlap FiringOutcome = wire.FiredOverlap
	// FiringRefused: it was skipped: the topic's policy, or a limit of the queue, did not allow the job.
	FiringRefused FiringOutcome = wire.FiredRefused
	// FiringKeyTaken: it was skipped: the topic has a job with the key, which may be buried or remembered.
	FiringKeyTaken FiringOutcome = wire.FiredKeyTaken
)

func (v FiringOutcome) String() string {
	return nameOf(v, "pushed", "finished", "failed", "deleted", "expired", "missed", "overlap", "refused", "key taken")
}

func nameOf[T ~uint8](v T, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return "unknown"
}

func (r *ScheduleRules) toWire() (w wire.ScheduleRules, err error) {
	if r.When == "" {
		return w, usage("a schedule without When never fires")
	}
	w = wire.ScheduleRules{
		Count: r.Count, MissedMax: r.MissedMax, FailuresMax: r.FailuresMax, Dst: uint8(r.DST), Missed: uint8(r.Missed),
		Overlap: uint8(r.Overlap), When: r.When, Zone: r.Zone, Key: r.Key, Note: r.Note,
	}
	for _, one := range []struct {
		at   time.Time
		to   *uint64
		name string
	}{{r.Origin, &w.OriginMs, "Origin"}, {r.Start, &w.StartMs, "Start"}, {r.End, &w.EndMs, "End"}} {
		if err := scheduleTime(one.at, one.to, one.name); err != nil {
			return w, err
		}
	}
	jitter := durationMs(r.Jitter)
	if r.Jitter < 0 || jitter > math.MaxUint32 {
		return w, usage("a jitter of %v", r.Jitter)
	}
	if r.MissedWindow < 0 {
		return w, usage("a window of %v", r.MissedWindow)
	}
	w.JitterMs, w.WindowMs = uint32(jitter), durationMs(r.MissedWindow)
	return w, nil
}

// scheduleTime sets a time that need not be said; the zero time is one that is not.
func scheduleTime(at time.Time, to *uint64, name string) (err error) {
	if at.IsZero() {
		return nil
	}
	if *to, err = wallMs(at, name); err == nil && *to == 0 { // which would mean that it is not said
		err = usage("%s is not after the start of 1970", name)
	}
	return err
}

func rulesOf(w *wire.ScheduleRules) ScheduleRules {
	return ScheduleRules{
		When: w.When, Zone: w.Zone, DST: DST(w.Dst), Origin: wallTime(w.OriginMs), Start: wallTime(w.StartMs), End: wallTime(w.EndMs),
		Count: w.Count, Jitter: millis(uint64(w.JitterMs)), Missed: Missed(w.Missed), MissedWindow: millis(w.WindowMs),
		MissedMax: w.MissedMax, Overlap: Overlap(w.Overlap), FailuresMax: w.FailuresMax, Key: w.Key, Note: w.Note,
	}
}

func (t *JobTemplate) toWire(codec Codec) (w wire.JobTemplate, err error) {
	job := NewJob{Body: t.Body, Priority: t.Priority, TTR: t.TTR, Attributes: t.Attributes}
	job.Headers = append([]Header(nil), job.Headers...) // the content type is set there
	encoded, err := job.toWire(codec)
	return wire.JobTemplate{Priority: encoded.Priority, TtrMs: encoded.TtrMs, Attributes: encoded.Attributes, Body: encoded.Body}, err
}

func templateOf(w *wire.JobTemplate) JobTemplate {
	template := JobTemplate{Body: w.Body, TTR: millis(uint64(w.TtrMs)), Attributes: attributesOf(&w.Attributes)}
	if w.Priority != limits.PriorityUnsaid {
		template.Priority = &w.Priority
	}
	return template
}

func scheduleStateOf(w *wire.ScheduleState, pauseNote string) ScheduleState {
	return ScheduleState{
		ID: w.Schedule, Version: w.Version, Next: wallTime(w.NextMs), HasCome: w.Marks&wire.ScheduleMarkCome != 0,
		IsHeld: w.Marks&wire.ScheduleMarkHeld != 0, Paused: SchedulePause(w.Paused), PauseNote: pauseNote, Fired: w.Fired,
		Running: w.Running, Failures: w.Failures,
	}
}

func firingOf(w *wire.Firing) Firing {
	return Firing{
		Instant: wallTime(w.InstantMs), Last: wallTime(w.LastMs), Instants: w.Instants, At: wallTime(w.AtMs), Job: JobID(w.Job),
		Outcome: FiringOutcome(w.Fired),
	}
}
