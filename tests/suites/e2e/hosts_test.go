package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// sentByHost is a request as a host in use sent it to an edge, with the status that it got. Where a replica was lost, Replica is the one that
// answered, and End how it ended with the answer under way: killed or stopped.
type sentByHost struct {
	Method, Path string
	Headers      map[string]string
	Body         json.RawMessage
	Status       int
	Replica, End string
}

// TestHosts replays what hosts, tools and libraries in use send (testdata/hosts): each request is answered as it was, on a stream each message
// has a name, no stream says retry, and none that a client asked for ends by itself, however many it holds. Over HTTP+SSE the answers come on
// the stream that the host opened.
func TestHosts(t *testing.T) {
	files, err := filepath.Glob("testdata/hosts/*.json")
	if err != nil || len(files) < 28 {
		t.Fatal(err, len(files))
	}
	backend := harness.Serve(t, "hosts", hostTools(func(ctx context.Context, _ int, _ func(from, to int)) {
		select { // longer than stream-after
		case <-time.After(1500 * time.Millisecond):
		case <-ctx.Done():
		}
	}))
	e := startEdge(t, only(backend), func(c *config.Config) { c.Calls.StreamAfter = time.Second })
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var sent []sentByHost
			if err := json.Unmarshal(text, &sent); err != nil {
				t.Fatal(err)
			}
			h := newHost(t, strings.TrimSuffix(e.URL, "/mcp"))
			for i := range sent {
				h.replay(&sent[i])
			}
			h.endStreams()
		})
	}
}

// hostTools are the tools that the hosts called; what they do matters less than that they stream, ask, fail and take time. slow is what vx_slow
// does beside the first step of its progress; it gets the number of steps, and what reports some of them.
func hostTools(slow func(ctx context.Context, steps int, report func(from, to int))) *capability.Server {
	s := capability.New("hosts", "1")
	type empty struct{}
	type steps struct {
		Steps int `json:"steps"`
	}
	type pace struct {
		Steps int `json:"steps"`
		Ms    int `json:"ms,omitempty"` // of a step, by the hosts' record; here a step takes no time
	}
	type name struct {
		Name string `json:"name"`
	}
	text := func(tool, says string) {
		capability.AddTool(s, tool, "Says so", func(context.Context, *capability.Call, map[string]any) (string, error) { return says, nil })
	}
	for _, tool := range []string{"vx_unicode", "test_image_content", "test_trigger_tool_change", "slow_compute", "test_sampling", "test_dynamic_tool",
		"test_input_required_result_list_roots", "test_input_required_result_multiple_inputs"} {
		text(tool, "done")
	}
	capability.AddPrompt(s, &capability.Prompt{Name: "test_simple_prompt", Description: "Is simple"},
		func(context.Context, *capability.Call, map[string]string) (string, error) { return "hello", nil })
	capability.AddResource(s, &capability.Resource{Uri: "test://static-text", Name: "static-text"},
		func(context.Context, *capability.Call, string) (string, error) { return "text", nil })
	text("vx_big", strings.Repeat("x", 1<<20))
	capability.AddTool(s, "vx_shape", "Has a shape", func(context.Context, *capability.Call, empty) (steps, error) { return steps{3}, nil })
	capability.AddTool(s, "vx_fail", "Fails", func(context.Context, *capability.Call, empty) (string, error) { return "", errors.New("no") })
	capability.AddTool(s, "vx_slow", "Takes time", func(ctx context.Context, c *capability.Call, in pace) (string, error) {
		report := func(from, to int) {
			for i := from; i <= to; i++ {
				c.Progress(float64(i), float64(in.Steps), "")
			}
		}
		report(1, 1)
		slow(ctx, in.Steps, report)
		return "done", nil
	}, capability.ReadOnly())
	for _, tool := range []string{"vx_ask", "confirm_delete"} {
		capability.AddTool(s, tool, "Asks", func(ctx context.Context, c *capability.Call, _ map[string]any) (string, error) {
			in, err := capability.Ask[name](c, "name", "Your name?")
			return in.Name, err
		})
	}
	return s
}

// host sends what one sent, to one edge or to replicas.
type host struct {
	t *testing.T
	// url is the edge's; replicas are those of replicas by their recorded names, or nil.
	url      string
	replicas map[string]string
	// sessions are the ids of sessions by those that were recorded; session is that of the last initialize, which no request has named yet.
	sessions map[string]string
	session  string
	// sse is the stream over which answers come. nil: each comes with its request.
	sse *hostSSE
	// cut is the request whose stream was cut, until it is resumed.
	cut *cutStream

	mu sync.Mutex
	// streams are the open ones of GETs, which the test ends; ended, those that ended before.
	streams []func()
	ended   int
	over    bool
	// gone are the replicas that were lost.
	gone    map[string]bool
	readers sync.WaitGroup
}

func newHost(t *testing.T, url string) *host {
	return &host{t: t, url: url, sessions: map[string]string{}}
}

// at returns the address for a request.
func (h *host) at(s *sentByHost) string {
	if h.replicas != nil {
		return h.replicas[s.Replica]
	}
	return h.url
}

// own is a recorded id of a session as it is here.
func (h *host) own(recorded string) string {
	if h.sessions[recorded] == "" {
		h.sessions[recorded], h.session = h.session, ""
	}
	return h.sessions[recorded]
}

func (h *host) do(ctx context.Context, s *sentByHost) *http.Response {
	h.t.Helper()
	path := s.Path
	if h.sse != nil {
		path = h.sse.message
	}
	r, err := http.NewRequestWithContext(ctx, s.Method, h.at(s)+path, bytes.NewReader(s.Body))
	if err != nil {
		h.t.Fatal(err)
	}
	for k, v := range s.Headers {
		if strings.EqualFold(k, "Mcp-Session-Id") {
			v = h.own(v)
		}
		if strings.EqualFold(k, "Last-Event-Id") {
			v = h.cut.last
		}
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatalf("%s %s %s: %v", s.Method, s.Path, s.Body, err)
	}
	return resp
}

func (h *host) replay(s *sentByHost) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.t.Context())
	if s.Method == http.MethodDelete { // with which streams end
		h.mu.Lock()
		h.over = true
		h.mu.Unlock()
	}
	resp := h.do(ctx, s)
	if resp.StatusCode != s.Status {
		text, _ := io.ReadAll(resp.Body)
		h.t.Errorf("%s %s %s: status %d, want %d: %.300s", s.Method, s.Path, s.Body, resp.StatusCode, s.Status, text)
	}
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		h.session = id
	}
	if s.Path == "/sse" {
		h.openSSE(resp, cancel)
		return
	}
	if s.Method == http.MethodGet && resp.StatusCode == http.StatusOK && s.Headers["Last-Event-Id"] == "" {
		h.keep(resp, cancel, s.Replica)
		return
	}
	method, id := requestOf(s.Body)
	if method == "subscriptions/listen" && h.replicas != nil {
		h.keep(resp, cancel, s.Replica)
		return
	}
	defer cancel()
	defer resp.Body.Close()
	if s.Headers["Last-Event-Id"] != "" {
		method, id = requestOf(h.cut.sent.Body)
	}
	switch {
	case id != nil && method != "" && h.sse != nil:
		h.awaitSSE(id)
	case id == nil || s.Status != http.StatusOK:
		_, _ = io.Copy(io.Discard, resp.Body)
	default:
		h.await(s, resp, method, id)
	}
}

// requestOf returns the method and the id of a message; the id is nil unless it is a request or a response.
func requestOf(body []byte) (method string, id json.RawMessage) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if len(body) == 0 || json.Unmarshal(body, &m) != nil {
		return "", nil
	}
	return m.Method, m.ID
}

// await reads the response of a request, and answers what is asked before it.
func (h *host) await(s *sentByHost, resp *http.Response, method string, id json.RawMessage) {
	h.t.Helper()
	answered := false
	h.read(resp, func(text []byte) bool {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  *struct{ Code int }
		}
		if err := json.Unmarshal(text, &m); err != nil {
			h.t.Errorf("%s: %v: %.300s", method, err, text)
		}
		switch {
		case h.cut != nil && s.Headers["Last-Event-Id"] != "" && m.Method != "":
			h.cut.follow(h, text)
		case m.Method != "" && m.ID != nil:
			h.decline(s, m.ID)
		case m.Method == "" && bytes.Equal(m.ID, id):
			answered = true
			if m.Error != nil && slices.Contains([]int{-32700, -32600, -32020, -32022, -32603}, m.Error.Code) {
				h.t.Errorf("%s is answered by %.300s", s.Body, text)
			}
		}
		return !answered || method == "subscriptions/listen"
	})
	if !answered && method != "subscriptions/listen" {
		h.t.Errorf("%s has no response", s.Body)
	}
}

// decline declines what is asked in answer to a request.
func (h *host) decline(s *sentByHost, id json.RawMessage) {
	h.t.Helper()
	answer := sentByHost{
		Method: http.MethodPost, Path: s.Path, Headers: s.Headers, Status: http.StatusAccepted, Body: declined(id), Replica: s.Replica,
	}
	r := h.do(h.t.Context(), &answer)
	_ = r.Body.Close()
}

// declined declines what is asked.
func declined(id json.RawMessage) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"action":"decline"}}`)
}

// read gives the messages of a response to fn until it returns false, and holds streams to what clients take. A subscription is left when
// it is acknowledged. It returns the last id of an event.
func (h *host) read(resp *http.Response, fn func([]byte) bool) (last string) {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			h.t.Error(err)
		}
		fn(text)
		return ""
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	name := ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "id":
			last = value
		case "retry":
			h.t.Errorf("a stream says retry: %s", value)
		case "data":
			if value == "" {
				continue // a priming event
			}
			if name == "endpoint" && h.sse != nil {
				h.sse.message = value
				close(h.sse.endpoint)
				continue
			}
			if name != "message" {
				h.t.Errorf("a message has the name %q", name)
			}
			if !fn([]byte(value)) || strings.Contains(value, "subscriptions/acknowledged") && h.replicas == nil {
				return last
			}
		case "":
			name = ""
		}
	}
	return last
}

// keep follows a stream that was asked for to its end, which is no failure if the replica was lost.
func (h *host) keep(resp *http.Response, cancel func(), replica string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams = append(h.streams, cancel)
	h.readers.Go(func() {
		defer resp.Body.Close()
		h.read(resp, func([]byte) bool { return true })
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.over && !h.gone[replica] {
			h.ended++
		}
	})
}

// endStreams ends the streams that are left.
func (h *host) endStreams() {
	h.mu.Lock()
	h.over = true
	ended := h.ended
	for _, end := range h.streams {
		end()
	}
	h.mu.Unlock()
	h.readers.Wait()
	if len(h.streams) <= 8 && ended > 0 { // as many as a client may hold
		h.t.Errorf("%d of %d streams ended by themselves", ended, len(h.streams))
	}
}
