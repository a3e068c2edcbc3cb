package adjourn

import (
	"fmt"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// received takes one frame of the server in.
func (s *session) received(now time.Time, frame wire.Frame, m wire.Message, malformed error) {
	if frame.ID == 0 {
		s.unasked(now, m)
		return
	}
	c := s.open[frame.ID]
	if c == nil || !c.onWire {
		return // an answer to what was not asked, or not any more
	}
	if frame.Opcode != wire.OpPong {
		s.pulse.moved = now
	}
	switch {
	case malformed != nil:
		s.finish(c, nil, c.failure(&ProtocolError{Cause: malformed}))
		return
	case m == nil:
		return // an opcode of a newer server
	}
	if refused, is := m.(*wire.Error); is {
		s.refused(now, c, refused)
		return
	}
	s.proven = true
	s.leases.answered(c.sent, m)
	if c.sub != nil {
		s.subscriptionAnswer(now, c, m)
		return
	}
	s.answered(now, c, m)
}

func (s *session) answered(now time.Time, c *call, m wire.Message) {
	if got, want := m.Opcode(), c.req.Opcode().Answer(); got != want {
		s.finish(c, nil, c.failure(&ProtocolError{Cause: fmt.Errorf("%v answers %v", got, c.req.Opcode())}))
		return
	}
	if asked, found := items(c.req), results(m); asked >= 0 && asked != found {
		s.finish(c, nil, c.failure(&ProtocolError{Cause: fmt.Errorf("%d results for %d items", found, asked)}))
		return
	}
	switch m := m.(type) {
	case *wire.Reserved:
		s.unseen.came(m.Jobs)
		if s.leases.areOver() {
			s.giveBack(leasesOf(m.Jobs), wire.ReleaseNotStarted)
			m.Jobs = nil
		}
		if s.waitsOn(now, c, m.Jobs) {
			return
		}
	case *wire.Leased:
		s.leased(now, c, m)
		return
	case *wire.BackupReady:
		s.backupReady(now, c, m)
		return
	case *wire.ClusterReport:
		s.membersTold(m)
	case *wire.Done:
		if un, is := c.req.(*wire.Unsubscribe); is {
			if sub := s.open[un.Subscription]; sub != nil {
				s.finish(sub, nil, nil)
			}
		}
	}
	s.finish(c, m, nil)
}

func (s *session) subscriptionAnswer(now time.Time, c *call, m wire.Message) {
	switch m := m.(type) {
	case *wire.Subscribed:
		c.sub.subscribed()
	case *wire.Deliver:
		s.unseen.came(m.Jobs)
		if c.sub.left || s.leases.areOver() {
			s.giveBack(leasesOf(m.Jobs), wire.ReleaseNotStarted)
			return
		}
		s.feed(now, c.sub, m.Jobs)
	default:
		s.finish(c, nil, &ProtocolError{Cause: fmt.Errorf("%v answers SUBSCRIBE", m.Opcode())})
	}
}

// refused is told of an ERROR to a request.
func (s *session) refused(now time.Time, c *call, e *wire.Error) {
	err := refusal(e)
	if err.Applied == NotApplied {
		c.doubts--
	}
	switch m := c.req.(type) {
	case *wire.Goodbye:
		if err.Code == ErrSessionUnknown {
			s.finish(c, &wire.Done{}, nil)
			return
		}
	case *wire.Cancel:
		s.finish(c, &wire.Done{}, nil)
		return
	case *wire.Unsubscribe:
		if sub := s.open[m.Subscription]; sub != nil {
			s.finish(sub, nil, nil)
		}
		s.finish(c, &wire.Done{}, nil)
		return
	case *wire.Leases:
		if c.own && !notHere(err.Code) {
			s.unseen.close()
		}
	}
	mayRepeat := err.Applied == NotApplied || c.repeatable()
	if notHere(err.Code) && !s.closing {
		s.drain(now)
		s.where.heed(err)
		if mayRepeat && !c.own && !(c.belongsToConnection()) {
			s.leaveWire(c) // for the next connection
			if c.sub != nil {
				c.sub.active = false
			}
			return
		}
	}
	if err.Retryable && !notHere(err.Code) && mayRepeat && c.sub == nil && c.retriesRefusals(err.Code) {
		s.retryLater(now, c, err)
		return
	}
	if c.mayBeApplied() && err.Applied == UnknownOutcome {
		s.finish(c, nil, &OutcomeUnknownError{Request: c.req.Opcode().String(), Cause: err})
		return
	}
	s.finish(c, nil, err)
}

// retryLater sends the same request again after a pause. A push keeps its numbers.
func (s *session) retryLater(now time.Time, c *call, err *Error) {
	pause := s.nextPause(c)
	if err.RetryAfter > pause {
		pause = err.RetryAfter + random(waitFirst)
	}
	c.refused = err
	s.sendAgain(now, c, pause)
}

func (s *session) nextPause(c *call) time.Duration {
	if c.retries == nil {
		c.retries = newWaits(s.cfg.waitMax)
	}
	return c.retries.next()
}

func (s *session) sendAgain(now time.Time, c *call, pause time.Duration) {
	s.leaveWire(c)
	c.retryAt = now.Add(pause)
	s.delayed = append(s.delayed, c)
	signal(s.kick)
}

// unasked is told of a frame about the connection as a whole.
func (s *session) unasked(now time.Time, m wire.Message) {
	switch m := m.(type) {
	case *wire.GoingAway:
		s.cfg.logf("adjourn: the server is about to close the connection: %s (reason %d)", m.Message, m.Reason)
		switch m.Reason {
		case wire.GoingAwaySessionTakenOver:
			s.takenOver()
		case wire.GoingAwayDisconnected:
			if s.where.pause < disconnectedPause {
				s.where.pause = disconnectedPause
			}
		}
		s.drain(now)
	case *wire.Error:
		s.cfg.logf("adjourn: the server says of the connection: %v", refusal(m))
	}
}

// takenOver is told that another connection speaks for the session. It may be one of this client's own that it gave up
// before WELCOME came; each does that once. Otherwise another process uses the session, and this client leaves it.
func (s *session) takenOver() {
	switch {
	case s.hellosGivenUp > 0:
		s.hellosGivenUp--
	case s.ended == nil:
		s.ended = ErrSessionTaken
	}
}

// membersTold keeps the newest list of members, for the day on which this connection is lost.
func (s *session) membersTold(report *wire.ClusterReport) {
	var addresses []string
	for _, m := range report.Members {
		if m.ClientAddress != "" {
			addresses = append(addresses, m.ClientAddress)
		}
	}
	if len(addresses) > 0 {
		s.members = addresses
	}
}

// notHere says whether another connection may do better with the same request.
func notHere(code Code) bool {
	switch code {
	case ErrNotLeader, ErrNoLeader, ErrStopping, ErrSessionUnknown:
		return true
	}
	return false
}
