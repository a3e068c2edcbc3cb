package adjourn

import (
	"context"
	"math"
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
	// Consumers is how many long polls and subscriptions want its jobs, on any member that the leader serves.
	Consumers uint32
	// Late is how late jobs were at their first delivery, at most, during the last one or two minutes; 0 if none was delivered.
	Late time.Duration
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
		counts = append(counts, TopicCounts{
			Topic: t.Topic, Paused: t.Marks&wire.TopicMarkPaused != 0, Consumers: t.Consumers, Late: millis(t.LateMs), Totals: totalsOf(&t.Totals),
		})
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

// Pause stops delivery of a topic's jobs until [Client.Resume].
func (q *Client) Pause(ctx context.Context, topic string) error {
	return q.done(ctx, &wire.Pause{Topic: topic})
}

// PauseFor is [Client.Pause], and the pause ends by itself after d, of which at most ten years count. Of a paused topic only the end of
// the pause changes.
func (q *Client) PauseFor(ctx context.Context, topic string, d time.Duration) error {
	if d <= 0 {
		return usage("a pause of %v: give a positive duration", d)
	}
	return q.done(ctx, &wire.Pause{Topic: topic, ForMs: durationMs(d)})
}

// Resume restarts delivery of a topic's jobs.
func (q *Client) Resume(ctx context.Context, topic string) error {
	return q.done(ctx, &wire.Resume{Topic: topic})
}

// DeleteTopic deletes a topic without jobs, with its policy.
func (q *Client) DeleteTopic(ctx context.Context, topic string) error {
	return q.done(ctx, &wire.TopicDelete{Topic: topic})
}

// Late says what happens to a job that was due longer than After ago. Value belongs to the action: for [LateRate], how many
// such jobs come due in a second; for [LateSpread], within how many milliseconds they do; else 0.
type Late struct {
	After  time.Duration
	Action LateAction
	Value  uint64
}

// SetTopic sets what is not nil in the policy and takes the settings in unset away; all others stay as they are. The
// topic is created if it is new. An empty text is [ErrUsage]: to take a setting away, name it in unset.
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
	// PauseLeft is how long the pause lasts; 0 without one, or if it does not end by itself.
	PauseLeft time.Duration
	// Policy has the server's defaults for retries where the topic does not set them.
	Policy Policy
	// AttemptsOfServer and BackoffOfServer say that AttemptsMax and Backoff are such defaults.
	AttemptsOfServer, BackoffOfServer bool
}

// Topic shows a topic. Without it the error is [ErrNotFound].
func (q *Client) Topic(ctx context.Context, topic string) (*TopicInfo, error) {
	a, err := ask[*wire.TopicSettings](ctx, q, &wire.TopicShow{Topic: topic})
	if err != nil {
		return nil, err
	}
	return &TopicInfo{
		Jobs: a.Jobs, Bytes: a.Bytes, Paused: a.Marks&wire.SettingsMarkPaused != 0, PauseLeft: millis(a.PauseLeftMs), Policy: policyOf(&a.Settings),
		AttemptsOfServer: a.Marks&wire.SettingsMarkAttemptsOfServer != 0, BackoffOfServer: a.Marks&wire.SettingsMarkBackoffOfServer != 0,
	}, nil
}

func (l *Late) toWire() (*wire.Late, error) {
	if l == nil {
		return nil, nil
	}
	if l.After < 0 {
		return nil, usage("a negative duration")
	}
	return &wire.Late{AfterMs: durationMs(l.After), Action: uint8(l.Action), Value: l.Value}, nil
}

func lateOf(w *wire.Late) *Late {
	if w == nil {
		return nil
	}
	return &Late{After: millis(w.AfterMs), Action: LateAction(w.Action), Value: w.Value}
}

// optionalText is a setting that is a text; nil if it is not set. An empty one is refused, as an empty value takes the setting
// away.
func optionalText(setting string, text *string) (*string, error) {
	if text != nil && *text == "" {
		return nil, usage("%[1]s is empty: to take the setting away, pass Setting%[1]s to SetTopic", setting)
	}
	return text, nil
}

// optionalMs64 is a setting that is a duration; nil if it is not set.
func optionalMs64(d *time.Duration) (*uint64, error) {
	if d == nil {
		return nil, nil
	}
	if *d < 0 {
		return nil, usage("a negative duration")
	}
	ms := durationMs(*d)
	return &ms, nil
}

// optionalMs32 is the same for a setting of 32 bits.
func optionalMs32(d *time.Duration) (*uint32, error) {
	if d == nil {
		return nil, nil
	}
	ms := durationMs(*d)
	if *d < 0 || ms > math.MaxUint32 {
		return nil, usage("a duration of %v", *d)
	}
	short := uint32(ms)
	return &short, nil
}

func optionalDuration[T uint32 | uint64](ms *T) *time.Duration {
	if ms == nil {
		return nil
	}
	d := millis(uint64(*ms))
	return &d
}
