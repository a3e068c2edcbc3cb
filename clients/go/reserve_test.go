package adjourn_test

import (
	"context"
	"errors"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

var oneJob = &wire.Reserved{Jobs: []wire.Delivered{{Job: 42, Fence: 7, Attempts: 1, TtrLeftMs: 60_000, Topic: "t"}}}

// nextReserve is the next RESERVE, whose wait has to be the rest of the one before.
func (p *peer) nextReserve(waitMax uint64) (uint32, uint64) {
	id, m := p.next()
	reserve, is := m.(*wire.Reserve)
	if !is || reserve.WaitMs == 0 || reserve.WaitMs > waitMax {
		p.t.Errorf("%+v instead of a RESERVE that waits %d ms at most", m, waitMax)
		return id, 0
	}
	return id, reserve.WaitMs
}

func TestAReserveWhoseWaitEndedEarlyGoesOnHereAndOnTheNextConnection(t *testing.T) {
	waits := make(chan uint64, 1)
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		id, wait := p.nextReserve(20_000)
		p.say(id, &wire.Reserved{})
		id, wait = p.nextReserve(wait)
		waits <- wait
		p.say(0, &wire.GoingAway{Message: "stops", Reason: 1})
		p.say(id, &wire.Reserved{})
		p.next()
	}, func(p *peer) {
		p.welcome(nil)
		for {
			switch id, m := p.next(); m := m.(type) {
			case nil:
				return
			case *wire.Leases:
				p.say(id, &wire.Leased{})
			case *wire.Reserve:
				if last := <-waits; m.WaitMs == 0 || m.WaitMs > last {
					t.Errorf("%d ms after %d ms", m.WaitMs, last)
				}
				p.say(id, oneJob)
			default:
				p.say(id, &wire.Done{})
			}
		}
	})
	q := dialScripted(t, address)
	if job := reserveOne(t, q, "t"); job.ID != 42 {
		t.Errorf("job %d", job.ID)
	}
}

func TestAReserveGoesOnIfTheLeaseOfEveryJobIsOver(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		id, wait := p.nextReserve(20_000)
		late := *oneJob
		late.Jobs = []wire.Delivered{{Job: 41, Fence: 6, Attempts: 1, TtrLeftMs: 60_000, Topic: "t", DeadlineMs: 1}} // as WELCOME's clock
		p.say(id, &late)
		id, _ = p.nextReserve(wait)
		p.say(id, oneJob)
		p.serve()
	})
	if job := reserveOne(t, dialScripted(t, address), "t"); job.ID != 42 {
		t.Errorf("job %d", job.ID)
	}
}

func TestAServerThatAlwaysAnswersAtOnceIsNotAskedAllTheTime(t *testing.T) {
	asked := make(chan int, 1)
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		n := 0
		for {
			id, m := p.next()
			if _, is := m.(*wire.Reserve); !is {
				asked <- n
				p.say(id, &wire.Done{})
				return
			}
			n++
			p.say(id, &wire.Reserved{})
		}
	})
	q, ctx := dialScripted(t, address), testContext(t)
	jobs := must[[]*adjourn.Job](t)(q.Reserve(ctx, adjourn.ReserveRequest{Topics: []string{"t"}, Wait: 300 * time.Millisecond}))
	if err := q.Pause(ctx, "t"); err != nil {
		t.Error(err)
	}
	if n := <-asked; len(jobs) != 0 || n < 2 || n > 30 {
		t.Errorf("%d jobs, asked %d times", len(jobs), n)
	}
}

func TestAReserveThatPausesCanBeCancelled(t *testing.T) {
	answered := make(chan struct{})
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		for {
			id, m := p.next()
			switch m.(type) {
			case nil:
				return
			case *wire.Reserve:
				p.say(id, &wire.Reserved{})
				select {
				case answered <- struct{}{}:
				default:
				}
			default:
				p.say(id, &wire.Done{})
			}
		}
	})
	q := dialScripted(t, address)
	ctx, cancel := context.WithCancel(testContext(t))
	go func() {
		<-answered
		cancel()
	}()
	_, err := q.Reserve(ctx, adjourn.ReserveRequest{Topics: []string{"t"}, Wait: time.Hour})
	if !errors.Is(err, context.Canceled) || errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
}
