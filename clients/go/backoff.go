package adjourn

import (
	"math/rand"
	"sync"
	"time"
)

const waitFirst = 50 * time.Millisecond

// waits are the pauses between attempts: between 0 and a bound that doubles from 50 ms to its limit.
type waits struct{ bound, limit time.Duration }

func newWaits(limit time.Duration) *waits { return &waits{limit: limit} }

func (w *waits) next() time.Duration {
	switch {
	case w.bound == 0:
		w.bound = waitFirst
	case w.bound < w.limit:
		w.bound *= 2
	}
	if w.bound > w.limit {
		w.bound = w.limit
	}
	return random(w.bound)
}

func (w *waits) reset() { w.bound = 0 }

var dice = struct {
	sync.Mutex
	*rand.Rand
}{Rand: rand.New(rand.NewSource(time.Now().UnixNano()))}

// random is between 0 and bound.
func random(bound time.Duration) time.Duration {
	if bound <= 0 {
		return 0
	}
	dice.Lock()
	defer dice.Unlock()
	return time.Duration(dice.Int63n(int64(bound) + 1))
}
