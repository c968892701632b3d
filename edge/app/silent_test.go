package app

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/transport/accept"
	"github.com/mcpedge/mcpedge/edge/transport/web"
)

// silence is what a client does that is slow, deaf or silent, and what becomes of it.
type silence struct {
	// name is that of the row in docs/limits.md.
	name string
	// admin: it is done to the admin listener too, whose path and method are put in.
	admin bool
	do    func(c *client)
	// status that comes, "": none does, and when; gone is when the connection is. Both are from its
	// beginning.
	status         string
	answered, gone time.Duration
}

const (
	headerOnly = "Host: localhost\r\n"
	announced  = headerOnly + "Content-Type: application/json\r\nContent-Length: 100\r\n"
	chunked    = headerOnly + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
	s          = time.Second
)

// silences over HTTP/1.1.
var silences = []silence{
	{name: "sends nothing", admin: true, do: func(*client) {}, gone: 10 * s},
	{name: "half a header", admin: true, do: func(c *client) { c.send("POST /mcp HTTP/1.1\r\nHost: lo") }, gone: 10 * s},
	{name: "a header, byte by byte", admin: true, do: func(c *client) {
		c.send("POST /mcp HTTP/1.1\r\nHost: ")
		c.trickle("x")
	}, gone: 10 * s},
	{name: "half a header of the second request", admin: true, do: func(c *client) {
		c.get()
		c.send("GET /mc")
	}, status: "HTTP/1.1 ", gone: 10 * s},
	{name: "nothing after the first request", admin: true, do: func(c *client) { c.get() }, status: "HTTP/1.1 ", gone: 120 * s},
	{name: "no body, though it was announced", admin: true, do: func(c *client) { c.post(announced, "") }, status: "HTTP/1.1 400", answered: 30 * s, gone: 30 * s},
	{name: "half a body", admin: true, do: func(c *client) { c.post(announced, `{"jsonrpc":`) }, status: "HTTP/1.1 400", answered: 30 * s, gone: 30 * s},
	{name: "a body, byte by byte", admin: true, do: func(c *client) {
		c.post(announced, "")
		c.trickle(" ")
	}, status: "HTTP/1.1 400", answered: 30 * s, gone: 30 * s},
	{name: "half a chunk", admin: true, do: func(c *client) { c.post(chunked, "a\r\n{") }, status: "HTTP/1.1 400", answered: 30 * s, gone: 30 * s},
	{name: "no last chunk", admin: true, do: func(c *client) { c.post(chunked, "2\r\n{}\r\n") }, status: "HTTP/1.1 400", answered: 30 * s, gone: 30 * s},
	{name: "a chunk that is none", admin: true, do: func(c *client) { c.post(chunked, "zz\r\n") }, status: "HTTP/1.1 400"},
	{name: "no body of a refused POST", admin: true, do: func(c *client) {
		c.post(strings.Replace(announced, "application/json", "text/plain", 1), "")
	}, status: "HTTP/1.1 415", gone: 30 * s},
	{name: "no body that is too large", admin: true, do: func(c *client) {
		c.post(strings.Replace(announced, "100", "5000000000", 1), "")
	}, status: "HTTP/1.1 413", gone: s / 2},
	{name: "no body for another host", do: func(c *client) { c.post(strings.Replace(announced, "localhost", "evil.example", 1), "") }, status: "HTTP/1.1 403", gone: 30 * s},
	{name: "no body of a GET", admin: true, do: func(c *client) { c.head("GET", announced, "") }, status: "HTTP/1.1 ", gone: 30 * s},
	{name: "no body of a DELETE", admin: true, do: func(c *client) { c.head("DELETE", chunked, "") }, status: "HTTP/1.1 ", gone: 30 * s},
	{name: "no body of an OPTIONS", admin: true, do: func(c *client) { c.head("OPTIONS", announced, "") }, status: "HTTP/1.1 204", gone: 30 * s},
	{name: "no body of a PUT", admin: true, do: func(c *client) { c.head("PUT", announced, "") }, status: "HTTP/1.1 405", gone: 30 * s},
	{name: "no body for a path that is not there", admin: true, do: func(c *client) {
		c.send("POST /nothing HTTP/1.1\r\n" + announced + "\r\n")
	}, status: "HTTP/1.1 404", gone: 30 * s},
	{name: "no body that it asks leave for", admin: true, do: func(c *client) {
		c.post(strings.Replace(announced, "application/json", "text/plain", 1)+"Expect: 100-continue\r\n", "")
	}, status: "HTTP/1.1 415", gone: 30 * s},
	{name: "reads nothing of an answer", admin: true, do: func(c *client) {
		c.deaf()
		c.head("GET", headerOnly, "")
	}, gone: 10 * s},
	{name: "reads nothing of a refusal by the path", admin: true, do: func(c *client) {
		c.deaf()
		c.send("GET /nothing HTTP/1.1\r\n" + headerOnly + "\r\n")
	}, gone: 10 * s},
	{name: "reads nothing of a malformed request's answer", admin: true, do: func(c *client) {
		c.deaf()
		c.send("BAD\r\nHost: localhost.localdomain\r\n\r\n")
	}, gone: 10 * s},
	{name: "reads nothing of an open stream", do: func(c *client) { c.stream() }, status: "HTTP/1.1 200", gone: 10 * s},
}

// TestSilentClients: whatever a client leaves out, its connection is gone in time, and what can be
// answered without it is answered at once. The page for operators has the table.
func TestSilentClients(t *testing.T) {
	clearOTel(t)
	for _, c := range silences {
		for _, admin := range []bool{false, true} {
			if admin && !c.admin {
				continue
			}
			t.Run(fmt.Sprintf("%s/admin=%t", c.name, admin), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { c.run(t, serveInMemory(t, admin)) })
			})
		}
	}
}

func (row silence) run(t *testing.T, l *memoryListener) *client {
	c := l.dial(t)
	row.do(c)
	c.hear()
	synctest.Wait()
	for !c.answered() && l.accepted.Open() > 0 {
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
	}
	if got := time.Since(c.began).Truncate(s / 10); c.answered() && got != row.answered {
		t.Errorf("answered after %s, want %s", got, row.answered)
	}
	for l.accepted.Open() > 0 {
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
	}
	if got := time.Since(c.began).Truncate(s / 10); got != row.gone {
		t.Errorf("gone after %s, want %s", got, row.gone)
	}
	if line, _, _ := strings.Cut(c.text(), "\n"); !strings.Contains(line, row.status) || row.status == "" && line != "" {
		t.Errorf("got %.200q, want %q", line, row.status)
	}
	return c
}

// TestSilentClientsAreDocumented: the page for operators has the tables.
func TestSilentClientsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range slices.Concat(silences, silences2, silencesTLS) {
		if !strings.Contains(string(page), row.String()) {
			t.Errorf("docs/limits.md lacks the row\n%s", row)
		}
	}
}

// String is the row of the table.
func (row silence) String() string {
	answer, where := "–", ""
	if fields := strings.Fields(row.status + " "); len(fields) > 0 {
		answer = "at once"
		if row.answered > 0 {
			answer = row.answered.String()
		}
		if status := fields[len(fields)-1]; status != "HTTP/1.1" {
			answer += ", " + status
		}
	}
	if !row.admin && slices.ContainsFunc(silences, func(r silence) bool { return r.name == row.name }) {
		where = " (MCP)"
	}
	gone := "at once"
	if row.gone > 0 {
		gone = "after " + row.gone.String()
	}
	return fmt.Sprintf("| %s%s | %s | %s |", row.name, where, answer, gone)
}

// TestBodyErrors: the response says what is wrong with the request's body.
func TestBodyErrors(t *testing.T) {
	clearOTel(t)
	for name, want := range map[string]string{
		"no body, though it was announced": "the body was not there whole within 30s",
		"half a chunk":                     "the body was not there whole within 30s",
		"a chunk that is none":             `the body is malformed: \"invalid byte in chunk length\"`,
	} {
		i := slices.IndexFunc(silences, func(s silence) bool { return s.name == name })
		synctest.Test(t, func(t *testing.T) {
			if c := silences[i].run(t, serveInMemory(t, false)); !c.says(want) {
				t.Errorf("%s: %q, want %q", name, c.text(), want)
			}
		})
	}
}

// memoryListener accepts connections that have no buffers: who does not read blocks who writes.
type memoryListener struct {
	accepted *accept.Listener
	conns    chan net.Conn
	closed   chan struct{}
	admin    bool
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *memoryListener) Addr() net.Addr { return &net.TCPAddr{} }

// serveInMemory serves one of an edge's addresses until the test ends.
func serveInMemory(t *testing.T, admin bool) *memoryListener {
	t.Helper()
	return serveInMemoryWith(t, admin, config.Default())
}

func serveInMemoryWith(t *testing.T, admin bool, cfg config.Config) *memoryListener {
	t.Helper()
	a, err := New(cfg, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	l := &memoryListener{conns: make(chan net.Conn), closed: make(chan struct{}), admin: admin}
	l.accepted = accept.NewListener(l, accept.Options{WriteTimeout: cfg.Listen.WriteTimeout})
	server := map[bool]*web.Server{false: a.mcp, true: a.admin}[admin]
	ctx, stop := context.WithCancel(context.Background())
	if err := a.startState(ctx, func() {}); err != nil {
		t.Fatal(err)
	}
	a.stateful.Start(ctx)
	a.opened.Store(true)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l.accepted)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
		stop()
		_ = a.close(context.Background())
		time.Sleep(time.Second) // what is about to end by itself has
	})
	return l
}

// client is one end of a connection.
type client struct {
	net.Conn
	l     *memoryListener
	t     *testing.T
	admin bool
	began time.Time
	// work is what it does in the background.
	work sync.WaitGroup

	mu  sync.Mutex
	got bytes.Buffer
	// hearing: what comes is read.
	hearing, isDeaf bool
	// deafAfter is the answer after which nothing is read, over HTTP/2.
	deafAfter string
}

func (l *memoryListener) dial(t *testing.T) *client {
	ours, theirs := net.Pipe()
	l.conns <- theirs
	c := &client{Conn: ours, l: l, t: t, admin: l.admin, began: time.Now()}
	t.Cleanup(func() {
		_ = ours.Close()
		c.work.Wait()
	})
	return c
}

// hear reads on in the background, unless the client is deaf.
func (c *client) hear() {
	if c.hearing || c.isDeaf {
		return
	}
	c.hearing = true
	c.work.Go(func() {
		for b := make([]byte, 4096); ; {
			n, err := c.Read(b)
			if err != nil {
				return
			}
			c.note(b[:n])
		}
	})
}

// deaf has nothing be read from now on.
func (c *client) deaf() { c.isDeaf = true }

func (c *client) note(b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got.Write(b)
}

func (c *client) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.got.String()
}

func (c *client) answered() bool { return c.text() != "" }

// says reports whether the answer has some text.
func (c *client) says(text string) bool { return strings.Contains(c.text(), text) }

// send writes; a server that does not read it all may have closed the connection.
func (c *client) send(text string) { _, _ = io.WriteString(c, text) }

// trickle writes one byte each second, from now on.
func (c *client) trickle(text string) {
	c.work.Go(func() {
		for {
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	})
}

// head sends a request for what is served.
func (c *client) head(method, headers, body string) {
	path := "/mcp"
	if c.admin {
		path = "/v1/sessions"
		if method == "POST" {
			path = "/v1/tools:call"
		}
	}
	c.send(method + " " + path + " HTTP/1.1\r\n" + headers + "\r\n" + body)
}

func (c *client) post(headers, body string) { c.head("POST", headers, body) }

// ask sends a request and reads its whole response.
func (c *client) ask(method, headers, body string) http.Header {
	c.head(method, headers, body)
	var all bytes.Buffer
	r, err := http.ReadResponse(bufio.NewReaderSize(io.TeeReader(c, &all), 1), nil)
	if err != nil {
		c.t.Error(err)
		return nil
	}
	if method != "GET" || r.Header.Get("Content-Type") != web.TypeEvents {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	c.note(all.Bytes())
	return r.Header
}

func (c *client) get() { c.ask("GET", headerOnly, "") }

// stream opens the standalone stream of a new session and reads none of it.
func (c *client) stream() {
	id := c.begin()
	c.ask("GET", headerOnly+"Mcp-Session-Id: "+id+"\r\nAccept: text/event-stream\r\n", "")
	c.deaf()
}

// begin begins a session.
func (c *client) begin() (id string) {
	post := func(headers, body string) http.Header {
		return c.ask("POST", headerOnly+headers+fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n", len(body)), body)
	}
	id = post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`).Get("Mcp-Session-Id")
	post("Mcp-Session-Id: "+id+"\r\n", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return id
}
