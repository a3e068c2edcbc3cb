package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A delay queue as it is usually built on Redis: a sorted set of ids by due time, a hash with the bodies, and a sorted
// set of reserved ids by the time at which they are to be given back.
const (
	// KEYS: due, bodies, next id. ARGV: due time, bodies.
	pushScript = `
for i = 2, #ARGV do
	local id = redis.call('INCR', KEYS[3])
	redis.call('HSET', KEYS[2], id, ARGV[i])
	redis.call('ZADD', KEYS[1], ARGV[1], id)
end
return #ARGV - 1`
	// KEYS: due, bodies, reserved. ARGV: now, until, most.
	takeScript = `
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
local out = {}
for _, id in ipairs(ids) do
	redis.call('ZREM', KEYS[1], id)
	redis.call('ZADD', KEYS[3], ARGV[2], id)
	out[#out + 1] = id
	out[#out + 1] = redis.call('HGET', KEYS[2], id)
end
return out`
	// KEYS: reserved, bodies. ARGV: id.
	doneScript = `
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('ZREM', KEYS[1], ARGV[1])`
)

type redisQueue struct {
	c                           *redisConn
	push, take, done            string // digests of the scripts
	due, bodies, reserved, next string
	body                        string
}

func connectRedis(_ context.Context, address string) (system, error) {
	c, err := dialRedis(address)
	if err != nil {
		return nil, err
	}
	prefix := fmt.Sprintf("bench-%d:", time.Now().UnixNano())
	r := &redisQueue{
		c: c, due: prefix + "due", bodies: prefix + "bodies", reserved: prefix + "reserved", next: prefix + "next",
		body: strings.Repeat("x", bodyBytes),
	}
	for script, digest := range map[string]*string{pushScript: &r.push, takeScript: &r.take, doneScript: &r.done} {
		answer, err := c.do("SCRIPT", "LOAD", script)
		if err != nil {
			return nil, err
		}
		*digest, _ = answer.(string)
	}
	return r, nil
}

func unixMs(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func (r *redisQueue) add(jobs int, due time.Time) error {
	args := []string{"EVALSHA", r.push, "3", r.due, r.bodies, r.next, unixMs(due)}
	for i := 0; i < jobs; i++ {
		args = append(args, r.body)
	}
	_, err := r.c.do(args...)
	return err
}

func (r *redisQueue) pushOne(_ context.Context, jobs int) error {
	for i := 0; i < jobs; i++ {
		if err := r.add(1, time.Now().Add(time.Hour)); err != nil {
			return err
		}
	}
	return nil
}

func (r *redisQueue) pushMany(_ context.Context, jobs int) error {
	return inBatches(jobs, func(n int) error { return r.add(n, time.Now().Add(time.Hour)) })
}

func (r *redisQueue) prepare(_ context.Context, jobs int) error {
	return inBatches(jobs, func(n int) error { return r.add(n, time.Now()) })
}

// work has one poller, which hands the jobs to the handlers. As in the worker of this client, a handler does not wait
// until its job is removed, and no more than takenJobs are taken and not removed.
func (r *redisQueue) work(_ context.Context, jobs int) error {
	taken := make(chan string, takenJobs-handlers)
	removing := make(chan struct{}, takenJobs)
	removed := make(chan error, takenJobs)
	for i := 0; i < handlers; i++ {
		go func() {
			for id := range taken {
				id := id
				removing <- struct{}{}
				go func() {
					_, err := r.c.do("EVALSHA", r.done, "2", r.reserved, r.bodies, id)
					<-removing
					removed <- err
				}()
			}
		}()
	}
	polled := make(chan error, 1)
	go func() {
		polled <- r.poll(jobs, taken)
		close(taken)
	}()
	for i := 0; i < jobs; i++ {
		select {
		case err := <-removed:
			if err != nil {
				return err
			}
		case err := <-polled:
			if err != nil {
				return err
			}
			i--
		}
	}
	return nil
}

func (r *redisQueue) poll(jobs int, taken chan<- string) error {
	for jobs > 0 {
		now := time.Now()
		answer, err := r.c.do("EVALSHA", r.take, "3", r.due, r.bodies, r.reserved, unixMs(now), unixMs(now.Add(time.Minute)), strconv.Itoa(takenJobs))
		if err != nil {
			return err
		}
		list, _ := answer.([]any)
		if len(list) == 0 {
			return fmt.Errorf("%d jobs are missing", jobs)
		}
		for i := 0; i+1 < len(list); i += 2 {
			id, _ := list[i].(string)
			taken <- id
			jobs--
		}
	}
	return nil
}

// redisConn sends the commands of all goroutines over one connection, without waiting for answers in between.
type redisConn struct {
	conn    net.Conn
	mu      sync.Mutex
	out     []byte
	waiting []chan<- answer
	wake    chan struct{}
	broken  error
}

type answer struct {
	value any
	err   error
}

func dialRedis(address string) (*redisConn, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	c := &redisConn{conn: conn, wake: make(chan struct{}, 1)}
	go c.write()
	go c.read()
	return c, nil
}

func (c *redisConn) do(args ...string) (any, error) {
	done := make(chan answer, 1)
	c.mu.Lock()
	if c.broken != nil {
		c.mu.Unlock()
		return nil, c.broken
	}
	c.out = append(c.out, fmt.Sprintf("*%d\r\n", len(args))...)
	for _, arg := range args {
		c.out = append(strconv.AppendInt(append(c.out, '$'), int64(len(arg)), 10), "\r\n"...)
		c.out = append(append(c.out, arg...), "\r\n"...)
	}
	c.waiting = append(c.waiting, done)
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	a := <-done
	return a.value, a.err
}

func (c *redisConn) write() {
	for range c.wake {
		c.mu.Lock()
		out := c.out
		c.out = nil
		c.mu.Unlock()
		if _, err := c.conn.Write(out); err != nil {
			c.conn.Close()
			return
		}
	}
}

func (c *redisConn) read() {
	in := bufio.NewReader(c.conn)
	for {
		value, err := readValue(in)
		var refused redisError
		c.mu.Lock()
		if err != nil && !errors.As(err, &refused) {
			c.broken = err
			for _, done := range c.waiting {
				done <- answer{nil, err}
			}
			c.mu.Unlock()
			return
		}
		done := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		done <- answer{value, err}
	}
}

type redisError string

func (e redisError) Error() string { return "redis: " + string(e) }

// readValue reads one value of RESP 2: a string, an int64, a list or nil.
func readValue(in *bufio.Reader) (any, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	kind, rest := line[0], strings.TrimSuffix(line[1:], "\r\n")
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, redisError(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil, err
	}
	switch {
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case kind == '$':
		text := make([]byte, n+2)
		_, err := io.ReadFull(in, text)
		return string(text[:n]), err
	case kind == '*':
		list := make([]any, n)
		for i := range list {
			if list[i], err = readValue(in); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	return nil, fmt.Errorf("no value of RESP: %q", line)
}
