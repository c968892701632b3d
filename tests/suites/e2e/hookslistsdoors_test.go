package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
)

// callBy calls a tool through call_tool, and returns the error.
func callBy(t *testing.T, a asker, tool string) string {
	t.Helper()
	if c, ok := a.(*stateless); ok {
		members := map[string]any{"name": "call_tool", "arguments": map[string]any{"name": tool, "arguments": map[string]any{}}}
		return errorOf(c.request("tools/call", members, "Mcp-Param-Tool", tool))
	}
	return errorOf(a.ask("tools/call", `{"name":"call_tool","arguments":{"name":"`+tool+`","arguments":{}}}`))
}

// TestListHookDoors: what a hook hides is behind no other door: neither searches and tools of sets, nor subscriptions, completions and links.
func TestListHookDoors(t *testing.T) {
	harness.OneProcess(t)
	s := hookserver.Serve(t)
	s.OnList(hookserver.Entries(hides))
	e := startEdge(t, only(startService(t, secretFixture().Server)), hookedBy(s, func(h *config.Hook) { h.On = config.Names{"list"} }), func(c *config.Config) {
		c.Root = "desk"
		c.Sets = map[string]config.Set{"desk": {Search: config.SearchOn, AsTools: config.Names{"resources"}, Include: config.SetMembers{Backends: config.Names{"**"}}}}
	})
	for era, c := range map[string]asker{vNov: clientOf(t, e, vNov, ""), v2026: clientOf(t, e, v2026, "")} {
		for _, query := range []string{"add", "adds two numbers", "echo", ""} {
			if got := answer(c, "tools/call", `{"name":"find_tools","arguments":{"query":"`+query+`"}}`); strings.Contains(got, `\"add\"`) || strings.Contains(got, `"name":"add"`) {
				t.Errorf("%s: a search for %q finds %s", era, query, got)
			}
		}
		if hidden, unknown := callBy(t, c, "add"), callBy(t, c, "odd"); strings.ReplaceAll(hidden, "add", "odd") != unknown || !strings.Contains(hidden, "unknown tool") {
			t.Errorf("%s: call_tool of what is hidden gave %s, of what does not exist %s", era, hidden, unknown)
		}
		if got := answer(c, "tools/call", `{"name":"list_resources","arguments":{}}`); strings.Contains(got, "secret") || strings.Contains(got, "test://note") {
			t.Errorf("%s: list_resources gives %s", era, got)
		}
		for _, uri := range []string{"test://item/secret", "TEST://item/secret", "test://item/%73ecret", "test://note", "test://note/", "test://./note", "test://item/x/../secret", "test://item//secret"} {
			got := string(readBy(t, c, uri, nil).body)
			if strings.Contains(got, "item secret") || strings.Contains(got, `"contents"`) {
				t.Errorf("%s: read_resource of %s gave %s", era, uri, got)
			}
		}
		if got := answer(c, "completion/complete", `{"ref":{"type":"ref/resource","uri":"test://item/{id}"},"argument":{"name":"id","value":"s"}}`); strings.Contains(got, "secret") {
			t.Errorf("%s: the completion gives %s", era, got)
		}
	}
	session := newSession(t, e.URL, vNov)
	for _, uri := range []string{"test://item/secret", "test://item/%73ecret", "test://note"} {
		if m := session.request("resources/subscribe", `{"uri":"`+uri+`"}`).final(); m.Error == nil {
			t.Errorf("the hidden %s can be subscribed to: %s", uri, m.raw)
		}
	}
}

// TestListHookHidesReturned: a hidden resource is in no completion, and not among the contents of another.
func TestListHookHidesReturned(t *testing.T) {
	harness.OneProcess(t)
	s := hookserver.Serve(t)
	s.OnList(hookserver.Entries(func(e *hookv1.ListEntry) *hookv1.ListVerdict {
		if e.GetTarget().GetName() == "test://item/apple" {
			return hookserver.Hidden()
		}
		return nil
	}))
	f := newFixture()
	for _, uri := range []string{"test://item/apple", "test://basket"} {
		capability.AddResource(f.Server, &capability.Resource{Uri: uri, Name: "fruit"}, func(context.Context, *capability.Call, string) ([]*capability.ResourceContents, error) {
			return []*capability.ResourceContents{capability.TextContents("test://basket", "text/plain", "a basket"), capability.TextContents("TEST://item/%61pple", "text/plain", "an apple")}, nil
		})
	}
	e := startEdge(t, only(startService(t, f.Server)), hookedBy(s, func(h *config.Hook) { h.On = config.Names{"list"} }))
	for era, c := range map[string]asker{vNov: clientOf(t, e, vNov, ""), v2026: clientOf(t, e, v2026, "")} {
		got := answer(c, "completion/complete", `{"ref":{"type":"ref/resource","uri":"test://item/{id}"},"argument":{"name":"id","value":"a"}}`)
		if strings.Contains(got, "apple") || !strings.Contains(got, "apricot") {
			t.Errorf("%s: the completion gives %s", era, got)
		}
		if got := answer(c, "resources/read", `{"uri":"test://basket"}`); strings.Contains(got, "apple") || !strings.Contains(got, "a basket") {
			t.Errorf("%s: the read gives %s", era, got)
		}
	}
}

// TestCallOfAToolThatIsHidden: a call that asks when a hook hides its tool does not go on.
func TestCallOfAToolThatIsHidden(t *testing.T) {
	harness.OneProcess(t)
	s := hookserver.Serve(t)
	var hidesAll atomic.Bool
	s.OnList(hookserver.Entries(func(*hookv1.ListEntry) *hookv1.ListVerdict {
		if hidesAll.Load() {
			return hookserver.Hidden()
		}
		return nil
	}))
	f := secretFixture()
	backends := "backends:\n" + backend("fixture", startService(t, f.Server), "")
	hook := func(seconds int) string {
		return fmt.Sprintf("hooks: [{name: dlp, target: %q, on: [list], timeout: %ds}]\n", s.Addr, seconds)
	}
	e := govern(t, backends+hook(20))
	session := newSession(t, e.URL, vNov)
	asked := session.call("ask_name", "").want(200).events()
	question := asked.awaitMethod("elicitation/create")
	again := retry(t, newStateless(t, e.URL).call("ask_name", "").result(), `{"name":`+answers["elicitation/create"]+`}`)
	hidesAll.Store(true)
	e.change(backends + hook(21))
	c := newStateless(t, e.URL)
	await.Until(t, "the tools to be hidden", func() bool { return !strings.Contains(answer(c, "tools/list", `{}`), "ask_name") })
	session.answer(question, answers["elicitation/create"])
	m := asked.response()
	if m.Error == nil || strings.Contains(string(m.raw), "Ada") {
		t.Errorf("the call went on: %s", m.raw)
	}
	r := newStateless(t, e.URL).call("ask_name", "", again)
	if got := string(r.body); strings.Contains(got, "Ada") || !strings.Contains(got, `"error"`) {
		t.Errorf("another round went on: %s", got)
	}
}

// TestListHookWrittenDifferently: a hook whose settings are written in another way, and mean the same, goes on checking lists.
func TestListHookWrittenDifferently(t *testing.T) {
	harness.OneProcess(t)
	s := hookserver.Serve(t)
	s.OnList(hookserver.Entries(hides))
	f := secretFixture()
	backends := "backends:\n" + backend("fixture", startService(t, f.Server), "")
	hook := func(more string) string {
		return fmt.Sprintf("hooks: [{name: dlp, target: %q, on: [list], timeout: 20s%s}]\n", s.Addr, more)
	}
	e := govern(t, backends+hook(""))
	e.change(backends + hook(", claims: []") + "catalog: {prompts: [{backend: fixture, prompt: greet, hide: true}]}\n")
	capability.AddTool(f.Server, "newest", "New", func(context.Context, *capability.Call, struct{}) (string, error) { return "", nil })
	c := newStateless(t, e.URL)
	list := func() string { return answer(c, "tools/list", `{}`) }
	await.Until(t, "the new tool", func() bool { return strings.Contains(list(), `"name":"newest"`) })
	if got := list(); strings.Contains(got, `"name":"add"`) {
		t.Errorf("what the hook hides is listed: %s", got)
	}
}
