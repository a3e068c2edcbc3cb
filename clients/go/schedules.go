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

// Schedules lists the schedules of a topic that match; with "" those of all topics that the token may read. Those of a topic come in
// the order in which they were made. To change many at once, list them by what they have in common, and change each:
//
//	tenant := adjourn.ScheduleFilter{Prefix: "tenant-7."}
//	schedules, err := q.Schedules(ctx, "", tenant)
//	if err != nil {
//		return err
//	}
//	for _, one := range schedules {
//		if err := q.PauseSchedule(ctx, one.Topic, one.Name, "moved"); err != nil {
//			return err
//		}
//	}
//
// [Client.ResumeSchedule] and [Client.DeleteSchedule] do it in the same way.
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
		if list.Cursor = page.Cursor; len(list.Cursor) == 0 {
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

// FillSchedule pushes jobs for the instants of a schedule in a time that has passed, which may be before it was set: from the one
// time to the other, both included. It does one part of that time, and the next call goes on from Next:
//
//	for !from.IsZero() {
//		part, err := q.FillSchedule(ctx, "reports", "morning", from, to, false)
//		if err != nil {
//			return err
//		}
//		pushed += part.Pushed
//		from = part.Next
//	}
//
// The jobs are due at once. An instant whose key a job of the topic has gets none, so a part that is filled again pushes no second
// job while the first is there. A job that is finished is pushed again. The history of the schedule does not show these jobs, and
// its rule for overlaps does not count them. With dryRun it pushes nothing, and only counts the instants.
//
// The error is [ErrInvalid] if the time is ahead by the server's clock or ends before it begins, and if the rules have a Key.
func (q *Client) FillSchedule(ctx context.Context, topic, name string, from, to time.Time, dryRun bool) (ScheduleFilled, error) {
	req := &wire.ScheduleFill{Topic: topic, Name: name}
	if dryRun {
		req.DryRun = 1
	}
	var err error
	if req.FromMs, err = wallMs(from, "the first time"); err != nil {
		return ScheduleFilled{}, err
	}
	// Not rounded up: that would be ahead, or one instant too many.
	if req.ToMs, err = wallMs(to.Truncate(time.Millisecond), "the last time"); err != nil {
		return ScheduleFilled{}, err
	}
	a, err := ask[*wire.ScheduleFilled](ctx, q, req)
	if err != nil {
		return ScheduleFilled{}, err
	}
	return ScheduleFilled{Instants: a.Instants, Pushed: a.Pushed, Kept: a.Kept, Refused: a.Refused, Next: wallTime(a.NextMs)}, nil
}

// PreviewSchedule says when a schedule with these rules would fire, without setting it: so many instants at most, after a time; the
// zero time is now. The count is 1 to [limits.InstantsShownMax]. Without an Origin, "@every" counts from the Start, or else from
// the time. The error is [ErrInvalid] if the rules cannot be read.
func (q *Client) PreviewSchedule(ctx context.Context, rules ScheduleRules, after time.Time, count int) (*SchedulePreview, error) {
	if count < 1 || count > limits.InstantsShownMax {
		return nil, usage("%d instants: use 1 to %d", count, limits.InstantsShownMax)
	}
	req := &wire.SchedulePreview{InstantsMax: uint32(count)}
	var err error
	if req.ScheduleRules, err = rules.toWire(); err != nil {
		return nil, err
	}
	// Not rounded up, which would leave out an instant.
	if err = scheduleTime(after.Truncate(time.Millisecond), &req.FromMs, "the time"); err != nil {
		return nil, err
	}
	answer, err := ask[*wire.Instants](ctx, q, req)
	if err != nil {
		return nil, err
	}
	preview := &SchedulePreview{ZoneData: answer.ZoneData}
	for _, one := range answer.Instants {
		preview.Instants = append(preview.Instants, LocalInstant{Instant: wallTime(one.InstantMs), Local: one.Local})
	}
	return preview, nil
}
