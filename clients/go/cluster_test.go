package adjourn_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
)

// A worker and pushers go on while one leader is killed and the next one hands over: nothing is lost, and no push is
// taken twice.
func TestTheLeaderIsFollowed(t *testing.T) {
	cluster := adjourntest.StartCluster(t, "--heartbeat-ms", "500")
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	// One address is enough: the client learns the others.
	q := cluster.Nodes[1].Dial()
	var mu sync.Mutex
	seen := map[adjourn.JobID]int{}
	run(t, q.Worker("t", func(ctx context.Context, job *adjourn.Job) error {
		mu.Lock()
		defer mu.Unlock()
		seen[job.ID]++
		return nil
	}))
	var pushed atomic.Int64
	var pushers sync.WaitGroup
	stop := make(chan struct{})
	for i := 0; i < 4; i++ {
		pushers.Add(1)
		go func() {
			defer pushers.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := q.Push(ctx, "t", "x"); err != nil {
					t.Error(err)
					return
				}
				pushed.Add(1)
			}
		}()
	}
	more := func(what string) {
		from := pushed.Load()
		eventually(t, what, func() bool { return pushed.Load() > from+50 })
	}
	more("jobs are pushed")
	leader := cluster.Leader(ctx, q)
	leader.Kill()
	more("jobs are pushed to the next leader")
	leader.Start()
	eventually(t, "all three are there", func() bool {
		report, err := q.Cluster(ctx)
		if err != nil {
			return false
		}
		connected := 0
		for _, m := range report.Members {
			if m.Connected && m.Matched != nil && *m.Matched >= report.Commit {
				connected++
			}
		}
		return connected == 3
	})
	if err := q.TransferLeadership(ctx, 0); err != nil {
		t.Error(err)
	}
	more("jobs are pushed after a transfer")
	close(stop)
	pushers.Wait()
	eventually(t, "all jobs are finished", func() bool {
		stats, err := q.Stats(ctx)
		return err == nil && stats.Finished == uint64(pushed.Load()) && stats.Ready+stats.Reserved == 0
	})
	stats := must[*adjourn.Stats](t)(q.Stats(ctx))
	mu.Lock()
	defer mu.Unlock()
	if stats.Pushed != uint64(pushed.Load()) || len(seen) != int(pushed.Load()) {
		t.Errorf("%d pushes were acknowledged, the queue has taken %d, %d jobs were seen", pushed.Load(), stats.Pushed, len(seen))
	}
}
