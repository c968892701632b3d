//go:build haproxy

package compose

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// proxied is the whole project, the proxy in front.
type proxied struct {
	*stack
	url  string
	seen *seen
}

// seen is a transport that keeps what every request came to. Its answers are not cut short.
type seen struct {
	http    *http.Transport
	mu      sync.Mutex
	servers []string // in the order of the answers
	failed  []string
}

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.http.RoundTrip(r)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && r.Context().Err() == nil:
		s.failed = append(s.failed, r.Method+": "+err.Error())
	case err == nil && resp.StatusCode >= 500:
		s.failed = append(s.failed, r.Method+": "+resp.Status)
	case err == nil:
		s.servers = append(s.servers, resp.Header.Get("X-Served-By"))
	}
	return resp, err
}

// since returns which servers answered after the first n answers, and how many answers there are.
func (s *seen) since(n int) (map[string]int, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for _, name := range s.servers[n:] {
		counts[name]++
	}
	return counts, len(s.servers)
}

func (s *seen) failures() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// startProxied starts everything; more are arguments for the edges behind the file's own.
func startProxied(t *testing.T, more ...string) *proxied {
	t.Helper()
	p := &proxied{stack: newStack(t), seen: &seen{http: &http.Transport{}}}
	p.up("tools", "resources", "prompts", "redis")
	for _, name := range p.project.edges() {
		p.start(name, more...)
	}
	p.up(p.project.edges()...)
	p.startProxy()
	p.url = "http://" + p.addresses.of("proxy", "8080") + "/mcp"
	p.addresses.listening()
	t.Cleanup(p.seen.http.CloseIdleConnections)
	return p
}

// startProxy runs the real haproxy with the configuration of the container, its addresses on loopback.
func (p *proxied) startProxy() {
	p.t.Helper()
	text := read(p.t, proxyConfig)
	text = bindLine.ReplaceAllStringFunc(text, func(line string) string { return p.addresses.rewrite("proxy", line) })
	admin := after(defaultLine.FindStringSubmatch(text)[1], "port")
	text = serverLine.ReplaceAllStringFunc(text, func(line string) string {
		m := serverLine.FindStringSubmatch(line)
		port := p.addresses.of(m[2], admin)
		return "server " + m[1] + " " + p.addresses.of(m[2], m[3]) + " port " + port[strings.LastIndex(port, ":")+1:]
	})
	file := filepath.Join(p.t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
	program := p.program(p.project.Services["proxy"], "haproxy")
	p.exec("proxy", []string{program, "-db", "-f", file}, []string{"PATH=" + os.Getenv("PATH")})
	health := p.project.Services["proxy"].Healthcheck.Test
	url := p.addresses.rewrite("proxy", health[len(health)-1])
	p.await("the proxy is healthy", "proxy", func() bool { return status(url) == http.StatusOK })
}

// status asks once; 0 is no answer.
func status(url string) int {
	resp, err := http.Get(url)
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (p *proxied) session(ctx context.Context, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	p.t.Helper()
	return connect(p.t, ctx, p.url, version, p.seen, o)
}

func add(ctx context.Context, session *mcp.ClientSession) (*mcp.CallToolResult, error) {
	return session.CallTool(ctx, &mcp.CallToolParams{Name: "calculator_arithmetic", Arguments: map[string]any{"expression": "1+1"}})
}

func limit(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// TestHAProxyTakesTurns: one session's requests go to all edges, and its stream's events come as they are
// sent.
func TestHAProxyTakesTurns(t *testing.T) {
	seen := make(chan struct{}, 1)
	p := startProxied(t, "--backend=held="+progressBackend(t, seen))
	for _, version := range []string{v2025, v2026} {
		t.Run(version, func(t *testing.T) {
			ctx := limit(t)
			session := p.session(ctx, version, &mcp.ClientOptions{
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { seen <- struct{}{} },
			})
			defer session.Close()
			// On a busy machine a check of an edge may fail, which then gets no requests for a while.
			p.await("each edge answers 5 of 20 requests or more", "proxy", func() bool {
				_, before := p.seen.since(0)
				for range 20 {
					if r, err := add(ctx, session); text(t, r, err) != "2" {
						t.Error("1+1 is not 2")
					}
				}
				counts, _ := p.seen.since(before)
				return !slices.ContainsFunc(p.project.edges(), func(name string) bool { return counts[name] < 5 })
			})
			params := &mcp.CallToolParams{Name: "half", Arguments: map[string]any{}}
			params.SetProgressToken("p")
			if got := text(t, must(session.CallTool(ctx, params)), nil); got != "whole" {
				t.Errorf("a call that runs until its progress has come ended with %q: the event was held back", got)
			}
		})
	}
	if failed := p.seen.failures(); len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
}

func must(r *mcp.CallToolResult, err error) *mcp.CallToolResult {
	if err != nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
	}
	return r
}

// TestHAProxyTakesTurnsOverSSE: HTTP+SSE works although its POSTs come to any replica.
func TestHAProxyTakesTurnsOverSSE(t *testing.T) {
	p := startProxied(t)
	ctx := limit(t)
	client := mcp.NewClient(&mcp.Implementation{Name: "compose", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.SSEClientTransport{
		Endpoint: strings.TrimSuffix(p.url, "/mcp") + "/sse", HTTPClient: &http.Client{Transport: p.seen},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for range 10 {
		if r, err := add(ctx, session); text(t, r, err) != "2" {
			t.Error("1+1 is not 2")
		}
	}
	if counts, n := p.seen.since(0); len(counts) != len(p.project.edges()) || n < 11 {
		t.Errorf("%d answers are from %v", n, counts)
	}
}

// TestHAProxyDrains: an edge that is told to stop gets no new requests soon after, and no client sees a
// failure: not of a call, not of a stream. Started anew, it gets its share.
func TestHAProxyDrains(t *testing.T) {
	p := startProxied(t)
	ctx := limit(t)
	done := make(chan struct{})
	var clients sync.WaitGroup
	for _, version := range []string{v2025, v2026} {
		for range 4 {
			session := p.session(ctx, version, nil)
			clients.Go(func() {
				defer session.Close()
				for {
					select {
					case <-done:
						return
					default:
						if r, err := add(ctx, session); err != nil || r.IsError {
							t.Errorf("%s: %+v, error %v", version, r, err)
							return
						}
					}
				}
			})
		}
		session := p.session(ctx, version, nil)
		clients.Go(func() {
			defer session.Close()
			params := &mcp.CallToolParams{Name: "countdown", Arguments: map[string]any{"steps": 160, "interval_ms": 50}}
			params.SetProgressToken("p")
			if r := must(session.CallTool(ctx, params)); r.IsError {
				t.Errorf("%s: the countdown says %+v", version, r.Content[0])
			}
		})
	}
	p.busy("edge-1", true)
	stopped := p.running["edge-1"]
	if err := stopped.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.busy("edge-1", false)
	select {
	case <-stopped.done:
		t.Error("edge-1 ended before the proxy had noticed")
	default:
	}
	<-stopped.done
	if stopped.err != nil {
		t.Errorf("edge-1 ended with %v", stopped.err)
	}
	p.start("edge-1")
	p.busy("edge-1", true)
	close(done)
	clients.Wait()
	if failed := p.seen.failures(); len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
}

// busy waits until 200 answers in a row come from an edge in part, or none of them do.
func (p *proxied) busy(name string, want bool) {
	p.t.Helper()
	p.await(name+" gets requests, or none", "proxy", func() bool {
		_, n := p.seen.since(0)
		for {
			counts, now := p.seen.since(n)
			if now-n >= 200 || p.t.Failed() {
				return counts[name] > 0 == want
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// TestHAProxySendsElsewhere: a request for an edge that was killed goes to another, before the proxy has
// found out.
func TestHAProxySendsElsewhere(t *testing.T) {
	p := startProxied(t)
	ctx := limit(t)
	session := p.session(ctx, v2026, nil)
	defer session.Close()
	killed := p.running["edge-1"]
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-killed.done
	for range 20 {
		if r, err := add(ctx, session); text(t, r, err) != "2" {
			t.Error("1+1 is not 2")
		}
	}
	if failed := p.seen.failures(); len(failed) > 0 {
		t.Errorf("failed: %v", failed)
	}
	for _, name := range p.project.edges()[1:] {
		_ = p.running[name].cmd.Process.Kill()
	}
	p.await("the proxy says that no edge is there", "proxy", func() bool {
		return status("http://"+p.addresses.of("proxy", "8404")+"/healthz") == http.StatusServiceUnavailable
	})
}

// TestHAProxyTellsOfHangups: a client of the revision without sessions cancels its call by closing the
// connection, and the edge hears of it at once.
func TestHAProxyTellsOfHangups(t *testing.T) {
	held, ended := make(chan string, 1), make(chan string, 1)
	backend := heldBackend(t, held, ended)
	p := startProxied(t, "--backend=held="+backend)
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","arguments":{},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	conn, err := net.Dial("tcp", p.addresses.of("proxy", "8080"))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": v2026, "Mcp-Method": "tools/call", "Mcp-Name": "hold",
	} {
		req.Header.Set(k, v)
	}
	if err := req.Write(conn); err != nil {
		t.Fatal(err)
	}
	select {
	case <-held:
	case <-time.After(patience):
		answer := make([]byte, 4096)
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		n, err := io.ReadFull(conn, answer)
		t.Fatalf("the call did not reach the backend; the answer is %q, %v", answer[:n], err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case why := <-ended:
		if why != context.Canceled.Error() {
			t.Errorf("the backend's call ended with %s", why)
		}
	case <-time.After(patience):
		t.Errorf("the client hung up %v ago, and its call still runs", patience)
	}
}
