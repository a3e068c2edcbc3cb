package adjourn_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
	"github.com/adjourn/adjourn-go/adjourntest"
	"github.com/adjourn/adjourn-go/internal/wire"
	"github.com/adjourn/adjourn-go/limits"
)

// Everything that the schema of the protocol has can be reached through the public surface. The lists of what there is
// come from the schema: what is new there fails here until this client has it.

// recorder keeps what its clients send to a real server.
type recorder struct {
	mu   sync.Mutex
	sent map[*recordedConn][]byte
}

type recordedConn struct {
	net.Conn
	r *recorder
}

func (r *recorder) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return &recordedConn{conn, r}, err
}

func (c *recordedConn) Write(b []byte) (int, error) {
	c.r.mu.Lock()
	c.r.sent[c] = append(c.r.sent[c], b...) // before it is sent: the answer may be there at once
	c.r.mu.Unlock()
	return c.Conn.Write(b)
}

// payloads are those of all requests of one kind, in their order on each connection.
func (r *recorder) payloads(opcode wire.Opcode) (payloads [][]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, sent := range r.sent {
		for from := bytes.NewReader(sent); ; {
			frame, _, err := wire.ReadFrame(from, limits.ResponseBytesMax, nil)
			if err != nil {
				break
			}
			if frame.Opcode == opcode {
				payloads = append(payloads, frame.Payload)
			}
		}
	}
	return payloads
}

// has says whether a request of one kind was sent with this element. Where the elements begin depends on the request.
func (r *recorder) has(opcode wire.Opcode, begin func(payload []byte) []byte, tag uint64, isEmpty bool) bool {
	for _, payload := range r.payloads(opcode) {
		for in := begin(payload); len(in) >= 4; {
			size := int(binary.LittleEndian.Uint16(in[2:]))
			if uint64(binary.LittleEndian.Uint16(in)) == tag && (size == 0) == isEmpty {
				return true
			}
			in = in[4+size:]
		}
	}
	return false
}

func elementsAt(payload []byte, lengthAt, at int) []byte {
	return payload[at : at+int(binary.LittleEndian.Uint16(payload[lengthAt:]))]
}

func ofFilter(payload []byte) []byte { return elementsAt(payload, 0, 2) }

func ofSettings(payload []byte) []byte {
	at := 1 + int(payload[0])
	return elementsAt(payload, at, at+2)
}

func ofFirstJob(payload []byte) []byte {
	fixed := 8 + 1 + int(payload[8]) + 6
	key := int(binary.LittleEndian.Uint16(payload[fixed+18:]))
	return elementsAt(payload, fixed+20, fixed+wire.NewJobBytes+key)
}

func recorded(t *testing.T) (dial func(options ...adjourn.Option) *adjourn.Client, r *recorder) {
	t.Helper()
	server := adjourntest.StartServer(t)
	r = &recorder{sent: map[*recordedConn][]byte{}}
	return func(options ...adjourn.Option) *adjourn.Client {
		return server.Dial(append(options, adjourn.UseDialer(r))...)
	}, r
}

// calls has what sends each request. Some are refused, by a node that is alone: what counts is that they are sent.
var calls = map[string]func(t *testing.T, ctx context.Context, q *adjourn.Client){
	"HELLO":   func(*testing.T, context.Context, *adjourn.Client) {}, // Dial did it
	"PING":    func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Ping(ctx) },
	"GOODBYE": func(*testing.T, context.Context, *adjourn.Client) {}, // Close will do it
	"PUSH":    func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Push(ctx, "t", "x") },
	"RESERVE": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.Reserve(ctx, adjourn.ReserveRequest{Topics: []string{"none"}})
	},
	"SUBSCRIBE": subscribe,
	"CREDIT": func(t *testing.T, ctx context.Context, q *adjourn.Client) {
		sub := must[*adjourn.Subscription](t)(q.Subscribe(ctx, adjourn.SubscribeRequest{Topics: []string{"none"}, CreditJobs: 1}))
		sub.AddCredit(ctx, 1, 1)
	},
	"UNSUBSCRIBE": subscribe,
	"CANCEL": func(t *testing.T, ctx context.Context, q *adjourn.Client) {
		waiting, cancel := context.WithCancel(ctx)
		before := must[*adjourn.Stats](t)(q.Stats(ctx)).Waiting
		ended := make(chan error, 1)
		go func() {
			_, err := q.Reserve(waiting, adjourn.ReserveRequest{Topics: []string{"none"}, Wait: time.Hour})
			ended <- err
		}()
		eventually(t, "the poll waits", func() bool { return must[*adjourn.Stats](t)(q.Stats(ctx)).Waiting > before })
		cancel()
		<-ended
	},
	"LEASES": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Leases(ctx) },
	"FINISH": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.Finish(ctx, adjourn.Lease{ID: 1, Fence: 1})
	},
	"RELEASE": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.Release(ctx, adjourn.NotStarted(), "", adjourn.Lease{ID: 1})
	},
	"TOUCH": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.Touch(ctx, 0, adjourn.Lease{ID: 1, Fence: 1})
	},
	"BURY": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.Bury(ctx, "", adjourn.Lease{ID: 1, Fence: 1})
	},
	"GET":    func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Get(ctx, adjourn.ByID(1)) },
	"DELETE": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Delete(ctx, adjourn.ByKey("t", "none")) },
	"RESCHEDULE": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.Reschedule(ctx, adjourn.ByID(1), time.Hour)
	},
	"EDIT": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.Edit(ctx, adjourn.ByID(1), adjourn.Priority(1))
	},
	"RUN_NOW":   func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.RunNow(ctx, adjourn.ByID(1)) },
	"KICK":      func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Kick(ctx, adjourn.ByID(1)) },
	"PEEK":      func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Peek(ctx, "t") },
	"KICK_MANY": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.KickMany(ctx, "t", 1) },
	"LIST": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.List(adjourn.Filter{}, adjourn.ListOptions{}).Next(ctx)
	},
	"COUNT": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Count(ctx, adjourn.Filter{}) },
	"BULK": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.Bulk(adjourn.KickJobs(), adjourn.Filter{}).Run(ctx)
	},
	"PAUSE":       func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Pause(ctx, "t") },
	"RESUME":      func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Resume(ctx, "t") },
	"TOPICS":      func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Topics(ctx) },
	"STATS":       func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Stats(ctx) },
	"CONNECTIONS": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Connections(ctx) },
	"DISCONNECT":  func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Disconnect(ctx, 1<<40, true) },
	"TOPIC_SET":   func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.SetTopic(ctx, "t", adjourn.Policy{}) },
	"TOPIC_DELETE": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.DeleteTopic(ctx, "none")
	},
	"TOPIC_SHOW":     func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Topic(ctx, "t") },
	"ADVANCE":        func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Advance(ctx, time.Hour) },
	"BACKUP_BEGIN":   backup,
	"BACKUP_READ":    backup,
	"BACKUP_END":     backup,
	"CLUSTER_STATUS": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Cluster(ctx) },
	"CLUSTER_ADD":    func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.AddMember(ctx, "nowhere") },
	"CLUSTER_REMOVE": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.RemoveMember(ctx, 9) },
	"CLUSTER_TRANSFER": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.TransferLeadership(ctx, 9)
	},
	"GROUP_SET": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.SetGroup(ctx, "t", "g", adjourn.GroupWeight(2))
	},
	"GROUP_LIST": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Groups(ctx, "t", "") },
	"WHY":        func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Why(ctx, adjourn.ByID(1)) },
	"TOPIC_WHY":  func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.WhyTopic(ctx, "t") },
	"SCHEDULE_SET": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.SetSchedule(ctx, "t", "s", adjourn.ScheduleRules{When: "@daily"}, adjourn.JobTemplate{})
	},
	"SCHEDULE_SHOW": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.Schedule(ctx, "t", "s") },
	"SCHEDULE_LIST": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.Schedules(ctx, "t", adjourn.ScheduleFilter{})
	},
	"SCHEDULE_DELETE": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.DeleteSchedule(ctx, "t", "s") },
	"SCHEDULE_PAUSE":  func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.PauseSchedule(ctx, "t", "s", "why") },
	"SCHEDULE_RESUME": func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.ResumeSchedule(ctx, "t", "s") },
	"SCHEDULE_RUN":    func(_ *testing.T, ctx context.Context, q *adjourn.Client) { q.RunSchedule(ctx, "t", "s") },
	"SCHEDULE_FILL": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.FillSchedule(ctx, "t", "s", time.UnixMilli(1), time.UnixMilli(2), true)
	},
	"SCHEDULE_PREVIEW": func(_ *testing.T, ctx context.Context, q *adjourn.Client) {
		q.PreviewSchedule(ctx, adjourn.ScheduleRules{When: "@daily"}, time.Time{}, 1)
	},
}

func subscribe(t *testing.T, ctx context.Context, q *adjourn.Client) {
	sub := must[*adjourn.Subscription](t)(q.Subscribe(ctx, adjourn.SubscribeRequest{Topics: []string{"none"}, CreditJobs: 1}))
	if err := sub.Unsubscribe(ctx); err != nil {
		t.Error(err)
	}
}

func backup(t *testing.T, ctx context.Context, q *adjourn.Client) {
	b := must[*adjourn.Backup](t)(q.Backup(ctx))
	must[[]byte](t)(b.ReadPart(ctx, 0, 1))
	if err := b.End(ctx); err != nil {
		t.Error(err)
	}
}

// withoutCall is the request that no call sends: only tools and consoles need it.
const withoutCall = "RESERVE_JOB"

func TestEveryRequestCanBeSent(t *testing.T) {
	dial, r := recorded(t)
	q, ctx := dial(), testContext(t)
	for _, request := range schemaRequests {
		if call := calls[request.name]; (call == nil) != (request.name == withoutCall) {
			t.Errorf("%s: a call sends it: %v", request.name, call != nil)
		} else if call != nil {
			call(t, ctx, q)
		}
	}
	if err := q.Close(); err != nil {
		t.Error(err)
	}
	for _, request := range schemaRequests {
		if len(r.payloads(wire.Opcode(request.number))) == 0 && request.name != withoutCall {
			t.Errorf("%s was not sent", request.name)
		}
	}
}

func pointer[T any](v T) *T { return &v }

// policies has a policy with each setting, and what takes the setting away.
var policies = map[string]struct {
	policy adjourn.Policy
	unset  adjourn.Setting
}{
	"ttr_ms":                {adjourn.Policy{TTR: pointer(7 * time.Second)}, adjourn.SettingTTR},
	"priority":              {adjourn.Policy{Priority: pointer(uint32(3))}, adjourn.SettingPriority},
	"attempts_max":          {adjourn.Policy{AttemptsMax: pointer(uint32(4))}, adjourn.SettingAttemptsMax},
	"backoff":               {adjourn.Policy{Backoff: adjourn.LinearBackoff(time.Second, time.Minute).WithJitter(5)}, adjourn.SettingBackoff},
	"expires_after_ms":      {adjourn.Policy{ExpiresAfter: pointer(time.Hour)}, adjourn.SettingExpiresAfter},
	"jobs_max":              {adjourn.Policy{JobsMax: pointer(uint64(1 << 40))}, adjourn.SettingJobsMax},
	"bytes_max":             {adjourn.Policy{BytesMax: pointer(uint64(1 << 41))}, adjourn.SettingBytesMax},
	"body_max":              {adjourn.Policy{BodyBytesMax: pointer(uint32(512))}, adjourn.SettingBodyBytesMax},
	"leases_max":            {adjourn.Policy{LeasesMax: pointer(uint32(9))}, adjourn.SettingLeasesMax},
	"rate":                  {adjourn.Policy{RatePerSecond: pointer(uint32(50))}, adjourn.SettingRatePerSecond},
	"late":                  {adjourn.Policy{Late: &adjourn.Late{After: time.Minute, Action: adjourn.LateRate, Value: 10}}, adjourn.SettingLate},
	"dead_letters":          {adjourn.Policy{DeadLetters: pointer("dead")}, adjourn.SettingDeadLetters},
	"remember_ms":           {adjourn.Policy{Remember: pointer(time.Minute)}, adjourn.SettingRemember},
	"call_back":             {adjourn.Policy{CallBack: pointer("https://example.com/due/{key}")}, adjourn.SettingCallBack},
	"call_back_method":      {adjourn.Policy{CallBackMethod: pointer("PUT")}, adjourn.SettingCallBackMethod},
	"call_back_headers":     {adjourn.Policy{CallBackHeaders: pointer("X-Shop: one\nX-Till: two")}, adjourn.SettingCallBackHeaders},
	"call_back_body":        {adjourn.Policy{CallBackBody: pointer("due")}, adjourn.SettingCallBackBody},
	"call_back_timeout_ms":  {adjourn.Policy{CallBackTimeout: pointer(2 * time.Second)}, adjourn.SettingCallBackTimeout},
	"call_back_concurrency": {adjourn.Policy{CallBackConcurrency: pointer(uint32(6))}, adjourn.SettingCallBackConcurrency},
	"call_back_rate":        {adjourn.Policy{CallBackRate: pointer(uint32(70))}, adjourn.SettingCallBackRate},
	"call_back_secrets":     {adjourn.Policy{CallBackSecrets: pointer("shop")}, adjourn.SettingCallBackSecrets},
	"call_back_refused":     {adjourn.Policy{CallBackRefused: pointer("retry")}, adjourn.SettingCallBackRefused},
	"call_back_retry_if":    {adjourn.Policy{CallBackRetryIf: pointer("{status} == 200")}, adjourn.SettingCallBackRetryIf},
	"call_back_success":     {adjourn.Policy{CallBackSuccess: pointer("reply")}, adjourn.SettingCallBackSuccess},
	"call_back_of_job":      {adjourn.Policy{CallBackOfJob: true}, adjourn.SettingCallBackOfJob},
	"call_back_log_ms":      {adjourn.Policy{CallBackLog: pointer(time.Hour)}, adjourn.SettingCallBackLog},
	"call_back_paused":      {adjourn.Policy{CallBackPaused: true}, adjourn.SettingCallBackPaused},
	"call_back_delay_ms":    {adjourn.Policy{CallBackDelay: pointer(3 * time.Second)}, adjourn.SettingCallBackDelay},
	"fair":                  {adjourn.Policy{Fair: true}, adjourn.SettingFair},
	"group_leases_max":      {adjourn.Policy{GroupLeasesMax: pointer(uint32(2))}, adjourn.SettingGroupLeasesMax},
	"group_per_second_max":  {adjourn.Policy{GroupPerSecondMax: pointer(uint32(40))}, adjourn.SettingGroupPerSecondMax},
	"group_burst":           {adjourn.Policy{GroupBurst: pointer(uint32(5))}, adjourn.SettingGroupBurst},
	"group_order":           {adjourn.Policy{GroupOrder: pointer("fifo")}, adjourn.SettingGroupOrder},
	"group_on_bury":         {adjourn.Policy{GroupOnBury: pointer("continue")}, adjourn.SettingGroupOnBury},
}

// Each setting is set on a real server, shown again as it was set, and taken away.
func TestEverySettingIsSetShownAndTakenAway(t *testing.T) {
	dial, r := recorded(t)
	q, ctx := dial(), testContext(t)
	none := must[*adjourn.TopicInfo](t)(topicOf(ctx, q, adjourn.Policy{}))
	constants := constantsOf(t, ".")
	for _, setting := range schemaSettings {
		one, some := policies[setting.name]
		if _, is := constants[setting.constant]; !some || !is || uint64(one.unset) != setting.number {
			t.Errorf("%s: no policy has it, or no constant %s", setting.name, setting.constant)
			continue
		}
		info, err := topicOf(ctx, q, one.policy)
		if err != nil {
			t.Errorf("%s: %v", setting.name, err)
			continue
		}
		if !r.has(wire.OpTopicSet, ofSettings, setting.number, false) {
			t.Errorf("%s was not sent", setting.name)
		}
		want := one.policy
		if want.AttemptsMax == nil {
			want.AttemptsMax = none.Policy.AttemptsMax
		}
		if want.Backoff == nil {
			want.Backoff = none.Policy.Backoff
		}
		if !reflect.DeepEqual(info.Policy, want) {
			t.Errorf("%s: %+v is shown as %+v", setting.name, want, info.Policy)
		}
		if info, err = topicOf(ctx, q, adjourn.Policy{}, one.unset); err != nil || !reflect.DeepEqual(info, none) {
			t.Errorf("%s was not taken away: %+v, %v", setting.name, info, err)
		}
		if !r.has(wire.OpTopicSet, ofSettings, setting.number, true) {
			t.Errorf("%s was not sent without a value", setting.name)
		}
	}
}

func topicOf(ctx context.Context, q *adjourn.Client, set adjourn.Policy, unset ...adjourn.Setting) (*adjourn.TopicInfo, error) {
	if err := q.SetTopic(ctx, "t", set, unset...); err != nil {
		return nil, err
	}
	return q.Topic(ctx, "t")
}

func TestTheDefaultsOfTheServerAreSaidToBeThat(t *testing.T) {
	q, ctx := adjourntest.StartServer(t).Dial(), testContext(t)
	info := must[*adjourn.TopicInfo](t)(topicOf(ctx, q, adjourn.Policy{AttemptsMax: pointer(uint32(3))}))
	if info.AttemptsOfServer || !info.BackoffOfServer || *info.Policy.AttemptsMax != 3 || info.Policy.Backoff == nil {
		t.Errorf("%+v", info)
	}
}

// What TOPICS and STATS say of a topic is shown, in the units of Go.
func TestEveryCountOfATopicIsShown(t *testing.T) {
	counts := []wire.TopicCount{{Marks: wire.TopicMarkPaused, Consumers: 1, LateMs: 2, Topic: "t", Totals: wire.Totals{
		Delayed: 3, Ready: 4, Reserved: 5, Buried: 6, Pushed: 7, Finished: 8, Deleted: 9, Expired: 10, OldestReadyMs: 11,
	}}}
	address, _ := scripted(t, func(p *peer) {
		p.welcome(nil)
		for _, answer := range []wire.Message{&wire.TopicCounts{Topics: counts}, &wire.QueueStats{Topics: counts}} {
			id, _ := p.next()
			p.say(id, answer)
		}
		p.serve()
	})
	q, ctx := dialScripted(t, address), testContext(t)
	want := []adjourn.TopicCounts{{Topic: "t", Paused: true, Consumers: 1, Late: 2 * time.Millisecond, Totals: adjourn.Totals{
		Delayed: 3, Ready: 4, Reserved: 5, Buried: 6, Pushed: 7, Finished: 8, Deleted: 9, Expired: 10, OldestReady: 11 * time.Millisecond,
	}}}
	if topics := must[[]adjourn.TopicCounts](t)(q.Topics(ctx)); !reflect.DeepEqual(topics, want) {
		t.Errorf("%+v", topics)
	}
	if stats := must[*adjourn.Stats](t)(q.Stats(ctx)); !reflect.DeepEqual(stats.Topics, want) {
		t.Errorf("%+v", stats)
	}
}

// attributes has an option that gives a job each attribute.
var attributes = map[string]adjourn.PushOption{
	"headers":             adjourn.WithHeader("a", "1"),
	"expires":             adjourn.ExpiresAfter(time.Hour),
	"attempts_max":        adjourn.Attempts(3),
	"backoff":             adjourn.RetryBackoff(adjourn.FixedBackoff(time.Second)),
	"group":               adjourn.Group("tenant"),
	"dedupe_retention_ms": adjourn.Remember(time.Hour),
	"created_at_ms":       func(j *adjourn.NewJob) { j.CreatedAt = time.UnixMilli(1_767_225_600_000) },
	"schedule_reference":  func(j *adjourn.NewJob) { j.ScheduleReference = []byte{0, 255} },
	"postpone_max_ms":     adjourn.PostponeMax(time.Hour),
	"buried":              adjourn.BuriedFor("no such address"),
}

func TestEveryAttributeCanBePushed(t *testing.T) {
	dial, r := recorded(t)
	q, ctx := dial(), testContext(t)
	for _, attribute := range schemaAttributes {
		option := attributes[attribute.name]
		if option == nil {
			t.Errorf("%s: no option sets it", attribute.name)
			continue
		}
		want := adjourn.NewJob{}
		option(&want)
		id, err := q.Push(ctx, "t", []byte("x"), option, adjourn.Key(attribute.name))
		if err != nil || !r.has(wire.OpPush, ofFirstJob, attribute.number, false) {
			t.Errorf("%s was not sent: %v", attribute.name, err)
			continue
		}
		job := must[*adjourn.JobInfo](t)(q.Get(ctx, adjourn.ByID(id)))
		got := job.Attributes
		if want.Buried != nil { // the job itself does not have it
			if job.Reason != *want.Buried {
				t.Errorf("it is buried for %q", job.Reason)
			}
			want.Buried = nil
		}
		if want.AttemptsMax == 0 { // the server's default is shown
			got.AttemptsMax = 0
		}
		if want.Backoff == nil {
			got.Backoff = nil
		}
		if want.ExpiresAfter > 0 && !got.ExpiresAt.IsZero() { // the time is shown
			got.ExpiresAfter, got.ExpiresAt = want.ExpiresAfter, time.Time{}
		}
		if !reflect.DeepEqual(got, want.Attributes) {
			t.Errorf("%s: %+v is shown as %+v", attribute.name, want.Attributes, got)
		}
	}
}

// conditions has a filter with each condition.
var conditions = map[string]adjourn.Filter{
	"topic":         {Topic: "t"},
	"states":        {States: []adjourn.State{adjourn.Ready, adjourn.Finished}},
	"due_from_ms":   {DueFrom: time.UnixMilli(1)},
	"due_before_ms": {DueBefore: time.UnixMilli(2)},
	"key_prefix":    {KeyPrefix: "order-"},
	"attempts_min":  {AttemptsMin: pointer(uint32(1))},
	"attempts_max":  {AttemptsMax: pointer(uint32(2))},
	"buried":        {Buried: adjourn.TooLate},
	"reason":        {Reason: "no such address"},
	"group":         {Group: "tenant"},
}

func TestEveryConditionCanBeAskedFor(t *testing.T) {
	dial, r := recorded(t)
	q, ctx := dial(), testContext(t)
	for _, condition := range schemaConditions {
		filter, some := conditions[condition.name]
		if !some {
			t.Errorf("%s: no filter has it", condition.name)
			continue
		}
		must[uint64](t)(q.Count(ctx, filter))
		if !r.has(wire.OpCount, ofFilter, condition.number, false) {
			t.Errorf("%s was not sent", condition.name)
		}
	}
}

func TestEveryErrorAndLimitHasItsConstant(t *testing.T) {
	constants := constantsOf(t, ".")
	for _, code := range schemaErrors {
		known := adjourn.Code(code.number)
		if value, some := constants[code.constant]; !some || value != code.number {
			t.Errorf("%s: no constant %s", code.name, code.constant)
		}
		if known.Name() != code.name || known.Meaning() == "" || known.Remedy() == "" {
			t.Errorf("%s: %q, %q, %q", code.name, known.Name(), known.Meaning(), known.Remedy())
		}
		if !errors.Is(&adjourn.Error{Code: known}, known) {
			t.Errorf("%s cannot be found in an error", code.name)
		}
	}
	constants = constantsOf(t, "limits")
	for _, limit := range schemaLimits {
		if value, some := constants[limit.constant]; !some || value != limit.number {
			t.Errorf("%s: no constant %s, or with another value", limit.name, limit.constant)
		}
	}
}

// constantsOf has the exported constants of a package that are numbers.
func constantsOf(t *testing.T, folder string) map[string]uint64 {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), folder, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]uint64{}
	for _, one := range packages {
		ast.Inspect(one, func(node ast.Node) bool {
			spec, is := node.(*ast.ValueSpec)
			if !is || len(spec.Values) != 1 || !spec.Names[0].IsExported() {
				return true
			}
			if literal, is := spec.Values[0].(*ast.BasicLit); is && literal.Kind == token.INT {
				value, err := strconv.ParseUint(strings.ReplaceAll(literal.Value, "_", ""), 0, 64)
				if err != nil {
					t.Error(err)
				}
				constants[spec.Names[0].Name] = value
			}
			return true
		})
	}
	return constants
}
