package adjourn

import "fmt"

// Code is an error code of the server. A Code is an error itself, so that errors.Is(err, adjourn.ErrBusy) tells
// whether an error carries it.
type Code uint16

// The codes of the protocol. A newer server may send others: decide about them by [Error.Retryable] and
// [Error.Applied].
const (
	ErrMalformed        Code = 1
	ErrUnsupported      Code = 2
	ErrTooLarge         Code = 3
	ErrUnauthorised     Code = 4
	ErrInvalid          Code = 5
	ErrNotLeader        Code = 16
	ErrNoLeader         Code = 17
	ErrBusy             Code = 18
	ErrDiskFull         Code = 19
	ErrStopping         Code = 20
	ErrUnreadable       Code = 21
	ErrPaused           Code = 32
	ErrQuota            Code = 33
	ErrStaleLease       Code = 34
	ErrKeyExists        Code = 35
	ErrNotFound         Code = 36
	ErrReserved         Code = 37
	ErrWrongState       Code = 38
	ErrSessionUnknown   Code = 39
	ErrOutcomeUnknown   Code = 40
	ErrExpiresBeforeDue Code = 41
	ErrSequenceReused   Code = 42
	ErrChanged          Code = 43
)

var codeNames = map[Code]string{
	ErrMalformed:        "MALFORMED",
	ErrUnsupported:      "UNSUPPORTED",
	ErrTooLarge:         "TOO_LARGE",
	ErrUnauthorised:     "UNAUTHORISED",
	ErrInvalid:          "INVALID",
	ErrNotLeader:        "NOT_LEADER",
	ErrNoLeader:         "NO_LEADER",
	ErrBusy:             "BUSY",
	ErrDiskFull:         "DISK_FULL",
	ErrStopping:         "STOPPING",
	ErrUnreadable:       "UNREADABLE",
	ErrPaused:           "PAUSED",
	ErrQuota:            "QUOTA",
	ErrStaleLease:       "STALE_LEASE",
	ErrKeyExists:        "KEY_EXISTS",
	ErrNotFound:         "NOT_FOUND",
	ErrReserved:         "RESERVED",
	ErrWrongState:       "WRONG_STATE",
	ErrSessionUnknown:   "SESSION_UNKNOWN",
	ErrOutcomeUnknown:   "OUTCOME_UNKNOWN",
	ErrExpiresBeforeDue: "EXPIRES_BEFORE_DUE",
	ErrSequenceReused:   "SEQUENCE_REUSED",
	ErrChanged:          "CHANGED",
}

// Name is the name of the code in protocol.md, or UNKNOWN.
func (c Code) Name() string {
	if name, known := codeNames[c]; known {
		return name
	}
	return "UNKNOWN"
}

// Error is the name, with the number of a code that this version does not know.
func (c Code) Error() string {
	if name, known := codeNames[c]; known {
		return name
	}
	return fmt.Sprintf("UNKNOWN (code %d)", uint16(c))
}

// Retryable says whether the same request may succeed later, as it is.
func (c Code) Retryable() bool {
	switch c {
	case ErrNotLeader, ErrNoLeader, ErrBusy, ErrDiskFull, ErrStopping, ErrPaused:
		return true
	}
	return false
}
