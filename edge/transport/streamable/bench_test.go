package streamable

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// discard is a connection that forgets.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header              { return d.header }
func (d *discard) Write(p []byte) (int, error)      { return len(p), nil }
func (d *discard) WriteHeader(int)                  {}
func (d *discard) SetReadDeadline(time.Time) error  { return nil }
func (d *discard) SetWriteDeadline(time.Time) error { return nil }

// hotPath returns what runs a POST that is answered with JSON.
func hotPath(t testing.TB) func() {
	const body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	h := New(&fakeServer{post: func(_ context.Context, in *mcp.Incoming, out mcp.Outgoing) {
		out.Respond(mcp.Response{Body: in.Body, Owned: true})
	}}, nil, Options{})
	text := strings.NewReader(body)
	r, err := http.NewRequest(http.MethodPost, "http://localhost/mcp", io.NopCloser(text))
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength, r.RemoteAddr = int64(len(body)), "192.0.2.7:50000"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := &discard{http.Header{}}
	return func() {
		text.Reset(body)
		h.ServeHTTP(w, r)
	}
}

func BenchmarkPost(b *testing.B) {
	post := hotPath(b)
	b.ReportAllocs()
	for b.Loop() {
		post()
	}
}

// TestPostAllocates holds the transport's part of the hot path to a ceiling.
func TestPostAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(1000, hotPath(t)); n > 4 {
		t.Errorf("a POST makes %v allocations, want at most 4", n)
	}
}
