package adjourn_test

import (
	"errors"
	"testing"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// A HELLO that was given up may arrive late, and take the session over from the client's own newer connection.

// pushThenTakenOver reads a push and says that the session was taken over.
func pushThenTakenOver(p *peer) {
	if _, m := p.next(); m != nil {
		if push, is := m.(*wire.Push); !is || push.Sequence != 1 {
			p.t.Errorf("%+v", m)
		}
	}
	p.say(0, &wire.GoingAway{Message: "taken over", Reason: wire.GoingAwaySessionTakenOver})
}

func TestAClientComesBackOnceForEachHelloThatItGaveUp(t *testing.T) {
	address, connections := scripted(t, func(p *peer) {
		p.welcome(nil)
		p.next()
	}, func(p *peer) {
		p.next() // HELLO: the stream ends without an answer
	}, func(p *peer) {
		p.next()
	}, func(p *peer) {
		p.welcome(nil)
		pushThenTakenOver(p)
	}, func(p *peer) {
		p.welcome(nil)
		pushThenTakenOver(p)
	}, func(p *peer) {
		p.welcome(nil)
		pushThenTakenOver(p)
	})
	q := dialScripted(t, address)
	if _, err := q.Push(testContext(t), "t", ""); !errors.Is(err, adjourn.ErrSessionTaken) || !errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	if n := connections.Load(); n != 6 {
		t.Errorf("%d connections", n)
	}
}

func TestAHelloThatWasAnsweredOrNamedAnotherSessionIsNotCounted(t *testing.T) {
	refuses := func(p *peer) {
		id, _ := p.next()
		p.say(id, &wire.Error{Code: uint16(adjourn.ErrNoLeader), Marks: wire.ErrorMarkRetryable})
	}
	for name, scripts := range map[string][]func(p *peer){
		"answered with a refusal": {refuses, func(p *peer) {
			p.welcome(nil)
			pushThenTakenOver(p)
		}},
		"the session is new": {func(p *peer) { p.next() }, func(p *peer) {
			p.welcome(func(w *wire.Welcome) { w.Marks, w.Session = 0, 10 })
			pushThenTakenOver(p)
		}},
	} {
		scripts := scripts
		t.Run(name, func(t *testing.T) {
			address, connections := scripted(t, append([]func(p *peer){func(p *peer) { p.welcome(nil) }}, scripts...)...)
			q, ctx := dialScripted(t, address), testContext(t)
			eventually(t, "the third connection", func() bool { return q.Info().Connections == 2 })
			if _, err := q.Push(ctx, "t", ""); !errors.Is(err, adjourn.ErrSessionTaken) {
				t.Errorf("%v", err)
			}
			if n := connections.Load(); n != 3 {
				t.Errorf("%d connections", n)
			}
		})
	}
}
