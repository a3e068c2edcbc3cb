package wire

// Kinds of due points.
const (
	DueAfter = 0
	DueAt    = 1
)

// Limits on durations, in milliseconds.
const (
	DelayMsMax = 10 * 365 * 86_400_000
	TtrMsMin   = 100
	TtrMsMax   = 7 * 86_400_000
	WaitMsMax  = 3_600_000
)

// PriorityUnsaid is what a push says for "not said".
const PriorityUnsaid = 1<<32 - 1

// NewJob is one job of a PUSH.
type NewJob struct {
	DueMs      uint64
	Priority   uint32
	TtrMs      uint32
	DueKind    uint8
	IfExists   uint8
	Key        string
	Attributes Attributes
	Body       []byte
}

// NewJobBytes is the length of the fixed part of a job.
const NewJobBytes = 26

// Push adds jobs to one topic.
type Push struct {
	Sequence uint64
	Topic    string
	Jobs     []NewJob
	// Idempotency is a number under which a repeat is known, instead of a sequence; 0 for none.
	Idempotency U128
}

// Opcode is OpPush.
func (*Push) Opcode() Opcode { return OpPush }

func (m *Push) code(c *coder) {
	c.u64(&m.Sequence)
	c.topic8(&m.Topic)
	list(c, &m.Jobs, NewJobBytes, NewJobBytes, func(c *coder, v *NewJob) {
		c.u64(&v.DueMs)
		c.u32(&v.Priority)
		c.u32(&v.TtrMs)
		c.choice(&v.DueKind, DueAt, "due_kind")
		if v.DueKind == DueAfter {
			c.bounded(v.DueMs, 0, DelayMsMax, "due_ms")
		}
		if v.TtrMs != 0 {
			c.bounded(uint64(v.TtrMs), TtrMsMin, TtrMsMax, "ttr_ms")
		}
		c.choice(&v.IfExists, 4, "if_exists")
		key := c.len16(len(v.Key))
		attributes := c.len16(v.Attributes.size())
		body := c.len32(len(v.Body))
		c.pieces()
		c.key(&v.Key, key)
		c.attributes(&v.Attributes, attributes)
		c.raw(&v.Body, body)
	})
	if c.decoding && len(m.Jobs) == 0 {
		c.fail("no job")
	}
	if c.present(m.Idempotency != U128{}) {
		c.u128(&m.Idempotency)
	}
}

// Outcomes of one pushed job. Any other is of a newer server, and is read as refused with OUTCOME_UNKNOWN.
const (
	OutcomePushed    = 0
	OutcomeKept      = 1
	OutcomeReplaced  = 2
	OutcomeRefused   = 3
	OutcomePostponed = 4
)

const codeOutcomeUnknown = 40

// PushResult is what became of one job.
type PushResult struct {
	Outcome uint8
	Code    uint16
	Job     uint64
}

// Pushed answers Push.
type Pushed struct {
	Results []PushResult
}

// Opcode is OpPushed.
func (*Pushed) Opcode() Opcode { return OpPushed }

func (m *Pushed) code(c *coder) {
	list(c, &m.Results, 11, 11, func(c *coder, v *PushResult) {
		c.u8(&v.Outcome)
		c.u16(&v.Code)
		c.u64(&v.Job)
		if c.decoding && v.Outcome > OutcomePostponed {
			v.Outcome, v.Code = OutcomeRefused, codeOutcomeUnknown
		}
	})
}

// Size is how many bytes of a frame the job takes.
func (j *NewJob) Size() int { return NewJobBytes + len(j.Key) + j.Attributes.size() + len(j.Body) }
