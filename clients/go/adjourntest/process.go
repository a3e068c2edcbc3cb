package adjourntest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startMax = 30 * time.Second
	stopMax  = 20 * time.Second
)

// FindBinary returns the path of the server's binary: ADJOURN_BIN, or else `adjourn` on the PATH.
func FindBinary() (string, error) {
	if path := os.Getenv("ADJOURN_BIN"); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("ADJOURN_BIN is not the server: %w", err)
		}
		return path, nil
	}
	path, err := exec.LookPath("adjourn")
	if err != nil {
		return "", errors.New("no server to test with: install adjourn so that it is on the PATH, or set ADJOURN_BIN to the path of its binary")
	}
	return path, nil
}

// process is a server that runs.
type process struct{ cmd *exec.Cmd }

// startProcess runs the server until one of its lines says that it serves.
func startProcess(t testing.TB, serves func(line string) bool, args ...string) *process {
	t.Helper()
	binary, err := FindBinary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, append([]string{"serve", "--end-with-stdin"}, args...)...)
	cmd.Env = append(environment(), "ADJOURN_LOG_FORMAT=text")
	output, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = cmd.Stderr
	// Open until cmd.Wait or the end of this process, which ends the server. No other child inherits it.
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd}
	log := &tail{}
	serving, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		log.read(output, serves, serving)
	}()
	select {
	case <-serving:
		return p
	case <-ended:
		p.end(syscall.SIGKILL)
		t.Fatalf("%s ended:\n%s", binary, log.text())
	case <-time.After(startMax):
		p.end(syscall.SIGKILL)
		t.Fatalf("%s does not serve:\n%s", binary, log.text())
	}
	return nil
}

// environment is that of the test but for the settings of servers: a server for tests takes them from its arguments alone.
func environment() (kept []string) {
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "ADJOURN_") {
			kept = append(kept, variable)
		}
	}
	return kept
}

func (p *process) send(signal syscall.Signal) { p.cmd.Process.Signal(signal) }

// awaitStop waits until the process stands still: its threads go on until the one that gets the signal has its turn.
func (p *process) awaitStop() { syscall.Wait4(p.cmd.Process.Pid, nil, syscall.WUNTRACED, nil) }

// end sends a signal and waits until the server has ended.
func (p *process) end(signal syscall.Signal) {
	p.send(signal)
	timer := time.AfterFunc(stopMax, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	p.cmd.Wait()
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) read(from io.Reader, serves func(line string) bool, serving chan<- struct{}) {
	served := false
	for lines := bufio.NewScanner(from); lines.Scan(); {
		t.add(lines.Text())
		if !served && serves(lines.Text()) {
			served = true
			close(serving)
		}
	}
	io.Copy(io.Discard, from) // a line was too long: the server must not wait for its reader
}

func (t *tail) add(line string) {
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
	return strings.Join(t.lines, "\n")
}
