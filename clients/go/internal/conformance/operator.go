package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// operate carries out the commands of the level operator.
func operate(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	switch c.Do {
	case "peek":
		info, err := q.Peek(ctx, c.Topic)
		if err != nil {
			return nil, err
		}
		return map[string]any{"job": shownJob(info)}, nil
	case "run_now":
		return shownChange(q.RunNow(ctx, c.ref()))
	case "kick":
		return shownChange(q.Kick(ctx, c.ref()))
	case "reschedule":
		if c.AtMs != nil {
			return shownChange(q.RescheduleAt(ctx, c.ref(), c.AtMs.time()))
		}
		return shownChange(q.Reschedule(ctx, c.ref(), c.DelayMs.ms()))
	case "edit":
		edits, err := editsOf(c)
		if err != nil {
			return nil, err
		}
		return shownChange(q.Edit(ctx, c.ref(), edits...))
	case "kick_many":
		n, err := q.KickMany(ctx, c.Topic, c.JobsMax)
		return map[string]any{"jobs": n}, err
	case "pause":
		return empty, q.Pause(ctx, c.Topic)
	case "resume":
		return empty, q.Resume(ctx, c.Topic)
	case "topic_delete":
		return empty, q.DeleteTopic(ctx, c.Topic)
	case "topic_set":
		return empty, setTopic(ctx, q, c)
	case "topic_show":
		info, err := q.Topic(ctx, c.Topic)
		if err != nil {
			return nil, err
		}
		return map[string]any{
			"settings": showPolicy(&info.Policy), "jobs": decimal(info.Jobs), "bytes": decimal(info.Bytes), "paused": info.Paused,
		}, nil
	case "topics":
		topics, err := q.Topics(ctx)
		list := []any{}
		for i := range topics {
			shown := shownTotals(&topics[i].Totals)
			shown["topic"], shown["paused"] = topics[i].Topic, topics[i].Paused
			list = append(list, shown)
		}
		return map[string]any{"topics": list}, err
	case "stats":
		stats, err := q.Stats(ctx)
		if err != nil {
			return nil, err
		}
		shown, stages := shownTotals(&stats.Totals), []any{}
		for _, s := range stats.Stages {
			us := func(d time.Duration) string { return decimal(uint64(d.Microseconds())) }
			stages = append(stages, map[string]any{
				"stage": s.Name, "count": decimal(s.Count), "p50_us": us(s.P50), "p99_us": us(s.P99), "p999_us": us(s.P999), "max_us": us(s.Max),
			})
		}
		shown["stages"] = stages
		return shown, nil
	case "bulk":
		return bulk(ctx, q, c)
	case "leases":
		jobs, err := q.Leases(ctx)
		list := []any{}
		for _, job := range jobs {
			list = append(list, shownDelivered(job))
		}
		return map[string]any{"jobs": list}, err
	case "connections":
		connections, err := q.Connections(ctx)
		list := []any{}
		for _, one := range connections {
			list = append(list, map[string]any{
				"connection": decimal(one.ID), "client_name": one.Name, "leases": one.Leases, "subscriptions": one.Subscriptions,
				"reserves": one.Reserves,
			})
		}
		return map[string]any{"connections": list}, err
	case "disconnect":
		return empty, q.Disconnect(ctx, uint64(c.Connection), c.EndsSession)
	}
	if strings.HasPrefix(c.Do, "schedule_") {
		return schedule(ctx, q, c)
	}
	return group(ctx, q, c)
}

// cancel ends the context of a reserve that waits, and returns once the reserve was answered.
func (h *harness) cancel(c *command) (any, error) {
	h.mu.Lock()
	waiting, some := h.reserves[c.Command]
	h.mu.Unlock()
	if some {
		waiting.cancel()
		<-waiting.answered
	}
	return empty, nil
}

func shownChange(change adjourn.Change, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"job": decimal(uint64(change.ID)), "state": change.State.String(), "due_ms": decimal(uint64(change.Due.UnixMilli())),
	}, nil
}

func shownTotals(t *adjourn.Totals) map[string]any {
	return map[string]any{
		"delayed": decimal(t.Delayed), "ready": decimal(t.Ready), "reserved": decimal(t.Reserved), "buried": decimal(t.Buried),
	}
}

func bulk(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	var change adjourn.BulkChange
	switch c.Change {
	case "delete":
		change = adjourn.DeleteJobs()
	case "kick":
		change = adjourn.KickJobs()
	case "run_now":
		change = adjourn.RunJobsNow()
	case "reschedule":
		change = adjourn.RescheduleJobs(time.Now().Add(c.DelayMs.ms()))
		if c.AtMs != nil {
			change = adjourn.RescheduleJobs(c.AtMs.time())
		}
	case "move":
		change = adjourn.MoveJobs(c.To)
	default:
		return nil, fmt.Errorf("no change %q", c.Change)
	}
	steps := q.Bulk(change, c.Filter.filter())
	if c.JobsMax > 0 {
		steps.StepJobs(c.JobsMax)
	}
	n, err := steps.Run(ctx)
	return map[string]any{"jobs": decimal(n)}, err
}

// editsOf are the edits of a command. An attribute that changes and has no value is taken away.
func editsOf(c *command) (edits []adjourn.EditOption, err error) {
	attributes, err := attributesOf(c.Attributes)
	for _, part := range c.Edited {
		var one adjourn.EditOption
		switch part {
		case "due":
			one = adjourn.Delay(c.DelayMs.ms())
			if c.AtMs != nil {
				one = adjourn.At(c.AtMs.time())
			}
		case "priority":
			one = adjourn.Priority(c.Priority)
		case "ttr":
			one = adjourn.TTR(time.Duration(c.TtrMs) * time.Millisecond)
		case "body":
			one = adjourn.Body(c.Body)
		default:
			one = attributeEdit(part, &attributes)
		}
		if one == nil {
			return nil, fmt.Errorf("no part %q", part)
		}
		edits = append(edits, one)
	}
	return edits, err
}

func attributeEdit(part string, a *adjourn.Attributes) adjourn.EditOption {
	switch part {
	case "headers":
		if len(a.Headers) == 0 {
			return adjourn.WithoutHeaders()
		}
		return adjourn.Headers(a.Headers...)
	case "expires":
		if a.ExpiresAfter > 0 {
			return adjourn.ExpiresAfter(a.ExpiresAfter)
		} else if !a.ExpiresAt.IsZero() {
			return adjourn.ExpiresAt(a.ExpiresAt)
		}
		return adjourn.WithoutExpiry()
	case "attempts_max":
		if a.AttemptsMax == 0 {
			return adjourn.WithoutAttempts()
		}
		return adjourn.Attempts(a.AttemptsMax)
	case "backoff":
		if a.Backoff == nil {
			return adjourn.WithoutRetryBackoff()
		}
		return adjourn.RetryBackoff(a.Backoff)
	case "dedupe_retention":
		if a.Retention == 0 {
			return adjourn.WithoutRemember()
		}
		return adjourn.Remember(a.Retention)
	case "group":
		if a.Group == "" {
			return adjourn.WithoutGroup()
		}
		return adjourn.Group(a.Group)
	}
	return nil
}

func setTopic(ctx context.Context, q *adjourn.Client, c *command) error {
	var wrong error
	policy, unset := takePolicy(fields{c.Settings, &wrong})
	if wrong != nil {
		return wrong
	}
	return q.SetTopic(ctx, c.Topic, policy, unset...)
}

func publicBackoff(w *wire.Backoff) *adjourn.Backoff {
	b := &adjourn.Backoff{Kind: adjourn.BackoffKind(w.Kind), JitterPercent: w.Jitter}
	for _, ms := range w.WaitsMs {
		b.Waits = append(b.Waits, number(ms).ms())
	}
	return b
}

func wireBackoff(b *adjourn.Backoff) *wire.Backoff {
	w := &wire.Backoff{Kind: uint8(b.Kind), Jitter: b.JitterPercent}
	for _, wait := range b.Waits {
		w.WaitsMs = append(w.WaitsMs, uint32(inMs(wait)))
	}
	return w
}

func publicLate(w *wire.Late) *adjourn.Late {
	return &adjourn.Late{After: number(w.AfterMs).ms(), Action: adjourn.LateAction(w.Action), Value: w.Value}
}

func wireLate(l *adjourn.Late) *wire.Late {
	return &wire.Late{AfterMs: inMs(l.After), Action: uint8(l.Action), Value: l.Value}
}

func inMs(d time.Duration) uint64 { return uint64(d / time.Millisecond) }
