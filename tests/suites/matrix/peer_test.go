package matrix

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// everything are the capabilities of a client that can be asked everything its revision knows.
const everything = `{"roots":{"listChanged":true},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

const clientInfo = `{"name":"matrix","version":"1.0.0"}`

// object is a decoded JSON object.
type object = map[string]any

// message is one message of the edge.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params object          `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	} `json:"error"`
	raw []byte
	// answers is the method of the request that a response answers.
	answers string
}

// peer is a client of one revision over one link. Its methods fail the cell's test when what is
// awaited does not come; what goes wrong beside that is collected, see settle.
type peer struct {
	version string
	// capabilities are the client's.
	capabilities string
	schemas      *schemas
	link         link
	hello        object // the result of initialize

	mu      sync.Mutex
	last    int
	asked   map[string]string // method by id, of requests without a response yet
	got     []message         // not yet taken
	changed chan struct{}     // closed and renewed when got grows
	faults  []string
	sent    map[string]bool // methods of what the edge sent
	batched bool            // arrays may come
}

// connect dials, and shakes hands where the revision does. The version asked for may differ from that
// of the schemas, which is to be negotiated.
func connect(t *testing.T, tr transport, backends []*harness.Service, asked, capabilities string, s *schemas) *peer {
	t.Helper()
	version := s.version
	p := &peer{version: version, capabilities: capabilities, schemas: s, asked: map[string]string{}, sent: map[string]bool{}, changed: make(chan struct{})}
	p.link = tr.dial(t, backends, version, p)
	t.Cleanup(p.link.close)
	if stateless(version) {
		return p
	}
	id := p.post("initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`, asked, capabilities, clientInfo), "")
	p.hello = p.response(t, id).result(t)
	p.notify("notifications/initialized", "")
	return p
}

// fault implements inbox.
func (p *peer) fault(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

// receive implements inbox.
func (p *peer) receive(raw []byte) {
	raw = bytes.Clone(bytes.TrimSpace(raw))
	if len(raw) == 0 || raw[0] != '[' {
		p.take(raw)
		return
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(raw, &batch); err != nil || !p.batched {
		p.fault("an unwanted or broken batch (%v): %s", err, raw)
	}
	for _, m := range batch {
		p.take(m)
	}
}

func (p *peer) take(raw []byte) {
	m := message{raw: raw}
	if err := json.Unmarshal(raw, &m); err != nil {
		p.fault("no message: %v: %s", err, raw)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Method == "" && m.ID != nil {
		method, ok := p.asked[string(m.ID)]
		if !ok {
			p.faults = append(p.faults, fmt.Sprintf("a response that answers no open request: %s", raw))
		}
		delete(p.asked, string(m.ID))
		m.answers = method
	}
	if m.Method != "" {
		p.sent[m.Method] = true
	}
	if err := p.schemas.message(raw, m.answers); err != nil {
		p.faults = append(p.faults, fmt.Sprintf("%v\n%s", err, raw))
	}
	p.got = append(p.got, m)
	close(p.changed)
	p.changed = make(chan struct{})
}

// settle reports what went wrong so far, and forgets what nobody awaited.
func (p *peer) settle(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		t.Error(f)
	}
	p.faults, p.got = nil, nil
}

// post sends a request and returns its id. headers are as in outgoing.
func (p *peer) post(method, params, name string, headers ...map[string]string) string {
	p.mu.Lock()
	p.last++
	id := strconv.Itoa(p.last)
	p.asked[id] = method
	p.mu.Unlock()
	m := outgoing{raw: envelope(id, method, params), method: method, id: id, name: name}
	if len(headers) > 0 {
		m.header = headers[0]
	}
	p.link.send(m)
	return id
}

// envelope is a request, or a notification if the id is empty; params may be empty.
func envelope(id, method, params string) []byte {
	raw := `{"jsonrpc":"2.0"`
	if id != "" {
		raw += `,"id":` + id
	}
	raw += `,"method":` + strconv.Quote(method)
	if params != "" {
		raw += `,"params":` + params
	}
	return []byte(raw + "}")
}

// notify sends a notification.
func (p *peer) notify(method, params string) {
	if stateless(p.version) && params == "" {
		params = p.params(nil, nil)
	}
	p.link.send(outgoing{raw: envelope("", method, params), method: method})
}

// params are a request's, with what its revision wants in `_meta` beside meta.
func (p *peer) params(members, meta object) string {
	all := object{}
	maps.Copy(all, members)
	inside := object{}
	if stateless(p.version) {
		const reserved = "io.modelcontextprotocol/"
		inside[reserved+"protocolVersion"] = p.version
		inside[reserved+"clientInfo"] = json.RawMessage(clientInfo)
		inside[reserved+"clientCapabilities"] = json.RawMessage(p.capabilities)
	}
	maps.Copy(inside, meta)
	if len(inside) > 0 {
		all["_meta"] = inside
	}
	raw, err := json.Marshal(all)
	if err != nil {
		panic(err) // of values that tests wrote
	}
	return string(raw)
}

// begin sends a request with its metadata and returns its id.
func (p *peer) begin(method string, members, meta object) string {
	name := ""
	switch method {
	case "tools/call", "prompts/get":
		name, _ = members["name"].(string)
	case "resources/read":
		name, _ = members["uri"].(string)
	case "tasks/get", "tasks/update", "tasks/cancel":
		name, _ = members["taskId"].(string)
	}
	return p.post(method, p.params(members, meta), name)
}

// request sends a request and awaits its response.
func (p *peer) request(t *testing.T, method string, members object) message {
	t.Helper()
	return p.response(t, p.begin(method, members, nil))
}

// result is the result of a request.
func (p *peer) result(t *testing.T, method string, members object) object {
	t.Helper()
	return p.request(t, method, members).result(t)
}

// call is the result of tools/call.
func (p *peer) call(t *testing.T, tool string, arguments object) object {
	t.Helper()
	return p.result(t, "tools/call", calling(tool, arguments))
}

func calling(tool string, arguments object) object {
	members := object{"name": tool}
	if arguments != nil {
		members["arguments"] = arguments
	}
	return members
}

// response awaits the response to a request.
func (p *peer) response(t *testing.T, id string) message {
	t.Helper()
	return p.await(t, "the response to request "+id, func(m message) bool { return m.Method == "" && string(m.ID) == id })
}

// heard awaits a notification or a request of the edge.
func (p *peer) heard(t *testing.T, method string) message {
	t.Helper()
	return p.await(t, method, func(m message) bool { return m.Method == method })
}

// await takes the first message that fits, whatever came before it.
func (p *peer) await(t *testing.T, what string, fits func(message) bool) message {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		p.mu.Lock()
		i := slices.IndexFunc(p.got, fits)
		if i >= 0 {
			m := p.got[i]
			p.got = slices.Delete(p.got, i, i+1)
			p.mu.Unlock()
			return m
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-timeout.C:
			p.settle(t)
			t.Fatalf("in vain: %s", what)
		}
	}
}

// answer awaits a request of the edge and answers it.
func (p *peer) answer(t *testing.T, method, result string) message {
	t.Helper()
	m := p.heard(t, method)
	p.link.send(outgoing{raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)})
	return m
}

// hasHeard reports whether a method was ever sent by the edge.
func (p *peer) hasHeard(method string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent[method]
}

// result is a response's result, decoded.
func (m message) result(t *testing.T) object {
	t.Helper()
	var o object
	if m.Error != nil || json.Unmarshal(m.Result, &o) != nil || o == nil {
		t.Fatalf("want a result: %s", m.raw)
	}
	return o
}

// wantError checks an error's code.
func (m message) wantError(t *testing.T, code int) message {
	t.Helper()
	if m.Error == nil || m.Error.Code != code || m.Error.Message == "" {
		t.Fatalf("want the error %d: %s", code, m.raw)
	}
	return m
}

// dig follows member names and indices into decoded JSON; nil when they lead nowhere.
func dig(v any, path ...any) any {
	for _, step := range path {
		switch k := step.(type) {
		case string:
			m, _ := v.(object)
			v = m[k]
		case int:
			a, _ := v.([]any)
			if k >= len(a) {
				return nil
			}
			v = a[k]
		}
	}
	return v
}

// names are the values of a member over the entries of a list.
func names(list any, member string) []string {
	var out []string
	entries, _ := list.([]any)
	for _, e := range entries {
		name, _ := dig(e, member).(string)
		out = append(out, name)
	}
	return out
}
