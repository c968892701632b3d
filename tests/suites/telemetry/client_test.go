package telemetry

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// message is what of a JSON-RPC message the tests look at.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	// event is the id of the event that brought it.
	event string
}

// exchange is an open answer.
type exchange struct {
	t    *testing.T
	resp *http.Response
	r    *bufio.Reader
	// first is the id of the first event.
	first string
}

func open(t *testing.T, method, url, body string, headers ...string) *exchange {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &exchange{t: t, resp: resp, r: bufio.NewReader(resp.Body)}
}

// next is the next message with data; it fails at the end.
func (x *exchange) next() message {
	x.t.Helper()
	var m message
	if !strings.HasPrefix(x.resp.Header.Get("Content-Type"), "text/event-stream") {
		if err := json.NewDecoder(x.r).Decode(&m); err != nil {
			x.t.Fatalf("status %d: %v", x.resp.StatusCode, err)
		}
		return m
	}
	event := ""
	for {
		line, err := x.r.ReadString('\n')
		if err != nil {
			x.t.Fatalf("the stream ended: %v", err)
		}
		line = strings.TrimRight(line, "\r\n")
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			event = id
			if x.first == "" {
				x.first = id
			}
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || data == "" {
			continue
		}
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			x.t.Fatalf("%s: %v", data, err)
		}
		m.event = event
		return m
	}
}

// response is the message that ends the exchange.
func (x *exchange) response() message {
	x.t.Helper()
	for {
		if m := x.next(); m.Method == "" {
			return m
		}
	}
}

func (x *exchange) close() {
	_, _ = io.CopyN(io.Discard, x.r, int64(x.r.Buffered()))
	_ = x.resp.Body.Close()
}

// callModern posts one round of a call; meta are further members of `_meta`, each with a leading comma.
func callModern(t *testing.T, url, tool, params, meta string, headers ...string) *exchange {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"` + params +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"}` + meta + `}}}`
	return open(t, http.MethodPost, url, body,
		append([]string{"MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", tool}, headers...)...)
}

// session is a legacy session.
type session struct {
	t  *testing.T
	id string
}

func newSession(t *testing.T, url string) *session {
	t.Helper()
	x := open(t, http.MethodPost, url, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+legacy+
		`","capabilities":{"elicitation":{},"sampling":{},"roots":{}},"clientInfo":{"name":"test","version":"1"}}}`)
	if m := x.next(); m.Result == nil {
		t.Fatalf("initialize: %s", m.Error)
	}
	return &session{t: t, id: x.resp.Header.Get("Mcp-Session-Id")}
}

func (s *session) post(url, body string, headers ...string) *exchange {
	s.t.Helper()
	return open(s.t, http.MethodPost, url, body, append([]string{"MCP-Protocol-Version", legacy, "Mcp-Session-Id", s.id}, headers...)...)
}

func (s *session) call(url, tool, meta string) *exchange {
	s.t.Helper()
	return s.post(url, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+tool+`","arguments":{},"_meta":{`+meta+`}}}`)
}

func (s *session) resume(url, event string) *exchange {
	s.t.Helper()
	return open(s.t, http.MethodGet, url, "", "MCP-Protocol-Version", legacy, "Mcp-Session-Id", s.id, "Last-Event-ID", event)
}
