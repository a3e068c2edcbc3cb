// Command bench measures what this client and a plain Redis client take for the same work.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"
)

const (
	bodyBytes = 64
	batchJobs = 64
	// How many batches are on their way at once.
	batches  = 16
	handlers = 8
	// What a worker takes at once, with the jobs that its handlers work on.
	takenJobs = 64
)

// system is a queue to measure.
type system interface {
	// pushOne pushes jobs that are due in an hour, one after the other.
	pushOne(ctx context.Context, jobs int) error
	// pushMany pushes such jobs in batches, without waiting for one before it sends the next.
	pushMany(ctx context.Context, jobs int) error
	// prepare pushes jobs that are due now.
	prepare(ctx context.Context, jobs int) error
	// work starts a worker, and returns when all jobs are finished at the server.
	work(ctx context.Context, jobs int) error
}

var systems = []struct {
	name, needs string
	connect     func(ctx context.Context, address string) (system, error)
}{
	{"adjourn", "adjourn", connectAdjourn},
	{"redis-zset", "redis", connectRedis},
}

func main() {
	args := os.Args[1:]
	if len(args) == 1 && args[0] == "systems" {
		for _, s := range systems {
			fmt.Println(s.name, s.needs)
		}
		return
	}
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 5 || args[0] != "run" {
		return fmt.Errorf("usage: bench systems | bench run NAME WORK HOST:PORT JOBS")
	}
	name, work, address := args[1], args[2], args[3]
	jobs, err := strconv.Atoi(args[4])
	if err != nil || jobs < 1 {
		return fmt.Errorf("%q is no number of jobs", args[4])
	}
	for _, s := range systems {
		if s.name != name {
			continue
		}
		ctx := context.Background()
		q, err := s.connect(ctx, address)
		if err != nil {
			return err
		}
		seconds, err := measure(ctx, q, work, jobs)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(map[string]any{"system": name, "work": work, "jobs": jobs, "seconds": seconds})
	}
	return fmt.Errorf("no system %q", name)
}

func measure(ctx context.Context, q system, work string, jobs int) (float64, error) {
	timed := map[string]func(context.Context, int) error{"push-one": q.pushOne, "push-many": q.pushMany, "work": q.work}[work]
	if timed == nil {
		return 0, fmt.Errorf("no work %q", work)
	}
	if work == "work" {
		if err := q.prepare(ctx, jobs); err != nil {
			return 0, err
		}
	}
	began := time.Now()
	err := timed(ctx, jobs)
	return time.Since(began).Seconds(), err
}

// inBatches calls push for each batch, with several calls at once, and returns the first error.
func inBatches(jobs int, push func(n int) error) error {
	sizes := make(chan int)
	failed := make(chan error, batches)
	for i := 0; i < batches; i++ {
		go func() {
			var err error
			for n := range sizes {
				if err == nil {
					err = push(n)
				}
			}
			failed <- err
		}()
	}
	for left := jobs; left > 0; left -= batchJobs {
		if left < batchJobs {
			sizes <- left
		} else {
			sizes <- batchJobs
		}
	}
	close(sizes)
	var first error
	for i := 0; i < batches; i++ {
		if err := <-failed; err != nil && first == nil {
			first = err
		}
	}
	return first
}
