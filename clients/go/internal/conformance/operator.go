package main

import (
	"context"
	"fmt"
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
			"settings": shownPolicy(&info.Policy), "jobs": decimal(info.Jobs), "bytes": decimal(info.Bytes), "paused": info.Paused,
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
	return nil, fmt.Errorf("no command %q", c.Do)
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

func setTopic(ctx context.Context, q *adjourn.Client, c *command) error {
	var w wire.Settings
	if err := fromText(c.Settings, &w); err != nil {
		return err
	}
	policy := adjourn.Policy{
		Priority: w.Priority, AttemptsMax: w.AttemptsMax, JobsMax: w.JobsMax, BytesMax: w.BytesMax, BodyBytesMax: w.BodyMax,
		LeasesMax: w.LeasesMax, RatePerSecond: w.Rate, DeadLetters: w.DeadLetters, Backoff: publicBackoff(w.Backoff),
		ExpiresAfter: publicDuration(w.ExpiresAfterMs), Remember: publicDuration(w.RememberMs),
	}
	if w.TtrMs != nil {
		ttr := uint64(*w.TtrMs)
		policy.TTR = publicDuration(&ttr)
	}
	if l := w.Late; l != nil {
		policy.Late = &adjourn.Late{After: number(l.AfterMs).ms(), Action: adjourn.LateAction(l.Action), Value: l.Value}
	}
	var unset []adjourn.Setting
	for _, tag := range w.Unset {
		unset = append(unset, adjourn.Setting(tag))
	}
	return q.SetTopic(ctx, c.Topic, policy, unset...)
}

func shownPolicy(p *adjourn.Policy) any {
	w := wire.Settings{
		Priority: p.Priority, AttemptsMax: p.AttemptsMax, JobsMax: p.JobsMax, BytesMax: p.BytesMax, BodyMax: p.BodyBytesMax,
		LeasesMax: p.LeasesMax, Rate: p.RatePerSecond, DeadLetters: p.DeadLetters, Backoff: shownBackoff(p.Backoff),
		ExpiresAfterMs: shownDuration(p.ExpiresAfter), RememberMs: shownDuration(p.Remember),
	}
	if p.TTR != nil {
		ttr := uint32(*p.TTR / time.Millisecond)
		w.TtrMs = &ttr
	}
	if l := p.Late; l != nil {
		w.Late = &wire.Late{AfterMs: *shownDuration(&l.After), Action: uint8(l.Action), Value: l.Value}
	}
	return shownValue(&w)
}

func publicDuration(ms *uint64) *time.Duration {
	if ms == nil {
		return nil
	}
	d := number(*ms).ms()
	return &d
}

func shownDuration(d *time.Duration) *uint64 {
	if d == nil {
		return nil
	}
	ms := uint64(*d / time.Millisecond)
	return &ms
}

func publicBackoff(w *wire.Backoff) *adjourn.Backoff {
	if w == nil {
		return nil
	}
	b := &adjourn.Backoff{Kind: adjourn.BackoffKind(w.Kind), JitterPercent: w.Jitter}
	for _, ms := range w.WaitsMs {
		b.Waits = append(b.Waits, number(ms).ms())
	}
	return b
}

func shownBackoff(b *adjourn.Backoff) *wire.Backoff {
	if b == nil {
		return nil
	}
	w := &wire.Backoff{Kind: uint8(b.Kind), Jitter: b.JitterPercent}
	for _, wait := range b.Waits {
		w.WaitsMs = append(w.WaitsMs, uint32(wait/time.Millisecond))
	}
	return w
}
