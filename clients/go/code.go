package adjourn

import "fmt"

// Code is an error code of the server. A Code is an error itself, so that errors.Is(err, adjourn.ErrBusy) tells
// whether an error carries it.
type Code uint16

type codeEntry struct {
	name, meaning, remedy string
	retryable             bool
}

func (c Code) entry() codeEntry {
	if int(c) < len(codes) {
		return codes[c]
	}
	return codeEntry{}
}

// Name is the name of the code in protocol.md, or UNKNOWN.
func (c Code) Name() string {
	if name := c.entry().name; name != "" {
		return name
	}
	return "UNKNOWN"
}

// Error is the name, with the number of a code that this version does not know.
func (c Code) Error() string {
	if name := c.entry().name; name != "" {
		return name
	}
	return fmt.Sprintf("UNKNOWN (code %d)", uint16(c))
}

// Meaning says what is wrong; "" of a code that this version does not know.
func (c Code) Meaning() string { return c.entry().meaning }

// Remedy says what to do; "" of a code that this version does not know.
func (c Code) Remedy() string { return c.entry().remedy }

// Retryable says whether the same request may succeed later, as it is.
func (c Code) Retryable() bool { return c.entry().retryable }
