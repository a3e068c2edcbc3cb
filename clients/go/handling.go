package adjourn

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// settleMax bounds how long a worker tries to settle a job if calls have no bound of their own.
const settleMax = time.Minute

// loggedReasonMax is how many bytes of a handler's error are logged.
const loggedReasonMax = 256

type retryError struct {
	cause error
	after time.Duration
}

func (e *retryError) Unwrap() error { return e.cause }
func (e *retryError) Error() string {
	if e.cause == nil {
		return "the handler asked for a later attempt"
	}
	return e.cause.Error()
}

// RetryAfter makes a handler's error release the job for d, whatever its backoff. A d below 0 or above ten years is a
// mistake: it is logged as a warning, and the job waits for its backoff.
func RetryAfter(d time.Duration, err error) error { return &retryError{err, d} }

type buryError struct{ cause error }

func (e *buryError) Unwrap() error { return e.cause }
func (e *buryError) Error() string {
	if e.cause == nil {
		return "the handler buried the job"
	}
	return e.cause.Error()
}

// BuryJob makes a handler's error bury the job: it is not attempted again until somebody kicks it.
func BuryJob(err error) error { return &buryError{err} }

// IsDeliberate says whether a handler's error is a decision about its job ([RetryAfter] or [BuryJob]) and no failure.
func IsDeliberate(err error) bool {
	var retry *retryError
	var bury *buryError
	return errors.As(err, &retry) || errors.As(err, &bury)
}

// handlerResult is what a handler returned. It holds no code of the handler's: its texts were taken under recover.
type handlerResult struct {
	failed     bool
	text       string
	buries     bool
	retries    bool
	retryAfter time.Duration
}

func failed(text string) handlerResult { return handlerResult{failed: true, text: text} }

// resultOf runs methods of the error, which may panic.
func resultOf(err error) handlerResult {
	if err == nil {
		return handlerResult{}
	}
	result := failed(errorText(err))
	var retry *retryError
	var bury *buryError
	if errors.As(err, &bury) {
		result.buries = true
	} else if errors.As(err, &retry) {
		result.retries, result.retryAfter = true, retry.after
	}
	return result
}

// errorText is the error's text, or another one if its Error method panics, as that of a nil pointer often does.
func errorText(err error) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("the handler returned %T, and its Error method panicked: %s", err, panicText(p))
		}
	}()
	return err.Error()
}

// panicText is the text of what was panicked with. fmt passes a panic on that happens while it prints another one.
func panicText(p any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("%T", p)
		}
	}()
	return fmt.Sprint(p)
}

type causeKey struct{}

// cause is why a handler's context is cancelled.
type cause struct {
	mu     sync.Mutex
	why    error
	cancel context.CancelFunc
}

// end cancels the handler; the first reason stays. It says whether it was the first.
func (c *cause) end(why error) bool {
	c.mu.Lock()
	first := c.why == nil
	if first {
		c.why = why
	}
	c.mu.Unlock()
	c.cancel()
	return first
}

func (c *cause) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// Cause is why the context of a handler is cancelled: a reason of [Job.LostReason], [ErrMaxRun] or
// [ErrWorkerStopped]. It is nil while the context is not cancelled.
func Cause(ctx context.Context) error {
	if c, is := ctx.Value(causeKey{}).(*cause); is {
		return c.reason()
	}
	return nil
}

// valuesOf has the values of a context and not its end.
type valuesOf struct{ context.Context }

func (valuesOf) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }
func (valuesOf) Done() <-chan struct{}                   { return nil }
func (valuesOf) Err() error                              { return nil }

// work runs the handler for one job, keeps its lease meanwhile, and settles it. It calls returned when the handler has
// returned: the next one need not wait until the job is settled.
func (w *Worker) work(parent context.Context, job *Job, returned func()) {
	if job.LostReason() != nil {
		returned()
		return // the server delivers it again
	}
	why := &cause{}
	ctx, cancel := context.WithCancel(context.WithValue(valuesOf{parent}, causeKey{}, why))
	why.cancel = cancel
	defer cancel()
	results := make(chan handlerResult, 1)
	go w.call(ctx, job, results)
	result := w.hold(job, why, results)
	w.count(&w.settling, 1)
	defer w.count(&w.settling, -1)
	returned()
	if lost := job.LostReason(); lost != nil {
		w.q.s.cfg.logf("adjourn: job %d was not settled: %v", job.ID, lost)
		if !errors.Is(lost, ErrLeaseLost) {
			// The server may hold it for this client still. If not, this does nothing.
			w.q.s.locked(func(time.Time) { w.q.s.giveBack(job.leases(), 0) })
		}
		return
	}
	w.settle(job, result, why.reason())
}

// call runs the handler and takes the text of its error; a panic of either is an error.
func (w *Worker) call(ctx context.Context, job *Job, results chan<- handlerResult) {
	result := failed("the handler ended its goroutine")
	defer func() {
		if p := recover(); p != nil {
			text := panicText(p)
			w.q.s.cfg.logf("adjourn: the handler of job %d panicked: %s\n%s", job.ID, text, debug.Stack())
			result = failed("the handler panicked: " + text)
		}
		results <- result
	}()
	result = resultOf(w.handler(ctx, job))
}

// hold touches the lease at half of its time, again and again, until the handler has returned. When the lease is lost
// it cancels the handler and waits for it: its place is not free before.
func (w *Worker) hold(job *Job, why *cause, results <-chan handlerResult) handlerResult {
	maxRun := time.NewTimer(w.cfg.maxRun)
	defer maxRun.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	lost, kill := job.epoch.lost, w.kill
	var touch *call
	var touched <-chan struct{}
	var touchedAt time.Time
	extend, ignoring := true, false
	end := func(reason error) {
		why.end(reason)
		if !ignoring {
			ignoring = true
			w.count(&w.ignoring, 1)
		}
	}
	defer func() {
		if ignoring {
			w.count(&w.ignoring, -1)
		}
		if touch != nil {
			w.q.s.leave(touch, ErrClosed)
		}
	}()
	for {
		select {
		case result := <-results:
			return result
		case <-lost:
			lost, extend = nil, false
			end(job.epoch.why)
		case <-kill:
			kill = nil
			end(ErrWorkerStopped)
		case <-maxRun.C:
			extend = false
			end(ErrMaxRun)
		case <-touched:
			look := time.Duration(0)
			switch w.touchAnswered(job, touch, touchedAt) {
			case nil:
				look = w.nextLook(job, extend)
			case ErrLeaseLost:
				extend = false
				end(ErrLeaseLost)
				look = w.nextLook(job, false)
			default: // not extended, and not lost yet
				look = time.Until(job.LeaseUntil())/2 + time.Millisecond
			}
			touch, touched = nil, nil
			reset(timer, look)
		case <-timer.C:
			if reason := job.LostReason(); reason != nil {
				lost, extend = nil, false
				end(reason)
				continue
			}
			if extend && touch == nil && !time.Now().Before(job.LeaseUntil().Add(-job.ttr/2)) {
				touchedAt = time.Now()
				var err error
				if touch, err = w.q.s.start(&wire.Touch{Leases: job.leases()}, nil); err == nil {
					touched = touch.done
				} else {
					touch, extend = nil, false
				}
			}
			reset(timer, w.nextLook(job, extend && touch == nil))
		}
	}
}

// nextLook is how long the lease needs no attention.
func (w *Worker) nextLook(job *Job, extend bool) time.Duration {
	until := job.LeaseUntil()
	if extend {
		if half := time.Until(until.Add(-job.ttr / 2)); half > 0 {
			return half
		}
		return 0
	}
	return time.Until(until)
}

func reset(timer *time.Timer, d time.Duration) {
	if !timer.Stop() {
		select {
		case <-timer.C:
		default:
		}
	}
	if d < 0 {
		d = 0
	}
	timer.Reset(d)
}

// touchAnswered returns nil if the lease was extended, and ErrLeaseLost if it has ended.
func (w *Worker) touchAnswered(job *Job, touch *call, touchedAt time.Time) error {
	err := touch.err
	if settled, is := touch.resp.(*wire.Settled); is && err == nil {
		code := settled.Results[0].Code
		if code == 0 {
			job.prolong(touchedAt.Add(job.ttr))
			return nil
		}
		if Code(code) == ErrStaleLease {
			job.mu.Lock()
			job.stale = true
			job.mu.Unlock()
			return ErrLeaseLost
		}
		err = Code(code)
	} else if err == nil {
		err = ErrClosed
	}
	w.q.s.cfg.logf("adjourn: the lease of job %d could not be extended: %v", job.ID, err)
	return err
}

// settle tells the server what the handler returned.
func (w *Worker) settle(job *Job, result handlerResult, cancelled error) {
	ctx, cancel := context.WithTimeout(context.Background(), settleMax)
	defer cancel()
	var settled error
	if result.failed {
		w.logFailure(job, result.text)
	}
	reason := errors.New(result.text)
	switch {
	case !result.failed:
		settled = job.Finish(ctx)
	case result.buries:
		settled = job.Bury(ctx, reason)
		if errors.Is(settled, ErrUnsupported) {
			settled = job.Bury(ctx, nil)
		}
	case result.retries:
		settled = w.releaseAfter(ctx, job, result.retryAfter, reason)
	case cancelled == ErrWorkerStopped:
		settled = w.release(ctx, job, After(0), fmt.Errorf("the worker stopped: %w", reason))
	case cancelled == ErrMaxRun:
		settled = w.release(ctx, job, WithBackoff(), fmt.Errorf("the handler ran longer than %v: %w", w.cfg.maxRun, reason))
	default:
		settled = w.release(ctx, job, WithBackoff(), reason)
	}
	if settled != nil {
		w.q.s.cfg.logf("adjourn: job %d could not be settled: %v", job.ID, settled)
	}
}

// releaseAfter releases the job with its backoff if the delay is not possible: the lease would go on otherwise, and
// nothing but its end would tell of the mistake.
func (w *Worker) releaseAfter(ctx context.Context, job *Job, delay time.Duration, reason error) error {
	err := w.release(ctx, job, After(delay), reason)
	if errors.Is(err, ErrUsage) {
		w.logFailure(job, fmt.Sprintf("the job waits for its backoff: %v", err))
		err = w.release(ctx, job, WithBackoff(), reason)
	}
	return err
}

func (w *Worker) logFailure(job *Job, reason string) {
	if len(reason) > loggedReasonMax {
		reason = strings.ToValidUTF8(reason[:loggedReasonMax], "") + "..."
	}
	says, leftOut := w.failures.note(time.Now(), job.ID, reason)
	if !says {
		return
	}
	more := ""
	if leftOut > 0 {
		more = fmt.Sprintf(" (%d other failures were not logged)", leftOut)
	}
	w.q.s.cfg.warnf("adjourn: warning: the handler of job %d failed in attempt %d: %s%s", job.ID, job.Attempts, reason, more)
}

func (w *Worker) release(ctx context.Context, job *Job, how ReleaseHow, reason error) error {
	err := job.Release(ctx, how, reason)
	if errors.Is(err, ErrUnsupported) {
		// Not every member of the cluster knows reasons yet.
		err = job.Release(ctx, how, nil)
	}
	return err
}
