package adjourntest

import (
	"fmt"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// quota is why the topic takes no such job; 0 if it does. A job that takes the place of another is no more jobs.
func (f *Queue) quota(name string, t *topic, body []byte, replaces *job) adjourn.Code {
	policy := &t.settings
	if policy.BodyMax != nil && len(body) > int(*policy.BodyMax) {
		return adjourn.ErrTooLarge
	}
	jobs, bytes := uint64(1), uint64(len(body))
	for _, j := range f.matching(&wire.Filter{Topic: &name}) {
		if j != replaces {
			jobs++
			bytes += uint64(len(j.body))
		}
	}
	if policy.JobsMax != nil && jobs > *policy.JobsMax && replaces == nil || policy.BytesMax != nil && bytes > *policy.BytesMax {
		return adjourn.ErrQuota
	}
	return 0
}

// mayDeliver says whether a topic gives jobs now: it is not paused, and within its leases and its rate.
func (f *Queue) mayDeliver(name string) bool {
	t := f.topics[name]
	if t == nil || t.paused {
		return false
	}
	if most := t.settings.LeasesMax; most != nil {
		reserved := uint32(0)
		for _, j := range f.jobs {
			if j.topic == name && j.state == wire.StateReserved {
				reserved++
			}
		}
		if reserved >= *most {
			return false
		}
	}
	interval, atOnce := t.rate()
	return interval == 0 || !f.now.Before(t.rated.Add(-(atOnce-1)*interval))
}

// rate is the time between two deliveries, and how many may come at once; 0 without a rate.
func (t *topic) rate() (interval, atOnce time.Duration) {
	perSecond := t.settings.Rate
	if perSecond == nil || *perSecond == 0 {
		return 0, 0
	}
	atOnce = time.Duration(*perSecond / 10)
	if atOnce == 0 {
		atOnce = 1
	}
	return time.Second / time.Duration(*perSecond), atOnce
}

// countDelivery takes a delivery off the rate.
func (f *Queue) countDelivery(t *topic) {
	if interval, _ := t.rate(); interval > 0 {
		if t.rated.Before(f.now) {
			t.rated = f.now
		}
		t.rated = t.rated.Add(interval)
	}
}

// tooLate buries or drops a job whose first delivery is late, if its topic wants that.
func (f *Queue) tooLate(j *job) bool {
	late := f.topic(j.topic).settings.Late
	if late == nil || !j.reservedFirst.IsZero() || f.now.Sub(j.due) <= span(late.AfterMs) {
		return false
	}
	switch adjourn.LateAction(late.Action) {
	case adjourn.LateBury:
		f.bury(j, uint8(adjourn.TooLate))
	case adjourn.LateDrop:
		f.topic(j.topic).totals.Expired++
		delete(f.jobs, j.id)
	default:
		return false
	}
	return true
}

// bury sets a job aside, or makes it a dead letter: ready in the topic for those, and not found by its key.
func (f *Queue) bury(j *job, why uint8) {
	to := f.topic(j.topic).settings.DeadLetters
	if to == nil {
		j.state, j.buried = wire.StateBuried, why
		return
	}
	f.topic(j.topic).totals.Deleted++
	f.topic(*to).totals.Pushed++
	j.topic, j.keyed = *to, false
	j.state, j.attempts, j.due, j.order = wire.StateReady, 0, f.now, f.now
	j.reservedFirst = time.Time{}
}

// shares are the standings of topics that take turns by their weights, as the queue keeps them for a connection.
type shares struct{ standings []int }

func (c *conn) shares(topics []string, weights []uint16) *shares {
	if len(weights) == 0 {
		return nil
	}
	list := fmt.Sprint(topics, weights)
	if c.standings[list] == nil {
		c.standings[list] = &shares{make([]int, len(topics))}
	}
	return c.standings[list]
}

// turn is the topic that gives the next job, of those that have one; -1 if none has. Each gains its weight, and the
// one with the most pays the sum.
func (s *shares) turn(weights []uint16, ready func(i int) bool) int {
	best, sum := -1, 0
	for i, weight := range weights {
		if !ready(i) {
			continue
		}
		s.standings[i] += int(weight)
		sum += int(weight)
		if best < 0 || s.standings[i] > s.standings[best] {
			best = i
		}
	}
	if best >= 0 {
		s.standings[best] -= sum
	}
	return best
}
