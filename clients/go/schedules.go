package adjourn

import (
	"context"
	"math"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// onlyNew is the version of a schedule that is only set if there is none.
const onlyNew = math.MaxUint32

// ScheduleOption is an option of [Client.SetSchedule].
type ScheduleOption func(*scheduleSet)

// scheduleSet is what the options of one call say.
type scheduleSet struct {
	ifVersion uint32
	err       error
}

// IfScheduleVersion sets the schedule only if it was set so often, which [ScheduleState] and [Scheduled] show as Version.
// Otherwise the error is [ErrChanged].
func IfScheduleVersion(version uint32) ScheduleOption {
	return func(s *scheduleSet) {
		s.ifVersion = version
		if version == 0 || version == onlyNew {
			s.err = usage("%d is no version of a schedule: to set only a new one, use IfNoSchedule", version)
		}
	}
}

// IfNoSchedule sets the schedule only if the topic has none of this name. Otherwise the error is [ErrChanged].
func IfNoSchedule() ScheduleOption { return func(s *scheduleSet) { s.ifVersion = onlyNew } }

// SetSchedule creates a schedule, or gives the one of this name another content: everything is replaced, and its history stays.
// Its name is unique in its topic, which is made if it is new. The error is [ErrInvalid] if the rules cannot be read or never
// fire. The middleware of pushes is not called.
func (q *Client) SetSchedule(ctx context.Context, topic, name string, rules ScheduleRules, template JobTemplate, options ...ScheduleOption) (Scheduled, error) {
	var set scheduleSet
	for _, option := range options {
		option(&set)
	}
	if set.err != nil {
		return Scheduled{}, set.err
	}
	if err := wire.CheckTopic(topic); err != nil {
		return Scheduled{}, usage("%v", err)
	}
	req := &wire.ScheduleSet{Topic: topic, Name: name, IfVersion: set.ifVersion}
	var err error
	if req.ScheduleRules, err = rules.toWire(); err != nil {
		return Scheduled{}, err
	}
	if req.JobTemplate, err = template.toWire(q.s.cfg.codec); err != nil {
		return Scheduled{}, err
	}
	answer, err := ask[*wire.Scheduled](ctx, q, req)
	if err != nil {
		return Scheduled{}, err
	}
	return Scheduled{ID: answer.Schedule, Version: answer.Version, Next: wallTime(answer.NextMs)}, nil
}

// Schedule shows a schedule, with what it did of late. Without it the error is [ErrNotFound].
func (q *Client) Schedule(ctx context.Context, topic, name string) (*ScheduleInfo, error) {
	a, err := ask[*wire.Schedule](ctx, q, &wire.ScheduleShow{Topic: topic, Name: name})
	if err != nil {
		return nil, err
	}
	info := &ScheduleInfo{ScheduleState: scheduleStateOf(&a.State, a.PauseNote), Rules: rulesOf(&a.ScheduleRules), Template: templateOf(&a.JobTemplate)}
	for i := range a.History {
		info.History = append(info.History, firingOf(&a.History[i]))
	}
	return info, nil
}

// ScheduleFilter is what schedules must meet; the zero value of a field is no condition, and the zero ScheduleFilter matches
// every schedule.
type ScheduleFilter struct {
	// Prefix is how its name begins.
	Prefix string
	// Paused: whether it is paused.
	Paused *bool
	// NextBefore: it has a next instant before this time.
	NextBefore time.Time
}

// Schedules lists the schedules of a topic that match, in the order in which they were made.
func (q *Client) Schedules(ctx context.Context, topic string, filter ScheduleFilter) ([]ListedSchedule, error) {
	list := wire.ScheduleList{SchedulesMax: limits.SchedulesListedMax, Topic: topic, Prefix: filter.Prefix}
	if filter.Paused != nil {
		list.Paused = wire.WhichPausedActive
		if *filter.Paused {
			list.Paused = wire.WhichPausedPaused
		}
	}
	if err := scheduleTime(filter.NextBefore, &list.NextBeforeMs, "NextBefore"); err != nil {
		return nil, err
	}
	var all []ListedSchedule
	for {
		req := list
		page, err := ask[*wire.Schedules](ctx, q, &req)
		if err != nil {
			return nil, err
		}
		for i := range page.Schedules {
			s := &page.Schedules[i]
			all = append(all, ListedSchedule{
				Topic: s.Topic, Name: s.Name, ScheduleState: scheduleStateOf(&s.ScheduleState, s.PauseNote), Rules: rulesOf(&s.ScheduleRules),
			})
		}
		if list.After = page.After; list.After == 0 {
			return all, nil
		}
	}
}

// DeleteSchedule forgets a schedule. Its jobs stay.
func (q *Client) DeleteSchedule(ctx context.Context, topic, name string) error {
	return q.done(ctx, &wire.ScheduleDelete{Topic: topic, Name: name})
}

// PauseSchedule lets a schedule fire no more until it is resumed. The note says why, for people; empty for none.
func (q *Client) PauseSchedule(ctx context.Context, topic, name, note string) error {
	return q.done(ctx, &wire.SchedulePause{Topic: topic, Name: name, Note: note})
}

// ResumeSchedule lets a paused schedule fire again. Its rule for missed instants says what happens to those that passed.
func (q *Client) ResumeSchedule(ctx context.Context, topic, name string) error {
	return q.done(ctx, &wire.ScheduleResume{Topic: topic, Name: name})
}

// RunSchedule pushes a job of a schedule now, whether an earlier one has ended or not, and returns its id. The next instant
// stays. The error is [ErrKeyExists] if the topic has a job with the key that it would have.
func (q *Client) RunSchedule(ctx context.Context, topic, name string) (JobID, error) {
	answer, err := ask[*wire.ScheduleRan](ctx, q, &wire.ScheduleRun{Topic: topic, Name: name})
	if err != nil {
		return 0, err
	}
	return JobID(answer.Job), nil
}
