package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// Writer appends the fields of a message. It keeps the first error, and goes on: what it wrote is thrown away then.
type Writer struct {
	out []byte
	err error
}

func (w *Writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}

// Fixed appends n bytes and returns them: the caller sets each of them.
func (w *Writer) Fixed(n int) []byte {
	start := len(w.out)
	if n > cap(w.out)-start {
		bigger := make([]byte, start, 2*cap(w.out)+n)
		copy(bigger, w.out)
		w.out = bigger
	}
	w.out = w.out[:start+n]
	return w.out[start:]
}

// U8 appends a number.
func (w *Writer) U8(v uint8) { w.out = append(w.out, v) }

// U16 appends a number.
func (w *Writer) U16(v uint16) { w.out = binary.LittleEndian.AppendUint16(w.out, v) }

// U32 appends a number.
func (w *Writer) U32(v uint32) { w.out = binary.LittleEndian.AppendUint32(w.out, v) }

// U64 appends a number.
func (w *Writer) U64(v uint64) { w.out = binary.LittleEndian.AppendUint64(w.out, v) }

// U128 appends a number.
func (w *Writer) U128(v U128) { w.out = append(w.out, v[:]...) }

// Len8 is a length or a count that has to fit into one byte.
func (w *Writer) Len8(n int) uint8 {
	if n > math.MaxUint8 {
		w.fail("%d do not fit, at most 255 do", n)
	}
	return uint8(n)
}

// Len16 is a length that has to fit into two bytes.
func (w *Writer) Len16(n int) uint16 {
	if n > math.MaxUint16 {
		w.fail("%d bytes, at most 65535 fit", n)
	}
	return uint16(n)
}

// Len32 is a length that has to fit into four bytes.
func (w *Writer) Len32(n int) uint32 {
	if uint64(n) > math.MaxUint32 {
		w.fail("%d bytes do not fit", n)
	}
	return uint32(n)
}

// Text appends a text without its length.
func (w *Writer) Text(text string) {
	if !utf8.ValidString(text) {
		w.fail("a text that is not UTF-8")
	}
	w.out = append(w.out, text...)
}

// Text8 appends a text behind a length of one byte.
func (w *Writer) Text8(text string) {
	w.U8(w.Len8(len(text)))
	w.Text(text)
}

// Text16 appends a text behind a length of two bytes.
func (w *Writer) Text16(text string) {
	w.U16(w.Len16(len(text)))
	w.Text(text)
}

// Bytes appends bytes without their length.
func (w *Writer) Bytes(b []byte) { w.out = append(w.out, b...) }

// Bytes16 appends bytes behind a length of two bytes.
func (w *Writer) Bytes16(b []byte) {
	w.U16(w.Len16(len(b)))
	w.Bytes(b)
}

// Bytes32 appends bytes behind a length of four bytes.
func (w *Writer) Bytes32(b []byte) {
	w.U32(w.Len32(len(b)))
	w.Bytes(b)
}

// Texts appends texts, each behind a length of one byte. Their count stands elsewhere.
func (w *Writer) Texts(texts []string) {
	for _, text := range texts {
		w.Text8(text)
	}
}

// List begins a list whose items have a fixed part of this length.
func (w *Writer) List(fixed, count int) {
	w.U16(uint16(fixed))
	w.U32(w.Len32(count))
}

// TextList appends a list of texts.
func (w *Writer) TextList(texts []string) {
	w.List(1, len(texts))
	w.Texts(texts)
}

// NumberList appends a list of numbers.
func (w *Writer) NumberList(numbers []uint16) {
	w.List(2, len(numbers))
	for _, number := range numbers {
		w.U16(number)
	}
}

// JobRef appends a job reference.
func (w *Writer) JobRef(ref *JobRef) {
	w.U8(ref.JobKind)
	if ref.JobKind == JobKindID {
		w.U64(ref.Job)
		return
	}
	w.Text8(ref.Topic)
	w.Text16(ref.Key)
}

// Begin leaves room for a length of two bytes; End sets it to what was appended since.
func (w *Writer) Begin() (at int) {
	w.U16(0)
	return len(w.out)
}

// End sets the length that Begin left room for.
func (w *Writer) End(at int) {
	binary.LittleEndian.PutUint16(w.out[at-2:], w.Len16(len(w.out)-at))
}

// BeginElement begins a tagged element, which End ends.
func (w *Writer) BeginElement(tag uint16) (at int) {
	w.U16(tag)
	return w.Begin()
}

// ElementU8 appends an element that is a number.
func (w *Writer) ElementU8(tag uint16, v uint8) {
	b := w.Fixed(5)
	binary.LittleEndian.PutUint16(b, tag)
	binary.LittleEndian.PutUint16(b[2:], 1)
	b[4] = v
}

// ElementU32 appends an element that is a number.
func (w *Writer) ElementU32(tag uint16, v uint32) {
	b := w.Fixed(8)
	binary.LittleEndian.PutUint16(b, tag)
	binary.LittleEndian.PutUint16(b[2:], 4)
	binary.LittleEndian.PutUint32(b[4:], v)
}

// ElementU64 appends an element that is a number.
func (w *Writer) ElementU64(tag uint16, v uint64) {
	b := w.Fixed(12)
	binary.LittleEndian.PutUint16(b, tag)
	binary.LittleEndian.PutUint16(b[2:], 8)
	binary.LittleEndian.PutUint64(b[4:], v)
}

// ElementText appends an element that is a text.
func (w *Writer) ElementText(tag uint16, text string) {
	w.U16(tag)
	w.Text16(text)
}

// ElementBytes appends an element of any bytes.
func (w *Writer) ElementBytes(tag uint16, value []byte) {
	w.U16(tag)
	w.Bytes16(value)
}
