package wire

import "encoding/binary"

// Late is what happens to late jobs.
type Late struct {
	AfterMs uint64
	Action  uint8
	Value   uint64
}

// Settings are the policy of a topic, or a change of it. A nil setting is not there. Unset has the tags of settings
// that TOPIC_SET takes away.
type Settings struct {
	TtrMs          *uint32
	Priority       *uint32
	AttemptsMax    *uint32
	Backoff        *Backoff
	ExpiresAfterMs *uint64
	JobsMax        *uint64
	BytesMax       *uint64
	BodyMax        *uint32
	LeasesMax      *uint32
	Rate           *uint32
	Late           *Late
	DeadLetters    *string
	RememberMs     *uint64
	Unset          []uint16
}

// Tags of settings.
const (
	SetTtr          = 1
	SetPriority     = 2
	SetAttempts     = 3
	SetBackoff      = 4
	SetExpiresAfter = 5
	SetJobsMax      = 6
	SetBytesMax     = 7
	SetBodyMax      = 8
	SetLeasesMax    = 9
	SetRate         = 10
	SetLate         = 11
	SetDeadLetters  = 12
	SetRemember     = 13
)

func (s *Settings) append(out []byte) []byte {
	unset := map[uint16]bool{}
	for _, tag := range s.Unset {
		unset[tag] = true
	}
	for tag := uint16(1); tag <= SetRemember; tag++ {
		if unset[tag] {
			out = appendTag(out, tag, nil)
			continue
		}
		out = s.appendOne(out, tag)
	}
	return out
}

func (s *Settings) appendOne(out []byte, tag uint16) []byte {
	switch tag {
	case SetTtr:
		return appendU32(out, tag, s.TtrMs)
	case SetPriority:
		return appendU32(out, tag, s.Priority)
	case SetAttempts:
		return appendU32(out, tag, s.AttemptsMax)
	case SetBackoff:
		if s.Backoff != nil {
			return appendTag(out, tag, s.Backoff.append(nil))
		}
	case SetExpiresAfter:
		return appendU64(out, tag, s.ExpiresAfterMs)
	case SetJobsMax:
		return appendU64(out, tag, s.JobsMax)
	case SetBytesMax:
		return appendU64(out, tag, s.BytesMax)
	case SetBodyMax:
		return appendU32(out, tag, s.BodyMax)
	case SetLeasesMax:
		return appendU32(out, tag, s.LeasesMax)
	case SetRate:
		return appendU32(out, tag, s.Rate)
	case SetLate:
		if l := s.Late; l != nil {
			value := binary.LittleEndian.AppendUint64(nil, l.AfterMs)
			return appendTag(out, tag, binary.LittleEndian.AppendUint64(append(value, l.Action), l.Value))
		}
	case SetDeadLetters:
		return appendText(out, tag, s.DeadLetters)
	case SetRemember:
		return appendU64(out, tag, s.RememberMs)
	}
	return out
}

func (s *Settings) parse(in []byte) error {
	return eachTag(in, func(tag uint16, value []byte) error {
		if len(value) == 0 {
			s.Unset = append(s.Unset, tag)
			return nil
		}
		switch tag {
		case SetTtr:
			return parseU32(value, &s.TtrMs)
		case SetPriority:
			return parseU32(value, &s.Priority)
		case SetAttempts:
			return parseU32(value, &s.AttemptsMax)
		case SetBackoff:
			s.Backoff = new(Backoff)
			return s.Backoff.parse(value)
		case SetExpiresAfter:
			return parseU64(value, &s.ExpiresAfterMs)
		case SetJobsMax:
			return parseU64(value, &s.JobsMax)
		case SetBytesMax:
			return parseU64(value, &s.BytesMax)
		case SetBodyMax:
			return parseU32(value, &s.BodyMax)
		case SetLeasesMax:
			return parseU32(value, &s.LeasesMax)
		case SetRate:
			return parseU32(value, &s.Rate)
		case SetLate:
			if len(value) != 17 {
				return errTagLength
			}
			s.Late = &Late{AfterMs: binary.LittleEndian.Uint64(value), Action: value[8], Value: binary.LittleEndian.Uint64(value[9:])}
			return nil
		case SetDeadLetters:
			return parseText(value, &s.DeadLetters)
		case SetRemember:
			return parseU64(value, &s.RememberMs)
		}
		return nil // A newer server has more settings.
	})
}

func (c *coder) settings(s *Settings) {
	if !c.decoding {
		encoded := s.append(nil)
		c.raw16(&encoded)
		return
	}
	b := c.take(c.len16(0))
	if c.err == nil {
		if err := s.parse(b); err != nil {
			c.fail("settings: %v", err)
		}
	}
}

// TopicSet changes settings of a topic.
type TopicSet struct {
	Topic    string
	Settings Settings
}

// Opcode is OpTopicSet.
func (*TopicSet) Opcode() Opcode { return OpTopicSet }

func (m *TopicSet) code(c *coder) {
	c.topic8(&m.Topic)
	c.settings(&m.Settings)
}

// TopicShow reads the settings of a topic.
type TopicShow struct{ Topic string }

// Opcode is OpTopicShow.
func (*TopicShow) Opcode() Opcode  { return OpTopicShow }
func (m *TopicShow) code(c *coder) { c.topic8(&m.Topic) }

// TopicSettings answers TopicShow.
type TopicSettings struct {
	Jobs     uint64
	Bytes    uint64
	Marks    uint8
	Settings Settings
}

// Opcode is OpTopicSettings.
func (*TopicSettings) Opcode() Opcode { return OpTopicSettings }

func (m *TopicSettings) code(c *coder) {
	c.u64(&m.Jobs)
	c.u64(&m.Bytes)
	c.marks(&m.Marks, MarkPaused)
	c.settings(&m.Settings)
}

// Change applies a change of TOPIC_SET.
func (s *Settings) Change(by *Settings) {
	unset := map[uint16]bool{}
	for _, tag := range by.Unset {
		unset[tag] = true
	}
	change(&s.TtrMs, by.TtrMs, unset[SetTtr])
	change(&s.Priority, by.Priority, unset[SetPriority])
	change(&s.AttemptsMax, by.AttemptsMax, unset[SetAttempts])
	change(&s.Backoff, by.Backoff, unset[SetBackoff])
	change(&s.ExpiresAfterMs, by.ExpiresAfterMs, unset[SetExpiresAfter])
	change(&s.JobsMax, by.JobsMax, unset[SetJobsMax])
	change(&s.BytesMax, by.BytesMax, unset[SetBytesMax])
	change(&s.BodyMax, by.BodyMax, unset[SetBodyMax])
	change(&s.LeasesMax, by.LeasesMax, unset[SetLeasesMax])
	change(&s.Rate, by.Rate, unset[SetRate])
	change(&s.Late, by.Late, unset[SetLate])
	change(&s.DeadLetters, by.DeadLetters, unset[SetDeadLetters])
	change(&s.RememberMs, by.RememberMs, unset[SetRemember])
}

func change[T any](setting **T, to *T, unset bool) {
	if unset {
		*setting = nil
	} else if to != nil {
		*setting = to
	}
}
