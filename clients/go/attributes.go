package adjourn

import (
	"math"
	"strings"
	"time"

	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// Header is one header of a job. Names may repeat.
type Header struct{ Name, Value string }

// Attributes are what a job carries beside its body. The zero value of a field means that it is not set.
type Attributes struct {
	Headers []Header
	// ExpiresAfter or ExpiresAt is when the job is dropped, unless it is reserved then.
	ExpiresAfter time.Duration
	ExpiresAt    time.Time
	// AttemptsMax failed attempts bury the job.
	AttemptsMax uint32
	// Backoff is how long the job waits after a failed attempt.
	Backoff *Backoff
	// Retention is how long the job is remembered after it was finished, under its key.
	Retention time.Duration
	// PostponeMax bounds how long a job can be postponed.
	PostponeMax time.Duration
	// Buried is why a push buries the job at once; nil if it does not. The text may be empty. A job that is shown does not have it.
	Buried *string
	// CreatedAt is the producer's own time.
	CreatedAt time.Time
	// Group is the group in its topic that the job belongs to, such as a tenant: 1 to [limits.GroupBytesMax] bytes of UTF-8
	// without control characters.
	Group             string
	ScheduleReference []byte
	// Unknown are attributes of a newer version, as they came.
	Unknown []UnknownAttribute
}

// UnknownAttribute is one that this version does not know.
type UnknownAttribute struct {
	Tag   uint16
	Value []byte
}

// Header returns the value of the first header with this name, whatever its case; "" without one.
func (a *Attributes) Header(name string) string {
	for _, h := range a.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value
		}
	}
	return ""
}

func (a *Attributes) setHeader(name, value string) {
	for i, h := range a.Headers {
		if strings.EqualFold(h.Name, name) {
			a.Headers[i].Value = value
			return
		}
	}
	a.Headers = append(a.Headers, Header{name, value})
}

// Backoff is how long a job waits after a failed attempt. Make one with FixedBackoff and its kin.
type Backoff struct {
	Kind BackoffKind
	// JitterPercent shortens each wait by a random part of at most this much.
	JitterPercent uint8
	// Waits: the wait; step and maximum; first and maximum; or a list whose last wait repeats.
	Waits []time.Duration
}

// FixedBackoff waits the same each time.
func FixedBackoff(wait time.Duration) *Backoff {
	return &Backoff{Kind: BackoffFixed, Waits: []time.Duration{wait}}
}

// LinearBackoff waits a step longer each time.
func LinearBackoff(step, max time.Duration) *Backoff {
	return &Backoff{Kind: BackoffLinear, Waits: []time.Duration{step, max}}
}

// ExponentialBackoff waits twice as long each time.
func ExponentialBackoff(first, max time.Duration) *Backoff {
	return &Backoff{Kind: BackoffExponential, Waits: []time.Duration{first, max}}
}

// ListBackoff waits as listed.
func ListBackoff(waits ...time.Duration) *Backoff { return &Backoff{Kind: BackoffList, Waits: waits} }

// WithJitter returns the backoff with a jitter in percent.
func (b Backoff) WithJitter(percent uint8) *Backoff {
	b.JitterPercent = percent
	return &b
}

func (b *Backoff) toWire() (*wire.Backoff, error) {
	if b == nil {
		return nil, nil
	}
	w := &wire.Backoff{Kind: uint8(b.Kind), Jitter: b.JitterPercent}
	for _, wait := range b.Waits {
		ms := durationMs(wait)
		if wait < 0 || ms > math.MaxUint32 {
			return nil, usage("a backoff of %v", wait)
		}
		w.WaitsMs = append(w.WaitsMs, uint32(ms))
	}
	waits := len(w.WaitsMs)
	fits := b.Kind == BackoffFixed && waits == 1 || (b.Kind == BackoffLinear || b.Kind == BackoffExponential) && waits == 2 ||
		b.Kind == BackoffList && waits >= 1 && waits <= limits.BackoffListMax
	if !fits || b.JitterPercent > 100 {
		return nil, usage("a backoff of kind %d with %d waits and %d percent of jitter", b.Kind, waits, b.JitterPercent)
	}
	return w, nil
}

func backoffOf(w *wire.Backoff) *Backoff {
	if w == nil {
		return nil
	}
	b := &Backoff{Kind: BackoffKind(w.Kind), JitterPercent: w.Jitter}
	for _, ms := range w.WaitsMs {
		b.Waits = append(b.Waits, millis(uint64(ms)))
	}
	return b
}

func (a *Attributes) toWire() (w wire.Attributes, err error) {
	for _, h := range a.Headers {
		w.Headers = append(w.Headers, wire.Header(h))
	}
	switch {
	case a.ExpiresAfter < 0 || a.Retention < 0 || a.PostponeMax < 0:
		return w, usage("a negative duration")
	case a.ExpiresAfter > 0 && !a.ExpiresAt.IsZero():
		return w, usage("an expiry both after a time and at a time")
	case a.ExpiresAfter > 0:
		w.Expires = &wire.Expiry{Kind: wire.DueKindAfter, Ms: durationMs(a.ExpiresAfter)}
	case !a.ExpiresAt.IsZero():
		at, err := wallMs(a.ExpiresAt, "ExpiresAt")
		if err != nil {
			return w, err
		}
		w.Expires = &wire.Expiry{Kind: wire.DueKindAt, Ms: at}
	}
	if w.Backoff, err = a.Backoff.toWire(); err != nil {
		return w, err
	}
	if a.AttemptsMax > 0 {
		w.AttemptsMax = &a.AttemptsMax
	}
	if a.Group != "" {
		w.Group = &a.Group
	}
	w.DedupeRetentionMs = optionalMs(a.Retention)
	w.PostponeMaxMs = optionalMs(a.PostponeMax)
	w.Buried = a.Buried
	if !a.CreatedAt.IsZero() {
		at, err := wallMs(a.CreatedAt, "CreatedAt")
		if err != nil {
			return w, err
		}
		w.CreatedAtMs = &at
	}
	w.ScheduleReference = a.ScheduleReference
	for _, u := range a.Unknown {
		w.Unknown = append(w.Unknown, wire.UnknownElement(u))
	}
	return w, nil
}

func optionalMs(d time.Duration) *uint64 {
	if d == 0 {
		return nil
	}
	ms := durationMs(d)
	return &ms
}

func attributesOf(w *wire.Attributes) Attributes {
	var a Attributes
	for _, h := range w.Headers {
		a.Headers = append(a.Headers, Header(h))
	}
	if e := w.Expires; e != nil && e.Kind == wire.DueKindAfter {
		a.ExpiresAfter = millis(e.Ms)
	} else if e != nil {
		a.ExpiresAt = wallTime(e.Ms)
	}
	if w.AttemptsMax != nil {
		a.AttemptsMax = *w.AttemptsMax
	}
	a.Backoff = backoffOf(w.Backoff)
	if w.Group != nil {
		a.Group = *w.Group
	}
	if w.DedupeRetentionMs != nil {
		a.Retention = millis(*w.DedupeRetentionMs)
	}
	if w.PostponeMaxMs != nil {
		a.PostponeMax = millis(*w.PostponeMaxMs)
	}
	a.Buried = w.Buried
	if w.CreatedAtMs != nil {
		a.CreatedAt = wallTime(*w.CreatedAtMs)
	}
	a.ScheduleReference = w.ScheduleReference
	for _, u := range w.Unknown {
		a.Unknown = append(a.Unknown, UnknownAttribute(u))
	}
	return a
}
