package wire

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adjourn/adjourn-go/limits"
)

// CheckTopic says what is wrong with the name of a topic.
func CheckTopic(name string) error {
	if name == "" || len(name) > limits.TopicBytesMax {
		return fmt.Errorf("a topic of %d bytes: use 1 to %d", len(name), limits.TopicBytesMax)
	}
	if name[0] == '-' {
		return fmt.Errorf("the topic %q starts with '-'", name)
	}
	for i := 0; i < len(name); i++ {
		if !topicByte(name[i]) {
			return fmt.Errorf("the topic %q: use A-Z a-z 0-9 . _ : / - + ; $ ( )", name)
		}
	}
	return nil
}

func topicByte(b byte) bool {
	switch {
	case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9':
		return true
	}
	return strings.IndexByte("._:/-+;$()", b) >= 0
}

// CheckKey says what is wrong with a key.
func CheckKey(key string) error {
	if key == "" || len(key) > limits.KeyBytesMax {
		return fmt.Errorf("a key of %d bytes: use 1 to %d", len(key), limits.KeyBytesMax)
	}
	if !utf8.ValidString(key) {
		return fmt.Errorf("the key %q is not UTF-8", key)
	}
	for _, r := range key {
		if unicode.IsControl(r) {
			return fmt.Errorf("the key %q has a control character", key)
		}
	}
	return nil
}
