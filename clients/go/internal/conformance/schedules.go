package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

// schedule carries out the commands of the level operator about schedules.
func schedule(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	switch c.Do {
	case "schedule_set":
		return setSchedule(ctx, q, c)
	case "schedule_show":
		info, err := q.Schedule(ctx, c.Topic, c.Name)
		if err != nil {
			return nil, err
		}
		return shownScheduleInfo(info), nil
	case "schedule_list":
		filter := adjourn.ScheduleFilter{Prefix: c.Prefix, Paused: c.Paused}
		if c.NextBeforeMs != nil {
			filter.NextBefore = c.NextBeforeMs.time()
		}
		schedules, err := q.Schedules(ctx, c.Topic, filter)
		list := []any{}
		for i := range schedules {
			shown := shownSchedule(&schedules[i].ScheduleState, &schedules[i].Rules)
			shown["topic"], shown["name"] = schedules[i].Topic, schedules[i].Name
			list = append(list, shown)
		}
		return map[string]any{"schedules": list}, err
	case "schedule_pause":
		return empty, q.PauseSchedule(ctx, c.Topic, c.Name, c.Note)
	case "schedule_resume":
		return empty, q.ResumeSchedule(ctx, c.Topic, c.Name)
	case "schedule_delete":
		return empty, q.DeleteSchedule(ctx, c.Topic, c.Name)
	case "schedule_run":
		job, err := q.RunSchedule(ctx, c.Topic, c.Name)
		return map[string]any{"job": decimal(uint64(job))}, err
	case "schedule_fill":
		filled, err := q.FillSchedule(ctx, c.Topic, c.Name, c.FromMs.time(), c.ToMs.time(), c.DryRun)
		return map[string]any{
			"instants": filled.Instants, "pushed": filled.Pushed, "kept": filled.Kept, "refused": filled.Refused, "next_ms": shownTime(filled.Next),
		}, err
	case "schedule_preview":
		return previewSchedule(ctx, q, c)
	}
	return nil, fmt.Errorf("no command %q", c.Do)
}

func setSchedule(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	overlap, err := choiceOf[adjourn.Overlap](c.Overlap)
	if err != nil {
		return nil, err
	}
	missed, err := choiceOf[adjourn.Missed](c.Missed)
	if err != nil {
		return nil, err
	}
	rules := adjourn.ScheduleRules{When: c.When, Zone: c.Zone, Overlap: overlap, Missed: missed}
	var options []adjourn.ScheduleOption
	if c.IfVersion == "new" {
		options = append(options, adjourn.IfNoSchedule())
	} else if version, some := c.IfVersion.(float64); some {
		options = append(options, adjourn.IfScheduleVersion(uint32(version)))
	}
	set, err := q.SetSchedule(ctx, c.Topic, c.Name, rules, adjourn.JobTemplate{Body: c.Body}, options...)
	if err != nil {
		return nil, err
	}
	return map[string]any{"version": set.Version, "next_ms": shownTime(set.Next)}, nil
}

func previewSchedule(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	count, after := 10, time.Time{}
	if c.Count > 0 {
		count = c.Count
	}
	if c.FromMs > 0 {
		after = c.FromMs.time()
	}
	preview, err := q.PreviewSchedule(ctx, adjourn.ScheduleRules{When: c.When, Zone: c.Zone}, after, count)
	if err != nil {
		return nil, err
	}
	instants := []any{}
	for _, one := range preview.Instants {
		instants = append(instants, map[string]any{"instant_ms": shownTime(one.Instant), "local": one.Local})
	}
	return map[string]any{"instants": instants}, nil
}

func shownScheduleInfo(info *adjourn.ScheduleInfo) any {
	shown, history := shownSchedule(&info.ScheduleState, &info.Rules), []any{}
	for _, one := range info.History {
		history = append(history, map[string]any{
			"instant_ms": shownTime(one.Instant), "job": decimal(uint64(one.Job)), "fired": choiceName(one.Outcome),
		})
	}
	shown["fired"], shown["running"], shown["history"] = decimal(info.Fired), info.Running, history
	body, _ := info.Template.Body.([]byte)
	shown["body"] = bytesOf(body)
	return shown
}

func shownSchedule(state *adjourn.ScheduleState, rules *adjourn.ScheduleRules) map[string]any {
	shown := map[string]any{"version": state.Version, "when": rules.When, "paused": nil, "pause_note": state.PauseNote, "next_ms": shownTime(state.Next)}
	if state.Paused != adjourn.NotPaused {
		shown["paused"] = choiceName(state.Paused)
	}
	return shown
}

// shownTime is in milliseconds; 0 if there is none.
func shownTime(at time.Time) string {
	if at.IsZero() {
		return "0"
	}
	return decimal(uint64(at.UnixMilli()))
}

// choiceName is the name in schema/choices.toml.
func choiceName(choice fmt.Stringer) string { return strings.ReplaceAll(choice.String(), " ", "_") }

// choiceOf is the choice of this name; without one the client's default.
func choiceOf[T interface {
	~uint8
	fmt.Stringer
}](name string) (choice T, err error) {
	if name == "" {
		return choice, nil
	}
	for ; choice.String() != "unknown"; choice++ {
		if choiceName(choice) == name {
			return choice, nil
		}
	}
	return choice, fmt.Errorf("no choice %q", name)
}
