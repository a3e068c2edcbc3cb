// Package adjourntest has what tests of programs that use Adjourn need: [Queue], a queue in memory with a clock that
// the test sets, and [Server], a real server on a free port.
package adjourntest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

const (
	startMax = 30 * time.Second
	stopMax  = 20 * time.Second
)

// Server is a real server whose data is in a temporary folder. It ends with the test.
type Server struct {
	t      testing.TB
	binary string
	args   []string
	data   string
	addr   string

	mu  sync.Mutex
	cmd *exec.Cmd
	log *tail
}

// FindBinary returns the path of the server's binary: ADJOURN_BIN, or target/release/adjourn or target/debug/adjourn in
// a folder above.
func FindBinary() (string, error) {
	if path := os.Getenv("ADJOURN_BIN"); path != "" {
		return path, nil
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		for _, build := range []string{"release", "debug"} {
			path := filepath.Join(folder, "target", build, "adjourn")
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
		up := filepath.Dir(folder)
		if up == folder {
			return "", errors.New("no server to test with: set ADJOURN_BIN to the path of the adjourn binary")
		}
		folder = up
	}
}

// StartServer starts a server with more arguments of `adjourn serve`.
func StartServer(t testing.TB, args ...string) *Server {
	t.Helper()
	binary, err := FindBinary()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, binary: binary, args: args, data: t.TempDir()}
	s.addr = FreeAddress(t)
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
	args := append([]string{"serve", "--data", s.data, "--listen", s.addr}, s.args...)
	cmd := exec.Command(s.binary, args...)
	cmd.Env = append(os.Environ(), "ADJOURN_LOG_FORMAT=text")
	// The server ends with the process of the test, however that ends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	s.log = &tail{listening: make(chan struct{})}
	output, err := cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stdout = cmd.Stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan struct{})
	log := s.log
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			log.add(lines.Text())
		}
	}()
	s.cmd = cmd
	select {
	case <-log.listening:
	case <-ended:
		s.t.Fatalf("the server ended: %s", log.text())
	case <-time.After(startMax):
		s.t.Fatalf("the server does not listen: %s", log.text())
	}
}

// Kill ends the server as kill -9 does.
func (s *Server) Kill() { s.signal(syscall.SIGKILL) }

// Stop asks the server to stop and waits for its end.
func (s *Server) Stop() { s.signal(syscall.SIGTERM) }

// Freeze stops the process without ending it, Thaw lets it go on.
func (s *Server) Freeze() { s.send(syscall.SIGSTOP) }

// Thaw lets a frozen server go on.
func (s *Server) Thaw() { s.send(syscall.SIGCONT) }

func (s *Server) send(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		s.cmd.Process.Signal(signal)
	}
}

func (s *Server) signal(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	s.cmd.Process.Signal(signal)
	timer := time.AfterFunc(stopMax, func() { s.cmd.Process.Kill() })
	s.cmd.Wait()
	timer.Stop()
	s.cmd = nil
}

// tail keeps the last lines of a log.
type tail struct {
	mu        sync.Mutex
	lines     []string
	once      sync.Once
	listening chan struct{}
}

func (t *tail) add(line string) {
	if strings.Contains(line, " listening ") {
		t.once.Do(func() { close(t.listening) })
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > 50 {
		t.lines = t.lines[1:]
	}
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprint(strings.Join(t.lines, "\n"))
}
