package wire

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
)

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

func read(t testing.TB, frame []byte) Frame {
	t.Helper()
	f, _, err := ReadFrame(bytes.NewReader(frame), ResponseBytesMax, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestEveryFrameOfTheSpecificationThereAndBack(t *testing.T) {
	seen := map[Opcode]bool{}
	for _, line := range shown(t) {
		isRequest, bytes := unhex(t, line)
		frame := read(t, bytes)
		if frame.Opcode.IsRequest() != isRequest {
			t.Errorf("%v is not a %s", frame.Opcode, line[:8])
		}
		message, err := frame.Message()
		if err != nil || message == nil {
			t.Errorf("%v: %v", frame.Opcode, err)
			continue
		}
		seen[frame.Opcode] = true
		again, err := Append(nil, frame.ID, message)
		if err != nil || !reflect.DeepEqual(again, bytes) {
			t.Errorf("%v: %x became %x (%v)", frame.Opcode, bytes, again, err)
		}
	}
	for _, op := range Opcodes() {
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
		want, err := frame.Message()
		if err != nil {
			t.Fatal(err)
		}
		longer, err := Append(nil, 1, want)
		if err != nil {
			t.Fatal(err)
		}
		// A message whose last field may be absent ends in that field first.
		message := read(t, longer)
		message.Payload = append(append([]byte{}, message.Payload...), endOf(want)...)
		message.Payload = append(message.Payload, 9, 9, 9, 9, 9, 9, 9, 9)
		got, err := message.Message()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v: %+v became %+v (%v)", frame.Opcode, want, got, err)
		}
	}
}

// endOf is what a message leaves out at its end that a newer one would have to write.
func endOf(m Message) []byte {
	switch m := m.(type) {
	case *Reserve:
		if len(m.Weights) == 0 {
			return []byte{2, 0, 0, 0, 0, 0}
		}
	case *Subscribe:
		if len(m.Weights) == 0 {
			return []byte{2, 0, 0, 0, 0, 0}
		}
	case *Push:
		if m.Idempotency == (U128{}) {
			return make([]byte, 16)
		}
	case *Reschedule:
		if m.IfVersion == 0 {
			return make([]byte, 8)
		}
	case *Release:
		if m.Reason == "" {
			return []byte{0, 0}
		}
	case *Bury:
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
	got, err := Frame{Opcode: OpPushed, Payload: bytes}.Message()
	want := &Pushed{Results: []PushResult{{Job: 1}, {Job: 2}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAbsentFieldsOfAnOlderPeerAreZero(t *testing.T) {
	welcome := &Welcome{Version: 1, HeartbeatMs: 5}
	whole, err := Append(nil, 1, welcome)
	if err != nil {
		t.Fatal(err)
	}
	frame := read(t, whole)
	frame.Payload = frame.Payload[:len(frame.Payload)-8]
	if got, err := frame.Message(); err != nil || !reflect.DeepEqual(got, welcome) {
		t.Errorf("%+v, %v", got, err)
	}
	// A delivered job of 45 fixed bytes has no deadline.
	job := make([]byte, 45)
	job[0], job[36] = 42, 1
	payload := append([]byte{45, 0, 1, 0, 0, 0}, append(job, 't')...)
	got, err := Frame{Opcode: OpReserved, Payload: payload}.Message()
	want := &Reserved{Jobs: []Delivered{{Job: 42, Topic: "t"}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestMalformedPayloadsAreRefused(t *testing.T) {
	head := func(fixed byte, count byte) []byte { return []byte{fixed, 0, count, 0, 0, 0} }
	cases := map[string]Frame{
		"a list that is longer than its frame":    {Opcode: OpPushed, Payload: []byte{11, 0, 255, 255, 255, 255}},
		"items of no bytes, without end":          {Opcode: OpPushed, Payload: []byte{0, 0, 255, 255, 255, 255}},
		"a fixed part that is too short":          {Opcode: OpPushed, Payload: append(head(10, 1), make([]byte, 10)...)},
		"DELIVER without a job":                   {Opcode: OpDeliver, Payload: head(53, 0)},
		"half a number":                           {Opcode: OpPong, Payload: make([]byte, 7)},
		"half a late field":                       {Opcode: OpPong, Payload: make([]byte, 12)},
		"a text that is not UTF-8":                {Opcode: OpGoingAway, Payload: []byte{1, 0, 0xff, 0}},
		"a text that is longer than its frame":    {Opcode: OpGoingAway, Payload: []byte{9, 0, 'a'}},
		"data that is longer than its frame":      {Opcode: OpBackupData, Payload: []byte{255, 255, 255, 255}},
		"HELLO without the magic":                 {Opcode: OpHello, Payload: make([]byte, 40)},
		"FINISH without a lease":                  {Opcode: OpFinish, Payload: head(16, 0)},
		"a topic with a space":                    {Opcode: OpPeek, Payload: []byte{1, ' '}},
		"a topic without a name":                  {Opcode: OpPeek, Payload: []byte{0}},
		"a job by a key that is empty":            {Opcode: OpGet, Payload: []byte{1, 1, 't', 0, 0}},
		"a filter whose tags fall":                {Opcode: OpCount, Payload: []byte{10, 0, 2, 0, 1, 0, 1, 2, 0, 1, 0, 1}},
		"a filter with an unknown condition":      {Opcode: OpCount, Payload: []byte{4, 0, 99, 0, 0, 0}},
		"a filter whose value has another length": {Opcode: OpCount, Payload: []byte{6, 0, 2, 0, 2, 0, 1, 1}},
	}
	for what, frame := range cases {
		if got, err := frame.Message(); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

func TestLengthsOutOfBoundsAreRefused(t *testing.T) {
	for _, length := range [][]byte{{7, 0, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 2}, {255, 255, 255, 255}} {
		frame := append(append([]byte{}, length...), make([]byte, 64)...)
		if _, _, err := ReadFrame(bytes.NewReader(frame), ResponseBytesMax, nil); !errors.Is(err, ErrMalformed) {
			t.Errorf("length %v: %v", length, err)
		}
	}
}

func TestFramesArriveInPieces(t *testing.T) {
	data := &BackupData{Data: bytes.Repeat([]byte("0123456789abcdef"), 20_000)}
	frame, err := Append(nil, 7, data)
	if err != nil {
		t.Fatal(err)
	}
	two := append(append([]byte{}, frame...), frame...)
	from := iotest.HalfReader(bytes.NewReader(two))
	var scratch []byte
	for i := 0; i < 2; i++ {
		var got Frame
		got, scratch, err = ReadFrame(from, ResponseBytesMax, scratch)
		if err != nil {
			t.Fatal(err)
		}
		if message, err := got.Message(); err != nil || got.ID != 7 || !reflect.DeepEqual(message, data) {
			t.Errorf("frame %d: id %d, %v", i, got.ID, err)
		}
	}
	if _, _, err := ReadFrame(from, ResponseBytesMax, scratch); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
	if _, _, err := ReadFrame(bytes.NewReader(frame[:len(frame)-1]), ResponseBytesMax, nil); err != io.ErrUnexpectedEOF {
		t.Errorf("an end within a frame: %v", err)
	}
}

func TestUnknownOpcodesAreNoError(t *testing.T) {
	if got, err := (Frame{Opcode: 0xf9, Payload: []byte{1}}).Message(); got != nil || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWhatDoesNotFitIsNotEncoded(t *testing.T) {
	before := []byte("before")
	for _, m := range []Message{
		&ClusterAdd{Address: strings.Repeat("a", 256)},
		&GoingAway{Message: "\xff"},
		&Push{Topic: "t", Jobs: []NewJob{{Attributes: Attributes{Headers: []Header{{Name: strings.Repeat("n", 256)}}}}}},
		&Push{Topic: "t", Jobs: []NewJob{{Key: strings.Repeat("k", 1<<16)}}},
	} {
		got, err := Append(before, 1, m)
		if err == nil || string(got) != "before" {
			t.Errorf("%v: %q, %v", m.Opcode(), got, err)
		}
	}
}

func TestAttributesThereAndBack(t *testing.T) {
	number, long, text := uint32(5), uint64(1<<63), "fair"
	want := Attributes{
		Headers:           []Header{{"a", "1"}, {"a", ""}, {"ü", "é"}},
		Expires:           &Expires{Kind: DueAt, Ms: long},
		AttemptsMax:       &number,
		Backoff:           &Backoff{Kind: 3, Jitter: 100, WaitsMs: []uint32{1, 2, 3}},
		FairnessKey:       &text,
		DedupeRetentionMs: &long,
		CreatedAtMs:       &long,
		ScheduleReference: []byte{},
		PostponeMaxMs:     &long,
		Unknown:           []Attribute{{Tag: 900, Value: []byte{1, 2}}, {Tag: 0x8000 | 901, Value: []byte{}}},
	}
	var got Attributes
	if err := got.parse(want.append(nil)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range shown(f) {
		_, frame := unhex(f, line)
		f.Add(frame)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		frame, _, err := ReadFrame(bytes.NewReader(data), ResponseBytesMax, nil)
		if err != nil {
			return
		}
		message, err := frame.Message()
		if err != nil || message == nil {
			return
		}
		// What was understood means the same when it is written and read again.
		again, err := Append(nil, frame.ID, message)
		if err != nil {
			t.Fatalf("%v was decoded and cannot be encoded: %v", frame.Opcode, err)
		}
		second, err := read(t, again).Message()
		if err != nil || fmt.Sprint(second) == "" || !reflect.DeepEqual(second, message) {
			t.Fatalf("%v: %+v became %+v (%v)", frame.Opcode, message, second, err)
		}
	})
}
