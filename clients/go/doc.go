// Package adjourn is the client of Adjourn, a persistent, replicated delay queue.
//
//	q, err := adjourn.Dial(ctx, "adjourn://10.0.0.1:7440,10.0.0.2:7440")
//	id, err := q.Push(ctx, "emails", order, adjourn.Delay(15*time.Minute), adjourn.Key("order-17"))
//
//	worker := q.Worker("emails", func(ctx context.Context, job *adjourn.Job) error {
//		var order Order
//		if err := job.Decode(&order); err != nil {
//			return err
//		}
//		return send(ctx, order)
//	}, adjourn.Concurrency(8))
//	err = worker.Run(ctx) // until ctx is done; then it drains
//
// A [Client] is a session and the connection that carries it at the time. It finds the leader, reconnects until it is closed,
// resumes its session and repeats what is safe to repeat. Pushes are numbered, so the queue accepts each once even if
// the connection breaks before the answer. What must not be repeated ends with an error that is [ErrOutcomeUnknown].
// A client [WithoutSession] has keys for its pushes instead of numbers.
//
// Delivery is at least once. A job is leased to one consumer at a time; a lease that is lost cancels the handler's
// context before another consumer gets the job.
//
// All methods may be called by many goroutines at the same time, and return when their answer came or their context is
// done.
package adjourn

// Version is the version of this module.
const Version = "0.1.0"
