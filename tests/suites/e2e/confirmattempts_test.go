package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// bankers is two backends with the same tools, which record each of their runs. Their tools take any arguments.
type bankers struct {
	bank, mirror *harness.Service
	mu           sync.Mutex
	runs         []string
}

func newBankers(t *testing.T) *bankers {
	v := &bankers{}
	serve := func(name string) *harness.Service {
		s := capability.New(name, "1.0.0")
		for _, tool := range []string{"pay", "burn", "job", "wait"} {
			entry := &capability.Tool{Name: tool, InputSchemaJson: `{"type":"object","properties":{"tenant":{"type":"string"},"currency":{"type":"string","default":"EUR"}}}`}
			var options []capability.ToolOption
			switch tool {
			case "job":
				options = append(options, capability.Tasks(capability.TaskOptional))
			case "wait":
				options = append(options, capability.Tasks(capability.TaskRequired))
			}
			capability.AddRawTool(s, entry, func(_ context.Context, _ *capability.Call, arguments json.RawMessage) (*capability.Result, error) {
				v.mu.Lock()
				defer v.mu.Unlock()
				v.runs = append(v.runs, name+" "+tool+" "+string(arguments))
				return &capability.Result{Content: []*capability.Content{capability.Text("ran")}}, nil
			}, options...)
		}
		return harness.Serve(t, name, s)
	}
	v.bank, v.mirror = serve("bank"), serve("mirror")
	return v
}

// take returns the runs since it was called before.
func (v *bankers) take() (runs []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	runs, v.runs = v.runs, nil
	return runs
}

func (v *bankers) backends() []config.Backend {
	mirror := v.mirror.Backend()
	mirror.Prefix = "m_"
	return []config.Backend{v.bank.Backend(), mirror}
}

// paid are the arguments of the call of pay that the user confirms in each attempt.
const paid = `{"amount":5,"to":"ann"}`

// tricks try to have calls run that the user has not confirmed.
type tricks struct {
	t      *testing.T
	v      *bankers
	e      *harness.Edge
	took   string // what is recorded of the confirmed call
	tokens map[string]string
	tried  map[string]bool
	passed []string
}

// try runs one attempt, which returns how often the confirmed call was run in it. It has passed if anything else ran.
func (a *tricks) try(name string, attempt func() (confirmed int)) {
	a.t.Helper()
	if a.tried[name] {
		a.t.Errorf("%s is tried twice", name)
	}
	a.tried[name] = true
	want := attempt()
	got := a.v.take()
	if len(got) != want || slices.ContainsFunc(got, func(run string) bool { return run != a.took }) {
		a.passed = append(a.passed, fmt.Sprintf("%s: ran %q, of which %d were confirmed", name, got, want))
	}
}

// as returns a client of 2026-07-28 at an endpoint of the edge, with the token of a caller.
func (a *tricks) as(who, path string, capabilities ...string) *stateless {
	c := newStateless(a.t, a.e.URL+path, capabilities...)
	c.as(a.tokens[who])
	return c
}

func (a *tricks) session(who, path string) *session {
	s := &session{caller: newCaller(a.t, a.e.URL+path), t: a.t, version: vNov, next: new(atomic.Int64)}
	s.as(a.tokens[who])
	s.open(everything)
	return s
}

// asked returns the state of a call that the user was asked about, with an answer.
func (a *tricks) asked(c *stateless, tool, arguments, answer string) map[string]any {
	a.t.Helper()
	return retry(a.t, c.call(tool, arguments).result(), confirming(answer))
}

// runs runs the confirmed call and returns 1, or fails.
func (a *tricks) runs(c *stateless, yes map[string]any) int {
	a.t.Helper()
	if got := c.call("pay", paid, yes).final(); got.Error != nil {
		a.t.Errorf("the confirmed call did not run: %s", got.raw)
	}
	return 1
}

// question sends a call in a session. It returns the question about it and the stream, or nil if there is no question.
func (a *tricks) question(s *session, tool, arguments string) (*message, *stream) {
	a.t.Helper()
	r := s.call(tool, arguments)
	if r.stream == nil {
		return nil, nil
	}
	if m := r.stream.message(); m.Method == "elicitation/create" {
		return &m, r.stream
	}
	return nil, nil
}

// confirmed runs the confirmed call in a session and returns the question about it.
func (a *tricks) confirmed(s *session) message {
	a.t.Helper()
	q, stream := a.question(s, "pay", paid)
	if q == nil {
		a.t.Fatal("the user is not asked")
	}
	s.answer(*q, sayYes)
	stream.message().result(a.t)
	return *q
}

// declines ends a call that still waits for its answer.
func (a *tricks) declines(s *session, q *message, stream *stream) {
	a.t.Helper()
	if q != nil {
		s.answer(*q, sayNo)
		stream.message().wantError(a.t, -31403)
	}
}

// otherCalls are calls that are not the confirmed one: of other tools, and with other arguments by many spellings.
func otherCalls() (out [][2]string) {
	for _, tool := range []string{"burn", "job", "m_pay", "m_burn", "Pay", "PAY", "pay ", " pay", "pay%00", "bank/pay", "bank.pay", "pay/", "settle"} {
		out = append(out, [2]string{tool, paid})
	}
	for _, arguments := range []string{
		`{"amount":6,"to":"ann"}`, `{"amount":50,"to":"ann"}`, `{"amount":-5,"to":"ann"}`, `{"amount":5.01,"to":"ann"}`, `{"amount":5e1,"to":"ann"}`, `{"amount":0,"to":"ann"}`,
		`{"amount":"5","to":"ann"}`, `{"amount":[5],"to":"ann"}`, `{"amount":{"value":5},"to":"ann"}`, `{"amount":null,"to":"ann"}`, `{"amount":true,"to":"ann"}`,
		`{"amount":5.0000000000000001,"to":"ann"}`, `{"amount":9007199254740993,"to":"ann"}`, `{"amount":1e400,"to":"ann"}`, `{"amount":5,"to":"bob"}`, `{"amount":5,"to":"Ann"}`,
		`{"amount":5,"to":"ann "}`, `{"amount":5,"to":" ann"}`, `{"amount":5,"to":"ann\u0000"}`, `{"amount":5,"to":"ann\u200b"}`, `{"amount":5,"to":"\u0430nn"}`, `{"amount":5,"to":"a\u0301nn"}`,
		`{"amount":5,"to":"\u202enna"}`, `{"amount":5,"to":["ann"]}`, `{"amount":5,"to":{"$ne":""}}`, `{"amount":5,"to":null}`, `{"amount":5,"to":""}`, `{"amount":5}`, `{"to":"ann"}`, `{}`,
		`{"Amount":6,"amount":5,"to":"ann"}`, `{"amount":5,"AMOUNT":6,"to":"ann"}`, `{"amount":5,"to":"ann","To":"bob"}`, `{"amount":5,"to":"ann","to ":"bob"}`, `{"amount":5,"to":"ann"," to":"bob"}`,
		`{"amount":5,"to":"ann","to[0]":"bob"}`, `{"amount":5,"to":"ann","to[]":"bob"}`, `{"amount":5,"to":"ann","to.x":"bob"}`, `{"amount":5,"to":"ann","t_o":"bob"}`, `{"amount":5,"to":"ann","_to":"bob"}`,
		`{"amount":5,"amount":6,"to":"ann"}`, `{"amount":6,"amount":5,"to":"ann"}`, `{"amount":5,"\u0061mount":6,"to":"ann"}`, `{"\u0061mount":6,"to":"ann"}`, `{"amount":5,"to":"ann","to":"bob"}`,
		`{"amount":5,"to":"bob","to":"ann"}`, `{"amount":5,"t\u006f":"bob","to":"ann"}`, `{"Amount":5,"To":"ann"}`, `{"AMOUNT":5,"TO":"ann"}`,
		`{"amount":5,"to":"ann","currency":"USD"}`, `{"amount":5,"to":"ann","currency":"EUR"}`, `{"amount":5,"to":"ann","currency":null}`, `{"amount":5,"to":"ann","note":""}`, `{"amount":5,"to":"ann","note":null}`,
		`{"amount":5,"to":"ann","tenant":"evil"}`, `{"amount":5,"to":"ann","tenant":"acme"}`, `{"amount":5,"to":"ann","Tenant":"evil"}`, `{"amount":5,"to":"ann","t\u0065nant":"evil"}`, `{"amount":5,"to":"ann","tenant":null}`,
		`{"amount":5,"to":"ann","__proto__":{"amount":6}}`, `{"amount":5,"to":"ann","constructor":{}}`, `{"arguments":{"amount":5,"to":"ann"}}`, `{"amount":5,"to":"ann","arguments":{"amount":6}}`,
		`{"amount":5,"to":"ann","name":"burn"}`, `{"amount":5,"to":"ann","_meta":{}}`, `{"amount":5,"to":"ann","":0}`, `{"amount":5,"to":"ann","confirm":true}`, `{"amount":5,"to":"ann","mcpedge.confirm":true}`,
		`[5,"ann"]`, `"{\"amount\":5,\"to\":\"ann\"}"`, `null`, `5`, `[{"amount":5,"to":"ann"}]`,
	} {
		out = append(out, [2]string{"pay", arguments})
	}
	return append(out, [2]string{"pay", `{"amount":5,"to":"ann","pad":"` + strings.Repeat("x", 4096) + `"}`})
}

// modernOthers sends the confirmed state of one call with another one, in 2026-07-28.
func (a *tricks) modernOthers() {
	ann := a.as("ann", "")
	for _, other := range otherCalls() {
		a.try("2026-07-28: the state with "+other[0]+" "+other[1], func() int {
			yes := a.asked(ann, "pay", paid, sayYes)
			ann.call(other[0], other[1], yes).final()
			return a.runs(ann, yes)
		})
	}
	for what, send := range map[string]func(yes map[string]any){
		"another caller":      func(yes map[string]any) { a.as("bob", "").call("pay", paid, yes).final() },
		"another issuer's":    func(yes map[string]any) { a.as("twin", "").call("pay", paid, yes).final() },
		"another tenant's":    func(yes map[string]any) { a.as("moved", "").call("pay", paid, yes).final() },
		"an anonymous caller": func(yes map[string]any) { a.as("nobody", "").call("pay", paid, yes).final() },
		"a set":               func(yes map[string]any) { a.as("ann", "/desk").call("pay", paid, yes).final() },
		"another set":         func(yes map[string]any) { a.as("ann", "/few").call("pay", paid, yes).final() },
		"call_tool":           func(yes map[string]any) { wrapped(a.t, a.as("ann", "/desk"), "pay", paid, yes).final() },
		"call_tool of itself": func(yes map[string]any) { wrapped(a.t, a.as("ann", "/desk"), "call_tool", paid, yes).final() },
		"call_tool of other arguments": func(yes map[string]any) {
			wrapped(a.t, a.as("ann", "/desk"), "pay", `{"amount":6,"to":"ann"}`, yes).final()
		},
		"find_tools": func(yes map[string]any) { a.as("ann", "/desk").call("find_tools", `{"query":"pay"}`, yes).final() },
		"a batch": func(yes map[string]any) {
			one := envelope("1", "tools/call", ann.params(map[string]any{"name": "burn", "arguments": json.RawMessage(paid), "requestState": yes["requestState"], "inputResponses": yes["inputResponses"]}))
			ann.send(a.t, "POST", "["+one+","+one+"]", "MCP-Protocol-Version", v2026, "Mcp-Method", "tools/call", "Mcp-Name", "pay")
		},
		"a header of the other tool": func(yes map[string]any) {
			members := map[string]any{"name": "burn", "arguments": json.RawMessage(paid), "requestState": yes["requestState"], "inputResponses": yes["inputResponses"]}
			ann.request("tools/call", members, "Mcp-Name", "", "Mcp-Name", "pay")
		},
		"the same as a task": func(yes map[string]any) {
			a.as("ann", "", `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`).call("wait", paid, yes).final()
		},
		"a prompt":                   func(yes map[string]any) { ann.request("prompts/get", merged(yes, "name", "pay")) },
		"a resource":                 func(yes map[string]any) { ann.request("resources/read", merged(yes, "uri", "pay")) },
		"a session":                  func(yes map[string]any) { a.inSession("pay", paid, yes) },
		"a session, other arguments": func(yes map[string]any) { a.inSession("pay", `{"amount":6,"to":"ann"}`, yes) },
		"HTTP+SSE": func(yes map[string]any) {
			raw, _ := json.Marshal(merged(yes, "name", "pay", "arguments", json.RawMessage(paid)))
			newSSE(a.t, a.e, "/sse").ask("tools/call", string(raw))
		},
		"the REST API": func(yes map[string]any) {
			newOperator(a.t, a.e).post("/v1/tools/pay:call", fmt.Sprintf(`{"arguments":%s,"round":{"state":%q,"responses":%s}}`, paid, yes["requestState"], yes["inputResponses"]))
		},
		"stdio": func(yes map[string]any) {
			raw, _ := json.Marshal(merged(yes, "name", "pay", "arguments", json.RawMessage(paid)))
			a.stdio().ask("tools/call", string(raw))
		},
	} {
		a.try("2026-07-28: the state with "+what, func() int {
			yes := a.asked(ann, "pay", paid, sayYes)
			send(yes)
			return a.runs(ann, yes)
		})
	}
}

// merged is a copy of the members of a retry, with others.
func merged(yes map[string]any, more ...any) map[string]any {
	out := map[string]any{"requestState": yes["requestState"], "inputResponses": yes["inputResponses"]}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// inSession calls a tool in a session with the members of a retry of 2026-07-28, and declines what it asks.
func (a *tricks) inSession(tool, arguments string, yes map[string]any) {
	a.t.Helper()
	s := a.session("ann", "")
	raw, _ := json.Marshal(merged(yes, "name", tool, "arguments", json.RawMessage(arguments)))
	stream := s.request("tools/call", string(raw)).events()
	q := stream.awaitMethod("elicitation/create")
	a.declines(s, &q, stream)
}
