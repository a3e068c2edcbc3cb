package wire

// Delays of RELEASE with a meaning of their own.
const (
	DelayBackoff    = 1<<64 - 1
	DelayNotStarted = 1<<64 - 2
)

// Lease is the right of one session to one job until its deadline.
type Lease struct {
	Job   uint64
	Fence uint64
}

func leases(c *coder, v *[]Lease) {
	list(c, v, 16, 16, func(c *coder, v *Lease) {
		c.u64(&v.Job)
		c.u64(&v.Fence)
	})
	if c.decoding && len(*v) == 0 {
		c.fail("no lease")
	}
}

// Finish says that the work on leases is done.
type Finish struct{ Leases []Lease }

// Opcode is OpFinish.
func (*Finish) Opcode() Opcode  { return OpFinish }
func (m *Finish) code(c *coder) { leases(c, &m.Leases) }

// Release gives jobs back.
type Release struct {
	DelayMs uint64
	Leases  []Lease
	Reason  string
}

// Opcode is OpRelease.
func (*Release) Opcode() Opcode { return OpRelease }

func (m *Release) code(c *coder) {
	c.u64(&m.DelayMs)
	if m.DelayMs < DelayNotStarted {
		c.bounded(m.DelayMs, 0, DelayMsMax, "delay_ms")
	}
	leases(c, &m.Leases)
	if c.present(m.Reason != "") {
		c.text16(&m.Reason)
	}
}

// Touch restarts leases.
type Touch struct {
	TtrMs  uint32
	Leases []Lease
}

// Opcode is OpTouch.
func (*Touch) Opcode() Opcode { return OpTouch }

func (m *Touch) code(c *coder) {
	c.u32(&m.TtrMs)
	if m.TtrMs != 0 {
		c.bounded(uint64(m.TtrMs), TtrMsMin, TtrMsMax, "ttr_ms")
	}
	leases(c, &m.Leases)
}

// Bury sets jobs aside.
type Bury struct {
	Leases []Lease
	Reason string
}

// Opcode is OpBury.
func (*Bury) Opcode() Opcode { return OpBury }

func (m *Bury) code(c *coder) {
	leases(c, &m.Leases)
	if c.present(m.Reason != "") {
		c.text16(&m.Reason)
	}
}

// SettleResult is what became of one lease: 0, or an error code.
type SettleResult struct{ Code uint16 }

// Settled answers Finish, Release, Touch and Bury.
type Settled struct{ Results []SettleResult }

// Opcode is OpSettled.
func (*Settled) Opcode() Opcode { return OpSettled }

func (m *Settled) code(c *coder) {
	list(c, &m.Results, 2, 2, func(c *coder, v *SettleResult) { c.u16(&v.Code) })
}
