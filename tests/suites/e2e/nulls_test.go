package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestNullIsAbsent: null is absent wherever a member is optional, in each revision. What is wrong is said without the edge's own
// words for it.
func TestNullIsAbsent(t *testing.T) {
	harness.OneProcess(t)
	_, e := startFixture(t)
	for _, version := range stateful {
		t.Run(version, func(t *testing.T) {
			hello := func(rest string) string {
				return rpc("initialize", `{"protocolVersion":"`+version+`",`+rest+`}`)
			}
			c := newCaller(t, e.URL)
			for _, b := range []bad{
				{name: "initialize", body: hello(`"capabilities":null,"clientInfo":null,"_meta":null`), status: 200},
				{name: "initialize with a null version", body: rpc("initialize", `{"protocolVersion":null,"capabilities":{}}`), status: 200, code: -32602, id: "900"},
				{name: "initialize without params", body: rpc("initialize", `null`), status: 200, code: -32602, id: "900"},
				{name: "capabilities are a number", body: hello(`"capabilities":5`), status: 200, code: -32602, id: "900", check: plainlySaid},
				{name: "clientInfo is a list", body: hello(`"clientInfo":[]`), status: 200, code: -32602, id: "900", check: plainlySaid},
			} {
				t.Run(b.name, func(t *testing.T) { b.run(t, c) })
			}
			s := newSession(t, e.URL, version)
			for _, b := range []bad{
				{name: "initialized", body: envelope("", "notifications/initialized", "null"), status: 202},
				{name: "ping", body: rpc("ping", "null"), status: 200},
				{name: "an error and a result beside a method", body: `{"jsonrpc":"2.0","id":900,"method":"ping","params":null,"result":null,"error":null}`, status: 200},
				{name: "list", body: rpc("tools/list", `{"cursor":null,"_meta":null}`), status: 200},
				{name: "list without params", body: rpc("prompts/list", `null`), status: 200},
				{name: "call", body: rpc("tools/call", `{"name":"echo","arguments":{"text":"x"},"task":null,"_meta":{"progressToken":null}}`), status: 200},
				{name: "call without params", body: rpc("tools/call", `null`), status: 200, code: -32602, id: "900"},
				{name: "prompt", body: rpc("prompts/get", `{"name":"seen","arguments":null}`), status: 200, code: -32602, id: "900"}, // There is none of the name.
				{name: "completion", body: rpc("completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":""},"context":null}`), status: 200},
				{name: "cancelled", body: envelope("", "notifications/cancelled", `{"requestId":7,"reason":null,"_meta":null}`), status: 202},
				{name: "cancelled without params", body: envelope("", "notifications/cancelled", `null`), status: 202},
				{name: "response with a null error", body: `{"jsonrpc":"2.0","id":"nobody","result":{},"error":null}`, status: 202},
				{name: "error with a null result", body: `{"jsonrpc":"2.0","id":7,"result":null,"error":{"code":-1,"message":"no"}}`, status: 202},
				{name: "error with a null id", body: `{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"no"}}`, status: 202},
				{name: "_meta with a null version", body: rpc("ping", `{"_meta":{"io.modelcontextprotocol/protocolVersion":null}}`), status: 200},
			} {
				t.Run(b.name, func(t *testing.T) { b.run(t, s.caller, s.headers()...) })
			}
		})
	}
	t.Run(v2026, func(t *testing.T) {
		c := newStateless(t, e.URL)
		const nulls = metaBoth + `,"io.modelcontextprotocol/clientInfo":null,"io.modelcontextprotocol/logLevel":null,"progressToken":null,"traceparent":null`
		for _, b := range []bad{
			{name: "discover", body: stating("server/discover", nulls, ""), headers: modernHeaders("server/discover", ""), status: 200},
			{name: "list", body: stating("tools/list", nulls, `"cursor":null`), headers: modernHeaders("tools/list", ""), status: 200},
			{name: "call", body: stating("tools/call", nulls, `"name":"echo","arguments":{"text":"x"},"requestState":null,"inputResponses":null`),
				headers: modernHeaders("tools/call", "echo"), status: 200},
			{name: "completion", body: stating("completion/complete", nulls, `"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":""},"context":{"arguments":{"mood":null}}`),
				headers: modernHeaders("completion/complete", ""), status: 200},
			{name: "_meta", body: rpc("tools/list", `{"_meta":null}`), headers: modernHeaders("tools/list", ""), status: 400, code: -32602, id: "900", check: plainlySaid},
			{name: "params", body: rpc("tools/list", `null`), headers: modernHeaders("tools/list", ""), status: 400, code: -32602, id: "900", check: plainlySaid},
			{name: "capabilities", body: stating("tools/list", metaVersion+`,"io.modelcontextprotocol/clientCapabilities":null`, ""),
				headers: modernHeaders("tools/list", ""), status: 400, code: -32602, id: "900", check: plainlySaid},
		} {
			t.Run(b.name, func(t *testing.T) { b.run(t, c.caller) })
		}
	})
}

// plainlySaid: an error has no code, offset or package of the edge in its text.
func plainlySaid(t *testing.T, r *reply) {
	t.Helper()
	if m := r.final(); strings.Contains(m.Error.Message, "code -") || strings.Contains(m.Error.Message, "byte 0") || strings.Contains(m.Error.Message, "jsonrpc:") {
		t.Errorf("the error says %q", m.Error.Message)
	}
}

// TestNullArguments: an argument that is null and optional is absent for the tool, in each revision.
func TestNullArguments(t *testing.T) {
	_, e := startFixture(t)
	for _, version := range append([]string{v2026}, stateful...) {
		c := asker(newStateless(t, e.URL))
		if version != v2026 {
			c = newSession(t, e.URL, version)
		}
		if got := text(t, c.ask("tools/call", `{"name":"flood","arguments":{"bytes":1,"times":null}}`).want(http.StatusOK).result()); got != "done" {
			t.Errorf("%s: %s", version, got)
		}
	}
}
