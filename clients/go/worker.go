package adjourn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/adjourn/adjourn-go/limits"
)

// Handler works on one job. The job is finished if it returns nil, and released with the error as its reason if it
// returns an error or panics. Its context is cancelled when the lease is lost, when it runs longer than [MaxRun], and
// when the time to stop is over; [Cause] says which.
type Handler func(ctx context.Context, job *Job) error

// Middleware wraps handlers. It returns the handler's error as it is, or one that wraps it.
type Middleware func(next Handler) Handler

// Why a handler's context is cancelled, beside the reasons of [Job.LostReason].
var (
	// ErrWorkerStopped: the worker stops, and its time to wait for handlers is over.
	ErrWorkerStopped = errors.New("adjourn: the worker stops")
	// ErrMaxRun: the handler ran longer than MaxRun. Its lease is not extended any more.
	ErrMaxRun = errors.New("adjourn: the handler ran longer than its maximum")
	// ErrStopTimeout is returned by Run and Shutdown if handlers still run at the deadline, or what they returned is not
	// settled yet. Their contexts are cancelled, and their leases end by themselves.
	ErrStopTimeout = errors.New("adjourn: handlers still run at the deadline to stop")
)

// WorkerOption is an option of [Client.Worker].
type WorkerOption func(*workerConfig)

type workerConfig struct {
	topics      []string
	weights     []uint16
	concurrency int
	prefetch    int
	stopTimeout time.Duration
	maxRun      time.Duration
	middleware  []Middleware
}

// Concurrency is how many handlers run at once (default 8).
func Concurrency(n int) WorkerOption { return func(c *workerConfig) { c.concurrency = n } }

// Prefetch is how many jobs wait in memory beside those, under leases that run already (default 0, which costs a round
// trip between two jobs of a handler). If the process dies, all of them lose an attempt, though no handler had begun.
// A job that waits for half of its lease is given back; that counts as no attempt.
func Prefetch(n int) WorkerOption { return func(c *workerConfig) { c.prefetch = n } }

// MoreTopics makes the worker work on these topics, too.
func MoreTopics(topics ...string) WorkerOption {
	return func(c *workerConfig) { c.topics = append(c.topics, topics...) }
}

// Weights are the shares of the topics, in the order in which they were given.
func Weights(weights ...uint16) WorkerOption { return func(c *workerConfig) { c.weights = weights } }

// StopTimeout is how long Run takes at most to stop once its context is done (default 20 s).
func StopTimeout(d time.Duration) WorkerOption { return func(c *workerConfig) { c.stopTimeout = d } }

// MaxRun bounds for how long the lease of a running handler is extended (default an hour).
func MaxRun(d time.Duration) WorkerOption { return func(c *workerConfig) { c.maxRun = d } }

// Use wraps the handler; the first middleware is the outermost.
func Use(middleware ...Middleware) WorkerOption {
	return func(c *workerConfig) { c.middleware = append(c.middleware, middleware...) }
}

// Worker runs a handler for each job of some topics. It extends leases while handlers run, settles jobs as they
// return, and stops a handler whose lease is lost.
type Worker struct {
	q        *Client
	cfg      workerConfig
	handler  Handler
	failures failureLog

	started  chan struct{} // Run was called
	ready    chan struct{} // subscribed for the first time
	stopping chan struct{} // nothing new is taken
	kill     chan struct{} // the time of the handlers is over
	finished chan struct{} // Run has ended

	slots    chan struct{}  // one for each handler that may run
	handlers sync.WaitGroup // until their jobs are settled

	mu       sync.Mutex
	sub      *Subscription
	running  int
	settling int // handlers that have returned, and the server has not answered yet
	ignoring int // handlers that were cancelled and still run
	deadline time.Time
	err      error
}

// Worker makes a worker; [Worker.Run] starts it.
func (q *Client) Worker(topic string, handler Handler, options ...WorkerOption) *Worker {
	cfg := workerConfig{
		topics: []string{topic}, concurrency: 8, stopTimeout: 20 * time.Second, maxRun: time.Hour,
	}
	for _, option := range options {
		option(&cfg)
	}
	for _, around := range [][]Middleware{cfg.middleware, q.s.cfg.aroundHandler} {
		for i := len(around) - 1; i >= 0; i-- {
			handler = around[i](handler)
		}
	}
	return &Worker{
		q: q, cfg: cfg, handler: handler,
		started: make(chan struct{}), ready: make(chan struct{}), stopping: make(chan struct{}),
		kill: make(chan struct{}), finished: make(chan struct{}),
		slots: make(chan struct{}, clamp(cfg.concurrency, 1, limits.CreditJobsMax)),
	}
}

// Run works until the context is done, Shutdown is called, or the client ends. Then it takes nothing new, gives back
// the jobs that no handler has started without counting an attempt, waits for the handlers, and returns: after
// [StopTimeout] at the latest, with [ErrStopTimeout] if handlers still run. Handlers see the values of ctx, but not
// its end: they may finish their work. It can be called once.
//
// Run does not say GOODBYE: [Client.Close] does, after it has stopped all workers.
func (w *Worker) Run(ctx context.Context) error {
	select {
	case <-w.started:
		return usage("a worker runs once")
	default:
		close(w.started)
	}
	defer close(w.finished)
	if w.cfg.concurrency < 1 || w.cfg.prefetch < 0 || w.cfg.stopTimeout < 0 || w.cfg.maxRun <= 0 {
		return usage("a worker with %d handlers, %d jobs in memory, %v to stop and %v to run",
			w.cfg.concurrency, w.cfg.prefetch, w.cfg.stopTimeout, w.cfg.maxRun)
	}
	if !w.q.workers.begin(w) {
		return ErrClosed
	}
	defer w.q.workers.end(w)
	taking, stopTaking := context.WithCancel(ctx)
	defer stopTaking()
	go func() {
		select {
		case <-w.stopping:
		case <-taking.Done():
		}
		stopTaking()
	}()
	sub, err := w.q.Subscribe(taking, SubscribeRequest{
		Topics: w.cfg.topics, Weights: w.cfg.weights, CreditJobs: clamp(w.cfg.concurrency+w.cfg.prefetch, 1, limits.CreditJobsMax),
	})
	if err != nil {
		if taking.Err() != nil && errors.Is(err, context.Canceled) {
			return nil
		}
		return w.ended(err)
	}
	w.mu.Lock()
	w.sub = sub
	w.mu.Unlock()
	close(w.ready)
	err = w.take(ctx, taking, sub)
	stopped := w.stop(sub)
	if err == nil {
		err = stopped
	}
	return w.ended(err)
}

func (w *Worker) ended(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	return err
}

// take starts a handler for each job until it has to stop.
func (w *Worker) take(ctx, taking context.Context, sub *Subscription) error {
	for {
		select {
		case w.slots <- struct{}{}:
		case <-taking.Done():
			return nil
		case <-sub.closed:
			_, err := sub.Next(taking)
			return err
		}
		job, err := sub.Next(taking)
		if err != nil {
			<-w.slots
			if taking.Err() != nil {
				return nil
			}
			return err
		}
		w.count(&w.running, 1)
		w.handlers.Add(1)
		go func() {
			defer w.handlers.Done()
			w.work(ctx, job, func() {
				w.count(&w.running, -1)
				<-w.slots
			})
		}()
	}
}

func (w *Worker) count(what *int, by int) {
	w.mu.Lock()
	*what += by
	w.mu.Unlock()
}

// stop drains; it ends at the deadline at the latest.
func (w *Worker) stop(sub *Subscription) error {
	w.mu.Lock()
	if w.deadline.IsZero() {
		w.deadline = time.Now().Add(w.cfg.stopTimeout)
	}
	deadline := w.deadline
	w.mu.Unlock()
	w.beginStop()
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	sub.Unsubscribe(ctx) // when the deadline is over, the session's end ends it
	drained := make(chan struct{})
	go func() {
		w.handlers.Wait()
		close(drained)
	}()
	// A part of the time is for handlers to notice that they are cancelled.
	left := time.Until(deadline)
	patience := left - time.Second
	if left < 4*time.Second {
		patience = left * 3 / 4
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-drained:
		return nil
	case <-timer.C:
		close(w.kill)
	}
	select {
	case <-drained:
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	running, settling := w.running, w.settling
	w.mu.Unlock()
	if running == 0 {
		return fmt.Errorf("%w: %d have returned, and the server has not confirmed it", ErrStopTimeout, settling)
	}
	w.q.stray.Add(int64(running))
	go func() {
		<-drained
		w.q.stray.Add(-int64(running))
	}()
	return fmt.Errorf("%w: %d", ErrStopTimeout, running)
}

func (w *Worker) beginStop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.stopping:
	default:
		close(w.stopping)
	}
}

// Shutdown makes Run stop, by the deadline of ctx instead of StopTimeout, and waits for its end. It returns what Run
// returns.
func (w *Worker) Shutdown(ctx context.Context) error {
	w.mu.Lock()
	if deadline, some := ctx.Deadline(); some && w.deadline.IsZero() {
		w.deadline = deadline
	}
	w.mu.Unlock()
	w.beginStop()
	select {
	case <-w.started:
	default:
		return nil
	}
	select {
	case <-w.finished:
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.err
	case <-ctx.Done():
		return ErrStopTimeout
	}
}

// Ready is closed when the worker has subscribed for the first time.
func (w *Worker) Ready() <-chan struct{} { return w.ready }

// Stopping is closed when the worker begins to stop. A handler that can end early without harm may watch it.
func (w *Worker) Stopping() <-chan struct{} { return w.stopping }

// Health is whether a worker does its work.
type Health struct {
	// Consuming is true while jobs can arrive and be worked on: the connection is there, the server has confirmed the
	// subscription on it and was heard of within the grace, and at least one handler is not stuck.
	Consuming bool
	// Reason says why it is not.
	Reason string
	// Running is how many handlers run; Ignoring how many of them were cancelled and did not return.
	Running, Ignoring int
	// Proven is when the last request was sent whose answer proves that the leases are held.
	Proven time.Time
}

// Health tells whether the worker consumes, for a liveness or readiness probe.
func (w *Worker) Health() Health {
	w.mu.Lock()
	h := Health{Running: w.running, Ignoring: w.ignoring}
	sub := w.sub
	w.mu.Unlock()
	select {
	case <-w.finished:
		h.Reason = "the worker has ended"
		return h
	case <-w.stopping:
		h.Reason = "the worker stops"
		return h
	default:
	}
	if sub == nil {
		h.Reason = "the worker has not subscribed yet"
		return h
	}
	sub.s.locked(func(time.Time) {
		h.Proven = sub.s.leases.proven
		switch {
		case sub.ended:
			h.Reason = "the subscription has ended"
		case sub.s.state != linkUp:
			h.Reason = "there is no connection"
		case !sub.active:
			h.Reason = "the subscription is not confirmed on this connection"
		case sub.s.leases.areOver():
			h.Reason = "nothing proves that the leases are held"
		case h.Ignoring >= w.cfg.concurrency:
			h.Reason = "all handlers ignore that they are cancelled"
		default:
			h.Consuming = true
		}
	})
	return h
}
