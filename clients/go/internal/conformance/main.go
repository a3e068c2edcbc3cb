// Command conformance is the harness of this client for the conformance suite of the repository: commands come as JSON
// lines on stdin, answers and events go as JSON lines to stdout.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

const (
	lineBytesMax = 64 << 20
	stopMax      = 5 * time.Second
	// A command has this long to hand its request to the client before the next one starts: they run at the same time,
	// and begin in the order of the lines.
	headStart = time.Millisecond
)

// harness has the clients, subscriptions and workers by the names that the runner gave them.
type harness struct {
	mu            sync.Mutex
	clients       map[string]*adjourn.Client
	subscriptions map[string]*adjourn.Subscription
	workers       map[string]*adjourn.Worker
	reserves      map[int64]reserve

	out     sync.Mutex
	encoder *json.Encoder
}

// reserve is one that waits, by the id of its command.
type reserve struct {
	cancel   context.CancelFunc
	answered chan struct{}
}

type answer struct {
	ID    int64 `json:"id"`
	OK    any   `json:"ok,omitempty"`
	Error any   `json:"error,omitempty"`
}

func main() {
	h := &harness{
		clients: map[string]*adjourn.Client{}, subscriptions: map[string]*adjourn.Subscription{},
		workers: map[string]*adjourn.Worker{}, reserves: map[int64]reserve{}, encoder: json.NewEncoder(os.Stdout),
	}
	h.encoder.SetEscapeHTML(false)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		<-signals
		h.stop()
		os.Exit(0)
	}()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 64<<10), lineBytesMax)
	for lines.Scan() {
		var c command
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			fmt.Fprintln(os.Stderr, "not a command:", err)
			os.Exit(1)
		}
		h.begin(&c)
	}
}

// begin starts a command, and answers when it is done.
func (h *harness) begin(c *command) {
	ctx, cancel := context.WithCancel(context.Background())
	answered := make(chan struct{})
	if c.Do == "reserve" {
		h.mu.Lock()
		h.reserves[c.ID] = reserve{cancel, answered}
		h.mu.Unlock()
	}
	go func() {
		defer close(answered)
		defer cancel()
		ok, err := h.carryOut(ctx, c)
		if err != nil {
			h.say(answer{ID: c.ID, Error: shownError(err)})
		} else {
			h.say(answer{ID: c.ID, OK: ok})
		}
		h.mu.Lock()
		delete(h.reserves, c.ID)
		h.mu.Unlock()
	}()
	select {
	case <-answered:
	case <-time.After(headStart):
	}
}

// say writes one line.
func (h *harness) say(line any) {
	h.out.Lock()
	defer h.out.Unlock()
	if err := h.encoder.Encode(line); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// stop stops the workers gracefully and closes the clients.
func (h *harness) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ends sync.WaitGroup
	for _, w := range h.workers {
		ends.Add(1)
		go func(w *adjourn.Worker) {
			defer ends.Done()
			shutdown(w, stopMax)
		}(w)
	}
	ends.Wait()
	for _, q := range h.clients {
		q.Close()
	}
}
