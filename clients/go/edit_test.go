package adjourn_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// editor answers edits, and passes them on.
func editor(t *testing.T) (q *adjourn.Client, edits chan *wire.Edit) {
	edits = make(chan *wire.Edit, 9)
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		for {
			id, m := p.next()
			edit, is := m.(*wire.Edit)
			if !is {
				return
			}
			edits <- edit
			p.say(id, &wire.Changed{Job: edit.Ref.Job, DueMs: 5, State: wire.StateBuried, Version: 8})
		}
	})
	return dialScripted(t, address), edits
}

func TestEachPartOfAnEditIsSentAlone(t *testing.T) {
	type fields = wire.Edit
	at, retention := time.UnixMilli(1_767_225_600_000), uint64(60_000)
	cases := map[string]struct {
		edit adjourn.EditOption
		want fields
	}{
		"a delay":         {adjourn.Delay(1), fields{Edited: wire.EditedDue, DueMs: 1}},
		"at once":         {adjourn.Delay(0), fields{Edited: wire.EditedDue}},
		"a time":          {adjourn.At(at), fields{Edited: wire.EditedDue, DueKind: wire.DueKindAt, DueMs: 1_767_225_600_000}},
		"a priority":      {adjourn.Priority(0), fields{Edited: wire.EditedPriority}},
		"a ttr":           {adjourn.TTR(time.Second), fields{Edited: wire.EditedTtr, TtrMs: 1000}},
		"the default ttr": {adjourn.TTR(0), fields{Edited: wire.EditedTtr}},
		"a text": {adjourn.Body("x"), fields{Edited: wire.EditedBody, Body: []byte("x"),
			Attributes: wire.Attributes{Headers: []wire.Header{{Name: "content-type", Value: "text/plain; charset=utf-8"}}}}},
		"a value": {adjourn.Body(map[string]int{"a": 1}), fields{Edited: wire.EditedBody, Body: []byte(`{"a":1}`),
			Attributes: wire.Attributes{Headers: []wire.Header{{Name: "content-type", Value: "application/json"}}}}},
		"no body": {adjourn.Body(nil), fields{Edited: wire.EditedBody}},
		"headers": {adjourn.Headers(adjourn.Header{Name: "a", Value: "1"}), fields{Edited: wire.EditedHeaders,
			Attributes: wire.Attributes{Headers: []wire.Header{{Name: "a", Value: "1"}}}}},
		"an expiry": {adjourn.ExpiresAfter(1), fields{Edited: wire.EditedExpires,
			Attributes: wire.Attributes{Expires: &wire.Expiry{Kind: wire.DueKindAfter, Ms: 1}}}},
		"an expiry at a time": {adjourn.ExpiresAt(at), fields{Edited: wire.EditedExpires,
			Attributes: wire.Attributes{Expires: &wire.Expiry{Kind: wire.DueKindAt, Ms: 1_767_225_600_000}}}},
		"attempts": {adjourn.Attempts(3), fields{Edited: wire.EditedAttemptsMax,
			Attributes: wire.Attributes{AttemptsMax: pointer(uint32(3))}}},
		"a backoff": {adjourn.RetryBackoff(adjourn.FixedBackoff(time.Second)), fields{Edited: wire.EditedBackoff,
			Attributes: wire.Attributes{Backoff: &wire.Backoff{WaitsMs: []uint32{1000}}}}},
		"a retention": {adjourn.Remember(time.Minute), fields{Edited: wire.EditedDedupeRetention,
			Attributes: wire.Attributes{DedupeRetentionMs: &retention}}},
		"a group": {adjourn.Group("ann"), fields{Edited: wire.EditedGroup,
			Attributes: wire.Attributes{Group: pointer("ann")}}},
		"without headers":   {adjourn.WithoutHeaders(), fields{Edited: wire.EditedHeaders}},
		"without an expiry": {adjourn.WithoutExpiry(), fields{Edited: wire.EditedExpires}},
		"without attempts":  {adjourn.WithoutAttempts(), fields{Edited: wire.EditedAttemptsMax}},
		"without a backoff": {adjourn.WithoutRetryBackoff(), fields{Edited: wire.EditedBackoff}},
		"without retention": {adjourn.WithoutRemember(), fields{Edited: wire.EditedDedupeRetention}},
		"without a group":   {adjourn.WithoutGroup(), fields{Edited: wire.EditedGroup}},
	}
	q, edits := editor(t)
	ctx, all := testContext(t), uint16(0)
	for what, c := range cases {
		change := must[adjourn.Change](t)(q.Edit(ctx, adjourn.ByID(7), c.edit, adjourn.IfVersion(3)))
		if want := (adjourn.Change{ID: 7, Due: time.UnixMilli(5), State: adjourn.Buried, Version: 8}); change != want {
			t.Errorf("%s: %+v", what, change)
		}
		got := <-edits
		c.want.Ref, c.want.IfVersion = wire.JobRef{Job: 7}, 3
		if c.want.Edited != wire.EditedPriority {
			c.want.Priority = limits.PriorityUnsaid
		}
		if fmt.Sprintf("%q", got.Body) != fmt.Sprintf("%q", c.want.Body) {
			t.Errorf("%s: the body is %q", what, got.Body)
		}
		got.Body = c.want.Body // none, or nil
		if !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v instead of %+v", what, *got, c.want)
		}
		all |= got.Edited
	}
	if all != wire.EditedGroup<<1-1 {
		t.Errorf("only the parts %b can be edited", all)
	}
}

func TestTheContentTypeGoesWithTheBody(t *testing.T) {
	q, edits := editor(t)
	ctx := testContext(t)
	own := make([]adjourn.Header, 1, 2)
	own[0] = adjourn.Header{Name: "a", Value: "1"}
	typed := adjourn.Header{Name: "Content-Type", Value: "text/html"}
	for _, c := range []struct {
		edits []adjourn.EditOption
		want  []wire.Header
	}{
		{[]adjourn.EditOption{adjourn.Headers(own...), adjourn.Body("x")},
			[]wire.Header{{Name: "a", Value: "1"}, {Name: "content-type", Value: "text/plain; charset=utf-8"}}},
		{[]adjourn.EditOption{adjourn.Body("x"), adjourn.Headers(typed)}, []wire.Header{wire.Header(typed)}},
		{[]adjourn.EditOption{adjourn.Body([]byte("x")), adjourn.Headers(own...)}, []wire.Header{{Name: "a", Value: "1"}}},
		{[]adjourn.EditOption{adjourn.Body("x"), adjourn.WithoutHeaders()},
			[]wire.Header{{Name: "content-type", Value: "text/plain; charset=utf-8"}}},
		{[]adjourn.EditOption{adjourn.Body("x")}, []wire.Header{{Name: "content-type", Value: "text/plain; charset=utf-8"}}},
		{[]adjourn.EditOption{adjourn.Body([]byte("x"))}, nil},
		{[]adjourn.EditOption{adjourn.Headers(own...)}, []wire.Header{{Name: "a", Value: "1"}}},
	} {
		must[adjourn.Change](t)(q.Edit(ctx, adjourn.ByID(7), c.edits...))
		if got := (<-edits).Attributes.Headers; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v instead of %+v", got, c.want)
		}
	}
	if spare := own[:2][1]; spare != (adjourn.Header{}) {
		t.Errorf("the caller's list got %+v", spare)
	}
}

func TestWrongEditsAreNotSent(t *testing.T) {
	q, edits := editor(t)
	ctx := testContext(t)
	for what, wrong := range map[string][]adjourn.EditOption{
		"nothing":               nil,
		"only a version":        {adjourn.IfVersion(3)},
		"a key":                 {adjourn.Key("k")},
		"a policy for keys":     {adjourn.OnExisting(adjourn.Keep), adjourn.Priority(1)},
		"a bound of postponing": {adjourn.PostponeMax(time.Hour)},
		"one header":            {adjourn.WithHeader("a", "1")},
		"an own option":         {adjourn.PushOption(func(j *adjourn.NewJob) { j.Group = "x" })},
		"no headers":            {adjourn.Headers()},
		"an expiry at once":     {adjourn.ExpiresAfter(0)},
		"no attempt":            {adjourn.Attempts(0)},
		"no backoff":            {adjourn.RetryBackoff(nil)},
		"no retention":          {adjourn.Remember(0)},
		"no group":              {adjourn.Group("")},
		"new and taken away":    {adjourn.Attempts(3), adjourn.WithoutAttempts()},
		"the zero time":         {adjourn.At(time.Time{})},
		"a negative delay":      {adjourn.Delay(-1)},
		"a delay and a time":    {adjourn.Delay(1), adjourn.At(time.Now())},
		"two expiries":          {adjourn.ExpiresAfter(1), adjourn.ExpiresAt(time.Now())},
		"a negative ttr":        {adjourn.TTR(-1)},
		"a jitter above 100":    {adjourn.RetryBackoff(adjourn.FixedBackoff(1).WithJitter(101))},
		"an option as a body":   {adjourn.Body(adjourn.WithoutHeaders())},
		"a body above 1 MiB":    {adjourn.Body(make([]byte, 1<<20+1))},
	} {
		if _, err := q.Edit(ctx, adjourn.ByID(7), wrong...); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := q.Edit(ctx, adjourn.ByID(0), adjourn.Priority(1)); !errors.Is(err, adjourn.ErrUsage) {
		t.Errorf("job 0: %v", err)
	}
	if _, err := q.Push(ctx, "t", adjourn.Body("x")); !errors.Is(err, adjourn.ErrUsage) {
		t.Errorf("an edit as a body: %v", err)
	}
	if len(edits) > 0 {
		t.Errorf("%+v was sent", <-edits)
	}
}

func TestAnEditWithoutAnAnswerIsNotRepeated(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		p.next()
	}, func(p *peer) {
		p.welcome(nil)
		if _, m := p.next(); m != nil && m.Opcode() == wire.OpEdit {
			t.Error("it was repeated")
		}
	})
	if _, err := dialScripted(t, address).Edit(testContext(t), adjourn.ByID(7), adjourn.Priority(1)); !errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
}

func TestAnEditChangesOnlyItsParts(t *testing.T) { onBoth(t, testEdit) }

func testEdit(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(), testContext(t)
	id := must[adjourn.JobID](t)(q.Push(ctx, "t", "old", adjourn.Delay(time.Hour), adjourn.Key("k"), adjourn.Priority(5),
		adjourn.TTR(time.Minute), adjourn.WithHeader("a", "1"), adjourn.Attempts(3), adjourn.RetryBackoff(adjourn.FixedBackoff(time.Second)),
		adjourn.ExpiresAfter(9*time.Hour), adjourn.Remember(time.Hour), adjourn.Group("ann")))
	job := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id)))
	if !job.EditedAt.IsZero() {
		t.Errorf("it was edited at %v", job.EditedAt)
	}
	typed := adjourn.Header{Name: "content-type", Value: "text/plain; charset=utf-8"}
	soon, late := clockOf(ctx, q).Add(2*time.Hour), clockOf(ctx, q).Add(30*time.Hour)
	for _, one := range []struct {
		edit adjourn.EditOption
		want func(j *adjourn.JobInfo)
	}{
		{adjourn.At(soon), func(j *adjourn.JobInfo) { j.Due = soon }},
		{adjourn.Priority(7), func(j *adjourn.JobInfo) { j.Priority = 7 }},
		{adjourn.TTR(2 * time.Minute), func(j *adjourn.JobInfo) { j.TTR = 2 * time.Minute }},
		{adjourn.TTR(0), func(j *adjourn.JobInfo) { j.TTR = limits.TtrMsDefault * time.Millisecond }},
		{adjourn.Body("longer"), func(j *adjourn.JobInfo) { j.Body, j.BodyBytes = []byte("longer"), 6 }},
		{adjourn.Headers(adjourn.Header{Name: "b", Value: "2"}), func(j *adjourn.JobInfo) { j.Headers = []adjourn.Header{typed, {Name: "b", Value: "2"}} }},
		{adjourn.ExpiresAt(late), func(j *adjourn.JobInfo) { j.ExpiresAfter, j.ExpiresAt = 0, late }},
		{adjourn.Attempts(8), func(j *adjourn.JobInfo) { j.AttemptsMax = 8 }},
		{adjourn.RetryBackoff(adjourn.ListBackoff(time.Minute)), func(j *adjourn.JobInfo) { j.Backoff = adjourn.ListBackoff(time.Minute) }},
		{adjourn.Remember(time.Minute), func(j *adjourn.JobInfo) { j.Retention = time.Minute }},
		{adjourn.Group("bob"), func(j *adjourn.JobInfo) { j.Group = "bob" }},
		{adjourn.WithoutHeaders(), func(j *adjourn.JobInfo) { j.Headers = []adjourn.Header{typed} }},
		{adjourn.WithoutExpiry(), func(j *adjourn.JobInfo) { j.ExpiresAt = time.Time{} }},
		{adjourn.WithoutAttempts(), func(j *adjourn.JobInfo) { j.AttemptsMax = 25 }},
		{adjourn.WithoutRemember(), func(j *adjourn.JobInfo) { j.Retention = 0 }},
		{adjourn.WithoutGroup(), func(j *adjourn.JobInfo) { j.Group = "" }},
	} {
		before := job.Version
		change := must[adjourn.Change](t)(q.Edit(ctx, adjourn.ByKey("t", "k"), one.edit, adjourn.IfVersion(before)))
		want := *job
		one.want(&want)
		job = must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id)))
		if change.ID != id || change.State != adjourn.Delayed || change.Version != job.Version || job.Version == before || job.EditedAt.IsZero() {
			t.Errorf("%+v, %+v", change, job)
		}
		want.Version, want.EditedAt = job.Version, job.EditedAt
		if !reflect.DeepEqual(*job, want) {
			t.Errorf("%+v instead of %+v", *job, want)
		}
		if _, err := q.Edit(ctx, adjourn.ByID(id), one.edit, adjourn.IfVersion(before)); !errors.Is(err, adjourn.ErrChanged) {
			t.Errorf("%v", err)
		}
	}
	must[adjourn.Change](t)(q.Edit(ctx, adjourn.ByID(id), adjourn.WithoutRetryBackoff()))
	if b := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id))).Backoff; b == nil || b.Kind != adjourn.BackoffExponential {
		t.Errorf("the default of the server is not shown: %+v", b)
	}
}

func TestOnlyJobsThatNoConsumerHasAreEdited(t *testing.T) { onBoth(t, testEditStates) }

func testEditStates(t *testing.T, dial func(options ...adjourn.Option) *adjourn.Client) {
	q, ctx := dial(), testContext(t)
	ref := adjourn.ByID(must[adjourn.JobID](t)(q.Push(ctx, "t", "x", adjourn.Delay(time.Hour))))
	edit := func(edits ...adjourn.EditOption) error {
		_, err := q.Edit(ctx, ref, edits...)
		return err
	}
	if change := must[adjourn.Change](t)(q.Edit(ctx, ref, adjourn.Delay(0), adjourn.Body("y"))); change.State != adjourn.Ready {
		t.Errorf("%+v", change)
	}
	if err := edit(adjourn.ExpiresAt(time.UnixMilli(1))); !errors.Is(err, adjourn.ErrExpiresBeforeDue) {
		t.Errorf("%v", err)
	}
	job := reserveOne(t, q, "t")
	if string(job.Body) != "y" {
		t.Errorf("%q was delivered", job.Body)
	}
	if err := edit(adjourn.Priority(1)); !errors.Is(err, adjourn.ErrReserved) || errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	if err := job.Bury(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := edit(adjourn.Delay(time.Hour)); !errors.Is(err, adjourn.ErrWrongState) {
		t.Errorf("%v", err)
	}
	if change := must[adjourn.Change](t)(q.Edit(ctx, ref, adjourn.Body("z"))); change.State != adjourn.Buried {
		t.Errorf("%+v", change)
	}
	must[adjourn.Change](t)(q.Kick(ctx, ref))
	if job := reserveOne(t, q, "t"); string(job.Body) != "z" || job.Finish(context.Background()) != nil {
		t.Errorf("%q was delivered", job.Body)
	}
	if _, err := q.Edit(ctx, adjourn.ByKey("t", "none"), adjourn.Priority(1)); !errors.Is(err, adjourn.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := q.SetTopic(ctx, "t", adjourn.Policy{BodyBytesMax: pointer(uint32(3))}); err != nil {
		t.Fatal(err)
	}
	ref = adjourn.ByID(must[adjourn.JobID](t)(q.Push(ctx, "t", "x")))
	if err := edit(adjourn.Body("long")); !errors.Is(err, adjourn.ErrTooLarge) {
		t.Errorf("%v", err)
	}
}
