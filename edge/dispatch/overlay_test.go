package dispatch

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func overlaid(entries ...overlay.Entry) Options {
	return Options{Catalog: catalog.Options{Overlay: overlay.New(false, entries, entries)}}
}

// A hidden name is free: the next backend that lists it has it, also while the backend with the hidden one is away.
func TestHiddenNamesAreFree(t *testing.T) {
	hidden := []overlay.Entry{{Backend: "one", Names: pattern.New("find"), Hide: true}}
	o := overlay.New(false, hidden, hidden)
	one := func() *fake {
		return &fake{name: "one", tools: []*pb.Tool{{Name: "find"}, {Name: "keep"}}, prompts: []*pb.Prompt{{Name: "find"}}}
	}
	two := func() *fake {
		return &fake{name: "two", tools: []*pb.Tool{{Name: "find"}}, prompts: []*pb.Prompt{{Name: "find"}}}
	}
	store := &memoryStore{}
	knew := ownership.New(ownership.Options{Store: store})
	startPlaced(t, knew, placed{fake: one()}, placed{fake: two()}) // without the overlay: find is the first one's
	if err := knew.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, away := range map[string]bool{"there": false, "away": true} {
		late := ownership.New(ownership.Options{Store: store})
		d := startPlacedWith(t, catalog.Options{Names: late, Overlay: o}, placed{fake: one(), away: away}, placed{fake: two()})
		if err := errors.Join(late.Load(t.Context()), d.Catalog().Settle(t.Context())); err != nil {
			t.Fatal(err)
		}
		for method, want := range map[mcp.Method]string{mcp.MethodToolsCall: "called two/find", mcp.MethodPromptsGet: "got from two/find"} {
			reply, err := d.Call(t.Context(), rules(t, modern), request(t, method, `{"name":"find"}`), nil)
			if err != nil || !strings.Contains(string(reply.Result), want) {
				t.Errorf("%s: %s: %s, %v; want %s", name, method, reply.Result, err, want)
			}
		}
		_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"keep"}`), nil)
		if unavailable := err != nil && kindOf(t, err) == mcp.KindUnavailable; unavailable != away {
			t.Errorf("%s: a tool that is not hidden: %v", name, err)
		}
	}
}

// A call that began at a backend does not go on with a tool that is hidden since.
func TestHiddenToolEndsItsCalls(t *testing.T) {
	d := start(t, overlaid(overlay.Entry{Backend: "one", Names: pattern.New("find"), Hide: true}), &fake{name: "one", tools: []*pb.Tool{{Name: "find"}, {Name: "keep"}}})
	call := request(t, mcp.MethodToolsCall, `{"name":"find"}`)
	call.Backend = "one"
	if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindUnknownTool {
		t.Errorf("the next round of a call of a hidden tool: %v", err)
	}
}

// A change of what is shown of tools is none of prompts.
func TestOverlayChangesItsOwnLists(t *testing.T) {
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find"}}, prompts: []*pb.Prompt{{Name: "ask"}}}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}}, f)
	before := d.catalog.Shared().Digest
	hide := []overlay.Entry{{Backend: "one", Names: pattern.New("find"), Hide: true}}
	if !d.Catalog().SetOverlay(overlay.New(false, hide, nil)) {
		t.Error("the overlay changes nothing")
	}
	if err := d.Catalog().Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := d.catalog.Shared().Digest
	if after.Tools == before.Tools || after.Prompts != before.Prompts || after.Resources != before.Resources {
		t.Errorf("the digests are %+v after %+v", after, before)
	}
	if d.Catalog().SetOverlay(overlay.New(false, hide, nil)) {
		t.Error("an equal overlay changes something")
	}
	// An entry that matches nothing changes no list.
	idle := append(hide, overlay.Entry{Backend: "one", Names: pattern.New("nix"), Title: "Nix"})
	d.Catalog().SetOverlay(overlay.New(false, idle, nil))
	if err := d.Catalog().Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := d.catalog.Shared().Digest; now != after {
		t.Errorf("the digests are %+v after an entry that matches nothing, %+v before", now, after)
	}
}

// The job of a call is cancelled also if its tool is hidden by then.
func TestHiddenToolIsCancelled(t *testing.T) {
	f := &fake{name: "one", prefix: "a_", tools: []*pb.Tool{{Name: "find"}}, cancelled: make(chan string, 1)}
	d := start(t, overlaid(overlay.Entry{Backend: "one", Names: pattern.New("find"), Hide: true}), f)
	call := request(t, mcp.MethodToolsCall, `{"name":"a_find"}`)
	call.Backend, call.State = "one", []byte("job 7")
	if err := d.CancelCall(t.Context(), rules(t, modern), call); err != nil {
		t.Fatal(err)
	}
	if got := await.Receive(t, "the cancellation", f.cancelled); got != "find" {
		t.Errorf("cancelled is %q, want find", got)
	}
}

// The policy takes the stricter of the backend's and the overlay's annotations, and a lost call is run again only if both say that it may be.
func TestStricterAnnotationsDecide(t *testing.T) {
	yes, no := true, false
	type hints = policy.Hints
	plain := hints{Destructive: true, OpenWorld: true}
	for name, c := range map[string]struct {
		backend    *pb.ToolAnnotations
		overlay    overlay.Annotations
		want       hints
		repeatable bool
	}{
		"none":                {nil, overlay.Annotations{}, plain, false},
		"loosened":            {nil, overlay.Annotations{ReadOnly: &yes, Destructive: &no, Idempotent: &yes, OpenWorld: &no}, plain, false},
		"kept":                {&pb.ToolAnnotations{ReadOnly: &yes, OpenWorld: &no}, overlay.Annotations{}, hints{ReadOnly: true}, true},
		"tightened":           {&pb.ToolAnnotations{ReadOnly: &yes, OpenWorld: &no}, overlay.Annotations{ReadOnly: &no}, hints{Destructive: true}, false},
		"destructive, though": {&pb.ToolAnnotations{ReadOnly: &yes}, overlay.Annotations{Destructive: &yes}, hints{ReadOnly: true, Destructive: true, OpenWorld: true}, true},
		"repeated no more":    {&pb.ToolAnnotations{Idempotent: &yes}, overlay.Annotations{Idempotent: &no}, plain, false},
	} {
		entry := overlay.Entry{Backend: "one", Names: pattern.New("*"), Annotations: c.overlay}
		d := start(t, overlaid(entry), &fake{name: "one", tools: []*pb.Tool{{Name: "act", Annotations: c.backend}}})
		tool := d.catalog.Shared().Tools.ByName["act"]
		if tool.Target.Hints != c.want || tool.Repeatable() != c.repeatable {
			t.Errorf("%s: %+v, repeatable %t; want %+v, %t", name, tool.Target.Hints, tool.Repeatable(), c.want, c.repeatable)
		}
	}
}
