package adjourn

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

const (
	// Numbers of pushed jobs that the queue remembers of one session.
	producerWindow = limits.ProducerWindowMax
	// Jobs of pushes under keys that are sent and not answered. The queue remembers 65,536 such jobs for all clients, and
	// cannot tell a key that it has forgotten from a new one: with more under way, the repeats after a lost connection
	// could be pushed a second time.
	keyedWindow = limits.IdempotentListJobsMax
	// Nothing more is encoded while this many bytes wait to be written.
	outBytesMax = 1 << 20
	// Places in in_flight_max that are kept for what the session asks itself.
	ownRequests = 2
	// What a connection gets that the server is about to close, for the other answers.
	drainMax = 2 * time.Second
	// An operator who closed the connection is not annoyed at once.
	disconnectedPause = 5 * time.Second
)

// linkState is the connection as the requests see it.
type linkState int

const (
	linkDown     linkState = iota // requests wait in line
	linkUp                        // requests are sent
	linkDraining                  // answers still come, nothing more is sent
)

// session is the client's state: its requests and their progress, over one connection after the other.
//
//	accept --> in line --> on the wire --> answered
//	              ^             |
//	              +--- down ----+--> outcome unknown (not safe to repeat, or the session is new)
//
// One lock guards it; nothing is read, written or waited for under the lock. A push gets new numbers only if no copy
// of it can have been applied. Without a session it has a key instead, from the start.
type session struct {
	cfg    config
	search *search
	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	wake   chan struct{} // there is something to write
	kick   chan struct{} // the keeper has to look at the clock anew
	done   chan struct{} // closed when everything has ended

	mu       sync.Mutex
	open     map[uint32]*call
	line     []*call // to be sent, in order; calls that have ended meanwhile are skipped
	delayed  []*call // refused for now: to be sent again at their time
	window   []*call // pushes with numbers, in the order of the numbers
	inFlight int
	keyed    int // jobs of the pushes under keys that are on the wire
	out      []byte
	link     *link
	state    linkState
	drainBy  time.Time
	welcome  *wire.Welcome
	members  []string
	lastID   uint32
	serial   uint64
	sequence uint64    // the number of the next job that is pushed
	key      wire.U128 // the key of it, if there is no session
	pulse    pulse
	leases   leaseClock
	unseen   unseen
	where    elsewhere
	proven   bool // the present connection has answered something
	// HELLOs that named the session and were given up without an answer. A server may still get one, and then says on the
	// connection that came later that the session was taken over.
	hellosGivenUp int
	backup        *wire.BackupReady // the one that the server holds for this connection
	links         int               // connections so far
	ended         error
	closing       bool // GOODBYE was accepted
}

// elsewhere is what servers said of where to go on, and when.
type elsewhere struct {
	leader string
	pause  time.Duration
}

func (e *elsewhere) heed(refused *Error) {
	if refused.Leader != "" {
		e.leader = refused.Leader
	}
	if refused.RetryAfter > e.pause {
		e.pause = refused.RetryAfter
	}
}

func newSession(cfg config) *session {
	ctx, cancel := context.WithCancel(context.Background())
	return &session{
		cfg:      cfg,
		search:   newSearch(cfg.addresses),
		ctx:      ctx,
		cancel:   cancel,
		wake:     make(chan struct{}, 1),
		kick:     make(chan struct{}, 1),
		done:     make(chan struct{}),
		open:     map[uint32]*call{},
		sequence: 1,
	}
}

// locked runs f under the lock, then sends what can be sent.
func (s *session) locked(f func(now time.Time)) {
	s.mu.Lock()
	now := time.Now()
	s.leases.look(now)
	s.presume(now)
	f(now)
	s.pump(now)
	write := len(s.out) > 0
	s.mu.Unlock()
	if write {
		signal(s.wake)
	}
}

func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// start accepts a request; its done is closed when it has ended.
func (s *session) start(req wire.Message, sub *Subscription) (c *call, err error) {
	s.locked(func(now time.Time) {
		if s.closing || s.ended != nil {
			err = s.endedError()
			return
		}
		if err = s.check(req); err == nil {
			c = s.accept(now, req, sub)
			c.awaited = true
		}
	})
	return c, err
}

func (s *session) endedError() error {
	if s.ended != nil {
		return s.ended
	}
	return ErrClosed
}

// accept takes a request in; it is sent when its turn comes.
func (s *session) accept(now time.Time, req wire.Message, sub *Subscription) *call {
	s.serial++
	if push, is := req.(*wire.Push); is && s.cfg.withoutSession && push.Idempotency == (wire.U128{}) {
		push.Idempotency = s.nextKey(len(push.Jobs))
	}
	c := &call{serial: s.serial, req: req, sub: sub, accepted: now, sent: now, done: make(chan struct{})}
	for {
		s.lastID++
		if _, used := s.open[s.lastID]; !used && s.lastID != 0 {
			break
		}
	}
	c.id = s.lastID
	s.open[c.id] = c
	if len(s.line) > 2*len(s.open)+64 {
		s.clearLine()
	}
	s.line = append(s.line, c)
	return c
}

// nextKey is the key for a push of so many jobs: each of them has the number that follows.
func (s *session) nextKey(jobs int) wire.U128 {
	if s.key == (wire.U128{}) {
		s.key[0] = 1 // 0 stands for no key
	}
	key := s.key
	s.key = key.Plus(uint64(jobs))
	return key
}

// clearLine takes calls out that have ended, so that callers who leave during an outage leave nothing behind.
func (s *session) clearLine() {
	var waiting []*call
	for _, c := range s.line {
		if !c.ended {
			waiting = append(waiting, c)
		}
	}
	s.line = waiting
}

// check refuses what the server would refuse for its size, or because there is no session.
func (s *session) check(req wire.Message) error {
	switch m := req.(type) {
	case *wire.Push:
		for i := range m.Jobs {
			if err := s.checkBody(m.Jobs[i].Body); err != nil {
				return err
			}
		}
		if len(m.Jobs) > s.pushJobsMax() {
			return usage("%d jobs in one push: the server takes at most %d", len(m.Jobs), s.pushJobsMax())
		}
	case *wire.Edit:
		return s.checkBody(m.Body)
	case *wire.Reserve, *wire.Subscribe, *wire.Leases:
		if s.cfg.withoutSession {
			return usage("this client has no session: leave out WithoutSession to reserve jobs")
		}
	default:
		if n := items(req); n > s.leasesMax() {
			return usage("%d leases: the server takes at most %d", n, s.leasesMax())
		}
	}
	return nil
}

func (s *session) checkBody(body []byte) error {
	if max := s.welcome.BodyBytesMax; len(body) > int(max) {
		return usage("a body of %d bytes: the server takes at most %d", len(body), max)
	}
	return nil
}

func (s *session) pushJobsMax() int {
	if s.cfg.withoutSession {
		return clamp(int(s.welcome.PushJobsMax), 1, keyedWindow)
	}
	return clamp(int(s.welcome.PushJobsMax), 1, producerWindow)
}

func (s *session) leasesMax() int { return clamp(int(s.welcome.LeasesMax), 1, 1<<20) }

func (s *session) inFlightMax() int {
	return clamp(int(s.welcome.InFlightMax)-ownRequests, 1, 1<<20)
}

func clamp(n, min, max int) int {
	if n < min {
		return min
	}
	if n > max {
		return max
	}
	return n
}

// do sends a request and waits for its answer, for at most the request's time and the context's.
func (s *session) do(ctx context.Context, req wire.Message) (wire.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := s.start(req, nil)
	if err != nil {
		return nil, err
	}
	return s.await(ctx, c)
}

func (s *session) await(ctx context.Context, c *call) (wire.Message, error) {
	var late <-chan time.Time
	if s.cfg.requestTimeout > 0 {
		wait := time.Duration(0)
		switch c.req.(type) {
		case *wire.Reserve, *wire.BackupBegin:
			wait = c.wait()
		}
		timer := time.NewTimer(s.cfg.requestTimeout + wait)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-c.done:
		return c.resp, c.err
	case <-ctx.Done():
		return s.leave(c, ctx.Err())
	case <-late:
		return s.leave(c, &TimeoutError{After: s.cfg.requestTimeout})
	}
}

// leave ends a call whose caller does not wait any longer.
func (s *session) leave(c *call, cause error) (resp wire.Message, err error) {
	s.locked(func(now time.Time) {
		if c.ended {
			resp, err = c.resp, c.err
			return
		}
		var timeout *TimeoutError
		if c.refused != nil && errors.As(cause, &timeout) {
			cause = c.refused
		}
		err = c.failure(cause)
		c.awaited = false
		if !c.onWire {
			s.finish(c, nil, err)
			return
		}
		// Its id is in use until the answer comes or the connection is lost.
		if _, is := c.req.(*wire.Reserve); is && s.state == linkUp {
			s.accept(now, &wire.Cancel{Request: c.id}, nil)
		}
	})
	return resp, err
}

// finish ends one call.
func (s *session) finish(c *call, resp wire.Message, err error) {
	if c.ended {
		return
	}
	c.ended = true
	delete(s.open, c.id)
	s.leaveWire(c)
	c.resp, c.err = resp, err
	if c.sub != nil {
		s.endFeed(c.sub, err)
	}
	if reserved, is := resp.(*wire.Reserved); is && !c.awaited {
		s.giveBack(leasesOf(reserved.Jobs), wire.ReleaseNotStarted)
	}
	close(c.done)
}

func (s *session) leaveWire(c *call) {
	if c.onWire && c.sub == nil {
		s.inFlight--
		s.keyed -= c.keys()
	}
	c.onWire = false
}

func leasesOf(jobs []wire.Delivered) []wire.Lease {
	leases := make([]wire.Lease, 0, len(jobs))
	for i := range jobs {
		leases = append(leases, jobs[i].Lease())
	}
	return leases
}

// giveBack releases jobs that nobody wants. Nobody waits for the answer.
func (s *session) giveBack(leases []wire.Lease, delayMs uint64) {
	if s.closing || s.ended != nil {
		return
	}
	for len(leases) > 0 {
		n := clamp(len(leases), 0, s.leasesMax())
		s.accept(time.Now(), &wire.Release{DelayMs: delayMs, Leases: leases[:n]}, nil)
		leases = leases[n:]
	}
}

// pump encodes what is in line, as far as the limits allow.
func (s *session) pump(now time.Time) {
	for s.state == linkUp && s.inFlight < s.inFlightMax() && len(s.out) < outBytesMax && len(s.line) > 0 {
		c := s.line[0]
		if !c.ended && !s.fitsWindow(c) {
			return
		}
		s.line[0] = nil
		s.line = s.line[1:]
		if !c.ended && !c.onWire {
			s.send(now, c)
		}
	}
	if len(s.line) == 0 {
		s.line = nil
	}
}

// fitsWindow says whether a push keeps within what the queue remembers of this session, or of keys.
func (s *session) fitsWindow(c *call) bool {
	if s.keyed+c.keys() > keyedWindow {
		return false
	}
	if c.numbers() == 0 || c.firstNumber() != 0 {
		return true // it has its numbers from before, when it did fit
	}
	for len(s.window) > 0 && s.window[0].ended {
		s.window[0] = nil
		s.window = s.window[1:]
	}
	return len(s.window) == 0 || s.sequence+c.numbers()-s.window[0].firstNumber() <= producerWindow
}

func (s *session) send(now time.Time, c *call) {
	if _, is := c.req.(*wire.Reserve); is && !c.awaited {
		s.finish(c, nil, ErrClosed)
		return
	}
	if push, is := c.req.(*wire.Push); is && push.Sequence == 0 && c.numbers() > 0 {
		push.Sequence = s.sequence
		s.sequence += c.numbers()
		s.window = append(s.window, c)
	}
	start := len(s.out)
	out, err := wire.Append(s.out, c.id, s.asSent(now, c))
	if err != nil {
		s.finish(c, nil, c.failure(usage("%v", err)))
		return
	}
	if size := len(out) - start - 4; size > int(s.welcome.FrameBytesMax) {
		s.finish(c, nil, c.failure(usage("a request of %d bytes: the server takes at most %d", size, s.welcome.FrameBytesMax)))
		return
	}
	s.out = out
	c.onWire, c.sent = true, now
	c.doubts++
	if c.sub == nil {
		s.inFlight++
		s.keyed += c.keys()
	}
	s.unseen.noteRequest(c.req)
}

// asSent is the request as it is sent now: a reserve asks for what is left of its wait.
func (s *session) asSent(now time.Time, c *call) wire.Message {
	reserve, is := c.req.(*wire.Reserve)
	if !is || reserve.WaitMs == 0 {
		return c.req
	}
	left := *reserve
	passed := uint64(now.Sub(c.accepted) / time.Millisecond)
	if passed >= left.WaitMs {
		left.WaitMs = 1 // 0 would be a request of another kind
	} else {
		left.WaitMs -= passed
	}
	return &left
}

// down is told that the connection is gone.
func (s *session) down(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link, s.state = nil, linkDown
	s.out, s.backup = nil, nil
	var waiting []*call
	for _, c := range s.open {
		wasOnWire := c.onWire
		s.leaveWire(c)
		switch {
		case c.own, c.belongsToConnection():
			s.finish(c, &wire.Done{}, nil)
		case c.isOfBackup():
			s.finish(c, nil, fmt.Errorf("%w: the connection was lost: %v", ErrBackupLost, cause))
		case c.sub != nil && c.sub.left:
			s.finish(c, nil, nil)
		case c.sub != nil:
			c.sub.active = false
			waiting = append(waiting, c)
		case !wasOnWire:
			if c.retryAt.IsZero() {
				waiting = append(waiting, c)
			}
		case !c.repeatable(), !c.awaited && !isRelease(c.req):
			// A caller who has left was told that the outcome is unknown.
			s.finish(c, nil, c.failure(fmt.Errorf("adjourn: the connection was lost: %w", cause)))
		default:
			waiting = append(waiting, c)
		}
	}
	sort.Slice(waiting, func(i, j int) bool { return waiting[i].serial < waiting[j].serial })
	s.line = waiting
	s.inFlight = 0
}

// up is told of a new connection, welcomed; its HELLO was sent at said.
func (s *session) up(l *link, w *wire.Welcome, said time.Time) (err error) {
	s.locked(func(now time.Time) {
		if s.ended != nil {
			err = s.ended
			return
		}
		if first := s.welcome == nil; first {
			s.leases = newLeaseClock(said, w, s.cfg.keepsLeases())
		} else if s.welcome.ClusterID != w.ClusterID {
			err = &WrongClusterError{Expected: s.welcome.ClusterID, Found: w.ClusterID}
			return
		} else {
			s.resume(w, said)
		}
		s.welcome = w
		s.members = addressesOf(w.Members)
		s.pulse = newPulse(now, heartbeatEvery(w, s.cfg.keepsLeases()), millis(uint64(w.HeartbeatMs)))
		s.link, s.state = l, linkUp
		s.where = elsewhere{}
		s.proven = false
		s.links++
	})
	signal(s.kick)
	return err
}

func (s *session) resume(w *wire.Welcome, said time.Time) {
	resumed := w.Marks&wire.WelcomeMarkResumed != 0 && w.Session == s.welcome.Session
	kept := s.cfg.keepsLeases() || resumed && w.Marks&wire.WelcomeMarkLeasesKept != 0
	if !resumed {
		s.hellosGivenUp = 0
		s.renumber()
	}
	for _, c := range s.open {
		if c.belongsToConnection() {
			s.finish(c, &wire.Done{}, nil)
		}
	}
	if !kept {
		s.forgetFeeds()
	}
	s.leases.up(said, w, s.cfg.keepsLeases(), kept)
	s.lookForUnseen(kept && !s.cfg.keepsLeases())
}

// renumber starts the numbers over in a new session: a push with numbers that may have been applied is not pushed again.
func (s *session) renumber() {
	s.sequence = 1
	s.window = nil
	for _, c := range s.open {
		push, is := c.req.(*wire.Push)
		if !is || c.numbers() == 0 {
			continue
		}
		if c.doubts > 0 {
			s.finish(c, nil, c.failure(errors.New("adjourn: the queue has forgotten the session")))
		} else {
			push.Sequence = 0
		}
	}
}

func addressesOf(members []wire.Member) []string {
	addresses := make([]string, 0, len(members))
	for _, m := range members {
		addresses = append(addresses, m.Address)
	}
	return addresses
}

// drain is told that the server is about to close the connection: nothing more is sent on it.
func (s *session) drain(now time.Time) {
	if s.state == linkUp {
		s.state = linkDraining
		s.drainBy = now.Add(drainMax)
		signal(s.kick)
	}
}

// drained says whether the connection may be closed without losing an answer.
func (s *session) drained() bool {
	return s.state == linkDraining && s.inFlight == 0 && len(s.out) == 0
}

// end ends everything.
func (s *session) end(cause error) {
	s.mu.Lock()
	if s.ended == nil {
		s.ended = cause
	}
	s.state = linkDown
	l := s.link
	s.link, s.out, s.line, s.delayed, s.window = nil, nil, nil, nil, nil
	for _, c := range s.open {
		s.finish(c, nil, c.failure(cause))
	}
	s.leases.lose(ErrLeaseLost)
	s.mu.Unlock()
	s.cancel()
	if l != nil {
		l.fail(cause)
	}
}

// presume gives all leases up if the session's grace is over without a proof.
func (s *session) presume(now time.Time) {
	if s.welcome != nil && s.ended == nil && s.leases.presume(now) {
		s.cfg.logf("adjourn: no answer for as long as the server keeps leases: they are presumed lost")
		s.giveBack(s.forgetFeeds(), wire.ReleaseNotStarted)
	}
}
