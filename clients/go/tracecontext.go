package adjourn

import (
	"context"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

const traceparent = "traceparent"

type traceKey struct{}

// WithTrace is for a [PushMiddleware] that traces: each job of the push gets these headers, after all middleware and after
// its content type, whatever the order of the options. Headers that the job has already stay, and a job with a traceparent
// gets none. They are added as far as a job's headers have room, traceparent first: without it, none is.
func WithTrace(ctx context.Context, headers []Header) context.Context {
	return context.WithValue(ctx, traceKey{}, headers)
}

func addTrace(a *wire.Attributes, trace []Header) {
	if len(trace) == 0 || hasHeader(a, traceparent) {
		return
	}
	bytes := 0
	for _, h := range a.Headers {
		bytes += len(h.Name) + len(h.Value)
	}
	for _, parent := range []bool{true, false} {
		for _, h := range trace {
			if strings.EqualFold(h.Name, traceparent) != parent || hasHeader(a, h.Name) {
				continue
			}
			more := len(h.Name) + len(h.Value)
			fits := bytes+more <= limits.HeadersBytesMax && a.Size()+5+more <= limits.AttributesBytesMax
			if fits && isHeader(h) {
				a.Headers = append(a.Headers, wire.Header(h))
				bytes += more
			} else if parent {
				return
			}
		}
	}
}

func hasHeader(a *wire.Attributes, name string) bool {
	for _, h := range a.Headers {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}

// isHeader says whether the server takes it, and it says something.
func isHeader(h Header) bool {
	return h.Name != "" && len(h.Name) <= math.MaxUint8 && h.Value != "" && utf8.ValidString(h.Name) && utf8.ValidString(h.Value)
}
