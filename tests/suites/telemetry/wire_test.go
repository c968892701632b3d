package telemetry

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/replicas"
)

// stream is an answer of Server-Sent Events.
type stream struct {
	t     *testing.T
	resp  *http.Response
	lines *bufio.Scanner
	// id of the first event.
	id string
}

// request sends a message, or with none asks for a stream, and returns the answer. header has names and
// values in turn.
func request(t *testing.T, ctx context.Context, e *replicas.Edge, body string, header ...string) *stream {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+e.Addr+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode/100 != 2 {
		t.Fatalf("%s is answered with %s", body, resp.Status)
	}
	return &stream{t: t, resp: resp, lines: bufio.NewScanner(resp.Body)}
}

// await returns the first message that has text in it.
func (s *stream) await(text string) string {
	s.t.Helper()
	for s.lines.Scan() {
		if id, ok := strings.CutPrefix(s.lines.Text(), "id:"); ok && s.id == "" {
			s.id = strings.TrimSpace(id)
		}
		if data, ok := strings.CutPrefix(s.lines.Text(), "data:"); ok && strings.Contains(data, text) {
			return data
		}
	}
	s.t.Fatalf("the stream ended before %s: %v", text, s.lines.Err())
	return ""
}

// listen opens a subscription and closes it.
func listen(t *testing.T, ctx context.Context, e *replicas.Edge) {
	t.Helper()
	s := request(t, ctx, e, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"`+modern+`","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		"MCP-Protocol-Version", modern, "Mcp-Method", "subscriptions/listen")
	s.await("acknowledged")
	_ = s.resp.Body.Close()
}

// makeTaskOf makes a task of a call of a tool.
func makeTaskOf(t *testing.T, ctx context.Context, e *replicas.Edge, tool string, header ...string) {
	t.Helper()
	s := request(t, ctx, e, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{},`+
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"`+modern+`","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`,
		append(header, "MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", tool)...)
	var answer struct {
		Result struct{ TaskID string }
	}
	if err := json.NewDecoder(s.resp.Body).Decode(&answer); err != nil || answer.Result.TaskID == "" {
		t.Fatalf("no task was made: %+v, %v", answer, err)
	}
}

// lose has calls run at one replica, comes back to one of them through the other, kills the first, and
// comes back to all. before is called before that.
func lose(t *testing.T, ctx context.Context, f *fixture, first, second *replicas.Edge, before func()) {
	t.Helper()
	session := request(t, ctx, first, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+legacy+
		`","capabilities":{},"clientInfo":{"name":"lost","version":"1"}}}`).resp.Header.Get("Mcp-Session-Id")
	header := []string{"Mcp-Session-Id", session, "MCP-Protocol-Version", legacy}
	request(t, ctx, first, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header...)
	ids := map[string]string{}
	for i, tool := range []string{"safe", "unsafe"} {
		s := request(t, ctx, first, fmt.Sprintf(
			`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"progressToken":%q}}}`, i+2, tool, tool), header...)
		s.await("notifications/progress")
		ids[tool] = s.id
	}
	come := func(tool string) *stream {
		return request(t, ctx, second, "", append(header, "Last-Event-ID", ids[tool])...)
	}
	s := come("safe")
	_ = s.resp.Body.Close()
	before()
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := come("unsafe").await(`"id":3`); !strings.Contains(got, "-31520") {
		t.Errorf("a call that may not be repeated ended with %s", got)
	}
	close(f.open)
	if got := come("safe").await(`"id":2`); !strings.Contains(got, "done") {
		t.Errorf("a call that may be repeated ended with %s", got)
	}
}
