package adjourn

import (
	"math"
	"time"
)

// millis is a duration of the protocol; one that is too long for Go becomes the longest.
func millis(ms uint64) time.Duration {
	if ms > math.MaxInt64/uint64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}

// micros is the same of microseconds.
func micros(us uint64) time.Duration {
	if us > math.MaxInt64/uint64(time.Microsecond) {
		return math.MaxInt64
	}
	return time.Duration(us) * time.Microsecond
}

// wallTime is a time of the protocol; 0 is the zero time.
func wallTime(ms uint64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	if ms > math.MaxInt64 {
		ms = math.MaxInt64
	}
	return time.UnixMilli(int64(ms))
}

// durationMs rounds a duration up to whole milliseconds: never early.
func durationMs(d time.Duration) uint64 {
	if d <= 0 {
		return 0
	}
	return uint64((d-1)/time.Millisecond) + 1
}

// wallMs rounds a time up to whole milliseconds: never early.
func wallMs(t time.Time, what string) (uint64, error) {
	if t.IsZero() {
		return 0, usage("%s is the zero time", what)
	}
	ms := t.UnixMilli()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		ms++
	}
	if ms < 0 {
		return 0, nil
	}
	return uint64(ms), nil
}
