package adjourn

import (
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// Two clocks may differ in speed by one part in driftParts: both times of a lease are shortened by that much.
const driftParts = 1000

const (
	heartbeatsPerGrace = 4
	heartbeatMin       = 100 * time.Millisecond
	// The wall clock runs ahead of the monotonic one by more than this only if the machine slept or it was set.
	sleptMin = time.Second
)

// leaseEpoch is a time in which the session's leases are held. It ends when all of them are lost together.
type leaseEpoch struct {
	lost chan struct{}
	why  error // set before lost is closed
}

func (e *leaseEpoch) reason() error {
	select {
	case <-e.lost:
		return e.why
	default:
		return nil
	}
}

// leaseClock knows how long this client may treat its leases as its own. It counts from moments that are never later
// than the server's, so it gives a lease up before another consumer gets the job. It reads no clock itself.
type leaseClock struct {
	grace        time.Duration // 0: the leases do not end with the session
	proven       time.Time     // when the last request was sent whose answer proves that the leases are held
	presumedLost time.Time     // nothing that was sent before is a proof
	clockSent    time.Time     // the server's monotonic clock showed clockMs at this moment or later
	clockMs      uint64
	seen         time.Time
	epoch        *leaseEpoch
}

func surely(d time.Duration) time.Duration { return d - d/driftParts }

func newLeaseClock(said time.Time, w *wire.Welcome, outlive bool) leaseClock {
	l := leaseClock{proven: said, epoch: &leaseEpoch{lost: make(chan struct{})}}
	l.welcomed(said, w, outlive)
	return l
}

// up is told of a new connection whose HELLO was sent at said.
func (l *leaseClock) up(said time.Time, w *wire.Welcome, outlive, kept bool) {
	if !kept {
		l.lose(ErrLeaseLost)
	}
	// A WELCOME that keeps leases proves nothing. If they were presumed lost, none is held that it would vouch for.
	if !kept || !l.presumedLost.IsZero() {
		l.presumedLost = time.Time{}
		l.proven = said
	}
	l.welcomed(said, w, outlive)
}

func (l *leaseClock) welcomed(said time.Time, w *wire.Welcome, outlive bool) {
	l.grace = 0
	if !outlive && w.HeartbeatMs > 0 {
		grace := millis(uint64(w.SessionGraceMs))
		if grace < heartbeatMin*heartbeatsPerGrace {
			grace = heartbeatMin * heartbeatsPerGrace
		}
		l.grace = surely(grace)
	}
	l.clockMs = 0
	l.showClock(said, w.ClockMs)
}

func (l *leaseClock) showClock(sent time.Time, clockMs uint64) {
	if clockMs > 0 {
		l.clockSent, l.clockMs = sent, clockMs
	}
}

// answered is told of an answer to what was sent at sent.
func (l *leaseClock) answered(sent time.Time, m wire.Message) {
	if pong, is := m.(*wire.Pong); is {
		l.showClock(sent, pong.ClockMs)
	}
	if !isProof(m) || !l.presumedLost.IsZero() && !sent.After(l.presumedLost) {
		return
	}
	l.presumedLost = time.Time{}
	if sent.After(l.proven) {
		l.proven = sent
	}
}

// isProof says whether an answer shows that the session was connected to the leader after its request was sent.
func isProof(m wire.Message) bool {
	switch m := m.(type) {
	case *wire.Reserved:
		return len(m.Jobs) > 0
	case *wire.Deliver:
		return len(m.Jobs) > 0
	}
	return m.Opcode().IsProof()
}

// look compares both clocks of the machine. The monotonic one may stand still while the machine sleeps: after a sleep
// nothing is known of any lease.
func (l *leaseClock) look(now time.Time) {
	seen := l.seen
	l.seen = now
	if seen.IsZero() {
		return
	}
	if now.Round(0).Sub(seen.Round(0))-now.Sub(seen) > sleptMin {
		l.slept(now)
	}
}

func (l *leaseClock) slept(now time.Time) {
	if l.grace > 0 {
		l.proven = now.Add(-l.grace)
	} else {
		l.lose(ErrLeaseExpired)
	}
}

// presume gives all leases up if it is time. It says whether that is new.
func (l *leaseClock) presume(now time.Time) bool {
	if l.grace == 0 || !l.presumedLost.IsZero() || now.Before(l.proven.Add(l.grace)) {
		return false
	}
	l.presumedLost = now
	l.lose(ErrLeasePresumedLost)
	return true
}

// areOver says whether jobs that come now come under leases that were presumed lost.
func (l *leaseClock) areOver() bool { return !l.presumedLost.IsZero() }

// lose ends the epoch: every job that was delivered in it is lost.
func (l *leaseClock) lose(why error) {
	l.epoch.why = why
	close(l.epoch.lost)
	l.epoch = &leaseEpoch{lost: make(chan struct{})}
}

// left is for how long from now the lease on a job is this client's own.
func (l *leaseClock) left(now time.Time, d *wire.Delivered) time.Duration {
	left := millis(uint64(d.TtrLeftMs))
	if l.clockMs > 0 && d.DeadlineMs > 0 {
		until := l.clockSent
		if d.DeadlineMs > l.clockMs {
			until = until.Add(millis(d.DeadlineMs - l.clockMs))
		}
		if byClock := until.Sub(now); byClock < left {
			left = byClock
		}
	}
	return surely(left)
}

// heartbeatEvery is how often the client asks for a sign of life; 0 for never.
func heartbeatEvery(w *wire.Welcome, outlive bool) time.Duration {
	every := millis(uint64(w.HeartbeatMs))
	if every == 0 || outlive {
		return every
	}
	often := millis(uint64(w.SessionGraceMs)) / heartbeatsPerGrace
	if often < heartbeatMin {
		often = heartbeatMin
	}
	if often < every {
		return often
	}
	return every
}
