// Package serverside is the server's side of the codec: from bytes to requests, and from responses to bytes. It is for
// tests and for the conformance harness; clients do without it.
//
// It refuses what a server refuses: values out of their range, unknown choices, names that cannot be.
package serverside

import (
	"fmt"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// Append encodes a response under a request id and appends the whole frame to dst.
func Append(dst []byte, id uint32, m wire.Message) ([]byte, error) {
	return wire.AppendWith(appendResponse, dst, id, m)
}

// Request decodes the payload of a request. It returns nil without an error if the opcode is not known to this version.
func Request(frame wire.Frame) (wire.Message, error) {
	r := wire.NewReader(frame.Payload)
	m := readRequest(frame.Opcode, r)
	check(r, m)
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%v cannot be decoded: %w", frame.Opcode, err)
	}
	return m, nil
}

// check refuses what is out of a range that depends on another value.
func check(r *wire.Reader, m wire.Message) {
	switch m := m.(type) {
	case *wire.Push:
		for i := range m.Jobs {
			if m.Jobs[i].DueKind == wire.DueKindAfter {
				atMost(r, "due_ms", m.Jobs[i].DueMs, limits.DelayMsMax)
			}
			ttr(r, m.Jobs[i].TtrMs)
			backoff(r, m.Jobs[i].Attributes.Backoff)
		}
	case *wire.TopicSet:
		backoff(r, m.Settings.Backoff)
	case *wire.Reschedule:
		if m.DueKind == wire.DueKindAfter {
			atMost(r, "due_ms", m.DueMs, limits.DelayMsMax)
		}
	case *wire.Edit:
		inRange(r, "edited", uint64(m.Edited), 1, wire.EditedGroup<<1-1)
		if m.DueKind == wire.DueKindAfter {
			atMost(r, "due_ms", m.DueMs, limits.DelayMsMax)
		}
		ttr(r, m.TtrMs)
		backoff(r, m.Attributes.Backoff)
	case *wire.Touch:
		ttr(r, m.TtrMs)
	case *wire.Release:
		if m.DelayMs != wire.ReleaseByBackoff && m.DelayMs != wire.ReleaseNotStarted {
			atMost(r, "delay_ms", m.DelayMs&^wire.ReleaseParked, limits.DelayMsMax)
		}
	}
}

// ttr is 0 for the default.
func ttr(r *wire.Reader, ms uint32) {
	if ms != 0 {
		inRange(r, "ttr_ms", uint64(ms), limits.TtrMsMin, limits.TtrMsMax)
	}
}

// backoff has the waits that its kind needs.
func backoff(r *wire.Reader, b *wire.Backoff) {
	if b == nil {
		return
	}
	min, max := uint64(1), uint64(1)
	switch b.Kind {
	case wire.BackoffKindLinear, wire.BackoffKindExponential:
		min, max = 2, 2
	case wire.BackoffKindList:
		max = limits.BackoffListMax
	}
	inRange(r, "the number of waits of a backoff", uint64(len(b.WaitsMs)), min, max)
	atMost(r, "the jitter of a backoff", uint64(b.Jitter), 100)
}

func atMost(r *wire.Reader, name string, value, max uint64) { inRange(r, name, value, 0, max) }

func inRange(r *wire.Reader, name string, value, min, max uint64) {
	if value < min || value > max {
		r.Fail("%s is %d, from %d to %d are allowed", name, value, min, max)
	}
}

func topicName(r *wire.Reader, name string) {
	if err := wire.CheckTopic(name); err != nil {
		r.Fail("%v", err)
	}
}

func keyOrNone(r *wire.Reader, key string) {
	if key != "" {
		keyName(r, key)
	}
}

func keyName(r *wire.Reader, key string) {
	if err := wire.CheckKey(key); err != nil {
		r.Fail("%v", err)
	}
}

func readJobRef(r *wire.Reader) wire.JobRef {
	ref := wire.JobRef{JobKind: r.U8()}
	switch ref.JobKind {
	case wire.JobKindID:
		ref.Job = r.U64()
	case wire.JobKindKey:
		ref.Topic, ref.Key = r.Text8(), r.Text16()
		topicName(r, ref.Topic)
		keyName(r, ref.Key)
	default:
		r.Fail("%d is no job_kind", ref.JobKind)
	}
	return ref
}
