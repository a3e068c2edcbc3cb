package adjourntest

import (
	"context"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

// Server is a real server with its data in a temporary folder and the machine's clock, for tests of crashes, restarts and
// clusters. It ends with the test.
type Server struct {
	t    testing.TB
	args []string
	addr string

	mu      sync.Mutex
	process *process // nil while it does not run
}

// StartServer starts a server with more arguments of `adjourn serve`.
func StartServer(t testing.TB, args ...string) *Server {
	t.Helper()
	address := FreeAddress(t)
	s := &Server{t: t, addr: address, args: append([]string{"--data", t.TempDir(), "--listen", address}, args...)}
	s.Start()
	t.Cleanup(s.Kill)
	return s
}

// FreeAddress returns an address of this machine on which nothing listens.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Addr is the address for clients. It stays the same after a restart.
func (s *Server) Addr() string { return s.addr }

// Dial connects a client, which is closed with the test.
func (s *Server) Dial(options ...adjourn.Option) *adjourn.Client {
	s.t.Helper()
	return dial(s.t, s.addr, options...)
}

func dial(t testing.TB, address string, options ...adjourn.Option) *adjourn.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startMax)
	defer cancel()
	q, err := adjourn.Dial(ctx, address, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		q.CloseContext(ctx) // the server may be gone
	})
	return q
}

// Start starts the server on the same data and address, and waits until it listens.
func (s *Server) Start() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process = startProcess(s.t, func(line string) bool { return strings.Contains(line, " listening ") }, s.args...)
}

// Kill ends the server as kill -9 does.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Stop asks the server to stop and waits for its end.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Freeze stops the process without ending it, Thaw lets it go on.
func (s *Server) Freeze() {
	s.send(syscall.SIGSTOP)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.awaitStop()
	}
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.send(syscall.SIGCONT) }

func (s *Server) send(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.send(signal)
	}
}

func (s *Server) end(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.end(signal)
		s.process = nil
	}
}
