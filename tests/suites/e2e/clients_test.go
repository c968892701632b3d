package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// everything is what a client can be asked in any revision.
const everything = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}`

const clientInfo = `{"name":"e2e","version":"1.0.0"}`

// session is a client of a revision with sessions.
type session struct {
	*caller
	t       *testing.T
	version string
	id      string
	hello   map[string]any // the result of initialize
	next    *atomic.Int64
}

// newSession shakes hands, with the capabilities given or everything.
func newSession(t *testing.T, url, version string, capabilities ...string) *session {
	t.Helper()
	s := &session{caller: newCaller(t, url), t: t, version: version, next: new(atomic.Int64)}
	s.open(append(capabilities, everything)[0])
	return s
}

func (s *session) open(capabilities string) {
	s.t.Helper()
	r := s.send(s.t, http.MethodPost, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}}`,
		s.next.Add(1), s.version, capabilities, clientInfo)).want(http.StatusOK)
	if s.id = r.header.Get("Mcp-Session-Id"); s.id == "" {
		s.t.Fatal("initialize gave no session id")
	}
	s.hello = r.result()
	s.notify("notifications/initialized", "")
}

// headers are those of every message of the session.
func (s *session) headers() []string {
	h := []string{"Mcp-Session-Id", s.id}
	if s.version >= vJun {
		h = append(h, "MCP-Protocol-Version", s.version)
	}
	return h
}

// post sends a body as it is.
func (s *session) post(body string, headers ...string) *reply {
	s.t.Helper()
	return s.send(s.t, http.MethodPost, body, append(s.headers(), headers...)...)
}

// request sends a request; params may be empty.
func (s *session) request(method, params string) *reply {
	s.t.Helper()
	return s.post(envelope(strconv.FormatInt(s.next.Add(1), 10), method, params))
}

// call calls a tool.
func (s *session) call(tool, arguments string) *reply {
	s.t.Helper()
	return s.request("tools/call", toolParams(tool, arguments, ""))
}

// callWithProgress calls a tool and asks for its progress, under a token that is a string.
func (s *session) callWithProgress(tool, arguments, token string) *reply {
	s.t.Helper()
	return s.request("tools/call", toolParams(tool, arguments, `"progressToken":`+strconv.Quote(token)))
}

func (s *session) notify(method, params string) {
	s.t.Helper()
	s.post(envelope("", method, params)).want(http.StatusAccepted)
}

// answer responds to a request of the server.
func (s *session) answer(to message, result string) {
	s.t.Helper()
	s.post(`{"jsonrpc":"2.0","id":` + string(to.ID) + `,"result":` + result + `}`).want(http.StatusAccepted)
}

// get opens the standalone stream, or resumes the stream of an event.
func (s *session) get(lastEventID string) *reply {
	s.t.Helper()
	h := s.headers()
	if lastEventID != "" {
		h = append(h, "Last-Event-ID", lastEventID)
	}
	return s.send(s.t, http.MethodGet, "", h...)
}

func (s *session) delete() *reply {
	s.t.Helper()
	return s.send(s.t, http.MethodDelete, "", s.headers()...)
}

func envelope(id, method, params string) string {
	var b strings.Builder
	b.WriteString(`{"jsonrpc":"2.0",`)
	if id != "" {
		b.WriteString(`"id":` + id + `,`)
	}
	b.WriteString(`"method":` + strconv.Quote(method))
	if params != "" {
		b.WriteString(`,"params":` + params)
	}
	return b.String() + "}"
}

func toolParams(tool, arguments, meta string) string {
	p := `{"name":` + strconv.Quote(tool)
	if arguments != "" {
		p += `,"arguments":` + arguments
	}
	if meta != "" {
		p += `,"_meta":{` + meta + `}`
	}
	return p + "}"
}

// stateless is a client of 2026-07-28. Its fields go into every request.
type stateless struct {
	*caller
	t            *testing.T
	capabilities string
	logLevel     string
	progress     string // token, JSON; empty: none
	next         atomic.Int64
}

func newStateless(t *testing.T, url string, capabilities ...string) *stateless {
	return &stateless{caller: newCaller(t, url), t: t, capabilities: append(capabilities, everything)[0]}
}

// meta is the members of `_meta`.
func (c *stateless) meta() string {
	m := `"io.modelcontextprotocol/protocolVersion":"` + v2026 + `","io.modelcontextprotocol/clientCapabilities":` +
		c.capabilities + `,"io.modelcontextprotocol/clientInfo":` + clientInfo
	if c.logLevel != "" {
		m += `,"io.modelcontextprotocol/logLevel":"` + c.logLevel + `"`
	}
	if c.progress != "" {
		m += `,"progressToken":` + c.progress
	}
	return m
}

// request sends a request with its headers. members are those of params beside `_meta`.
func (c *stateless) request(method string, members map[string]any, headers ...string) *reply {
	c.t.Helper()
	h := []string{"MCP-Protocol-Version", v2026, "Mcp-Method", method}
	switch method {
	case "tools/call", "prompts/get":
		h = append(h, "Mcp-Name", fmt.Sprint(members["name"]))
	case "resources/read":
		h = append(h, "Mcp-Name", fmt.Sprint(members["uri"]))
	case "tasks/get", "tasks/update", "tasks/cancel":
		h = append(h, "Mcp-Name", fmt.Sprint(members["taskId"]))
	}
	body := envelope(strconv.FormatInt(c.next.Add(1), 10), method, c.params(members))
	return c.send(c.t, http.MethodPost, body, append(h, headers...)...)
}

func (c *stateless) params(members map[string]any) string {
	p := `{"_meta":{` + c.meta() + `}`
	for _, k := range slices.Sorted(maps.Keys(members)) {
		raw, err := json.Marshal(members[k])
		if err != nil {
			c.t.Fatal(err)
		}
		p += "," + strconv.Quote(k) + ":" + string(raw)
	}
	return p + "}"
}

// call calls a tool; more are further members of params, such as those of a retry.
func (c *stateless) call(tool, arguments string, more ...map[string]any) *reply {
	c.t.Helper()
	members := map[string]any{"name": tool}
	if arguments != "" {
		members["arguments"] = json.RawMessage(arguments)
	}
	for _, m := range more {
		maps.Copy(members, m)
	}
	return c.request("tools/call", members)
}

// retry is what a call is repeated with after its result asked for input.
func retry(t *testing.T, asked map[string]any, responses string) map[string]any {
	t.Helper()
	if asked["resultType"] != "input_required" {
		t.Fatalf("want input_required: %v", asked)
	}
	m := map[string]any{"requestState": asked["requestState"]}
	if responses != "" {
		m["inputResponses"] = json.RawMessage(responses)
	}
	return m
}
