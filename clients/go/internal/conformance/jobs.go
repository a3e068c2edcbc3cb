package main

import (
	"context"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

type pushedJob struct {
	Body       []byte  `json:"body"`
	DelayMs    *number `json:"delay_ms"`
	AtMs       *number `json:"at_ms"`
	Priority   *uint32 `json:"priority"`
	TtrMs      uint32  `json:"ttr_ms"`
	Key        string  `json:"key"`
	IfExists   string  `json:"if_exists"`
	Attributes values  `json:"attributes"`
}

var ifExists = map[string]adjourn.IfExists{
	"": adjourn.Reject, "reject": adjourn.Reject, "keep": adjourn.Keep, "replace": adjourn.Replace,
	"replace_any": adjourn.ReplaceAny, "postpone": adjourn.Postpone,
}

func push(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	jobs := make([]adjourn.NewJob, len(c.Jobs))
	for i, p := range c.Jobs {
		job := adjourn.NewJob{
			Body: p.Body, Priority: p.Priority, TTR: time.Duration(p.TtrMs) * time.Millisecond, Key: p.Key, IfExists: ifExists[p.IfExists],
		}
		if p.DelayMs != nil {
			job.Delay = p.DelayMs.ms()
		}
		if p.AtMs != nil {
			job.At = p.AtMs.time()
		}
		var err error
		if job.Attributes, err = attributesOf(p.Attributes); err != nil {
			return nil, err
		}
		jobs[i] = job
	}
	pushed, err := q.PushBatch(ctx, c.Topic, jobs)
	if err != nil {
		return nil, err
	}
	list := make([]any, len(pushed))
	for i, r := range pushed {
		if r.Err != nil {
			list[i] = map[string]any{"error": shownError(r.Err)}
		} else {
			list[i] = map[string]any{"outcome": r.Outcome.String(), "job": decimal(uint64(r.ID))}
		}
	}
	return map[string]any{"results": list}, nil
}

func attributesOf(shown values) (adjourn.Attributes, error) {
	var w wire.Attributes
	var wrong error
	takeAttributes(fields{shown, &wrong}, &w)
	return publicAttributes(&w), wrong
}

// publicAttributes are attributes as a user of the client gives them.
func publicAttributes(w *wire.Attributes) adjourn.Attributes {
	var a adjourn.Attributes
	for _, h := range w.Headers {
		a.Headers = append(a.Headers, adjourn.Header(h))
	}
	if e := w.Expires; e != nil && e.Kind == wire.DueKindAt {
		a.ExpiresAt = number(e.Ms).time()
	} else if e != nil {
		a.ExpiresAfter = number(e.Ms).ms()
	}
	if w.AttemptsMax != nil {
		a.AttemptsMax = *w.AttemptsMax
	}
	if w.Backoff != nil {
		a.Backoff = publicBackoff(w.Backoff)
	}
	if w.Group != nil {
		a.Group = *w.Group
	}
	if w.DedupeRetentionMs != nil {
		a.Retention = number(*w.DedupeRetentionMs).ms()
	}
	if w.CreatedAtMs != nil {
		a.CreatedAt = number(*w.CreatedAtMs).time()
	}
	if w.PostponeMaxMs != nil {
		a.PostponeMax = number(*w.PostponeMaxMs).ms()
	}
	a.ScheduleReference = w.ScheduleReference
	for _, u := range w.Unknown {
		a.Unknown = append(a.Unknown, adjourn.UnknownAttribute(u))
	}
	return a
}

func shownAttributes(a *adjourn.Attributes) any {
	var w wire.Attributes
	ms := func(d time.Duration) *uint64 {
		if d == 0 {
			return nil
		}
		n := uint64(d / time.Millisecond)
		return &n
	}
	for _, h := range a.Headers {
		w.Headers = append(w.Headers, wire.Header(h))
	}
	if !a.ExpiresAt.IsZero() {
		w.Expires = &wire.Expiry{Kind: wire.DueKindAt, Ms: uint64(a.ExpiresAt.UnixMilli())}
	} else if a.ExpiresAfter > 0 {
		w.Expires = &wire.Expiry{Ms: *ms(a.ExpiresAfter)}
	}
	if a.AttemptsMax > 0 {
		w.AttemptsMax = &a.AttemptsMax
	}
	if a.Backoff != nil {
		w.Backoff = wireBackoff(a.Backoff)
	}
	if a.Group != "" {
		w.Group = &a.Group
	}
	w.DedupeRetentionMs, w.PostponeMaxMs = ms(a.Retention), ms(a.PostponeMax)
	if !a.CreatedAt.IsZero() {
		at := uint64(a.CreatedAt.UnixMilli())
		w.CreatedAtMs = &at
	}
	w.ScheduleReference = a.ScheduleReference
	for _, u := range a.Unknown {
		w.Unknown = append(w.Unknown, wire.UnknownElement(u))
	}
	return showAttributes(&w)
}

func shownJob(info *adjourn.JobInfo) map[string]any {
	return map[string]any{
		"job": decimal(uint64(info.ID)), "topic": info.Topic, "key": info.Key, "state": info.State.String(), "attempts": info.Attempts,
		"priority": info.Priority, "ttr_ms": info.TTR.Milliseconds(), "body": bytesOf(info.Body), "reason": info.Reason,
		"attributes": shownAttributes(&info.Attributes),
	}
}

func shownDelivered(job *adjourn.Job) map[string]any {
	return map[string]any{
		"job": decimal(uint64(job.ID)), "fence": decimal(uint64(job.Fence)), "topic": job.Topic, "key": job.Key, "priority": job.Priority,
		"attempts": job.Attempts, "due_ms": decimal(uint64(job.Due.UnixMilli())), "body": bytesOf(job.Body),
		"attributes": shownAttributes(&job.Attributes),
	}
}

type shownFilter struct {
	Topic       string  `json:"topic"`
	States      uint8   `json:"states"`
	DueFromMs   *number `json:"due_from_ms"`
	DueBeforeMs *number `json:"due_before_ms"`
	KeyPrefix   []byte  `json:"key_prefix"`
	AttemptsMin *uint32 `json:"attempts_min"`
	AttemptsMax *uint32 `json:"attempts_max"`
	Buried      uint8   `json:"buried"`
	Reason      string  `json:"reason"`
	Group       string  `json:"group"`
}

func (f *shownFilter) filter() adjourn.Filter {
	if f == nil {
		return adjourn.Filter{}
	}
	filter := adjourn.Filter{
		Topic: f.Topic, KeyPrefix: string(f.KeyPrefix), AttemptsMin: f.AttemptsMin, AttemptsMax: f.AttemptsMax,
		Buried: adjourn.BuriedReason(f.Buried), Reason: f.Reason, Group: f.Group,
	}
	for state := adjourn.Delayed; state <= adjourn.Finished; state++ {
		if f.States&(1<<state) != 0 {
			filter.States = append(filter.States, state)
		}
	}
	if f.DueFromMs != nil {
		filter.DueFrom = f.DueFromMs.time()
	}
	if f.DueBeforeMs != nil {
		filter.DueBefore = f.DueBeforeMs.time()
	}
	return filter
}
