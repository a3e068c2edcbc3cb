package adjourn

import (
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// unseen finds leases whose jobs never arrived, because the connection broke before. After a session was resumed,
// LEASES shows the leases that it holds, and the client gives back those that it never received. Fences tell them
// apart: they only grow, a connection delivers jobs in the order in which they were granted, and everything that the
// new connection grants arrives before a LEASED that shows it.
type unseen struct {
	through  uint64              // no lease up to this fence is unseen
	since    map[uint64]struct{} // fences that came while it is not known whether there are others
	isOpen   bool                // a session was resumed, and not all of its leases were looked at since
	consumes bool                // this client has asked for jobs
}

func (u *unseen) noteRequest(m wire.Message) {
	switch m.(type) {
	case *wire.Reserve, *wire.Subscribe:
		u.consumes = true
	}
}

func (u *unseen) came(jobs []wire.Delivered) {
	for i := range jobs {
		fence := jobs[i].Fence
		if u.isOpen {
			u.since[fence] = struct{}{}
		} else if fence > u.through {
			u.through = fence
		}
	}
}

func (u *unseen) close() {
	for fence := range u.since {
		if fence > u.through {
			u.through = fence
		}
	}
	u.since, u.isOpen = nil, false
}

func (u *unseen) isUnseen(fence uint64) bool {
	_, came := u.since[fence]
	return fence > u.through && !came
}

// lookForUnseen is called when a connection has resumed the session.
func (s *session) lookForUnseen(kept bool) {
	if !kept {
		s.unseen.close()
		return
	}
	if s.unseen.consumes {
		if !s.unseen.isOpen {
			s.unseen.isOpen, s.unseen.since = true, map[uint64]struct{}{}
		}
		s.askForLeases(0)
	}
}

// askForLeases asks before everything that waits for its turn.
func (s *session) askForLeases(after uint64) {
	c := s.accept(time.Now(), &wire.Leases{After: after, JobsMax: s.welcome.ReserveJobsMax}, nil)
	c.own = true
	copy(s.line[1:], s.line[:len(s.line)-1])
	s.line[0] = c
}

// leased is told of the answer to LEASES.
func (s *session) leased(now time.Time, c *call, m *wire.Leased) {
	if !c.own {
		held := m.Jobs[:0]
		for i := range m.Jobs {
			if !s.isBeingSettled(m.Jobs[i].Lease()) {
				held = append(held, m.Jobs[i])
			}
		}
		m.Jobs = held
		if c.awaited {
			s.unseen.came(m.Jobs)
		}
		s.finish(c, m, nil)
		return
	}
	var lost []wire.Lease
	for i := range m.Jobs {
		if lease := m.Jobs[i].Lease(); s.unseen.isUnseen(lease.Fence) && !s.isBeingSettled(lease) {
			lost = append(lost, lease)
		}
	}
	if len(lost) > 0 {
		s.cfg.logf("adjourn: %d jobs that never arrived over the lost connection are given back", len(lost))
		s.giveBack(lost, wire.ReleaseNotStarted)
	}
	s.finish(c, m, nil)
	if m.Marks&wire.PageMarkMore == 0 {
		s.unseen.close()
		return
	}
	after := c.req.(*wire.Leases).After
	if n := len(m.Jobs); n > 0 {
		after = m.Jobs[n-1].Job
	}
	s.askForLeases(after)
}

func (s *session) isBeingSettled(lease wire.Lease) bool {
	for _, c := range s.open {
		if c.settles(lease) {
			return true
		}
	}
	return false
}
