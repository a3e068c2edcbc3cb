package wire

import (
	"encoding/binary"
	"fmt"
	"unicode/utf8"
)

// Reader goes through a payload. It keeps the first error; after it, everything that is read is zero or empty. What it
// returns never shares the payload, except for the bytes of Take.
type Reader struct {
	in     []byte
	err    error
	strict bool
	last   string
}

// NewReader reads a payload as a server does: it refuses choices that it does not know.
func NewReader(payload []byte) *Reader { return &Reader{in: payload, strict: true} }

// Fail refuses the payload.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
		r.in = nil
	}
}

// Err is why the payload was refused, or nil.
func (r *Reader) Err() error { return r.err }

// Left is how many bytes are left.
func (r *Reader) Left() int { return len(r.in) }

// More says whether a field at the end stands there that may be absent.
func (r *Reader) More() bool { return len(r.in) > 0 }

// Take returns the next n bytes, or nil if there are fewer. They are the payload's.
func (r *Reader) Take(n int) []byte {
	if r.err != nil {
		return nil
	}
	if uint(n) > uint(len(r.in)) {
		r.Fail("it ends %d bytes too early", uint(n)-uint(len(r.in)))
		return nil
	}
	taken := r.in[:n:n]
	r.in = r.in[n:]
	return taken
}

// Has says whether a field that may be absent stands in a fixed part. Half of one is refused.
func (r *Reader) Has(fixed []byte, at, width int) bool {
	if len(fixed) > at && len(fixed) < at+width {
		r.Fail("a fixed part ends within a field")
	}
	return len(fixed) >= at+width
}

// U8 reads a number.
func (r *Reader) U8() uint8 {
	if b := r.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// U16 reads a number.
func (r *Reader) U16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// U32 reads a number.
func (r *Reader) U32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// U64 reads a number.
func (r *Reader) U64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// U128 reads a number.
func (r *Reader) U128() (v U128) {
	copy(v[:], r.Take(len(v)))
	return v
}

// Text reads n bytes of text.
func (r *Reader) Text(n int) string {
	b := r.Take(n)
	if !utf8.Valid(b) {
		r.Fail("a text that is not UTF-8")
		return ""
	}
	return string(b)
}

// RepeatedText is Text for one that is often the same as the one before: then it takes no memory of its own.
func (r *Reader) RepeatedText(n int) string {
	if n <= len(r.in) && string(r.in[:n]) == r.last {
		r.in = r.in[n:]
		return r.last
	}
	r.last = r.Text(n)
	return r.last
}

// Text8 reads a text behind a length of one byte.
func (r *Reader) Text8() string { return r.Text(int(r.U8())) }

// Text16 reads a text behind a length of two bytes.
func (r *Reader) Text16() string { return r.Text(int(r.U16())) }

// Bytes reads n bytes; none are nil.
func (r *Reader) Bytes(n int) []byte { return append([]byte(nil), r.Take(n)...) }

// Bytes16 reads bytes behind a length of two bytes.
func (r *Reader) Bytes16() []byte { return r.Bytes(int(r.U16())) }

// Bytes32 reads bytes behind a length of four bytes.
func (r *Reader) Bytes32() []byte { return r.Bytes(int(r.U32())) }

// Texts reads texts, each behind a length of one byte.
func (r *Reader) Texts(count int) []string {
	if count == 0 || count > len(r.in) {
		if count > 0 {
			r.Fail("%d texts do not fit into %d bytes", count, len(r.in))
		}
		return nil
	}
	texts := make([]string, count)
	for i := range texts {
		texts[i] = r.Text8()
	}
	return texts
}

// List begins a list whose items have a fixed part of at least min bytes. Items that cannot fit into what is there are
// refused before there is memory for them.
func (r *Reader) List(min int) (fixed, count int) {
	b := r.Take(6)
	if b == nil {
		return 0, 0
	}
	fixed = int(binary.LittleEndian.Uint16(b))
	items := uint64(binary.LittleEndian.Uint32(b[2:]))
	switch {
	case fixed < min:
		r.Fail("items of %d fixed bytes, at least %d are needed", fixed, min)
	case items*uint64(fixed) > uint64(len(r.in)):
		r.Fail("%d items do not fit into %d bytes", items, len(r.in))
	default:
		return fixed, int(items)
	}
	return 0, 0
}

// TextList reads a list of texts.
func (r *Reader) TextList() []string {
	fixed, count := r.List(1)
	if count == 0 {
		return nil
	}
	texts := make([]string, count)
	for i := range texts {
		if b := r.Take(fixed); b != nil {
			texts[i] = r.Text(int(b[0]))
		}
	}
	return texts
}

// NumberList reads a list of numbers.
func (r *Reader) NumberList() []uint16 {
	fixed, count := r.List(2)
	if count == 0 {
		return nil
	}
	numbers := make([]uint16, count)
	for i := range numbers {
		if b := r.Take(fixed); b != nil {
			numbers[i] = binary.LittleEndian.Uint16(b)
		}
	}
	return numbers
}

const criticalTag = 0x8000

// Elements goes through tagged elements:
//
//	for e := r.Elements(size, 0); e.Next(); {
//		switch e.Tag {
//		// read all of e.Value
//		}
//	}
type Elements struct {
	r        *Reader
	in       []byte
	repeated uint16
	isFirst  bool
	Tag      uint16
	Value    Reader
}

// Elements begins with the tagged elements in the next bytes. Only the repeated tag may stand there several times.
func (r *Reader) Elements(size int, repeated uint16) Elements {
	return Elements{r: r, in: r.Take(size), repeated: repeated, isFirst: true}
}

// Next goes to the next element. It refuses a value of which something is left, or that is too short.
func (e *Elements) Next() bool {
	if e.Value.err == nil && len(e.Value.in) > 0 {
		e.Value.Fail("%d bytes too many", len(e.Value.in))
	}
	if e.Value.err != nil {
		e.r.Fail("the element with the tag %d: %v", e.Tag, e.Value.err)
	}
	if len(e.in) == 0 || e.r.err != nil {
		return false
	}
	if len(e.in) < 4 {
		e.r.Fail("the elements end too early")
		return false
	}
	tag, size := binary.LittleEndian.Uint16(e.in), int(binary.LittleEndian.Uint16(e.in[2:]))
	if size > len(e.in)-4 {
		e.r.Fail("the elements end too early")
		return false
	}
	order, last := tag&^criticalTag, e.Tag&^criticalTag
	if !e.isFirst && (order < last || order == last && (tag != e.repeated || tag == 0)) {
		e.r.Fail("the element with the tag %d stands in the wrong place", tag)
		return false
	}
	e.isFirst, e.Tag, e.Value.in = false, tag, e.in[4:4+size:4+size]
	e.in = e.in[4+size:]
	return true
}

// Knows says whether the choice at a place of the value is one of those up to the greatest. A client skips another one,
// which is for servers; a server refuses it.
func (e *Elements) Knows(at int, greatest uint8) bool {
	if at >= len(e.Value.in) || e.Value.in[at] <= greatest {
		return true // one that is too short is refused where it is read
	}
	if e.r.strict {
		e.r.Fail("the element with the tag %d has a choice that is not known: %d", e.Tag, e.Value.in[at])
	}
	e.Skip()
	return false
}

// Skip leaves the value out.
func (e *Elements) Skip() { e.Value.in = nil }

// Unknown is the element as it came.
func (e *Elements) Unknown() UnknownElement {
	value := append([]byte{}, e.Value.in...)
	e.Skip()
	return UnknownElement{Tag: e.Tag, Value: value}
}
