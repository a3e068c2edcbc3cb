package adjourn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// pushMiBs pushes jobs whose bodies fill so many MiB.
func pushMiBs(t *testing.T, q *adjourn.Client, n int) {
	t.Helper()
	for i := 0; i < n; i++ {
		must[adjourn.JobID](t)(q.Push(testContext(t), "t", bytes.Repeat([]byte{byte('a' + i)}, 1<<20)))
	}
}

func TestABackupIsReadInOrder(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	pushMiBs(t, q, 6)
	backup := must[*adjourn.Backup](t)(q.Backup(ctx))
	if stats := must[*adjourn.Stats](t)(q.Stats(ctx)); backup.Jobs != 6 || backup.Index == 0 || backup.Index > stats.AppliedIndex {
		t.Errorf("%+v", backup)
	}
	all := must[[]byte](t)(io.ReadAll(backup.NewReader(ctx)))
	if int64(len(all)) != backup.Bytes || len(all) < 6<<20 || string(all[:8]) != "ADJBCKUP" {
		t.Fatalf("%d of %d bytes", len(all), backup.Bytes)
	}
	// The server does not change it, and parts may be read in any order.
	must[adjourn.JobID](t)(q.Push(ctx, "t", "another"))
	for _, offset := range []int64{5<<20 + 17, 1<<20 - 3, 0, backup.Bytes - 5, backup.Bytes, backup.Bytes + 9} {
		part := must[[]byte](t)(backup.ReadPart(ctx, offset, 4096))
		var want []byte
		if offset < backup.Bytes {
			want = all[offset:]
		}
		if len(want) > 4096 {
			want = want[:4096]
		}
		if !bytes.Equal(part, want) {
			t.Errorf("%d bytes from %d on are others than the reader's", len(part), offset)
		}
	}
	if err := iotest.TestReader(backup.NewReader(ctx), all); err != nil {
		t.Error(err)
	}
	for _, n := range []int{0, 1<<20 + 1} {
		if _, err := backup.ReadPart(ctx, 0, n); !errors.Is(err, adjourn.ErrUsage) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := backup.ReadPart(ctx, -1, 1); !errors.Is(err, adjourn.ErrUsage) {
		t.Error(err)
	}
}

func TestABackupEndsWithTheNextOneAndWithItsConnection(t *testing.T) {
	server := adjourntest.StartServer(t)
	q, ctx := server.Dial(), testContext(t)
	pushMiBs(t, q, 6)
	isLost := func(backup *adjourn.Backup, reader io.Reader) {
		t.Helper()
		if _, err := backup.ReadPart(ctx, 0, 8); !errors.Is(err, adjourn.ErrBackupLost) {
			t.Errorf("%v", err)
		}
		if _, err := io.Copy(io.Discard, reader); !errors.Is(err, adjourn.ErrBackupLost) {
			t.Errorf("%v", err)
		}
		if err := backup.End(ctx); err != nil {
			t.Errorf("%v", err)
		}
	}
	first := must[*adjourn.Backup](t)(q.Backup(ctx))
	begun := first.NewReader(ctx)
	must[int](t)(begun.Read(make([]byte, 8)))
	second := must[*adjourn.Backup](t)(q.Backup(ctx))
	isLost(first, begun)
	if err := second.End(ctx); err != nil {
		t.Error(err)
	}
	isLost(second, second.NewReader(ctx))
	third := must[*adjourn.Backup](t)(q.Backup(ctx))
	begun = third.NewReader(ctx)
	must[int](t)(begun.Read(make([]byte, 8)))
	server.Kill()
	server.Start()
	must[adjourn.JobID](t)(q.Push(ctx, "t", "after"))
	isLost(third, begun)
}

func TestReadsOfABackupAreNotRepeatedOnTheNextConnection(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		id, _ := p.next()
		p.say(id, &wire.BackupReady{Index: 5, Jobs: 1, Bytes: 9 << 20})
		for i := 0; i < 4; i++ {
			if read, is := second(p.next()).(*wire.BackupRead); !is || read.Offset != uint64(i)<<20 || read.Bytes != 1<<20 {
				t.Errorf("%+v", read)
			}
		}
	}, func(p *peer) {
		p.welcome(nil)
		if m := second(p.next()); m != nil {
			if _, is := m.(*wire.Get); !is {
				t.Errorf("%+v", m)
			}
		}
	}, func(p *peer) {
		p.welcome(nil)
		p.serve()
	})
	q, ctx := dialScripted(t, address), testContext(t)
	backup := must[*adjourn.Backup](t)(q.Backup(ctx))
	if n, err := backup.NewReader(ctx).Read(make([]byte, 8)); n != 0 || !errors.Is(err, adjourn.ErrBackupLost) {
		t.Errorf("%d bytes, %v", n, err)
	}
	must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(1)))
}

func second(_ uint32, m wire.Message) wire.Message { return m }

func TestAServerThatForgotABackupOrSendsTooFewBytes(t *testing.T) {
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		id, _ := p.next()
		p.say(id, &wire.BackupReady{Bytes: 100})
		id, _ = p.next()
		p.say(id, &wire.BackupData{Data: make([]byte, 99)})
		for {
			id, m := p.next()
			if m == nil {
				return
			}
			p.say(id, &wire.Error{Code: uint16(adjourn.ErrNotFound)})
		}
	})
	q, ctx := dialScripted(t, address), testContext(t)
	backup := must[*adjourn.Backup](t)(q.Backup(ctx))
	var broken *adjourn.ProtocolError
	if _, err := backup.ReadPart(ctx, 0, 100); !errors.As(err, &broken) {
		t.Errorf("%v", err)
	}
	if _, err := backup.ReadPart(ctx, 0, 100); !errors.Is(err, adjourn.ErrBackupLost) {
		t.Errorf("%v", err)
	}
	if err := backup.End(ctx); err != nil {
		t.Error(err)
	}
}

func TestABackupThatNobodyWaitsForIsReleased(t *testing.T) {
	begun, released := make(chan struct{}), make(chan struct{})
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		id, _ := p.next()
		close(begun)
		get, _ := p.next() // the caller has left
		p.say(id, &wire.BackupReady{Bytes: 100})
		p.say(get, &wire.Job{Shown: wire.Shown{Job: 1, Topic: "t"}})
		if m := second(p.next()); m == nil || m.Opcode() != wire.OpBackupEnd {
			t.Errorf("%T", m)
		}
		close(released)
		p.serve()
	})
	q := dialScripted(t, address)
	ctx, cancel := context.WithCancel(testContext(t))
	go func() {
		<-begun
		cancel()
	}()
	if _, err := q.Backup(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	must[*adjourn.JobInfo](t)(q.Get(testContext(t), adjourn.ByID(1)))
	select {
	case <-released:
	case <-testContext(t).Done():
		t.Error("the server still holds it")
	}
}
