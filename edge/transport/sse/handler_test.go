package sse_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/transport/sse"
	"github.com/mcpedge/mcpedge/edge/transport/web"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// fake ends each exchange as the test says; a nil member is never called.
type fake struct {
	post   func(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)
	listen func(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing)

	mu    sync.Mutex
	ended []string
}

func (f *fake) Post(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) { f.post(ctx, in, out) }

func (f *fake) Listen(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	if f.listen != nil {
		f.listen(ctx, in, out)
		return
	}
	if _, err := out.Open(); err == nil {
		<-ctx.Done()
	}
}

func (f *fake) End(_ context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	f.mu.Lock()
	f.ended = append(f.ended, in.Session)
	f.mu.Unlock()
	out.Accept()
}

func (f *fake) endings() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.ended, " ")
}

// bearer takes the Authorization header for the subject.
type bearer struct{}

func (bearer) Authenticate(r *http.Request) (mcp.Principal, *web.Denial) {
	return mcp.Principal{Subject: r.Header.Get("Authorization")}, nil
}

// serve serves both endpoints in front of a fake.
func serve(t *testing.T, f *fake, auth web.Authenticator, o sse.Options) (*sse.Handler, string) {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	b := budget.New(1 << 40)
	o.Web.Budget = b
	t.Cleanup(func() { wantReleased(t, b) })
	h := sse.New(f, auth, o)
	mux := http.NewServeMux()
	mux.HandleFunc(sse.StreamPath, func(w http.ResponseWriter, r *http.Request) { h.Stream(w, r, "") })
	mux.HandleFunc(sse.MessagePath, func(w http.ResponseWriter, r *http.Request) { h.Message(w, r, "") })
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return h, s.URL
}

// wantReleased waits until nothing is held of a budget whose server is closed.
func wantReleased(t *testing.T, b *budget.Budget) {
	t.Helper()
	await.Until(t, "everything is released", func() bool { used, holders := b.Used(); return used == 0 && holders == 0 })
}

// answer responds to whatever comes as the id says.
func answer(id string) []byte { return []byte(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`) }

func echo(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
	out.Respond(mcp.Response{Body: answer("1")})
}

func TestRefusals(t *testing.T) {
	_, base := serve(t, &fake{post: echo}, bearer{}, sse.Options{Web: web.Options{
		MaxBody: 32, Hosts: []string{"127.0.0.1", "localhost"}, Origins: []string{"https://app.example"},
	}})
	c := connect(t, base, "Authorization", "alice")
	for name, b := range map[string]struct {
		method, uri, body string
		header            []string
		want              int
	}{
		"post":               {"POST", c.post, "{}", nil, 202},
		"allowed origin":     {"POST", c.post, "{}", []string{"Origin", "https://app.example"}, 202},
		"evil origin":        {"POST", c.post, "{}", []string{"Origin", "https://evil.example"}, 403},
		"evil origin on GET": {"GET", base + "/sse", "", []string{"Origin", "https://evil.example"}, 403},
		"evil host":          {"POST", c.post, "{}", []string{"Host", "evil.example"}, 403},
		"evil host on GET":   {"GET", base + "/sse", "", []string{"Host", "evil.example"}, 403},
		"preflight":          {"OPTIONS", c.post, "", []string{"Origin", "https://app.example"}, 204},
		"preflight of GET":   {"OPTIONS", base + "/sse", "", []string{"Origin", "https://app.example"}, 204},
		"evil preflight":     {"OPTIONS", c.post, "", []string{"Origin", "https://evil.example"}, 403},
		"not acceptable":     {"GET", base + "/sse", "", []string{"Accept", "application/json"}, 406},
		"POST to the stream": {"POST", base + "/sse", "{}", nil, 405},
		"GET of messages":    {"GET", c.post, "", nil, 405},
		"DELETE":             {"DELETE", c.post, "", nil, 405},
		"no token":           {"POST", base + "/message", "{}", nil, 400},
		"unknown token":      {"POST", base + "/message?sessionId=NOSUCH", "{}", nil, 404},
		"long token":         {"POST", base + "/message?sessionId=" + strings.Repeat("x", 4096), "{}", nil, 404},
		"another caller":     {"POST", c.post, "{}", []string{"Authorization", "mallory"}, 404},
		"wrong type":         {"POST", c.post, "{}", []string{"Content-Type", "text/plain"}, 415},
		"wrong charset":      {"POST", c.post, "{}", []string{"Content-Type", "application/json; charset=latin1"}, 415},
		"encoding":           {"POST", c.post, "{}", []string{"Content-Encoding", "gzip"}, 415},
		"large body":         {"POST", c.post, strings.Repeat("x", 33), nil, 413},
	} {
		t.Run(name, func(t *testing.T) {
			header := append([]string{"Authorization", "alice"}, b.header...)
			resp, text := do(t, c.http, b.method, b.uri, b.body, header...)
			if resp.StatusCode != b.want {
				t.Fatalf("status %d, want %d: %s", resp.StatusCode, b.want, text)
			}
			if resp.StatusCode >= 400 && !strings.Contains(text, `"error":{"code":-32600,"message":"`) {
				t.Errorf("body %s: want a JSON-RPC error", text)
			}
			if resp.StatusCode == 405 && resp.Header.Get("Allow") == "" {
				t.Error("no Allow header")
			}
			if b.want == 202 && text != "" {
				t.Errorf("body %q, want none", text)
			}
		})
	}
	_, text := do(t, c.http, "POST", base+"/message?sessionId=NOSUCH", "{}", "Authorization", "alice")
	if !strings.Contains(text, "replica") {
		t.Errorf("the 404 %s does not say what several replicas need", text)
	}
}

func TestEndpointBehindAPrefix(t *testing.T) {
	_, base := serve(t, &fake{post: echo}, nil, sse.Options{})
	for header, want := range map[string]string{
		"/tools": "/tools/message?", "/a/b/": "/a/b/message?", "": "/message?", "/": "/message?",
		"//evil.example": "/message?", "https://evil.example": "/message?", "/a, /b": "/message?",
		"/" + strings.Repeat("x", 300): "/message?", `/\evil.example`: "/message?",
	} {
		c := connect(t, base, "X-Forwarded-Prefix", header)
		if !strings.HasPrefix(c.uri, want+"sessionId=") {
			t.Errorf("prefix %q: endpoint %q, want %s…", header, c.uri, want)
		}
		c.leave()
	}
}

// An idle connection is kept alive by comments, and no more often than asked.
func TestKeepAlive(t *testing.T) {
	_, base := serve(t, &fake{post: echo}, nil, sse.Options{KeepAlive: 20 * time.Millisecond})
	c := newHTTP(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	began := time.Now()
	resp := request(t, ctx, c, "GET", base+"/sse", "")
	defer resp.Body.Close()
	comments := 0
	for lines := bufio.NewScanner(resp.Body); comments < 3 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), ":") {
			comments++
		}
	}
	if comments < 3 {
		t.Fatalf("the stream ended after %d comments", comments)
	}
	if took := time.Since(began); took < 60*time.Millisecond {
		t.Errorf("three comments in %s", took)
	}
}

// A client that does not read is disconnected, and its session ended.
func TestSlowReaderIsDisconnected(t *testing.T) {
	failed := make(chan error, 1)
	f := &fake{post: func(_ context.Context, in *mcp.Incoming, out mcp.Outgoing) {
		if in.Session == "" {
			out.Session("S")
			out.Respond(mcp.Response{Body: answer("0")})
			return
		}
		st, err := out.Open()
		for err == nil {
			err = st.Send(mcp.StreamEvent{Data: bytes.Repeat([]byte("x"), 64<<10)})
		}
		failed <- err
	}}
	_, base := serve(t, f, nil, sse.Options{Web: web.Options{WriteTimeout: time.Second}})
	conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /sse HTTP/1.1\r\nHost: x\r\n\r\n")
	lines := bufio.NewScanner(conn)
	uri := ""
	for uri == "" && lines.Scan() {
		uri, _ = strings.CutPrefix(lines.Text(), "data: ")
		if !strings.HasPrefix(uri, "/message") {
			uri = ""
		}
	}
	c := newHTTP(t)
	for range 2 {
		if resp, text := do(t, c, "POST", base+uri, "{}"); resp.StatusCode != http.StatusAccepted {
			t.Fatalf("status %d: %s", resp.StatusCode, text)
		}
	}
	select {
	case <-failed:
	case <-time.After(patience):
		t.Fatal("the writer still waits for a reader that does not read")
	}
	await.Until(t, "the session is ended", func() bool { return f.endings() == "S" })
	await.Until(t, "the token is unknown", func() bool {
		resp, _ := do(t, c, "POST", base+uri, "{}")
		return resp.StatusCode == http.StatusNotFound
	})
}

// A stream that the era lets go of, for the client to resume, is read on by the connection; ids and
// events without data stay inside.
func TestConnectionResumesItself(t *testing.T) {
	asked := make(chan string, 4)
	f := &fake{
		post: func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
			st, _ := out.Open()
			_ = st.Send(mcp.StreamEvent{ID: "s.1.0"})
			_ = st.Send(mcp.StreamEvent{ID: "s.1.1", Data: []byte(`{"n":1}`)})
			_ = st.Send(mcp.StreamEvent{ID: "s.1.1", Retry: time.Millisecond})
		},
		listen: func(_ context.Context, in *mcp.Incoming, out mcp.Outgoing) {
			asked <- in.LastEventID
			switch len(asked) {
			case 1:
				out.Respond(mcp.Response{Kind: mcp.KindStateUnavailable, Body: []byte(`{"error":{}}`)})
			case 2:
				st, _ := out.Open()
				_ = st.Send(mcp.StreamEvent{ID: "s.1.2", Data: []byte(`{"n":2}`)})
				_ = st.Send(mcp.StreamEvent{ID: "s.1.2", Retry: time.Millisecond})
			default:
				st, _ := out.Open()
				_ = st.Send(mcp.StreamEvent{ID: "s.1.3", Data: []byte(`{"n":3}`)})
			}
		},
	}
	_, base := serve(t, f, nil, sse.Options{})
	c := connect(t, base)
	c.send("{}")
	for _, want := range []string{`{"n":1}`, `{"n":2}`, `{"n":3}`} {
		if m := c.message(); m.raw != want {
			t.Errorf("message %s, want %s", m.raw, want)
		}
	}
	for _, want := range []string{"s.1.1", "s.1.1", "s.1.2"} {
		if got := <-asked; got != want {
			t.Errorf("resumed after %s, want %s", got, want)
		}
	}
}

// initialize once more makes a new session and ends the old; the standalone stream is the new
// one's.
func TestInitializeAgain(t *testing.T) {
	listening := make(chan string, 2)
	n := 0
	f := &fake{
		post: func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
			n++
			out.Session(fmt.Sprint("S", n))
			out.Respond(mcp.Response{Body: answer(fmt.Sprint(n))})
		},
		listen: func(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
			st, _ := out.Open()
			_ = st.Send(mcp.StreamEvent{Data: []byte(`{"jsonrpc":"2.0","method":"of/` + in.Session + `"}`)})
			listening <- in.Session
			<-ctx.Done()
		},
	}
	_, base := serve(t, f, nil, sse.Options{})
	c := connect(t, base)
	for _, id := range []string{"1", "2"} {
		c.send("{}")
		if m := c.message(); string(m.ID) != id {
			t.Errorf("message %s: want the response first", m.raw)
		}
		c.called("of/S" + id)
		if got := <-listening; got != "S"+id {
			t.Errorf("attached %s", got)
		}
	}
	await.Until(t, "the first session is ended", func() bool { return f.endings() == "S1" })
	c.leave()
	await.Until(t, "the second session is ended", func() bool { return f.endings() == "S1 S2" })
}

// A session that is gone takes its connection with it: the client notices and begins anew.
func TestLostSessionClosesTheConnection(t *testing.T) {
	f := &fake{
		post: func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
			out.Session("S")
			out.Respond(mcp.Response{Body: answer("1")})
		},
		listen: func(_ context.Context, _ *mcp.Incoming, out mcp.Outgoing) {
			out.Respond(mcp.Response{Kind: mcp.KindSessionNotFound, Body: []byte(`{"error":{}}`)})
		},
	}
	_, base := serve(t, f, nil, sse.Options{})
	c := connect(t, base)
	resp := request(t, t.Context(), c.http, "POST", c.post, "{}")
	_ = resp.Body.Close()
	c.ended()
}

// An exchange is admitted before it ends: the POST is answered, and the next served beside it.
func TestAdmit(t *testing.T) {
	release := make(chan struct{})
	f := &fake{post: func(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
		if string(in.Body) == "2" {
			close(release)
			out.Accept()
			return
		}
		in.Admit()
		select {
		case <-release:
		case <-ctx.Done():
		}
		out.Respond(mcp.Response{Body: answer("1")})
	}}
	_, base := serve(t, f, nil, sse.Options{})
	c := connect(t, base)
	c.send("1")
	c.send("2")
	c.response("1")
}

func TestBounds(t *testing.T) {
	f := &fake{post: func(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
		in.Admit()
		<-ctx.Done()
		out.Accept()
	}}
	_, base := serve(t, f, bearer{}, sse.Options{MaxConnections: 1, MaxExchanges: 2})
	c := connect(t, base, "Authorization", "alice")
	for i, want := range []int{202, 202, 429} {
		resp, text := do(t, c.http, "POST", c.post, "{}", "Authorization", "alice")
		if resp.StatusCode != want {
			t.Errorf("message %d: status %d, want %d: %s", i, resp.StatusCode, want, text)
		}
		if want == 429 && resp.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	if resp, text := do(t, c.http, "GET", base+"/sse", "", "Authorization", "alice"); resp.StatusCode != 429 {
		t.Errorf("one connection more: status %d, want 429: %s", resp.StatusCode, text)
	}
	connect(t, base, "Authorization", "bob").leave()
	c.leave()
	await.Until(t, "there is room again", func() bool {
		resp := request(t, t.Context(), c.http, "GET", base+"/sse", "", "Authorization", "alice")
		_ = resp.Body.Close()
		return resp.StatusCode == 200
	})
}

// A panic ends its connection and nothing else.
func TestPanic(t *testing.T) {
	f := &fake{post: func(context.Context, *mcp.Incoming, mcp.Outgoing) { panic("a fault") }}
	_, base := serve(t, f, nil, sse.Options{})
	c := connect(t, base)
	resp := request(t, t.Context(), c.http, "POST", c.post, "{}")
	_ = resp.Body.Close()
	c.ended()
	connect(t, base)
}

// Drain refuses new connections, and cuts what does not end in time.
func TestDrainCuts(t *testing.T) {
	f := &fake{post: func(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
		in.Admit()
		<-ctx.Done()
		out.Accept()
	}}
	h, base := serve(t, f, nil, sse.Options{})
	c, idle := connect(t, base), connect(t, base)
	c.send("{}")
	ctx, cancel := context.WithCancel(context.Background())
	drained := make(chan error, 1)
	go func() { drained <- h.Drain(ctx) }()
	idle.ended()
	if resp, text := do(t, c.http, "GET", base+"/sse", ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new connection: status %d, want 503: %s", resp.StatusCode, text)
	}
	cancel()
	if err := <-drained; err == nil {
		t.Error("the drain did not say that it cut a call")
	}
	c.ended()
	if err := h.Drain(t.Context()); err != nil {
		t.Errorf("once all have ended: %v", err)
	}
}
