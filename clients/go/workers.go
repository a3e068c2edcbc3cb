package adjourn

import (
	"context"
	"errors"
	"sync"
	"time"
)

// workers are those of a client that run: they stop before it says GOODBYE, which gives their jobs to others.
type workers struct {
	mu      sync.Mutex
	running map[*Worker]struct{}
	closed  bool
}

// begin says whether a worker may run.
func (ws *workers) begin(w *Worker) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.running == nil {
		ws.running = map[*Worker]struct{}{}
	}
	if !ws.closed {
		ws.running[w] = struct{}{}
	}
	return !ws.closed
}

func (ws *workers) end(w *Worker) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.running, w)
}

// stop ends all of them, and says whether none left anything running.
func (ws *workers) stop(ctx context.Context) bool {
	ws.mu.Lock()
	ws.closed = true
	stopping := make(chan error, len(ws.running))
	left := len(ws.running)
	for w := range ws.running {
		go func(w *Worker) { stopping <- w.Shutdown(ctx) }(w)
	}
	ws.mu.Unlock()
	all := true
	for ; left > 0; left-- {
		all = !errors.Is(<-stopping, ErrStopTimeout) && all
	}
	return all
}

const (
	failuresRemembered = 256
	failureLinesMax    = 10
	failureWindow      = time.Second
)

// failureLog decides which failures of handlers get a line in the log: each reason once for each job, and so many a
// second at most.
type failureLog struct {
	mu      sync.Mutex
	logged  map[failure]struct{}
	order   []failure
	window  time.Time
	lines   int
	leftOut int
}

type failure struct {
	job    JobID
	reason string
}

// note says whether this failure gets a line, and how many were left out since the one before.
func (l *failureLog) note(now time.Time, job JobID, reason string) (says bool, leftOut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := failure{job, reason}
	if _, known := l.logged[f]; known {
		return false, 0
	}
	if now.Sub(l.window) >= failureWindow {
		l.window, l.lines = now, 0
	}
	if l.lines >= failureLinesMax {
		l.leftOut++
		return false, 0
	}
	l.lines++
	if l.logged == nil {
		l.logged = map[failure]struct{}{}
	}
	if len(l.order) >= failuresRemembered {
		delete(l.logged, l.order[0])
		l.order = l.order[1:]
	}
	l.logged[f] = struct{}{}
	l.order = append(l.order, f)
	leftOut, l.leftOut = l.leftOut, 0
	return true, leftOut
}
