package main

import (
	"context"
	"fmt"

	adjourn "github.com/adjourn/adjourn-go"
)

// group carries out the commands of the level operator about groups and reasons.
func group(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	switch c.Do {
	case "group_set":
		var settings []adjourn.GroupOption
		if c.Weight != nil {
			settings = append(settings, adjourn.GroupWeight(*c.Weight))
		}
		if c.Paused != nil {
			settings = append(settings, adjourn.GroupPaused(*c.Paused))
		}
		return empty, q.SetGroup(ctx, c.Topic, c.Group, settings...)
	case "group_list":
		groups, err := q.Groups(ctx, c.Topic, c.Prefix)
		list := []any{}
		for i := range groups {
			g := &groups[i]
			list = append(list, map[string]any{
				"name": g.Name, "ready": decimal(g.Ready), "reserved": decimal(g.Reserved), "weight": g.Weight, "paused": g.Paused,
				"hold": choiceName(g.Hold),
			})
		}
		return map[string]any{"groups": list}, err
	case "why":
		return shownReasons(q.Why(ctx, c.ref()))
	case "topic_why":
		if c.Group != "" {
			return shownReasons(q.WhyGroup(ctx, c.Topic, c.Group))
		}
		return shownReasons(q.WhyTopic(ctx, c.Topic))
	}
	return nil, fmt.Errorf("no command %q", c.Do)
}

func shownReasons(reasons []adjourn.Reason, err error) (any, error) {
	list := []any{}
	for i := range reasons {
		r := &reasons[i]
		list = append(list, map[string]any{"why": choiceName(r.Why), "jobs": decimal(r.Jobs), "until_ms": shownTime(r.Until)})
	}
	return map[string]any{"reasons": list}, err
}
