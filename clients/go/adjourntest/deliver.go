package adjourntest

import (
	"sort"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// waiter is a waiting long poll or a subscription.
type waiter struct {
	conn       *conn
	id         uint32
	topics     []string
	weights    []uint16
	jobs       int64 // credit; for a long poll, how many it takes
	bytes      int64
	subscribed bool
	ended      bool
}

// end answers a long poll without a job.
func (w *waiter) end() {
	if !w.ended && !w.subscribed {
		w.conn.f.remove(w)
		w.conn.say(w.id, &wire.Reserved{})
	}
}

func (f *Queue) remove(w *waiter) {
	w.ended = true
	kept := f.waiters[:0]
	for _, other := range f.waiters {
		if other != w {
			kept = append(kept, other)
		}
	}
	f.waiters = kept
}

func (c *conn) onWaiter(id uint32, subscribed bool, do func(*waiter)) (wire.Message, adjourn.Code) {
	for _, w := range c.f.waiters {
		if w.conn == c && w.id == id && w.subscribed == subscribed {
			do(w)
			return &wire.Done{}, 0
		}
	}
	return nil, adjourn.ErrNotFound
}

func (c *conn) endWaiters(saying bool) {
	for _, w := range append([]*waiter(nil), c.f.waiters...) {
		if w.conn != c {
			continue
		}
		if w.subscribed {
			c.f.remove(w)
			c.refuse(w.id, adjourn.ErrSessionUnknown, "the session ended")
		} else {
			w.end()
		}
	}
}

// deliver gives ready jobs to those who wait; they take turns.
func (f *Queue) deliver() {
	for gave := true; gave; {
		gave = false
		for _, w := range append([]*waiter(nil), f.waiters...) {
			if w.ended || w.jobs <= 0 || w.bytes <= 0 {
				continue
			}
			var jobs []wire.Delivered
			if w.subscribed {
				if j := f.next(w); j != nil {
					jobs = append(jobs, f.lease(w, j))
					w.conn.say(w.id, &wire.Deliver{Jobs: jobs})
				}
			} else {
				for int64(len(jobs)) < w.jobs {
					j := f.next(w)
					if j == nil {
						break
					}
					jobs = append(jobs, f.lease(w, j))
				}
				if len(jobs) > 0 {
					f.remove(w)
					w.conn.say(w.id, &wire.Reserved{Jobs: jobs})
				}
			}
			gave = gave || len(jobs) > 0
		}
		f.rotate()
	}
}

// rotate makes another one the first to be served.
func (f *Queue) rotate() {
	if n := len(f.waiters); n > 1 {
		f.waiters = append(f.waiters[1:n:n], f.waiters[0])
	}
}

// next is the job that this waiter gets next, or nil: by the order across its topics, or by their turns.
func (f *Queue) next(w *waiter) *job {
	if len(w.weights) == 0 {
		return f.first(w.topics)
	}
	firsts := make([]*job, len(w.topics))
	for i := range w.topics {
		firsts[i] = f.first(w.topics[i : i+1])
	}
	turn := w.conn.shares(w.topics, w.weights).turn(w.weights, func(i int) bool { return firsts[i] != nil })
	if turn < 0 {
		return nil
	}
	return firsts[turn]
}

// first is the ready job of these topics that comes first; those that are too late are set aside.
func (f *Queue) first(topics []string) *job {
	var ready []*job
	for _, name := range topics {
		if !f.mayDeliver(name) {
			continue
		}
		for _, j := range f.jobs {
			if j.state == wire.StateReady && j.topic == name {
				ready = append(ready, j)
			}
		}
	}
	sort.Slice(ready, func(a, b int) bool { return ready[a].before(ready[b]) })
	for _, j := range ready {
		if !f.tooLate(j) {
			return j
		}
	}
	return nil
}

func (j *job) before(other *job) bool {
	switch {
	case j.priority != other.priority:
		return j.priority < other.priority
	case !j.order.Equal(other.order):
		return j.order.Before(other.order)
	}
	return j.id < other.id
}

func (f *Queue) lease(w *waiter, j *job) wire.Delivered {
	f.last.fence++
	j.state, j.fence, j.session = wire.StateReserved, f.last.fence, w.conn.session
	f.countDelivery(f.topic(j.topic))
	j.attempts++
	j.deadline = f.now.Add(j.ttr)
	if j.reservedFirst.IsZero() {
		j.reservedFirst = f.now
	}
	j.reservedLast = f.now
	if w.subscribed {
		j.holder = w
		w.jobs--
		w.bytes -= int64(len(j.body))
	}
	return f.delivered(j)
}

func (f *Queue) delivered(j *job) wire.Delivered {
	return wire.Delivered{
		Job: j.id, Fence: j.fence, DueMs: ms(j.due), Priority: j.priority, Attempts: j.attempts, TtrLeftMs: uint32(j.deadline.Sub(f.now).Milliseconds()),
		Topic: j.topic, Key: j.key, Attributes: j.attributes, Body: j.body,
	}
}

func (f *Queue) leases(s *session) wire.Message {
	held := &wire.Leased{}
	for _, j := range f.sorted() {
		if j.state == wire.StateReserved && j.session == s && !s.outlive {
			held.Jobs = append(held.Jobs, f.delivered(j))
		}
	}
	return held
}

// leaseEnds gives the credit of a lease back.
func (f *Queue) leaseEnds(j *job) {
	if w := j.holder; w != nil {
		w.jobs++
		w.bytes += int64(len(j.body))
	}
	j.holder, j.session = nil, nil
}

func (f *Queue) settle(m wire.Message) wire.Message {
	var leases []wire.Lease
	var do func(j *job)
	switch m := m.(type) {
	case *wire.Finish:
		leases, do = m.Leases, f.finish
	case *wire.Touch:
		leases, do = m.Leases, func(j *job) {
			ttr := j.ttr
			if m.TtrMs > 0 {
				ttr = span(uint64(m.TtrMs))
			}
			j.deadline = f.now.Add(ttr)
		}
	case *wire.Bury:
		leases, do = m.Leases, func(j *job) {
			f.leaseEnds(j)
			j.because(m.Reason)
			f.bury(j, uint8(adjourn.BuriedByWorker))
		}
	case *wire.Release:
		leases, do = m.Leases, func(j *job) {
			j.because(m.Reason)
			switch m.DelayMs {
			case wire.DelayNotStarted:
				f.leaseEnds(j)
				j.attempts--
				j.state = wire.StateReady
			case wire.DelayBackoff:
				f.attemptFailed(j, nil)
			default:
				f.attemptFailed(j, &m.DelayMs)
			}
		}
	}
	settled := &wire.Settled{}
	for _, lease := range leases {
		code := adjourn.Code(0)
		j := f.jobs[lease.Job]
		_, isFinish := m.(*wire.Finish)
		switch {
		case j != nil && j.fence == lease.Fence && j.state == wire.StateReserved:
			do(j)
		case isFinish && j != nil && j.fence == lease.Fence && j.state == wire.StateFinished:
		default:
			code = adjourn.ErrStaleLease
		}
		settled.Results = append(settled.Results, wire.SettleResult{Code: uint16(code)})
	}
	return settled
}

func (j *job) because(reason string) {
	if reason != "" {
		j.reason = reason
	}
}
