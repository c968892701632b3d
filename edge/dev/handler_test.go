package dev

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestFilesAreServedUnderThePolicy(t *testing.T) {
	server := serve(t, NewStore(Options{}))
	entries, err := files.ReadDir("page")
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{"/dev": "text/html; charset=utf-8"}
	for _, e := range entries {
		if name := e.Name(); name != "index.html" {
			paths["/dev/"+name] = map[string]string{
				"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml",
			}[name[strings.LastIndexByte(name, '.')+1:]]
		}
	}
	for path, kind := range paths {
		resp, err := server.Client().Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		h := resp.Header
		if resp.StatusCode != 200 || len(body) == 0 || h.Get("Content-Type") != kind || h.Get("Content-Security-Policy") != policy || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s, %d bytes, %v", path, resp.Status, len(body), h)
		}
		// The page loads nothing from elsewhere, and has no inline scripts.
		for _, bad := range []string{"http://", "https://", "innerHTML", "insertAdjacentHTML", "document.write", " style=", " onclick"} {
			if text := strings.ReplaceAll(string(body), "http://www.w3.org/2000/svg", ""); strings.Contains(text, bad) {
				t.Errorf("%s contains %q", path, bad)
			}
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %s", policy)
	}
}

// Requests with another host, as in DNS rebinding, or from another origin are refused.
func TestOthersAreRefused(t *testing.T) {
	h := Handler(NewStore(Options{}), nil, "here", loopback, nil)
	for _, c := range []struct {
		method, path, host, origin string
		status                     int
	}{
		{"GET", "/dev", "127.0.0.1:9090", "", 200},
		{"GET", "/dev/calls", "localhost:9090", "http://localhost:9090", 200},
		{"GET", "/dev/calls", "[::1]:9090", "", 200},
		{"GET", "/dev", "evil.example", "", 403},
		{"GET", "/dev/calls", "evil.example:9090", "http://evil.example:9090", 403},
		{"GET", "/dev/events", "127.0.0.1:9090", "https://evil.example", 403},
		{"GET", "/dev/calls", "127.0.0.1:9090", "null", 403},
		{"POST", "/v1/traces", "127.0.0.1:9090", "https://evil.example", 403},
		{"POST", "/v1/traces", "evil.example", "", 403},
		{"POST", "/dev", "127.0.0.1:9090", "", 405},
		{"DELETE", "/dev", "127.0.0.1:9090", "", 405},
		{"GET", "/dev/nothing", "127.0.0.1:9090", "", 404},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s %s, host %s, origin %q: status %d, want %d: %s", c.method, c.path, c.host, c.origin, w.Code, c.status, w.Body)
		}
	}
}

func TestCallsAsJSON(t *testing.T) {
	s := NewStore(Options{})
	server := serve(t, s)
	var got listing
	if fetch(t, server, "/dev/calls", 200, &got); len(got.Calls) != 0 || got.Calls == nil {
		t.Errorf("at first: %+v", got)
	}
	tr := tracer(t, s, "mcpedge", telemetry.Scope)
	for i, tool := range []string{"one", "<script>alert(1)</script>"} {
		_, op := operation(context.Background(), tr, tool, 1, at(i))
		op.End(at(i + 5))
	}
	if fetch(t, server, "/dev/calls", 200, &got); len(got.Calls) != 2 || got.Calls[1].Target != "one" {
		t.Fatalf("%+v", got)
	}
	var w waterfall
	fetch(t, server, "/dev/calls/"+got.Calls[0].ID, 200, &w)
	if w.Call != got.Calls[0] || len(w.Spans) != 1 {
		t.Errorf("%+v", w)
	}
	fetch(t, server, "/dev/calls/0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331", 404, nil)
	fetch(t, server, "/dev/calls/x", 400, nil)
}

// stream reads events one by one.
type stream struct {
	t     *testing.T
	lines *bufio.Scanner
}

func openStream(t *testing.T, ctx context.Context, server *httptest.Server) stream {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/dev/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != 200 {
		t.Fatalf("status %s", resp.Status)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return stream{t, lines}
}

func (s stream) next() (name string, data changes) {
	s.t.Helper()
	for s.lines.Scan() {
		line := s.lines.Text()
		if v, ok := strings.CutPrefix(line, "event: "); ok {
			name = v
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(v), &data); err != nil {
				s.t.Fatal(err)
			}
			return name, data
		}
	}
	s.t.Fatalf("the stream ended: %v", s.lines.Err())
	return
}

func TestEventsTellWhatChanges(t *testing.T) {
	s := NewStore(Options{Traces: 1})
	server := serve(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
	defer cancel()
	tr := tracer(t, s, "mcpedge", telemetry.Scope)
	_, old := operation(ctx, tr, "old", 1, at(0))
	old.End(at(1))
	events := openStream(t, ctx, server)
	name, first := events.next()
	if name != "calls" || len(first.Calls) != 1 || first.Calls[0].Target != "old" {
		t.Fatalf("%s %+v", name, first)
	}
	_, op := operation(ctx, tr, "new", 1, at(10))
	name, next := events.next()
	if name != "changes" || len(next.Calls) != 1 || !next.Calls[0].Running || len(next.Gone) != 1 || next.Gone[0] != first.Calls[0].ID {
		t.Fatalf("%s %+v", name, next)
	}
	op.SetAttributes(outcome("ok"))
	op.End(at(20))
	for next.Calls[0].Running { // sent repeatedly while it runs
		_, next = events.next()
	}
	if len(next.Calls) != 1 || next.Calls[0].Outcome != "ok" || next.Calls[0].Duration != 10e3 || len(next.Gone) != 0 {
		t.Errorf("%+v", next)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	s := NewStore(Options{})
	server := serve(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
	defer cancel()
	for range maxStreams {
		openStream(t, ctx, server).next()
	}
	fetch(t, server, "/dev/events", http.StatusServiceUnavailable, nil)
	cancel()
	deadline := time.After(await.Patience)
	for { // closed pages make room
		s.mu.Lock()
		open := len(s.watchers)
		s.mu.Unlock()
		if open == 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d streams are open after their requests ended", open)
		case <-time.After(time.Millisecond):
		}
	}
}
