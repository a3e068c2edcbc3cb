package adjourn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// Errors that no server sends.
var (
	// ErrClosed is returned by calls on a client that was closed.
	ErrClosed = errors.New("adjourn: the client is closed")
	// ErrSessionTaken ends a client whose session another process has taken over.
	ErrSessionTaken = fmt.Errorf("adjourn: another connection took the session over: %w", ErrClosed)
	// ErrBackupLost ends the reads of a [Backup] that the server does not hold any more, because the connection was lost,
	// another backup was taken, or nothing was read for too long.
	ErrBackupLost = errors.New("adjourn: the backup is lost: take another one")
	// ErrUsage is what every [UsageError] is.
	ErrUsage = errors.New("adjourn: wrong usage")
)

// Why a lease is no longer this client's. [Job.LostReason] returns one of them; each is also [ErrStaleLease].
var (
	// ErrLeaseLost: the server said that the lease has ended.
	ErrLeaseLost error = &leaseError{"the server said that the lease has ended"}
	// ErrLeaseExpired: its time is over, and it could not be extended.
	ErrLeaseExpired error = &leaseError{"the time of the lease is over"}
	// ErrLeasePresumedLost: the server has answered nothing for as long as it keeps the leases of a lost connection.
	ErrLeasePresumedLost error = &leaseError{"no answer for as long as the server keeps the leases of a lost connection"}
)

type leaseError struct{ why string }

func (e *leaseError) Error() string        { return "adjourn: the lease is lost: " + e.why }
func (e *leaseError) Is(target error) bool { return target == ErrStaleLease }

// Outcome says whether a failed request had an effect.
type Outcome int

// The outcomes.
const (
	NotApplied     Outcome = iota // nothing was changed
	UnknownOutcome                // it may have been applied, or may still be
)

// Error is a refusal by the server: of a whole request, or of one job or lease.
//
//	errors.Is(err, adjourn.ErrKeyExists)       // which code
//	var refused *adjourn.Error
//	errors.As(err, &refused)                   // everything else
type Error struct {
	Code Code
	// Retryable says whether the same request may succeed later, as it is.
	Retryable bool
	// Applied says whether the request had an effect.
	Applied Outcome
	// RetryAfter is how long to wait before another try; 0 for no hint.
	RetryAfter time.Duration
	// Leader is the address of the leader, for ErrNotLeader, if known.
	Leader string
	// Message is a sentence for a person.
	Message string
	// Job is the job that lives, for ErrKeyExists and ErrReserved of a push. For ErrOutcomeUnknown of one job it is the
	// job to look at, if there is one.
	Job JobID
}

func (e *Error) Error() string {
	text := "adjourn: refused: " + e.Code.Error()
	if e.Job != 0 {
		text += fmt.Sprintf(", for job %d", e.Job)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// Is reports whether target is the code of the refusal.
func (e *Error) Is(target error) bool { return target == e.Code }

// OutcomeUnknownError says that a request was sent and its answer is lost: it may or may not have been carried out.
// errors.Is(err, ErrOutcomeUnknown) finds it.
type OutcomeUnknownError struct {
	// Request is the name of the request in protocol.md.
	Request string
	// Cause is what happened instead of an answer.
	Cause error
}

func (e *OutcomeUnknownError) Error() string {
	return fmt.Sprintf("adjourn: the answer to %s was lost, it may or may not have been carried out: %v", e.Request, e.Cause)
}

// Is reports whether target is ErrOutcomeUnknown.
func (e *OutcomeUnknownError) Is(target error) bool { return target == ErrOutcomeUnknown }

// Unwrap returns the cause.
func (e *OutcomeUnknownError) Unwrap() error { return e.Cause }

// TimeoutError says that no answer came in the time of the option [RequestTimeout]. Nothing was changed; a request
// that may have been applied ends with an [OutcomeUnknownError] that wraps this one.
type TimeoutError struct{ After time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("adjourn: no answer within %v", e.After) }

// Is makes it a context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout is true, as for a net.Error.
func (e *TimeoutError) Timeout() bool { return true }

// ConnectError says that no connection could be made. Nothing was sent.
type ConnectError struct {
	// Addresses are those that were given.
	Addresses []string
	// Cause is the last failure.
	Cause error
}

func (e *ConnectError) Error() string {
	return fmt.Sprintf("adjourn: cannot connect to %v: %v", e.Addresses, e.Cause)
}

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Cause }

// WrongClusterError ends a client: after a reconnect another cluster answered, which is another queue.
type WrongClusterError struct{ Expected, Found [16]byte }

func (e *WrongClusterError) Error() string {
	return fmt.Sprintf("adjourn: another cluster answers: %x instead of %x", e.Found, e.Expected)
}

// ProtocolError says that the other side broke the protocol. A request that was sent may have been carried out.
type ProtocolError struct{ Cause error }

func (e *ProtocolError) Error() string {
	return fmt.Sprintf("adjourn: the server broke the protocol: %v", e.Cause)
}

// Unwrap returns the cause.
func (e *ProtocolError) Unwrap() error { return e.Cause }

// UsageError says that the caller asked for what cannot be. Nothing was sent.
type UsageError struct{ What string }

func (e *UsageError) Error() string { return "adjourn: " + e.What }

// Is reports whether target is ErrUsage.
func (e *UsageError) Is(target error) bool { return target == ErrUsage }

func usage(format string, args ...any) error {
	return &UsageError{What: fmt.Sprintf(format, args...)}
}

// refusal is the error of a request that the server refused as a whole.
func refusal(e *wire.Error) *Error {
	return &Error{
		Code:       Code(e.Code),
		Retryable:  e.Marks&wire.ErrorMarkRetryable != 0,
		Applied:    Outcome(e.Applied),
		RetryAfter: millis(uint64(e.RetryAfterMs)),
		Leader:     e.Leader,
		Message:    e.Message,
	}
}

// itemRefusal is the error of one job or lease. Every code except ErrOutcomeUnknown means that nothing was changed.
func itemRefusal(code uint16, job uint64) error {
	e := &Error{Code: Code(code), Retryable: Code(code).Retryable(), Job: JobID(job)}
	if e.Code == ErrOutcomeUnknown {
		e.Applied = UnknownOutcome
	}
	return e
}
