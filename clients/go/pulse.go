package adjourn

import (
	"errors"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

const (
	// A request that does not wait on purpose is answered within this time, or two heartbeats if that is more, or the
	// connection is stuck.
	answerMax = 5 * time.Second
	// WELCOME names the members once; this often the client asks for the newest.
	membersEvery = 10 * time.Second
	membersFirst = time.Second
)

var (
	errSilent  = errors.New("nothing came for two heartbeats")
	errStuck   = errors.New("a request has no answer, and nothing but heartbeats comes")
	errDrained = errors.New("the server is about to close the connection")
)

// pulse is what was heard and said on the present connection.
type pulse struct {
	every   time.Duration // between signs of life; 0: the server asks for none
	silence time.Duration // after this much of it the connection is lost
	answer  time.Duration // an answer takes at most this long
	heard   time.Time     // something came
	moved   time.Time     // something came or was taken that does not come from a stuck server
	spoken  time.Time     // something was sent
	pinged  time.Time
	members time.Time // when to ask for the members
}

func newPulse(now time.Time, every, heartbeat time.Duration) pulse {
	answer := answerMax
	if 2*heartbeat > answer {
		answer = 2 * heartbeat
	}
	return pulse{
		every: every, silence: 2 * heartbeat, answer: answer,
		heard: now, moved: now, spoken: now, pinged: now, members: now.Add(membersFirst),
	}
}

// tick does what is due by the clock. It returns when to look again, and why the connection is no good.
func (s *session) tick(now time.Time) (next time.Time, bad error) {
	next = now.Add(membersEvery)
	sooner := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	s.retryDelayed(now, sooner)
	if s.welcome == nil || s.ended != nil && s.state == linkDown {
		return next, nil
	}
	if s.leases.grace > 0 && !s.leases.areOver() {
		sooner(s.leases.proven.Add(s.leases.grace))
	}
	switch s.state {
	case linkDown:
		return next, nil
	case linkDraining:
		if s.drained() || !now.Before(s.drainBy) {
			return next, errDrained
		}
		sooner(s.drainBy)
	}
	if stuckAt, some := s.stuckAt(); some {
		if !now.Before(stuckAt) {
			return next, errStuck
		}
		sooner(stuckAt)
	}
	p := &s.pulse
	if s.state == linkUp {
		if !now.Before(p.members) {
			p.members = now.Add(membersEvery)
			s.ask(now, &wire.ClusterStatus{})
		}
		sooner(p.members)
	}
	if p.every == 0 {
		return next, nil
	}
	lost := p.heard.Add(p.silence)
	if !now.Before(lost) {
		return next, errSilent
	}
	sooner(lost)
	quiet := earliest(p.heard, p.spoken)
	if !s.cfg.withoutSession {
		quiet = earliest(quiet, s.leases.proven)
	}
	due := latest(quiet, p.pinged).Add(p.every)
	if !now.Before(due) && s.state == linkUp {
		s.ask(now, &wire.Ping{})
		p.pinged = now
		due = now.Add(p.every)
	}
	sooner(due)
	return next, nil
}

// ask sends a question of the session's own, past everything that waits for its turn.
func (s *session) ask(now time.Time, m wire.Message) {
	c := s.accept(now, m, nil)
	s.line = s.line[:len(s.line)-1]
	c.own = true
	s.send(now, c)
}

// stuckAt is when the request that has waited longest for its answer has waited too long. Heartbeats do not count: a
// server that answers only them is stuck.
func (s *session) stuckAt() (time.Time, bool) {
	var oldest time.Time
	for _, c := range s.open {
		if !c.onWire || c.sub != nil || c.own {
			continue
		}
		if since := c.sent.Add(c.wait()); oldest.IsZero() || since.Before(oldest) {
			oldest = since
		}
	}
	if oldest.IsZero() {
		return oldest, false
	}
	return latest(oldest, s.pulse.moved).Add(s.pulse.answer), true
}

// retryDelayed puts calls in line again whose time has come, before those that were not sent yet: a push behind them may wait for
// their numbers.
func (s *session) retryDelayed(now time.Time, sooner func(time.Time)) {
	var due []*call
	waiting := s.delayed[:0]
	for _, c := range s.delayed {
		switch {
		case c.ended:
		case now.Before(c.retryAt):
			waiting = append(waiting, c)
			sooner(c.retryAt)
		default:
			c.retryAt = time.Time{}
			due = append(due, c)
		}
	}
	for i := len(waiting); i < len(s.delayed); i++ {
		s.delayed[i] = nil
	}
	s.delayed = waiting
	s.line = append(due, s.line...)
}

func earliest(times ...time.Time) time.Time {
	first := times[0]
	for _, t := range times[1:] {
		if t.Before(first) {
			first = t
		}
	}
	return first
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
