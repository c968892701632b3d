package sse_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpedge/mcpedge/edge/frame"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for a condition; what is awaited comes much sooner.
const patience = await.Patience

// client is a connection as its client sees it.
type client struct {
	t      *testing.T
	http   *http.Client
	post   string // the endpoint, resolved
	uri    string // the endpoint, as received
	events chan frame.Event
	leave  context.CancelFunc
	// passed are messages that were read while another was awaited.
	passed []message
}

type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Progress float64
		URI      string
	}
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
	raw string
}

// request is one HTTP request with the headers of a browser-less client; header is name, value in turn.
func request(t *testing.T, ctx context.Context, c *http.Client, method, uri, body string, header ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, uri, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// do is a request that is answered at once.
func do(t *testing.T, c *http.Client, method, uri, body string, header ...string) (*http.Response, string) {
	t.Helper()
	resp := request(t, t.Context(), c, method, uri, body, header...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func newHTTP(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// connect opens a connection and reads where to POST.
func connect(t *testing.T, base string, header ...string) *client {
	t.Helper()
	c := &client{t: t, http: newHTTP(t), events: make(chan frame.Event, 256)}
	ctx, cancel := context.WithCancel(context.Background())
	c.leave = cancel
	resp := request(t, ctx, c.http, http.MethodGet, base+"/sse", "", header...)
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || ct != "text/event-stream" {
		cancel()
		t.Fatalf("GET: status %d, content type %q", resp.StatusCode, ct)
	}
	go func() {
		defer close(c.events)
		defer resp.Body.Close()
		for r := frame.NewReader(resp.Body, 1<<20); ; {
			ev, err := r.Next()
			if err != nil {
				return
			}
			c.events <- ev
		}
	}()
	t.Cleanup(func() {
		cancel()
		for range c.events { // lets the reader end
		}
	})
	first := c.event()
	if first.Name != "endpoint" {
		t.Fatalf("first event is %+v, want the endpoint", first)
	}
	c.uri = string(first.Data)
	at, err := url.Parse(base + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	to, err := at.Parse(c.uri)
	if err != nil {
		t.Fatalf("endpoint %q: %v", c.uri, err)
	}
	c.post = to.String()
	return c
}

// event is the next event; it must come.
func (c *client) event() frame.Event {
	c.t.Helper()
	select {
	case ev, ok := <-c.events:
		if !ok {
			c.t.Fatal("the stream ended, an event is due")
		}
		return ev
	case <-time.After(patience):
		c.t.Fatal("no event in time")
	}
	panic("unreachable")
}

// ended waits for the end of the stream and returns what came before.
func (c *client) ended() (before []string) {
	c.t.Helper()
	for {
		select {
		case ev, ok := <-c.events:
			if !ok {
				return before
			}
			before = append(before, string(ev.Data))
		case <-time.After(patience):
			c.t.Fatal("the stream does not end")
		}
	}
}

func (c *client) message() message {
	c.t.Helper()
	ev := c.event()
	if ev.Name != "message" || ev.ID != "" || len(ev.Data) == 0 {
		c.t.Fatalf("event %+v: want a message without an id", ev)
	}
	m := message{raw: string(ev.Data)}
	if ev.Data[0] == '[' {
		return m
	}
	if err := json.Unmarshal(ev.Data, &m); err != nil {
		c.t.Fatalf("%v: %s", err, ev.Data)
	}
	return m
}

// await is the next message that fits; others are kept for later.
func (c *client) await(what string, fits func(message) bool) message {
	c.t.Helper()
	for i, m := range c.passed {
		if fits(m) {
			c.passed = append(c.passed[:i], c.passed[i+1:]...)
			return m
		}
	}
	for {
		m := c.message()
		if fits(m) {
			return m
		}
		c.passed = append(c.passed, m)
		if len(c.passed) > 64 {
			c.t.Fatalf("%s does not come; the last message is %s", what, m.raw)
		}
	}
}

// response awaits the response to a request.
func (c *client) response(id string) message {
	c.t.Helper()
	return c.await("response "+id, func(m message) bool { return m.Method == "" && string(m.ID) == id })
}

func (c *client) called(method string) message {
	c.t.Helper()
	return c.await(method, func(m message) bool { return m.Method == method })
}

// send posts a message, which must be accepted.
func (c *client) send(body string, header ...string) {
	c.t.Helper()
	if resp, text := do(c.t, c.http, http.MethodPost, c.post, body, header...); resp.StatusCode != http.StatusAccepted || text != "" {
		c.t.Fatalf("status %d, body %q: want 202 and none; sent %s", resp.StatusCode, text, body)
	}
}

// ask posts a request and awaits its response.
func (c *client) ask(id, method, params string) message {
	c.t.Helper()
	c.send(rpc(id, method, params))
	return c.response(id)
}

// want asserts a result that has the text in it.
func (m message) want(t *testing.T, part string) message {
	t.Helper()
	if m.Error != nil || !strings.Contains(string(m.Result), part) {
		t.Fatalf("message %s: want a result with %s", m.raw, part)
	}
	return m
}

// rpc is a request; without an id a notification.
func rpc(id, method, params string) string {
	b := `{"jsonrpc":"2.0"`
	if id != "" {
		b += `,"id":` + id
	}
	b += `,"method":"` + method + `"`
	if params != "" {
		b += `,"params":` + params
	}
	return b + "}"
}

func initialize(version string) string {
	return rpc("0", "initialize", `{"protocolVersion":"`+version+`","capabilities":{"sampling":{},"roots":{},"elicitation":{}},`+
		`"clientInfo":{"name":"test","version":"1"}}`)
}

func (c *client) initialize(version string) {
	c.t.Helper()
	c.send(initialize(version))
	c.response("0").want(c.t, `"protocolVersion":"`+version+`"`)
	c.send(rpc("", "notifications/initialized", ""), "MCP-Protocol-Version", version)
}
