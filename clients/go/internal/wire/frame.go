package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Lengths of frames, in bytes.
const (
	HeaderBytes = 12
	lengthBytes = 4
	lengthMin   = HeaderBytes - lengthBytes
)

// ErrMalformed is what every refusal of a frame or a payload wraps.
var ErrMalformed = errors.New("malformed frame")

// Frame is one message under its request id.
type Frame struct {
	Opcode  Opcode
	Group   uint8
	ID      uint32
	Payload []byte
}

// Append encodes a request under a request id and appends the whole frame to dst. If a field does not fit into its
// length, dst is returned as it was.
func Append(dst []byte, id uint32, m Message) ([]byte, error) {
	return AppendWith(appendRequest, dst, id, m)
}

// AppendWith is Append with another encoder of payloads; it says whether the message is one of its kind.
func AppendWith(encode func(w *Writer, m Message) bool, dst []byte, id uint32, m Message) ([]byte, error) {
	start := len(dst)
	w := Writer{out: append(dst, 0, 0, 0, 0, byte(m.Opcode()), 0, 0, 0)}
	w.U32(id)
	if !encode(&w, m) {
		return dst, fmt.Errorf("%v goes the other way", m.Opcode())
	}
	if w.err != nil {
		return dst, fmt.Errorf("%v cannot be encoded: %w", m.Opcode(), w.err)
	}
	length := len(w.out) - start - lengthBytes
	if uint64(length) > 1<<32-1 {
		return dst, fmt.Errorf("%v of %d bytes cannot be encoded", m.Opcode(), length)
	}
	binary.LittleEndian.PutUint32(w.out[start:], uint32(length))
	return w.out, nil
}

// ReadFrame reads one frame whose length field is at most bytesMax. The payload is read into scratch if it is large
// enough and is valid until scratch is used again; decoded messages never share it. The error of a stream that ends
// between two frames is io.EOF.
func ReadFrame(r io.Reader, bytesMax int, scratch []byte) (Frame, []byte, error) {
	var header [HeaderBytes]byte
	if _, err := io.ReadFull(r, header[:lengthBytes]); err != nil {
		return Frame{}, scratch, err
	}
	length := binary.LittleEndian.Uint32(header[:])
	if length < lengthMin || uint64(length) > uint64(bytesMax) {
		return Frame{}, scratch, fmt.Errorf("%w: a length of %d, from %d to %d are allowed", ErrMalformed, length, lengthMin, bytesMax)
	}
	if _, err := io.ReadFull(r, header[lengthBytes:]); err != nil {
		return Frame{}, scratch, noEOF(err)
	}
	frame := Frame{Opcode: Opcode(header[4]), Group: header[6], ID: binary.LittleEndian.Uint32(header[8:])}
	payload, scratch, err := readPayload(r, int(length)-lengthMin, scratch)
	frame.Payload = payload
	return frame, scratch, err
}

// readStep bounds what is allocated for bytes that were announced and have not arrived.
const readStep = 64 << 10

func readPayload(r io.Reader, size int, scratch []byte) ([]byte, []byte, error) {
	if size <= cap(scratch) {
		payload := scratch[:size]
		_, err := io.ReadFull(r, payload)
		return payload, scratch, noEOF(err)
	}
	payload := scratch[:0]
	for len(payload) < size {
		step := size - len(payload)
		if step > readStep && step > len(payload) {
			step = readStep
			if len(payload) > step {
				step = len(payload)
			}
		}
		start := len(payload)
		payload = append(payload, make([]byte, step)...)
		if _, err := io.ReadFull(r, payload[start:]); err != nil {
			return nil, payload[:0], noEOF(err)
		}
	}
	return payload, payload, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Message decodes the payload of a response. It returns nil without an error if the opcode is not known to this version.
func (f Frame) Message() (Message, error) {
	r := Reader{in: f.Payload}
	m := readResponse(f.Opcode, &r)
	if r.err != nil {
		return nil, fmt.Errorf("%v cannot be decoded: %w", f.Opcode, r.err)
	}
	return m, nil
}
