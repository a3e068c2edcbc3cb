package adjourn

import (
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
)

const (
	// A server may take this long to scan many jobs.
	browseMax = 10 * time.Minute
	// A server may take this long to write a checkpoint.
	checkpointMax = time.Hour
)

// call is one request without an answer, or one subscription. The session's lock guards it; resp and err may be read
// once done is closed.
type call struct {
	id       uint32
	serial   uint64 // counts calls in the order in which they were accepted
	req      wire.Message
	sub      *Subscription
	accepted time.Time
	sent     time.Time // when it was sent last
	onWire   bool      // sent on the present connection
	doubts   int       // copies that were sent and may have been applied
	awaited  bool      // a caller waits for the answer
	own      bool      // asked by the session itself
	ended    bool
	retries  *waits
	retryAt  time.Time
	refused  error // why it waits to be sent again

	done chan struct{}
	resp wire.Message
	err  error
}

// wait is how long the server may take on purpose.
func (c *call) wait() time.Duration {
	switch m := c.req.(type) {
	case *wire.Reserve:
		return millis(m.WaitMs)
	case *wire.List, *wire.Count, *wire.Bulk, *wire.Peek, *wire.Advance:
		return browseMax
	case *wire.BackupBegin:
		return checkpointMax
	}
	return 0
}

// repeatable says whether carrying it out twice does no more than carrying it out once: a push by its numbers
// or its key, what settles by its fence, the others by what they are.
func (c *call) repeatable() bool {
	switch c.req.Opcode().Repeat() {
	case wire.RepeatSafe:
		return true
	case wire.RepeatSafeByID:
		deletion, is := c.req.(*wire.Delete)
		return is && deletion.Ref.JobKind == wire.JobKindID
	}
	return false
}

func (c *call) isRead() bool {
	switch m := c.req.(type) {
	case *wire.Get, *wire.Peek, *wire.List, *wire.Count, *wire.Leases, *wire.Topics, *wire.Stats, *wire.Connections,
		*wire.TopicShow, *wire.ClusterStatus, *wire.Ping, *wire.ScheduleShow, *wire.ScheduleList,
		*wire.SchedulePreview, *wire.GroupList, *wire.Why, *wire.TopicWhy:
		return true
	case *wire.ScheduleFill:
		return m.DryRun == 1
	}
	return false
}

// retriesRefusals says whether the session waits and sends it again after a retryable refusal. That a topic is paused
// is an answer, and a change of the cluster or a backup is an operator's: all are told.
func (c *call) retriesRefusals(code Code) bool {
	switch c.req.(type) {
	case *wire.ClusterAdd, *wire.ClusterRemove, *wire.ClusterTransfer, *wire.BackupBegin, *wire.BackupRead, *wire.BackupEnd:
		return false
	}
	return code != ErrPaused && (c.awaited || c.own || isRelease(c.req))
}

// belongsToConnection says whether it means nothing on another connection.
func (c *call) belongsToConnection() bool {
	switch c.req.(type) {
	case *wire.Credit, *wire.Unsubscribe, *wire.Cancel:
		return true
	}
	return false
}

// isOfBackup says whether it is about a backup, which ends with its connection.
func (c *call) isOfBackup() bool {
	switch c.req.(type) {
	case *wire.BackupRead, *wire.BackupEnd:
		return true
	}
	return false
}

func isRelease(m wire.Message) bool {
	_, is := m.(*wire.Release)
	return is
}

// numbers are how many sequence numbers it takes; none if it is known by a key.
func (c *call) numbers() uint64 {
	if push, is := c.req.(*wire.Push); is && push.Idempotency == (wire.U128{}) {
		return uint64(len(push.Jobs))
	}
	return 0
}

// keys are how many keys it takes; none if it is known by its numbers.
func (c *call) keys() int {
	if push, is := c.req.(*wire.Push); is && push.Idempotency != (wire.U128{}) {
		return len(push.Jobs)
	}
	return 0
}

func (c *call) firstNumber() uint64 {
	if push, is := c.req.(*wire.Push); is {
		return push.Sequence
	}
	return 0
}

// mayBeApplied says whether a copy that was sent may have changed something.
func (c *call) mayBeApplied() bool {
	if c.doubts == 0 || c.isRead() || c.isOfBackup() {
		return false
	}
	switch c.req.(type) {
	case *wire.Reserve, *wire.Subscribe, *wire.Goodbye:
		return false
	}
	return true
}

// failure is the error of a call that ends for a cause of this client's own.
func (c *call) failure(cause error) error {
	if c.mayBeApplied() {
		return &OutcomeUnknownError{Request: c.req.Opcode().String(), Cause: cause}
	}
	return cause
}

// settles says whether it ends the lease.
func (c *call) settles(lease wire.Lease) bool {
	var leases []wire.Lease
	switch m := c.req.(type) {
	case *wire.Finish:
		leases = m.Leases
	case *wire.Release:
		leases = m.Leases
	case *wire.Bury:
		leases = m.Leases
	}
	for _, one := range leases {
		if one == lease {
			return true
		}
	}
	return false
}

// items are how many results its answer has to have; -1 for any number.
func items(request wire.Message) int {
	switch m := request.(type) {
	case *wire.Push:
		return len(m.Jobs)
	case *wire.Finish:
		return len(m.Leases)
	case *wire.Release:
		return len(m.Leases)
	case *wire.Touch:
		return len(m.Leases)
	case *wire.Bury:
		return len(m.Leases)
	}
	return -1
}

func results(answer wire.Message) int {
	switch m := answer.(type) {
	case *wire.Pushed:
		return len(m.Results)
	case *wire.Settled:
		return len(m.Results)
	}
	return -1
}
