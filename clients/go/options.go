package adjourn

import (
	"context"
	"log"
	"net"
	"time"
)

// Dialer opens connections. *net.Dialer and *tls.Dialer are Dialers.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Option is an option of [Dial].
type Option func(*config)

type config struct {
	addresses      []string
	name           string
	token          []byte
	heartbeat      time.Duration
	connectTimeout time.Duration
	requestTimeout time.Duration
	waitMax        time.Duration
	leasesOutlive  bool
	withoutSession bool
	dialer         Dialer
	tls            tlsOptions
	codec          Codec
	aroundPush     []PushMiddleware
	aroundHandler  []Middleware
	logf           func(format string, args ...any)
	// warnf is told of failed handlers.
	warnf func(format string, args ...any)
}

func newConfig(options []Option) config {
	cfg := config{
		name:           "adjourn-go/" + Version,
		connectTimeout: 5 * time.Second,
		requestTimeout: 30 * time.Second,
		waitMax:        time.Second,
		dialer:         &net.Dialer{},
		codec:          JSON,
		logf:           func(string, ...any) {},
		warnf:          log.Printf,
	}
	for _, option := range options {
		option(&cfg)
	}
	return cfg
}

// keepsLeases says whether no lease of the client ends with its session: leases outlive it, or there is none.
func (c *config) keepsLeases() bool { return c.leasesOutlive || c.withoutSession }

// Name is what the client calls itself in the server's logs and lists; at most 64 bytes.
func Name(name string) Option { return func(c *config) { c.name = name } }

// Token is the authentication token; at most 256 bytes.
func Token(token string) Option { return func(c *config) { c.token = []byte(token) } }

// Heartbeat asks the server for a heartbeat of its own choice to be this instead. A connection on which nothing came
// for twice this time counts as lost.
func Heartbeat(d time.Duration) Option { return func(c *config) { c.heartbeat = d } }

// ConnectTimeout bounds one attempt to connect and be welcomed (default 5 s). [Dial] fails after this time; a client
// that was connected goes on for ever.
func ConnectTimeout(d time.Duration) Option { return func(c *config) { c.connectTimeout = d } }

// RequestTimeout bounds each call, reconnects included (default 30 s); the wait of a reserve comes on top. A shorter
// deadline of the call's context counts as well. 0 leaves the bound to the context.
func RequestTimeout(d time.Duration) Option { return func(c *config) { c.requestTimeout = d } }

// ReconnectWaitMax is the longest pause between two rounds of attempts to reconnect (default 1 s). The first is at most
// 50 ms; the bound doubles, and a random part of it is waited.
func ReconnectWaitMax(d time.Duration) Option { return func(c *config) { c.waitMax = d } }

// LeasesOutlive makes leases run to their deadline whatever becomes of the session. It is for programs that reserve in
// one process and finish in another.
func LeasesOutlive() Option { return func(c *config) { c.leasesOutlive = true } }

// WithoutSession opens no session, which would be a commit at the start and one at the end. It is for programs that
// push, look and manage once and end. Such a client cannot reserve, subscribe or run workers. Each of its pushes has a
// random key instead of numbers, under which it is repeated after a lost connection. The queue remembers 65,536 such jobs,
// each for a day: this is for few jobs, not for imports.
func WithoutSession() Option { return func(c *config) { c.withoutSession = true } }

// UseDialer makes connections with d, for example a *tls.Dialer.
func UseDialer(d Dialer) Option { return func(c *config) { c.dialer = d } }

// UseCodec encodes bodies that are neither bytes nor text. The default is [JSON].
func UseCodec(codec Codec) Option { return func(c *config) { c.codec = codec } }

// Around wraps every push and every handler of the client: package adjournotel traces them so. Either may be nil. What is
// given first is the outermost; the middleware of a worker's own is inside.
func Around(push PushMiddleware, handler Middleware) Option {
	return func(c *config) {
		if push != nil {
			c.aroundPush = append(c.aroundPush, push)
		}
		if handler != nil {
			c.aroundHandler = append(c.aroundHandler, handler)
		}
	}
}

// OnPush calls hook for each job before it is pushed, for example to add a header. For [Client.PushOnce] it has to add the same
// each time, unless it is a header of a trace.
func OnPush(hook func(ctx context.Context, topic string, job *NewJob)) Option {
	return Around(func(next Pusher) Pusher {
		return func(ctx context.Context, topic string, jobs []NewJob) ([]PushResult, error) {
			for i := range jobs {
				hook(ctx, topic, &jobs[i])
			}
			return next(ctx, topic, jobs)
		}
	}, nil)
}

// Logf is told what happens to the connection, to jobs that nobody waits for, and of handlers that failed: log.Printf
// fits. By default only failed handlers are logged, by log.Printf: each reason once for each job, and at most ten lines a
// second.
func Logf(logf func(format string, args ...any)) Option {
	return func(c *config) { c.logf, c.warnf = logf, logf }
}
