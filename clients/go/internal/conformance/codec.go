package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"github.com/adjourn/adjourn-go/internal/wire"
)

// shownFrame is a frame in its neutral form.
type shownFrame struct {
	RequestID uint32          `json:"request_id"`
	Opcode    json.RawMessage `json:"opcode"`
	Fields    json.RawMessage `json:"fields"`
}

func encode(c *command) (any, error) {
	if c.Frame == nil {
		return nil, errors.New("no frame")
	}
	var name string
	if err := json.Unmarshal(c.Frame.Opcode, &name); err != nil {
		return nil, err
	}
	for _, op := range wire.Opcodes() {
		if op.String() != name {
			continue
		}
		m := wire.New(op)
		if len(c.Frame.Fields) > 0 {
			if err := fromText(c.Frame.Fields, m); err != nil {
				return nil, err
			}
		}
		frame, err := wire.Append(nil, c.Frame.RequestID, m)
		return map[string]any{"bytes": bytesOf(frame)}, err
	}
	return nil, fmt.Errorf("no opcode %q", name)
}

func decode(c *command) (any, error) {
	reader := bytes.NewReader(c.Bytes)
	frame, _, err := wire.ReadFrame(reader, wire.ResponseBytesMax, nil)
	if err != nil {
		return nil, err
	}
	if reader.Len() > 0 {
		return nil, fmt.Errorf("%d bytes behind the frame", reader.Len())
	}
	isRequest := c.Side == "request"
	if isRequest && (frame.ID == 0 || frame.Group != 0) {
		return nil, errors.New("a request under id 0, or of another group")
	}
	m, err := frame.Message()
	if err != nil {
		return nil, err
	}
	if isRequest && (m == nil || !frame.Opcode.IsRequest()) {
		return nil, fmt.Errorf("%v is no request", frame.Opcode)
	}
	shown := map[string]any{"request_id": frame.ID, "opcode": uint8(frame.Opcode), "fields": map[string]any{}}
	if m != nil {
		shown["opcode"], shown["fields"] = frame.Opcode.String(), shownValue(m)
	}
	return map[string]any{"frame": shown}, nil
}

// The neutral form follows the structs of the codec: a field's name in snake case, u64 as decimal strings, bytes as
// base64. In attributes, filters and settings what is not there is left out.

var (
	typeHeader = reflect.TypeOf(wire.Header{})
	typeU128   = reflect.TypeOf(wire.U128{})
	sparse     = map[reflect.Type]bool{
		reflect.TypeOf(wire.Attributes{}): true, reflect.TypeOf(wire.Filter{}): true, reflect.TypeOf(wire.Settings{}): true,
	}
	settingNames = map[string]uint16{
		"ttr_ms": wire.SetTtr, "priority": wire.SetPriority, "attempts_max": wire.SetAttempts, "backoff": wire.SetBackoff,
		"expires_after_ms": wire.SetExpiresAfter, "jobs_max": wire.SetJobsMax, "bytes_max": wire.SetBytesMax, "body_max": wire.SetBodyMax,
		"leases_max": wire.SetLeasesMax, "rate": wire.SetRate, "late": wire.SetLate, "dead_letters": wire.SetDeadLetters,
		"remember_ms": wire.SetRemember,
	}
)

func snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

func shownValue(v any) any { return show(reflect.ValueOf(v)) }

func show(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		return show(v.Elem())
	case reflect.Uint64:
		return decimal(v.Uint())
	case reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Array:
		raw := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(raw), v)
		if v.Type() == typeU128 {
			for i, j := 0, len(raw)-1; i < j; i, j = i+1, j-1 {
				raw[i], raw[j] = raw[j], raw[i]
			}
			return new(big.Int).SetBytes(raw).String()
		}
		return bytesOf(raw)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return bytesOf(v.Bytes())
		}
		list := []any{}
		for i := 0; i < v.Len(); i++ {
			list = append(list, show(v.Index(i)))
		}
		return list
	case reflect.Struct:
		if v.Type() == typeHeader {
			return []string{v.Field(0).String(), v.Field(1).String()}
		}
		fields := map[string]any{}
		showFields(v, fields)
		return fields
	}
	return v.Interface()
}

func showFields(v reflect.Value, into map[string]any) {
	for i := 0; i < v.NumField(); i++ {
		field, value := v.Type().Field(i), v.Field(i)
		switch {
		case field.Anonymous:
			showFields(value, into)
		case field.Name == "Unset":
			for name, tag := range settingNames {
				for _, unset := range value.Interface().([]uint16) {
					if unset == tag {
						into[name] = nil
					}
				}
			}
		case sparse[v.Type()] && (value.Kind() == reflect.Pointer || value.Kind() == reflect.Slice) && value.IsNil():
		default:
			into[snake(field.Name)] = show(value)
		}
	}
}

// fromText reads the neutral form into a struct of the codec.
func fromText(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	return take(value, reflect.ValueOf(into).Elem())
}

func take(from any, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return take(from, v.Elem())
	case reflect.String:
		text, is := from.(string)
		if !is {
			return fmt.Errorf("%v is no text", from)
		}
		v.SetString(text)
		return nil
	case reflect.Int64:
		n, err := strconv.ParseInt(fmt.Sprint(from), 10, 64)
		v.SetInt(n)
		return err
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n, err := strconv.ParseUint(fmt.Sprint(from), 10, v.Type().Bits())
		v.SetUint(n)
		return err
	case reflect.Array:
		return takeArray(from, v)
	case reflect.Slice:
		return takeSlice(from, v)
	case reflect.Struct:
		return takeStruct(from, v)
	}
	return fmt.Errorf("a field of type %v", v.Type())
}

func takeArray(from any, v reflect.Value) error {
	text := fmt.Sprint(from)
	if v.Type() != typeU128 {
		raw, err := base64.StdEncoding.DecodeString(text)
		if err == nil && len(raw) != v.Len() {
			err = fmt.Errorf("%d bytes", len(raw))
		}
		reflect.Copy(v, reflect.ValueOf(raw))
		return err
	}
	n, is := new(big.Int).SetString(text, 10)
	if !is || n.Sign() < 0 || n.BitLen() > 128 {
		return fmt.Errorf("%q is no u128", text)
	}
	var raw wire.U128
	n.FillBytes(raw[:])
	for i := range raw {
		v.Index(len(raw) - 1 - i).SetUint(uint64(raw[i]))
	}
	return nil
}

func takeSlice(from any, v reflect.Value) error {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		raw, err := base64.StdEncoding.DecodeString(fmt.Sprint(from))
		v.SetBytes(raw)
		return err
	}
	list, is := from.([]any)
	if !is {
		return fmt.Errorf("%v is no list", from)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	for i, one := range list {
		if err := take(one, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func takeStruct(from any, v reflect.Value) error {
	if pair, is := from.([]any); is && v.Type() == typeHeader && len(pair) == 2 {
		if err := take(pair[0], v.Field(0)); err != nil {
			return err
		}
		return take(pair[1], v.Field(1))
	}
	fields, is := from.(map[string]any)
	if !is {
		return fmt.Errorf("%v is no object", from)
	}
	for i := 0; i < v.NumField(); i++ {
		field := v.Type().Field(i)
		if field.Anonymous {
			if err := takeStruct(from, v.Field(i)); err != nil {
				return err
			}
			continue
		}
		name := snake(field.Name)
		value, some := fields[name]
		if !some {
			continue
		}
		if value == nil {
			if tag, is := settingNames[name]; is && sparse[v.Type()] {
				unset := v.FieldByName("Unset")
				unset.Set(reflect.Append(unset, reflect.ValueOf(tag)))
			}
			continue
		}
		if err := take(value, v.Field(i)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
