package wire

import "encoding/binary"

// Peek shows the next job of a topic.
type Peek struct{ Topic string }

// Opcode is OpPeek.
func (*Peek) Opcode() Opcode  { return OpPeek }
func (m *Peek) code(c *coder) { c.topic8(&m.Topic) }

// MarkBodies is the mark of a LIST that shows bodies.
const MarkBodies = 1

// List shows one page of jobs.
type List struct {
	JobsMax uint32
	Order   uint8
	Marks   uint8
	Cursor  []byte
	Filter  Filter
}

// Opcode is OpList.
func (*List) Opcode() Opcode { return OpList }

func (m *List) code(c *coder) {
	c.u32(&m.JobsMax)
	c.choice(&m.Order, 2, "order")
	c.marks(&m.Marks, MarkBodies)
	c.raw16(&m.Cursor)
	c.filter(&m.Filter)
}

// ListedJob is a job on a page of JOBS.
type ListedJob struct {
	Job
	BodyBytes uint32
}

// Jobs answers List.
type Jobs struct {
	Cursor []byte
	Jobs   []ListedJob
}

// Opcode is OpJobs.
func (*Jobs) Opcode() Opcode { return OpJobs }

func (m *Jobs) code(c *coder) {
	c.raw16(&m.Cursor)
	list(c, &m.Jobs, 81, 81, func(c *coder, v *ListedJob) {
		n := v.head(c)
		c.u32(&v.BodyBytes)
		c.u64(&v.PushedMs)
		c.u64(&v.ReservedFirstMs)
		c.u64(&v.ReservedLastMs)
		c.u64(&v.HeldBy)
		reason := c.len16(len(v.Reason))
		c.pieces()
		v.body(c, n)
		c.text(&v.Reason, reason)
	})
}

// Count counts jobs.
type Count struct{ Filter Filter }

// Opcode is OpCount.
func (*Count) Opcode() Opcode  { return OpCount }
func (m *Count) code(c *coder) { c.filter(&m.Filter) }

// Counted answers Count.
type Counted struct{ Jobs uint64 }

// Opcode is OpCounted.
func (*Counted) Opcode() Opcode  { return OpCounted }
func (m *Counted) code(c *coder) { c.u64(&m.Jobs) }

// Changes of BULK.
const (
	BulkDelete     = 0
	BulkKick       = 1
	BulkRunNow     = 2
	BulkReschedule = 3
	BulkMove       = 4
)

// Bulk applies one change to jobs that match.
type Bulk struct {
	JobsMax uint32
	Change  uint8
	DueMs   uint64
	Cursor  []byte
	Filter  Filter
	To      string
}

// Opcode is OpBulk.
func (*Bulk) Opcode() Opcode { return OpBulk }

func (m *Bulk) code(c *coder) {
	c.u32(&m.JobsMax)
	c.choice(&m.Change, BulkMove, "change")
	c.u64(&m.DueMs)
	c.raw16(&m.Cursor)
	c.filter(&m.Filter)
	if m.Change == BulkMove {
		c.topic8(&m.To)
	}
}

// Bulked answers Bulk.
type Bulked struct {
	Jobs     uint32
	Cursor   []byte
	InTheWay uint32
}

// Opcode is OpBulked.
func (*Bulked) Opcode() Opcode { return OpBulked }

func (m *Bulked) code(c *coder) {
	c.u32(&m.Jobs)
	c.raw16(&m.Cursor)
	if c.present(true) {
		c.u32(&m.InTheWay)
	}
}

// Filter is what jobs must meet. A nil condition is not there.
type Filter struct {
	Topic       *string
	States      *uint8
	DueFromMs   *uint64
	DueBeforeMs *uint64
	KeyPrefix   []byte
	AttemptsMin *uint32
	AttemptsMax *uint32
	Buried      *uint8
	Reason      *string
}

func (f *Filter) append(out []byte) []byte {
	out = appendText(out, 1, f.Topic)
	out = appendU8(out, 2, f.States)
	out = appendU64(out, 3, f.DueFromMs)
	out = appendU64(out, 4, f.DueBeforeMs)
	if len(f.KeyPrefix) > 0 {
		out = appendTag(out, 5, f.KeyPrefix)
	}
	out = appendU32(out, 6, f.AttemptsMin)
	out = appendU32(out, 7, f.AttemptsMax)
	out = appendU8(out, 8, f.Buried)
	return appendText(out, 9, f.Reason)
}

func (f *Filter) parse(in []byte) error {
	return eachTag(in, func(tag uint16, value []byte) error {
		switch tag {
		case 1:
			return parseText(value, &f.Topic)
		case 2:
			return parseU8(value, &f.States)
		case 3:
			return parseU64(value, &f.DueFromMs)
		case 4:
			return parseU64(value, &f.DueBeforeMs)
		case 5:
			f.KeyPrefix = append([]byte(nil), value...)
			return nil
		case 6:
			return parseU32(value, &f.AttemptsMin)
		case 7:
			return parseU32(value, &f.AttemptsMax)
		case 8:
			return parseU8(value, &f.Buried)
		case 9:
			return parseText(value, &f.Reason)
		}
		return malformedTag("condition", tag)
	})
}

func (c *coder) filter(f *Filter) {
	if !c.decoding {
		encoded := f.append(nil)
		c.raw16(&encoded)
		return
	}
	b := c.take(c.len16(0))
	if c.err == nil {
		if err := f.parse(b); err != nil {
			c.fail("%v", err)
		}
	}
}

func appendU16(out []byte, v uint16) []byte { return binary.LittleEndian.AppendUint16(out, v) }
