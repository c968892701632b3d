package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

var bodyAttacks = []attack{
	{name: "bodies-http1", what: "bodies that are announced and never come, whatever the answer, both listeners", run: bodiesHTTP1},
	{name: "bodies-http2", what: "the same over HTTP/2", run: bodiesHTTP2},
	{name: "bodies-drain", what: "SIGTERM while such bodies are awaited", run: bodiesDrain},
	{name: "bodies-trickle", what: "bodies of one byte a second, plain and chunked", run: bodiesTrickle},
	{name: "bodies-chunks", what: "chunks that are malformed", run: bodiesChunks},
}

// slack is how much later than its bound something may happen on a busy machine.
const slack = 30 * time.Second

// request is one that announces a body.
type request struct {
	name    string
	admin   bool
	method  string
	path    string
	header  string // lines
	refused bool   // its answer does not wait for the body
}

// unreadBodies are requests of which nobody reads the body, and two of which it is read.
var unreadBodies = []request{
	{"403, foreign origin", false, "POST", "/mcp", "Origin: http://evil.example\r\nContent-Type: application/json\r\n", true},
	{"404", false, "POST", "/nowhere", "Content-Type: application/json\r\n", true},
	{"415", false, "POST", "/mcp", "Content-Type: text/plain\r\n", true},
	{"406", false, "POST", "/mcp", "Content-Type: application/json\r\nAccept: image/png\r\n", true},
	{"405", false, "PATCH", "/mcp", "Content-Type: application/json\r\n", true},
	{"DELETE", false, "DELETE", "/mcp", "Mcp-Session-Id: nobody\r\n", true},
	{"GET", false, "GET", "/mcp", "Mcp-Session-Id: nobody\r\nAccept: text/event-stream\r\n", true},
	{"OPTIONS", false, "OPTIONS", "/mcp", "Origin: http://127.0.0.1\r\n", true},
	{"/message", false, "POST", "/message?sessionId=nobody", "Content-Type: application/json\r\n", false},
	{"POST", false, "POST", "/mcp", "Content-Type: application/json\r\n", false},
	{"403, foreign host", true, "POST", "/v1/tools/echo:call", "Host: evil.example\r\nContent-Type: application/json\r\n", true},
	{"404", true, "POST", "/nowhere", "Content-Type: application/json\r\n", true},
	{"415", true, "POST", "/v1/tools/echo:call", "Content-Type: text/plain\r\n", true},
	{"GET", true, "GET", "/v1/tools", "", true},
	{"DELETE", true, "DELETE", "/v1/sessions/nobody", "", true},
	{"/healthz", true, "GET", "/healthz", "", true},
	{"/metrics", true, "POST", "/metrics", "", true},
	{"PUT /loglevel", true, "PUT", "/loglevel", "", false},
	{"POST", true, "POST", "/v1/tools/echo:call", "Content-Type: application/json\r\n", false},
}

func (q request) String() string {
	if q.admin {
		return q.name + " of the admin listener"
	}
	return q.name
}

// head is the request up to its body.
func (q request) head(framing string) string {
	host := "Host: 127.0.0.1\r\n"
	if strings.Contains(q.header, "Host:") {
		host = ""
	}
	return q.method + " " + q.path + " HTTP/1.1\r\n" + host + q.header + framing + "\r\n\r\n"
}

// connect dials the request's listener.
func (q request) connect(ctx context.Context, e *edge, r *rogue) (net.Conn, error) {
	addr := e.Addr
	if q.admin {
		addr = e.Admin
	}
	return r.dialer.DialContext(ctx, "tcp", addr)
}

// attempts is how often what has to be answered at once is sent. An edge that waits for a body does so each time; a busy machine is late now and
// then.
const attempts = 4

// bodiesHTTP1 sends each of them on several connections, and waits until the edge has closed all.
func bodiesHTTP1(ctx context.Context, s *site) error {
	const each = 8
	r := s.rogue()
	defer r.close()
	var longest atomic.Int64
	err := together(each*len(unreadBodies), each*len(unreadBodies), func(i int) error {
		q := unreadBodies[i/each]
		framing := "Content-Length: 1000"
		if i%2 == 1 {
			framing = "Transfer-Encoding: chunked"
		}
		for attempt := 1; ; attempt++ {
			conn, err := q.connect(ctx, s.edge, r)
			if err != nil {
				return err
			}
			defer conn.Close()
			began := time.Now()
			if _, err := io.WriteString(conn, q.head(framing)); err != nil {
				return err
			}
			answered, closed := awaitClose(conn, readTimeout+slack)
			longest.Store(max(longest.Load(), int64(time.Since(began))))
			switch {
			case !closed:
				return fmt.Errorf("%s, %s: the connection is open after %s", q, framing, time.Since(began).Round(time.Second))
			case q.refused && answered == 0:
				return fmt.Errorf("%s, %s: no answer", q, framing)
			case !q.refused || answered <= readTimeout:
				return nil
			case attempt == attempts:
				return fmt.Errorf("%s, %s: answered after %s only", q, framing, answered.Round(time.Millisecond))
			}
		}
	})
	s.note("the last connection ended after %.1f s", time.Duration(longest.Load()).Seconds())
	return err
}

// awaitClose reads what comes until the other side closes, or until the time is over. answered is when the
// first byte came; 0: none did.
func awaitClose(conn net.Conn, within time.Duration) (answered time.Duration, closed bool) {
	began := time.Now()
	_ = conn.SetReadDeadline(began.Add(within))
	b := make([]byte, 4096)
	for {
		n, err := conn.Read(b)
		if n > 0 && answered == 0 {
			answered = time.Since(began)
		}
		if err != nil {
			return answered, !errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
}

// bodiesHTTP2 opens streams that never end, on several connections.
func bodiesHTTP2(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	return together(8, 8, func(int) error {
		c, err := dialHTTP2(ctx, r)
		if err != nil {
			return err
		}
		defer c.close()
		var streams []uint32
		var requests []request
		for _, q := range unreadBodies {
			if q.admin {
				continue
			}
			id, err := c.open(q.method, q.path, false, fields(q.header)...)
			if err != nil {
				return err
			}
			streams, requests = append(streams, id), append(requests, q)
		}
		return c.awaitEnds(streams, readTimeout+slack, func(i int) string { return requests[i].String() })
	})
}

// fields are header lines as pairs, names in lower case.
func fields(lines string) []string {
	var out []string
	for line := range strings.SplitSeq(lines, "\r\n") {
		if name, value, ok := strings.Cut(line, ": "); ok {
			out = append(out, strings.ToLower(name), value)
		}
	}
	return out
}

// bodiesDrain has an edge of its own drain while bodies are awaited. Its read timeout is longer than its grace,
// so that nothing but the drain ends them.
func bodiesDrain(ctx context.Context, s *site) error {
	e, err := startEdge(s.o, filepath.Join(s.dir, "drain.log"), setting{"config", s.config}, setting{"shutdown.grace", "10s"}, setting{"listen.read-timeout", "5s"})
	if err != nil {
		return err
	}
	r := newRogue(e.url(), "127.0.0.2")
	defer r.close()
	if err := e.awaitReady(ctx); err != nil {
		e.kill()
		return err
	}
	for _, q := range unreadBodies {
		conn, err := q.connect(ctx, e, r)
		if err == nil {
			defer conn.Close()
			_, err = io.WriteString(conn, q.head("Content-Length: 1000"))
		}
		if err != nil {
			e.kill()
			return err
		}
	}
	began := time.Now()
	if err := e.stop(); err != nil {
		return fmt.Errorf("SIGTERM with %d bodies awaited: %.300w", len(unreadBodies), err)
	}
	s.note("ended %.1f s after SIGTERM", time.Since(began).Seconds())
	return nil
}

// bodiesTrickle sends bodies so slowly that no single read takes long.
func bodiesTrickle(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	return together(40, 40, func(i int) error {
		q := unreadBodies[i%len(unreadBodies)]
		conn, err := q.connect(ctx, s.edge, r)
		if err != nil {
			return err
		}
		defer conn.Close()
		framing, piece := "Content-Length: 1000", "x"
		if i >= 20 {
			framing, piece = "Transfer-Encoding: chunked", "1\r\nx\r\n"
		}
		if _, err := io.WriteString(conn, q.head(framing)); err != nil {
			return err
		}
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			every := time.NewTicker(time.Second)
			defer every.Stop()
			for {
				select {
				case <-every.C:
					if _, err := io.WriteString(conn, piece); err != nil {
						return
					}
				case <-stop:
					return
				}
			}
		}()
		if _, closed := awaitClose(conn, readTimeout+slack); !closed {
			return fmt.Errorf("%s, %s: the connection is open after %s", q, framing, readTimeout+slack)
		}
		return nil
	})
}

// bodiesChunks sends what is no chunk: 400 at once, and a reason that is true.
func bodiesChunks(ctx context.Context, s *site) error {
	r := s.rogue()
	defer r.close()
	for _, chunk := range []string{"zz\r\nabc\r\n", "-1\r\n\r\n", "ffffffffffffffffff\r\nabc\r\n", "3\r\nabcdef\r\n0\r\n\r\n", "3;" + strings.Repeat("e", 20_000) + "\r\nabc\r\n"} {
		for attempt := 1; ; attempt++ {
			late, err := badChunk(ctx, r, chunk)
			if err != nil && (!late || attempt == attempts) {
				return err
			}
			if err == nil {
				break
			}
		}
	}
	return nil
}

// badChunk sends one. late: the answer is the right one, but it did not come at once.
func badChunk(ctx context.Context, r *rogue, chunk string) (late bool, err error) {
	conn, err := r.dial(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	q := request{method: "POST", path: "/mcp", header: "Content-Type: application/json\r\n"}
	began := time.Now()
	if _, err := io.WriteString(conn, q.head("Transfer-Encoding: chunked")+chunk); err != nil {
		return false, err
	}
	_ = conn.SetReadDeadline(time.Now().Add(readTimeout + slack))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return false, fmt.Errorf("chunk %.20q: %w", chunk, err)
	}
	text, _ := io.ReadAll(resp.Body) // what there is of it
	_ = resp.Body.Close()
	took := time.Since(began)
	wrong := resp.StatusCode != http.StatusBadRequest || strings.Contains(string(text), "within")
	if wrong || took > readTimeout {
		return !wrong, fmt.Errorf("chunk %.20q: %s after %s: %.200s", chunk, resp.Status, took.Round(time.Millisecond), text)
	}
	return false, nil
}
