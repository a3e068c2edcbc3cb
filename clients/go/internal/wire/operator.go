package wire

// Connections asks for a page of the connected clients.
type Connections struct {
	After          uint64
	ConnectionsMax uint32
}

// Opcode is OpConnections.
func (*Connections) Opcode() Opcode { return OpConnections }

func (m *Connections) code(c *coder) {
	c.u64(&m.After)
	c.u32(&m.ConnectionsMax)
}

// Connection is one connected client.
type Connection struct {
	Connection    uint64
	Session       uint64
	SinceMs       uint64
	Leases        uint32
	Subscriptions uint32
	Reserves      uint32
	CreditJobs    uint64
	CreditBytes   uint64
	UnsentBytes   uint64
	Marks         uint8
	Address       string
	ClientName    string
	Topics        []string
}

// ConnectionList answers Connections.
type ConnectionList struct {
	Marks       uint8
	Connections []Connection
}

// Opcode is OpConnectionList.
func (*ConnectionList) Opcode() Opcode { return OpConnectionList }

func (m *ConnectionList) code(c *coder) {
	c.marks(&m.Marks, MarkMore)
	list(c, &m.Connections, 64, 64, func(c *coder, v *Connection) {
		c.u64(&v.Connection)
		c.u64(&v.Session)
		c.u64(&v.SinceMs)
		c.u32(&v.Leases)
		c.u32(&v.Subscriptions)
		c.u32(&v.Reserves)
		c.u64(&v.CreditJobs)
		c.u64(&v.CreditBytes)
		c.u64(&v.UnsentBytes)
		c.marks(&v.Marks, MarkMore)
		address, name := c.len8(len(v.Address)), c.len8(len(v.ClientName))
		topics := c.len8(len(v.Topics))
		c.pieces()
		c.text(&v.Address, address)
		c.text(&v.ClientName, name)
		if c.decoding && topics > 0 {
			v.Topics = make([]string, topics)
		}
		for i := range v.Topics {
			c.topic8(&v.Topics[i])
		}
	})
}

// OptionEndSession is the option of DISCONNECT.
const OptionEndSession = 1

// Disconnect closes the connection of another client.
type Disconnect struct {
	Connection uint64
	Options    uint8
}

// Opcode is OpDisconnect.
func (*Disconnect) Opcode() Opcode { return OpDisconnect }

func (m *Disconnect) code(c *coder) {
	c.u64(&m.Connection)
	c.marks(&m.Options, OptionEndSession)
}

// BackupBegin requests a backup.
type BackupBegin struct{}

// Opcode is OpBackupBegin.
func (*BackupBegin) Opcode() Opcode { return OpBackupBegin }
func (*BackupBegin) code(*coder)    {}

// BackupReady answers BackupBegin.
type BackupReady struct {
	Index     uint64
	Jobs      uint64
	StateHash U128
	Bytes     uint64
}

// Opcode is OpBackupReady.
func (*BackupReady) Opcode() Opcode { return OpBackupReady }

func (m *BackupReady) code(c *coder) {
	c.u64(&m.Index)
	c.u64(&m.Jobs)
	c.u128(&m.StateHash)
	c.u64(&m.Bytes)
}

// BackupRead reads a part of a backup.
type BackupRead struct {
	Offset uint64
	Bytes  uint32
}

// Opcode is OpBackupRead.
func (*BackupRead) Opcode() Opcode { return OpBackupRead }

func (m *BackupRead) code(c *coder) {
	c.u64(&m.Offset)
	c.u32(&m.Bytes)
}

// BackupData answers BackupRead.
type BackupData struct{ Data []byte }

// Opcode is OpBackupData.
func (*BackupData) Opcode() Opcode  { return OpBackupData }
func (m *BackupData) code(c *coder) { c.raw(&m.Data, c.len32(len(m.Data))) }

// BackupEnd releases a backup.
type BackupEnd struct{}

// Opcode is OpBackupEnd.
func (*BackupEnd) Opcode() Opcode { return OpBackupEnd }
func (*BackupEnd) code(*coder)    {}
