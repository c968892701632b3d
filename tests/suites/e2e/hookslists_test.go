package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
)

// secretFixture is the fixture with a resource that its template covers, too.
func secretFixture() *fixture {
	f := newFixture()
	capability.AddResource(f.Server, &capability.Resource{Uri: "test://item/secret", Name: "secret"}, func(context.Context, *capability.Call, string) (string, error) { return "", nil })
	return f
}

// hides hides an entry of each list, and changes the texts of echo.
func hides(e *hookv1.ListEntry) *hookv1.ListVerdict {
	switch e.GetTarget().GetName() {
	case "add", "ask_prompt", "test://item/secret", "test://note":
		return hookserver.Hidden()
	case "echo":
		return hookserver.Texts("Echo", "repeats what it is given")
	}
	return nil
}

// answer is the raw answer to a request.
func answer(c asker, method, params string) string { return string(c.ask(method, params).final().raw) }

// TestListHook: what a hook hides is neither listed nor found, in every era; what it describes anew is listed so.
func TestListHook(t *testing.T) {
	harness.OneProcess(t)
	s := hookserver.Serve(t)
	s.OnList(hookserver.Entries(hides))
	e := startEdge(t, only(startService(t, secretFixture().Server)), hookedBy(s, func(h *config.Hook) { h.On = config.Names{"list"} }))
	for era, c := range map[string]asker{vNov: clientOf(t, e, vNov, ""), v2026: clientOf(t, e, v2026, "")} {
		tools := answer(c, "tools/list", `{}`)
		if strings.Contains(tools, `"name":"add"`) || !strings.Contains(tools, `"description":"repeats what it is given"`) || !strings.Contains(tools, `"title":"Echo"`) ||
			strings.Contains(tools, "Says it again") {
			t.Errorf("%s: the tools are %s", era, tools)
		}
		if list := answer(c, "prompts/list", `{}`); strings.Contains(list, "ask_prompt") || !strings.Contains(list, `"name"`) {
			t.Errorf("%s: the prompts are %s", era, list)
		}
		if list := answer(c, "resources/list", `{}`); strings.Contains(list, "secret") || strings.Contains(list, "test://note") || !strings.Contains(list, "test://bytes") {
			t.Errorf("%s: the resources are %s", era, list)
		}
		for method, params := range map[string]string{
			"tools/call": `{"name":"add","arguments":{"a":1,"b":2}}`, "prompts/get": `{"name":"ask_prompt"}`, "completion/complete": `{"ref":{"type":"ref/prompt","name":"ask_prompt"},"argument":{"name":"a","value":""}}`,
		} {
			if got := answer(c, method, params); !strings.Contains(got, `"error"`) || !strings.Contains(got, "nknown") && !strings.Contains(got, "does not exist") {
				t.Errorf("%s: %s of what is hidden gave %s", era, method, got)
			}
		}
		for _, uri := range []string{"test://item/secret", "test://item/%73ecret", "test://note"} {
			if got := answer(c, "resources/read", `{"uri":"`+uri+`"}`); !strings.Contains(got, `"error"`) {
				t.Errorf("%s: the hidden %s was read: %s", era, uri, got)
			}
		}
		for method, params := range map[string]string{"tools/call": `{"name":"echo","arguments":{"text":"x"}}`, "resources/read": `{"uri":"test://item/other"}`} {
			if got := answer(c, method, params); strings.Contains(got, `"error"`) {
				t.Errorf("%s: %s of what is shown gave %s", era, method, got)
			}
		}
	}
	if calls, results := s.Asked(); len(calls)+len(results) != 0 {
		t.Errorf("the hook was asked about %d requests and %d results", len(calls), len(results))
	}
}

// TestListHookChanges: the hook is asked again when the backend has other entries, and hooks on lists come and go without a restart: the lists
// are those of the settings in force.
func TestListHookChanges(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	s := hookserver.Serve(t)
	var hidesNew atomic.Bool
	s.OnList(hookserver.Entries(func(e *hookv1.ListEntry) *hookv1.ListVerdict {
		if hidesNew.Load() && e.GetTarget().GetName() == "newest" {
			return hookserver.Hidden()
		}
		return hides(e)
	}))
	f := secretFixture()
	backends := "backends:\n" + backend("fixture", startService(t, f.Server), "")
	hooks := fmt.Sprintf("hooks: [{name: dlp, target: %q, on: [list], timeout: 10s}]\n", s.Addr)
	g := govern(t, backends)
	c := newStateless(t, g.URL)
	lists := func(name string) bool { return strings.Contains(answer(c, "tools/list", `{}`), `"name":"`+name+`"`) }
	if !lists("add") {
		t.Fatal("add is not listed")
	}
	g.change(backends + hooks)
	if lists("add") {
		t.Error("add is listed though the hook hides it")
	}
	hidesNew.Store(true)
	for _, name := range []string{"newest", "newer"} {
		capability.AddTool(f.Server, name, "New", func(context.Context, *capability.Call, struct{}) (string, error) { return "", nil })
	}
	await.Until(t, "the new tool", func() bool { return lists("newer") })
	if lists("newest") {
		t.Error("a new tool is listed though the hook hides it")
	}
	g.change(backends + "hooks: []\n")
	if !lists("add") || !lists("newest") {
		t.Error("without the hook its entries stay hidden")
	}
}

// TestListHookDead: without the hook nothing of a backend is served, or all of it; once it answers, what it leaves.
func TestListHookDead(t *testing.T) {
	harness.OneProcess(t)
	for _, allow := range []bool{false, true} {
		s := hookserver.Serve(t)
		s.OnList(hookserver.Entries(hides))
		s.Stop()
		e := startEdge(t, only(startService(t, secretFixture().Server)), hookedBy(s, func(h *config.Hook) {
			if h.On = (config.Names{"list"}); allow {
				onFailureAllow(h)
			}
		}), func(c *config.Config) {
			c.Advanced.StartWait = 50 * time.Millisecond
			c.Backends[0].Refresh = time.Second
		})
		c := newStateless(t, e.URL)
		lists := func(name string) bool { return strings.Contains(answer(c, "tools/list", `{}`), `"name":"`+name+`"`) }
		if allow {
			await.Until(t, "the lists", func() bool { return lists("add") })
		} else if lists("add") || lists("echo") {
			t.Error("tools are listed that the hook has not checked")
		}
		s.Restart(t)
		await.Until(t, "what the hook leaves", func() bool { return lists("echo") && !lists("add") })
	}
}

// TestCallsOverAChangedListHook: a change of a hook on lists connects to all backends again, and no call notices: neither those that run, nor
// those that ask, nor new ones. What the hook hides is hidden all the time.
func TestCallsOverAChangedListHook(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	s := hookserver.Serve(t)
	s.OnList(hookserver.Entries(func(e *hookv1.ListEntry) *hookv1.ListVerdict {
		if e.GetTarget().GetName() == "panic" {
			return hookserver.Hidden()
		}
		return nil
	}))
	f := secretFixture()
	backends := "backends:\n" + backend("fixture", startService(t, f.Server), "")
	hook := func(seconds int) string {
		return fmt.Sprintf("hooks: [{name: dlp, target: %q, on: [request, answer, result, list], timeout: %ds}]\n", s.Addr, seconds)
	}
	e := govern(t, backends+hook(20))
	stop, renewed := adding(t, e.Edge)
	defer stop()
	for i, version := range []string{vNov, v2026} {
		running := make(chan message, 1)
		c := clientOf(t, e.Edge, version, "")
		go func() {
			running <- c.ask("tools/call", `{"name":"gate","arguments":{"name":"`+version+`"}}`).final()
		}()
		await.Receive(t, "the call to run", f.started)
		session := newSession(t, e.URL, vNov)
		asked := session.call("ask_name", "").want(200).events()
		question := asked.awaitMethod("elicitation/create")
		again := retry(t, newStateless(t, e.URL).call("ask_name", "").result(), `{"name":`+answers["elicitation/create"]+`}`)

		e.change(backends + hook(21+i))
		session.answer(question, answers["elicitation/create"])
		if m := asked.response(); !strings.Contains(string(m.raw), "Hello, Ada") {
			t.Errorf("%s: a call that asked: %s", version, m.raw)
		}
		if got := newStateless(t, e.URL).call("ask_name", "", again).text(); got != "Hello, Ada" {
			t.Errorf("%s: another round: %s", version, got)
		}
		renewed()
		close(f.gate(version))
		if m := await.Receive(t, "the call that ran", running); !strings.Contains(string(m.raw), "passed "+version) {
			t.Errorf("%s: %s", version, m.raw)
		}
	}
	stop()
}
