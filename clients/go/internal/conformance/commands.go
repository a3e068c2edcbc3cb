package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	adjourn "github.com/adjourn/adjourn-go"
)

// number is a u64 in a string.
type number uint64

func (n *number) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	v, err := strconv.ParseUint(s, 10, 64)
	*n = number(v)
	return err
}

// ms is a duration; one that Go cannot hold becomes the longest.
func (n number) ms() time.Duration {
	if n > math.MaxInt64/number(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Millisecond
}

func (n number) time() time.Time {
	if n > math.MaxInt64 {
		n = math.MaxInt64
	}
	return time.UnixMilli(int64(n))
}

type lease struct {
	Job   number `json:"job"`
	Fence number `json:"fence"`
}

// tlsFiles are PEM files.
type tlsFiles struct {
	CA          string `json:"ca"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

type command struct {
	ID            int64           `json:"id"`
	Do            string          `json:"do"`
	Side          string          `json:"side"`
	Frame         *shownFrame     `json:"frame"`
	Bytes         []byte          `json:"bytes"`
	Client        string          `json:"client"`
	Addresses     []string        `json:"addresses"`
	TLS           *tlsFiles       `json:"tls"`
	Token         []byte          `json:"token"`
	Name          string          `json:"name"`
	HeartbeatMs   uint32          `json:"heartbeat_ms"`
	LeasesOutlive bool            `json:"leases_outlive"`
	Session       *bool           `json:"session"`
	RequestMs     json.RawMessage `json:"request_timeout_ms"`
	ConnectMs     json.RawMessage `json:"connect_timeout_ms"`
	Topic         string          `json:"topic"`
	Jobs          []pushedJob     `json:"jobs"`
	Job           *number         `json:"job"`
	Key           string          `json:"key"`
	Filter        *shownFilter    `json:"filter"`
	Order         uint8           `json:"order"`
	JobsMax       int             `json:"jobs_max"`
	Bars          int             `json:"bars"`
	BarsFromMs    number          `json:"bars_from_ms"`
	BarMs         number          `json:"bar_ms"`
	WithBodies    bool            `json:"with_bodies"`
	Topics        []string        `json:"topics"`
	Weights       []uint16        `json:"weights"`
	WaitMs        number          `json:"wait_ms"`
	Leases        []lease         `json:"leases"`
	Reason        string          `json:"reason"`
	How           string          `json:"how"`
	DelayMs       number          `json:"delay_ms"`
	AtMs          *number         `json:"at_ms"`
	TtrMs         uint32          `json:"ttr_ms"`
	Subscription  string          `json:"subscription"`
	CreditJobs    int             `json:"credit_jobs"`
	CreditBytes   *number         `json:"credit_bytes"`
	Worker        string          `json:"worker"`
	Concurrency   int             `json:"concurrency"`
	Prefetch      int             `json:"prefetch"`
	DeadlineMs    number          `json:"deadline_ms"`
	Settings      values          `json:"settings"`
	Change        string          `json:"change"`
	To            string          `json:"to"`
	Connection    number          `json:"connection"`
	EndsSession   bool            `json:"ends_session"`
	Command       int64           `json:"command"`
	Edited        []string        `json:"edited"`
	Priority      uint32          `json:"priority"`
	Body          []byte          `json:"body"`
	Attributes    values          `json:"attributes"`
	When          string          `json:"when"`
	Zone          string          `json:"zone"`
	Note          string          `json:"note"`
	Overlap       string          `json:"overlap"`
	Missed        string          `json:"missed"`
	IfVersion     any             `json:"if_version"`
	Prefix        string          `json:"prefix"`
	Paused        *bool           `json:"paused"`
	NextBeforeMs  *number         `json:"next_before_ms"`
	FromMs        number          `json:"from_ms"`
	ToMs          number          `json:"to_ms"`
	DryRun        bool            `json:"dry_run"`
	Count         int             `json:"count"`
	Group         string          `json:"group"`
	Weight        *uint32         `json:"weight"`
}

var empty = map[string]any{}

func (h *harness) carryOut(ctx context.Context, c *command) (any, error) {
	switch c.Do {
	case "about":
		return map[string]any{
			"client": "adjourn-go " + adjourn.Version,
			"levels": []string{"codec", "producer", "consumer", "worker", "operator", "cluster"},
			"codec":  []string{"encode_request", "decode_response", "decode_request", "encode_response"},
		}, nil
	case "encode":
		return encode(c)
	case "decode":
		return decode(c)
	case "connect":
		return h.connect(c)
	case "next", "unsubscribe":
		return h.onSubscription(c)
	case "worker_stop", "health":
		return h.onWorker(c)
	case "cancel":
		return h.cancel(c)
	}
	h.mu.Lock()
	q := h.clients[c.Client]
	h.mu.Unlock()
	if q == nil {
		return nil, fmt.Errorf("no client %q", c.Client)
	}
	return h.onClient(ctx, q, c)
}

func (h *harness) onClient(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	switch c.Do {
	case "push":
		return push(ctx, q, c)
	case "get":
		info, err := q.Get(ctx, c.ref())
		if err != nil {
			return nil, err
		}
		return map[string]any{"job": shownJob(info)}, nil
	case "delete":
		change, err := q.Delete(ctx, c.ref())
		return map[string]any{"job": decimal(uint64(change.ID))}, err
	case "list":
		return list(ctx, q, c)
	case "count":
		return count(ctx, q, c)
	case "close":
		return empty, q.Close()
	case "reserve":
		jobs, err := q.Reserve(ctx, adjourn.ReserveRequest{Topics: c.Topics, Weights: c.Weights, Max: c.JobsMax, Wait: c.WaitMs.ms()})
		shown := []any{}
		for _, job := range jobs {
			shown = append(shown, shownDelivered(job))
		}
		return map[string]any{"jobs": shown}, err
	case "finish", "release", "touch", "bury":
		errs, err := settle(ctx, q, c)
		return results(errs), err
	case "subscribe":
		return h.subscribe(ctx, q, c)
	case "worker_start":
		return h.startWorker(q, c)
	}
	return operate(ctx, q, c)
}

func (h *harness) connect(c *command) (any, error) {
	options := []adjourn.Option{adjourn.Token(string(c.Token)), adjourn.Logf(logf)}
	if c.Name != "" {
		options = append(options, adjourn.Name(c.Name))
	}
	if c.HeartbeatMs > 0 {
		options = append(options, adjourn.Heartbeat(time.Duration(c.HeartbeatMs)*time.Millisecond))
	}
	if d, some := anyMs(c.RequestMs); some {
		options = append(options, adjourn.RequestTimeout(d))
	}
	if d, some := anyMs(c.ConnectMs); some {
		options = append(options, adjourn.ConnectTimeout(d))
	}
	if c.LeasesOutlive {
		options = append(options, adjourn.LeasesOutlive())
	}
	if c.Session != nil && !*c.Session {
		options = append(options, adjourn.WithoutSession())
	}
	if c.TLS != nil {
		options = append(options, adjourn.CAFile(c.TLS.CA), adjourn.CertificateFiles(c.TLS.Certificate, c.TLS.Key))
	}
	q, err := adjourn.Dial(context.Background(), strings.Join(c.Addresses, ","), options...)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.clients[c.Client] = q
	h.mu.Unlock()
	return empty, nil
}

// anyMs takes a number, or a number in a string.
func anyMs(text json.RawMessage) (time.Duration, bool) {
	ms, err := strconv.ParseInt(strings.Trim(string(text), `"`), 10, 64)
	return time.Duration(ms) * time.Millisecond, err == nil
}

func (c *command) ref() adjourn.JobRef {
	if c.Job != nil {
		return adjourn.ByID(adjourn.JobID(*c.Job))
	}
	return adjourn.ByKey(c.Topic, c.Key)
}

func list(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	jobs := []any{}
	it := q.List(c.Filter.filter(), adjourn.ListOptions{Order: adjourn.Order(c.Order), Bodies: c.WithBodies, PageJobs: c.JobsMax})
	for it.Next(ctx) {
		jobs = append(jobs, shownJob(it.Job()))
	}
	return map[string]any{"jobs": jobs}, it.Err()
}

func count(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	if c.Bars == 0 {
		n, err := q.Count(ctx, c.Filter.filter())
		return map[string]any{"jobs": decimal(n)}, err
	}
	start := time.UnixMilli(int64(c.BarsFromMs))
	bars, err := q.CountByDue(ctx, c.Filter.filter(), start, time.Duration(c.BarMs)*time.Millisecond, c.Bars)
	jobs, shown := uint64(0), []any{}
	for _, bar := range bars {
		start := uint64(0)
		if !bar.Start.IsZero() {
			start = uint64(bar.Start.UnixMilli())
		}
		jobs += bar.Jobs
		shown = append(shown, map[string]any{"start_ms": decimal(start), "jobs": decimal(bar.Jobs)})
	}
	return map[string]any{"jobs": decimal(jobs), "by_due": shown}, err
}

func settle(ctx context.Context, q *adjourn.Client, c *command) ([]error, error) {
	leases := make([]adjourn.Lease, len(c.Leases))
	for i, l := range c.Leases {
		leases[i] = adjourn.Lease{ID: adjourn.JobID(l.Job), Fence: adjourn.Fence(l.Fence)}
	}
	switch c.Do {
	case "finish":
		return q.Finish(ctx, leases...)
	case "touch":
		return q.Touch(ctx, time.Duration(c.TtrMs)*time.Millisecond, leases...)
	case "bury":
		return q.Bury(ctx, c.Reason, leases...)
	}
	how := adjourn.WithBackoff()
	switch c.How {
	case "after":
		how = adjourn.After(c.DelayMs.ms())
	case "not_started":
		how = adjourn.NotStarted()
	case "parked":
		how = adjourn.Parked(c.DelayMs.ms())
	}
	return q.Release(ctx, how, c.Reason, leases...)
}

func (h *harness) subscribe(ctx context.Context, q *adjourn.Client, c *command) (any, error) {
	request := adjourn.SubscribeRequest{Topics: c.Topics, Weights: c.Weights, CreditJobs: c.CreditJobs}
	if c.CreditBytes != nil {
		request.CreditBytes = int64(*c.CreditBytes)
	}
	sub, err := q.Subscribe(ctx, request)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.subscriptions[c.Subscription] = sub
	h.mu.Unlock()
	return empty, nil
}

func (h *harness) onSubscription(c *command) (any, error) {
	h.mu.Lock()
	sub := h.subscriptions[c.Subscription]
	h.mu.Unlock()
	if sub == nil {
		return nil, fmt.Errorf("no subscription %q", c.Subscription)
	}
	if c.Do == "unsubscribe" {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		return empty, sub.Unsubscribe(ctx)
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.WaitMs.ms())
	defer cancel()
	job, err := sub.Next(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return map[string]any{"job": nil}, nil
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"job": shownDelivered(job)}, nil
}
