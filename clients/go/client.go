package adjourn

import (
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

const closeMax = 5 * time.Second

// Client is a client of one queue. Create it with [Dial] and end it with [Client.Close].
type Client struct {
	s *session
	// stray counts handlers that a worker had to leave running: their leases must not be given back.
	stray   atomic.Int64
	workers workers
}

// Dial connects to adjourn://host:port[,host:port] (or the same without the scheme), finds the leader and opens a
// session, unless it is [WithoutSession]. Of a cluster, the address of any member is enough.
//
// It fails with a [ConnectError] if no server welcomes the client within [ConnectTimeout], and with an [Error] if one
// refuses it. Once connected, the client reconnects by itself until it is closed.
func Dial(ctx context.Context, address string, options ...Option) (*Client, error) {
	cfg := newConfig(options)
	addresses, secure, err := parseAddresses(address)
	if err != nil {
		return nil, err
	}
	cfg.addresses = addresses
	if secure {
		tlsConfig, err := cfg.tls.read()
		if err != nil {
			return nil, err
		}
		cfg.dialer = &tlsDialer{under: cfg.dialer, config: tlsConfig}
	} else if !cfg.tls.areNone() {
		return nil, usage("options of TLS need an address with %s", tlsScheme)
	}
	s := newSession(cfg)
	if _, err := rand.Read(s.key[:]); err != nil {
		s.cancel()
		return nil, err
	}
	found, err := s.firstLink(ctx)
	if err != nil {
		s.cancel()
		return nil, err
	}
	if err := s.up(found.link, found.welcome, found.said); err != nil {
		s.cancel()
		return nil, err
	}
	go s.run(found.link)
	return &Client{s: s}, nil
}

// Close stops the workers that still run, each for its [StopTimeout] at most. Then it says GOODBYE, which ends the session
// and gives its leases back, waits up to 5 s for the answer, and closes the connection. Calls that still wait end with
// [ErrClosed]. It may be called again.
//
// If a worker had to leave a handler running, Close only closes the connection: the handler's lease then lasts for
// the session's grace. A handler must not call Close, which waits for it.
func (q *Client) Close() error {
	stopped := q.workers.stop(context.Background())
	ctx, cancel := context.WithTimeout(context.Background(), closeMax)
	defer cancel()
	return q.close(ctx, stopped)
}

// CloseContext is [Client.Close] with a deadline of the caller's for all of it.
func (q *Client) CloseContext(ctx context.Context) error {
	return q.close(ctx, q.workers.stop(ctx))
}

func (q *Client) close(ctx context.Context, stopped bool) (err error) {
	if stopped {
		err = q.goodbye(ctx)
	}
	q.s.end(ErrClosed)
	select {
	case <-q.s.done:
	case <-ctx.Done():
	}
	return err
}

func (q *Client) goodbye(ctx context.Context) error {
	if q.stray.Load() > 0 {
		return nil
	}
	goodbye, err := q.s.start(&wire.Goodbye{}, nil)
	if err != nil {
		return nil // it has ended already
	}
	q.s.locked(func(time.Time) { q.s.closing = true })
	_, err = q.s.await(ctx, goodbye)
	if errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// Done is closed when the client has ended: by Close, or for the reason that [Client.Err] returns.
func (q *Client) Done() <-chan struct{} { return q.s.done }

// Err is why the client has ended, or nil.
func (q *Client) Err() error {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	return q.s.ended
}

// Info is what the server said when it welcomed the client last.
type Info struct {
	ServerName   string
	ClusterID    [16]byte
	Session      uint64 // 0: there is none
	Heartbeat    time.Duration
	SessionGrace time.Duration
	// The limits of this server. Package limits has those that are the same for all.
	FrameBytesMax, BodyBytesMax            int
	PushJobsMax, LeasesMax, ReserveJobsMax int
	InFlightMax                            int
	Members                                []string
	// Connected says whether there is a connection now, Connections how many there have been.
	Connected   bool
	Connections int
}

// Info returns what is known of the server and the connection.
func (q *Client) Info() Info {
	q.s.mu.Lock()
	defer q.s.mu.Unlock()
	w := q.s.welcome
	return Info{
		ServerName: w.ServerName, ClusterID: w.ClusterID, Session: w.Session,
		Heartbeat: millis(uint64(w.HeartbeatMs)), SessionGrace: millis(uint64(w.SessionGraceMs)),
		FrameBytesMax: int(w.FrameBytesMax), ReserveJobsMax: int(w.ReserveJobsMax), InFlightMax: int(w.InFlightMax),
		BodyBytesMax: int(w.BodyBytesMax), PushJobsMax: q.s.pushJobsMax(), LeasesMax: q.s.leasesMax(),
		Members:   append([]string(nil), q.s.members...),
		Connected: q.s.state == linkUp, Connections: q.s.links,
	}
}

// Ping asks the leader for a sign of life, and returns the server's wall clock.
func (q *Client) Ping(ctx context.Context) (time.Time, error) {
	pong, err := ask[*wire.Pong](ctx, q, &wire.Ping{})
	if err != nil {
		return time.Time{}, err
	}
	return wallTime(pong.Now), nil
}

// ask sends a request whose answer has one type. The session has checked that the answer belongs to the request.
func ask[T wire.Message](ctx context.Context, q *Client, req wire.Message) (T, error) {
	resp, err := q.s.do(ctx, req)
	answer, is := resp.(T)
	if err == nil && !is {
		err = ErrClosed // the connection took the request with it
	}
	return answer, err
}

func (q *Client) done(ctx context.Context, req wire.Message) error {
	_, err := q.s.do(ctx, req)
	return err
}
