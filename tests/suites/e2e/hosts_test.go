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

// sentByHost is a request as a host in use sent it to an edge, with the status that it got.
type sentByHost struct {
	Method, Path string
	Headers      map[string]string
	Body         json.RawMessage
	Status       int
}

// TestHosts replays what hosts, tools and libraries in use send (testdata/hosts): each request is answered as it was, on a stream each message
// has a name, no stream says retry, and none that a client asked for ends by itself, however many it holds.
func TestHosts(t *testing.T) {
	files, err := filepath.Glob("testdata/hosts/*.json")
	if err != nil || len(files) < 20 {
		t.Fatal(err, len(files))
	}
	backend := harness.Serve(t, "hosts", hostTools())
	e := startEdge(t, only(backend), func(c *config.Config) { c.Limits.StreamAfter = time.Second })
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
			h := &host{t: t, url: strings.TrimSuffix(e.URL, "/mcp"), sessions: map[string]string{}}
			for i := range sent {
				h.replay(&sent[i])
			}
			h.endStreams()
		})
	}
}

// hostTools are the tools that the hosts called; what they do matters less than that they stream, ask, fail and take time.
func hostTools() *capability.Server {
	s := capability.New("hosts", "1")
	type empty struct{}
	type steps struct {
		Steps int `json:"steps"`
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
	capability.AddTool(s, "vx_slow", "Takes time", func(ctx context.Context, c *capability.Call, in steps) (string, error) {
		for i := range in.Steps {
			c.Progress(float64(i), float64(in.Steps), "")
		}
		select { // longer than stream-after
		case <-time.After(1500 * time.Millisecond):
		case <-ctx.Done():
		}
		return "done", nil
	})
	for _, tool := range []string{"vx_ask", "confirm_delete"} {
		capability.AddTool(s, tool, "Asks", func(ctx context.Context, c *capability.Call, _ map[string]any) (string, error) {
			in, err := capability.Ask[name](c, "name", "Your name?")
			return in.Name, err
		})
	}
	return s
}

// host sends what one sent, to one edge.
type host struct {
	t   *testing.T
	url string
	// sessions are the ids of sessions by those that were recorded; session is that of the last initialize, which no request has named yet.
	sessions map[string]string
	session  string

	mu sync.Mutex
	// streams are the open ones of GETs, which the test ends; ended, those that ended before.
	streams []func()
	ended   int
	over    bool
	readers sync.WaitGroup
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
	r, err := http.NewRequestWithContext(ctx, s.Method, h.url+s.Path, bytes.NewReader(s.Body))
	if err != nil {
		h.t.Fatal(err)
	}
	for k, v := range s.Headers {
		if strings.EqualFold(k, "Mcp-Session-Id") {
			v = h.own(v)
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
	if s.Method == http.MethodGet && resp.StatusCode == http.StatusOK {
		h.keep(resp, cancel)
		return
	}
	defer cancel()
	defer resp.Body.Close()
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if len(s.Body) == 0 || json.Unmarshal(s.Body, &m) != nil || m.ID == nil || s.Status != http.StatusOK {
		_, _ = io.Copy(io.Discard, resp.Body)
		return
	}
	h.await(s, resp, m.Method, m.ID)
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
		case m.Method != "" && m.ID != nil:
			answer := sentByHost{Method: http.MethodPost, Path: s.Path, Headers: s.Headers, Status: http.StatusAccepted, Body: declined(m.ID)}
			r := h.do(h.t.Context(), &answer)
			_ = r.Body.Close()
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

// declined declines what is asked.
func declined(id json.RawMessage) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"action":"decline"}}`)
}

// read gives the messages of a response to fn until it returns false, and holds streams to what clients take. A subscription is left when
// it is acknowledged.
func (h *host) read(resp *http.Response, fn func([]byte) bool) {
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			h.t.Error(err)
		}
		fn(text)
		return
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 4<<20)
	name := ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "event":
			name = value
		case "retry":
			h.t.Errorf("a stream says retry: %s", value)
		case "data":
			if value == "" {
				continue // a priming event
			}
			if name != "message" {
				h.t.Errorf("a message has the name %q", name)
			}
			if !fn([]byte(value)) || strings.Contains(value, "subscriptions/acknowledged") {
				return
			}
		case "":
			name = ""
		}
	}
}

// keep follows a stream that was asked for to its end.
func (h *host) keep(resp *http.Response, cancel func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.streams = append(h.streams, cancel)
	h.readers.Go(func() {
		defer resp.Body.Close()
		h.read(resp, func([]byte) bool { return true })
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.over {
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
