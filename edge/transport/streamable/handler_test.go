package streamable

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// fakeServer ends each exchange as the test says.
type fakeServer struct {
	post func(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
}

func (f *fakeServer) Post(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	f.post(ctx, in, out)
}

func (f *fakeServer) Listen(_ context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	s, err := out.Open()
	if err != nil {
		return
	}
	_ = s.Send(mcp.StreamEvent{ID: "after-" + in.LastEventID, Data: []byte(`{"session":"` + in.Session + `"}`)})
}

func (f *fakeServer) End(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) { out.Accept() }

func echo(_ context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	out.Session("s1")
	out.Respond(mcp.Response{Body: in.Body})
}

func serve(t *testing.T, post func(context.Context, *mcp.Incoming, mcp.Outgoing), o Options) *httptest.Server {
	t.Helper()
	b := budget.New(1 << 40)
	o.Budget = b
	t.Cleanup(func() { wantReleased(t, b) })
	s := httptest.NewServer(New(&fakeServer{post: post}, nil, o))
	t.Cleanup(s.Close)
	return s
}

// wantReleased waits until nothing is held of a budget whose server is closed.
func wantReleased(t *testing.T, b *budget.Budget) {
	t.Helper()
	await.Until(t, "everything is released", func() bool { used, holders := b.Used(); return used == 0 && holders == 0 })
}

func do(t *testing.T, method, url, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		if k == "Host" {
			req.Host = v
		}
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func TestRefusals(t *testing.T) {
	s := serve(t, echo, Options{MaxBody: 32, Hosts: []string{"127.0.0.1", "localhost"}, Origins: []string{"https://app.example"}})
	for name, c := range map[string]struct {
		method, body string
		header       map[string]string
		want         int
	}{
		"plain":                     {"POST", `{}`, nil, 200},
		"accept json only":          {"POST", `{}`, map[string]string{"Accept": "application/json"}, 200},
		"accept wildcard":           {"POST", `{}`, map[string]string{"Accept": "text/html, */*;q=0.1"}, 200},
		"accept neither":            {"POST", `{}`, map[string]string{"Accept": "text/html"}, 406},
		"get without events":        {"GET", "", map[string]string{"Accept": "application/json"}, 406},
		"content type with charset": {"POST", `{}`, map[string]string{"Content-Type": "Application/JSON; charset=UTF-8"}, 200},
		"charset utf8":              {"POST", `{}`, map[string]string{"Content-Type": "application/json; charset=utf8"}, 200},
		"content type twice":        {"POST", `{}`, map[string]string{"Content-Type": "application/json, application/json"}, 200},
		"two content types":         {"POST", `{}`, map[string]string{"Content-Type": "application/json, text/plain"}, 415},
		"other charset":             {"POST", `{}`, map[string]string{"Content-Type": "application/json; charset=latin1"}, 415},
		"other content type":        {"POST", `{}`, map[string]string{"Content-Type": "text/plain"}, 415},
		"compressed":                {"POST", `{}`, map[string]string{"Content-Encoding": "gzip"}, 415},
		"too large":                 {"POST", strings.Repeat("x", 33), nil, 413},
		"at the limit":              {"POST", strings.Repeat("x", 32), nil, 200},
		"other method":              {"PUT", "", nil, 405},
		"delete":                    {"DELETE", "", nil, 204},
		"evil host":                 {"POST", `{}`, map[string]string{"Host": "evil.example"}, 403},
		"own host":                  {"POST", `{}`, map[string]string{"Host": "localhost:1234"}, 200},
		"evil origin":               {"POST", `{}`, map[string]string{"Origin": "https://evil.example"}, 403},
		"null origin":               {"POST", `{}`, map[string]string{"Origin": "null"}, 403},
		"allowed origin":            {"POST", `{}`, map[string]string{"Origin": "https://app.example"}, 200},
		"own origin":                {"POST", `{}`, map[string]string{"Origin": "http://localhost:5173"}, 200},
		"evil origin on get":        {"GET", "", map[string]string{"Origin": "https://evil.example"}, 403},
		"preflight":                 {"OPTIONS", "", map[string]string{"Origin": "https://app.example"}, 204},
		"evil preflight":            {"OPTIONS", "", map[string]string{"Origin": "https://evil.example"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := do(t, c.method, s.URL, c.body, c.header)
			if resp.StatusCode != c.want {
				t.Fatalf("status %d, want %d; body %s", resp.StatusCode, c.want, body)
			}
			if resp.StatusCode >= 400 && !strings.Contains(body, `"error":{"code":-32600,"message":"`) {
				t.Errorf("body %s: want a JSON-RPC error", body)
			}
		})
	}
}

// A body of unknown length is bounded while it is read.
func TestTooLargeBodyInChunks(t *testing.T) {
	s := serve(t, echo, Options{MaxBody: 64})
	req, _ := http.NewRequest(http.MethodPost, s.URL, io.MultiReader(strings.NewReader(strings.Repeat("x", 65))))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Fatalf("status %d, want 413", resp.StatusCode)
	}
}

func TestRespondCarriesSessionAndLength(t *testing.T) {
	s := serve(t, echo, Options{})
	resp, body := do(t, "POST", s.URL, `{"a":1}`, nil)
	if resp.Header.Get("Mcp-Session-Id") != "s1" || resp.ContentLength != 7 || body != `{"a":1}` {
		t.Fatalf("headers %v, body %s", resp.Header, body)
	}
}

func TestStreamIsServerSentEvents(t *testing.T) {
	s := serve(t, func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
		st, err := out.Open()
		if err != nil {
			return
		}
		_ = st.Send(mcp.StreamEvent{ID: "e.1.0"})
		_ = st.KeepAlive()
		_ = st.Send(mcp.StreamEvent{ID: "e.1.1", Data: []byte(`{"x":1}`), Retry: time.Second})
	}, Options{})
	resp, body := do(t, "POST", s.URL, `{}`, nil)
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type %q", ct)
	}
	if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Cache-Control") != "no-cache, no-transform" {
		t.Errorf("headers %v: proxies would buffer", resp.Header)
	}
	for _, want := range []string{"id: e.1.0\ndata:", "\n:", "id: e.1.1\n", "retry: 1000\n", `data: {"x":1}`} {
		if !strings.Contains(body, want) {
			t.Errorf("body %q lacks %q", body, want)
		}
	}
}

func TestListenPassesSessionAndLastEventID(t *testing.T) {
	s := serve(t, echo, Options{})
	_, body := do(t, "GET", s.URL, "", map[string]string{"Mcp-Session-Id": "abc", "Last-Event-ID": "e.1.7", "Accept": "text/event-stream"})
	if !strings.Contains(body, "id: after-e.1.7") || !strings.Contains(body, `{"session":"abc"}`) {
		t.Fatalf("body %q", body)
	}
}

// A kept connection serves on after the write deadline of an earlier response has passed.
func TestWriteDeadlineDoesNotOutliveItsWrite(t *testing.T) {
	const timeout = time.Second
	s := serve(t, func(_ context.Context, in *mcp.Incoming, out mcp.Outgoing) {
		if string(in.Body) == "{}" {
			out.Respond(mcp.Response{Body: in.Body})
			return
		}
		out.Accept()
	}, Options{WriteTimeout: timeout})
	do(t, "POST", s.URL, `{}`, nil)
	<-time.After(timeout + timeout/10)
	if resp, _ := do(t, "POST", s.URL, `{"n":1}`, nil); resp.StatusCode != http.StatusAccepted {
		t.Fatalf("status %d after the deadline of the response before, want 202", resp.StatusCode)
	}
}

// A client that stops reading is disconnected within the write timeout, and the edge holds one event
// and the socket's buffers for it, no more.
func TestSlowReaderIsDisconnected(t *testing.T) {
	failed := make(chan error, 1)
	s := serve(t, func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
		st, err := out.Open()
		for err == nil {
			err = st.Send(mcp.StreamEvent{Data: bytes.Repeat([]byte("x"), 64<<10)})
		}
		failed <- err
	}, Options{WriteTimeout: time.Second})
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	select {
	case <-failed:
	case <-time.After(await.Patience):
		t.Fatal("the writer still waits for a reader that does not read")
	}
}

// A client that does not send the body it announced is refused within the read timeout.
func TestSlowBodyIsRefused(t *testing.T) {
	s := httptest.NewUnstartedServer(New(&fakeServer{post: echo}, nil, Options{ReadTimeout: time.Second}))
	s.Config.ReadTimeout = time.Second
	s.Start()
	t.Cleanup(s.Close)
	c, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{")
	_ = c.SetReadDeadline(time.Now().Add(await.Patience))
	answer := make([]byte, 64)
	n, err := c.Read(answer)
	if err != nil || !bytes.Contains(answer[:n], []byte(" 400 ")) {
		t.Fatalf("answer %q, error %v: want 400", answer[:n], err)
	}
}

func TestStatusTable(t *testing.T) {
	for _, c := range []struct {
		kind           mcp.Kind
		legacy, modern int
	}{
		{mcp.KindNone, 200, 200},
		{mcp.KindParse, 400, 400},
		{mcp.KindInvalidRequest, 400, 400},
		{mcp.KindMethodNotFound, 200, 404},
		{mcp.KindInvalidParams, 200, 400},
		{mcp.KindUnknownTool, 200, 200},
		{mcp.KindResourceNotFound, 200, 200},
		{mcp.KindBadCursor, 200, 200},
		{mcp.KindBadState, 200, 400},
		{mcp.KindHeaderMismatch, 200, 400},
		{mcp.KindMissingCapability, 200, 400},
		{mcp.KindUnsupportedVersion, 400, 400},
		{mcp.KindSessionRequired, 400, 400},
		{mcp.KindSessionNotFound, 404, 404},
		{mcp.KindBadEventID, 400, 400},
		{mcp.KindStateUnavailable, 503, 503},
		{mcp.KindLimit, 429, 429},
		{mcp.KindQuota, 200, 200},
		{mcp.KindUnavailable, 200, 200},
		{mcp.KindInternal, 200, 200},
	} {
		if got := Status(false, c.kind); got != c.legacy {
			t.Errorf("legacy kind %d: %d, want %d", c.kind, got, c.legacy)
		}
		if got := Status(true, c.kind); got != c.modern {
			t.Errorf("modern kind %d: %d, want %d", c.kind, got, c.modern)
		}
	}
}

// An answering stream costs one write for its head and what is there at once, and one for its last event
// and end. A reader's head leaves by itself, with a comment behind it, which proxies pass on.
func TestHeadAndEndLeaveWithEvents(t *testing.T) {
	for _, c := range []struct {
		method string
		want   []string
	}{
		{http.MethodPost, []string{"HTTP/1.1 200 OK,id: a,id: b", "id: c,end"}},
		{http.MethodGet, []string{"HTTP/1.1 200 OK", "comment", "id: a,id: b", "id: c,end"}},
	} {
		t.Run(c.method, func(t *testing.T) {
			send := func(out mcp.Outgoing) {
				st, err := out.Open()
				if err != nil {
					t.Error(err)
					return
				}
				_ = st.Send(mcp.StreamEvent{ID: "a", More: true})
				_ = st.Send(mcp.StreamEvent{ID: "b"})
				_ = st.Send(mcp.StreamEvent{ID: "c", More: true})
			}
			s := httptest.NewUnstartedServer(New(&streaming{send}, nil, Options{}))
			var writes writeLog
			s.Listener = &loggingListener{s.Listener, &writes}
			s.Start()
			defer s.Close()
			do(t, c.method, s.URL, "{}", nil)
			if got := writes.seen("HTTP/1.1 200 OK", "id: a", "id: b", "id: c", ":\n\n=comment", "0\r\n\r\n=end"); !slices.Equal(got, c.want) {
				t.Errorf("writes %q, want %q", got, c.want)
			}
		})
	}
}

// streaming answers everything with the same events.
type streaming struct{ send func(mcp.Outgoing) }

func (s *streaming) Post(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing)   { s.send(out) }
func (s *streaming) Listen(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) { s.send(out) }
func (s *streaming) End(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing)    { out.Accept() }

// writeLog is what was written to connections, write by write.
type writeLog struct {
	mu     sync.Mutex
	writes []string
}

// seen names what each write holds, of the marks ("text" or "text=name") that are looked for.
func (l *writeLog) seen(marks ...string) (out []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.writes {
		var found []string
		for _, m := range marks {
			text, name, ok := strings.Cut(m, "=")
			if !ok {
				name = text
			}
			if strings.Contains(w, text) {
				found = append(found, name)
			}
		}
		out = append(out, strings.Join(found, ","))
	}
	return out
}

type loggingListener struct {
	net.Listener
	log *writeLog
}

func (l *loggingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &loggingConn{c, l.log}, err
}

type loggingConn struct {
	net.Conn
	log *writeLog
}

func (c *loggingConn) Write(b []byte) (int, error) {
	c.log.mu.Lock()
	c.log.writes = append(c.log.writes, string(b))
	c.log.mu.Unlock()
	return c.Conn.Write(b)
}
