package adjourn_test

import (
	"errors"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// A newer server may answer with numbers that this version does not know.

func TestAnUnknownOutcomeOfAPushIsInDoubtForThisJobOnly(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		id, _ := p.next()
		p.say(id, &wire.Pushed{Results: []wire.PushResult{{Outcome: 9, Job: 42}, {Outcome: wire.OutcomeKept, Job: 41}}})
		p.serve()
	})
	q := dialScripted(t, address)
	results := must[[]adjourn.PushResult](t)(q.PushBatch(testContext(t), "t", make([]adjourn.NewJob, 2)))
	var refused *adjourn.Error
	if first := results[0]; first.Outcome != adjourn.Refused || !errors.Is(first.Err, adjourn.ErrOutcomeUnknown) ||
		!errors.As(first.Err, &refused) || refused.Applied != adjourn.UnknownOutcome || refused.Job != 42 {
		t.Errorf("%+v", first)
	}
	if second := results[1]; second.Outcome != adjourn.Kept || second.ID != 41 || second.Err != nil {
		t.Errorf("%+v", second)
	}
}

func TestUnknownStatesAreShownAsUnknown(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		id, _ := p.next()
		p.say(id, &wire.Job{Shown: wire.Shown{Job: 42, Topic: "t", State: 9, Buried: 8}})
		id, _ = p.next()
		p.say(id, &wire.Changed{Job: 42, State: 9})
		p.serve()
	})
	q, ctx := dialScripted(t, address), testContext(t)
	info := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(42)))
	if info.State.String() != "unknown" || info.Buried.String() != "unknown" || info.ID != 42 {
		t.Errorf("%+v", info)
	}
	change := must[adjourn.Change](t)(q.RescheduleAt(ctx, adjourn.ByID(42), time.Now()))
	if change.State != 9 || change.State.String() != "unknown" {
		t.Errorf("%+v", change)
	}
	if _, err := q.Count(ctx, adjourn.Filter{States: []adjourn.State{change.State}}); !errors.Is(err, adjourn.ErrUsage) {
		t.Errorf("%v", err)
	}
}
