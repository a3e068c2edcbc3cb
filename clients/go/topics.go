package adjourn

import (
	"context"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// Totals are counts of jobs.
type Totals struct {
	Delayed, Ready, Reserved, Buried uint64 // now
	Pushed, Finished                 uint64 // so far
	Deleted, Expired                 uint64 // so far
	// OldestReady is how long ago the oldest ready job was due; 0 without one.
	OldestReady time.Duration
}

// TopicCounts are the counts of one topic.
type TopicCounts struct {
	Topic  string
	Paused bool
	Totals
}

// Stats are the counts of the whole queue.
type Stats struct {
	Now          time.Time
	Uptime       time.Duration
	Connections  uint32
	Sessions     uint32
	Waiting      uint32
	AppliedIndex uint64
	Term         uint64
	StateHash    [16]byte
	Totals
	Topics []TopicCounts
	// Stages say where the time of the answering node goes; none from a server that does not know them.
	Stages []Stage
}

// Stage has the durations of one stage of the work on a node: over its last one to two minutes, and at most 1 % too high.
// All are 0 if Count is.
type Stage struct {
	// Name is the stage's: wait, commit, apply, lateness. A newer server may have others.
	Name                string
	Count               uint64
	P50, P99, P999, Max time.Duration
}

func stagesOf(reports []wire.Stage) []Stage {
	stages := make([]Stage, 0, len(reports))
	for i := range reports {
		r := &reports[i]
		stages = append(stages, Stage{Name: r.Stage, Count: r.Count, P50: micros(r.P50Us), P99: micros(r.P99Us), P999: micros(r.P999Us), Max: micros(r.MaxUs)})
	}
	return stages
}

func totalsOf(t *wire.Totals) Totals {
	return Totals{
		Delayed: t.Delayed, Ready: t.Ready, Reserved: t.Reserved, Buried: t.Buried, Pushed: t.Pushed, Finished: t.Finished,
		Deleted: t.Deleted, Expired: t.Expired, OldestReady: millis(t.OldestReadyMs),
	}
}

func topicsOf(topics []wire.TopicCount) []TopicCounts {
	counts := make([]TopicCounts, 0, len(topics))
	for i := range topics {
		t := &topics[i]
		counts = append(counts, TopicCounts{Topic: t.Topic, Paused: t.Marks&wire.MarkPaused != 0, Totals: totalsOf(&t.Totals)})
	}
	return counts
}

// Topics returns the counts of all topics, by name.
func (q *Client) Topics(ctx context.Context) ([]TopicCounts, error) {
	answer, err := ask[*wire.TopicCounts](ctx, q, &wire.Topics{})
	if err != nil {
		return nil, err
	}
	return topicsOf(answer.Topics), nil
}

// Stats returns the counts of the whole queue and of its topics.
func (q *Client) Stats(ctx context.Context) (*Stats, error) {
	a, err := ask[*wire.QueueStats](ctx, q, &wire.Stats{})
	if err != nil {
		return nil, err
	}
	return &Stats{
		Now: wallTime(a.Now), Uptime: millis(a.UptimeMs), Connections: a.Connections, Sessions: a.Sessions, Waiting: a.Waiting,
		AppliedIndex: a.AppliedIndex, Term: a.Term, StateHash: a.StateHash, Totals: totalsOf(&a.Totals), Topics: topicsOf(a.Topics),
		Stages: stagesOf(a.Stages),
	}, nil
}

// Pause stops delivery of a topic's jobs.
func (q *Client) Pause(ctx context.Context, topic string) error {
	return q.done(ctx, &wire.Pause{Topic: topic})
}

// Resume restarts delivery of a topic's jobs.
func (q *Client) Resume(ctx context.Context, topic string) error {
	return q.done(ctx, &wire.Resume{Topic: topic})
}

// DeleteTopic deletes a topic without jobs, with its policy.
func (q *Client) DeleteTopic(ctx context.Context, topic string) error {
	return q.done(ctx, &wire.TopicDelete{Topic: topic})
}

// LateAction is what happens to late jobs.
type LateAction uint8

// The actions.
const (
	LateRate   LateAction = 0 // Value jobs per second come due
	LateSpread LateAction = 1 // they come due within Value milliseconds
	LateBury   LateAction = 2
	LateDrop   LateAction = 3
)

// Late says what happens to a job that was due longer than After ago.
type Late struct {
	After  time.Duration
	Action LateAction
	Value  uint64
}

// Policy is what a topic decides for its jobs. A nil field is not set.
type Policy struct {
	TTR          *time.Duration
	Priority     *uint32
	AttemptsMax  *uint32
	Backoff      *Backoff
	ExpiresAfter *time.Duration
	JobsMax      *uint64
	BytesMax     *uint64
	BodyBytesMax *uint32
	LeasesMax    *uint32
	// RatePerSecond bounds deliveries.
	RatePerSecond *uint32
	Late          *Late
	// DeadLetters is the topic that takes the jobs that would be buried.
	DeadLetters *string
	// Remember is how long finished jobs are remembered that do not say it.
	Remember *time.Duration
}

// Setting names a field of a [Policy].
type Setting uint16

// The settings.
const (
	SettingTTR           Setting = wire.SetTtr
	SettingPriority      Setting = wire.SetPriority
	SettingAttemptsMax   Setting = wire.SetAttempts
	SettingBackoff       Setting = wire.SetBackoff
	SettingExpiresAfter  Setting = wire.SetExpiresAfter
	SettingJobsMax       Setting = wire.SetJobsMax
	SettingBytesMax      Setting = wire.SetBytesMax
	SettingBodyBytesMax  Setting = wire.SetBodyMax
	SettingLeasesMax     Setting = wire.SetLeasesMax
	SettingRatePerSecond Setting = wire.SetRate
	SettingLate          Setting = wire.SetLate
	SettingDeadLetters   Setting = wire.SetDeadLetters
	SettingRemember      Setting = wire.SetRemember
)

// SetTopic sets what is not nil in the policy and takes the settings in unset away; all others stay as they are. The
// topic is created if it is new.
func (q *Client) SetTopic(ctx context.Context, topic string, set Policy, unset ...Setting) error {
	settings, err := set.toWire()
	if err != nil {
		return err
	}
	for _, one := range unset {
		settings.Unset = append(settings.Unset, uint16(one))
	}
	return q.done(ctx, &wire.TopicSet{Topic: topic, Settings: settings})
}

// TopicInfo is a topic with its policy.
type TopicInfo struct {
	Jobs   uint64
	Bytes  uint64
	Paused bool
	Policy Policy
}

// Topic shows a topic. Without it the error is [ErrNotFound].
func (q *Client) Topic(ctx context.Context, topic string) (*TopicInfo, error) {
	a, err := ask[*wire.TopicSettings](ctx, q, &wire.TopicShow{Topic: topic})
	if err != nil {
		return nil, err
	}
	return &TopicInfo{Jobs: a.Jobs, Bytes: a.Bytes, Paused: a.Marks&wire.MarkPaused != 0, Policy: policyOf(&a.Settings)}, nil
}

func (p *Policy) toWire() (w wire.Settings, err error) {
	if p.TTR != nil {
		ms, err := ttrMs(*p.TTR)
		if err != nil {
			return w, err
		}
		w.TtrMs = &ms
	}
	if w.Backoff, err = p.Backoff.toWire(); err != nil {
		return w, err
	}
	for _, d := range []struct {
		from *time.Duration
		to   **uint64
	}{{p.ExpiresAfter, &w.ExpiresAfterMs}, {p.Remember, &w.RememberMs}} {
		if d.from != nil {
			if *d.from < 0 {
				return w, usage("a negative duration")
			}
			ms := durationMs(*d.from)
			*d.to = &ms
		}
	}
	if l := p.Late; l != nil {
		if l.After < 0 {
			return w, usage("a negative duration")
		}
		w.Late = &wire.Late{AfterMs: durationMs(l.After), Action: uint8(l.Action), Value: l.Value}
	}
	w.Priority, w.AttemptsMax, w.JobsMax, w.BytesMax = p.Priority, p.AttemptsMax, p.JobsMax, p.BytesMax
	w.BodyMax, w.LeasesMax, w.Rate, w.DeadLetters = p.BodyBytesMax, p.LeasesMax, p.RatePerSecond, p.DeadLetters
	return w, nil
}

func policyOf(w *wire.Settings) Policy {
	p := Policy{
		Priority: w.Priority, AttemptsMax: w.AttemptsMax, Backoff: backoffOf(w.Backoff), JobsMax: w.JobsMax, BytesMax: w.BytesMax,
		BodyBytesMax: w.BodyMax, LeasesMax: w.LeasesMax, RatePerSecond: w.Rate, DeadLetters: w.DeadLetters,
		ExpiresAfter: optionalDuration(w.ExpiresAfterMs), Remember: optionalDuration(w.RememberMs),
	}
	if w.TtrMs != nil {
		ttr := millis(uint64(*w.TtrMs))
		p.TTR = &ttr
	}
	if w.Late != nil {
		p.Late = &Late{After: millis(w.Late.AfterMs), Action: LateAction(w.Late.Action), Value: w.Late.Value}
	}
	return p
}

func optionalDuration(ms *uint64) *time.Duration {
	if ms == nil {
		return nil
	}
	d := millis(*ms)
	return &d
}
