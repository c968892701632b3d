package dispatch

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// renamed is an entry that shows one name of a backend by another one.
func renamed(backend, own, name string, aliases ...string) overlay.Entry {
	return overlay.Entry{Backend: backend, Names: pattern.New(own), Name: name, Aliases: aliases}
}

// listedNames returns the names in a list of tools or prompts.
func listedNames(t *testing.T, d *Dispatch, method mcp.Method) (names []string) {
	t.Helper()
	reply, err := d.Call(t.Context(), rules(t, modern), request(t, method, `{}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Tools, Prompts []struct{ Name string } }
	if err := json.Unmarshal(reply.Result, &out); err != nil {
		t.Fatal(err)
	}
	for _, x := range append(out.Tools, out.Prompts...) {
		names = append(names, x.Name)
	}
	return names
}

// A renamed tool or prompt is listed and called by its new name and aliases, and no longer by the
// old name. After it was resolved, the call has the canonical name.
func TestRenamed(t *testing.T) {
	entry := renamed("one", "find", "find_customer", "old")
	f := &fake{name: "one", prefix: "a_", tools: []*pb.Tool{{Name: "find"}, {Name: "keep"}}, prompts: []*pb.Prompt{{Name: "find"}, {Name: "keep"}}}
	d := start(t, overlaid(entry), f)
	for _, method := range []mcp.Method{mcp.MethodToolsList, mcp.MethodPromptsList} {
		if got := strings.Join(listedNames(t, d, method), " "); got != "find_customer a_keep" {
			t.Errorf("%s has %s", method, got)
		}
	}
	for method, want := range map[mcp.Method]string{mcp.MethodToolsCall: "called one/find", mcp.MethodPromptsGet: "got from one/find"} {
		for _, name := range []string{"find_customer", "old"} {
			call := request(t, method, `{"arguments":{"name":"x"},"name":"`+name+`"}`)
			reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
			if err != nil || !strings.Contains(string(reply.Result), want) {
				t.Errorf("%s %s: %s, %v; want %s", method, name, reply.Result, err, want)
			}
			p := &call.Params
			if p.Target != "a_find" || p.Shown() != name || p.Sent.Target != name || call.Backend != "one" || string(p.Raw()) != `{"arguments":{"name":"x"},"name":"a_find"}` {
				t.Errorf("%s %s: the resolved call has %q, shown as %q, of the backend %q, and the params %s", method, name, p.Target, p.Shown(), call.Backend, p.Raw())
			}
		}
		for _, name := range []string{"a_find", "find"} {
			_, err := d.Call(t.Context(), rules(t, modern), request(t, method, `{"name":"`+name+`"}`), nil)
			if err == nil || !strings.Contains(err.Error(), `"`+name+`"`) {
				t.Errorf("%s %s: %v", method, name, err)
			}
		}
	}
	call := request(t, mcp.MethodToolsCall, `{"name":"a_keep"}`)
	if _, err := d.Call(t.Context(), rules(t, modern), call, nil); err != nil || call.Params.Shown() != "" || call.Backend != "" {
		t.Errorf("a tool that is not renamed: shown as %q, bound to %q, %v", call.Params.Shown(), call.Backend, err)
	}
}

// A name that the overlay gives to a backend is no other's: not while the backend is there, is
// away, or has nothing to give the name to. The name that a tool no longer has is free.
func TestGivenNamesBelongToTheirBackend(t *testing.T) {
	entries := []overlay.Entry{renamed("two", "find", "search", "old"), renamed("two", "never", "later")}
	o := overlay.New(overlay.Entries{Tools: entries, Prompts: entries})
	names := []string{"search", "old", "later", "find"}
	one, two := func() *fake { f := &fake{name: "one"}; listAll(f, names...); return f }, func() *fake { f := &fake{name: "two"}; listAll(f, "find"); return f }
	store := &memoryStore{}
	knew := ownership.New(ownership.Options{Store: store})
	startPlaced(t, knew, placed{fake: one()}, placed{fake: two()})
	if err := knew.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for what, away := range map[string]bool{"there": false, "away": true} {
		late := ownership.New(ownership.Options{Store: store})
		d := startPlacedWith(t, catalog.Options{Names: late, Overlay: o}, placed{fake: one()}, placed{fake: two(), away: away})
		if err := errors.Join(late.Load(t.Context()), d.Catalog().Settle(t.Context())); err != nil {
			t.Fatal(err)
		}
		for name, owner := range map[string]string{"search": "two", "old": "two", "later": "", "find": "one"} {
			reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"`+name+`"}`), nil)
			switch {
			case owner == "":
				if kindOf(t, err) != mcp.KindUnknownTool {
					t.Errorf("%s: %s: %s, %v; want unknown", what, name, reply.Result, err)
				}
			case owner == "two" && away:
				if kindOf(t, err) != mcp.KindUnavailable {
					t.Errorf("%s: %s: %s, %v; want unavailable", what, name, reply.Result, err)
				}
			case err != nil || !strings.Contains(string(reply.Result), "called "+owner+"/find"):
				t.Errorf("%s: %s: %s, %v; want that of %s", what, name, reply.Result, err, owner)
			}
		}
	}
}

func listAll(f *fake, names ...string) {
	for _, name := range names {
		f.tools = append(f.tools, &pb.Tool{Name: name})
	}
}

// A call that has begun continues with its tool if the catalog gives the name to another tool.
func TestBoundCallsKeepTheirTool(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "a"}, {Name: "b"}}}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Overlay: overlay.New(overlay.Entries{Tools: []overlay.Entry{renamed("one", "a", "x"), renamed("one", "b", "y")}})}}, f)
	call := request(t, mcp.MethodToolsCall, `{"name":"x"}`)
	if _, err := d.Resolve(t.Context(), rules(t, modern), call); err != nil {
		t.Fatal(err)
	}
	d.Catalog().Replace(overlay.New(overlay.Entries{Tools: []overlay.Entry{renamed("one", "a", "y"), renamed("one", "b", "x")}}), nil, func() {}, false)
	reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
	if err != nil || !strings.Contains(string(reply.Result), "called one/a") {
		t.Errorf("the next round: %s, %v; want a", reply.Result, err)
	}
	reply, err = d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"x"}`), nil)
	if err != nil || !strings.Contains(string(reply.Result), "called one/b") {
		t.Errorf("a new call: %s, %v; want b", reply.Result, err)
	}
}

// A call that began with a tool that is hidden since ends with the name that the client knows.
func TestHiddenToolHasItsShownName(t *testing.T) {
	entry := renamed("one", "find", "question")
	entry.Hide = true
	d := start(t, overlaid(entry), &fake{name: "one", prefix: "a_", tools: []*pb.Tool{{Name: "find"}, {Name: "keep"}}})
	call := request(t, mcp.MethodToolsCall, `{"name":"a_find"}`)
	call.Backend = "one"
	if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindUnknownTool || !strings.Contains(err.Error(), `"question"`) || strings.Contains(err.Error(), "find\"") {
		t.Errorf("the next round: %v", err)
	}
}

// A prompt is completed by the name that clients see, and the policy reads its canonical name.
func TestRenamedPromptIsCompleted(t *testing.T) {
	f := &fake{name: "one", prompts: []*pb.Prompt{{Name: "greet", Arguments: []*pb.PromptArgument{{Name: "who"}}}}}
	f.onComplete = func(name, argument, value string) ([]string, error) {
		return []string{name + "/" + argument + "/" + value}, nil
	}
	d := start(t, overlaid(renamed("one", "greet", "hello")), f)
	call := request(t, mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"hello"},"argument":{"name":"who","value":"a"}}`)
	reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
	if err != nil || !strings.Contains(string(reply.Result), "greet/who/a") {
		t.Fatalf("%s, %v", reply.Result, err)
	}
	if got := string(call.Params.Raw()); !strings.Contains(got, `"name":"greet"`) || strings.Contains(got, "hello") {
		t.Errorf("the params are %s", got)
	}
}

// A completion that runs again, here or at another replica by its record, is of the same prompt, although its params have the canonical name
// by which clients may see a prompt of another backend.
func TestRenamedPromptIsCompletedAgain(t *testing.T) {
	complete := func(name, argument, value string) ([]string, error) { return []string{name}, nil }
	one := &fake{name: "one", prompts: []*pb.Prompt{{Name: "greet", Arguments: []*pb.PromptArgument{{Name: "who"}}}}, onComplete: complete}
	two := &fake{name: "two", prompts: []*pb.Prompt{{Name: "other", Arguments: []*pb.PromptArgument{{Name: "who"}}}}, onComplete: complete}
	d := start(t, overlaid(renamed("one", "greet", "hello"), renamed("two", "other", "greet")), one, two)
	run := func(what string, call *mcp.Call) {
		t.Helper()
		reply, err := d.Call(t.Context(), rules(t, legacy), call, nil)
		if err != nil || !strings.Contains(string(reply.Result), `"greet"`) {
			t.Errorf("%s: %s, %v", what, reply.Result, err)
		}
	}
	first := request(t, mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"hello"},"argument":{"name":"who","value":"a"}}`)
	run("the first time", first)
	run("again", first)
	recorded := request(t, mcp.MethodComplete, string(first.Params.Raw()))
	recorded.Backend, recorded.Attempt = "one", 2
	run("by its record", recorded)
	recorded.Backend = "three"
	if _, err := d.Call(t.Context(), rules(t, legacy), recorded, nil); kindOf(t, err) != mcp.KindUnavailable {
		t.Errorf("bound to a backend that is gone: %v", err)
	}
}
