package adjourn_test

import (
	"errors"
	"fmt"
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
	pages := map[string]wire.Schedules{
		"":  {Cursor: []byte("5"), Schedules: []wire.ListedSchedule{{Topic: "t", Name: "first"}}},
		"5": {Cursor: []byte("9")},
		"9": {Schedules: []wire.ListedSchedule{{Topic: "t", Name: "last"}}},
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
				SchedulesMax: limits.SchedulesListedMax, NextBeforeMs: 7, Paused: wire.WhichPausedActive, Topic: "t", Prefix: "p", Cursor: list.Cursor,
			}
			if !reflect.DeepEqual(*list, want) {
				t.Errorf("%+v", list)
			}
			page := pages[string(list.Cursor)]
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

func TestSchedulesOfAllTopicsAreListed(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	for _, one := range [][2]string{{"b", "first"}, {"a", "second"}, {"b", "third"}} {
		must[adjourn.Scheduled](t)(q.SetSchedule(ctx, one[0], one[1], adjourn.ScheduleRules{When: "@daily"}, adjourn.JobTemplate{}))
	}
	topics := map[string][]string{}
	for _, one := range must[[]adjourn.ListedSchedule](t)(q.Schedules(ctx, "", adjourn.ScheduleFilter{})) {
		topics[one.Topic] = append(topics[one.Topic], one.Name)
	}
	if want := map[string][]string{"a": {"second"}, "b": {"first", "third"}}; !reflect.DeepEqual(topics, want) {
		t.Errorf("%v", topics)
	}
	listed := must[[]adjourn.ListedSchedule](t)(q.Schedules(ctx, "", adjourn.ScheduleFilter{Prefix: "s"}))
	if len(listed) != 1 || listed[0].Topic != "a" || listed[0].Name != "second" {
		t.Errorf("%+v", listed)
	}
}

var january = time.Date(2024, 1, 1, 9, 0, 0, 0, time.UTC)

func TestATimeThatHasPassedIsCountedAndFilled(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	must[adjourn.Scheduled](t)(q.SetSchedule(ctx, "t", "daily", adjourn.ScheduleRules{When: "0 9 * * *"}, adjourn.JobTemplate{Body: "report"}))
	day := func(days int) time.Time { return january.AddDate(0, 0, days) }
	for _, one := range []struct {
		days   int
		dryRun bool
		want   adjourn.ScheduleFilled
	}{
		{2, true, adjourn.ScheduleFilled{Instants: 3}},
		{1, false, adjourn.ScheduleFilled{Instants: 2, Pushed: 2}},
		{2, false, adjourn.ScheduleFilled{Instants: 3, Pushed: 1, Kept: 2}},
	} {
		filled := must[adjourn.ScheduleFilled](t)(q.FillSchedule(ctx, "t", "daily", january, day(one.days), one.dryRun))
		if filled != one.want {
			t.Errorf("%d days: %+v", one.days, filled)
		}
	}
	jobs := takeNow(t, q, "t")
	for i, job := range jobs {
		if want := fmt.Sprintf("daily@%d", day(i).UnixMilli()); job.Key != want || string(job.Body) != "report" {
			t.Errorf("%+v, not %s", job, want)
		}
	}
	if info := must[*adjourn.ScheduleInfo](t)(q.Schedule(ctx, "t", "daily")); len(jobs) != 3 || len(info.History) != 0 || info.Fired != 0 {
		t.Errorf("%d jobs, %+v", len(jobs), info)
	}
	for _, to := range []time.Time{day(-1), must[time.Time](t)(q.Ping(ctx)).Add(time.Hour)} {
		if _, err := q.FillSchedule(ctx, "t", "daily", january, to, false); !errors.Is(err, adjourn.ErrInvalid) {
			t.Errorf("until %v: %v", to, err)
		}
	}
	if _, err := q.FillSchedule(ctx, "t", "weekly", january, day(1), false); !errors.Is(err, adjourn.ErrNotFound) {
		t.Errorf("no such schedule: %v", err)
	}
	if _, err := q.FillSchedule(ctx, "t", "daily", time.Time{}, day(1), false); !errors.Is(err, adjourn.ErrUsage) {
		t.Errorf("no first time: %v", err)
	}
}

// The first time is rounded up and the last one is not, so that nothing outside of them counts.
func TestATimeIsFilledInParts(t *testing.T) {
	wants := []wire.ScheduleFill{
		{FromMs: 2, ToMs: 9, DryRun: 1, Topic: "t", Name: "s"}, {FromMs: 5, ToMs: 9, DryRun: 1, Topic: "t", Name: "s"},
	}
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		for i := range wants {
			id, m := p.next()
			if !reflect.DeepEqual(m, &wants[i]) {
				t.Errorf("%+v", m)
			}
			p.say(id, &wire.ScheduleFilled{NextMs: []uint64{5, 0}[i], Instants: 4, Pushed: 3, Kept: 2, Refused: 1})
		}
		p.serve()
	})
	q, ctx := dialScripted(t, address), testContext(t)
	from, to := time.UnixMilli(1).Add(time.Microsecond), time.UnixMilli(9).Add(time.Microsecond)
	var parts []adjourn.ScheduleFilled
	for !from.IsZero() {
		part := must[adjourn.ScheduleFilled](t)(q.FillSchedule(ctx, "t", "s", from, to, true))
		parts, from = append(parts, part), part.Next
	}
	part := adjourn.ScheduleFilled{Instants: 4, Pushed: 3, Kept: 2, Refused: 1}
	first := part
	first.Next = time.UnixMilli(5)
	if want := []adjourn.ScheduleFilled{first, part}; !reflect.DeepEqual(parts, want) {
		t.Errorf("%+v", parts)
	}
}

func TestAScheduleIsPreviewedWithoutSettingIt(t *testing.T) {
	q, ctx := adjourntest.Start(t).Dial(), testContext(t)
	sundays := adjourn.ScheduleRules{When: "30 2 * * 7", Zone: "Europe/Berlin"}
	gap := time.Date(2024, 3, 31, 1, 0, 0, 0, time.UTC)
	preview := must[*adjourn.SchedulePreview](t)(q.PreviewSchedule(ctx, sundays, gap.Add(-time.Microsecond), 2))
	want := []adjourn.LocalInstant{
		{Instant: gap.Local(), Local: "2024-03-31 03:00:00 +02:00 CEST"},
		{Instant: gap.Add(168*time.Hour - 30*time.Minute).Local(), Local: "2024-04-07 02:30:00 +02:00 CEST"},
	}
	if !reflect.DeepEqual(preview.Instants, want) || preview.ZoneData == "" {
		t.Errorf("%+v", preview)
	}
	now := must[time.Time](t)(q.Ping(ctx))
	minutely, past := adjourn.ScheduleRules{When: "* * * * *"}, adjourn.ScheduleRules{When: "@at 2024-01-01T00:00:00Z"}
	preview = must[*adjourn.SchedulePreview](t)(q.PreviewSchedule(ctx, minutely, time.Time{}, 1))
	if soon := preview.Instants; len(soon) != 1 || !soon[0].Instant.After(now) || soon[0].Instant.Sub(now) > time.Minute {
		t.Errorf("after %v: %+v", now, soon)
	}
	if over := must[*adjourn.SchedulePreview](t)(q.PreviewSchedule(ctx, past, gap, 1)); len(over.Instants) != 0 {
		t.Errorf("%+v", over)
	}
	if listed := must[[]adjourn.ListedSchedule](t)(q.Schedules(ctx, "", adjourn.ScheduleFilter{})); len(listed) != 0 {
		t.Errorf("it was set: %+v", listed)
	}
	for _, rules := range []adjourn.ScheduleRules{{When: "61 * * * *"}, {When: "@daily", Zone: "Mars/Olympus"}} {
		if _, err := q.PreviewSchedule(ctx, rules, time.Time{}, 1); !errors.Is(err, adjourn.ErrInvalid) {
			t.Errorf("%+v: %v", rules, err)
		}
	}
}

func TestAPreviewThatCannotBeIsRefused(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		p.serve()
	})
	q, ctx, daily := dialScripted(t, address), testContext(t), adjourn.ScheduleRules{When: "@daily"}
	for _, one := range []struct {
		rules adjourn.ScheduleRules
		after time.Time
		count int
	}{
		{daily, time.Time{}, 0}, {daily, time.Time{}, limits.InstantsShownMax + 1}, {daily, time.Unix(0, 0), 1},
		{adjourn.ScheduleRules{}, time.Time{}, 1},
	} {
		if _, err := q.PreviewSchedule(ctx, one.rules, one.after, one.count); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%+v: %v", one, err)
		}
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
