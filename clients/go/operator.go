package adjourn

import (
	"context"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// Connection is a client that is connected to the leader.
type Connection struct {
	ID            uint64
	Session       uint64
	Since         time.Time
	Leases        uint32
	Subscriptions uint32
	Reserves      uint32
	CreditJobs    uint64
	CreditBytes   uint64
	UnsentBytes   uint64
	Address       string
	Name          string
	// Topics are some of those that it waits for; MoreTopics says that there are others.
	Topics     []string
	MoreTopics bool
}

// Connections lists the clients that are connected to the leader.
func (q *Client) Connections(ctx context.Context) ([]Connection, error) {
	var all []Connection
	after := uint64(0)
	for {
		page, err := ask[*wire.ConnectionList](ctx, q, &wire.Connections{After: after, ConnectionsMax: limits.ConnectionsListedMax})
		if err != nil {
			return nil, err
		}
		for i := range page.Connections {
			c := &page.Connections[i]
			after = c.Connection
			all = append(all, Connection{
				ID: c.Connection, Session: c.Session, Since: wallTime(c.SinceMs), Leases: c.Leases, Subscriptions: c.Subscriptions,
				Reserves: c.Reserves, CreditJobs: c.CreditJobs, CreditBytes: c.CreditBytes, UnsentBytes: c.UnsentBytes,
				Address: c.Address, Name: c.ClientName, Topics: c.Topics, MoreTopics: c.Marks&wire.ConnectionMarkMoreTopics != 0,
			})
		}
		if page.Marks&wire.PageMarkMore == 0 || len(page.Connections) == 0 {
			return all, nil
		}
	}
}

// Disconnect closes the connection of another client. With endSession its leases are given back at once.
func (q *Client) Disconnect(ctx context.Context, connection uint64, endSession bool) error {
	req := &wire.Disconnect{Connection: connection}
	if endSession {
		req.Options = wire.DisconnectOptionEndsSession
	}
	return q.done(ctx, req)
}

// Advance moves the clock of a server for tests by d, rounded up to whole milliseconds, and returns its new time. Once it
// returns, everything that is due by then is carried out: jobs are ready, leases have ended, expired jobs are dropped. Only
// a server with --memory --clock manual has such a clock; any other refuses with [ErrUnsupported].
func (q *Client) Advance(ctx context.Context, d time.Duration) (time.Time, error) {
	if d < 0 {
		return time.Time{}, usage("the clock does not go back by %v", -d)
	}
	return q.advance(ctx, &wire.Advance{Step: wire.StepBy, ByMs: durationMs(d)})
}

// AdvanceToNext is [Client.Advance] to the time at which the next delayed job of all topics is due. Without a delayed job
// the error is [ErrNotFound], and the clock stays.
func (q *Client) AdvanceToNext(ctx context.Context) (time.Time, error) {
	return q.advance(ctx, &wire.Advance{Step: wire.StepToNext})
}

func (q *Client) advance(ctx context.Context, req *wire.Advance) (time.Time, error) {
	pong, err := ask[*wire.Pong](ctx, q, req)
	if err != nil {
		return time.Time{}, err
	}
	return wallTime(pong.Now), nil
}

// Member is a node of the cluster as another one sees it. A nil field is not known.
type Member struct {
	Node          uint64
	Role          Role
	Connected     bool
	Matched       *uint64
	Applied       *uint64
	ClockAhead    *time.Duration
	SameState     *bool
	Audited       uint64
	PeerAddress   string
	ClientAddress string
}

// Cluster is the cluster as one node sees it.
type Cluster struct {
	Node         uint64
	ClusterID    [16]byte
	Leader       uint64 // 0 for none
	Term         uint64
	Last         uint64
	Commit       uint64
	FeatureLevel uint32
	Members      []Member
}

// Cluster shows the cluster.
func (q *Client) Cluster(ctx context.Context) (*Cluster, error) {
	r, err := ask[*wire.ClusterReport](ctx, q, &wire.ClusterStatus{})
	if err != nil {
		return nil, err
	}
	cluster := &Cluster{
		Node: r.Node, ClusterID: r.ClusterID, Leader: r.Leader, Term: r.Term, Last: r.Last, Commit: r.Commit, FeatureLevel: r.FeatureLevel,
	}
	for i := range r.Members {
		cluster.Members = append(cluster.Members, memberOf(&r.Members[i]))
	}
	return cluster, nil
}

func memberOf(m *wire.Node) Member {
	member := Member{
		Node: m.Node, Role: Role(m.Role), Connected: m.Marks&wire.NodeMarkConnected != 0, Audited: m.Audited,
		PeerAddress: m.PeerAddress, ClientAddress: m.ClientAddress,
	}
	if m.Marks&wire.NodeMarkMatched != 0 {
		member.Matched = &m.Matched
	}
	if m.Marks&wire.NodeMarkApplied != 0 {
		member.Applied = &m.Applied
	}
	if m.Marks&wire.NodeMarkAhead != 0 {
		ahead := time.Duration(m.AheadMs) * time.Millisecond
		member.ClockAhead = &ahead
	}
	if m.Marks&wire.NodeMarkCompared != 0 {
		same := m.Marks&wire.NodeMarkSameState != 0
		member.SameState = &same
	}
	return member
}

// AddMember adds a node, by its address for other members, that was started to join.
func (q *Client) AddMember(ctx context.Context, peerAddress string) error {
	return q.done(ctx, &wire.ClusterAdd{Address: peerAddress})
}

// RemoveMember removes a node for good.
func (q *Client) RemoveMember(ctx context.Context, node uint64) error {
	return q.done(ctx, &wire.ClusterRemove{Node: node})
}

// TransferLeadership makes a node the leader; 0 lets the leader choose.
func (q *Client) TransferLeadership(ctx context.Context, node uint64) error {
	return q.done(ctx, &wire.ClusterTransfer{Node: node})
}
