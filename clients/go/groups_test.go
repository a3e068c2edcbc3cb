package adjourn_test

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// pushOf pushes a job of a group.
func pushOf(t *testing.T, ctx context.Context, q *adjourn.Client, group string) adjourn.JobID {
	t.Helper()
	return must[adjourn.JobID](t)(q.Push(ctx, "emails", "x", adjourn.Group(group)))
}

func groupsByName(t *testing.T, ctx context.Context, q *adjourn.Client) map[string]adjourn.GroupState {
	t.Helper()
	groups := map[string]adjourn.GroupState{}
	for _, one := range must[[]adjourn.GroupState](t)(q.Groups(ctx, "emails", "")) {
		groups[one.Name] = one
	}
	return groups
}

func TestGroupsTakeTurnsAndAreLimited(t *testing.T) { onBoth(t, testGroups) }

func testGroups(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(), testContext(t)
	if err := q.SetTopic(ctx, "emails", adjourn.Policy{GroupLeasesMax: pointer(uint32(1))}); err != nil {
		t.Fatal(err)
	}
	first := pushOf(t, ctx, q, "ann")
	second, third, ofBob := pushOf(t, ctx, q, "ann"), pushOf(t, ctx, q, "ann"), pushOf(t, ctx, q, "bob")
	groups := must[[]adjourn.GroupState](t)(q.Groups(ctx, "emails", ""))
	if len(groups) != 2 || groups[0].Name != "ann" || groups[0].Ready != 3 || groups[1].Name != "bob" || groups[1].Ready != 1 {
		t.Fatalf("%+v", groups)
	}
	for _, one := range groups {
		if one.Reserved != 0 || one.Weight != 1 || one.Paused || one.Hold != adjourn.WhyNext || !one.HoldUntil.IsZero() {
			t.Errorf("%+v", one)
		}
	}
	if groups := must[[]adjourn.GroupState](t)(q.Groups(ctx, "emails", "b")); len(groups) != 1 || groups[0].Name != "bob" {
		t.Errorf("%+v", groups)
	}
	taken := map[adjourn.JobID]string{}
	for _, job := range takeNow(t, q, "emails") {
		taken[job.ID] = job.Group
	}
	if want := map[adjourn.JobID]string{first: "ann", ofBob: "bob"}; !reflect.DeepEqual(taken, want) {
		t.Fatalf("%v instead of %v", taken, want)
	}
	if ann := groupsByName(t, ctx, q)["ann"]; ann.Ready != 2 || ann.Reserved != 1 || ann.Hold != adjourn.WhyGroupLeases {
		t.Errorf("%+v", ann)
	}
	for _, waiting := range []adjourn.JobID{second, third} {
		reasons := must[[]adjourn.Reason](t)(q.Why(ctx, adjourn.ByID(waiting)))
		if reasons[0].Why != adjourn.WhyGroupLeases || reasons[0].Jobs != 1 || reasons[0].Text == "" {
			t.Errorf("%+v", reasons)
		}
	}
	if reasons := must[[]adjourn.Reason](t)(q.Why(ctx, adjourn.ByID(first))); reasons[0].Why != adjourn.WhyReserved {
		t.Errorf("%+v", reasons)
	}
	must[[]adjourn.Reason](t)(q.WhyTopic(ctx, "emails"))
	if reasons := must[[]adjourn.Reason](t)(q.WhyGroup(ctx, "emails", "ann")); reasons[0].Why != adjourn.WhyGroupLeases {
		t.Errorf("%+v", reasons)
	}
	if n := must[uint64](t)(q.Count(ctx, adjourn.Filter{Topic: "emails", Group: "ann"})); n != 3 {
		t.Errorf("%d jobs of ann", n)
	}
	listed := q.List(adjourn.Filter{Group: "bob"}, adjourn.ListOptions{})
	if !listed.Next(ctx) || listed.Job().ID != ofBob || listed.Job().Group != "bob" || listed.Next(ctx) {
		t.Errorf("the jobs of bob: %v", listed.Err())
	}
}

func TestGroupsHaveAWeightAndArePaused(t *testing.T) { onBoth(t, testGroupSettings) }

func testGroupSettings(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(), testContext(t)
	if err := q.SetTopic(ctx, "emails", adjourn.Policy{Fair: true}); err != nil {
		t.Fatal(err)
	}
	id := pushOf(t, ctx, q, "bob")
	if err := q.SetGroup(ctx, "emails", "bob", adjourn.GroupWeight(5), adjourn.GroupPaused(true)); err != nil {
		t.Fatal(err)
	}
	if bob := groupsByName(t, ctx, q)["bob"]; bob.Weight != 5 || !bob.Paused || bob.Hold != adjourn.WhyGroupPaused {
		t.Errorf("%+v", bob)
	}
	if jobs := takeNow(t, q, "emails"); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
	if reasons := must[[]adjourn.Reason](t)(q.Why(ctx, adjourn.ByID(id))); reasons[0].Why != adjourn.WhyGroupPaused {
		t.Errorf("%+v", reasons)
	}
	if err := q.SetGroup(ctx, "emails", "bob", adjourn.GroupPaused(false)); err != nil {
		t.Fatal(err)
	}
	if bob := groupsByName(t, ctx, q)["bob"]; bob.Weight != 5 || bob.Paused {
		t.Errorf("the weight stays: %+v", bob)
	}
	if jobs := takeNow(t, q, "emails"); len(jobs) != 1 || jobs[0].ID != id {
		t.Errorf("%+v", jobs)
	}
}

func TestAllPagesOfGroupsAreListed(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	if err := q.SetTopic(ctx, "emails", adjourn.Policy{Fair: true}); err != nil {
		t.Fatal(err)
	}
	jobs := make([]adjourn.NewJob, limits.GroupsListedMax+1)
	for i := range jobs {
		jobs[i] = adjourn.NewJob{Body: "x", Attributes: adjourn.Attributes{Group: strconv.Itoa(10_000 + i)}}
	}
	for _, one := range must[[]adjourn.PushResult](t)(q.PushBatch(ctx, "emails", jobs)) {
		if one.Err != nil {
			t.Fatal(one.Err)
		}
	}
	groups := must[[]adjourn.GroupState](t)(q.Groups(ctx, "emails", ""))
	if len(groups) != len(jobs) {
		t.Fatalf("%d groups", len(groups))
	}
	for i := range groups {
		if groups[i].Name != jobs[i].Group {
			t.Errorf("%+v instead of %s", groups[i], jobs[i].Group)
		}
	}
}

// A page may be short or empty: its answer says where the next one begins.
func TestPagesOfGroupsGoOnWhereTheAnswerSays(t *testing.T) {
	pages := map[string]wire.Groups{
		"": {After: "f", Groups: []wire.GroupState{
			{Ready: 1, Reserved: 2, OldestMs: 3, UntilMs: 4, Weight: 5, Hold: wire.WhyGroupRate, Paused: 1, Name: "first"},
		}},
		"f": {After: "k"},
		"k": {Groups: []wire.GroupState{{Weight: 1, Hold: 99, Name: "last"}}},
	}
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		for range pages {
			id, m := p.next()
			list, is := m.(*wire.GroupList)
			if !is {
				t.Errorf("%+v", m)
				return
			}
			if want := (wire.GroupList{GroupsMax: limits.GroupsListedMax, Topic: "t", After: list.After, Prefix: "p"}); *list != want {
				t.Errorf("%+v", list)
			}
			page := pages[list.After]
			p.say(id, &page)
		}
		p.serve()
	})
	want := []adjourn.GroupState{
		{Name: "first", Ready: 1, Reserved: 2, OldestReady: 3 * time.Millisecond, Weight: 5, Paused: true, Hold: adjourn.WhyGroupRate,
			HoldUntil: time.UnixMilli(4)},
		{Name: "last", Weight: 1, Hold: 99},
	}
	groups := must[[]adjourn.GroupState](t)(dialScripted(t, address).Groups(testContext(t), "t", "p"))
	if !reflect.DeepEqual(groups, want) || groups[1].Hold.String() != "unknown" {
		t.Errorf("%+v", groups)
	}
}

func TestReasonsAreShownAlsoThoseOfANewerServer(t *testing.T) {
	asked := make(chan wire.Message, 3)
	answers := []*wire.Reasons{
		{Reasons: []wire.Reason{{Why: wire.WhyBehind, Jobs: 7, Text: "7 jobs come first"}, {Why: 99, SinceMs: 4, UntilMs: 5, Text: "news"}}},
		{Reasons: []wire.Reason{{Why: wire.WhyEmpty}}},
		{},
	}
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		for _, answer := range answers {
			id, m := p.next()
			asked <- m
			p.say(id, answer)
		}
		p.serve()
	})
	q, ctx := dialScripted(t, address), testContext(t)
	reasons := must[[]adjourn.Reason](t)(q.Why(ctx, adjourn.ByKey("t", "k")))
	want := []adjourn.Reason{{Why: adjourn.WhyBehind, Jobs: 7, Text: "7 jobs come first"}, {Why: 99, Since: time.UnixMilli(4), Until: time.UnixMilli(5), Text: "news"}}
	if !reflect.DeepEqual(reasons, want) || reasons[0].Why.String() != "behind" || reasons[1].Why.String() != "unknown" {
		t.Errorf("%+v", reasons)
	}
	if m := <-asked; !reflect.DeepEqual(m, &wire.Why{Ref: wire.JobRef{JobKind: wire.JobKindKey, Topic: "t", Key: "k"}}) {
		t.Errorf("%+v", m)
	}
	reasons = must[[]adjourn.Reason](t)(q.WhyGroup(ctx, "t", "g"))
	if m := <-asked; !reflect.DeepEqual(m, &wire.TopicWhy{Topic: "t", Group: "g"}) || reasons[0].Why.String() != "empty" {
		t.Errorf("%+v, %+v", m, reasons)
	}
	var broken *adjourn.ProtocolError
	if reasons, err := q.WhyTopic(ctx, "t"); !errors.As(err, &broken) {
		t.Errorf("no reason: %+v, %v", reasons, err)
	}
	if m := <-asked; !reflect.DeepEqual(m, &wire.TopicWhy{Topic: "t"}) {
		t.Errorf("%+v", m)
	}
}

func TestTheSettingsOfAGroupAreSent(t *testing.T) {
	sent := make(chan wire.Message, 1)
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		for range []int{1, 2, 3} {
			id, m := p.next()
			sent <- m
			p.say(id, &wire.Done{})
		}
		p.serve()
	})
	q, ctx := dialScripted(t, address), testContext(t)
	for _, one := range []struct {
		settings []adjourn.GroupOption
		want     wire.GroupSet
	}{
		{[]adjourn.GroupOption{adjourn.GroupWeight(1000)}, wire.GroupSet{Weight: 1000}},
		{[]adjourn.GroupOption{adjourn.GroupPaused(true)}, wire.GroupSet{Pause: wire.PausePause}},
		{[]adjourn.GroupOption{adjourn.GroupWeight(1), adjourn.GroupPaused(false)}, wire.GroupSet{Weight: 1, Pause: wire.PauseResume}},
	} {
		one.want.Topic, one.want.Group = "t", "g"
		if err := q.SetGroup(ctx, "t", "g", one.settings...); err != nil {
			t.Fatal(err)
		}
		if m := <-sent; !reflect.DeepEqual(m, &one.want) {
			t.Errorf("%+v instead of %+v", m, one.want)
		}
	}
}

func TestWrongCallsAboutGroupsAreNotSent(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		p.serve()
	})
	q, ctx := dialScripted(t, address), testContext(t)
	weight, long := adjourn.GroupWeight(5), strings.Repeat("g", limits.GroupBytesMax+1)
	for what, call := range map[string]func() error{
		"nothing to change":  func() error { return q.SetGroup(ctx, "t", "g") },
		"a weight of 0":      func() error { return q.SetGroup(ctx, "t", "g", adjourn.GroupWeight(0), adjourn.GroupPaused(true)) },
		"too great a weight": func() error { return q.SetGroup(ctx, "t", "g", adjourn.GroupWeight(limits.GroupWeightMax+1)) },
		"no group":           func() error { return q.SetGroup(ctx, "t", "", weight) },
		"a long group":       func() error { return q.SetGroup(ctx, "t", long, weight) },
		"no topic":           func() error { return q.SetGroup(ctx, "", "g", weight) },
		"groups of no topic": func() error { _, err := q.Groups(ctx, "", ""); return err },
		"a long prefix":      func() error { _, err := q.Groups(ctx, "t", long); return err },
		"why no job":         func() error { _, err := q.Why(ctx, adjourn.ByID(0)); return err },
		"why no topic":       func() error { _, err := q.WhyTopic(ctx, ""); return err },
		"why no group":       func() error { _, err := q.WhyGroup(ctx, "t", ""); return err },
		"a push of no group": func() error { _, err := q.Push(ctx, "t", "x", adjourn.Group("")); return err },
	} {
		if err := call(); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// The names are those of the schema, which has underscores in place of blanks.
func TestEveryReasonHasItsName(t *testing.T) {
	for why := adjourn.WhyNext; why <= adjourn.WhyCallBackSuspended; why++ {
		if why.String() == "unknown" {
			t.Errorf("%d has no name", why)
		}
	}
	for why, name := range map[adjourn.Why]string{
		adjourn.WhyNext: "next", adjourn.WhyTopicLeases: "topic leases", adjourn.WhyGroupReserved: "group reserved", adjourn.WhyBehind: "behind",
		adjourn.WhyEmpty: "empty", adjourn.WhyCallBackSuspended: "call back suspended", adjourn.WhyCallBackSuspended + 1: "unknown",
	} {
		if why.String() != name {
			t.Errorf("%v instead of %s", why, name)
		}
	}
}
