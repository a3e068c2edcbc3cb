package adjourn_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

func TestAScheduleFiresIsShownAndChanged(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	rules := adjourn.ScheduleRules{When: "* * * * *", Overlap: adjourn.OverlapSkip}
	template := adjourn.JobTemplate{Body: "report", Priority: pointer(uint32(3)), Attributes: adjourn.Attributes{AttemptsMax: 2}}
	set := must[adjourn.Scheduled](t)(q.SetSchedule(ctx, "reports", "minutely", rules, template, adjourn.IfNoSchedule()))
	if set.Version != 1 || set.Next.Second() != 0 || set.ID == 0 {
		t.Errorf("%+v", set)
	}
	for _, refused := range []adjourn.ScheduleOption{adjourn.IfNoSchedule(), adjourn.IfScheduleVersion(7)} {
		if _, err := q.SetSchedule(ctx, "reports", "minutely", rules, template, refused); !errors.Is(err, adjourn.ErrChanged) {
			t.Errorf("another version: %v", err)
		}
	}
	if now := must[time.Time](t)(q.AdvanceToNext(ctx)); !now.Equal(set.Next) {
		t.Fatalf("the clock shows %v, not %v", now, set.Next)
	}
	jobs := takeNow(t, q, "reports")
	if len(jobs) != 1 || string(jobs[0].Body) != "report" || jobs[0].Priority != 3 {
		t.Fatalf("%+v", jobs)
	}
	if err := jobs[0].Finish(ctx); err != nil {
		t.Fatal(err)
	}
	info := must[*adjourn.ScheduleInfo](t)(q.Schedule(ctx, "reports", "minutely"))
	fired := adjourn.Firing{Instant: set.Next, Last: set.Next, Instants: 1, At: set.Next, Job: jobs[0].ID, Outcome: adjourn.FiringFinished}
	if !reflect.DeepEqual(info.History, []adjourn.Firing{fired}) {
		t.Errorf("%+v", info.History)
	}
	if body, _ := info.Template.Body.([]byte); string(body) != "report" || *info.Template.Priority != 3 || info.Template.AttemptsMax != 2 {
		t.Errorf("%+v", info.Template)
	}
	rules.Origin = info.Rules.Origin // the server's choice is shown
	if info.Rules.Origin.IsZero() || info.Fired != 1 || info.Running != 0 || info.Rules != rules || !info.Next.Equal(set.Next.Add(time.Minute)) {
		t.Errorf("%+v", info)
	}
	changed := info.Rules
	changed.Note = "as it was shown"
	again := must[adjourn.Scheduled](t)(q.SetSchedule(ctx, "reports", "minutely", changed, info.Template, adjourn.IfScheduleVersion(info.Version)))
	if again.Version != 2 || again.ID != set.ID || !again.Next.Equal(info.Next) {
		t.Errorf("%+v", again)
	}
	if shown := must[*adjourn.ScheduleInfo](t)(q.Schedule(ctx, "reports", "minutely")); !reflect.DeepEqual(shown.Template, info.Template) ||
		shown.Rules != changed || len(shown.History) != 1 {
		t.Errorf("%+v", shown)
	}
}

func TestSchedulesAreListedPausedRunAndDeleted(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	start := must[time.Time](t)(q.Ping(ctx)).Truncate(time.Millisecond)
	all := adjourn.ScheduleRules{
		When: "@every 90s", Zone: "Europe/Berlin", DST: adjourn.DSTLiteral, Origin: start.Add(time.Hour), Start: start.Add(2 * time.Hour),
		End: start.Add(99 * time.Hour), Count: 9, Jitter: 3 * time.Second, Missed: adjourn.MissedAll, MissedWindow: time.Hour, MissedMax: 7,
		Overlap: adjourn.OverlapQueueOne, FailuresMax: 5, Key: "k", Note: "for people",
	}
	names := []string{"z", "a"}
	for _, name := range names {
		must[adjourn.Scheduled](t)(q.SetSchedule(ctx, "t", name, all, adjourn.JobTemplate{Body: []byte(name), TTR: time.Minute}))
	}
	listed := must[[]adjourn.ListedSchedule](t)(q.Schedules(ctx, "t", adjourn.ScheduleFilter{}))
	if len(listed) != 2 {
		t.Fatalf("%+v", listed)
	}
	for i, one := range listed {
		if one.Topic != "t" || one.Name != names[i] || one.Version != 1 || one.Paused != adjourn.NotPaused || !reflect.DeepEqual(one.Rules, all) {
			t.Errorf("%+v", one)
		}
	}
	if err := q.PauseSchedule(ctx, "t", "z", "for now"); err != nil {
		t.Error(err)
	}
	paused := func() adjourn.SchedulePause { return must[*adjourn.ScheduleInfo](t)(q.Schedule(ctx, "t", "z")).Paused }
	if why := paused(); why != adjourn.PausedByUser {
		t.Errorf("paused: %v", why)
	}
	if note := must[*adjourn.ScheduleInfo](t)(q.Schedule(ctx, "t", "z")).PauseNote; note != "for now" {
		t.Errorf("paused with the note %q", note)
	}
	if err := q.ResumeSchedule(ctx, "t", "z"); err != nil {
		t.Error(err)
	}
	if why := paused(); why != adjourn.NotPaused {
		t.Errorf("resumed: %v", why)
	}
	id := must[adjourn.JobID](t)(q.RunSchedule(ctx, "t", "z"))
	if jobs := takeNow(t, q, "t"); len(jobs) != 1 || jobs[0].ID != id || string(jobs[0].Body) != "z" || jobs[0].Key != "k" {
		t.Errorf("%+v", jobs)
	}
	if _, err := q.RunSchedule(ctx, "t", "z"); !errors.Is(err, adjourn.ErrKeyExists) {
		t.Errorf("a fixed key: %v", err)
	}
	if err := q.DeleteSchedule(ctx, "t", "z"); err != nil {
		t.Error(err)
	}
	if _, err := q.Schedule(ctx, "t", "z"); !errors.Is(err, adjourn.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
}

func TestAllPagesOfSchedulesAreListed(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	const count = limits.SchedulesListedMax + 1
	for i := 0; i < count; i++ {
		must[adjourn.Scheduled](t)(q.SetSchedule(ctx, "t", time.Duration(i).String(), adjourn.ScheduleRules{When: "@daily"}, adjourn.JobTemplate{}))
	}
	listed := must[[]adjourn.ListedSchedule](t)(q.Schedules(ctx, "t", adjourn.ScheduleFilter{}))
	if len(listed) != count || listed[count-1].Name != time.Duration(count-1).String() {
		t.Errorf("%d schedules", len(listed))
	}
}

func namesOf(listed []adjourn.ListedSchedule) (names []string) {
	for i := range listed {
		names = append(names, listed[i].Name)
	}
	return names
}

func TestSchedulesAreListedByConditions(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	at := func(hours int) time.Time { return time.Date(2090, 1, 1, hours, 0, 0, 0, time.UTC) }
	for i, name := range []string{"a.1", "a.2", "b.1", "b.2"} {
		rules := adjourn.ScheduleRules{When: "@at " + at(i).Format(time.RFC3339)}
		must[adjourn.Scheduled](t)(q.SetSchedule(ctx, "t", name, rules, adjourn.JobTemplate{}))
	}
	for _, name := range []string{"a.2", "b.1"} {
		if err := q.PauseSchedule(ctx, "t", name, ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, one := range []struct {
		filter adjourn.ScheduleFilter
		want   []string
	}{
		{adjourn.ScheduleFilter{}, []string{"a.1", "a.2", "b.1", "b.2"}},
		{adjourn.ScheduleFilter{Prefix: "a."}, []string{"a.1", "a.2"}},
		{adjourn.ScheduleFilter{Paused: pointer(true)}, []string{"a.2", "b.1"}},
		{adjourn.ScheduleFilter{Paused: pointer(false)}, []string{"a.1", "b.2"}},
		{adjourn.ScheduleFilter{NextBefore: at(2)}, []string{"a.1", "a.2"}},
		{adjourn.ScheduleFilter{Prefix: "b", Paused: pointer(true), NextBefore: at(3)}, []string{"b.1"}},
		{adjourn.ScheduleFilter{Prefix: "b", Paused: pointer(true), NextBefore: at(2)}, nil},
	} {
		if names := namesOf(must[[]adjourn.ListedSchedule](t)(q.Schedules(ctx, "t", one.filter))); !reflect.DeepEqual(names, one.want) {
			t.Errorf("%+v: %v", one.filter, names)
		}
	}
	for _, refused := range []adjourn.ScheduleFilter{{NextBefore: time.Unix(0, 0)}, {Prefix: strings.Repeat("n", limits.ScheduleNameBytesMax+1)}} {
		if _, err := q.Schedules(ctx, "t", refused); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%+v: %v", refused, err)
		}
	}
}

// A page may be short or empty: its answer says where the next one begins.
func TestPagesOfSchedulesGoOnWhereTheAnswerSays(t *testing.T) {
	pages := map[uint64]wire.Schedules{
		0: {After: 5, Schedules: []wire.ListedSchedule{{Topic: "t", Name: "first"}}},
		5: {After: 9},
		9: {Schedules: []wire.ListedSchedule{{Topic: "t", Name: "last"}}},
	}
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		for range pages {
			id, m := p.next()
			list, is := m.(*wire.ScheduleList)
			if !is {
				t.Errorf("%+v", m)
				return
			}
			want := wire.ScheduleList{
				After: list.After, SchedulesMax: limits.SchedulesListedMax, NextBeforeMs: 7, Paused: wire.WhichPausedActive, Topic: "t", Prefix: "p",
			}
			if *list != want {
				t.Errorf("%+v", list)
			}
			page := pages[list.After]
			p.say(id, &page)
		}
		p.serve()
	})
	filter := adjourn.ScheduleFilter{Prefix: "p", Paused: pointer(false), NextBefore: time.UnixMilli(7)}
	listed := must[[]adjourn.ListedSchedule](t)(dialScripted(t, address).Schedules(testContext(t), "t", filter))
	if names := namesOf(listed); !reflect.DeepEqual(names, []string{"first", "last"}) {
		t.Errorf("%v", names)
	}
}

func TestRulesThatCannotBeAreRefused(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	for _, rules := range []adjourn.ScheduleRules{
		{}, {When: "@daily", Jitter: -1}, {When: "@daily", Jitter: 1000 * time.Hour * 24}, {When: "@daily", MissedWindow: -1},
		{When: "@daily", End: time.Unix(-1, 0)},
	} {
		if _, err := q.SetSchedule(ctx, "t", "s", rules, adjourn.JobTemplate{}); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%+v: %v", rules, err)
		}
	}
	if _, err := q.SetSchedule(ctx, "t", "s", adjourn.ScheduleRules{When: "@daily"}, adjourn.JobTemplate{}, adjourn.IfScheduleVersion(0)); !errors.Is(err, adjourn.ErrUsage) {
		t.Errorf("version 0: %v", err)
	}
	if _, err := q.SetSchedule(ctx, "t", "s", adjourn.ScheduleRules{When: "0 0 31 2 *"}, adjourn.JobTemplate{}); !errors.Is(err, adjourn.ErrInvalid) {
		t.Errorf("it never fires: %v", err)
	}
}

func TestAScheduleOfANewerServerIsShown(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		id, _ := p.next()
		p.say(id, &wire.Schedule{
			State: wire.ScheduleState{Schedule: 4, Paused: 9}, ScheduleRules: wire.ScheduleRules{Dst: 9, Missed: 9, Overlap: 9, When: "@never"},
			History: []wire.Firing{{Fired: 99}},
		})
		p.serve()
	})
	info := must[*adjourn.ScheduleInfo](t)(dialScripted(t, address).Schedule(testContext(t), "t", "s"))
	if info.ID != 4 || info.Paused.String() != "unknown" || info.Rules.DST.String() != "unknown" || info.Rules.Missed.String() != "unknown" ||
		info.Rules.Overlap.String() != "unknown" || info.History[0].Outcome.String() != "unknown" {
		t.Errorf("%+v", info)
	}
}
