package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Tagged lists: tag u16, length u16, value, one after the other. Filters, settings and attributes are such lists.

const criticalTag = 0x8000

var errTagLength = errors.New("a value of the wrong length")

func appendTag(out []byte, tag uint16, value []byte) []byte {
	out = appendU16(out, tag)
	out = appendU16(out, uint16(len(value)))
	return append(out, value...)
}

func appendU8(out []byte, tag uint16, v *uint8) []byte {
	if v == nil {
		return out
	}
	return appendTag(out, tag, []byte{*v})
}

func appendU32(out []byte, tag uint16, v *uint32) []byte {
	if v == nil {
		return out
	}
	return appendTag(out, tag, binary.LittleEndian.AppendUint32(nil, *v))
}

func appendU64(out []byte, tag uint16, v *uint64) []byte {
	if v == nil {
		return out
	}
	return appendTag(out, tag, binary.LittleEndian.AppendUint64(nil, *v))
}

func appendText(out []byte, tag uint16, v *string) []byte {
	if v == nil {
		return out
	}
	return appendTag(out, tag, []byte(*v))
}

// eachTag calls take for each element. Tags rise by their low 15 bits; only headers repeat.
func eachTag(in []byte, take func(tag uint16, value []byte) error) error {
	last := -1
	for len(in) > 0 {
		if len(in) < 4 {
			return errors.New("a tagged list ends too early")
		}
		tag := binary.LittleEndian.Uint16(in)
		size := int(binary.LittleEndian.Uint16(in[2:]))
		in = in[4:]
		if size > len(in) {
			return errors.New("a tagged list ends too early")
		}
		order := int(tag &^ criticalTag)
		if order < last || order == last && tag != tagHeader {
			return fmt.Errorf("tag %d stands in the wrong place", tag)
		}
		last = order
		if err := take(tag, in[:size]); err != nil {
			return fmt.Errorf("tag %d: %w", tag, err)
		}
		in = in[size:]
	}
	return nil
}

func parseU8(value []byte, v **uint8) error {
	if len(value) != 1 {
		return errTagLength
	}
	n := value[0]
	*v = &n
	return nil
}

func parseU32(value []byte, v **uint32) error {
	if len(value) != 4 {
		return errTagLength
	}
	n := binary.LittleEndian.Uint32(value)
	*v = &n
	return nil
}

func parseU64(value []byte, v **uint64) error {
	if len(value) != 8 {
		return errTagLength
	}
	n := binary.LittleEndian.Uint64(value)
	*v = &n
	return nil
}

func parseText(value []byte, v **string) error {
	if !utf8.Valid(value) {
		return errors.New("a text that is not UTF-8")
	}
	text := string(value)
	*v = &text
	return nil
}

func malformedTag(what string, tag uint16) error {
	return fmt.Errorf("no %s has the tag %d", what, tag)
}
