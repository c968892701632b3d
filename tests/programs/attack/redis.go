package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var redisAttacks = []attack{
	{name: "redis-dead", what: "Redis dies for a while, and strangers ask for sessions all the time", redis: true, run: deadRedis},
	{name: "redis-tasks", what: "lists of a caller's tasks, each with as much as a request may have", redis: true, locked: true, run: listLargeTasks},
}

const (
	// listedTasks of hoardedBytes are listed taskLists times.
	listedTasks, taskLists = 20, 5
	// listedMost is the most that Redis may send meanwhile, honest clients included.
	listedMost = 16 << 20
)

// listLargeTasks has lists of tasks read nothing of what the tasks keep.
func listLargeTasks(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	r.authorization = s.lock.bearer("mallory", s.edge.url())
	c := &taskClient{rogue: r}
	var err error
	if c.session, err = r.hello(ctx, `{"name":"lists","version":"1"}`); err != nil {
		return err
	}
	defer func() { _, _ = r.send(ctx, http.MethodDelete, "", sessionHeader(c.session)...) }()
	arguments := `{"x":"` + strings.Repeat("x", hoardedBytes) + `"}`
	var last string
	for range listedTasks {
		id, a, err := r.task(ctx, taskTool, arguments)
		if err != nil || id == "" {
			return fmt.Errorf("no task: %w, %v", err, a)
		}
		defer func() { _ = r.cancelTask(ctx, id) }()
		last = id
	}
	before, err := sentByRedis(s.redis.Addr)
	if err != nil {
		return err
	}
	for range taskLists {
		if err := c.lists(ctx, last, true); err != nil {
			return err
		}
	}
	after, err := sentByRedis(s.redis.Addr)
	if err != nil {
		return err
	}
	s.note("Redis sent %d kB", (after-before)>>10)
	if after-before > listedMost {
		return fmt.Errorf("%d lists of %d tasks had Redis send %d bytes, want at most %d", taskLists, listedTasks, after-before, listedMost)
	}
	return nil
}

// sentByRedis is how many bytes a Redis has sent.
func sentByRedis(addr string) (int64, error) {
	conn, err := net.DialTimeout("tcp", addr, slack)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(slack))
	if _, err := io.WriteString(conn, "INFO stats\r\nQUIT\r\n"); err != nil {
		return 0, err
	}
	text, err := io.ReadAll(conn)
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "total_net_output_bytes:")
	if !found {
		return 0, fmt.Errorf("the answer of Redis does not say what it has sent: %.200s", text)
	}
	n, _, _ := strings.Cut(rest, "\r")
	return strconv.ParseInt(n, 10, 64)
}

// deadRedis: plain calls go on, of sessions too; what needs Redis is refused for now, at once.
func deadRedis(ctx context.Context, s *site) error {
	s.redis.Kill()
	var statuses refusals
	end := time.Now().Add(s.o.duration / 2)
	err := together(4, 4, func(int) error {
		r := s.rogue()
		defer r.close()
		for time.Now().Before(end) {
			limited, cancel := context.WithTimeout(ctx, answersWithin)
			a, err := r.initialize(limited, `{"name":"flood","version":"1"}`)
			cancel()
			if err != nil {
				return err
			}
			statuses.add(a.status)
			if a.status != http.StatusServiceUnavailable && a.status != http.StatusTooManyRequests {
				return fmt.Errorf("a session without Redis: status %d: %.200s", a.status, a.body)
			}
		}
		return nil
	})
	s.note("answers %s", &statuses)
	if restarted := s.redis.Restart(); restarted != nil {
		return restarted
	}
	if err != nil {
		return err
	}
	r := s.rogue()
	defer r.close()
	for end := time.Now().Add(slack); ; pause(ctx, 100*time.Millisecond) {
		id, err := r.hello(ctx, `{"name":"after","version":"1"}`)
		if err == nil {
			_, err = r.send(ctx, http.MethodDelete, "", sessionHeader(id)...)
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("no session %s after Redis came back: %w", slack, err)
		}
	}
}
