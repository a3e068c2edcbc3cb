package adjourntest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

// Cluster is three real servers that keep one queue. It ends with the test.
type Cluster struct {
	t     testing.TB
	Nodes []*Server
}

// StartCluster starts three nodes with more arguments of `adjourn serve`, and waits until all vote.
func StartCluster(t testing.TB, args ...string) *Cluster {
	t.Helper()
	peers := []string{FreeAddress(t), FreeAddress(t), FreeAddress(t)}
	c := &Cluster{t: t}
	for i, peer := range peers {
		own := append([]string{"--node", fmt.Sprint(i + 1), "--peer-listen", peer}, args...)
		if i > 0 {
			own = append(own, "--join", peers[0])
		} else {
			own = append(own, "--found")
		}
		c.Nodes = append(c.Nodes, StartServer(t, own...))
	}
	ctx, cancel := context.WithTimeout(context.Background(), startMax)
	defer cancel()
	q := c.Nodes[0].Dial()
	for i, peer := range peers[1:] {
		for {
			err := q.AddMember(ctx, peer)
			if err == nil || errors.Is(err, adjourn.ErrInvalid) && c.voters(ctx, q) > i+1 {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("node %d cannot be added: %v", i+2, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		for c.voters(ctx, q) < i+2 {
			if ctx.Err() != nil {
				t.Fatalf("node %d does not vote", i+2)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	q.Close()
	return c
}

func (c *Cluster) voters(ctx context.Context, q *adjourn.Client) int {
	cluster, err := q.Cluster(ctx)
	if err != nil {
		return 0
	}
	voters := 0
	for _, m := range cluster.Members {
		if m.Role != adjourn.Learner {
			voters++
		}
	}
	return voters
}

// Addr has the addresses of all nodes.
func (c *Cluster) Addr() string {
	var all []string
	for _, node := range c.Nodes {
		all = append(all, node.Addr())
	}
	return strings.Join(all, ",")
}

// Leader is the node that leads.
func (c *Cluster) Leader(ctx context.Context, q *adjourn.Client) *Server {
	c.t.Helper()
	for {
		cluster, err := q.Cluster(ctx)
		if err == nil && cluster.Leader > 0 {
			return c.Nodes[cluster.Leader-1]
		}
		if ctx.Err() != nil {
			c.t.Fatalf("there is no leader: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
