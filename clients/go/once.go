package adjourn

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// keyBytes is what a list of jobs under a key takes of a request beside the jobs: the key, and the length of the list.
const keyBytes = 16 + 4

// IdempotencyKey is a number under which the queue knows a list of jobs again: see [Client.PushBatchOnce]. It is
// little-endian. Make one with [NewIdempotencyKey] or [IdempotencyKeyOf].
type IdempotencyKey [16]byte

// NewIdempotencyKey draws a key that no other list has.
func NewIdempotencyKey() (key IdempotencyKey, err error) {
	_, err = rand.Read(key[:])
	return key, err
}

// IdempotencyKeyOf is the key of what has this name, for example of an order or of a web request: the same name always
// has the same key.
func IdempotencyKeyOf(name string) (key IdempotencyKey) {
	hash := sha256.Sum256([]byte(name))
	copy(key[:], hash[:])
	return key
}

// PushOnce is [Client.PushBatchOnce] for one job.
func (q *Client) PushOnce(ctx context.Context, key IdempotencyKey, topic string, body any, options ...PushOption) (JobID, error) {
	job := NewJob{Body: body}
	for _, option := range options {
		option(&job)
	}
	results, err := q.PushBatchOnce(ctx, key, topic, []NewJob{job})
	if err != nil {
		return 0, err
	}
	return results[0].ID, results[0].Err
}

// PushBatchOnce is [Client.PushBatch] under a key of the caller's own. If the same jobs are pushed again under the key in
// the same order, by this process or by another one with the same token, the queue pushes no second jobs, and the results
// are those of the first time. Jobs that were refused are not remembered: the repeat pushes them anew. The headers of a
// trace (traceparent, tracestate, baggage) may differ: those of the first time stay.
//
// The first job has the number that is the key, the others those that follow. If one of them belongs to another job, or to
// one of a longer or shorter list, its error is [ErrSequenceReused], and so is that of all jobs behind its request: these
// are not sent. A list has at most limits.IdempotentListJobsMax jobs. The queue remembers limits.IdempotentPushesMax jobs
// of all clients, each for a day; after that a repeat is a second job.
//
// A key so high that the numbers of the jobs would exceed 128 bits is [ErrUsage]: nothing is sent.
func (q *Client) PushBatchOnce(ctx context.Context, key IdempotencyKey, topic string, jobs []NewJob) ([]PushResult, error) {
	switch {
	case key == IdempotencyKey{}:
		return nil, usage("the idempotency key is 0")
	case len(jobs) > limits.IdempotentListJobsMax:
		return nil, usage("%d jobs under one idempotency key: at most %d", len(jobs), limits.IdempotentListJobsMax)
	case len(jobs) > 0 && wire.U128(key).Plus(uint64(len(jobs)-1)).Less(wire.U128(key)):
		return nil, usage("the idempotency key is too high for %d jobs: their numbers exceed 128 bits", len(jobs))
	}
	return q.push(ctx, topic, jobs, func(ctx context.Context, topic string, encoded []wire.NewJob) ([]PushResult, error) {
		return q.sendUnderKey(ctx, key, topic, encoded)
	})
}

func (q *Client) sendUnderKey(ctx context.Context, key IdempotencyKey, topic string, jobs []wire.NewJob) (results []PushResult, err error) {
	rest := jobs
	for number := wire.U128(key); len(rest) > 0; {
		n := q.fitting(topic, rest, keyBytes)
		part := &wire.Push{Topic: topic, Jobs: rest[:n:n], Idempotency: number}
		if n < len(jobs) {
			part.ListJobs = uint32(len(jobs))
		}
		answer, failed := ask[*wire.Pushed](ctx, q, part)
		if failed != nil {
			return append(results, pushResults(len(rest), nil, failed)...), failed
		}
		results = append(results, pushResults(n, answer, nil)...)
		number, rest = number.Plus(uint64(n)), rest[n:]
		if isReused(results) {
			return append(results, pushResults(len(rest), nil, itemRefusal(uint16(ErrSequenceReused), 0))...), nil
		}
	}
	return results, nil
}

func isReused(results []PushResult) bool {
	for _, r := range results {
		if errors.Is(r.Err, ErrSequenceReused) {
			return true
		}
	}
	return false
}
