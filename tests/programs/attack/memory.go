package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var memoryAttacks = []attack{
	{name: "sessions-info", what: "5,000 sessions with client info of 32 KB, then 5,000 of 15 KB, from 50 addresses", run: fatSessions},
	{name: "subscriptions", what: "40 subscriptions with URIs of 3.9 MB in a session", run: fatSubscriptions},
	{name: "parked", what: "120 parked calls of 3.9 MB whose clients left", run: parkedCalls},
	{name: "unread", what: "60 results of 12 MiB that nobody reads", run: unreadResults},
	{name: "unread-streams", what: "60 such results at the end of streams that nobody reads, and of sessions that left", run: unreadStreams},
	{name: "unread-resumed", what: "6 streams with results of 12 MiB, each resumed 20 times by clients that do not read", run: resumedStreams},
	{name: "redis-unread-resumed", what: "the same with Redis", redis: true, run: resumedStreams},
	{name: "bodies-large", what: "200 bodies of nearly 4 MiB at once, half of them never whole", run: largeBodies},
	{name: "hanging-calls", what: "300 calls of 1 MiB that a backend never answers", run: hangingCalls},
}

// refusals counts what the edge refused, by status.
type refusals struct {
	mu sync.Mutex
	n  map[int]int
}

func (f *refusals) add(status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == nil {
		f.n = map[int]int{}
	}
	f.n[status]++
}

func (f *refusals) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.TrimPrefix(fmt.Sprint(f.n), "map")
}

// bounded: a status that says that a bound was met, or that all is well.
func bounded(status int) bool {
	switch status {
	case http.StatusOK, http.StatusAccepted, http.StatusBadRequest, http.StatusNotFound, http.StatusRequestEntityTooLarge,
		http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	}
	return false
}

func fatSessions(ctx context.Context, s *site) error {
	var statuses refusals
	for _, size := range []int{tooFat, 15_000} {
		info := `{"name":"fat","version":"` + strings.Repeat("v", size) + `"}`
		err := together(50, 8, func(int) error {
			r := s.rogue()
			defer r.close()
			for range 100 {
				a, err := r.initialize(ctx, info)
				if err != nil {
					return err
				}
				statuses.add(a.status)
				if !bounded(a.status) {
					return fmt.Errorf("status %d: %.200s", a.status, a.body)
				}
				if size == tooFat && a.header.Get("Mcp-Session-Id") != "" {
					return fmt.Errorf("a session with client info of %d bytes: status %d", size, a.status)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	s.note("answers %s", &statuses)
	return nil
}

// tooFat is more client info than a session may have, in bytes.
const tooFat = 32_000

func fatSubscriptions(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	id, err := r.hello(ctx, `{"name":"fat","version":"1"}`)
	if err != nil {
		return err
	}
	var statuses refusals
	defer func() { _, _ = r.send(ctx, http.MethodDelete, "", sessionHeader(id)...) }()
	for i := range 40 {
		uri := fmt.Sprintf("attack://%d/%s", i, strings.Repeat("u", 3_900_000))
		a, err := r.legacy(ctx, id, "resources/subscribe", `{"uri":"`+uri+`"}`)
		if err != nil {
			return err
		}
		statuses.add(a.status)
		if !bounded(a.status) {
			return fmt.Errorf("status %d: %.200s", a.status, a.body)
		}
		if !bytes.Contains(a.body, []byte(`"error"`)) {
			return fmt.Errorf("a URI of %d bytes is taken: %.200s", len(uri), a.body)
		}
	}
	s.note("answers %s", &statuses)
	return nil
}

// parkedCalls leaves once the question has come, or the refusal.
func parkedCalls(ctx context.Context, s *site) error {
	var statuses refusals
	arguments := `{"a":"` + strings.Repeat("p", 3_900_000) + `"}`
	err := together(12, 4, func(int) error {
		r := s.rogue()
		defer r.close()
		id, err := r.hello(ctx, `{"name":"parking","version":"1"}`)
		if err != nil {
			return err
		}
		for range 10 {
			resp, err := r.open(ctx, http.MethodPost, r.legacyBody("tools/call", `{"name":"park","arguments":`+arguments+`}`), sessionHeader(id)...)
			if err != nil {
				return err
			}
			statuses.add(resp.StatusCode)
			b := make([]byte, 64)
			_, _ = io.ReadFull(resp.Body, b) // it may end before
			_ = resp.Body.Close()
		}
		return nil
	})
	s.note("answers %s", &statuses)
	return err
}

// deaf opens a connection whose buffer for what comes is small.
func (r *rogue) deaf(ctx context.Context) (net.Conn, error) {
	d := *r.dialer
	d.Control = func(_, _ string, c syscall.RawConn) error {
		var err error
		if e := c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		}); e != nil {
			return e
		}
		return err
	}
	return d.DialContext(ctx, "tcp", r.host)
}

// rawPost is a whole request.
func rawPost(body string, header ...string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n", len(body))
	for i := 0; i+1 < len(header); i += 2 {
		fmt.Fprintf(&b, "%s: %s\r\n", header[i], header[i+1])
	}
	return b.String() + "\r\n" + body
}

// hold sends a request on each of n connections, reads a little of what comes, and keeps all open for a while.
func (s *site) hold(ctx context.Context, n int, request func(*rogue) (string, error)) error {
	var conns sync.Map
	defer conns.Range(func(_, c any) bool { _ = c.(net.Conn).Close(); return true })
	var refused atomic.Int64
	err := together(n, 20, func(i int) error {
		r := s.rogue()
		defer r.close()
		text, err := request(r)
		if err != nil && (strings.Contains(err.Error(), "status 503") || strings.Contains(err.Error(), "status 429")) {
			refused.Add(1) // there is no memory for its session
			return nil
		}
		if err != nil {
			return err
		}
		conn, err := r.deaf(ctx)
		if err != nil {
			return err
		}
		conns.Store(i, conn)
		_ = conn.SetDeadline(time.Now().Add(answersWithin))
		if _, err := io.WriteString(conn, text); err != nil {
			refused.Add(1) // closed before all was sent
			return nil
		}
		b := make([]byte, 12)
		if _, err := io.ReadFull(conn, b); err != nil || string(b) != "HTTP/1.1 200" {
			refused.Add(1)
		}
		return nil
	})
	s.note("%d of %d not served", refused.Load(), n)
	pause(ctx, 2*time.Second) // what is buffered stays so for a while
	return err
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func unreadResults(ctx context.Context, s *site) error {
	return s.hold(ctx, 60, func(r *rogue) (string, error) {
		return rawPost(r.modernBody("tools/call", callMembers("large", "{}")), modernHeader("tools/call", "large")...), nil
	})
}

func unreadStreams(ctx context.Context, s *site) error {
	return s.hold(ctx, 60, func(r *rogue) (string, error) {
		id, err := r.hello(ctx, `{"name":"deaf","version":"1"}`)
		if err != nil {
			return "", err
		}
		return rawPost(r.legacyBody("tools/call", `{"name":"large","arguments":{},"_meta":{"progressToken":1}}`), sessionHeader(id)...), nil
	})
}

// resumedStreams resumes streams before their results, of which each connection is sent all.
func resumedStreams(ctx context.Context, s *site) error {
	const streams, times = 6, 20
	var conns sync.Map
	defer conns.Range(func(_, c any) bool { _ = c.(net.Conn).Close(); return true })
	var refused atomic.Int64
	err := together(streams, streams, func(i int) error {
		r := s.rogue()
		defer r.close()
		id, err := r.hello(ctx, `{"name":"deaf","version":"1"}`)
		if err != nil {
			return err
		}
		a, err := r.legacy(ctx, id, "tools/call", `{"name":"told","arguments":{},"_meta":{"progressToken":1}}`)
		if err != nil {
			return err
		}
		_, first, ok := strings.Cut(string(a.body[:min(len(a.body), 4096)]), "id: ")
		event, _, end := strings.Cut(first, "\n")
		if !ok || !end {
			return fmt.Errorf("a call with progress is no stream that can be resumed: status %d: %.200s", a.status, a.body)
		}
		request := fmt.Sprintf("GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\nMcp-Protocol-Version: %s\r\nLast-Event-ID: %s\r\n\r\n",
			id, legacyVersion, event)
		for n := range times {
			conn, err := r.deaf(ctx)
			if err != nil {
				return err
			}
			conns.Store([2]int{i, n}, conn)
			_ = conn.SetDeadline(time.Now().Add(answersWithin))
			if _, err := io.WriteString(conn, request); err != nil {
				return err
			}
			b := make([]byte, 12)
			if _, err := io.ReadFull(conn, b); err != nil || string(b) != "HTTP/1.1 200" {
				refused.Add(1)
			}
		}
		_, _ = r.send(ctx, http.MethodDelete, "", sessionHeader(id)...)
		return nil
	})
	s.note("%d of %d not served", refused.Load(), streams*times)
	return err
}

func largeBodies(ctx context.Context, s *site) error {
	var conns sync.Map
	defer conns.Range(func(_, c any) bool { _ = c.(net.Conn).Close(); return true })
	return together(200, 40, func(i int) error {
		r := s.rogue()
		defer r.close()
		text := rawPost(r.modernBody("tools/call", callMembers("anything", `{"a":"`+strings.Repeat("b", bodySize)+`"}`)), modernHeader("tools/call", "anything")...)
		conn, err := r.dial(ctx)
		if err != nil {
			return err
		}
		conns.Store(i, conn)
		_ = conn.SetDeadline(time.Now().Add(2 * answersWithin))
		if i%2 == 0 {
			text = text[:len(text)-1]
		}
		_, err = io.WriteString(conn, text)
		if i%2 == 0 || err != nil {
			return nil // an edge that refuses it need not take it all
		}
		b := make([]byte, 12)
		if _, err := io.ReadFull(conn, b); err != nil {
			return fmt.Errorf("a whole body of %d bytes: no answer: %w", len(text), err)
		}
		return nil
	})
}

func hangingCalls(ctx context.Context, s *site) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var statuses refusals
	arguments := `{"a":"` + strings.Repeat("h", 1<<20) + `"}`
	err := together(300, 100, func(int) error {
		r := s.rogue()
		defer r.close()
		a, err := r.call(ctx, "hang", arguments)
		switch {
		case ctx.Err() != nil: // it leaves
			return nil
		case err != nil:
			return err
		case !bounded(a.status):
			return fmt.Errorf("status %d: %.200s", a.status, a.body)
		}
		statuses.add(a.status)
		return nil
	})
	s.note("answers %s", &statuses)
	return err
}
