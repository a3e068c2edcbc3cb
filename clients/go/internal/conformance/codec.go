package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"github.com/adjourn/adjourn-go/internal/serverside"
	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// shownFrame is a frame in its neutral form.
type shownFrame struct {
	RequestID uint32 `json:"request_id"`
	Opcode    any    `json:"opcode"`
	Fields    values `json:"fields"`
}

func encode(c *command) (any, error) {
	if c.Frame == nil {
		return nil, errors.New("no frame")
	}
	var wrong error
	m := takeMessage(fmt.Sprint(c.Frame.Opcode), fields{c.Frame.Fields, &wrong})
	switch {
	case m == nil:
		return nil, fmt.Errorf("no opcode %v", c.Frame.Opcode)
	case wrong != nil:
		return nil, wrong
	}
	add := serverside.Append
	if m.Opcode().IsRequest() {
		add = wire.Append
	}
	frame, err := add(nil, c.Frame.RequestID, m)
	return map[string]any{"bytes": bytesOf(frame)}, err
}

func decode(c *command) (any, error) {
	reader := bytes.NewReader(c.Bytes)
	frame, _, err := wire.ReadFrame(reader, limits.ResponseBytesMax, nil)
	if err != nil {
		return nil, err
	}
	if reader.Len() > 0 {
		return nil, fmt.Errorf("%d bytes behind the frame", reader.Len())
	}
	var m wire.Message
	if c.Side == "request" {
		if frame.ID == 0 || frame.Group != 0 {
			return nil, errors.New("a request under id 0, or of another group")
		}
		if m, err = serverside.Request(frame); err == nil && m == nil {
			err = fmt.Errorf("%v is no request", frame.Opcode)
		}
	} else {
		m, err = frame.Message()
	}
	if err != nil {
		return nil, err
	}
	shown := shownFrame{RequestID: frame.ID, Opcode: uint8(frame.Opcode), Fields: values{}}
	if m != nil {
		shown.Opcode, shown.Fields = frame.Opcode.String(), showMessage(m)
	}
	return map[string]any{"frame": shown}, nil
}

// values are those of an object in JSON: a number of 64 bits and more is a decimal string, bytes are base64.
type values map[string]any

// UnmarshalJSON keeps numbers as they are written.
func (v *values) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode((*map[string]any)(v))
}

// fields reads the values of an object. What is absent is 0 or empty. The first value that is wrong stays in err.
type fields struct {
	values map[string]any
	err    *error
}

func (f fields) fail(name string, why any) {
	if *f.err == nil {
		*f.err = fmt.Errorf("%s: %v", name, why)
	}
}

func (f fields) has(name string) bool { return f.values[name] != nil }

func (f fields) isNull(name string) bool {
	value, some := f.values[name]
	return some && value == nil
}

func (f fields) number(name string, bits int) uint64 {
	if !f.has(name) {
		return 0
	}
	n, err := strconv.ParseUint(fmt.Sprint(f.values[name]), 10, bits)
	if err != nil {
		f.fail(name, err)
	}
	return n
}

func (f fields) u8(name string) uint8   { return uint8(f.number(name, 8)) }
func (f fields) u16(name string) uint16 { return uint16(f.number(name, 16)) }
func (f fields) u32(name string) uint32 { return uint32(f.number(name, 32)) }
func (f fields) u64(name string) uint64 { return f.number(name, 64) }

func (f fields) i64(name string) int64 {
	if !f.has(name) {
		return 0
	}
	n, err := strconv.ParseInt(fmt.Sprint(f.values[name]), 10, 64)
	if err != nil {
		f.fail(name, err)
	}
	return n
}

func (f fields) u128(name string) (number wire.U128) {
	if !f.has(name) {
		return number
	}
	n, is := new(big.Int).SetString(fmt.Sprint(f.values[name]), 10)
	if !is || n.Sign() < 0 || n.BitLen() > 128 {
		f.fail(name, "no u128")
		return number
	}
	n.FillBytes(number[:])
	return reversed(number)
}

func reversed(number wire.U128) wire.U128 {
	for i, j := 0, len(number)-1; i < j; i, j = i+1, j-1 {
		number[i], number[j] = number[j], number[i]
	}
	return number
}

func (f fields) text(name string) string {
	text, is := f.values[name].(string)
	if !is && f.has(name) {
		f.fail(name, "no text")
	}
	return text
}

func (f fields) flag(name string) bool {
	flag, is := f.values[name].(bool)
	if !is && f.has(name) {
		f.fail(name, "neither true nor false")
	}
	return flag
}

func (f fields) bytes(name string) []byte {
	raw, err := base64.StdEncoding.DecodeString(f.text(name))
	if err != nil {
		f.fail(name, err)
	}
	return raw
}

func (f fields) id(name string) (id [16]byte) {
	if raw := f.bytes(name); copy(id[:], raw) != len(raw) || f.has(name) && len(raw) != len(id) {
		f.fail(name, "not 16 bytes")
	}
	return id
}

func (f fields) list(name string) []any {
	list, is := f.values[name].([]any)
	if !is && f.has(name) {
		f.fail(name, "no list")
	}
	return list
}

func (f fields) object(name string) fields {
	object, is := f.values[name].(map[string]any)
	if !is && f.has(name) {
		f.fail(name, "no object")
	}
	return fields{object, f.err}
}

// items reads a list whose items are read as the value of an object with one.
func items[T any](f fields, name string, read func(f fields, name string) T) []T {
	var items []T
	for _, item := range f.list(name) {
		items = append(items, read(fields{map[string]any{name: item}, f.err}, name))
	}
	return items
}

func (f fields) texts(name string) []string     { return items(f, name, fields.text) }
func (f fields) numbers(name string) []uint16   { return items(f, name, fields.u16) }
func (f fields) numbers32(name string) []uint32 { return items(f, name, fields.u32) }

func takeItems[T any](f fields, name string, take func(f fields, v *T)) []T {
	return items(f, name, func(f fields, name string) (v T) {
		take(f.object(name), &v)
		return v
	})
}

func takeJobRef(f fields, ref *wire.JobRef) {
	*ref = wire.JobRef{JobKind: f.u8("job_kind"), Job: f.u64("job"), Topic: f.text("topic"), Key: f.text("key")}
}

func takeHeaders(f fields, name string) []wire.Header {
	return items(f, name, func(f fields, name string) (h wire.Header) {
		pair := f.texts(name)
		if len(pair) != 2 {
			f.fail(name, "not a name and a value")
			return h
		}
		return wire.Header{Name: pair[0], Value: pair[1]}
	})
}

func takeUnknown(f fields) []wire.UnknownElement {
	return takeItems(f, "unknown", func(f fields, v *wire.UnknownElement) { v.Tag, v.Value = f.u16("tag"), f.bytes("value") })
}

// How values are shown.

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

func decimal128(number wire.U128) string {
	bytes := reversed(number)
	return new(big.Int).SetBytes(bytes[:]).String()
}

func bytesOf(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func pointer[T any](v T) *T { return &v }

// listOf is a list that is never null.
func listOf[T any](list []T) []T { return append([]T{}, list...) }

func showObject[T any](v *T, show func(v *T, to map[string]any)) map[string]any {
	to := map[string]any{}
	show(v, to)
	return to
}

func showItems[T any](list []T, show func(v *T, to map[string]any)) []any {
	shown := []any{}
	for i := range list {
		shown = append(shown, showObject(&list[i], show))
	}
	return shown
}

func showJobRef(ref *wire.JobRef, to map[string]any) {
	to["job_kind"] = ref.JobKind
	if ref.JobKind == wire.JobKindID {
		to["job"] = decimal(ref.Job)
	} else {
		to["topic"], to["key"] = ref.Topic, ref.Key
	}
}

func showHeaders(headers []wire.Header) []any {
	shown := []any{}
	for _, h := range headers {
		shown = append(shown, []string{h.Name, h.Value})
	}
	return shown
}

func showUnknown(unknown []wire.UnknownElement, to map[string]any) {
	if len(unknown) > 0 {
		to["unknown"] = showItems(unknown, func(v *wire.UnknownElement, to map[string]any) {
			to["tag"], to["value"] = v.Tag, bytesOf(v.Value)
		})
	}
}
