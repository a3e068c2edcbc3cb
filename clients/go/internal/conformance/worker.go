package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// script is what the body of a job tells its handler.
type script struct {
	AfterMs int64   `json:"after_ms"`
	Fail    string  `json:"fail"`
	Until   *uint32 `json:"until"`
	Hang    any     `json:"hang"`
}

func (h *harness) startWorker(q *adjourn.Client, c *command) (any, error) {
	if len(c.Topics) == 0 {
		return nil, errors.New("no topic")
	}
	concurrency := c.Concurrency
	if concurrency == 0 {
		concurrency = 1
	}
	name := c.Worker
	w := q.Worker(c.Topics[0], func(ctx context.Context, job *adjourn.Job) error {
		h.say(map[string]any{
			"event": "started", "worker": name, "job": decimal(uint64(job.ID)), "fence": decimal(uint64(job.Fence)),
			"attempts": job.Attempts, "topic": job.Topic, "body": bytesOf(job.Body),
		})
		err := act(ctx, job)
		ended := map[string]any{
			"event": "ended", "worker": name, "job": decimal(uint64(job.ID)), "fence": decimal(uint64(job.Fence)), "result": "ok",
		}
		if err != nil {
			ended["result"] = "failed"
		}
		if reason := reasonOf(adjourn.Cause(ctx)); err != nil && reason != "" {
			ended["result"], ended["reason"] = "cancelled", reason
		}
		h.say(ended)
		return err
	}, adjourn.MoreTopics(c.Topics[1:]...), adjourn.Concurrency(concurrency), adjourn.Prefetch(c.Prefetch))
	failed := make(chan error, 1)
	go func() { failed <- w.Run(context.Background()) }()
	select {
	case <-w.Ready():
	case err := <-failed:
		if err == nil {
			err = errors.New("the worker ended")
		}
		return nil, err
	}
	h.mu.Lock()
	h.workers[name] = w
	h.mu.Unlock()
	return empty, nil
}

func act(ctx context.Context, job *adjourn.Job) error {
	var s script
	if json.Unmarshal(job.Body, &s) != nil {
		s = script{}
	}
	switch {
	case s.Hang != nil:
		<-ctx.Done()
		if s.Hang == "until_stop" && errors.Is(adjourn.Cause(ctx), adjourn.ErrWorkerStopped) {
			return nil
		}
		return adjourn.Cause(ctx)
	case s.Fail != "" && (s.Until == nil || job.Attempts <= *s.Until):
		return errors.New(s.Fail)
	case s.AfterMs > 0:
		timer := time.NewTimer(time.Duration(s.AfterMs) * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return adjourn.Cause(ctx)
		}
	}
	return nil
}

func reasonOf(cause error) string {
	switch cause {
	case adjourn.ErrLeaseLost:
		return "lease_lost"
	case adjourn.ErrLeaseExpired:
		return "time_over"
	case adjourn.ErrLeasePresumedLost:
		return "presumed_lost"
	case adjourn.ErrWorkerStopped:
		return "stopping"
	}
	return ""
}

func (h *harness) onWorker(c *command) (any, error) {
	h.mu.Lock()
	w := h.workers[c.Worker]
	h.mu.Unlock()
	if w == nil {
		return nil, fmt.Errorf("no worker %q", c.Worker)
	}
	if c.Do == "health" {
		return map[string]any{"consuming": w.Health().Consuming}, nil
	}
	if err := shutdown(w, c.DeadlineMs.ms()); err != nil && !errors.Is(err, adjourn.ErrStopTimeout) {
		logf("the worker ended: %v", err)
	}
	return empty, nil
}

func shutdown(w *adjourn.Worker, max time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), max)
	defer cancel()
	return w.Shutdown(ctx)
}
