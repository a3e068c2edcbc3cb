package wire

import (
	"encoding/binary"
	"math/bits"
)

// Pause stops delivery of a topic.
type Pause struct{ Topic string }

// Opcode is OpPause.
func (*Pause) Opcode() Opcode  { return OpPause }
func (m *Pause) code(c *coder) { c.topic8(&m.Topic) }

// Resume restarts delivery of a topic.
type Resume struct{ Topic string }

// Opcode is OpResume.
func (*Resume) Opcode() Opcode  { return OpResume }
func (m *Resume) code(c *coder) { c.topic8(&m.Topic) }

// TopicDelete deletes a topic without jobs.
type TopicDelete struct{ Topic string }

// Opcode is OpTopicDelete.
func (*TopicDelete) Opcode() Opcode  { return OpTopicDelete }
func (m *TopicDelete) code(c *coder) { c.topic8(&m.Topic) }

// Topics asks for the counts of all topics.
type Topics struct{}

// Opcode is OpTopics.
func (*Topics) Opcode() Opcode { return OpTopics }
func (*Topics) code(*coder)    {}

// Totals are counts of jobs.
type Totals struct {
	Delayed       uint64
	Ready         uint64
	Reserved      uint64
	Buried        uint64
	Pushed        uint64
	Finished      uint64
	Deleted       uint64
	Expired       uint64
	OldestReadyMs uint64
}

func (t *Totals) code(c *coder) {
	for _, v := range []*uint64{
		&t.Delayed, &t.Ready, &t.Reserved, &t.Buried, &t.Pushed, &t.Finished, &t.Deleted, &t.Expired, &t.OldestReadyMs,
	} {
		c.u64(v)
	}
}

// MarkPaused is the mark of a paused topic.
const MarkPaused = 1

// TopicCount has the counts of one topic.
type TopicCount struct {
	Marks uint8
	Topic string
	Totals
}

func topicCounts(c *coder, topics *[]TopicCount) {
	list(c, topics, 74, 74, func(c *coder, v *TopicCount) {
		c.marks(&v.Marks, MarkPaused)
		n := c.len8(len(v.Topic))
		v.Totals.code(c)
		c.pieces()
		c.topic(&v.Topic, n)
	})
}

// TopicCounts answers Topics.
type TopicCounts struct{ Topics []TopicCount }

// Opcode is OpTopicCounts.
func (*TopicCounts) Opcode() Opcode  { return OpTopicCounts }
func (m *TopicCounts) code(c *coder) { topicCounts(c, &m.Topics) }

// Stats asks for the counts of the whole queue.
type Stats struct{}

// Opcode is OpStats.
func (*Stats) Opcode() Opcode { return OpStats }
func (*Stats) code(*coder)    {}

// U128 is a number of 16 bytes, little-endian.
type U128 [16]byte

// Plus is the number that is greater by n; after the highest one comes 0.
func (v U128) Plus(n uint64) U128 {
	low, carry := bits.Add64(binary.LittleEndian.Uint64(v[:8]), n, 0)
	binary.LittleEndian.PutUint64(v[:8], low)
	binary.LittleEndian.PutUint64(v[8:], binary.LittleEndian.Uint64(v[8:])+carry)
	return v
}

func (c *coder) u128(v *U128) { c.bytes16((*[16]byte)(v)) }

// QueueStats answers Stats.
type QueueStats struct {
	Now          uint64
	UptimeMs     uint64
	Connections  uint32
	Sessions     uint32
	Waiting      uint32
	AppliedIndex uint64
	Term         uint64
	StateHash    U128
	Totals       Totals
	Topics       []TopicCount
	Stages       []Stage
}

// Stage has the durations of one stage of the work.
type Stage struct {
	Stage                              string
	Count, P50Us, P99Us, P999Us, MaxUs uint64
}

func stages(c *coder, stages *[]Stage) {
	list(c, stages, 41, 41, func(c *coder, v *Stage) {
		n := c.len8(len(v.Stage))
		for _, number := range []*uint64{&v.Count, &v.P50Us, &v.P99Us, &v.P999Us, &v.MaxUs} {
			c.u64(number)
		}
		c.pieces()
		c.text(&v.Stage, n)
	})
}

// Opcode is OpQueueStats.
func (*QueueStats) Opcode() Opcode { return OpQueueStats }

func (m *QueueStats) code(c *coder) {
	c.u64(&m.Now)
	c.u64(&m.UptimeMs)
	c.u32(&m.Connections)
	c.u32(&m.Sessions)
	c.u32(&m.Waiting)
	c.u64(&m.AppliedIndex)
	c.u64(&m.Term)
	c.u128(&m.StateHash)
	m.Totals.code(c)
	topicCounts(c, &m.Topics)
	if c.present(true) {
		stages(c, &m.Stages)
	}
}

// Add adds the counts of another topic.
func (t *Totals) Add(other *Totals) {
	t.Delayed += other.Delayed
	t.Ready += other.Ready
	t.Reserved += other.Reserved
	t.Buried += other.Buried
	t.Pushed += other.Pushed
	t.Finished += other.Finished
	t.Deleted += other.Deleted
	t.Expired += other.Expired
	if other.OldestReadyMs > t.OldestReadyMs {
		t.OldestReadyMs = other.OldestReadyMs
	}
}
