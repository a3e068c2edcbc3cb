package adjourn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

const (
	// The number of reads that a BackupReader has under way at once.
	backupReadsAhead = 4
)

// Backup is a copy of the whole queue as of one log entry, which the server holds ready for this client's connection.
//
// Its bytes are those of a backup file up to the file's footer. To make backup files that can be restored, use the command
// "adjourn backup create".
//
// It does not survive its connection: when that is lost, when this client takes another backup, and when nothing was read
// for ten minutes, reads fail with [ErrBackupLost], and another backup has to be taken.
type Backup struct {
	// Index is the last log entry in it.
	Index uint64
	// Jobs is how many jobs it has.
	Jobs uint64
	// StateHash is that of [Stats] at this index.
	StateHash [16]byte
	// Bytes is its length.
	Bytes int64

	s     *session
	ready *wire.BackupReady
}

// Backup takes a backup. It waits until the server has written a checkpoint, which may take minutes; only the context
// bounds that, and an hour. The backup has everything that was answered before this call.
func (q *Client) Backup(ctx context.Context) (*Backup, error) {
	q.s.locked(func(time.Time) { q.s.backup = nil }) // the server releases it when it gets the request
	ready, err := ask[*wire.BackupReady](ctx, q, &wire.BackupBegin{})
	if err != nil {
		return nil, err
	}
	return &Backup{
		Index: ready.Index, Jobs: ready.Jobs, StateHash: ready.StateHash, Bytes: int64(ready.Bytes), s: q.s, ready: ready,
	}, nil
}

// ReadPart reads up to n bytes, at most 1 MiB, from the offset on. It returns fewer only at the end, and none after it.
// Several reads may be under way at once.
func (b *Backup) ReadPart(ctx context.Context, offset int64, n int) ([]byte, error) {
	c, err := b.startRead(offset, n)
	if err != nil {
		return nil, err
	}
	return b.awaitRead(ctx, c)
}

// End releases it. A backup that is lost has ended already.
func (b *Backup) End(ctx context.Context) error {
	c, err := b.start(&wire.BackupEnd{})
	if err == nil {
		_, err = b.s.await(ctx, c)
	}
	if err = lostBackup(err); errors.Is(err, ErrBackupLost) {
		return nil
	}
	return err
}

// NewReader reads all of it, in order, with a few requests under way. After an error, the context's included, the reader
// returns nothing else; another one begins anew.
func (b *Backup) NewReader(ctx context.Context) io.Reader { return &backupReader{ctx: ctx, b: b} }

type backupReader struct {
	ctx   context.Context
	b     *Backup
	asked int64   // requests for all bytes before this offset were sent
	reads []*call // those without an answer, in order
	part  []byte  // what is left of the last answer
	err   error
}

func (r *backupReader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.part) == 0 && r.err == nil {
		r.part, r.err = r.next()
	}
	if r.err != nil {
		return 0, r.err
	}
	n := copy(p, r.part)
	r.part = r.part[n:]
	return n, nil
}

func (r *backupReader) next() ([]byte, error) {
	for len(r.reads) < backupReadsAhead && r.asked < r.b.Bytes {
		n := int64(limits.BackupReadBytesMax)
		if left := r.b.Bytes - r.asked; left < n {
			n = left
		}
		c, err := r.b.startRead(r.asked, int(n))
		if err != nil {
			return nil, err
		}
		r.reads = append(r.reads, c)
		r.asked += n
	}
	if len(r.reads) == 0 {
		return nil, io.EOF
	}
	c := r.reads[0]
	r.reads = r.reads[1:]
	return r.b.awaitRead(r.ctx, c)
}

func (b *Backup) startRead(offset int64, n int) (*call, error) {
	if offset < 0 || n < 1 || n > limits.BackupReadBytesMax {
		return nil, usage("%d bytes from the offset %d on: read 1 to %d, from 0 on", n, offset, limits.BackupReadBytesMax)
	}
	return b.start(&wire.BackupRead{Offset: uint64(offset), Bytes: uint32(n)})
}

// awaitRead returns as many bytes as were asked for, unless the backup ends before.
func (b *Backup) awaitRead(ctx context.Context, c *call) ([]byte, error) {
	answer, err := b.s.await(ctx, c)
	if err != nil {
		return nil, lostBackup(err)
	}
	data, read := answer.(*wire.BackupData).Data, c.req.(*wire.BackupRead)
	want := uint64(0)
	if size := uint64(b.Bytes); read.Offset < size {
		want = size - read.Offset
	}
	if want > uint64(read.Bytes) {
		want = uint64(read.Bytes)
	}
	if uint64(len(data)) != want {
		return nil, &ProtocolError{Cause: fmt.Errorf("%d bytes of a backup instead of %d", len(data), want)}
	}
	return data, nil
}

// start sends a request about this backup, unless the connection holds another one or none.
func (b *Backup) start(req wire.Message) (c *call, err error) {
	b.s.locked(func(now time.Time) {
		switch {
		case b.s.closing || b.s.ended != nil:
			err = b.s.endedError()
		case b.s.backup != b.ready:
			err = ErrBackupLost
		default:
			c = b.s.accept(now, req, nil)
			c.awaited = true
		}
		if _, ends := req.(*wire.BackupEnd); ends && err == nil {
			b.s.backup = nil
		}
	})
	return c, err
}

// lostBackup says that the backup is lost if the server does not have it any more.
func lostBackup(err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %v", ErrBackupLost, err)
	}
	return err
}

// backupReady is told that the server holds a backup. If another request is under way, the server releases it for that
// one; if its caller has left, the client does.
func (s *session) backupReady(now time.Time, c *call, ready *wire.BackupReady) {
	s.finish(c, ready, nil)
	for _, other := range s.open {
		if _, begins := other.req.(*wire.BackupBegin); begins {
			return
		}
	}
	if c.awaited {
		s.backup = ready
	} else {
		s.accept(now, &wire.BackupEnd{}, nil)
	}
}
