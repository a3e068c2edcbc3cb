package adjourntest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// Queue is a queue in memory, for unit tests of programs that use Adjourn. Its clients are real ones: they speak to it
// over a connection in memory. Due times, leases, backoffs and expiries follow a clock that only the test moves; the
// waits of long polls follow real time.
//
// It keeps what a program can see of one node: keys and what happens if they exist, retries, buried jobs, sessions,
// exactly-once push, leases, paused topics, filters, remembered jobs, weights, and the policies of topics: defaults,
// limits, rates, late jobs, dead letters.
//
// It differs from a server in this: backoffs have no jitter. A queue that is never down has no jobs that come due late,
// so [adjourn.LateRate] and [adjourn.LateSpread] do nothing; a first delivery is late if nobody took the job before.
// It has no backups: [adjourn.Client.Backup] fails with [adjourn.ErrUnsupported].
type Queue struct {
	t testing.TB

	mu       sync.Mutex
	now      time.Time
	jobs     map[uint64]*job
	topics   map[string]*topic
	sessions map[uint64]*session
	keyed    map[wire.U128]wire.PushResult // of jobs that were pushed under keys
	conns    map[*conn]bool
	waiters  []*waiter
	last     struct{ job, fence, session, conn uint64 }
	failures []failure
	lose     map[wire.Opcode]int
}

type failure struct {
	op    wire.Opcode
	reply wire.Error
}

type topic struct {
	paused   bool
	settings wire.Settings
	totals   wire.Totals
	rated    time.Time // when the deliveries so far are paid for by the rate
}

// session is one producer or consumer; it outlives connections. A connection without one has one under id 0 to itself.
type session struct {
	id      uint64
	secret  [16]byte
	outlive bool
	results map[wire.U128]wire.PushResult
}

// NewQueue makes an empty queue. It ends with the test. Its clock stands at 2030-01-01T00:00:00Z.
func NewQueue(t testing.TB) *Queue {
	f := &Queue{
		t: t, now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), jobs: map[uint64]*job{}, topics: map[string]*topic{},
		sessions: map[uint64]*session{}, keyed: map[wire.U128]wire.PushResult{}, conns: map[*conn]bool{}, lose: map[wire.Opcode]int{},
	}
	t.Cleanup(f.Disconnect)
	return f
}

// Client connects a client, which is closed with the test.
func (f *Queue) Client(options ...adjourn.Option) *adjourn.Client {
	f.t.Helper()
	return dial(f.t, "in-memory:1", append([]adjourn.Option{adjourn.UseDialer(f)}, options...)...)
}

// DialContext makes the queue an adjourn.Dialer: connections end in this queue whatever their address.
func (f *Queue) DialContext(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last.conn++
	c := &conn{
		f: f, id: f.last.conn, pipe: server, wake: make(chan struct{}, 1), gone: make(chan struct{}), standings: map[string]*shares{},
	}
	f.conns[c] = true
	go c.read()
	go c.write()
	return client, nil
}

// Now is the time on the queue's clock.
func (f *Queue) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Advance moves the clock on: jobs come due, leases end, backoffs pass, jobs expire. It is one jump: all that happens at
// its end, and jobs are handed out then. To see what a rate lets through, advance in steps.
func (f *Queue) Advance(d time.Duration) { f.SetNow(f.Now().Add(d)) }

// SetNow sets the clock.
func (f *Queue) SetNow(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now
	f.settleClock()
	f.deliver()
}

// FailNext makes the next request of this kind fail, with nothing applied. The request is named as in protocol.md,
// for example PUSH or FINISH. Several failures of one kind come one after the other.
func (f *Queue) FailNext(request string, code adjourn.Code) {
	f.t.Helper()
	reply := wire.Error{Code: uint16(code), Message: "the test wants it so"}
	if code.Retryable() {
		reply.Marks = wire.MarkRetryable
	}
	op := f.opcode(request)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = append(f.failures, failure{op, reply})
}

// LoseNextAnswer carries the next request of this kind out and cuts the connection instead of answering.
func (f *Queue) LoseNextAnswer(request string) {
	f.t.Helper()
	op := f.opcode(request)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lose[op]++
}

func (f *Queue) opcode(name string) wire.Opcode {
	f.t.Helper()
	for _, op := range wire.Opcodes() {
		if op.String() == name && op.IsRequest() {
			return op
		}
	}
	f.t.Fatalf("there is no request %q", name)
	return 0
}

// Disconnect cuts all connections. Clients connect again and go on with their sessions and leases.
func (f *Queue) Disconnect() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		c.end()
	}
}

// EndSessions cuts all connections, gives all leases back as failed attempts and forgets all sessions, as a queue does
// with clients that were away for too long.
func (f *Queue) EndSessions() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		c.end()
	}
	for _, s := range f.sessions {
		f.endSession(s)
	}
}

func (f *Queue) endSession(s *session) {
	delete(f.sessions, s.id)
	if s.outlive {
		return
	}
	for _, j := range f.jobs {
		if j.state == wire.StateReserved && j.session == s {
			f.attemptFailed(j, nil)
		}
	}
}

func (f *Queue) nowMs() uint64 { return uint64(f.now.UnixMilli()) }

func (f *Queue) topic(name string) *topic {
	t := f.topics[name]
	if t == nil {
		t = &topic{}
		f.topics[name] = t
	}
	return t
}
