package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// coder goes through the fields of a message. It either appends them to out or reads them from in; after the first
// error it does nothing.
type coder struct {
	decoding bool
	out      []byte
	in       []byte
	// rest is what follows the fixed part of the item that is being decoded.
	rest    []byte
	inItem  bool
	itemEnd int
	err     error
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
}

// take returns the next n bytes of the input, which stay the frame's.
func (c *coder) take(n int) []byte {
	if c.err != nil {
		return nil
	}
	if n > len(c.in) {
		c.fail("it ends %d bytes too early", n-len(c.in))
		return nil
	}
	taken := c.in[:n]
	c.in = c.in[n:]
	return taken
}

func (c *coder) u8(v *uint8) {
	if !c.decoding {
		c.out = append(c.out, *v)
	} else if b := c.take(1); b != nil {
		*v = b[0]
	}
}

func (c *coder) u16(v *uint16) {
	if !c.decoding {
		c.out = binary.LittleEndian.AppendUint16(c.out, *v)
	} else if b := c.take(2); b != nil {
		*v = binary.LittleEndian.Uint16(b)
	}
}

func (c *coder) u32(v *uint32) {
	if !c.decoding {
		c.out = binary.LittleEndian.AppendUint32(c.out, *v)
	} else if b := c.take(4); b != nil {
		*v = binary.LittleEndian.Uint32(b)
	}
}

func (c *coder) u64(v *uint64) {
	if !c.decoding {
		c.out = binary.LittleEndian.AppendUint64(c.out, *v)
	} else if b := c.take(8); b != nil {
		*v = binary.LittleEndian.Uint64(b)
	}
}

func (c *coder) i64(v *int64) {
	u := uint64(*v)
	c.u64(&u)
	*v = int64(u)
}

func (c *coder) bytes16(v *[16]byte) {
	if !c.decoding {
		c.out = append(c.out, v[:]...)
	} else if b := c.take(16); b != nil {
		copy(v[:], b)
	}
}

// choice is a number that stands for one of the choices 0 to max.
func (c *coder) choice(v *uint8, max uint8, name string) {
	c.u8(v)
	if *v > max {
		c.fail("%d is no %s", *v, name)
	}
}

// bounded refuses a number of a request that is out of its range. What is encoded is left to the server to judge.
func (c *coder) bounded(v, min, max uint64, name string) {
	if c.decoding && (v < min || v > max) {
		c.fail("%s is %d, from %d to %d are allowed", name, v, min, max)
	}
}

// marks keeps the bits that this version knows.
func (c *coder) marks(v *uint8, known uint8) {
	c.u8(v)
	*v &= known
}

// Lengths. Encoding writes n; decoding returns what stands there.

func (c *coder) len8(n int) int {
	v := uint8(n)
	if n > math.MaxUint8 {
		c.fail("%d bytes, at most 255 fit", n)
	}
	c.u8(&v)
	return int(v)
}

func (c *coder) len16(n int) int {
	v := uint16(n)
	if n > math.MaxUint16 {
		c.fail("%d bytes, at most 65535 fit", n)
	}
	c.u16(&v)
	return int(v)
}

func (c *coder) len32(n int) int {
	v := uint32(n)
	if uint64(n) > math.MaxUint32 {
		c.fail("%d bytes do not fit", n)
	}
	c.u32(&v)
	if uint64(v) > math.MaxInt32 {
		c.fail("a length of %d", v)
		return 0
	}
	return int(v)
}

// Pieces: bytes whose length is known.

func (c *coder) raw(v *[]byte, n int) {
	if !c.decoding {
		c.out = append(c.out, *v...)
		return
	}
	if b := c.take(n); len(b) > 0 {
		*v = append([]byte(nil), b...)
	}
}

func (c *coder) text(v *string, n int) {
	if !c.decoding {
		if !utf8.ValidString(*v) {
			c.fail("a text that is not UTF-8")
		}
		c.out = append(c.out, *v...)
		return
	}
	b := c.take(n)
	if !utf8.Valid(b) {
		c.fail("a text that is not UTF-8")
		return
	}
	*v = string(b)
}

func (c *coder) topic(v *string, n int) {
	c.text(v, n)
	if c.decoding && c.err == nil {
		if err := CheckTopic(*v); err != nil {
			c.fail("%v", err)
		}
	}
}

// key is the piece of a key; no bytes are no key.
func (c *coder) key(v *string, n int) {
	c.text(v, n)
	if c.decoding && c.err == nil && n > 0 {
		if err := CheckKey(*v); err != nil {
			c.fail("%v", err)
		}
	}
}

func (c *coder) text8(v *string)  { c.text(v, c.len8(len(*v))) }
func (c *coder) text16(v *string) { c.text(v, c.len16(len(*v))) }
func (c *coder) topic8(v *string) { c.topic(v, c.len8(len(*v))) }
func (c *coder) raw16(v *[]byte)  { c.raw(v, c.len16(len(*v))) }

// present says whether an optional field at the end stands there: when it decodes, whether bytes are left.
func (c *coder) present(write bool) bool {
	if c.err != nil {
		return false
	}
	if c.decoding {
		return len(c.in) > 0
	}
	return write
}

// pieces ends the fixed part of an item: what the decoder does not know of it is skipped.
func (c *coder) pieces() {
	if !c.inItem {
		return
	}
	c.inItem = false
	if c.decoding {
		c.in = c.rest
	} else if len(c.out) != c.itemEnd {
		panic("wire: the fixed part of an item has another length than its list says")
	}
}

// list is a list whose items have a fixed part of fixed bytes in this version, and of at least min bytes from an
// older peer.
func list[T any](c *coder, items *[]T, fixed, min int, item func(c *coder, v *T)) {
	size := uint16(fixed)
	count := uint32(len(*items))
	c.u16(&size)
	c.u32(&count)
	if c.err != nil {
		return
	}
	if !c.decoding {
		for i := range *items {
			c.inItem, c.itemEnd = true, len(c.out)+fixed
			item(c, &(*items)[i])
			c.pieces()
		}
		return
	}
	if int(size) < min {
		c.fail("items of %d fixed bytes, at least %d are needed", size, min)
		return
	}
	if uint64(count)*uint64(size) > uint64(len(c.in)) {
		c.fail("%d items do not fit into %d bytes", count, len(c.in))
		return
	}
	read := make([]T, count)
	for i := range read {
		fixedPart := c.take(int(size))
		if c.err != nil {
			return
		}
		c.in, c.rest, c.inItem = fixedPart, c.in, true
		item(c, &read[i])
		c.pieces()
		if c.err != nil {
			return
		}
	}
	if count > 0 {
		*items = read
	}
}
