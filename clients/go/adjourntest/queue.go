// Package adjourntest has what tests of programs that use Adjourn need. [Start] gives a test a queue of its own: a real
// server in memory, with a clock that only the test moves, and assertions on what was pushed. [Server] is one with files
// and the machine's clock, [Cluster] is three of them.
//
// The binary of the server is ADJOURN_BIN, or else `adjourn` on the PATH. It runs on Unix. A server ends with its test, or with
// the process of the tests if that is killed.
package adjourntest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

// Queue is a server of one test alone: empty at first, in memory, with a clock that stands still until the test moves it.
// It ends with the test.
type Queue struct {
	t    testing.TB
	addr string

	mu  sync.Mutex
	own *adjourn.Client // of the queue's own calls; connected by the first of them
}

// Start starts a queue for the test, with more arguments of `adjourn serve`; not with tokens or TLS, which the queue's own
// calls do not have.
func Start(t testing.TB, args ...string) *Queue {
	t.Helper()
	f := &Queue{t: t}
	args = append([]string{"--memory", "--clock", "manual", "--listen", "127.0.0.1:0"}, args...)
	p := startProcess(t, func(line string) bool {
		var serves struct {
			Listen string `json:"listen"`
		}
		if json.Unmarshal([]byte(line), &serves) == nil {
			f.addr = serves.Listen
		}
		return f.addr != ""
	}, args...)
	t.Cleanup(func() {
		f.disconnectOwn()
		p.end(syscall.SIGKILL)
	})
	return f
}

// Addr is the address for clients: give it to the code under test.
func (f *Queue) Addr() string { return f.addr }

// Dial connects a client, which is closed with the test.
func (f *Queue) Dial(options ...adjourn.Option) *adjourn.Client {
	f.t.Helper()
	return dial(f.t, f.addr, options...)
}

// client is that of the queue's own calls. Code under test sees its connection in Stats and Connections, and no session.
func (f *Queue) client() *adjourn.Client {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own == nil {
		q, err := adjourn.Dial(context.Background(), f.addr, adjourn.Name("adjourntest"), adjourn.WithoutSession())
		f.check("connect", err)
		f.own = q
	}
	return f.own
}

func (f *Queue) disconnectOwn() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.own != nil {
		f.own.Close()
	}
}

// Now is the time on the queue's clock.
func (f *Queue) Now() time.Time {
	f.t.Helper()
	now, err := f.client().Ping(context.Background())
	return f.moved("ask for the time", now, err)
}

// Advance moves the queue's clock on, and returns the new time. Once it returns, everything that is due by then is
// carried out: a Reserve that does not wait gets the jobs, and those of waiting Reserves, subscriptions and workers are on
// their way. It is one jump: all that happens happens at its end. To see what a rate lets through, advance in steps.
//
// The machine's clock does not move: a client counts its leases on it, and a worker's [adjourn.MaxRun] goes by it.
func (f *Queue) Advance(d time.Duration) time.Time {
	f.t.Helper()
	now, err := f.client().Advance(context.Background(), d)
	return f.moved("advance", now, err)
}

// AdvanceToNext moves the queue's clock to the time at which the next delayed job is due, and returns that time. The test
// fails if no job is delayed.
func (f *Queue) AdvanceToNext() time.Time {
	f.t.Helper()
	now, err := f.client().AdvanceToNext(context.Background())
	if errors.Is(err, adjourn.ErrNotFound) {
		f.t.Fatal("no job is delayed: there is no time to advance to")
	}
	return f.moved("advance", now, err)
}

func (f *Queue) moved(what string, now time.Time, err error) time.Time {
	f.t.Helper()
	f.check(what, err)
	return now
}

func (f *Queue) check(what string, err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("cannot %s: %v", what, err)
	}
}
