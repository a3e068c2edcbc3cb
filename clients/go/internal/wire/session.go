package wire

// Magic is the start of HELLO.
const Magic = "ADJ1"

// Version is the version of the protocol that this package speaks.
const Version = 1

// Marks of WELCOME, and the options of HELLO.
const (
	MarkResumed    = 1
	MarkLeasesKept = 2

	OptionLeasesOutlive = 1
	OptionNoSession     = 2
)

// Hello opens a session or resumes one, or asks for none.
type Hello struct {
	VersionMin  uint16
	VersionMax  uint16
	Options     uint32
	HeartbeatMs uint32
	Session     uint64
	Secret      [16]byte
	ClientName  string
	Token       []byte
}

// Opcode is OpHello.
func (*Hello) Opcode() Opcode { return OpHello }

func (m *Hello) code(c *coder) {
	magic := [4]byte{'A', 'D', 'J', '1'}
	for i := range magic {
		c.u8(&magic[i])
	}
	if string(magic[:]) != Magic {
		c.fail("HELLO does not start with %s", Magic)
	}
	c.u16(&m.VersionMin)
	c.u16(&m.VersionMax)
	c.u32(&m.Options)
	m.Options &= OptionLeasesOutlive | OptionNoSession
	c.u32(&m.HeartbeatMs)
	c.u64(&m.Session)
	c.bytes16(&m.Secret)
	c.text8(&m.ClientName)
	c.raw16(&m.Token)
}

// Member is a node of the cluster, as WELCOME lists it. Bit 0 of its marks: it leads.
type Member struct {
	Node    uint64
	Marks   uint8
	Address string
}

// Welcome answers Hello.
type Welcome struct {
	Version        uint16
	Marks          uint8
	ClusterId      [16]byte
	Session        uint64
	Secret         [16]byte
	HeartbeatMs    uint32
	SessionGraceMs uint32
	FrameBytesMax  uint32
	BodyBytesMax   uint32
	PushJobsMax    uint32
	LeasesMax      uint32
	ReserveJobsMax uint32
	InFlightMax    uint32
	ServerName     string
	Members        []Member
	ClockMs        uint64
}

// Opcode is OpWelcome.
func (*Welcome) Opcode() Opcode { return OpWelcome }

func (m *Welcome) code(c *coder) {
	c.u16(&m.Version)
	c.marks(&m.Marks, MarkResumed|MarkLeasesKept)
	c.bytes16(&m.ClusterId)
	c.u64(&m.Session)
	c.bytes16(&m.Secret)
	c.u32(&m.HeartbeatMs)
	c.u32(&m.SessionGraceMs)
	c.u32(&m.FrameBytesMax)
	c.u32(&m.BodyBytesMax)
	c.u32(&m.PushJobsMax)
	c.u32(&m.LeasesMax)
	c.u32(&m.ReserveJobsMax)
	c.u32(&m.InFlightMax)
	c.text8(&m.ServerName)
	list(c, &m.Members, 10, 10, func(c *coder, v *Member) {
		c.u64(&v.Node)
		c.marks(&v.Marks, 1)
		n := c.len8(len(v.Address))
		c.pieces()
		c.text(&v.Address, n)
	})
	if c.present(true) {
		c.u64(&m.ClockMs)
	}
}

// Ping asks for a sign of life.
type Ping struct{}

// Opcode is OpPing.
func (*Ping) Opcode() Opcode { return OpPing }
func (*Ping) code(*coder)    {}

// Pong answers Ping.
type Pong struct {
	Now     uint64
	ClockMs uint64
}

// Opcode is OpPong.
func (*Pong) Opcode() Opcode { return OpPong }

func (m *Pong) code(c *coder) {
	c.u64(&m.Now)
	if c.present(true) {
		c.u64(&m.ClockMs)
	}
}

// Goodbye ends the session.
type Goodbye struct{}

// Opcode is OpGoodbye.
func (*Goodbye) Opcode() Opcode { return OpGoodbye }
func (*Goodbye) code(*coder)    {}

// Done answers several requests.
type Done struct{}

// Opcode is OpDone.
func (*Done) Opcode() Opcode { return OpDone }
func (*Done) code(*coder)    {}

// Reasons of GoingAway.
const (
	AwayStopping     = 1
	AwayNotLeader    = 2
	AwayTakenOver    = 3
	AwayDisconnected = 4
)

// GoingAway says that the server is about to close the connection.
type GoingAway struct {
	Message string
	Reason  uint8
}

// Opcode is OpGoingAway.
func (*GoingAway) Opcode() Opcode { return OpGoingAway }

func (m *GoingAway) code(c *coder) {
	c.text16(&m.Message)
	if c.present(true) {
		c.u8(&m.Reason)
	}
}

// Error answers a request that failed as a whole.
type Error struct {
	Code         uint16
	Marks        uint8
	Applied      uint8
	RetryAfterMs uint32
	Leader       string
	Message      string
}

// MarkRetryable is the bit of Error.Marks.
const MarkRetryable = 1

// Opcode is OpError.
func (*Error) Opcode() Opcode { return OpError }

func (m *Error) code(c *coder) {
	c.u16(&m.Code)
	c.marks(&m.Marks, MarkRetryable)
	c.u8(&m.Applied)
	if m.Applied > 1 {
		m.Applied = 1 // what this version does not know is not known
	}
	c.u32(&m.RetryAfterMs)
	c.text8(&m.Leader)
	c.text16(&m.Message)
}
