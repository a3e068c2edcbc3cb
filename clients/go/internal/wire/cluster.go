package wire

// ClusterStatus asks for the cluster as a node sees it.
type ClusterStatus struct{}

// Opcode is OpClusterStatus.
func (*ClusterStatus) Opcode() Opcode { return OpClusterStatus }
func (*ClusterStatus) code(*coder)    {}

// Marks of ClusterMember.
const (
	MemberConnected = 1 << iota
	MemberMatchedKnown
	MemberAppliedKnown
	MemberAheadKnown
	MemberComparedKnown
	MemberSameState
)

// Roles of ClusterMember. A newer server may have more.
const (
	RoleLearner = 0
	RoleVoter   = 1
	RoleLeader  = 2
)

// ClusterMember is a member in a ClusterReport.
type ClusterMember struct {
	Node          uint64
	Role          uint8
	Marks         uint8
	Matched       uint64
	Applied       uint64
	AheadMs       int64
	Audited       uint64
	PeerAddress   string
	ClientAddress string
}

// ClusterReport answers ClusterStatus.
type ClusterReport struct {
	Node         uint64
	ClusterId    [16]byte
	Leader       uint64
	Term         uint64
	Last         uint64
	Commit       uint64
	FeatureLevel uint32
	Members      []ClusterMember
}

// Opcode is OpClusterReport.
func (*ClusterReport) Opcode() Opcode { return OpClusterReport }

func (m *ClusterReport) code(c *coder) {
	c.u64(&m.Node)
	c.bytes16(&m.ClusterId)
	c.u64(&m.Leader)
	c.u64(&m.Term)
	c.u64(&m.Last)
	c.u64(&m.Commit)
	c.u32(&m.FeatureLevel)
	list(c, &m.Members, 44, 44, func(c *coder, v *ClusterMember) {
		c.u64(&v.Node)
		c.u8(&v.Role)
		c.marks(&v.Marks, 1<<6-1)
		c.u64(&v.Matched)
		c.u64(&v.Applied)
		c.i64(&v.AheadMs)
		c.u64(&v.Audited)
		peer, client := c.len8(len(v.PeerAddress)), c.len8(len(v.ClientAddress))
		c.pieces()
		c.text(&v.PeerAddress, peer)
		c.text(&v.ClientAddress, client)
	})
}

// ClusterAdd adds a member by its peer address.
type ClusterAdd struct{ Address string }

// Opcode is OpClusterAdd.
func (*ClusterAdd) Opcode() Opcode  { return OpClusterAdd }
func (m *ClusterAdd) code(c *coder) { c.text8(&m.Address) }

// ClusterRemove removes a member.
type ClusterRemove struct{ Node uint64 }

// Opcode is OpClusterRemove.
func (*ClusterRemove) Opcode() Opcode  { return OpClusterRemove }
func (m *ClusterRemove) code(c *coder) { c.u64(&m.Node) }

// ClusterTransfer gives leadership to a member; 0 lets the leader choose.
type ClusterTransfer struct{ Node uint64 }

// Opcode is OpClusterTransfer.
func (*ClusterTransfer) Opcode() Opcode  { return OpClusterTransfer }
func (m *ClusterTransfer) code(c *coder) { c.u64(&m.Node) }
