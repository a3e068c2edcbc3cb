package adjourn

import (
	"context"
	"errors"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// GroupOption is a setting of one group, for [Client.SetGroup].
type GroupOption func(*wire.GroupSet) error

// GroupWeight is how many jobs the group gives at its turn: 1 to [limits.GroupWeightMax]. A group that was given none has 1.
func GroupWeight(weight uint32) GroupOption {
	return func(set *wire.GroupSet) error {
		if weight == 0 || weight > limits.GroupWeightMax {
			return usage("a weight of %d: use 1 to %d", weight, limits.GroupWeightMax)
		}
		set.Weight = weight
		return nil
	}
}

// GroupPaused stops delivery of the group's jobs, or restarts it.
func GroupPaused(paused bool) GroupOption {
	return func(set *wire.GroupSet) error {
		set.Pause = wire.PauseResume
		if paused {
			set.Pause = wire.PausePause
		}
		return nil
	}
}

// SetGroup changes the given settings of one group of a topic; the others stay. At least one is needed. The group need not
// have a job. Its limits are settings of the topic: see GroupLeasesMax and the like of [Policy].
func (q *Client) SetGroup(ctx context.Context, topic, group string, settings ...GroupOption) error {
	req := &wire.GroupSet{Topic: topic, Group: group}
	for _, one := range settings {
		if err := one(req); err != nil {
			return err
		}
	}
	if err := checkGroup(topic, group); err != nil {
		return err
	}
	if req.Weight == 0 && req.Pause == wire.PauseKeep {
		return usage("SetGroup needs at least one setting to change")
	}
	return q.done(ctx, req)
}

// GroupState is where a group of a topic stands.
type GroupState struct {
	// Name is the group's: see [Group].
	Name string
	// Ready is how many of its jobs wait for a consumer, Reserved how many a consumer has.
	Ready, Reserved uint64
	// OldestReady is for how long the next of its jobs has been ready; 0 if none is.
	OldestReady time.Duration
	// Weight is how many jobs it gives at its turn: 1 to [limits.GroupWeightMax].
	Weight uint32
	// Paused says that [GroupPaused] stopped it.
	Paused bool
	// Hold is what holds it back; [WhyNext] if nothing does. HoldUntil is when that ends; the zero time if it is not known.
	Hold      Why
	HoldUntil time.Time
}

// Groups lists the groups of a topic that have a job that is ready or reserved, or settings of their own, by name: all pages of
// them. With a prefix it lists only those whose names begin with it. Without the topic the error is [ErrNotFound].
func (q *Client) Groups(ctx context.Context, topic, prefix string) ([]GroupState, error) {
	if err := wire.CheckTopic(topic); err != nil {
		return nil, usage("%v", err)
	}
	list := wire.GroupList{GroupsMax: limits.GroupsListedMax, Topic: topic, Prefix: prefix}
	var all []GroupState
	for {
		req := list
		page, err := ask[*wire.Groups](ctx, q, &req)
		if err != nil {
			return nil, err
		}
		for i := range page.Groups {
			g := &page.Groups[i]
			all = append(all, GroupState{
				Name: g.Name, Ready: g.Ready, Reserved: g.Reserved, OldestReady: millis(g.OldestMs), Weight: g.Weight, Paused: g.Paused == 1,
				Hold: Why(g.Hold), HoldUntil: wallTime(g.UntilMs),
			})
		}
		if list.After = page.After; list.After == "" {
			return all, nil
		}
	}
}

// Reason is one reason why a job, a topic or a group gives nothing to a consumer now.
type Reason struct {
	Why Why
	// Since is when it began, and Until when it ends; the zero time if that is not known.
	Since, Until time.Time
	// Jobs is how many jobs come first, with [WhyBehind]; how many leases there are, with [WhyTopicLeases] and [WhyGroupLeases];
	// else 0.
	Jobs uint64
	// Text is a sentence for a person. It may change between versions: decide by Why.
	Text string
}

// Why says why a job is not running: all reasons, at least one, the most important one first. Without the job the error
// is [ErrNotFound].
func (q *Client) Why(ctx context.Context, job JobRef) ([]Reason, error) {
	if err := job.check(); err != nil {
		return nil, err
	}
	return q.reasons(ctx, &wire.Why{Ref: job.ref})
}

// WhyTopic says why a topic gives no job, as [Client.Why] does. Without the topic the error is [ErrNotFound].
func (q *Client) WhyTopic(ctx context.Context, topic string) ([]Reason, error) {
	if err := wire.CheckTopic(topic); err != nil {
		return nil, usage("%v", err)
	}
	return q.reasons(ctx, &wire.TopicWhy{Topic: topic})
}

// WhyGroup says why a group of a topic gives no job, as [Client.Why] does. Without the topic the error is [ErrNotFound].
func (q *Client) WhyGroup(ctx context.Context, topic, group string) ([]Reason, error) {
	if err := checkGroup(topic, group); err != nil {
		return nil, err
	}
	return q.reasons(ctx, &wire.TopicWhy{Topic: topic, Group: group})
}

func (q *Client) reasons(ctx context.Context, req wire.Message) ([]Reason, error) {
	answer, err := ask[*wire.Reasons](ctx, q, req)
	if err != nil {
		return nil, err
	}
	if len(answer.Reasons) == 0 {
		return nil, &ProtocolError{Cause: errors.New("REASONS without a reason")}
	}
	reasons := make([]Reason, len(answer.Reasons))
	for i := range answer.Reasons {
		r := &answer.Reasons[i]
		reasons[i] = Reason{Why: Why(r.Why), Since: wallTime(r.SinceMs), Until: wallTime(r.UntilMs), Jobs: r.Jobs, Text: r.Text}
	}
	return reasons, nil
}

func checkGroup(topic, group string) error {
	if err := wire.CheckTopic(topic); err != nil {
		return usage("%v", err)
	}
	if group == "" || len(group) > limits.GroupBytesMax {
		return usage("a group of %d bytes: use 1 to %d", len(group), limits.GroupBytesMax)
	}
	return nil
}

// Why says why a job, a topic or a group gives nothing to a consumer now. A newer server may send others; their String is
// "unknown".
type Why uint8

// The values of Why.
const (
	// WhyNext: nothing holds it back.
	WhyNext Why = wire.WhyNext
	// WhyDelayed: its due time has not come.
	WhyDelayed Why = wire.WhyDelayed
	// WhyTopicPaused: the topic is paused.
	WhyTopicPaused Why = wire.WhyTopicPaused
	// WhyTopicLeases: the topic has as many leases as it may.
	WhyTopicLeases Why = wire.WhyTopicLeases
	// WhyTopicRate: the topic has used up its rate.
	WhyTopicRate Why = wire.WhyTopicRate
	// WhyGroupPaused: its group is paused.
	WhyGroupPaused Why = wire.WhyGroupPaused
	// WhyGroupLeases: its group has as many leases as it may.
	WhyGroupLeases Why = wire.WhyGroupLeases
	// WhyGroupRate: its group has used up its rate.
	WhyGroupRate Why = wire.WhyGroupRate
	// WhyGroupReserved: a job of its group is reserved, and they go one at a time.
	WhyGroupReserved Why = wire.WhyGroupReserved
	// WhyGroupRetry: a job of its group waits for its next attempt, and they go one at a time.
	WhyGroupRetry Why = wire.WhyGroupRetry
	// WhyGroupBuried: a job of its group is buried, and they go one at a time.
	WhyGroupBuried Why = wire.WhyGroupBuried
	// WhyBehind: jobs of its topic, or of its group, come first.
	WhyBehind Why = wire.WhyBehind
	// WhyNoConsumer: no consumer waits on the topic.
	WhyNoConsumer Why = wire.WhyNoConsumer
	// WhyCallBackPaused: the calls of the topic are paused.
	WhyCallBackPaused Why = wire.WhyCallBackPaused
	// WhyReserved: a consumer has it.
	WhyReserved Why = wire.WhyReserved
	// WhyBuried: it is buried.
	WhyBuried Why = wire.WhyBuried
	// WhyFinished: it is finished, and remembered.
	WhyFinished Why = wire.WhyFinished
	// WhyEmpty: no job is ready.
	WhyEmpty Why = wire.WhyEmpty
	// WhyCallBackSuspended: the destination of the topic's calls failed: calls are suspended.
	WhyCallBackSuspended Why = wire.WhyCallBackSuspended
)

func (v Why) String() string {
	return nameOf(v, "next", "delayed", "topic paused", "topic leases", "topic rate", "group paused", "group leases", "group rate",
		"group reserved", "group retry", "group buried", "behind", "no consumer", "call back paused", "reserved", "buried",
		"finished", "empty", "call back suspended")
}
