package overlay_test

import (
	"fmt"
	"slices"
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

// Each field is set by the first entry that sets it. A name that one entry hides is not shown by
// another.
func TestEntriesMerge(t *testing.T) {
	yes, no := true, false
	first, second, hide, other := on("crm", "find"), on("crm", "*"), on("crm", "delete_*"), on("shop", "find")
	first.Title, first.Annotations.Destructive = "Find a customer", &no
	second.Title, second.Description = "Any", "Anything."
	second.Annotations = overlay.Annotations{Destructive: &yes, ReadOnly: &yes}
	hide.Hide = true
	other.Title = "Of the shop"
	o := overlay.New(overlay.Entries{Tools: []overlay.Entry{first, second, hide, on("crm", "delete_user"), other}})

	find := &pb.Tool{Name: "find", Title: "find", Description: "Finds.", InputSchemaJson: "{}", Annotations: &pb.ToolAnnotations{Title: "Finder"}}
	before := proto.CloneOf(find)
	show := func(backend string, tool *pb.Tool) *pb.Tool {
		e := o.Tools().Of(backend, tool.GetName())
		shown, err := e.Tool(tool)
		if err != nil {
			t.Error(err)
		}
		return shown
	}
	got := show("crm", find)
	want := &pb.Tool{
		Name: "find", Title: "Find a customer", Description: "Anything.", InputSchemaJson: "{}",
		Annotations: &pb.ToolAnnotations{Title: "Find a customer", Destructive: &no, ReadOnly: &yes},
	}
	if !proto.Equal(got, want) {
		t.Errorf("the tool is shown as %v, want %v", got, want)
	}
	if !proto.Equal(find, before) {
		t.Errorf("the backend's tool was changed: %v", find)
	}
	if got := show("shop", find); got.GetTitle() != "Of the shop" || got.GetDescription() != "Finds." {
		t.Errorf("the tool of another backend is shown as %v", got)
	}
	if got := show("files", find); got != find {
		t.Error("a tool that no entry is about was copied")
	}
	if !o.Tools().Of("crm", "delete_user").Hide || o.Tools().Of("shop", "delete_user").Hide || o.Prompts().Of("crm", "delete_user").Hide {
		t.Error("hidden are others than the tools of crm that are deleted with")
	}
}

func TestDefaultHides(t *testing.T) {
	hidden := on("crm", "secret")
	hidden.Hide = true
	o := overlay.New(overlay.Entries{Hides: true, Tools: []overlay.Entry{on("crm", "find"), hidden}, Prompts: []overlay.Entry{on("crm", "*")}})
	for name, want := range map[string]bool{"find": false, "secret": true, "new": true} {
		if o.Tools().Of("crm", name).Hide != want {
			t.Errorf("hides %s: %t", name, !want)
		}
	}
	if o.Prompts().Of("crm", "new").Hide || !o.Prompts().Of("shop", "new").Hide {
		t.Error("prompts are hidden by the entries of tools")
	}
	var none *overlay.Overlay
	if none.Tools().About("crm") || none.Tools().Of("crm", "x").Hide || none.Prompts().Of("crm", "x").Hide {
		t.Error("no overlay changes something")
	}
}

// Digests are equal exactly if the overlays have the same effect.
func TestFold(t *testing.T) {
	entry := on("crm", "find")
	entry.Title = "A"
	of := func(backend, name string, hides bool, e ...overlay.Entry) string {
		var b strings.Builder
		merged := overlay.New(overlay.Entries{Hides: hides, Tools: e}).Tools().Of(backend, name)
		merged.Fold(&b, name)
		return b.String()
	}
	moved, changed, renamed, aliased, hide := entry, entry, entry, entry, on("crm", "f*")
	moved.Place, moved.Names = "elsewhere", pattern.New("fin*")
	changed.Description, renamed.Name, aliased.Aliases = "B", "b", []string{"b"}
	hide.Hide = true
	if of("crm", "find", false, entry) != of("crm", "find", true, moved) {
		t.Error("entries that show the same fold differently")
	}
	for what, other := range map[string]string{
		"nothing": of("crm", "find", false), "a description": of("crm", "find", false, changed), "hidden": of("crm", "find", false, entry, hide),
		"a name": of("crm", "find", false, renamed), "an alias": of("crm", "find", false, aliased),
	} {
		if other == of("crm", "find", false, entry) {
			t.Errorf("%s: the same is folded", what)
		}
	}
	for name, text := range map[string]string{"find": of("crm", "find", false, entry, hide), "new": of("crm", "new", true, entry)} {
		if text != "" { // no subscriber is notified of the hidden name
			t.Errorf("%s is hidden, and folded: %s", name, text)
		}
	}
	if text := of("shop", "find", false, entry, hide) + of("crm", "find", false, on("crm", "find")); text != "" {
		t.Errorf("what changes nothing is folded: %s", text)
	}
	one, other := overlay.New(overlay.Entries{Tools: []overlay.Entry{entry}}), overlay.New(overlay.Entries{Tools: []overlay.Entry{entry}})
	if !one.Equal(other) || one.Equal(overlay.New(overlay.Entries{Tools: []overlay.Entry{changed}})) || one.Equal(nil) || one.Equal(overlay.New(overlay.Entries{Prompts: []overlay.Entry{entry}})) {
		t.Error("overlays are equal that are not, or the reverse")
	}
}

// A name and its aliases come from the first entry that has some, and belong to its backend.
func TestNames(t *testing.T) {
	first, second, other := on("crm", "find"), on("crm", "find"), on("shop", "find")
	first.Name, second.Name, second.Aliases, other.Aliases = "find_customer", "late", []string{"old", "older"}, []string{"find_article"}
	tools := overlay.New(overlay.Entries{Tools: []overlay.Entry{first, second, other}}).Tools()
	if e := tools.Of("crm", "find"); !slices.Equal(e.Given(), []string{"find_customer", "old", "older"}) {
		t.Errorf("find of crm has the names %q", e.Given())
	}
	if e := tools.Of("shop", "find"); e.Name != "" || !slices.Equal(e.Given(), []string{"find_article"}) {
		t.Errorf("find of the shop has the names %q", e.Given())
	}
	for name, want := range map[string]string{"find_customer": "crm", "old": "crm", "find_article": "shop", "find": ""} {
		if got, ok := tools.Owner(name); got != want || ok != (want != "") {
			t.Errorf("%s belongs to %q, want %q", name, got, want)
		}
	}
}

func TestIdle(t *testing.T) {
	used, idle, prompt, prefixed, given, renamed := on("crm", "find"), on("crm", "del*"), on("shop", "greet"), on("shop", "s_del*"), on("shop", "remove"), on("shop", "delete")
	idle.Place, prompt.Place, prefixed.Place, given.Place = "catalog.tools[1]", "catalog.prompts[0]", "catalog.tools[2]", "catalog.tools[3]"
	prefixed.Hide, renamed.Name = true, "remove"
	got := overlay.New(overlay.Entries{Tools: []overlay.Entry{used, idle, prefixed, given, renamed}, Prompts: []overlay.Entry{prompt}}).Idle([]overlay.Listed{
		{Backend: "crm", Prefix: "c_", Tools: []string{"find"}, Prompts: []string{"greet"}}, {Backend: "shop", Prefix: "s_", Tools: []string{"delete", "greet"}},
	})
	want := []string{
		`catalog.tools[1]: tool: the backend crm lists no tool with the name del* false`,
		`catalog.tools[2]: tool: the backend shop lists no tool with the name s_del*; write it without the prefix: del* true`,
		`catalog.tools[3]: tool: the backend shop lists no tool with the name remove; the catalog gives this name to "delete": write delete false`,
		`catalog.prompts[0]: prompt: the backend shop lists no prompt with the name greet false`,
	}
	var said []string
	for _, one := range got {
		said = append(said, fmt.Sprint(one.String(), " ", one.Opens()))
	}
	if !slices.Equal(said, want) {
		t.Errorf("%q, want %q", said, want)
	}
}

// An exact URI that no list has, and that its backend may serve, can be hidden, shown or selected, but has no title.
func TestIdleTexts(t *testing.T) {
	uri := func(uri string, change func(*overlay.Entry)) overlay.Entry {
		e := on("crm", uri)
		e.Title, e.Place = "T", uri
		change(&e)
		return e
	}
	entries := []overlay.Entry{
		uri("crm://customers/1", func(*overlay.Entry) {}), uri("docs://a", func(e *overlay.Entry) { e.Title, e.Description = "", "D" }),
		uri("crm://customers/2", func(e *overlay.Entry) { e.Hide = true }), uri("crm://customers/3", func(e *overlay.Entry) { e.Groups = []string{"g"} }),
		uri("crm://customers/*", func(*overlay.Entry) {}), uri("crm://customers/{id}", func(*overlay.Entry) {}), uri("crm://listed", func(*overlay.Entry) {}),
	}
	listed := []overlay.Listed{{Backend: "crm", Resources: []string{"crm://listed", "crm://customers/{id}"}, Reads: []string{"crm://customers/", "docs://"}}}
	for hides, want := range map[bool][]string{false: {"crm://customers/1", "docs://a"}, true: nil} {
		var got []string
		for _, one := range overlay.New(overlay.Entries{Resources: entries, Hides: hides}).Idle(listed) {
			got = append(got, one.Entry.Place)
			if !strings.HasPrefix(one.String(), one.Entry.Place+": resource: the backend crm lists no resource with the name") || one.Opens() {
				t.Errorf("%s, opens: %v", one.String(), one.Opens())
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("default hide %v: %q, want %q", hides, got, want)
		}
	}
}
