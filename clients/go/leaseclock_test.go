package adjourn

import (
	"errors"
	"testing"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

var start = time.Now()

func at(d time.Duration) time.Time { return start.Add(d) }

func grace10() *wire.Welcome {
	return &wire.Welcome{HeartbeatMs: 3000, SessionGraceMs: 10_000, ClockMs: 4321}
}

func TestALeaseEndsWithTheServersClock(t *testing.T) {
	l := newLeaseClock(start, grace10(), false)
	job := &wire.Delivered{TtrLeftMs: 59_999, DeadlineMs: 65_824}
	// The delivery was under way for a second: the deadline does not move.
	if got, want := l.left(at(2*time.Second), job), surely(59_503*time.Millisecond); got != want {
		t.Errorf("%v instead of %v", got, want)
	}
	l.answered(at(time.Minute), &wire.Pong{ClockMs: 65_000})
	if got, want := l.left(at(time.Minute), job), surely(824*time.Millisecond); got != want {
		t.Errorf("%v instead of %v", got, want)
	}
	if left := l.left(at(2*time.Minute), job); left > 0 {
		t.Errorf("%v left of a lease that is over", left)
	}
	// Without a deadline, what is left counts from the arrival.
	if got, want := l.left(at(time.Minute), &wire.Delivered{TtrLeftMs: 1000}), 999*time.Millisecond; got != want {
		t.Errorf("%v instead of %v", got, want)
	}
}

func TestLeasesArePresumedLostAfterTheGraceWithoutAProof(t *testing.T) {
	l := newLeaseClock(start, grace10(), false)
	epoch := l.epoch
	l.answered(at(2*time.Second), &wire.Settled{})
	l.answered(at(5*time.Second), &wire.Reserved{}) // proves nothing
	l.answered(at(5*time.Second), &wire.Counted{})  // neither does this
	l.up(at(6*time.Second), grace10(), false, true) // nor a WELCOME that keeps leases
	if l.presume(at(11_989*time.Millisecond)) || epoch.reason() != nil {
		t.Error("too early")
	}
	if !l.presume(at(11_990*time.Millisecond)) || epoch.reason() != ErrLeasePresumedLost || !l.areOver() {
		t.Errorf("%v", epoch.reason())
	}
	if l.presume(at(12 * time.Second)) {
		t.Error("they are lost once")
	}
	l.answered(at(11*time.Second), &wire.Pong{ClockMs: 1}) // was sent before the loss
	if !l.areOver() {
		t.Error("what was sent before the loss is no proof after it")
	}
	l.answered(at(12*time.Second), &wire.Pong{ClockMs: 1})
	if l.areOver() || l.epoch.reason() != nil {
		t.Error("a proof that was asked for after the loss begins anew")
	}
}

func TestLeasesThatOutliveTheSessionHaveNoGrace(t *testing.T) {
	l := newLeaseClock(start, grace10(), true)
	if l.presume(at(time.Hour)) {
		t.Error("they run to their deadline")
	}
}

func TestASleepOfTheMachineCounts(t *testing.T) {
	for _, outlive := range []bool{false, true} {
		l := newLeaseClock(start, grace10(), outlive)
		epoch := l.epoch
		l.look(start)
		l.look(at(time.Second))
		l.presume(at(time.Second))
		if epoch.reason() != nil {
			t.Error("both clocks went on for a second")
		}
		l.slept(at(2 * time.Second))
		l.presume(at(2 * time.Second))
		if epoch.reason() == nil {
			t.Error("after a sleep nothing is known of any lease")
		}
	}
}

func TestWithoutASessionNoHeartbeatIsSentForLeases(t *testing.T) {
	for _, options := range [][]Option{nil, {WithoutSession()}} {
		s := newSession(newConfig(options))
		if err := s.up(&link{}, &wire.Welcome{HeartbeatMs: 3000, SessionGraceMs: 4000, InFlightMax: 100, FrameBytesMax: 1 << 20}, start); err != nil {
			t.Fatal(err)
		}
		asked := func(heard time.Duration) bool {
			now := s.pulse.pinged.Add(3500 * time.Millisecond)
			s.pulse.heard, s.pulse.spoken = now.Add(-heard), now
			s.tick(now)
			return s.pulse.pinged == now
		}
		if got, want := asked(100*time.Millisecond), options == nil; got != want {
			t.Errorf("asked for a proof: %v instead of %v", got, want)
		}
		if !asked(3200 * time.Millisecond) {
			t.Error("a silent server is asked")
		}
		if s.leases.grace > 0 != (options == nil) {
			t.Errorf("a grace of %v", s.leases.grace)
		}
	}
}

func TestNoKeyIsZero(t *testing.T) {
	s := newSession(newConfig(nil))
	for i := range s.key {
		s.key[i] = 0xff
	}
	s.key[0] = 0xfe
	for i, want := range []wire.U128{s.key, {1}, {3}} {
		if key := s.nextKey(2); key != want {
			t.Errorf("key %d is %x", i, key)
		}
	}
}

func TestKeyedJobsUnderWayAreBounded(t *testing.T) {
	s := newSession(newConfig([]Option{WithoutSession()}))
	up := func() {
		if err := s.up(&link{}, &wire.Welcome{InFlightMax: 100, FrameBytesMax: 1 << 20, PushJobsMax: 1 << 20}, start); err != nil {
			t.Fatal(err)
		}
	}
	up()
	if most := s.pushJobsMax(); most != 8192 {
		t.Errorf("%d jobs in one push", most)
	}
	jobs := [4]int{4096, 4096, 4096, 1}
	var calls [4]*call
	for i, n := range jobs {
		c, err := s.start(&wire.Push{Topic: "t", Jobs: make([]wire.NewJob, n)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		calls[i] = c
	}
	sent := func(when string, want [4]bool) {
		t.Helper()
		for i, c := range calls {
			if c.onWire != want[i] {
				t.Errorf("%s: push %d is on the wire: %v", when, i, c.onWire)
			}
		}
	}
	answer := func(i int, m wire.Message) {
		s.locked(func(now time.Time) { s.received(now, wire.Frame{ID: calls[i].id, Opcode: m.Opcode()}, m, nil) })
	}
	sent("at first", [4]bool{true, true, false, false})
	s.down(errSilent)
	up()
	sent("on the next connection", [4]bool{true, true, false, false})
	answer(0, &wire.Pushed{Results: make([]wire.PushResult, jobs[0])})
	sent("after an answer", [4]bool{false, true, true, false})
	answer(1, &wire.Error{Code: uint16(ErrBusy), Marks: wire.ErrorMarkRetryable})
	sent("after a refusal", [4]bool{false, false, true, true})
	s.locked(func(time.Time) { s.retryDelayed(calls[1].retryAt, func(time.Time) {}) })
	sent("when the refused one is due", [4]bool{false, false, true, true})
	answer(3, &wire.Pushed{Results: make([]wire.PushResult, jobs[3])})
	sent("after the last one's answer", [4]bool{false, true, true, false})
}

func TestARefusedPushIsRepeatedBeforeOneThatWaitsForItsNumbers(t *testing.T) {
	s := newSession(newConfig(nil))
	welcome := &wire.Welcome{Session: 1, InFlightMax: 100, FrameBytesMax: 1 << 20, PushJobsMax: 1 << 20}
	if err := s.up(&link{}, welcome, start); err != nil {
		t.Fatal(err)
	}
	var calls [5]*call
	for i := range calls {
		c, err := s.start(&wire.Push{Topic: "t", Jobs: make([]wire.NewJob, 4096)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		calls[i] = c
	}
	if calls[4].onWire {
		t.Fatal("the fifth push does not fit into the window")
	}
	busy := &wire.Error{Code: uint16(ErrBusy), Marks: wire.ErrorMarkRetryable}
	s.locked(func(now time.Time) { s.received(now, wire.Frame{ID: calls[0].id, Opcode: busy.Opcode()}, busy, nil) })
	s.locked(func(now time.Time) {
		s.retryDelayed(calls[0].retryAt, func(time.Time) {})
		s.pump(now)
	})
	if !calls[0].onWire || calls[4].onWire {
		t.Errorf("on the wire: the first push %v, the fifth %v", calls[0].onWire, calls[4].onWire)
	}
}

func TestAServerThatAnswersOnlyHeartbeatsIsStuck(t *testing.T) {
	s := newSession(newConfig(nil))
	s.welcome = &wire.Welcome{HeartbeatMs: 3000, SessionGraceMs: 10_000, InFlightMax: 100, FrameBytesMax: 1 << 20}
	s.leases = newLeaseClock(start, s.welcome, false)
	s.pulse = newPulse(start, 2500*time.Millisecond, 3*time.Second)
	s.state = linkUp
	get := s.accept(start, &wire.Get{}, nil)
	poll := s.accept(start, &wire.Reserve{WaitMs: 60_000, JobsMax: 1, Topics: []string{"t"}}, nil)
	get.awaited, poll.awaited = true, true
	s.pump(start)
	for now := time.Second; now < 6*time.Second; now += time.Second {
		s.pulse.heard = at(now)
		if _, bad := s.tick(at(now)); bad != nil {
			t.Fatalf("after %v: %v", now, bad)
		}
		for _, c := range s.open {
			if _, is := c.req.(*wire.Ping); is && c.onWire {
				s.received(at(now), wire.Frame{ID: c.id, Opcode: wire.OpPong}, &wire.Pong{ClockMs: 1}, nil)
			}
		}
	}
	if _, bad := s.tick(at(6 * time.Second)); !errors.Is(bad, errStuck) {
		t.Errorf("%v", bad)
	}
	// A poll that waits on purpose is not stuck.
	s.finish(get, nil, nil)
	if _, bad := s.tick(at(6 * time.Second)); bad != nil {
		t.Errorf("%v", bad)
	}
	if _, bad := s.tick(at(12 * time.Second)); !errors.Is(bad, errSilent) {
		t.Errorf("%v", bad)
	}
}

func TestHeartbeatsComeFourTimesInTheGrace(t *testing.T) {
	for _, c := range []struct {
		heartbeatMs, graceMs uint32
		outlive              bool
		want                 time.Duration
	}{
		{3000, 10_000, false, 2500 * time.Millisecond},
		{3000, 10_000, true, 3 * time.Second},
		{1000, 10_000, false, time.Second},
		{3000, 100, false, 100 * time.Millisecond},
		{0, 10_000, false, 0},
	} {
		got := heartbeatEvery(&wire.Welcome{HeartbeatMs: c.heartbeatMs, SessionGraceMs: c.graceMs}, c.outlive)
		if got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestTheSearchTriesEachAddressOnceARound(t *testing.T) {
	s := newSearch([]string{"a:1", "b:1"})
	s.begin("b:1", []string{"10.0.0.2:1", "0.0.0.0:1", "b:1", "[::]:1", ""})
	rest := func() (all []string) {
		for {
			address, some := s.next()
			if !some {
				return all
			}
			all = append(all, address)
		}
	}
	check := func(want ...string) {
		t.Helper()
		got := rest()
		if len(got) != len(want) {
			t.Fatalf("%v instead of %v", got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%v instead of %v", got, want)
			}
		}
	}
	check("b:1", "a:1", "10.0.0.2:1")
	s.begin("", nil)
	s.next()
	s.redirect("c:1")
	s.redirect("a:1")
	check("c:1", "b:1")
	s.wasSilent("a:1")
	s.begin("a:1", []string{"c:1"})
	check("b:1", "c:1", "a:1")
	s.answered("a:1")
	s.begin("a:1", nil)
	check("a:1", "b:1")
}

func TestAddresses(t *testing.T) {
	for text, want := range map[string]int{
		"adjourn://a:1,b:2": 2, "a:1": 1, "a": 1, "[::1]:7440": 1, " a:1 , ": 1,
		"": 0, "http://a:1": 0, "adjourn://": 0, "a:1/x@y": 0,
	} {
		got, _, err := parseAddresses(text)
		if len(got) != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]bool{
		"a:1": false, "adjourn://a:1,b:2": false, "adjourns://a:1,b:2": true, "adjourns://a:1/,adjourns://b:2/": true,
	} {
		if _, secure, err := parseAddresses(text); secure != want || err != nil {
			t.Errorf("%q: %v, %v", text, secure, err)
		}
	}
	for _, text := range []string{"a:1,adjourns://b:2", "adjourns://a:1,adjourn://b:2", "tls://a:1"} {
		if _, _, err := parseAddresses(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if got, _, _ := parseAddresses("adjourn://queue"); got[0] != "queue:7440" {
		t.Errorf("%v", got)
	}
}

func TestDurationsAreNeverEarly(t *testing.T) {
	if durationMs(time.Nanosecond) != 1 || durationMs(time.Millisecond) != 1 || durationMs(0) != 0 {
		t.Error("a delay is rounded up")
	}
	if ms, err := wallMs(time.UnixMilli(5).Add(time.Nanosecond), ""); ms != 6 || err != nil {
		t.Errorf("%d, %v", ms, err)
	}
	if millis(1<<63) != 1<<63-1 {
		t.Error("a duration that Go cannot hold is the longest")
	}
}

func TestAReasonIsCutBetweenCharacters(t *testing.T) {
	long := make([]byte, 0, 4000)
	for len(long) < 3000 {
		long = append(long, "ü"...)
	}
	if got := shortened("x" + string(long)); len(got) != 1023 || got[1:3] != "ü" {
		t.Errorf("%d bytes", len(got))
	}
}

func TestCallersWhoLeaveDuringAnOutageLeaveNothingBehind(t *testing.T) {
	s := newSession(newConfig(nil))
	s.welcome = &wire.Welcome{BodyBytesMax: 1 << 20, PushJobsMax: 10}
	s.leases = newLeaseClock(start, s.welcome, false)
	for i := 0; i < 10_000; i++ {
		c, err := s.start(&wire.Push{Topic: "t", Jobs: make([]wire.NewJob, 1)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.leave(c, errSilent); err != errSilent {
			t.Fatalf("nothing was sent: %v", err)
		}
	}
	if len(s.open) != 0 || len(s.line) > 100 {
		t.Errorf("%d open, %d in line", len(s.open), len(s.line))
	}
}
