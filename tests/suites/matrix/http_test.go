package matrix

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// httpLink is what both HTTP transports share.
type httpLink struct {
	t       *testing.T
	edge    *harness.Edge
	version string
	in      inbox
	client  *http.Client
	caller  string
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup

	mu      sync.Mutex
	session string
	open    map[string]func() // by request id: cancels the request and returns once nothing more of it can be received
}

func newHTTPLink(t *testing.T, backends []*harness.Service, version string, in inbox) *httpLink {
	l := &httpLink{t: t, edge: harness.Start(t, settings(t, backends)), version: version, in: in, open: map[string]func(){},
		client: client(t), caller: caller}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// do makes a request; nil: it failed, which is a fault unless the client left.
func (l *httpLink) do(ctx context.Context, method, url string, body []byte, header http.Header) *http.Response {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		l.in.fault("%v", err)
		return nil
	}
	req.Header = header
	if l.caller != "" {
		req.Header.Set("Authorization", "Bearer "+keyOf(l.caller))
	}
	resp, err := l.client.Do(req)
	if err != nil {
		if ctx.Err() == nil {
			l.in.fault("%s %s: %v", method, url, err)
		}
		return nil
	}
	if over == "h2" && resp.ProtoMajor != 2 || over == "http/1.1" && (resp.TLS == nil || resp.ProtoMajor != 1) {
		l.in.fault("%s %s: answered over %s, want %s with TLS", method, url, resp.Proto, over)
	}
	return resp
}

func (l *httpLink) stop() { l.edge.Stop() }

func (l *httpLink) close() {
	l.cancel()
	l.work.Wait()
	l.client.CloseIdleConnections()
	l.edge.End(l.t)
}

// streamableLink is a client's way over Streamable HTTP: the header of a session or, in a stateless
// revision, those that mirror the message.
type streamableLink struct{ *httpLink }

func dialStreamable(t *testing.T, backends []*harness.Service, version string, in inbox) link {
	return &streamableLink{newHTTPLink(t, backends, version, in)}
}

func (l *streamableLink) header(m outgoing) http.Header {
	h := http.Header{}
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	set("Content-Type", "application/json")
	set("Accept", "application/json, text/event-stream")
	l.mu.Lock()
	defer l.mu.Unlock()
	set("Mcp-Session-Id", l.session)
	if stateless(l.version) {
		set("MCP-Protocol-Version", l.version)
		set("Mcp-Method", m.method)
		set("Mcp-Name", m.name)
	} else if l.session != "" && l.version >= vJun {
		set("MCP-Protocol-Version", l.version)
	}
	for name, value := range m.header {
		h.Set(name, value)
	}
	return h
}

func (l *streamableLink) send(m outgoing) {
	ctx, cancel := context.WithCancel(l.ctx)
	if m.id == "" {
		l.exchange(ctx, m)
		cancel()
		if m.method == "notifications/initialized" && !stateless(l.version) {
			l.listen()
		}
		return
	}
	ended := make(chan struct{})
	l.mu.Lock()
	l.open[m.id] = func() {
		cancel()
		<-ended
	}
	l.mu.Unlock()
	l.work.Go(func() {
		defer cancel()
		defer close(ended)
		l.exchange(ctx, m)
	})
}

// exchange posts one message and reads all of the answer.
func (l *streamableLink) exchange(ctx context.Context, m outgoing) {
	resp := l.do(ctx, http.MethodPost, endpoint(l.edge, "/mcp"), m.raw, l.header(m))
	if resp == nil {
		return
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		if m.method != "initialize" || stateless(l.version) {
			l.in.fault("the answer to %s has the session id %q", m.method, id)
		}
		l.mu.Lock()
		l.session = id
		l.mu.Unlock()
	}
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		readEvents(resp.Body, func(ev event) { l.in.receive([]byte(ev.data)) })
		return
	}
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil && ctx.Err() == nil:
		l.in.fault("%s: reading the body: %v", m.method, err)
	case m.id == "" && (resp.StatusCode != http.StatusAccepted || len(body) > 0):
		l.in.fault("%s%s: status %d, want 202 and nothing: %s", m.method, m.raw, resp.StatusCode, body)
	case len(body) > 0:
		l.in.receive(body)
	}
}

// listen opens the session's own stream, and returns once it is open.
func (l *streamableLink) listen() {
	h := l.header(outgoing{})
	h.Del("Content-Type")
	h.Set("Accept", "text/event-stream")
	resp := l.do(l.ctx, http.MethodGet, endpoint(l.edge, "/mcp"), nil, h)
	if resp == nil {
		return
	}
	if resp.StatusCode != http.StatusOK {
		l.in.fault("GET: status %d", resp.StatusCode)
	}
	l.work.Go(func() {
		defer resp.Body.Close()
		readEvents(resp.Body, func(ev event) { l.in.receive([]byte(ev.data)) })
	})
}

// leave implements link: where there are no sessions, who leaves has cancelled.
func (l *streamableLink) leave(id string) bool {
	l.mu.Lock()
	cancel := l.open[id]
	l.mu.Unlock()
	if !stateless(l.version) || cancel == nil {
		return false
	}
	cancel()
	return true
}

// sseLink is a client's way over HTTP+SSE: one stream for all that comes, and POSTs that only say 202.
type sseLink struct {
	*httpLink
	endpoint string
}

func dialSSE(t *testing.T, backends []*harness.Service, version string, in inbox) link {
	l := &sseLink{httpLink: newHTTPLink(t, backends, version, in)}
	base := strings.TrimSuffix(l.edge.URL, "/mcp")
	resp := l.do(l.ctx, http.MethodGet, endpoint(l.edge, "/sse"), nil, http.Header{"Accept": {"text/event-stream"}})
	if resp == nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET /sse: %v", resp)
	}
	endpoint := make(chan string, 1)
	l.work.Go(func() {
		defer resp.Body.Close()
		readEvents(resp.Body, func(ev event) {
			switch ev.name {
			case "endpoint":
				endpoint <- ev.data
			case "message":
				l.in.receive([]byte(ev.data))
			default:
				l.in.fault("an event %q: %s", ev.name, ev.data)
			}
		})
	})
	select {
	case path := <-endpoint:
		l.endpoint = base + path
	case <-time.After(patience):
		t.Fatal("no endpoint event")
	}
	return l
}

func (l *sseLink) send(m outgoing) {
	resp := l.do(l.ctx, http.MethodPost, l.endpoint, m.raw, http.Header{"Content-Type": {"application/json"}})
	if resp == nil {
		return
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil && !errors.Is(err, context.Canceled):
		l.in.fault("%s: reading the body: %v", m.method, err)
	case resp.StatusCode == http.StatusAccepted && len(body) == 0:
	case resp.StatusCode >= 400 && resp.StatusCode < 500 && len(body) > 0:
		l.in.receive(body) // the message was refused
	default:
		l.in.fault("%s: status %d, want 202 and nothing: %s", m.method, resp.StatusCode, body)
	}
}

func (l *sseLink) leave(string) bool { return false }
