package e2e

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
)

const (
	metaVersion = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	metaCaps    = `"io.modelcontextprotocol/clientCapabilities":{}`
	metaBoth    = metaVersion + "," + metaCaps
)

// modernHeaders are those of a request; the name is left out when empty.
func modernHeaders(method, name string) []string {
	h := []string{"MCP-Protocol-Version", v2026, "Mcp-Method", method}
	if name != "" {
		h = append(h, "Mcp-Name", name)
	}
	return h
}

// stating is a request with the id 900, its `_meta` and its other params.
func stating(method, meta, params string) string {
	if params != "" {
		params = "," + params
	}
	return rpc(method, `{"_meta":{`+meta+`}`+params+`}`)
}

// echo is a call of the tool echo with the headers given for the name.
func echo(name string, status, code int, headers ...string) bad {
	b := bad{name: name, body: stating("tools/call", metaBoth, `"name":"echo","arguments":{"text":"x"}`),
		headers: append(modernHeaders("tools/call", ""), headers...), status: status, code: code}
	if code != 0 {
		b.id = "900"
	}
	return b
}

// mirrored is a call of the tool region: its arguments, and headers that should mirror them.
func mirrored(name string, status, code int, arguments string, headers ...string) bad {
	b := echo(name, status, code)
	b.body = stating("tools/call", metaBoth, `"name":"region","arguments":`+arguments)
	b.headers = append(modernHeaders("tools/call", "region"), headers...)
	return b
}

// request is a well-formed request of any method.
func request(name, method, target, params string, status, code int) bad {
	b := bad{name: name, body: stating(method, metaBoth, params), headers: modernHeaders(method, target), status: status, code: code}
	if code != 0 {
		b.id = "900"
	}
	return b
}

func sentinel(text string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

var badStateless = concat(badEnvelopes, badMethods, badNames, badParams, badTargets, needsCapability)

// badEnvelopes: version, `_meta` and their agreement.
var badEnvelopes = []bad{
	{name: "no version header", body: stating("server/discover", metaBoth, ""), headers: []string{"Mcp-Method", "server/discover"}, status: 400, code: -32020, id: "900"},
	{name: "empty params", body: rpc("server/discover", "{}"), headers: modernHeaders("server/discover", ""), status: 400, code: -32602, id: "900"},
	{name: "no params", body: rpc("server/discover", ""), headers: modernHeaders("server/discover", ""), status: 400, code: -32602, id: "900"},
	{name: "no version in _meta", body: stating("server/discover", metaCaps, ""), headers: modernHeaders("server/discover", ""), status: 400, code: -32602, id: "900"},
	{name: "no capabilities in _meta", body: stating("server/discover", metaVersion, ""), headers: modernHeaders("server/discover", ""), status: 400, code: -32602, id: "900"},
	{name: "capabilities are no object", body: stating("server/discover", metaVersion+`,"io.modelcontextprotocol/clientCapabilities":[]`, ""),
		headers: modernHeaders("server/discover", ""), status: 400, code: -32602, id: "900"},
	{name: "version is not a string", body: stating("server/discover", `"io.modelcontextprotocol/protocolVersion":7,`+metaCaps, ""),
		headers: modernHeaders("server/discover", ""), status: 400, code: -32602, id: "900"},
	{name: "_meta is not an object", body: rpc("server/discover", `{"_meta":7}`), headers: modernHeaders("server/discover", ""), status: 400, code: -32602, id: "900"},
	{name: "no clientInfo", body: stating("server/discover", metaBoth, ""), headers: modernHeaders("server/discover", ""), status: 200},
	{name: "header differs", body: stating("server/discover", metaBoth, ""), headers: []string{"MCP-Protocol-Version", vNov, "Mcp-Method", "server/discover"},
		status: 400, code: -32020, id: "900"},
	{name: "header differs from an unknown version", body: stating("server/discover", strings.Replace(metaBoth, v2026, "2099-01-01", 1), ""),
		headers: modernHeaders("server/discover", ""), status: 400, code: -32020, id: "900"},
	{name: "unknown version", body: stating("server/discover", strings.Replace(metaBoth, v2026, "2099-01-01", 1), ""),
		headers: []string{"MCP-Protocol-Version", "2099-01-01", "Mcp-Method", "server/discover"}, status: 400, code: -32022, id: "900", check: namesVersions("2099-01-01")},
	{name: "unknown version without _meta", body: rpc("tools/list", ""),
		headers: []string{"MCP-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/list"}, status: 400, code: -32022, id: "900", check: namesVersions("2099-01-01")},
	{name: "version that is none without _meta", body: rpc("tools/list", `{}`),
		headers: []string{"MCP-Protocol-Version", "latest"}, status: 400, code: -32022, id: "900", check: namesVersions("latest")},
	{name: "stateful version in _meta", body: stating("tools/list", strings.Replace(metaBoth, v2026, vNov, 1), ""),
		headers: []string{"MCP-Protocol-Version", vNov, "Mcp-Method", "tools/list"}, status: 400, code: -32022, id: "900", check: refersToSessions(vNov)},
	{name: "malformed JSON", body: `{`, headers: modernHeaders("server/discover", ""), status: 400, code: -32700},
	{name: "null id", body: `{"jsonrpc":"2.0","id":null,"method":"server/discover"}`, headers: modernHeaders("server/discover", ""), status: 400, code: -32600},
	{name: "batch", body: `[` + stating("server/discover", metaBoth, "") + `]`, headers: modernHeaders("server/discover", ""), status: 400, code: -32600},
	{name: "response", body: `{"jsonrpc":"2.0","id":900,"result":{}}`, headers: []string{"MCP-Protocol-Version", v2026}, status: 400, code: -32600},
	{name: "error response", body: `{"jsonrpc":"2.0","id":900,"error":{"code":-1,"message":"x"}}`, headers: []string{"MCP-Protocol-Version", v2026},
		status: 400, code: -32600},
	{name: "notification", body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, headers: []string{"MCP-Protocol-Version", v2026}, status: 202},
	{name: "session is ignored", body: stating("tools/list", metaBoth, ""), headers: append(modernHeaders("tools/list", ""), "Mcp-Session-Id", "NONE"), status: 200,
		check: noSessionHeader},
	{name: "Last-Event-ID is ignored", body: stating("tools/list", metaBoth, ""), headers: append(modernHeaders("tools/list", ""), "Last-Event-ID", "NONE"), status: 200},
}

func noSessionHeader(t *testing.T, r *reply) {
	t.Helper()
	if got, ok := r.header["Mcp-Session-Id"]; ok {
		t.Errorf("a session id came back: %q", got)
	}
}

// namesVersions: the error says what was asked for and what there is.
func namesVersions(requested string) func(*testing.T, *reply) {
	return func(t *testing.T, r *reply) {
		t.Helper()
		data := object(t, r.json().Error.Data)
		supported, _ := data["supported"].([]any)
		if data["requested"] != requested || !slices.Contains(supported, any(v2026)) {
			t.Errorf("error.data: %v", data)
		}
	}
}

// refersToSessions is namesVersions of a version that is served, with sessions: it is not told to be one of those for _meta.
func refersToSessions(requested string) func(*testing.T, *reply) {
	return func(t *testing.T, r *reply) {
		t.Helper()
		namesVersions(requested)(t, r)
		if e := r.json().Error; slices.Contains(object(t, e.Data)["supported"].([]any), any(requested)) || !strings.Contains(e.Message, "initialize") {
			t.Errorf("%s, %s", e.Message, e.Data)
		}
	}
}

// badMethods: Mcp-Method, and the methods this revision has not.
var badMethods = []bad{
	{name: "no Mcp-Method", body: stating("tools/list", metaBoth, ""), headers: []string{"MCP-Protocol-Version", v2026}, status: 400, code: -32020, id: "900"},
	{name: "another Mcp-Method", body: stating("tools/list", metaBoth, ""), headers: modernHeaders("prompts/list", ""), status: 400, code: -32020, id: "900"},
	{name: "Mcp-Method in capitals", body: stating("tools/list", metaBoth, ""), headers: modernHeaders("Tools/List", ""), status: 400, code: -32020, id: "900"},
	{name: "unknown method and another Mcp-Method", body: stating("no/such", metaBoth, ""), headers: modernHeaders("tools/list", ""), status: 400, code: -32020, id: "900"},
	request("unknown method", "no/such", "", "", 404, -32601),
	request("initialize", "initialize", "", `"protocolVersion":"2026-07-28","capabilities":{}`, 404, -32601),
	request("ping", "ping", "", "", 404, -32601),
	request("setLevel", "logging/setLevel", "", `"level":"info"`, 404, -32601),
	request("subscribe", "resources/subscribe", "", `"uri":"test://note"`, 404, -32601),
	request("unsubscribe", "resources/unsubscribe", "", `"uri":"test://note"`, 404, -32601),
	request("tasks/result without Mcp-Name", "tasks/result", "", `"taskId":"x"`, 404, -32601),
	request("notification with an id", "notifications/initialized", "", "", 404, -32601),
	{name: "initialize by header alone", body: hello, headers: modernHeaders("initialize", ""), status: 200, id: "1"},
}

// badNames: Mcp-Name, plain or in the base64 sentinel.
var badNames = []bad{
	echo("no Mcp-Name", 400, -32020),
	echo("another Mcp-Name", 400, -32020, "Mcp-Name", "add"),
	echo("Mcp-Name in capitals", 400, -32020, "Mcp-Name", "Echo"),
	echo("Mcp-Name twice", 400, -32020, "Mcp-Name", "echo", "Mcp-Name", "echo"),
	echo("Mcp-Name with spaces around", 200, 0, "Mcp-Name", " echo\t"),
	echo("Mcp-Name in base64", 200, 0, "Mcp-Name", sentinel("echo")),
	echo("another in base64", 400, -32020, "Mcp-Name", sentinel("add")),
	echo("base64 without padding", 400, -32020, "Mcp-Name", "=?base64?ZWNobw?="),
	echo("base64 of another alphabet", 400, -32020, "Mcp-Name", "=?base64?ZWN_bw==?="),
	echo("base64 of no UTF-8", 400, -32020, "Mcp-Name", "=?base64?/w==?="),
	echo("sentinel in capitals", 400, -32020, "Mcp-Name", "=?BASE64?ZWNobw==?="),
	echo("only the prefix", 400, -32020, "Mcp-Name", "=?base64?ZWNobw=="),
	echo("only the suffix", 400, -32020, "Mcp-Name", "echo?="),
	{name: "name missing in body and header", body: stating("tools/call", metaBoth, ""), headers: modernHeaders("tools/call", ""), status: 400, code: -32602, id: "900"},
	request("another uri", "resources/read", "test://bytes", `"uri":"test://note"`, 400, -32020),
	request("another prompt", "prompts/get", "ask_prompt", `"name":"greet","arguments":{"name":"A"}`, 400, -32020),
	request("Mcp-Name without need", "tools/list", "whatever", "", 200, 0),
}

// badParams: headers that mirror arguments.
var badParams = []bad{
	mirrored("mirrored", 200, 0, `{"region":"eu"}`, "Mcp-Param-Region", "eu"),
	mirrored("mirror missing", 400, -32020, `{"region":"eu"}`),
	mirrored("mirror differs", 400, -32020, `{"region":"eu"}`, "Mcp-Param-Region", "us"),
	mirrored("mirror differs in case", 400, -32020, `{"region":"eu"}`, "Mcp-Param-Region", "EU"),
	mirrored("mirror twice", 400, -32020, `{"region":"eu"}`, "Mcp-Param-Region", "eu", "Mcp-Param-Region", "eu"),
	mirrored("mirror in base64", 200, 0, `{"region":"zürich"}`, "Mcp-Param-Region", sentinel("zürich")),
	mirrored("mirror in bad base64", 400, -32020, `{"region":"eu"}`, "Mcp-Param-Region", "=?base64?ZXU?="),
	mirrored("only the prefix is literal", 200, 0, `{"region":"=?base64?ZXU="}`, "Mcp-Param-Region", "=?base64?ZXU="),
	mirrored("only the suffix is literal", 200, 0, `{"region":"eu?="}`, "Mcp-Param-Region", "eu?="),
	mirrored("integer", 200, 0, `{"region":"eu","limit":42}`, "Mcp-Param-Region", "eu", "Mcp-Param-Limit", "42"),
	mirrored("integer by value", 200, 0, `{"region":"eu","limit":42}`, "Mcp-Param-Region", "eu", "Mcp-Param-Limit", "42.0"),
	mirrored("another integer", 400, -32020, `{"region":"eu","limit":42}`, "Mcp-Param-Region", "eu", "Mcp-Param-Limit", "43"),
	mirrored("no integer", 400, -32020, `{"region":"eu","limit":42}`, "Mcp-Param-Region", "eu", "Mcp-Param-Limit", "many"),
	mirrored("boolean", 200, 0, `{"region":"eu","dry":true}`, "Mcp-Param-Region", "eu", "Mcp-Param-Dry", "true"),
	mirrored("another boolean", 400, -32020, `{"region":"eu","dry":true}`, "Mcp-Param-Region", "eu", "Mcp-Param-Dry", "True"),
	mirrored("null needs no mirror", 200, 0, `{"region":"eu","limit":null}`, "Mcp-Param-Region", "eu"),
	mirrored("mirror of nothing", 200, 0, `{"region":"eu"}`, "Mcp-Param-Region", "eu", "Mcp-Param-Limit", "42"),
	mirrored("unknown mirror", 200, 0, `{"region":"eu"}`, "Mcp-Param-Region", "eu", "Mcp-Param-Other", "x"),
}

// badTargets are understood, and name or hold what is not there.
var badTargets = []bad{
	request("unknown tool", "tools/call", "none", `"name":"none"`, 200, -32602),
	request("unknown prompt", "prompts/get", "none", `"name":"none"`, 200, -32602),
	with(request("unknown resource", "resources/read", "test://none", `"uri":"test://none"`, 200, -32602), namesURI),
	request("bad cursor", "tools/list", "", `"cursor":"nonsense"`, 200, -32602),
	request("empty cursor", "tools/list", "", `"cursor":""`, 200, -32602),
	with(request("arguments that do not fit", "tools/call", "add", `"name":"add","arguments":{"a":"x"}`, 200, 0), isToolError),
	request("arguments are an array", "tools/call", "add", `"name":"add","arguments":[]`, 400, -32602),
	request("prompt lacks an argument", "prompts/get", "greet", `"name":"greet"`, 400, -32602),
	request("complete an unknown prompt", "completion/complete", "", `"ref":{"type":"ref/prompt","name":"none"},"argument":{"name":"a","value":""}`, 400, -32602),
	request("listen to nothing", "subscriptions/listen", "", ``, 400, -32602),
	request("listen to no object", "subscriptions/listen", "", `"notifications":[]`, 400, -32602),
	{name: "bad log level", body: stating("tools/list", metaBoth+`,"io.modelcontextprotocol/logLevel":"loud"`, ""), headers: modernHeaders("tools/list", ""),
		status: 400, code: -32602, id: "900"},
}

func with(b bad, check func(*testing.T, *reply)) bad {
	b.check = check
	return b
}

// needsCapability: what the client did not declare is named, all of it at once.
var needsCapability = []bad{
	with(request("needs elicitation", "tools/call", "ask_name", `"name":"ask_name"`, 400, -32021), lacks("elicitation")),
	with(request("needs sampling", "tools/call", "ask_model", `"name":"ask_model"`, 400, -32021), lacks("sampling")),
	with(request("needs roots", "tools/call", "ask_roots", `"name":"ask_roots"`, 400, -32021), lacks("roots")),
	with(request("needs all", "tools/call", "ask_all", `"name":"ask_all"`, 400, -32021), lacks("elicitation", "sampling", "roots")),
	with(request("a prompt needs elicitation", "prompts/get", "ask_prompt", `"name":"ask_prompt"`, 400, -32021), lacks("elicitation")),
	with(request("a resource needs elicitation", "resources/read", "test://asked", `"uri":"test://asked"`, 400, -32021), lacks("elicitation")),
	with(bad{name: "needs URLs", body: stating("tools/call", metaVersion+`,"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`, `"name":"ask_url"`),
		headers: modernHeaders("tools/call", "ask_url"), status: 400, code: -32021, id: "900"}, lacks("elicitation")),
}

func lacks(capabilities ...string) func(*testing.T, *reply) {
	return func(t *testing.T, r *reply) {
		t.Helper()
		required, _ := object(t, r.json().Error.Data)["requiredCapabilities"].(map[string]any)
		for _, c := range capabilities {
			if _, ok := required[c].(map[string]any); !ok {
				t.Errorf("error.data.requiredCapabilities is %v, want %s in it", required, c)
			}
		}
		if len(required) != len(capabilities) {
			t.Errorf("error.data.requiredCapabilities is %v, want %v", required, capabilities)
		}
	}
}

// TestBackendFailures: how a backend fails decides who is told: the model by a result, or the client
// by an error with its own code.
func TestBackendFailures(t *testing.T) {
	_, e := startFixture(t)
	session, modern := newSession(t, e.URL, vNov), newStateless(t, e.URL)
	for tool, want := range map[string]struct{ code, status int }{
		"fail_plain":        {0, 200},
		"fail_argument":     {0, 200},
		"fail_precondition": {0, 200},
		"fail_denied":       {-31403, 200},
		"fail_exhausted":    {-31429, 200},
		"fail_unavailable":  {-31502, 200},
		"fail_internal":     {-32603, 200},
	} {
		for era, r := range map[string]*reply{"stateful": session.call(tool, ""), "stateless": modern.call(tool, "")} {
			t.Run(tool+"/"+era, func(t *testing.T) {
				r.want(want.status)
				if want.code == 0 {
					isToolError(t, r)
				} else {
					r.json().wantError(t, want.code)
				}
			})
		}
	}
}
