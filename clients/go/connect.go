package adjourn

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// found is a leader that has welcomed the client.
type found struct {
	link    *link
	welcome *wire.Welcome
	said    time.Time
}

// missed is a round of attempts without success.
type missed struct {
	err      error // the most telling failure
	hopeless bool  // it will fail for ever
	answered bool  // a server answered that does not serve for now
	silent   bool  // a server did not answer in time
	where    elsewhere
}

// round tries each address once, and where servers point to.
func (s *session) round(ctx context.Context, resuming bool) (*found, *missed) {
	missed := &missed{}
	hello := s.hello()
	for ctx.Err() == nil {
		address, some := s.search.next()
		if !some {
			break
		}
		attempt, cancel := context.WithTimeout(ctx, s.search.patience(s.cfg.connectTimeout))
		l, w, said, err := s.dial(attempt, address, hello)
		timedOut := attempt.Err() != nil
		cancel()
		if err == nil {
			s.search.answered(address)
			s.search.found()
			return &found{l, w, said}, nil
		}
		if resuming && mayStillArrive(said, err) {
			s.gaveUpHello()
		}
		s.missed(missed, address, err, timedOut, resuming)
		if missed.hopeless {
			return nil, missed
		}
	}
	if missed.err == nil {
		missed.err = ctx.Err()
	}
	return nil, missed
}

func (s *session) missed(missed *missed, address string, err error, timedOut, resuming bool) {
	var refused *Error
	var broken *ProtocolError
	switch {
	case timedOut || isTimeout(err):
		missed.silent = true
		s.search.wasSilent(address)
		if !missed.answered {
			missed.err = err
		}
	case errors.As(err, &refused):
		s.search.answered(address)
		missed.answered, missed.err = true, err
		missed.where.heed(refused)
		if refused.Code == ErrNotLeader {
			s.search.redirect(refused.Leader)
		}
		missed.hopeless = !refused.Retryable && refused.Code != ErrSessionUnknown
	case errors.Is(err, ErrUsage):
		missed.hopeless, missed.err = true, err
	case errors.As(err, &broken):
		// Something else answers here; what was a server once may be one again.
		missed.hopeless, missed.err = !resuming, err
	default:
		s.search.answered(address)
		if !missed.answered {
			missed.err = err
		}
	}
}

// mayStillArrive says whether a server may yet get the HELLO of an attempt that failed: it was written, and nothing
// answered it.
func mayStillArrive(said time.Time, err error) bool {
	var refused *Error
	var broken *ProtocolError
	return !said.IsZero() && !errors.As(err, &refused) && !errors.As(err, &broken) && !errors.Is(err, ErrUsage)
}

func (s *session) gaveUpHello() {
	s.mu.Lock()
	s.hellosGivenUp++
	s.mu.Unlock()
}

func isTimeout(err error) bool {
	var net net.Error
	return errors.As(err, &net) && net.Timeout()
}

// firstLink connects for the first time: until a server welcomes the client, none can be reached, or the time is over.
func (s *session) firstLink(ctx context.Context) (*found, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.connectTimeout)
	defer cancel()
	waits := newWaits(s.cfg.waitMax)
	leader := ""
	var last error
	for {
		s.search.begin(leader, nil)
		found, missed := s.round(ctx, false)
		if found != nil {
			return found, nil
		}
		if missed.err != nil && (last == nil || ctx.Err() == nil) {
			last = missed.err
		}
		var refused *Error
		if missed.hopeless && (errors.As(last, &refused) || errors.Is(last, ErrUsage)) {
			return nil, last
		}
		if missed.hopeless || ctx.Err() != nil || !missed.answered && !missed.silent {
			return nil, &ConnectError{Addresses: s.cfg.addresses, Cause: last}
		}
		leader = missed.where.leader
		if !sleep(ctx, waits.next()+missed.where.pause) {
			return nil, &ConnectError{Addresses: s.cfg.addresses, Cause: last}
		}
	}
}

// run carries one connection after the other, until one cannot be replaced.
func (s *session) run(l *link) {
	defer close(s.done)
	keeper := make(chan struct{})
	go func() {
		defer close(keeper)
		s.keep()
	}()
	waits := newWaits(s.cfg.waitMax)
	for {
		cause := s.carry(l)
		s.down(cause)
		next, err := s.replace(cause, waits)
		if err != nil {
			s.end(err)
			break
		}
		l = next
	}
	<-keeper
}

// replace looks for the leader until it is found, and goes on with the session there.
func (s *session) replace(cause error, waits *waits) (*link, error) {
	s.mu.Lock()
	where, ended, closing := s.where, s.ended, s.closing
	s.where = elsewhere{}
	if s.proven {
		waits.reset()
	}
	s.mu.Unlock()
	if ended != nil {
		return nil, ended
	}
	if !closing {
		s.cfg.logf("adjourn: the connection is lost: %v", cause)
	}
	for {
		// Everybody who was sent away is told the same pause: the random wait comes on top of it.
		if !sleep(s.ctx, waits.next()+where.pause) {
			return nil, ErrClosed
		}
		s.mu.Lock()
		members := s.members
		s.mu.Unlock()
		s.search.begin(where.leader, members)
		found, missed := s.round(s.ctx, true)
		if found != nil {
			if err := s.up(found.link, found.welcome, found.said); err != nil {
				found.link.fail(err)
				return nil, err
			}
			s.cfg.logf("adjourn: connected again")
			return found.link, nil
		}
		if s.ctx.Err() != nil {
			return nil, ErrClosed
		}
		if missed.hopeless {
			return nil, missed.err
		}
		where = missed.where
	}
}

// keep does what is due by the clock, connected or not.
func (s *session) keep() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-s.kick:
			if !timer.Stop() {
				select {
				case <-timer.C:
				default:
				}
			}
		case <-s.ctx.Done():
			return
		}
		var next time.Time
		var bad error
		var l *link
		s.locked(func(now time.Time) {
			next, bad = s.tick(now)
			l = s.link
		})
		if bad != nil && l != nil {
			l.fail(bad)
		}
		wait := time.Until(next)
		if wait < time.Millisecond {
			wait = time.Millisecond
		}
		timer.Reset(wait)
	}
}

// sleep says whether the time passed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
