package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Magic is the start of HELLO.
const Magic = "ADJ1"

// Opcode is the kind of a message. Requests are below 0x80, responses at or above.
type Opcode uint8

// Message is the payload of one frame.
type Message interface {
	// Opcode is its kind.
	Opcode() Opcode
}

// Repeat says whether a request may be sent again when nobody knows whether the server got it.
type Repeat uint8

// The answers.
const (
	RepeatUnsafe Repeat = iota
	RepeatSafe
	RepeatSafeByID // if it names a job by its id: under the key there may be another one
)

type opcodeEntry struct {
	name    string
	answer  Opcode
	repeat  Repeat
	isProof bool
}

// String is the name in protocol.md.
func (o Opcode) String() string {
	if name := opcodes[o].name; name != "" {
		return name
	}
	return fmt.Sprintf("opcode 0x%02x", uint8(o))
}

// IsRequest says whether messages of this opcode go from client to server.
func (o Opcode) IsRequest() bool { return o < 0x80 }

// Answer is the opcode of the response to this request.
func (o Opcode) Answer() Opcode { return opcodes[o].answer }

// Repeat says whether this request may be repeated.
func (o Opcode) Repeat() Repeat { return opcodes[o].repeat }

// IsProof says whether this response shows that the session was connected to the leader after the request was sent. One
// with a list of jobs is a proof only if it has one, except for LEASED.
func (o Opcode) IsProof() bool { return opcodes[o].isProof }

// Opcodes returns all opcodes of this version, in their order.
func Opcodes() []Opcode {
	var all []Opcode
	for o := range opcodes {
		if opcodes[o].name != "" {
			all = append(all, Opcode(o))
		}
	}
	return all
}

// JobRef names one job, by its id or by its topic and key.
type JobRef struct {
	JobKind uint8
	Job     uint64
	Topic   string
	Key     string
}

// UnknownElement is one that this version does not know.
type UnknownElement struct {
	Tag   uint16
	Value []byte
}

// IsUnset says whether a change takes the setting with this tag away.
func (v *Settings) IsUnset(tag uint16) bool {
	for _, unset := range v.Unset {
		if unset == tag {
			return true
		}
	}
	return false
}

// Lease is the lease of the job.
func (v *Delivered) Lease() Lease { return Lease{Job: v.Job, Fence: v.Fence} }

// Size is how many bytes of a frame the job takes.
func (v *NewJob) Size() int { return NewJobBytes + len(v.Key) + v.Attributes.Size() + len(v.Body) }

// U128 is a number of 16 bytes, little-endian.
type U128 [16]byte

// Plus is the number that is greater by n; after the highest one comes 0.
func (v U128) Plus(n uint64) U128 {
	low, carry := bits.Add64(binary.LittleEndian.Uint64(v[:8]), n, 0)
	binary.LittleEndian.PutUint64(v[:8], low)
	binary.LittleEndian.PutUint64(v[8:], binary.LittleEndian.Uint64(v[8:])+carry)
	return v
}

// Less says whether v is the lower number.
func (v U128) Less(other U128) bool {
	high, otherHigh := binary.LittleEndian.Uint64(v[8:]), binary.LittleEndian.Uint64(other[8:])
	if high != otherHigh {
		return high < otherHigh
	}
	return binary.LittleEndian.Uint64(v[:8]) < binary.LittleEndian.Uint64(other[:8])
}
