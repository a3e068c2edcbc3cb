package adjourn_test

import (
	"context"
	"errors"
	"net"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/serverside"
	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// peer is the server's end of a connection, played by the test.
type peer struct {
	t    testing.TB
	conn net.Conn
	// step is how many bytes are written at once; 0 for all.
	step int
}

// scripted starts a server that plays one script for each connection, in turn; the last one is played again.
func scripted(t testing.TB, scripts ...func(p *peer)) (address string, connections *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections = &atomic.Int32{}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n := int(connections.Add(1))
			if n > len(scripts) {
				n = len(scripts)
			}
			go func() {
				defer conn.Close()
				scripts[n-1](&peer{t: t, conn: conn})
			}()
		}
	}()
	return l.Addr().String(), connections
}

// next is the next request but heartbeats and questions for the members, which are answered; nil at the end.
func (p *peer) next() (uint32, wire.Message) {
	for {
		frame, _, err := wire.ReadFrame(p.conn, limits.ResponseBytesMax, nil)
		if err != nil {
			return 0, nil
		}
		m, err := serverside.Request(frame)
		if err != nil || m == nil {
			p.t.Errorf("the client sent %v: %v", frame.Opcode, err)
			return 0, nil
		}
		switch m.(type) {
		case *wire.Ping:
			p.say(frame.ID, &wire.Pong{Now: 1, ClockMs: 1})
		case *wire.ClusterStatus:
			p.say(frame.ID, &wire.ClusterReport{})
		default:
			return frame.ID, m
		}
	}
}

func (p *peer) say(id uint32, m wire.Message) {
	frame, err := serverside.Append(nil, id, m)
	if err != nil {
		p.t.Error(err)
	}
	p.raw(frame)
}

func (p *peer) raw(frame []byte) {
	for len(frame) > 0 {
		n := len(frame)
		if p.step > 0 && p.step < n {
			n = p.step
		}
		if _, err := p.conn.Write(frame[:n]); err != nil {
			return
		}
		frame = frame[n:]
	}
}

// welcome answers HELLO; change alters the usual WELCOME.
func (p *peer) welcome(change func(w *wire.Welcome)) *wire.Hello {
	id, m := p.next()
	hello, is := m.(*wire.Hello)
	if !is {
		p.t.Errorf("the client says %T instead of HELLO", m)
		return &wire.Hello{}
	}
	w := &wire.Welcome{
		Version: 1, ClusterID: [16]byte{1}, Session: 9, Secret: [16]byte{7}, HeartbeatMs: 3000, SessionGraceMs: 10_000,
		FrameBytesMax: 1_114_112, BodyBytesMax: 1 << 20, PushJobsMax: 4096, LeasesMax: 4096, ReserveJobsMax: 1024, InFlightMax: 1024,
		ClockMs: 1,
	}
	switch {
	case hello.Session == 9:
		w.Marks = wire.WelcomeMarkResumed | wire.WelcomeMarkLeasesKept
	case hello.Options&wire.HelloOptionNoSession != 0:
		w.Session, w.Secret = 0, [16]byte{}
	}
	if change != nil {
		change(w)
	}
	p.say(id, w)
	return hello
}

// serve answers pushes with rising ids until the client leaves.
func (p *peer) serve() {
	job := uint64(100)
	for {
		id, m := p.next()
		switch m := m.(type) {
		case nil:
			return
		case *wire.Push:
			pushed := &wire.Pushed{}
			for range m.Jobs {
				job++
				pushed.Results = append(pushed.Results, wire.PushResult{Job: job})
			}
			p.say(id, pushed)
		case *wire.Get:
			p.say(id, &wire.Job{Shown: wire.Shown{Job: m.Ref.Job, Topic: "t"}})
		default:
			p.say(id, &wire.Done{})
		}
	}
}

func dialScripted(t testing.TB, address string, options ...adjourn.Option) *adjourn.Client {
	t.Helper()
	q := must[*adjourn.Client](t)(adjourn.Dial(testContext(t), address, options...))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		q.CloseContext(ctx)
	})
	return q
}

func TestAnswersMayComeByteByByte(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.step = 1
		p.welcome(nil)
		p.serve()
	})
	q := dialScripted(t, address)
	if id := must[adjourn.JobID](t)(q.Push(testContext(t), "t", "x")); id != 101 {
		t.Errorf("job %d", id)
	}
}

func TestAGarbledFrameCostsTheConnectionAndNothingElse(t *testing.T) {
	first := make(chan *wire.Push, 1)
	second := make(chan *wire.Push, 1)
	hello := make(chan *wire.Hello, 1)
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		if _, m := p.next(); m != nil {
			if push, is := m.(*wire.Push); is {
				first <- push
			}
		}
		p.raw([]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4})
		p.next()
	}, func(p *peer) {
		hello <- p.welcome(nil)
		id, m := p.next()
		push, is := m.(*wire.Push)
		if !is {
			return
		}
		second <- push
		p.say(id, &wire.Pushed{Results: []wire.PushResult{{Job: 5}}})
		p.serve()
	})
	q := dialScripted(t, address)
	if id := must[adjourn.JobID](t)(q.Push(testContext(t), "t", "x")); id != 5 {
		t.Fatalf("job %d", id)
	}
	if h := <-hello; h.Session != 9 || h.Secret[0] != 7 {
		t.Errorf("the session was not resumed: %+v", h)
	}
	if a, b := <-first, <-second; a.Sequence != 1 || !reflect.DeepEqual(a, b) {
		t.Errorf("%+v was repeated as %+v", a, b)
	}
}

func TestAnAnswerThatCannotBeReadCostsOnlyItsRequest(t *testing.T) {
	address, connections := scripted(t, func(p *peer) {
		p.welcome(nil)
		id, _ := p.next()
		p.raw([]byte{11, 0, 0, 0, byte(wire.OpJob), 0, 0, 0, byte(id), 0, 0, 0, 1, 2, 3})
		id, _ = p.next()
		p.say(id, &wire.Settled{})
		p.say(4_000_000, &wire.Done{})                              // an answer to nothing
		p.raw([]byte{8, 0, 0, 0, 0xfd, 0, 0, 0, byte(id), 0, 0, 0}) // an opcode of a newer server
		p.serve()
	})
	q, ctx := dialScripted(t, address), testContext(t)
	var broken *adjourn.ProtocolError
	if _, err := q.Get(ctx, adjourn.ByID(1)); !errors.As(err, &broken) {
		t.Errorf("%v", err)
	}
	_, err := q.Push(ctx, "t", "") // answered with another request's answer
	if !errors.As(err, &broken) || !errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	must[adjourn.JobID](t)(q.Push(ctx, "t", ""))
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestASessionThatWasTakenOverIsNotTakenBack(t *testing.T) {
	address, connections := scripted(t, func(p *peer) {
		p.welcome(nil)
		p.next()
		p.say(0, &wire.GoingAway{Message: "taken over", Reason: wire.GoingAwaySessionTakenOver})
	})
	q, ctx := dialScripted(t, address), testContext(t)
	if _, err := q.Push(ctx, "t", ""); !errors.Is(err, adjourn.ErrOutcomeUnknown) || !errors.Is(err, adjourn.ErrSessionTaken) {
		t.Errorf("%v", err)
	}
	select {
	case <-q.Done():
	case <-ctx.Done():
		t.Fatal("the client goes on")
	}
	if _, err := q.Push(ctx, "t", ""); !errors.Is(err, adjourn.ErrSessionTaken) || !errors.Is(err, adjourn.ErrClosed) {
		t.Errorf("%v", err)
	}
	if n := connections.Load(); n != 1 || q.Err() != adjourn.ErrSessionTaken {
		t.Errorf("%d connections, %v", n, q.Err())
	}
}

func TestAnotherClusterIsAnotherQueue(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		p.next()
	}, func(p *peer) {
		p.welcome(func(w *wire.Welcome) { w.ClusterID = [16]byte{2} })
		if _, m := p.next(); m != nil {
			t.Errorf("the other queue got %T", m)
		}
	})
	q, ctx := dialScripted(t, address), testContext(t)
	var wrong *adjourn.WrongClusterError
	if _, err := q.Push(ctx, "t", ""); !errors.As(err, &wrong) || !errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	if _, err := q.Get(ctx, adjourn.ByID(1)); !errors.As(err, &wrong) || wrong.Found[0] != 2 {
		t.Errorf("%v", err)
	}
}

func TestANewSessionMakesUnansweredPushesUnknown(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		p.next()
	}, func(p *peer) {
		p.welcome(func(w *wire.Welcome) { w.Marks, w.Session = 0, 10 })
		id, m := p.next()
		if push, is := m.(*wire.Push); !is || push.Sequence != 1 || string(push.Jobs[0].Body) != "second" {
			t.Errorf("%+v", m)
		}
		p.say(id, &wire.Pushed{Results: []wire.PushResult{{Job: 5}}})
		p.serve()
	})
	q, ctx := dialScripted(t, address), testContext(t)
	if _, err := q.Push(ctx, "t", "first"); !errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
	must[adjourn.JobID](t)(q.Push(ctx, "t", "second"))
}

func TestNumbersStayWithinTheWindow(t *testing.T) {
	type request struct {
		id uint32
		m  wire.Message
	}
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		requests := make(chan request, 64)
		go func() {
			defer close(requests)
			for id, m := p.next(); m != nil; id, m = p.next() {
				requests <- request{id, m}
			}
		}()
		var held []request
		unanswered, taken := 0, 0
		for {
			select {
			case r, more := <-requests:
				push, is := r.m.(*wire.Push)
				if !is {
					if more {
						p.say(r.id, &wire.Done{})
						continue
					}
					return
				}
				if push.Sequence != uint64(taken+1) {
					t.Errorf("sequence %d after %d jobs", push.Sequence, taken)
				}
				held = append(held, r)
				unanswered += len(push.Jobs)
				taken += len(push.Jobs)
				if unanswered > 16_384 {
					t.Errorf("%d numbers without an answer", unanswered)
				}
			case <-time.After(200 * time.Millisecond):
				// Nothing comes any more: answer what is there, the first one last.
				for i := len(held) - 1; i >= 0; i-- {
					p.say(held[i].id, &wire.Pushed{Results: make([]wire.PushResult, len(held[i].m.(*wire.Push).Jobs))})
				}
				held, unanswered = nil, 0
			}
		}
	})
	q := dialScripted(t, address)
	results := must[[]adjourn.PushResult](t)(q.PushBatch(testContext(t), "t", make([]adjourn.NewJob, 40_000)))
	if len(results) != 40_000 {
		t.Errorf("%d results", len(results))
	}
}

func TestWithoutASessionPushesAreRepeatedUnderTheirKeys(t *testing.T) {
	hellos := make(chan *wire.Hello, 2)
	pushes := make(chan *wire.Push, 4)
	serve := func(p *peer, answer bool) {
		hellos <- p.welcome(nil)
		for job := uint64(101); job <= 102; job++ {
			id, m := p.next()
			push, is := m.(*wire.Push)
			if !is {
				t.Errorf("%T instead of a push", m)
				return
			}
			pushes <- push
			if answer {
				p.say(id, &wire.Pushed{Results: []wire.PushResult{{Job: job}}})
			}
		}
	}
	address, _ := scripted(t, func(p *peer) { serve(p, false) }, func(p *peer) {
		serve(p, true)
		p.serve()
	})
	q, ctx := dialScripted(t, address, adjourn.WithoutSession()), testContext(t)
	ids := make(chan adjourn.JobID, 2)
	for i := 0; i < 2; i++ {
		go func() {
			id, err := q.Push(ctx, "t", "x")
			if err != nil {
				t.Error(err)
			}
			ids <- id
		}()
	}
	if a, b := <-ids, <-ids; a+b != 101+102 {
		t.Fatalf("jobs %d and %d", a, b)
	}
	for i := 0; i < 2; i++ {
		if hello := <-hellos; hello.Options != 2 || hello.Session != 0 || hello.Secret != [16]byte{} {
			t.Errorf("%+v", hello)
		}
	}
	first, second := []*wire.Push{<-pushes, <-pushes}, []*wire.Push{<-pushes, <-pushes}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("%+v and %+v were repeated as %+v and %+v", first[0], first[1], second[0], second[1])
	}
	if a, b := first[0], first[1]; a.Sequence != 0 || b.Sequence != 0 || a.Idempotency == b.Idempotency || a.Idempotency == (wire.U128{}) {
		t.Errorf("%+v, %+v", a, b)
	}
}

func TestKeysFollowOneAnother(t *testing.T) {
	firsts := make(chan wire.U128, 2)
	for frameBytes, want := range map[uint32]struct{ jobs, each int }{200: {10, 5}, 1_114_112: {20_480, 4096}} {
		frameBytes, want := frameBytes, want
		address, _ := scripted(t, func(p *peer) {
			p.welcome(func(w *wire.Welcome) { w.FrameBytesMax = frameBytes })
			var key wire.U128
			for taken := 0; taken < want.jobs; taken += want.each {
				id, m := p.next()
				push, is := m.(*wire.Push)
				if !is || len(push.Jobs) != want.each || taken > 0 && push.Idempotency != key {
					t.Errorf("%T after %d jobs", m, taken)
					return
				}
				if taken == 0 {
					firsts <- push.Idempotency
				}
				key = push.Idempotency.Plus(uint64(want.each))
				p.say(id, &wire.Pushed{Results: make([]wire.PushResult, want.each)})
			}
			p.serve()
		})
		q := dialScripted(t, address, adjourn.WithoutSession())
		jobs := make([]adjourn.NewJob, want.jobs)
		for i := range jobs {
			jobs[i].Body = []byte("x")
		}
		if _, err := q.PushBatch(testContext(t), "t", jobs); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := <-firsts, <-firsts; a == b {
		t.Errorf("both clients begin with key %x", a)
	}
}

func TestTheLeaderThatAServerNamesIsTried(t *testing.T) {
	leader, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		p.serve()
	})
	follower, _ := scripted(t, func(p *peer) {
		id, _ := p.next()
		p.say(id, &wire.Error{Code: uint16(adjourn.ErrNotLeader), Marks: wire.ErrorMarkRetryable, Leader: leader})
		p.next()
	})
	must[adjourn.JobID](t)(dialScripted(t, follower).Push(testContext(t), "t", ""))
}

func TestRefusedElsewhereIsSentElsewhere(t *testing.T) {
	next, _ := scripted(t, func(p *peer) {
		if hello := p.welcome(nil); hello.Session != 9 {
			t.Errorf("%+v", hello)
		}
		p.serve()
	})
	old, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		id, _ := p.next()
		p.say(id, &wire.Error{Code: uint16(adjourn.ErrNotLeader), Marks: wire.ErrorMarkRetryable, Leader: next, RetryAfterMs: 10})
		p.next()
	})
	q, ctx := dialScripted(t, old), testContext(t)
	// Nothing was applied, so even what is never repeated goes on.
	if _, err := q.KickMany(ctx, "t", 0); err != nil {
		t.Error(err)
	}
	must[adjourn.JobID](t)(q.Push(ctx, "t", ""))
}

func TestACallThatTimesOutSaysWhetherItWasSent(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		for {
			if _, m := p.next(); m == nil {
				return
			}
		}
	})
	q, ctx := dialScripted(t, address, adjourn.RequestTimeout(50*time.Millisecond)), testContext(t)
	var timeout *adjourn.TimeoutError
	if _, err := q.Push(ctx, "t", ""); !errors.Is(err, adjourn.ErrOutcomeUnknown) || !errors.As(err, &timeout) {
		t.Errorf("%v", err)
	}
	if _, err := q.Get(ctx, adjourn.ByID(1)); errors.Is(err, adjourn.ErrOutcomeUnknown) || !errors.As(err, &timeout) {
		t.Errorf("%v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := q.Push(cancelled, "t", ""); !errors.Is(err, context.Canceled) || errors.Is(err, adjourn.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
}

func TestTheNextHandlerNeedNotWaitForTheAnswerToFinish(t *testing.T) {
	second := make(chan struct{})
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		for {
			id, m := p.next()
			switch m := m.(type) {
			case nil:
				return
			case *wire.Subscribe:
				p.say(id, &wire.Subscribed{})
				job := wire.Delivered{Job: 1, Fence: 1, Attempts: 1, TtrLeftMs: 60_000, Topic: "t"}
				other := job
				other.Job, other.Fence = 2, 2
				p.say(id, &wire.Deliver{Jobs: []wire.Delivered{job, other}})
			case *wire.Finish:
				<-second
				p.say(id, &wire.Settled{Results: make([]wire.SettleResult, len(m.Leases))})
			default:
				p.say(id, &wire.Done{})
			}
		}
	})
	q := dialScripted(t, address)
	w := q.Worker("t", func(_ context.Context, job *adjourn.Job) error {
		if job.ID == 2 {
			close(second)
		}
		return nil
	}, adjourn.Concurrency(1), adjourn.Prefetch(1))
	stop := run(t, w)
	select {
	case <-second:
	case <-testContext(t).Done():
		t.Fatal("the second handler waits for the answer to the first FINISH")
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// The server may still hold a lease that the client gave up: it is given back once the handler has returned.
func TestALeaseThatCouldNotBeExtendedIsGivenBack(t *testing.T) {
	touches, sub := 0, uint32(0)
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		job := wire.Delivered{Job: 1, Fence: 1, Attempts: 1, TtrLeftMs: 300, Topic: "t"}
		for {
			id, m := p.next()
			switch m := m.(type) {
			case nil:
				return
			case *wire.Subscribe:
				sub = id
				p.say(id, &wire.Subscribed{})
				p.say(id, &wire.Deliver{Jobs: []wire.Delivered{job}})
			case *wire.Touch:
				touches++
				p.say(id, &wire.Error{Code: uint16(adjourn.ErrInvalid)})
			case *wire.Release:
				if len(m.Leases) != 1 || m.Leases[0] != (wire.Lease{Job: 1, Fence: 1}) {
					t.Errorf("%+v is released", m.Leases)
				}
				p.say(id, &wire.Settled{Results: make([]wire.SettleResult, len(m.Leases))})
				job.Fence, job.Attempts, job.TtrLeftMs = 2, 2, 60_000
				p.say(sub, &wire.Deliver{Jobs: []wire.Delivered{job}})
			case *wire.Finish:
				if len(m.Leases) != 1 || m.Leases[0] != (wire.Lease{Job: 1, Fence: 2}) || touches == 0 {
					t.Errorf("%+v is finished, after %d touches", m.Leases, touches)
				}
				p.say(id, &wire.Settled{Results: make([]wire.SettleResult, len(m.Leases))})
			default:
				p.say(id, &wire.Done{})
			}
		}
	})
	q, ctx := dialScripted(t, address), testContext(t)
	why, attempts := make(chan error, 1), make(chan uint32, 2)
	stop := run(t, q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		attempts <- job.Attempts
		if job.Attempts == 1 {
			<-ctx.Done()
			why <- adjourn.Cause(ctx)
		}
		return nil
	}))
	for want := uint32(1); want <= 2; want++ {
		select {
		case got := <-attempts:
			if got != want {
				t.Errorf("attempt %d", got)
			}
		case <-ctx.Done():
			t.Fatalf("attempt %d never came", want)
		}
	}
	if err := <-why; err != adjourn.ErrLeaseExpired {
		t.Errorf("%v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
