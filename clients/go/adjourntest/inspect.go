package adjourntest

import (
	"encoding/binary"
	"sort"
	"strings"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/internal/wire"
)

// onJobs carries out what acts on jobs without a lease.
func (f *Queue) onJobs(m wire.Message) (wire.Message, adjourn.Code) {
	switch m := m.(type) {
	case *wire.Get:
		j, code := f.find(&m.JobRef, true)
		if code != 0 {
			return nil, code
		}
		return f.show(j, true), 0
	case *wire.Delete:
		j, code := f.find(&m.JobRef, true)
		if code != 0 || j.state == wire.StateFinished && !j.isRemembered() {
			return nil, adjourn.ErrNotFound
		}
		changed := j.changed()
		f.drop(j)
		return changed, 0
	case *wire.Reschedule:
		due := f.now.Add(span(m.DueMs))
		if m.DueKind == wire.DueAt {
			due = f.wall(m.DueMs)
		}
		return f.change(&m.JobRef, func(j *job) adjourn.Code { return f.reschedule(j, due) })
	case *wire.RunNow:
		return f.change(&m.JobRef, f.runNow)
	case *wire.Kick:
		return f.change(&m.JobRef, f.kick)
	case *wire.KickMany:
		if f.topics[m.Topic] == nil {
			return nil, adjourn.ErrNotFound
		}
		kicked := &wire.Kicked{}
		for _, j := range f.matching(&wire.Filter{Topic: &m.Topic}) {
			if kicked.Jobs < m.JobsMax && f.kick(j) == 0 {
				kicked.Jobs++
			}
		}
		return kicked, 0
	case *wire.Peek:
		var j *job
		for _, other := range f.matching(&wire.Filter{Topic: &m.Topic}) {
			switch {
			case other.state > wire.StateReady:
			case j == nil, other.state > j.state, other.state == wire.StateReady && other.before(j):
				j = other
			}
		}
		if j == nil {
			return nil, adjourn.ErrNotFound
		}
		return f.show(j, true), 0
	case *wire.List:
		return f.list(m), 0
	case *wire.Count:
		return &wire.Counted{Jobs: uint64(len(f.matching(&m.Filter)))}, 0
	case *wire.Bulk:
		return f.bulk(m), 0
	}
	return nil, adjourn.ErrUnsupported
}

func (j *job) isRemembered() bool { return j.attributes.DedupeRetentionMs != nil }

func (j *job) changed() *wire.Changed {
	return &wire.Changed{Job: j.id, DueMs: ms(j.due), State: j.state}
}

func (f *Queue) find(ref *wire.JobRef, finished bool) (*job, adjourn.Code) {
	j := f.jobs[ref.Job]
	if ref.JobKind == wire.ByKey {
		j = f.byKey(ref.Topic, ref.Key)
	}
	if j == nil || j.state == wire.StateFinished && !finished && !j.isRemembered() {
		return nil, adjourn.ErrNotFound
	}
	return j, 0
}

func (f *Queue) change(ref *wire.JobRef, do func(*job) adjourn.Code) (wire.Message, adjourn.Code) {
	j, code := f.find(ref, false)
	if code == 0 {
		code = do(j)
	}
	if code != 0 {
		return nil, code
	}
	return j.changed(), 0
}

func (f *Queue) reschedule(j *job, to time.Time) adjourn.Code {
	switch {
	case j.state == wire.StateReserved:
		return adjourn.ErrReserved
	case j.state > wire.StateReserved:
		return adjourn.ErrWrongState
	case !j.expires.IsZero() && j.expires.Before(to):
		return adjourn.ErrExpiresBeforeDue
	}
	j.state, j.due = wire.StateDelayed, to
	f.settleClock()
	return 0
}

func (f *Queue) runNow(j *job) adjourn.Code {
	switch j.state {
	case wire.StateReserved:
		return adjourn.ErrReserved
	case wire.StateDelayed:
		j.state, j.due, j.order = wire.StateReady, f.now, f.now
	case wire.StateReady:
	default:
		return adjourn.ErrWrongState
	}
	return 0
}

func (f *Queue) kick(j *job) adjourn.Code {
	if j.state != wire.StateBuried {
		return adjourn.ErrWrongState
	}
	j.state, j.buried, j.attempts, j.due, j.order = wire.StateReady, 0, 0, f.now, f.now
	return 0
}

func (f *Queue) show(j *job, body bool) *wire.Job {
	shown := &wire.Job{
		Job: j.id, DueMs: ms(j.due), State: j.state, Buried: j.buried, Priority: j.priority, Attempts: j.attempts,
		TtrMs: uint32(j.ttr.Milliseconds()), Topic: j.topic, Key: j.key, Attributes: j.attributes,
		PushedMs: ms(j.pushed), ReservedFirstMs: ms(j.reservedFirst), ReservedLastMs: ms(j.reservedLast), Reason: j.reason, FinishedMs: ms(j.finished),
	}
	if j.state == wire.StateReserved {
		shown.TtrLeftMs = uint32(j.deadline.Sub(f.now).Milliseconds())
		shown.HeldBy = j.session.id
	}
	if body {
		shown.Body = j.body
	}
	return shown
}

// matching are the jobs that meet a filter, by due time.
func (f *Queue) matching(filter *wire.Filter) []*job {
	var jobs []*job
	for _, j := range f.sorted() {
		if j.matches(filter) {
			jobs = append(jobs, j)
		}
	}
	sort.SliceStable(jobs, func(a, b int) bool { return jobs[a].due.Before(jobs[b].due) })
	return jobs
}

func (j *job) matches(f *wire.Filter) bool {
	states := uint8(1<<wire.StateFinished - 1)
	if f.States != nil {
		states = *f.States
	}
	switch {
	case states&(1<<j.state) == 0, j.state == wire.StateFinished && !j.isRemembered():
	case f.Topic != nil && *f.Topic != j.topic:
	case f.DueFromMs != nil && ms(j.due) < *f.DueFromMs, f.DueBeforeMs != nil && ms(j.due) >= *f.DueBeforeMs:
	case len(f.KeyPrefix) > 0 && !strings.HasPrefix(j.key, string(f.KeyPrefix)):
	case f.AttemptsMin != nil && j.attempts < *f.AttemptsMin, f.AttemptsMax != nil && j.attempts > *f.AttemptsMax:
	case f.Buried != nil && j.buried != *f.Buried, f.Reason != nil && !strings.Contains(j.reason, *f.Reason):
	default:
		return true
	}
	return false
}

// list has everything on one page.
func (f *Queue) list(m *wire.List) wire.Message {
	jobs := f.matching(&m.Filter)
	if m.Order == 1 {
		sort.Slice(jobs, func(a, b int) bool { return jobs[a].id < jobs[b].id })
	}
	if m.Order == 2 {
		sort.SliceStable(jobs, func(a, b int) bool { return jobs[a].key < jobs[b].key })
	}
	page := &wire.Jobs{}
	for _, j := range jobs {
		if m.Order == 2 && j.key == "" {
			continue
		}
		page.Jobs = append(page.Jobs, wire.ListedJob{Job: *f.show(j, m.Marks&wire.MarkBodies != 0), BodyBytes: uint32(len(j.body))})
	}
	return page
}

// bulk goes through the jobs by id; the cursor is the last one that it looked at.
func (f *Queue) bulk(m *wire.Bulk) wire.Message {
	done := &wire.Bulked{}
	var last uint64
	if len(m.Cursor) == 8 {
		last = binary.BigEndian.Uint64(m.Cursor)
	}
	for _, j := range f.sorted() {
		if j.id <= last || !j.matches(&m.Filter) {
			continue
		}
		if done.Jobs == m.JobsMax {
			done.Cursor = binary.BigEndian.AppendUint64(nil, last)
			break
		}
		last = j.id
		code := adjourn.Code(0)
		switch m.Change {
		case wire.BulkDelete:
			f.drop(j)
		case wire.BulkKick:
			code = f.kick(j)
		case wire.BulkRunNow:
			code = f.runNow(j)
		case wire.BulkReschedule:
			code = f.reschedule(j, f.wall(m.DueMs))
		case wire.BulkMove:
			if j.key != "" && f.byKey(m.To, j.key) != nil {
				done.InTheWay++
				continue
			}
			code = f.move(j, m.To)
		}
		if code == 0 {
			done.Jobs++
		}
	}
	return done
}

func (f *Queue) move(j *job, to string) adjourn.Code {
	if j.state == wire.StateReserved {
		return adjourn.ErrReserved
	}
	f.topic(j.topic).totals.Deleted++
	f.topic(to).totals.Pushed++
	j.topic, j.keyed = to, j.key != ""
	return 0
}

func (f *Queue) onTopic(m wire.Message) (wire.Message, adjourn.Code) {
	switch m := m.(type) {
	case *wire.TopicSet:
		f.topic(m.Topic).settings.Change(&m.Settings)
		return &wire.Done{}, 0
	case *wire.Topics:
		return &wire.TopicCounts{Topics: f.counts()}, 0
	case *wire.Stats:
		stats := &wire.QueueStats{
			Now: f.nowMs(), Connections: uint32(len(f.conns)), Sessions: uint32(len(f.sessions)), Term: 1, Topics: f.counts(),
		}
		for _, w := range f.waiters {
			if w.jobs > 0 {
				stats.Waiting++
			}
		}
		for _, t := range stats.Topics {
			stats.Totals.Add(&t.Totals)
		}
		return stats, 0
	}
	name := ""
	switch m := m.(type) {
	case *wire.TopicShow:
		name = m.Topic
	case *wire.TopicDelete:
		name = m.Topic
	case *wire.Pause:
		name = m.Topic
	case *wire.Resume:
		name = m.Topic
	}
	t := f.topics[name]
	if t == nil {
		return nil, adjourn.ErrNotFound
	}
	switch m.(type) {
	case *wire.TopicShow:
		shown := &wire.TopicSettings{Settings: t.settings}
		if t.paused {
			shown.Marks = wire.MarkPaused
		}
		for _, j := range f.matching(&wire.Filter{Topic: &name}) {
			shown.Jobs++
			shown.Bytes += uint64(len(j.body))
		}
		return shown, 0
	case *wire.TopicDelete:
		if len(f.matching(&wire.Filter{Topic: &name})) > 0 {
			return nil, adjourn.ErrWrongState
		}
		delete(f.topics, name)
	case *wire.Pause:
		t.paused = true
	case *wire.Resume:
		t.paused = false
	}
	return &wire.Done{}, 0
}

func (f *Queue) counts() []wire.TopicCount {
	var counts []wire.TopicCount
	for name, t := range f.topics {
		count := wire.TopicCount{Topic: name, Totals: t.totals}
		if t.paused {
			count.Marks = wire.MarkPaused
		}
		for _, j := range f.jobs {
			if j.topic != name {
				continue
			}
			switch j.state {
			case wire.StateDelayed:
				count.Delayed++
			case wire.StateReady:
				count.Ready++
				if waited := uint64(f.now.Sub(j.order).Milliseconds()); waited > count.OldestReadyMs {
					count.OldestReadyMs = waited
				}
			case wire.StateReserved:
				count.Reserved++
			case wire.StateBuried:
				count.Buried++
			}
		}
		counts = append(counts, count)
	}
	sort.Slice(counts, func(a, b int) bool { return counts[a].Topic < counts[b].Topic })
	return counts
}
