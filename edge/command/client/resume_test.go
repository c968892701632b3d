package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// TestCallResumes: a stream that ends after its priming event is resumed from that event. A resumed
// stream without events, and a proxy that temporarily has no replica, do not end the call.
func TestCallResumes(t *testing.T) {
	var id string
	f := &fake{
		call: func(w http.ResponseWriter, _ *http.Request, call string) {
			id = call
			events(w, "id: 7\nretry: 1\n\n")
		},
		resume: func(w http.ResponseWriter, _ *http.Request, n int) {
			switch n {
			case 1:
				events(w, ": nothing yet\nretry: 1\n\n")
			case 2:
				http.Error(w, "no server is available", http.StatusServiceUnavailable)
			default:
				events(w, response(id, "done"))
			}
		},
	}
	var out bytes.Buffer
	err := Call(t.Context(), []string{"--protocol-version", "2025-11-25", f.serve(t), "work"}, "test", &out, io.Discard)
	if err != nil || out.String() != "done\n" || !slices.Equal(f.resumed, []string{"7", "7", "7"}) {
		t.Errorf("%q, resumed from %q, %v", &out, f.resumed, err)
	}
}

// isCall is the key of a context: whether its request is a tools/call.
type isCall struct{}

// TestCallOutlivesItsReplica: a replica whose grace is shorter than the call ends the call's stream
// while it drains. mcpedge call gets the result from another replica.
func TestCallOutlivesItsReplica(t *testing.T) {
	redis := redisserver.ForTest(t)
	started, open := make(chan struct{}, 2), make(chan struct{})
	s := capability.New("fixture", "1")
	capability.AddTool(s, "work", "Works", func(ctx context.Context, _ *capability.Call, _ struct{}) (string, error) {
		started <- struct{}{}
		select {
		case <-open:
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, capability.ReadOnly())
	cfg := harness.Config(harness.Serve(t, "fixture", s).Backend())
	cfg.Redis.URL, cfg.Calls.StreamAfter = redis.URL(), 10*time.Millisecond
	staying := harness.Start(t, cfg)
	cfg.Shutdown.Grace = 50 * time.Millisecond
	going := harness.Start(t, cfg)

	var at atomic.Pointer[harness.Edge]
	at.Store(going)
	streaming := make(chan struct{}, 2)
	pass := &httputil.ReverseProxy{FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: at.Load().Host}) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Context().Value(isCall{}) == true && r.Header.Get("Content-Type") == "text/event-stream" {
				streaming <- struct{}{}
			}
			return nil
		},
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), isCall{}, bytes.Contains(body, []byte(`"tools/call"`)))))
	}))
	defer proxy.Close()

	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- Call(t.Context(), []string{"--protocol-version", "2025-11-25", proxy.URL + "/mcp", "work"}, "test", &out, io.Discard)
	}()
	await.Receive(t, "the call at the first replica", started)
	await.Receive(t, "its stream, which can be resumed", streaming)
	at.Store(staying)
	going.Stop()
	_ = going.Wait(t) // the call did not end within the grace, so Wait may fail
	await.Receive(t, "the call at the second replica", started)
	close(open)
	if err := await.Receive(t, "the end of the command", ended); err != nil || out.String() != "done\n" {
		t.Errorf("%q, %v", &out, err)
	}
}

// TestCallPrintsNoSession: no printed error contains the session id that the SDK puts into it. If a
// stream cannot be resumed, its call is lost.
func TestCallPrintsNoSession(t *testing.T) {
	f := &fake{
		call:   func(w http.ResponseWriter, _ *http.Request, _ string) { events(w, "id: 7\nretry: 1\n\n") },
		resume: func(w http.ResponseWriter, r *http.Request, _ int) { http.NotFound(w, r) },
	}
	err := Call(t.Context(), []string{"--protocol-version", "2025-11-25", f.serve(t), "work"}, "test", io.Discard, io.Discard)
	if err == nil || strings.Contains(err.Error(), sessionOfFake) || !strings.Contains(err.Error(), "session not found") ||
		!strings.Contains(err.Error(), "may have taken effect") {
		t.Errorf("%v", err)
	}
}
