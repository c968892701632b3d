package e2e

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// rpc is a request with the id 900.
func rpc(method, params string) string { return envelope("900", method, params) }

// badMessages are no messages, in any revision.
var badMessages = []bad{
	{name: "malformed JSON", body: `{"jsonrpc":`, status: 400, code: -32700},
	{name: "empty body", body: ``, status: 400, code: -32700},
	{name: "invalid UTF-8", body: "{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"\xff\"}", status: 400, code: -32700},
	{name: "two values", body: rpc("ping", "") + rpc("ping", ""), status: 400, code: -32700},
	{name: "no object", body: `"ping"`, status: 400, code: -32600},
	{name: "empty object", body: `{}`, status: 400, code: -32600},
	{name: "no jsonrpc", body: `{"id":900,"method":"ping"}`, status: 400, code: -32600, id: "900"},
	{name: "jsonrpc 1.0", body: `{"jsonrpc":"1.0","id":900,"method":"ping"}`, status: 400, code: -32600, id: "900"},
	{name: "null id", body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, status: 400, code: -32600},
	{name: "fractional id", body: `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, status: 400, code: -32600},
	{name: "object as id", body: `{"jsonrpc":"2.0","id":{},"method":"ping"}`, status: 400, code: -32600},
	{name: "method is not a string", body: `{"jsonrpc":"2.0","id":900,"method":7}`, status: 400, code: -32600, id: "900"},
	{name: "params are an array", body: `{"jsonrpc":"2.0","id":900,"method":"ping","params":[]}`, status: 400, code: -32600, id: "900"},
	{name: "id twice", body: `{"jsonrpc":"2.0","id":900,"id":901,"method":"ping"}`, status: 400, code: -32600},
	{name: "method and result", body: `{"jsonrpc":"2.0","id":900,"method":"ping","result":{}}`, status: 400, code: -32600, id: "900"},
	{name: "nested too deep", body: `{"jsonrpc":"2.0","id":900,"method":"ping","params":` + strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2001),
		status: 400, code: -32600, id: "900"},
	{name: "response without id", body: `{"jsonrpc":"2.0","result":{}}`, status: 400, code: -32600},
	{name: "response nobody waits for", body: `{"jsonrpc":"2.0","id":"nobody","result":{}}`, status: 202},
	{name: "error nobody waits for", body: `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}`, status: 202},
	{name: "unknown notification", body: `{"jsonrpc":"2.0","method":"notifications/unheard"}`, status: 202},
	{name: "cancelled without id", body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}`, status: 202},
	{name: "cancelled unknown", body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`, status: 202},
}

// unknownSession replaces the session's id: the first header of a name is the row's own.
var (
	noSession      = []string{"Mcp-Session-Id", ""}
	unknownSession = []string{"Mcp-Session-Id", "", "Mcp-Session-Id", "NOSUCHSESSION"}
	longSession    = []string{"Mcp-Session-Id", "", "Mcp-Session-Id", strings.Repeat("x", 4096)}
)

// badSessions: without a session 400, with one that is not there 404, by every method.
var badSessions = []bad{
	{name: "no session", body: rpc("ping", ""), headers: noSession, status: 400, code: -32600, id: "900"},
	{name: "no session, notification", body: envelope("", "notifications/initialized", ""), headers: noSession, status: 400, code: -32600},
	{name: "no session, response", body: `{"jsonrpc":"2.0","id":"x","result":{}}`, headers: noSession, status: 400, code: -32600},
	{name: "no session, batch", body: `[` + rpc("ping", "") + `]`, headers: noSession, status: 400, code: -32600},
	{name: "no session, GET", method: "GET", headers: noSession, status: 405, code: -32600, check: hasHeader("Allow", "POST")},
	{name: "no session, DELETE", method: "DELETE", headers: noSession, status: 400, code: -32600},
	{name: "unknown session", body: rpc("ping", ""), headers: unknownSession, status: 404, code: -32600, id: "900"},
	{name: "unknown session, notification", body: envelope("", "notifications/initialized", ""), headers: unknownSession, status: 404, code: -32600},
	{name: "unknown session, response", body: `{"jsonrpc":"2.0","id":"x","result":{}}`, headers: unknownSession, status: 404, code: -32600},
	{name: "unknown session, GET", method: "GET", headers: unknownSession, status: 404, code: -32600},
	{name: "unknown session, DELETE", method: "DELETE", headers: unknownSession, status: 404, code: -32600},
	{name: "absurd session", body: rpc("ping", ""), headers: longSession, status: 404, code: -32600, id: "900"},
	{name: "bad event id", method: "GET", headers: []string{"Last-Event-ID", "nonsense"}, status: 400, code: -32600},
	{name: "event id of no stream", method: "GET", headers: []string{"Last-Event-ID", "NOSTREAM.1.0"}, status: 400, code: -32600},
	{name: "absurd event id", method: "GET", headers: []string{"Last-Event-ID", strings.Repeat("9", 4096)}, status: 400, code: -32600},
}

// badVersions: the header of a session's messages.
func badVersions(version string) []bad {
	with := func(v string) []string { return []string{"MCP-Protocol-Version", "", "MCP-Protocol-Version", v} }
	other := map[string]string{vMar: vNov, vJun: vMar, vNov: vJun}[version]
	return []bad{
		{name: "version that never was", body: rpc("ping", ""), headers: with("1999-01-01"), status: 400, code: -32602, id: "900"},
		{name: "version that is no date", body: rpc("ping", ""), headers: with("latest"), status: 400, code: -32602, id: "900"},
		{name: "version that never was, GET", method: "GET", headers: with("1999-01-01"), status: 400, code: -32602},
		{name: "version that never was, DELETE", method: "DELETE", headers: with("1999-01-01"), status: 400, code: -32602},
		{name: "stateless version, GET", method: "GET", headers: with(v2026), status: 400, code: -32602},
		{name: "stateless version without _meta", body: rpc("ping", ""), headers: with(v2026), status: 400, code: -32602, id: "900"},
		{name: "another version", body: rpc("ping", ""), headers: with(other), status: 200},
		{name: "no version", body: rpc("ping", ""), headers: []string{"MCP-Protocol-Version", ""}, status: 200},
	}
}

// badRequests are answered in-band.
func badRequests(version string) []bad {
	rows := []bad{
		{name: "unknown method", body: rpc("no/such", ""), status: 200, code: -32601, id: "900"},
		{name: "string id", body: envelope(`"a\u0062c"`, "no/such", ""), status: 200, code: -32601, id: `"a\u0062c"`},
		{name: "server/discover", body: rpc("server/discover", ""), status: 200, code: -32601, id: "900"},
		{name: "subscriptions/listen", body: rpc("subscriptions/listen", `{"notifications":{}}`), status: 200, code: -32601, id: "900"},
		{name: "tasks/list", body: rpc("tasks/list", "{}"), status: 200, code: -32601, id: "900"},
		{name: "client's method", body: rpc("sampling/createMessage", ""), status: 200, code: -32601, id: "900"},
		{name: "unknown tool", body: rpc("tools/call", `{"name":"none"}`), status: 200, code: -32602, id: "900"},
		{name: "tool without name", body: rpc("tools/call", ``), status: 200, code: -32602, id: "900"},
		{name: "tool name is not a string", body: rpc("tools/call", `{"name":7}`), status: 200, code: -32602, id: "900"},
		{name: "arguments are an array", body: rpc("tools/call", `{"name":"add","arguments":[]}`), status: 200, code: -32602, id: "900"},
		{name: "_meta is not an object", body: rpc("tools/call", `{"name":"echo","arguments":{"text":"x"},"_meta":7}`), status: 200, code: -32602, id: "900"},
		{name: "unknown prompt", body: rpc("prompts/get", `{"name":"none"}`), status: 200, code: -32602, id: "900"},
		{name: "prompt lacks an argument", body: rpc("prompts/get", `{"name":"greet"}`), status: 200, code: -32602, id: "900"},
		{name: "prompt argument is not a string", body: rpc("prompts/get", `{"name":"greet","arguments":{"name":7}}`), status: 200, code: -32602, id: "900"},
		{name: "unknown resource", body: rpc("resources/read", `{"uri":"test://none"}`), status: 200, code: -32002, id: "900", check: namesURI},
		{name: "resource without uri", body: rpc("resources/read", `{}`), status: 200, code: -32602, id: "900"},
		{name: "subscribe to unknown", body: rpc("resources/subscribe", `{"uri":"none://x"}`), status: 200, code: -32002, id: "900"},
		{name: "subscribe without uri", body: rpc("resources/subscribe", `{}`), status: 200, code: -32602, id: "900"},
		{name: "unsubscribe from unknown", body: rpc("resources/unsubscribe", `{"uri":"none://x"}`), status: 200},
		{name: "bad cursor", body: rpc("tools/list", `{"cursor":"nonsense"}`), status: 200, code: -32602, id: "900"},
		{name: "empty cursor", body: rpc("tools/list", `{"cursor":""}`), status: 200, code: -32602, id: "900"},
		{name: "cursor is not a string", body: rpc("prompts/list", `{"cursor":1}`), status: 200, code: -32602, id: "900"},
		{name: "bad log level", body: rpc("logging/setLevel", `{"level":"loud"}`), status: 200, code: -32602, id: "900"},
		{name: "no log level", body: rpc("logging/setLevel", ""), status: 200, code: -32602, id: "900"},
		{name: "complete nothing", body: rpc("completion/complete", ""), status: 200, code: -32602, id: "900"},
		{name: "complete an unknown prompt", body: rpc("completion/complete", `{"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"a","value":""}}`),
			status: 200, code: -32602, id: "900"},
		{name: "complete an unknown kind", body: rpc("completion/complete", `{"ref":{"type":"ref/tool","name":"add"},"argument":{"name":"a","value":""}}`),
			status: 200, code: -32602, id: "900"},
	}
	wrong := bad{name: "arguments that do not fit", body: rpc("tools/call", `{"name":"add","arguments":{"a":"x"}}`), status: 200}
	if version == vNov {
		wrong.check = isToolError
	} else {
		wrong.code, wrong.id = -32602, "900"
	}
	return append(rows, wrong)
}

// namesURI: the error says which resource it is about.
func namesURI(t *testing.T, r *reply) {
	t.Helper()
	if got := object(t, r.final().Error.Data)["uri"]; got != "test://none" {
		t.Errorf("error.data.uri is %v", got)
	}
}

// badBatches: arrays are read in one revision, and bounded there.
func badBatches(version string) []bad {
	one := `[` + rpc("ping", "") + `]`
	if version != vMar {
		return []bad{
			{name: "batch", body: one, status: 400, code: -32600},
			{name: "empty batch", body: `[]`, status: 400, code: -32600},
			{name: "malformed batch", body: `[{`, status: 400, code: -32700},
		}
	}
	return []bad{
		{name: "batch", body: one, status: 200},
		{name: "empty batch", body: `[]`, status: 400, code: -32600},
		{name: "malformed batch", body: `[{]`, status: 400, code: -32700},
		{name: "batch with initialize", body: `[` + hello + `]`, status: 400, code: -32600},
		{name: "batch of too many", body: "[" + strings.TrimSuffix(strings.Repeat(rpc("ping", "")+",", 65), ",") + "]", status: 400, code: -32600},
		{name: "batch of nothing to answer", body: `[` + envelope("", "notifications/initialized", "") + `]`, status: 202},
	}
}

// badHandshakes come before a session.
var badHandshakes = []bad{
	{name: "no version", body: rpc("initialize", `{"capabilities":{}}`), status: 200, code: -32602, id: "900"},
	{name: "no params", body: rpc("initialize", ""), status: 200, code: -32602, id: "900"},
	{name: "capabilities are no object", body: rpc("initialize", `{"protocolVersion":"2025-11-25","capabilities":[]}`), status: 200, code: -32602, id: "900"},
	{name: "clientInfo is not an object", body: rpc("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":"x"}`), status: 200, code: -32602, id: "900"},
	{name: "unknown version header", body: hello, headers: []string{"MCP-Protocol-Version", "1999-01-01"}, status: 200, id: "1"},
	{name: "newer version header", body: hello, headers: []string{"MCP-Protocol-Version", "2099-01-01"}, status: 200, id: "1"},
	{name: "version header of the other era", body: hello, headers: []string{"MCP-Protocol-Version", v2026}, status: 200, id: "1"},
	{name: "version header that is no date", body: hello, headers: []string{"MCP-Protocol-Version", "latest"}, status: 200, id: "1"},
	{name: "unknown version", body: rpc("initialize", `{"protocolVersion":"1999-01-01","capabilities":{}}`), status: 200, check: negotiates(vNov)},
	{name: "later version", body: rpc("initialize", `{"protocolVersion":"2099-01-01","capabilities":{}}`), status: 200, check: negotiates(vNov)},
	{name: "stateless version", body: rpc("initialize", `{"protocolVersion":"2026-07-28","capabilities":{}}`), status: 200, check: negotiates(vNov)},
	{name: "oldest version", body: rpc("initialize", `{"protocolVersion":"2024-11-05","capabilities":{}}`), status: 200, check: negotiates(v2024)},
	{name: "initialize as a notification", body: envelope("", "initialize", ""), status: 400, code: -32600},
	{name: "neither session nor version", body: rpc("tools/list", ""), status: 400, code: -32600, id: "900"},
}

func negotiates(version string) func(*testing.T, *reply) {
	return func(t *testing.T, r *reply) {
		t.Helper()
		if got := r.result()["protocolVersion"]; got != version {
			t.Errorf("negotiated %v, want %s", got, version)
		}
	}
}

// TestDuplicateID: an id that is in use is refused; the first request goes on.
func TestDuplicateID(t *testing.T) {
	harness.OneProcess(t)
	f, e := startFixture(t)
	s := newSession(t, e.URL, vNov)
	body := envelope(`"twice"`, "tools/call", toolParams("gate", `{"name":"dup"}`, `"progressToken":1`))
	first := s.post(body).events()
	<-f.started
	s.post(body).want(400).json().wantError(t, -32600)
	close(f.gate("dup"))
	if m := (&reply{t: t, stream: first}).final(); text(t, m.result(t)) != "passed dup" {
		t.Errorf("the first request: %s", m.raw)
	}
}
