package wire_test

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/adjourn/adjourn-go/internal/serverside"
	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// decode decodes a frame of either side.
func decode(frame wire.Frame) (wire.Message, error) {
	if frame.Opcode.IsRequest() {
		return serverside.Request(frame)
	}
	return frame.Message()
}

// encode encodes a message of either side.
func encode(id uint32, m wire.Message) ([]byte, error) { return encodeBehind(nil, id, m) }

func encodeBehind(before []byte, id uint32, m wire.Message) ([]byte, error) {
	if m.Opcode().IsRequest() {
		return wire.Append(before, id, m)
	}
	return serverside.Append(before, id, m)
}

// shown are the frames of protocol.md, one a line: request or response, then hex.
func shown(t testing.TB) []string {
	t.Helper()
	file, err := os.ReadFile("testdata/protocol_frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(file)), "\n")
}

func unhex(t testing.TB, line string) (isRequest bool, frame []byte) {
	t.Helper()
	kind, digits, _ := strings.Cut(line, " ")
	frame, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	return kind == "request", frame
}

func read(t testing.TB, frame []byte) wire.Frame {
	t.Helper()
	f, _, err := wire.ReadFrame(bytes.NewReader(frame), limits.ResponseBytesMax, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// toNext is ADVANCE to the next due time: protocol.md shows the one by a duration.
const toNext = "request 1100000059000000" + "1c000000" + "01" + "0000000000000000"

func TestEveryFrameOfTheSpecificationThereAndBack(t *testing.T) {
	seen := map[wire.Opcode]bool{}
	for _, line := range append(shown(t), toNext) {
		isRequest, bytes := unhex(t, line)
		frame := read(t, bytes)
		if frame.Opcode.IsRequest() != isRequest {
			t.Errorf("%v is not a %s", frame.Opcode, line[:8])
		}
		message, err := decode(frame)
		if err != nil || message == nil {
			t.Errorf("%v: %v", frame.Opcode, err)
			continue
		}
		seen[frame.Opcode] = true
		again, err := encode(frame.ID, message)
		if err != nil || !reflect.DeepEqual(again, bytes) {
			t.Errorf("%v: %x became %x (%v)", frame.Opcode, bytes, again, err)
		}
	}
	for _, op := range wire.Opcodes() {
		if !seen[op] {
			t.Errorf("no frame of %v was tried", op)
		}
	}
}

// The file of frames is taken from protocol.md; with the document at hand it must be the same.
func TestFramesAreThoseOfTheDocument(t *testing.T) {
	document, err := os.Open(filepath.Join("..", "..", "..", "..", "protocol.md"))
	if err != nil {
		if os.IsNotExist(err) {
			t.Skip("protocol.md is not here: the frames that were taken from it are")
		}
		t.Fatal(err)
	}
	defer document.Close()
	var frames []string
	var frame *strings.Builder
	for lines := bufio.NewScanner(document); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "```frame "):
			frame = &strings.Builder{}
			frame.WriteString(strings.TrimPrefix(line, "```frame ") + " ")
		case frame == nil || strings.HasPrefix(line, "= "):
		case line == "```":
			frames = append(frames, frame.String())
			frame = nil
		default:
			digits, _, _ := strings.Cut(line, "#")
			frame.WriteString(strings.Join(strings.Fields(digits), ""))
		}
	}
	if os.Getenv("ADJOURN_WRITE_FRAMES") != "" {
		if err := os.WriteFile("testdata/protocol_frames.txt", []byte(strings.Join(frames, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := shown(t); !reflect.DeepEqual(got, frames) {
		t.Errorf("protocol.md has %d frames, testdata has %d, and they differ: ADJOURN_WRITE_FRAMES=1 writes them anew", len(frames), len(got))
	}
}

func TestTrailingBytesOfANewerPeerAreSkipped(t *testing.T) {
	for _, line := range shown(t) {
		_, bytes := unhex(t, line)
		frame := read(t, bytes)
		want, err := decode(frame)
		if err != nil {
			t.Fatal(err)
		}
		longer, err := encode(1, want)
		if err != nil {
			t.Fatal(err)
		}
		// A message whose last field may be absent ends in that field first.
		message := read(t, longer)
		message.Payload = append(append([]byte{}, message.Payload...), endOf(want)...)
		message.Payload = append(message.Payload, 9, 9, 9, 9, 9, 9, 9, 9)
		got, err := decode(message)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %+v became %+v (%v)", frame.Opcode, want, got, err)
		}
	}
}

// endOf is what a message leaves out at its end that a newer one would have to write.
func endOf(m wire.Message) []byte {
	switch m := m.(type) {
	case *wire.Reserve:
		if len(m.Weights) == 0 {
			return []byte{2, 0, 0, 0, 0, 0}
		}
	case *wire.Subscribe:
		if len(m.Weights) == 0 {
			return []byte{2, 0, 0, 0, 0, 0}
		}
	case *wire.Push:
		if m.Idempotency == (wire.U128{}) {
			return make([]byte, 16+4)
		}
		if m.ListJobs == 0 {
			return make([]byte, 4)
		}
	case *wire.Reschedule:
		if m.IfVersion == 0 {
			return make([]byte, 8)
		}
	case *wire.Edit:
		if m.IfVersion == 0 {
			return make([]byte, 8)
		}
	case *wire.Pause:
		if m.ForMs == 0 {
			return make([]byte, 8)
		}
	case *wire.ScheduleSet:
		if m.IfVersion == 0 {
			return make([]byte, 4)
		}
	case *wire.Release:
		if m.Reason == "" {
			return []byte{0, 0}
		}
	case *wire.Bury:
		if m.Reason == "" {
			return []byte{0, 0}
		}
	}
	return nil
}

func TestLongerFixedPartsOfANewerPeerAreSkipped(t *testing.T) {
	bytes := []byte{13, 0, 2, 0, 0, 0}
	for job := byte(1); job <= 2; job++ {
		bytes = append(bytes, 0, 0, 0, job, 0, 0, 0, 0, 0, 0, 0, 77, 78)
	}
	got, err := wire.Frame{Opcode: wire.OpPushed, Payload: bytes}.Message()
	want := &wire.Pushed{Results: []wire.PushResult{{Job: 1}, {Job: 2}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAbsentFieldsOfAnOlderPeerAreZero(t *testing.T) {
	welcome := &wire.Welcome{Version: 1, HeartbeatMs: 5}
	whole, err := encode(1, welcome)
	if err != nil {
		t.Fatal(err)
	}
	frame := read(t, whole)
	frame.Payload = frame.Payload[:len(frame.Payload)-8]
	if got, err := decode(frame); err != nil || !reflect.DeepEqual(got, welcome) {
		t.Errorf("%+v, %v", got, err)
	}
	// A delivered job of 45 fixed bytes has no deadline.
	job := make([]byte, 45)
	job[0], job[36] = 42, 1
	payload := append([]byte{45, 0, 1, 0, 0, 0}, append(job, 't')...)
	got, err := wire.Frame{Opcode: wire.OpReserved, Payload: payload}.Message()
	want := &wire.Reserved{Jobs: []wire.Delivered{{Job: 42, Topic: "t"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMalformedPayloadsAreRefused(t *testing.T) {
	head := func(fixed byte, count byte) []byte { return []byte{fixed, 0, count, 0, 0, 0} }
	cases := map[string]wire.Frame{
		"a list that is longer than its frame":    {Opcode: wire.OpPushed, Payload: []byte{11, 0, 255, 255, 255, 255}},
		"items of no bytes, without end":          {Opcode: wire.OpPushed, Payload: []byte{0, 0, 255, 255, 255, 255}},
		"a fixed part that is too short":          {Opcode: wire.OpPushed, Payload: append(head(10, 1), make([]byte, 10)...)},
		"half a number":                           {Opcode: wire.OpPong, Payload: make([]byte, 7)},
		"half a late field":                       {Opcode: wire.OpPong, Payload: make([]byte, 12)},
		"a text that is not UTF-8":                {Opcode: wire.OpGoingAway, Payload: []byte{1, 0, 0xff, 0}},
		"a text that is longer than its frame":    {Opcode: wire.OpGoingAway, Payload: []byte{9, 0, 'a'}},
		"data that is longer than its frame":      {Opcode: wire.OpBackupData, Payload: []byte{255, 255, 255, 255}},
		"HELLO without the magic":                 {Opcode: wire.OpHello, Payload: make([]byte, 40)},
		"FINISH without a lease":                  {Opcode: wire.OpFinish, Payload: head(16, 0)},
		"a topic with a space":                    {Opcode: wire.OpPeek, Payload: []byte{1, ' '}},
		"a topic without a name":                  {Opcode: wire.OpPeek, Payload: []byte{0}},
		"a job by a key that is empty":            {Opcode: wire.OpGet, Payload: []byte{1, 1, 't', 0, 0}},
		"a filter whose tags fall":                {Opcode: wire.OpCount, Payload: []byte{10, 0, 2, 0, 1, 0, 1, 2, 0, 1, 0, 1}},
		"a filter with an unknown condition":      {Opcode: wire.OpCount, Payload: []byte{4, 0, 99, 0, 0, 0}},
		"a filter whose value has another length": {Opcode: wire.OpCount, Payload: []byte{6, 0, 2, 0, 2, 0, 1, 1}},
	}
	for what, frame := range cases {
		if got, err := decode(frame); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

func TestLengthsOutOfBoundsAreRefused(t *testing.T) {
	for _, length := range [][]byte{{7, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 2}, {255, 255, 255, 255}} {
		frame := append(append([]byte{}, length...), make([]byte, 64)...)
		if _, _, err := wire.ReadFrame(bytes.NewReader(frame), limits.ResponseBytesMax, nil); !errors.Is(err, wire.ErrMalformed) {
			t.Errorf("length %v: %v", length, err)
		}
	}
}

func TestFramesArriveInPieces(t *testing.T) {
	data := &wire.BackupData{Data: bytes.Repeat([]byte("0123456789abcdef"), 20_000)}
	frame, err := encode(7, data)
	if err != nil {
		t.Fatal(err)
	}
	two := append(append([]byte{}, frame...), frame...)
	from := iotest.HalfReader(bytes.NewReader(two))
	var scratch []byte
	for i := 0; i < 2; i++ {
		var got wire.Frame
		got, scratch, err = wire.ReadFrame(from, limits.ResponseBytesMax, scratch)
		if err != nil {
			t.Fatal(err)
		}
		if message, err := decode(got); err != nil || got.ID != 7 || !reflect.DeepEqual(message, data) {
			t.Errorf("frame %d: id %d, %v", i, got.ID, err)
		}
	}
	if _, _, err := wire.ReadFrame(from, limits.ResponseBytesMax, scratch); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
	if _, _, err := wire.ReadFrame(bytes.NewReader(frame[:len(frame)-1]), limits.ResponseBytesMax, nil); err != io.ErrUnexpectedEOF {
		t.Errorf("an end within a frame: %v", err)
	}
}

func TestUnknownOpcodesAreNoError(t *testing.T) {
	if got, err := (wire.Frame{Opcode: 0xfd, Payload: []byte{1}}).Message(); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatDoesNotFitIsNotEncoded(t *testing.T) {
	before := []byte("before")
	for _, m := range []wire.Message{
		&wire.ClusterAdd{Address: strings.Repeat("a", 256)},
		&wire.GoingAway{Message: "\xff"},
		&wire.Push{Topic: "t", Jobs: []wire.NewJob{{Attributes: wire.Attributes{Headers: []wire.Header{{Name: strings.Repeat("n", 256)}}}}}},
		&wire.Push{Topic: "t", Jobs: []wire.NewJob{{Key: strings.Repeat("k", 1<<16)}}},
	} {
		got, err := encodeBehind(before, 1, m)
		if err == nil || string(got) != "before" {
			t.Errorf("%v: %q, %v", m.Opcode(), got, err)
		}
	}
}

func TestAttributesThereAndBack(t *testing.T) {
	number, long, text := uint32(5), uint64(1<<63), "fair"
	want := wire.Attributes{
		Headers:           []wire.Header{{Name: "a", Value: "1"}, {Name: "a", Value: ""}, {Name: "ü", Value: "é"}},
		Expires:           &wire.Expiry{Kind: wire.DueKindAt, Ms: long},
		AttemptsMax:       &number,
		Backoff:           &wire.Backoff{Kind: 3, Jitter: 100, WaitsMs: []uint32{1, 2, 3}},
		Group:             &text,
		DedupeRetentionMs: &long,
		CreatedAtMs:       &long,
		ScheduleReference: []byte{},
		PostponeMaxMs:     &long,
		Unknown:           []wire.UnknownElement{{Tag: 900, Value: []byte{1, 2}}, {Tag: 0x8000 | 901, Value: []byte{}}},
	}
	sent := &wire.Push{Topic: "t", Jobs: []wire.NewJob{{Attributes: want}}}
	frame, err := encode(1, sent)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode(read(t, frame)); err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("%+v, %v", got, err)
	}
	shown, err := encode(1, &wire.Reserved{Jobs: []wire.Delivered{{Topic: "t", Attributes: want}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(read(t, shown))
	if err != nil || !reflect.DeepEqual(got.(*wire.Reserved).Jobs[0].Attributes, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A job is delivered whatever a newer server has for other servers: this client skips it. A server refuses it.
func TestKindsOfANewerPeerAreSkippedByClients(t *testing.T) {
	number := uint32(5)
	attributes := wire.Attributes{AttemptsMax: &number, Backoff: &wire.Backoff{Kind: 9, WaitsMs: []uint32{1}}, Expires: &wire.Expiry{Kind: 7}}
	frame, err := encode(1, &wire.Reserved{Jobs: []wire.Delivered{{Topic: "t", Attributes: attributes}}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := decode(read(t, frame))
	if err != nil || !reflect.DeepEqual(got.(*wire.Reserved).Jobs[0].Attributes, wire.Attributes{AttemptsMax: &number}) {
		t.Errorf("%+v, %v", got, err)
	}
	frame, err = encode(1, &wire.Push{Topic: "t", Jobs: []wire.NewJob{{Attributes: attributes}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decode(read(t, frame)); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range shown(f) {
		_, frame := unhex(f, line)
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, _, err := wire.ReadFrame(bytes.NewReader(data), limits.ResponseBytesMax, nil)
		if err != nil {
			return
		}
		message, err := decode(frame)
		if err != nil || message == nil {
			return
		}
		// What was understood means the same when it is written and read again.
		again, err := encode(frame.ID, message)
		if err != nil {
			t.Fatalf("%v was decoded and cannot be encoded: %v", frame.Opcode, err)
		}
		second, err := decode(read(t, again))
		if err != nil || fmt.Sprint(second) == "" || !reflect.DeepEqual(second, message) {
			t.Fatalf("%v: %+v became %+v (%v)", frame.Opcode, message, second, err)
		}
	})
}
