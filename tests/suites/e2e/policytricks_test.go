package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestPolicySeesWhatBackendsTake: no spelling of an argument has the policy see one value and the backend take another.
func TestPolicySeesWhatBackendsTake(t *testing.T) {
	s := capability.New("ships", "1.0.0")
	type order struct {
		Region string `json:"region,omitempty"`
	}
	capability.AddTool(s, "ship", "Ships", func(_ context.Context, _ *capability.Call, in struct {
		Region string `json:"region"`
		To     string `json:"to,omitempty"`
		Order  *order `json:"order,omitempty"`
	}) (string, error) {
		if in.Order == nil {
			in.Order = &order{}
		}
		return "shipped to " + in.Region + in.To + in.Order.Region, nil
	})
	e := startEdge(t, only(startService(t, s)), func(c *config.Config) {
		c.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{{Name: "own region", Then: "deny", When: `arguments.region != "eu" ||
			has(arguments.to) && arguments.to != "eu" || has(arguments.order) && has(arguments.order.region) && arguments.order.region != "eu"`}}}
	})
	for _, ask := range []func(arguments string) *reply{
		func(arguments string) *reply { return newSession(t, e.URL, vNov).call("ship", arguments) },
		func(arguments string) *reply { return newStateless(t, e.URL).call("ship", arguments) },
	} {
		if got := ask(`{"region":"eu","order":{"region":"eu"}}`).text(); got != "shipped to eueu" {
			t.Errorf("what is allowed: %q", got)
		}
		for _, arguments := range []string{
			`{"region":"us"}`, `{"Region":"us"}`, `{"region":"eu","Region":"us"}`, `{"Region":"us","region":"eu"}`, `{"region":"eu","\u0052egion":"us"}`,
			`{"region":"eu","\u0072egion":"us"}`, `{"region":"eu","To":"us"}`, `{"region":"eu","order":{"Region":"us"}}`,
			`{"region":"eu","order":{"region":"eu","REGION":"us"}}`, `{"region":"eu","ORDER":{"region":"us"}}`, `{"region":"eu","order":{"region":"eu","region":"us"}}`,
		} {
			if got := ask(arguments); strings.Contains(string(got.body), "shipped") {
				t.Errorf("%s: %s", arguments, got.body)
			}
		}
	}
}

// TestHiddenTasks: a tool that is hidden is not to be told from an unknown one by what is said of tasks, whether it can be one, must be, or
// cannot, and is asked for as one or not; the decision is recorded once.
func TestHiddenTasks(t *testing.T) {
	records := filepath.Join(t.TempDir(), "audit.jsonl")
	s := capability.New("jobs", "1.0.0")
	run := func(context.Context, *capability.Call, struct{}) (string, error) { return "ran", nil }
	for name, options := range map[string][]capability.ToolOption{
		"secret_plain": nil, "secret_may": {capability.Tasks(capability.TaskOptional)}, "secret_must": {capability.Tasks(capability.TaskRequired)},
		"secret_once": {capability.Tasks(capability.TaskOptional), capability.TasksStart(capability.TaskAtOnce)}, "open": {capability.Tasks(capability.TaskOptional)},
	} {
		capability.AddTool(s, name, "A job", run, options...)
	}
	e := startEdge(t, only(startService(t, s)), func(c *config.Config) {
		c.Audit = &config.Audit{File: records}
		c.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{{Name: "secret", When: `tool.name.startsWith("secret")`, Then: "hide"}}}
	})
	asks := map[string]func(tool string) *reply{}
	for _, version := range stateful {
		in := newSession(t, e.URL, version)
		asks[version] = func(tool string) *reply { return in.call(tool, "{}") }
		asks[version+", as a task"] = func(tool string) *reply {
			return in.request("tools/call", `{"name":"`+tool+`","arguments":{},"task":{}}`)
		}
	}
	plain, tasks := newStateless(t, e.URL), newStateless(t, e.URL, withTasks)
	asks[v2026] = func(tool string) *reply { return plain.call(tool, "{}") }
	asks[v2026+", with tasks"] = func(tool string) *reply { return tasks.call(tool, "{}") }
	asks[v2026+", as a task"] = func(tool string) *reply { return tasks.call(tool, "{}", map[string]any{"task": struct{}{}}) }
	id := regexp.MustCompile(`"id":\d+`)
	hidden := 0
	for how, ask := range asks {
		if got := ask("open"); strings.Contains(string(got.body), `"error"`) {
			t.Errorf("%s: what is not hidden: %s", how, got.body)
		}
		for _, tool := range []string{"secret_plain", "secret_may", "secret_must", "secret_once"} {
			got, want := ask(tool), ask("nix")
			hidden++
			got.body, want.body = id.ReplaceAll(got.body, nil), id.ReplaceAll(want.body, nil)
			same(t, how+" "+tool, got, want, tool, "nix")
		}
	}
	e.End(t)
	text, err := os.ReadFile(records)
	if n := strings.Count(string(text), `"decision":"hide"`); err != nil || n != hidden {
		t.Errorf("%d calls were hidden, and recorded as that %d times, %v", hidden, n, err)
	}
}

// TestNoWayAround: without credentials no spelling of a path and no method gets anything at either address but the way to credentials.
func TestNoWayAround(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id), func(c *config.Config) {
		c.Admin.Auth, c.Admin.Pprof = &config.AdminAuth{Scope: "mcp:operate", Open: config.Names{}}, true
	})
	token := id.Token("alice", public)
	body := envelope("1", "tools/call", `{"name":"echo","arguments":{"text":"got through"}}`)
	for address, paths := range map[string][]string{
		e.Host: {
			"/mcp", "/mcp/", "//mcp", "/./mcp", "/x/../mcp", "/%6dcp", "/mcp%2f", "/MCP", "/mcp;x", "/mcp%00", "/mcp?access_token=" + token, "/sse", "/sse/", "//sse",
			"/message", "/message/", "/message?sessionId=x", "/.well-known/oauth-protected-resource/../../mcp", "/.well-known/oauth-protected-resource%2f..%2f..%2fmcp",
			"http://" + e.Host + "/mcp", "/v1/tools", "/metrics", "/dev", "/debug/pprof/", "*",
		},
		e.Admin: {
			"/healthz", "/readyz", "/metrics", "/v1/tools", "/v1//tools", "/healthz/../v1/tools", "/healthz%2f..%2fv1/tools", "/metrics/x", "/v1/tools/echo:call", "/v1/tools/echo%3Acall",
			"/debug/pprof/", "/debug/pprof", "/debug/pprof/heap", "/debug/pprof/../pprof/heap", "/debug/pprof/cmdline", "/loglevel", "/dev", "/dev/", "/v1/traces", "/openapi.json", "/v1:drain",
			"/v1/drain", "/mcpedge.admin.v1.AdminService/ListTools", "/v1/tools?access_token=" + token, "*",
		},
	} {
		for _, path := range paths {
			for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "TRACE", "CONNECT", "post", "OPTIONS"} {
				status, got := unauthenticated(t, address, method, path, body)
				served := status/100 == 2 && (method != "OPTIONS" || got != "")
				if served || strings.Contains(got, "got through") || strings.Contains(got, `"tools"`) || status >= 500 && status != http.StatusNotImplemented {
					t.Errorf("%s %s: %d %s", method, path, status, got)
				}
			}
		}
	}
}

// unauthenticated sends a request as it is, with headers that some servers believe.
func unauthenticated(t *testing.T, address, method, path, body string) (status int, got string) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"X-HTTP-Method-Override: GET\r\nX-Original-URL: /healthz\r\nX-Rewrite-URL: /healthz\r\nX-Forwarded-User: admin\r\nX-Forwarded-For: 127.0.0.1\r\n"+
		"Grpc-Metadata-Authorization: Bearer x\r\nProxy-Authorization: Bearer x\r\nCookie: access_token=x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		method, path, address, len(body), body)
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return resp.StatusCode, "a stream"
	}
	raw, _ := io.ReadAll(resp.Body)
	if json.Valid(raw) && resp.StatusCode/100 == 2 {
		return resp.StatusCode, "JSON: " + string(raw)
	}
	return resp.StatusCode, string(raw)
}
