package adjourntest

import (
	"bufio"
	"net"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// conn is the queue's end of a connection. The queue's lock guards everything but the pipe.
type conn struct {
	f    *Queue
	id   uint64
	pipe net.Conn
	wake chan struct{}
	gone chan struct{}

	ended   bool
	name    string
	session *session
	out     []byte
	// standings are those of the lists of topics with weights that were asked for.
	standings map[string]*shares
}

// end cuts the connection.
func (c *conn) end() {
	if c.ended {
		return
	}
	c.ended = true
	delete(c.f.conns, c)
	close(c.gone)
	c.pipe.Close()
	kept := c.f.waiters[:0]
	for _, w := range c.f.waiters {
		if w.conn != c {
			kept = append(kept, w)
		}
	}
	c.f.waiters = kept
}

func (c *conn) read() {
	reader := bufio.NewReader(c.pipe)
	for {
		frame, _, err := wire.ReadFrame(reader, wire.ResponseBytesMax, nil)
		if err != nil {
			c.f.mu.Lock()
			c.end()
			c.f.mu.Unlock()
			return
		}
		m, err := frame.Message()
		c.f.mu.Lock()
		switch {
		case c.ended:
		case err != nil:
			c.refuse(frame.ID, adjourn.ErrMalformed, err.Error())
		case m == nil:
			c.refuse(frame.ID, adjourn.ErrUnsupported, "there is no such opcode")
		default:
			c.request(frame.ID, m)
			c.f.deliver()
		}
		c.f.mu.Unlock()
	}
}

func (c *conn) write() {
	for {
		c.f.mu.Lock()
		out := c.out
		c.out = nil
		c.f.mu.Unlock()
		if len(out) > 0 {
			if _, err := c.pipe.Write(out); err != nil {
				return
			}
			continue
		}
		select {
		case <-c.wake:
		case <-c.gone:
			return
		}
	}
}

func (c *conn) say(id uint32, m wire.Message) {
	if c.ended {
		return
	}
	out, err := wire.Append(c.out, id, m)
	if err != nil {
		c.f.t.Errorf("the queue in memory cannot say %v: %v", m.Opcode(), err)
		return
	}
	c.out = out
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *conn) refuse(id uint32, code adjourn.Code, message string) {
	e := &wire.Error{Code: uint16(code), Message: message}
	if code.Retryable() {
		e.Marks = wire.MarkRetryable
	}
	c.say(id, e)
}

// request carries one request out.
func (c *conn) request(id uint32, m wire.Message) {
	f := c.f
	op := m.Opcode()
	for i, failure := range f.failures {
		if failure.op == op {
			f.failures = append(f.failures[:i:i], f.failures[i+1:]...)
			c.say(id, &failure.reply)
			return
		}
	}
	if hello, is := m.(*wire.Hello); is {
		c.hello(id, hello)
		return
	}
	if c.session == nil {
		c.refuse(id, adjourn.ErrUnauthorised, "say HELLO first")
		return
	}
	answer, code := c.carryOut(id, m)
	if f.lose[op] > 0 {
		f.lose[op]--
		c.end()
		return
	}
	switch {
	case code != 0:
		c.refuse(id, code, "refused by the queue in memory")
	case answer != nil:
		c.say(id, answer)
	}
	if op == wire.OpGoodbye {
		c.session = nil
	}
}

func (c *conn) hello(id uint32, m *wire.Hello) {
	f := c.f
	s := f.sessions[m.Session]
	w := &wire.Welcome{
		Version: wire.Version, HeartbeatMs: 3_000, SessionGraceMs: 10_000, FrameBytesMax: 1_114_112, BodyBytesMax: 1 << 20,
		PushJobsMax: 4096, LeasesMax: 4096, ReserveJobsMax: 1024, InFlightMax: 1024, ServerName: "adjourntest",
	}
	copy(w.ClusterId[:], "in-memory queue!")
	switch {
	case s != nil && s.secret == m.Secret:
		w.Marks = wire.MarkResumed | wire.MarkLeasesKept
	case m.Session == 0 && m.Options&wire.OptionNoSession != 0:
		s = &session{}
	default:
		f.last.session++
		s = &session{id: f.last.session, outlive: m.Options&wire.OptionLeasesOutlive != 0, results: map[wire.U128]wire.PushResult{}}
		s.secret[0] = byte(s.id)
		f.sessions[s.id] = s
	}
	for other := range f.conns {
		if other != c && other.session == s {
			other.end()
		}
	}
	c.session, c.name = s, m.ClientName
	w.Session, w.Secret = s.id, s.secret
	c.say(id, w)
}

// carryOut returns the answer, or the code of a refusal; neither if the answer comes later.
func (c *conn) carryOut(id uint32, m wire.Message) (wire.Message, adjourn.Code) {
	f := c.f
	switch m := m.(type) {
	case *wire.Ping:
		return &wire.Pong{Now: f.nowMs()}, 0
	case *wire.Goodbye:
		c.endWaiters(true)
		f.endSession(c.session)
		return &wire.Done{}, 0
	case *wire.Push:
		return f.push(c.session, m), 0
	case *wire.Reserve:
		c.reserve(id, m)
		return nil, 0
	case *wire.Subscribe:
		c.say(id, &wire.Subscribed{})
		f.waiters = append(f.waiters, &waiter{
			conn: c, id: id, topics: m.Topics, weights: m.Weights, jobs: int64(m.CreditJobs), bytes: int64(m.CreditBytes), subscribed: true,
		})
		return nil, 0
	case *wire.Credit:
		return c.onWaiter(m.Subscription, true, func(w *waiter) {
			w.jobs += int64(m.CreditJobs)
			w.bytes += int64(m.CreditBytes)
		})
	case *wire.Unsubscribe:
		return c.onWaiter(m.Subscription, true, func(w *waiter) { f.remove(w) })
	case *wire.Cancel:
		return c.onWaiter(m.Request, false, func(w *waiter) { w.end() })
	case *wire.Leases:
		return f.leases(c.session), 0
	case *wire.Finish, *wire.Release, *wire.Touch, *wire.Bury:
		return f.settle(m), 0
	case *wire.TopicSet, *wire.TopicShow, *wire.TopicDelete, *wire.Pause, *wire.Resume, *wire.Topics, *wire.Stats:
		return f.onTopic(m)
	case *wire.Connections:
		return f.connections(), 0
	case *wire.Disconnect:
		return f.disconnect(c, m)
	case *wire.ClusterStatus:
		report := &wire.ClusterReport{Node: 1, Leader: 1, Term: 1, FeatureLevel: 3, Members: []wire.ClusterMember{{Node: 1, Role: wire.RoleLeader}}}
		copy(report.ClusterId[:], "in-memory queue!")
		return report, 0
	case *wire.ClusterAdd, *wire.ClusterRemove, *wire.ClusterTransfer:
		return nil, adjourn.ErrInvalid
	}
	return f.onJobs(m)
}

func (f *Queue) connections() wire.Message {
	list := &wire.ConnectionList{}
	for c := range f.conns {
		if c.session == nil {
			continue
		}
		shown := wire.Connection{Connection: c.id, Session: c.session.id, SinceMs: f.nowMs(), Address: "in-memory:1", ClientName: c.name}
		for _, w := range f.waiters {
			if w.conn == c && w.subscribed {
				shown.Subscriptions++
			} else if w.conn == c {
				shown.Reserves++
			}
		}
		list.Connections = append(list.Connections, shown)
	}
	return list
}

func (f *Queue) disconnect(c *conn, m *wire.Disconnect) (wire.Message, adjourn.Code) {
	if m.Connection == c.id {
		return nil, adjourn.ErrInvalid
	}
	for other := range f.conns {
		if other.id == m.Connection {
			if s := other.session; s != nil && m.Options&wire.OptionEndSession != 0 {
				f.endSession(s)
			}
			other.end()
			return &wire.Done{}, 0
		}
	}
	return nil, adjourn.ErrNotFound
}

// reserve waits in real time.
func (c *conn) reserve(id uint32, m *wire.Reserve) {
	f := c.f
	w := &waiter{conn: c, id: id, topics: m.Topics, weights: m.Weights, jobs: int64(m.JobsMax), bytes: 1 << 62}
	f.waiters = append(f.waiters, w)
	f.deliver()
	if w.ended {
		return
	}
	if m.WaitMs == 0 {
		paused := true
		for _, name := range m.Topics {
			paused = paused && f.topics[name] != nil && f.topics[name].paused
		}
		if paused {
			f.remove(w)
			c.refuse(id, adjourn.ErrPaused, "every topic is paused")
			return
		}
		w.end()
		return
	}
	time.AfterFunc(time.Duration(m.WaitMs)*time.Millisecond, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		w.end()
	})
}
