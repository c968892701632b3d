package overlay_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

func on(backend, names string) overlay.Entry {
	return overlay.Entry{Backend: backend, Names: pattern.New(names)}
}

// The first entry that sets a field sets it, and what one entry hides no other shows.
func TestEntriesMerge(t *testing.T) {
	yes, no := true, false
	first, second, hide, other := on("crm", "find"), on("crm", "*"), on("crm", "delete_*"), on("shop", "find")
	first.Title, first.Annotations.Destructive = "Find a customer", &no
	second.Title, second.Description = "Any", "Anything."
	second.Annotations = overlay.Annotations{Destructive: &yes, ReadOnly: &yes}
	hide.Hide = true
	other.Title = "Of the shop"
	o := overlay.New(false, []overlay.Entry{first, second, hide, on("crm", "delete_user"), other}, nil)

	find := &pb.Tool{Name: "find", Title: "find", Description: "Finds.", InputSchemaJson: "{}", Annotations: &pb.ToolAnnotations{Title: "Finder"}}
	before := proto.CloneOf(find)
	got, shown := o.Tool("crm", find)
	want := &pb.Tool{
		Name: "find", Title: "Find a customer", Description: "Anything.", InputSchemaJson: "{}",
		Annotations: &pb.ToolAnnotations{Title: "Find a customer", Destructive: &no, ReadOnly: &yes},
	}
	if !shown || !proto.Equal(got, want) {
		t.Errorf("the tool is shown as %v, want %v", got, want)
	}
	if !proto.Equal(find, before) {
		t.Errorf("the backend's tool was changed: %v", find)
	}
	if got, _ := o.Tool("shop", find); got.GetTitle() != "Of the shop" || got.GetDescription() != "Finds." {
		t.Errorf("the tool of another backend is shown as %v", got)
	}
	if got, _ := o.Tool("files", find); got != find {
		t.Error("a tool that no entry is about was copied")
	}
	if !o.Tools().Hides("crm", "delete_user") || o.Tools().Hides("shop", "delete_user") || o.Prompts().Hides("crm", "delete_user") {
		t.Error("hidden are others than the tools of crm that are deleted with")
	}
}

func TestDefaultHides(t *testing.T) {
	hidden := on("crm", "secret")
	hidden.Hide = true
	o := overlay.New(true, []overlay.Entry{on("crm", "find"), hidden}, []overlay.Entry{on("crm", "*")})
	for name, want := range map[string]bool{"find": false, "secret": true, "new": true} {
		if o.Tools().Hides("crm", name) != want {
			t.Errorf("hides %s: %t", name, !want)
		}
	}
	if o.Prompts().Hides("crm", "new") || !o.Prompts().Hides("shop", "new") {
		t.Error("prompts are hidden by the entries of tools")
	}
	var none *overlay.Overlay
	if _, shown := none.Tool("crm", &pb.Tool{}); !shown || none.Tools().Hides("crm", "x") || none.Prompts().Hides("crm", "x") {
		t.Error("no overlay changes something")
	}
}

// What is folded is equal exactly if the same is shown.
func TestFold(t *testing.T) {
	entry := on("crm", "find")
	entry.Title = "A"
	of := func(backend, name string, hides bool, e ...overlay.Entry) string {
		var b strings.Builder
		overlay.New(hides, e, nil).Tools().Fold(&b, backend, name)
		return b.String()
	}
	moved, changed, hide := entry, entry, on("crm", "f*")
	moved.Place, moved.Names = "elsewhere", pattern.New("fin*")
	changed.Description = "B"
	hide.Hide = true
	if of("crm", "find", false, entry) != of("crm", "find", true, moved) {
		t.Error("entries that show the same fold differently")
	}
	for what, other := range map[string]string{
		"nothing": of("crm", "find", false), "a description": of("crm", "find", false, changed), "hidden": of("crm", "find", false, entry, hide),
	} {
		if other == of("crm", "find", false, entry) {
			t.Errorf("%s: the same is folded", what)
		}
	}
	if text := of("shop", "find", false, entry, hide) + of("crm", "find", false, on("crm", "find")); text != "" {
		t.Errorf("what changes nothing is folded: %s", text)
	}
	one, other := overlay.New(false, []overlay.Entry{entry}, nil), overlay.New(false, []overlay.Entry{entry}, nil)
	if !one.Equal(other) || one.Equal(overlay.New(false, []overlay.Entry{changed}, nil)) || one.Equal(nil) || one.Equal(overlay.New(false, nil, []overlay.Entry{entry})) {
		t.Error("overlays are equal that are not, or the reverse")
	}
}

func TestIdle(t *testing.T) {
	used, idle, prompt := on("crm", "find"), on("crm", "del*"), on("shop", "greet")
	idle.Place, prompt.Place = "catalog.tools[1]", "catalog.prompts[0]"
	got := overlay.New(false, []overlay.Entry{used, idle}, []overlay.Entry{prompt}).Idle([]overlay.Listed{
		{Backend: "crm", Tools: []string{"find"}, Prompts: []string{"greet"}}, {Backend: "shop", Tools: []string{"delete", "greet"}},
	})
	want := []string{
		`catalog.tools[1]: tool: the backend crm lists no tool with the name del*`,
		`catalog.prompts[0]: prompt: the backend shop lists no prompt with the name greet`,
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q, want %q", got, want)
	}
}
