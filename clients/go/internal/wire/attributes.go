package wire

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"
)

// Tags of attributes.
const (
	tagHeader       = 0x0001
	tagExpires      = 0x8002
	tagAttemptsMax  = 0x8003
	tagBackoff      = 0x8004
	tagFairnessKey  = 0x0005
	tagRetention    = 0x0006
	tagCreatedAt    = 0x0007
	tagSchedule     = 0x0008
	tagPostponeMax  = 0x0009
	backoffListMax  = 32
	backoffKindList = 3
)

// Header is one header of a job.
type Header struct{ Name, Value string }

// Expires is when a job is dropped: Kind is DueAfter or DueAt.
type Expires struct {
	Kind uint8
	Ms   uint64
}

// Backoff is how long a job waits after a failed attempt: 0 fixed, 1 linear, 2 exponential, 3 list.
type Backoff struct {
	Kind    uint8
	Jitter  uint8
	WaitsMs []uint32
}

// Attribute is one that this version does not know.
type Attribute struct {
	Tag   uint16
	Value []byte
}

// Attributes are what a job carries beside its body. A nil field is not there.
type Attributes struct {
	Headers           []Header
	Expires           *Expires
	AttemptsMax       *uint32
	Backoff           *Backoff
	FairnessKey       *string
	DedupeRetentionMs *uint64
	CreatedAtMs       *uint64
	ScheduleReference []byte
	PostponeMaxMs     *uint64
	Unknown           []Attribute
}

// size is the length of their encoding.
func (a *Attributes) size() int {
	if a.isEmpty() {
		return 0
	}
	return len(a.append(nil))
}

func (a *Attributes) isEmpty() bool {
	return len(a.Headers) == 0 && a.Expires == nil && a.AttemptsMax == nil && a.Backoff == nil && a.FairnessKey == nil &&
		a.DedupeRetentionMs == nil && a.CreatedAtMs == nil && a.ScheduleReference == nil && a.PostponeMaxMs == nil && len(a.Unknown) == 0
}

func (a *Attributes) append(out []byte) []byte {
	for _, h := range a.Headers {
		value := append([]byte{byte(len(h.Name))}, h.Name...)
		out = appendTag(out, tagHeader, append(value, h.Value...))
	}
	if e := a.Expires; e != nil {
		out = appendTag(out, tagExpires, binary.LittleEndian.AppendUint64([]byte{e.Kind}, e.Ms))
	}
	out = appendU32(out, tagAttemptsMax, a.AttemptsMax)
	if a.Backoff != nil {
		out = appendTag(out, tagBackoff, a.Backoff.append(nil))
	}
	out = appendText(out, tagFairnessKey, a.FairnessKey)
	out = appendU64(out, tagRetention, a.DedupeRetentionMs)
	out = appendU64(out, tagCreatedAt, a.CreatedAtMs)
	if a.ScheduleReference != nil {
		out = appendTag(out, tagSchedule, a.ScheduleReference)
	}
	out = appendU64(out, tagPostponeMax, a.PostponeMaxMs)
	for _, u := range a.Unknown {
		out = appendTag(out, u.Tag, u.Value)
	}
	return out
}

func (a *Attributes) parse(in []byte) error {
	return eachTag(in, func(tag uint16, value []byte) error {
		switch tag {
		case tagHeader:
			return a.parseHeader(value)
		case tagExpires:
			if len(value) != 9 || value[0] > DueAt {
				return errTagLength
			}
			a.Expires = &Expires{Kind: value[0], Ms: binary.LittleEndian.Uint64(value[1:])}
			return nil
		case tagAttemptsMax:
			return parseU32(value, &a.AttemptsMax)
		case tagBackoff:
			a.Backoff = new(Backoff)
			return a.Backoff.parse(value)
		case tagFairnessKey:
			return parseText(value, &a.FairnessKey)
		case tagRetention:
			return parseU64(value, &a.DedupeRetentionMs)
		case tagCreatedAt:
			return parseU64(value, &a.CreatedAtMs)
		case tagSchedule:
			a.ScheduleReference = append([]byte{}, value...)
			return nil
		case tagPostponeMax:
			return parseU64(value, &a.PostponeMaxMs)
		}
		a.Unknown = append(a.Unknown, Attribute{Tag: tag, Value: append([]byte{}, value...)})
		return nil
	})
}

func (a *Attributes) parseHeader(value []byte) error {
	if len(value) == 0 || int(value[0]) > len(value)-1 {
		return errTagLength
	}
	if !utf8.Valid(value[1:]) {
		return errors.New("a header that is not UTF-8")
	}
	name, rest := value[1:1+value[0]], value[1+value[0]:]
	if !utf8.Valid(name) || !utf8.Valid(rest) {
		return errors.New("a header that is not UTF-8")
	}
	a.Headers = append(a.Headers, Header{Name: string(name), Value: string(rest)})
	return nil
}

func (b *Backoff) append(out []byte) []byte {
	out = append(out, b.Kind, b.Jitter)
	for _, wait := range b.WaitsMs {
		out = binary.LittleEndian.AppendUint32(out, wait)
	}
	return out
}

func (b *Backoff) parse(value []byte) error {
	if len(value) < 6 || (len(value)-2)%4 != 0 {
		return errTagLength
	}
	b.Kind, b.Jitter = value[0], value[1]
	for value = value[2:]; len(value) > 0; value = value[4:] {
		b.WaitsMs = append(b.WaitsMs, binary.LittleEndian.Uint32(value))
	}
	return b.check()
}

func (b *Backoff) check() error {
	waits := len(b.WaitsMs)
	switch {
	case b.Kind == 0 && waits == 1, (b.Kind == 1 || b.Kind == 2) && waits == 2, b.Kind == backoffKindList && waits >= 1 && waits <= backoffListMax:
	default:
		return errors.New("a backoff of an unknown kind, or with the wrong number of waits")
	}
	if b.Jitter > 100 {
		return errors.New("a jitter of more than 100 percent")
	}
	return nil
}

func (c *coder) attributes(a *Attributes, n int) {
	if !c.decoding {
		for _, h := range a.Headers {
			if len(h.Name) > 255 {
				c.fail("the name of a header has more than 255 bytes")
			}
			if !utf8.ValidString(h.Name) || !utf8.ValidString(h.Value) {
				c.fail("a header that is not UTF-8")
			}
		}
		c.out = a.append(c.out)
		return
	}
	if b := c.take(n); c.err == nil && n > 0 {
		if err := a.parse(b); err != nil {
			c.fail("attributes: %v", err)
		}
	}
}
