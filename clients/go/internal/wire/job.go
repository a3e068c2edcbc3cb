package wire

// Kinds of job references.
const (
	ByID  = 0
	ByKey = 1
)

// JobRef names one job, by its id or by its key.
type JobRef struct {
	JobKind uint8
	Job     uint64
	Topic   string
	Key     string
}

func (r *JobRef) code(c *coder) {
	c.choice(&r.JobKind, ByKey, "job_kind")
	if r.JobKind == ByID {
		c.u64(&r.Job)
		return
	}
	c.topic8(&r.Topic)
	n := c.len16(len(r.Key))
	if c.decoding && n == 0 {
		c.fail("a job by a key without a key")
	}
	c.key(&r.Key, n)
}

// Get shows a job.
type Get struct{ JobRef }

// Opcode is OpGet.
func (*Get) Opcode() Opcode { return OpGet }

// Delete removes a job.
type Delete struct{ JobRef }

// Opcode is OpDelete.
func (*Delete) Opcode() Opcode { return OpDelete }

// Reschedule gives a job a new due time.
type Reschedule struct {
	DueMs   uint64
	DueKind uint8
	JobRef
	// IfVersion is the version that the job must still have; 0 for any.
	IfVersion uint64
}

// Opcode is OpReschedule.
func (*Reschedule) Opcode() Opcode { return OpReschedule }

func (m *Reschedule) code(c *coder) {
	c.u64(&m.DueMs)
	c.choice(&m.DueKind, DueAt, "due_kind")
	m.JobRef.code(c)
	if c.present(m.IfVersion != 0) {
		c.u64(&m.IfVersion)
	}
}

// RunNow makes a delayed job ready.
type RunNow struct{ JobRef }

// Opcode is OpRunNow.
func (*RunNow) Opcode() Opcode { return OpRunNow }

// Kick makes a buried job ready.
type Kick struct{ JobRef }

// Opcode is OpKick.
func (*Kick) Opcode() Opcode { return OpKick }

// KickMany makes buried jobs of a topic ready.
type KickMany struct {
	JobsMax uint32
	Topic   string
}

// Opcode is OpKickMany.
func (*KickMany) Opcode() Opcode { return OpKickMany }

func (m *KickMany) code(c *coder) {
	c.u32(&m.JobsMax)
	c.topic8(&m.Topic)
}

// Kicked answers KickMany.
type Kicked struct{ Jobs uint32 }

// Opcode is OpKicked.
func (*Kicked) Opcode() Opcode  { return OpKicked }
func (m *Kicked) code(c *coder) { c.u32(&m.Jobs) }

// States of a job. A newer server may have others.
const (
	StateDelayed  = 0
	StateReady    = 1
	StateReserved = 2
	StateBuried   = 3
	StateFinished = 4
)

// Changed answers Delete, Reschedule, RunNow and Kick.
type Changed struct {
	Job   uint64
	DueMs uint64
	State uint8
	// Version is 0 if it is not known.
	Version uint64
}

// Opcode is OpChanged.
func (*Changed) Opcode() Opcode { return OpChanged }

func (m *Changed) code(c *coder) {
	c.u64(&m.Job)
	c.u64(&m.DueMs)
	c.u8(&m.State)
	if c.present(true) {
		c.u64(&m.Version)
	}
}

// Job shows a job. It answers Get and Peek.
type Job struct {
	Job             uint64
	DueMs           uint64
	State           uint8
	Buried          uint8
	Priority        uint32
	Attempts        uint32
	TtrMs           uint32
	TtrLeftMs       uint32
	Topic           string
	Key             string
	Attributes      Attributes
	Body            []byte
	PushedMs        uint64
	ReservedFirstMs uint64
	ReservedLastMs  uint64
	HeldBy          uint64
	Reason          string
	FinishedMs      uint64
	Version         uint64
}

// lengths are those of the pieces of a job.
type lengths struct{ topic, key, attributes, body int }

func (m *Job) head(c *coder) lengths {
	c.u64(&m.Job)
	c.u64(&m.DueMs)
	c.u8(&m.State)
	c.u8(&m.Buried)
	c.u32(&m.Priority)
	c.u32(&m.Attempts)
	c.u32(&m.TtrMs)
	c.u32(&m.TtrLeftMs)
	return lengths{
		topic:      c.len8(len(m.Topic)),
		key:        c.len16(len(m.Key)),
		attributes: c.len16(m.Attributes.size()),
		body:       c.len32(len(m.Body)),
	}
}

func (m *Job) body(c *coder, n lengths) {
	c.topic(&m.Topic, n.topic)
	c.key(&m.Key, n.key)
	c.attributes(&m.Attributes, n.attributes)
	c.raw(&m.Body, n.body)
}

// Opcode is OpJob.
func (*Job) Opcode() Opcode { return OpJob }

func (m *Job) code(c *coder) {
	m.body(c, m.head(c))
	for _, past := range []*uint64{&m.PushedMs, &m.ReservedFirstMs, &m.ReservedLastMs, &m.HeldBy} {
		if c.present(true) {
			c.u64(past)
		}
	}
	if c.present(true) {
		c.text16(&m.Reason)
	}
	for _, last := range []*uint64{&m.FinishedMs, &m.Version} {
		if c.present(true) {
			c.u64(last)
		}
	}
}
