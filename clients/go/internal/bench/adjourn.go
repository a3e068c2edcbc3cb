package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

type adjournQueue struct {
	q     *adjourn.Client
	topic string
	body  []byte
}

func connectAdjourn(ctx context.Context, address string) (system, error) {
	q, err := adjourn.Dial(ctx, address)
	return &adjournQueue{q, fmt.Sprintf("bench-%d", time.Now().UnixNano()), make([]byte, bodyBytes)}, err
}

func (a *adjournQueue) pushOne(ctx context.Context, jobs int) error {
	for i := 0; i < jobs; i++ {
		if _, err := a.q.Push(ctx, a.topic, a.body, adjourn.Delay(time.Hour)); err != nil {
			return err
		}
	}
	return nil
}

func (a *adjournQueue) pushMany(ctx context.Context, jobs int) error {
	return a.push(ctx, jobs, adjourn.NewJob{Body: a.body, Delay: time.Hour})
}

func (a *adjournQueue) prepare(ctx context.Context, jobs int) error {
	return a.push(ctx, jobs, adjourn.NewJob{Body: a.body})
}

func (a *adjournQueue) push(ctx context.Context, jobs int, job adjourn.NewJob) error {
	return inBatches(jobs, func(n int) error {
		batch := make([]adjourn.NewJob, n)
		for i := range batch {
			batch[i] = job
		}
		results, err := a.q.PushBatch(ctx, a.topic, batch)
		for _, r := range results {
			if err == nil {
				err = r.Err
			}
		}
		return err
	})
}

func (a *adjournQueue) work(ctx context.Context, jobs int) error {
	left := int64(jobs)
	var worker *adjourn.Worker
	ctx, stop := context.WithCancel(ctx)
	worker = a.q.Worker(a.topic, func(context.Context, *adjourn.Job) error {
		if atomic.AddInt64(&left, -1) == 0 {
			stop()
		}
		return nil
	}, adjourn.Concurrency(handlers), adjourn.Prefetch(takenJobs-handlers))
	// Run returns when the last FINISH is answered.
	if err := worker.Run(ctx); err != nil {
		return err
	}
	if n, err := a.q.Count(context.Background(), adjourn.Filter{Topic: a.topic}); err != nil || n != 0 {
		return fmt.Errorf("%d jobs are left, %v", n, err)
	}
	return nil
}
