package adjourn

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

const (
	readBytes  = 32 << 10
	writeBytes = 64 << 10
	// Output buffers that grew beyond this are not kept.
	keptBytesMax = 2 << 20
	// A read of more than this is a part of an answer, not a heartbeat.
	answerBytesMin = 512
)

// link is one connection that was welcomed.
type link struct {
	conn   net.Conn
	reader *bufio.Reader
	lost   chan struct{}

	once  sync.Once
	cause error
}

// fail closes the connection; the first cause stays.
func (l *link) fail(cause error) {
	l.once.Do(func() {
		l.cause = cause
		close(l.lost)
		l.conn.Close()
	})
}

// dial connects to one address and says HELLO. The context bounds all of it. The time is when HELLO was said, also if it
// failed afterwards; zero if no connection was made.
func (s *session) dial(ctx context.Context, address string, hello *wire.Hello) (*link, *wire.Welcome, time.Time, error) {
	conn, err := s.cfg.dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, nil, time.Time{}, err
	}
	stop := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			conn.SetDeadline(time.Unix(1, 0))
		case <-stop:
		}
	}()
	l := &link{conn: conn, reader: bufio.NewReaderSize(conn, readBytes), lost: make(chan struct{})}
	w, said, err := greet(l, hello)
	close(stop)
	<-watched
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = fmt.Errorf("%w (%v)", ctx.Err(), err)
		}
		return nil, nil, said, err
	}
	return l, w, said, nil
}

func greet(l *link, hello *wire.Hello) (*wire.Welcome, time.Time, error) {
	said := time.Now()
	out, err := wire.Append(nil, 1, hello)
	if err != nil {
		return nil, said, usage("%v", err)
	}
	if _, err := l.conn.Write(out); err != nil {
		return nil, said, err
	}
	frame, _, err := wire.ReadFrame(l.reader, limits.ResponseBytesMax, nil)
	if errors.Is(err, wire.ErrMalformed) {
		return nil, said, &ProtocolError{Cause: err}
	}
	if err != nil {
		return nil, said, err
	}
	m, err := frame.Message()
	if err != nil {
		return nil, said, &ProtocolError{Cause: err}
	}
	switch m := m.(type) {
	case *wire.Welcome:
		if m.Version != wire.ProtocolVersion {
			return nil, said, &ProtocolError{Cause: fmt.Errorf("version %d", m.Version)}
		}
		return m, said, nil
	case *wire.Error:
		return nil, said, refusal(m)
	case *wire.GoingAway:
		return nil, said, fmt.Errorf("the server is about to close: %s", m.Message)
	}
	return nil, said, &ProtocolError{Cause: fmt.Errorf("%v answers HELLO", frame.Opcode)}
}

func (s *session) hello() *wire.Hello {
	hello := &wire.Hello{
		VersionMin: wire.ProtocolVersion, VersionMax: wire.ProtocolVersion,
		HeartbeatMs: uint32(durationMs(s.cfg.heartbeat)),
		ClientName:  s.cfg.name, Token: s.cfg.token,
	}
	if s.cfg.leasesOutlive {
		hello.Options |= wire.HelloOptionLeasesOutlive
	}
	if s.cfg.withoutSession {
		hello.Options |= wire.HelloOptionNoSession
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.welcome != nil {
		hello.Session, hello.Secret = s.welcome.Session, s.welcome.Secret
	}
	return hello
}

// carry moves frames until the connection is lost.
func (s *session) carry(l *link) error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.write(l)
	}()
	s.read(l)
	<-written
	return l.cause
}

// heardReader notes when bytes come.
type heardReader struct {
	s    *session
	from io.Reader
}

func (r heardReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if n > 0 {
		r.s.mu.Lock()
		now := time.Now()
		r.s.pulse.heard = now
		if n > answerBytesMin {
			r.s.pulse.moved = now
		}
		r.s.mu.Unlock()
	}
	return n, err
}

func (s *session) read(l *link) {
	// What was read behind WELCOME comes first.
	reader := bufio.NewReaderSize(heardReader{s, l.reader}, readBytes)
	var scratch []byte
	for {
		var frame wire.Frame
		var err error
		frame, scratch, err = wire.ReadFrame(reader, limits.ResponseBytesMax, scratch)
		if err != nil {
			if errors.Is(err, wire.ErrMalformed) {
				err = &ProtocolError{Cause: err}
			}
			l.fail(err)
			return
		}
		m, malformed := frame.Message()
		drained := false
		s.locked(func(now time.Time) {
			s.received(now, frame, m, malformed)
			drained = s.drained()
		})
		if drained {
			l.fail(errDrained)
			return
		}
		if cap(scratch) > keptBytesMax {
			scratch = nil
		}
	}
}

func (s *session) write(l *link) {
	var spare []byte
	for {
		out := s.takeOutput(l, spare)
		if out == nil {
			select {
			case <-s.wake:
				continue
			case <-l.lost:
				return
			}
		}
		for rest := out; len(rest) > 0; {
			n := clamp(len(rest), 0, writeBytes)
			if _, err := l.conn.Write(rest[:n]); err != nil {
				l.fail(err)
				return
			}
			rest = rest[n:]
			s.mu.Lock()
			s.pulse.moved = time.Now() // a server that takes what is written, however slowly, is not stuck
			s.mu.Unlock()
		}
		spare = out[:0]
		if cap(spare) > keptBytesMax {
			spare = nil
		}
	}
}

// takeOutput takes what is to be written, and encodes more in its place.
func (s *session) takeOutput(l *link, spare []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.link != l {
		return nil
	}
	if len(s.out) == 0 {
		s.pump(now)
	}
	if len(s.out) == 0 {
		return nil
	}
	out := s.out
	s.out = spare
	s.pulse.spoken = now
	s.pump(now)
	return out
}
