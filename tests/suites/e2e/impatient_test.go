package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

const (
	// proxyPatience is how long the proxy waits for a byte of the edge; signOfLife is the edge's keep-alive.
	proxyPatience = 2 * time.Second
	signOfLife    = 250 * time.Millisecond
	// enoughSigns take longer than the proxy's patience, twice over.
	enoughSigns = int(2*proxyPatience/signOfLife) + 1
)

// impatientConn is a connection on which no byte may take longer than proxyPatience to arrive. The time is that of a ticker, which stands still
// with the process, as the edge in it does.
type impatientConn struct {
	net.Conn
	// waited counts the ticks since a read began. It is negative while none waits.
	waited atomic.Int32
	end    func()
}

// ticks are those of a read that waits for proxyPatience, and notReading is far below any number of them.
const ticks, notReading = 20, -1 << 30

func newImpatientConn(c net.Conn) *impatientConn {
	over := make(chan struct{})
	i := &impatientConn{Conn: c, end: sync.OnceFunc(func() { close(over) })}
	i.waited.Store(notReading)
	go func() {
		tick := time.NewTicker(proxyPatience / ticks)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if i.waited.Add(1) > ticks {
					_ = c.Close()
				}
			case <-over:
				return
			}
		}
	}()
	return i
}

func (c *impatientConn) Read(b []byte) (int, error) {
	c.waited.Store(0)
	defer c.waited.Store(notReading)
	return c.Conn.Read(b)
}

func (c *impatientConn) Close() error {
	c.end()
	return c.Conn.Close()
}

// startImpatientProxy runs a proxy before an edge that cuts a response once nothing of it arrives for proxyPatience. It returns its address.
func startImpatientProxy(t *testing.T, e *harness.Edge) string {
	t.Helper()
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return newImpatientConn(c), nil
		},
	}
	pass := &httputil.ReverseProxy{
		FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", e.Host },
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	return proxy.URL
}

// silentServer has a tool, a resource, a prompt and a completion that say nothing until release is closed.
func silentServer(release <-chan struct{}) *capability.Server {
	wait := func(ctx context.Context) (string, error) {
		select {
		case <-release:
			return "waited", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	s := capability.New("silent", "1")
	capability.AddTool(s, "wait", "Waits", func(ctx context.Context, _ *capability.Call, _ struct{}) (string, error) { return wait(ctx) },
		capability.Tasks(capability.TaskOptional))
	capability.AddResource(s, &capability.Resource{Uri: "test://wait", Name: "wait"},
		func(ctx context.Context, _ *capability.Call, _ string) (string, error) { return wait(ctx) })
	capability.AddPrompt(s, &capability.Prompt{Name: "wait", Arguments: []*capability.PromptArgument{{Name: "x"}}},
		func(ctx context.Context, _ *capability.Call, _ map[string]string) (string, error) { return wait(ctx) },
		capability.Complete("x", func(ctx context.Context, _ *capability.Call, _ string, _ map[string]string) ([]string, error) {
			text, err := wait(ctx)
			return []string{text}, err
		}))
	return s
}

// silence is a response that brings nothing but signs of life until the backend is released.
type silence struct {
	name string
	req  *http.Request
	// post sends the request whose answer the response brings, to the endpoint that it names. nil: the response is the answer.
	post func(endpoint string)
	// endless: it brings no answer.
	endless bool
	// signs gets a value when enough signs of life have come, and when none will; done gets the text that followed them, or an error.
	signs chan struct{}
	done  chan string
}

// follow sends the request and reads its response.
func (s *silence) follow() {
	defer func() { s.signs <- struct{}{} }()
	resp, err := http.DefaultClient.Do(s.req)
	if err != nil {
		s.done <- err.Error()
		return
	}
	defer resp.Body.Close()
	signs, event := 0, ""
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		switch value = strings.TrimSpace(value); {
		case lines.Text() != "" && field == "":
			if signs++; signs == enoughSigns {
				s.signs <- struct{}{}
				if s.endless {
					s.done <- "waited"
					return
				}
			}
		case field == "event":
			event = value
		case event == "endpoint" && field == "data":
			s.post(value)
		case strings.Contains(value, `"id":"silent"`):
			s.done <- value
			return
		}
	}
	s.done <- "status " + resp.Status + ", cut after " + fmt.Sprint(signs) + ": " + errText(lines.Err())
}

func errText(err error) string {
	if err == nil {
		return "the end"
	}
	return err.Error()
}

// TestImpatientProxy: a proxy that cuts what sends nothing for a while cuts no call that its backend is silent about, in any revision and
// over any transport that proxies carry, and no stream that waits for news.
func TestImpatientProxy(t *testing.T) {
	release := make(chan struct{})
	e := startEdge(t, only(startService(t, silentServer(release))), func(c *config.Config) {
		c.Calls.StreamAfter, c.Listen.KeepAlive = signOfLife, signOfLife
	})
	all := silences(t, startImpatientProxy(t, e))
	for _, s := range all {
		go s.follow()
	}
	for _, s := range all {
		await.Receive(t, s.name+": signs of life", s.signs)
	}
	close(release)
	for _, s := range all {
		if got := await.Receive(t, s.name+": the answer", s.done); !strings.Contains(got, "waited") {
			t.Errorf("%s: %s", s.name, got)
		}
	}
}

// TestImpatientProxyCuts: the proxy of TestImpatientProxy cuts a response without signs of life.
func TestImpatientProxyCuts(t *testing.T) {
	release := make(chan struct{})
	e := startEdge(t, only(startService(t, silentServer(release))), quickStreams)
	s := newSession(t, startImpatientProxy(t, e)+"/mcp", vNov)
	stream := s.call("wait", "").events()
	if _, ok := stream.next(); !ok {
		t.Error("no priming event")
	}
	if ev, ok := stream.next(); ok {
		t.Errorf("the stream brings %v", ev)
	}
	close(release)
}

// silences are the requests of every revision, over every transport, that are silent.
func silences(t *testing.T, proxy string) (out []*silence) {
	add := func(s *silence, method, path, body string, headers ...string) {
		var err error
		if s.req, err = http.NewRequestWithContext(t.Context(), method, proxy+path, strings.NewReader(body)); err != nil {
			t.Fatal(err)
		}
		s.req.Header.Set("Accept", "application/json, text/event-stream")
		if method == http.MethodPost {
			s.req.Header.Set("Content-Type", "application/json")
		}
		for i := 0; i < len(headers); i += 2 {
			s.req.Header.Set(headers[i], headers[i+1])
		}
		s.signs, s.done = make(chan struct{}, 2), make(chan string, 1)
		out = append(out, s)
	}
	calls := map[string]map[string]any{
		"tools/call":          {"name": "wait"},
		"resources/read":      {"uri": "test://wait"},
		"prompts/get":         {"name": "wait"},
		"completion/complete": {"ref": map[string]any{"type": "ref/prompt", "name": "wait"}, "argument": map[string]any{"name": "x", "value": ""}},
	}
	bare := &stateless{t: t, capabilities: everything}
	for _, version := range append([]string{v2024}, stateful...) {
		s := newSession(t, proxy+"/mcp", version)
		for method, members := range calls {
			body := envelope(`"silent"`, method, plainParams(t, members))
			own := newSession(t, proxy+"/mcp", version) // since all have one id
			add(&silence{name: version + " " + method}, http.MethodPost, "/mcp", body, own.headers()...)
			if version == vMar {
				own = newSession(t, proxy+"/mcp", version)
				add(&silence{name: version + " batch of " + method}, http.MethodPost, "/mcp", "["+body+"]", own.headers()...)
			}
		}
		add(&silence{name: version + " GET", endless: true}, http.MethodGet, "/mcp", "", s.headers()...)
		sse := &silence{name: version + " over HTTP+SSE"}
		sse.post = func(endpoint string) {
			for _, body := range []string{
				envelope("1", "initialize", `{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":`+clientInfo+`}`),
				envelope("", "notifications/initialized", ""),
				envelope(`"silent"`, "tools/call", toolParams("wait", "", "")),
			} {
				resp, err := http.Post(proxy+endpoint, "application/json", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
			}
		}
		add(sse, http.MethodGet, "/sse", "")
	}
	resumed := newSession(t, proxy+"/mcp", vNov)
	cut := resumed.post(envelope(`"silent"`, "tools/call", toolParams("wait", "", ""))).want(http.StatusOK).events()
	primed, _ := cut.next()
	cut.close()
	add(&silence{name: vNov + " resumed"}, http.MethodGet, "/mcp", "", append(resumed.headers(), "Last-Event-ID", primed.ID)...)
	made := resumed.request("tools/call", `{"name":"wait","arguments":{},"task":{}}`).want(http.StatusOK).result()
	add(&silence{name: vNov + " tasks/result"}, http.MethodPost, "/mcp",
		envelope(`"silent"`, "tasks/result", plainParams(t, map[string]any{"taskId": dig(made, "task", "taskId")})), newSession(t, proxy+"/mcp", vNov).headers()...)
	for method, members := range calls {
		name, _ := members["name"].(string)
		if uri, ok := members["uri"].(string); ok {
			name = uri
		}
		add(&silence{name: v2026 + " " + method}, http.MethodPost, "/mcp", envelope(`"silent"`, method, bare.params(members)),
			"MCP-Protocol-Version", v2026, "Mcp-Method", method, "Mcp-Name", name)
	}
	add(&silence{name: v2026 + " subscriptions/listen", endless: true}, http.MethodPost, "/mcp",
		envelope("1", "subscriptions/listen", bare.params(map[string]any{"notifications": map[string]any{"toolsListChanged": true}})),
		"MCP-Protocol-Version", v2026, "Mcp-Method", "subscriptions/listen")
	return out
}

// plainParams are params without _meta.
func plainParams(t *testing.T, members map[string]any) string {
	t.Helper()
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
