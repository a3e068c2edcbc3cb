package wire

// Reserve waits for jobs and leases them.
type Reserve struct {
	WaitMs  uint64
	JobsMax uint32
	Topics  []string
	Weights []uint16
}

// Opcode is OpReserve.
func (*Reserve) Opcode() Opcode { return OpReserve }

func (m *Reserve) code(c *coder) {
	c.u64(&m.WaitMs)
	c.bounded(m.WaitMs, 0, WaitMsMax, "wait_ms")
	c.u32(&m.JobsMax)
	c.bounded(uint64(m.JobsMax), 1, 1<<32-1, "jobs_max")
	topicsAndWeights(c, &m.Topics, &m.Weights)
}

func topicsAndWeights(c *coder, topics *[]string, weights *[]uint16) {
	list(c, topics, 1, 1, func(c *coder, v *string) {
		n := c.len8(len(*v))
		c.pieces()
		c.topic(v, n)
	})
	if c.decoding && len(*topics) == 0 {
		c.fail("no topic")
	}
	if c.present(len(*weights) > 0) {
		list(c, weights, 2, 2, func(c *coder, v *uint16) { c.u16(v) })
	}
}

// Subscribe asks for jobs as they become ready, as long as there is credit.
type Subscribe struct {
	CreditJobs  uint32
	CreditBytes uint64
	Topics      []string
	Weights     []uint16
}

// Opcode is OpSubscribe.
func (*Subscribe) Opcode() Opcode { return OpSubscribe }

func (m *Subscribe) code(c *coder) {
	c.u32(&m.CreditJobs)
	c.u64(&m.CreditBytes)
	topicsAndWeights(c, &m.Topics, &m.Weights)
}

// Credit adds credit to a subscription.
type Credit struct {
	Subscription uint32
	CreditJobs   uint32
	CreditBytes  uint64
}

// Opcode is OpCredit.
func (*Credit) Opcode() Opcode { return OpCredit }

func (m *Credit) code(c *coder) {
	c.u32(&m.Subscription)
	c.u32(&m.CreditJobs)
	c.u64(&m.CreditBytes)
}

// Unsubscribe ends a subscription.
type Unsubscribe struct{ Subscription uint32 }

// Opcode is OpUnsubscribe.
func (*Unsubscribe) Opcode() Opcode  { return OpUnsubscribe }
func (m *Unsubscribe) code(c *coder) { c.u32(&m.Subscription) }

// Cancel ends the wait of a Reserve.
type Cancel struct{ Request uint32 }

// Opcode is OpCancel.
func (*Cancel) Opcode() Opcode  { return OpCancel }
func (m *Cancel) code(c *coder) { c.u32(&m.Request) }

// Leases asks for the leases of this session.
type Leases struct {
	After   uint64
	JobsMax uint32
}

// Opcode is OpLeases.
func (*Leases) Opcode() Opcode { return OpLeases }

func (m *Leases) code(c *coder) {
	c.u64(&m.After)
	c.u32(&m.JobsMax)
}

// Delivered is a job with the lease on it.
type Delivered struct {
	Job        uint64
	Fence      uint64
	DueMs      uint64
	Priority   uint32
	Attempts   uint32
	TtrLeftMs  uint32
	Topic      string
	Key        string
	Attributes Attributes
	Body       []byte
	DeadlineMs uint64
}

// Lease is the lease of the job.
func (d *Delivered) Lease() Lease { return Lease{Job: d.Job, Fence: d.Fence} }

func delivered(c *coder, jobs *[]Delivered) {
	list(c, jobs, 53, 45, func(c *coder, v *Delivered) {
		c.u64(&v.Job)
		c.u64(&v.Fence)
		c.u64(&v.DueMs)
		c.u32(&v.Priority)
		c.u32(&v.Attempts)
		c.u32(&v.TtrLeftMs)
		topic := c.len8(len(v.Topic))
		key := c.len16(len(v.Key))
		attributes := c.len16(v.Attributes.size())
		body := c.len32(len(v.Body))
		if c.present(true) {
			c.u64(&v.DeadlineMs)
		}
		c.pieces()
		c.topic(&v.Topic, topic)
		c.key(&v.Key, key)
		c.attributes(&v.Attributes, attributes)
		c.raw(&v.Body, body)
	})
}

// Reserved answers Reserve.
type Reserved struct{ Jobs []Delivered }

// Opcode is OpReserved.
func (*Reserved) Opcode() Opcode  { return OpReserved }
func (m *Reserved) code(c *coder) { delivered(c, &m.Jobs) }

// Subscribed answers Subscribe.
type Subscribed struct{}

// Opcode is OpSubscribed.
func (*Subscribed) Opcode() Opcode { return OpSubscribed }
func (*Subscribed) code(*coder)    {}

// Deliver brings jobs of a subscription.
type Deliver struct{ Jobs []Delivered }

// Opcode is OpDeliver.
func (*Deliver) Opcode() Opcode { return OpDeliver }

func (m *Deliver) code(c *coder) {
	delivered(c, &m.Jobs)
	if c.decoding && len(m.Jobs) == 0 {
		c.fail("DELIVER without a job")
	}
}

// MarkMore is the mark of a list that has more pages.
const MarkMore = 1

// Leased answers Leases.
type Leased struct {
	Marks uint8
	Jobs  []Delivered
}

// Opcode is OpLeased.
func (*Leased) Opcode() Opcode { return OpLeased }

func (m *Leased) code(c *coder) {
	c.marks(&m.Marks, MarkMore)
	delivered(c, &m.Jobs)
}
