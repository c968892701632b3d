package dispatch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// in returns a request in a set.
func in(t testing.TB, set string, method mcp.Method, params string) *mcp.Call {
	call := request(t, method, params)
	call.Set = set
	return call
}

func resourcesOf(patterns ...string) overlay.Selection {
	return overlay.Selection{Resources: pattern.NewList(patterns)}
}

// mixed is a backend with tools, one of which has a page, resources, templates and skills.
func mixed() *fake {
	f := skilled("one", true, "skill://one/SKILL.md", "skill://two/SKILL.md")
	f.prefix = "p_"
	f.describe = &pb.DescribeResponse{Instructions: "Ask one.", Resources: &pb.ResourceFeatures{UriPrefixes: []string{"files:", "ui:", "x:"}, Directories: true}}
	f.tools = []*pb.Tool{
		{Name: "shown", InputSchemaJson: `{"type":"object"}`, MetaJson: `{"ui":{"resourceUri":"ui://one/page"}}`},
		{Name: "other", InputSchemaJson: `{"type":"object"}`, MetaJson: `{"ui":{"resourceUri":"ui://one/other"}}`},
	}
	f.prompts = []*pb.Prompt{{Name: "greet"}, {Name: "bye"}}
	f.resources = []*pb.Resource{{Uri: "x://a/1", Name: "1"}, {Uri: "x://a/2", Name: "2"}}
	f.templates = []*pb.ResourceTemplate{{UriTemplate: "x://a/{id}", Name: "t"}, {UriTemplate: "x://free/{id}", Name: "u"}}
	f.skills[1].Files = append(f.skills[1].Files, &pb.SkillFile{Uri: "skill://two/secret.md", Sha256: make([]byte, 32), Size: 1})
	return f
}

// TestNarrowedViews: a set has what it includes without what it excludes, in every form of a URI, and everything else is answered as
// what does not exist.
func TestNarrowedViews(t *testing.T) {
	for name, c := range map[string]struct {
		set             overlay.Set
		shown, hidden   []string
		lists, listless string
	}{
		"a backend": {
			set:   overlay.Set{Include: overlay.Selection{Backends: pattern.NewList([]string{"on*"})}},
			shown: []string{"x://a/1", "x://a/7", "x://free/7", "files:a", "ui://one/page", "ui://one/any"},
			lists: `"p_shown" "p_other" "p_greet" "x://a/1" "x://a/{id}" "skill://one/SKILL.md"`,
		},
		"a backend without some": {
			set: overlay.Set{
				Include: overlay.Selection{Backends: pattern.NewList([]string{"one"})},
				Exclude: overlay.Selection{Tools: pattern.NewList([]string{"other"}), Resources: pattern.NewList([]string{"x://a/{id}", "files:secret/**", "skill://two/secret.md"})},
			},
			shown: []string{"x://a/1", "x://free/7", "files:a", "ui://one/page", "skill://one/SKILL.md"},
			hidden: []string{
				"x://a/7", "x://a/%37", "x://free/../a/7", "files:secret/a", "files:%73ecret/a", "files:a/../secret/b",
				"skill://two/SKILL.md", "skill://two", "skill://two/secret.md", "skill://two/docs.md",
			},
			lists: `"p_shown" "x://a/1" "x://free/{id}" "skill://one/SKILL.md"`, listless: `"p_other" "x://a/{id}" "skill://two/SKILL.md"`,
		},
		"a tool with its page": {
			set:    overlay.Set{Include: overlay.Selection{Tools: pattern.NewList([]string{"shown"})}},
			shown:  []string{"ui://one/page"},
			hidden: []string{"ui://one/other", "x://a/1", "files:a"},
			lists:  `"p_shown"`, listless: `"p_other" "p_greet"`,
		},
		"the name after the prefix is not the own one": {
			set:      overlay.Set{Include: overlay.Selection{Tools: pattern.NewList([]string{"p_shown"}), Prompts: pattern.NewList([]string{"*"})}},
			listless: `"p_shown"`, lists: `"p_greet" "p_bye"`,
		},
		"a template": {
			set:    overlay.Set{Include: resourcesOf("x://free/{id}")},
			shown:  []string{"x://free/7"},
			hidden: []string{"x://a/1", "x://a/7", "files:a", "x://free/%2e%2e/a/1", "ui://one/page", "skill://one/SKILL.md"},
			lists:  `"x://free/{id}"`, listless: `"x://a/{id}" "x://a/1"`,
		},
		"URIs that no list has": {
			set:    overlay.Set{Include: resourcesOf("files:public/**", "x://a/2")},
			shown:  []string{"files:public/a", "files:public/a/../b", "x://a/2"},
			hidden: []string{"files:public/../secret", `files:public/..\\secret`, "files:public/..%2Fsecret", "x://a/1", "x://a/7"},
			lists:  `"x://a/2"`, listless: `"x://a/1"`,
		},
		"a skill": {
			set:    overlay.Set{Include: resourcesOf("skill://one/SKILL.md")},
			shown:  []string{"skill://one/SKILL.md", "skill://one/docs.md"},
			hidden: []string{"skill://two/SKILL.md", "skill://two/docs.md", "skill://one/../two/SKILL.md"},
			lists:  `"skill://one/SKILL.md"`, listless: `"skill://two/SKILL.md"`,
		},
		"nothing": {hidden: []string{"x://a/1", "files:a", "ui://one/page"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.set.Name = "s"
			d := start(t, Options{Catalog: catalog.Options{Sets: overlay.Sets{"s": &c.set}}}, mixed())
			read := func(method mcp.Method, uri, backend string) error {
				call := in(t, "s", method, `{"uri":"`+uri+`"}`)
				call.Backend = backend
				_, err := d.Call(t.Context(), rules(t, modern), call, nil)
				return err
			}
			for _, uri := range c.shown {
				if err := read(mcp.MethodResourcesRead, uri, ""); err != nil {
					t.Errorf("%s: %v", uri, err)
				}
			}
			for _, uri := range c.hidden {
				for _, method := range []mcp.Method{mcp.MethodResourcesRead, mcp.MethodSkillsGet, mcp.MethodDirectoryRead} {
					unknown := read(method, "nix:nowhere", "")
					for _, backend := range []string{"", "one"} {
						if err := read(method, uri, backend); err == nil || strings.ReplaceAll(err.Error(), uri, "nix:nowhere") != unknown.Error() && !strings.Contains(err.Error(), "no backend answers for it") {
							t.Errorf("%s %s at %q: %v, want %v", method, uri, backend, err, unknown)
						}
					}
				}
			}
			var all string
			for _, method := range []mcp.Method{mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodTemplatesList, mcp.MethodSkillsList} {
				if reply, err := d.Call(t.Context(), rules(t, modern), in(t, "s", method, `{}`), nil); err == nil {
					all += string(reply.Result)
				}
			}
			for _, text := range strings.Fields(c.lists) {
				if !strings.Contains(all, text) {
					t.Errorf("the lists have no %s: %s", text, all)
				}
			}
			for _, text := range strings.Fields(c.listless) {
				if strings.Contains(all, text) {
					t.Errorf("the lists have %s: %s", text, all)
				}
			}
		})
	}
}

// TestGroupsOfSets: groups select by the entries of the catalog, also what an entry renames; what the catalog hides is in no set.
func TestGroupsOfSets(t *testing.T) {
	entry := func(name, shown string, hide bool) overlay.Entry {
		return overlay.Entry{Backend: "one", Names: pattern.New(name), Name: shown, Hide: hide, Groups: []string{"g"}}
	}
	o := overlay.New(overlay.Entries{Tools: []overlay.Entry{entry("shown", "renamed", false), entry("other", "", true)}, Resources: []overlay.Entry{entry("x://free/{id}", "", false)}})
	set := &overlay.Set{Name: "s", Include: overlay.Selection{Groups: pattern.NewList([]string{"g"})}}
	d := start(t, Options{Catalog: catalog.Options{Overlay: o, Sets: overlay.Sets{"s": set}}}, mixed())
	call := func(method mcp.Method, params string) error {
		_, err := d.Call(t.Context(), rules(t, modern), in(t, "s", method, params), nil)
		return err
	}
	if err := call(mcp.MethodToolsCall, `{"name":"renamed"}`); err != nil {
		t.Error(err)
	}
	if err := call(mcp.MethodToolsCall, `{"name":"p_other"}`); kindOf(t, err) != mcp.KindUnknownTool {
		t.Error(err)
	}
	if err := call(mcp.MethodResourcesRead, `{"uri":"x://free/7"}`); err != nil {
		t.Error(err)
	}
	if err := call(mcp.MethodResourcesRead, `{"uri":"x://a/1"}`); kindOf(t, err) != mcp.KindResourceNotFound {
		t.Error(err)
	}
}

// TestRoundsOfSets: a later round of a call is one in its set; what left the set is unknown then.
func TestRoundsOfSets(t *testing.T) {
	set := &overlay.Set{Name: "s", Include: overlay.Selection{Tools: pattern.NewList([]string{"shown"})}}
	d := start(t, Options{Catalog: catalog.Options{Sets: overlay.Sets{"s": set}}}, mixed())
	round := func(tool string) error {
		call := in(t, "s", mcp.MethodToolsCall, `{"name":"`+tool+`"}`)
		call.Backend = "one"
		_, err := d.Call(t.Context(), rules(t, modern), call, nil)
		return err
	}
	if err := round("p_shown"); err != nil {
		t.Error(err)
	}
	if err := round("p_other"); kindOf(t, err) != mcp.KindUnknownTool {
		t.Errorf("a tool outside of the set: %v", err)
	}
	d.Catalog().Replace(nil, nil, func() {}, false)
	if err := round("p_shown"); kindOf(t, err) != mcp.KindMethodNotFound {
		t.Errorf("a set that is gone: %v", err)
	}
}

// TestViewsOfSetsAreKept: the view of a set is made once, until the lists or the set are others, and describes the set.
func TestViewsOfSetsAreKept(t *testing.T) {
	set := func(title string) overlay.Sets {
		return overlay.Sets{"s": &overlay.Set{Name: "s", Title: title, Private: true, Include: overlay.Selection{Tools: pattern.NewList([]string{"shown"})}}}
	}
	f := mixed()
	f.cache = &pb.CacheHint{Ttl: durationpb.New(time.Minute), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}
	d := start(t, Options{Catalog: catalog.Options{Sets: set("S")}}, f)
	view := func() *catalog.View {
		v, err := d.Catalog().Of(t.Context(), "s", mcp.Principal{})
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	first := view()
	d.Catalog().Replace(nil, set("S"), func() {}, false)
	if view() != first {
		t.Error("an equal set has another view")
	}
	d.Catalog().Replace(nil, set("T"), func() {}, false)
	if view() == first {
		t.Error("another set has the same view")
	}
	about := d.catalog.Describe(t.Context(), rules(t, modern), "s", mcp.Principal{})
	if text := fmt.Sprintf("%s %s", about.ServerInfo, about.Capabilities); !strings.Contains(text, `"title":"T"`) || strings.Contains(text, "prompts") || strings.Contains(text, "skills") || about.Instructions != "" {
		t.Errorf("the set is described as %s %q", text, about.Instructions)
	}
	if about.Public {
		t.Error("the description of a set that not every caller may use may be shared")
	}
	whole := d.catalog.Describe(t.Context(), rules(t, modern), "", mcp.Principal{})
	if whole.Instructions != "Ask one." || whole.Digest() == about.Digest() {
		t.Errorf("the root is described with %q and the digest %v", whole.Instructions, whole.Digest())
	}
}

// TestSetsOfWithheldBackends: a set says nothing of a backend of which the overlay hides everything.
func TestSetsOfWithheldBackends(t *testing.T) {
	set := &overlay.Set{Name: "s", Include: overlay.Selection{Backends: pattern.NewList([]string{"one"})}}
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(overlay.Entries{Withheld: []string{"one"}}), Sets: overlay.Sets{"s": set}}}, mixed())
	if about := d.catalog.Describe(t.Context(), rules(t, modern), "s", mcp.Principal{}); about.Instructions != "" {
		t.Errorf("the instructions are %q", about.Instructions)
	}
}

// TestPagesOfSets: a page of a tool of the set belongs to it only with the scheme of pages, and at the tool's backend.
func TestPagesOfSets(t *testing.T) {
	f := mixed()
	f.tools[0].MetaJson = `{"ui":{"resourceUri":"x://a/1"}}`
	set := &overlay.Set{Name: "s", Include: overlay.Selection{Backends: pattern.NewList([]string{"one"})}, Exclude: resourcesOf("x://a/**")}
	d := start(t, Options{Catalog: catalog.Options{Sets: overlay.Sets{"s": set}}}, f)
	if _, err := d.Call(t.Context(), rules(t, modern), in(t, "s", mcp.MethodResourcesRead, `{"uri":"x://a/1"}`), nil); kindOf(t, err) != mcp.KindResourceNotFound {
		t.Errorf("an excluded URI that a tool names as its page: %v", err)
	}
}

// TestCompletionsOfSets: values whose URIs the set excludes are not suggested, also while another variable is not known.
func TestCompletionsOfSets(t *testing.T) {
	f := mixed()
	f.describe.Resources.Completion = true
	f.templates = []*pb.ResourceTemplate{{UriTemplate: "x://{tenant}/{+id}", Name: "t"}}
	f.onComplete = func(string, string, string) ([]string, error) { return []string{"open", "secret"}, nil }
	set := &overlay.Set{Name: "s", Include: resourcesOf("x://{tenant}/{+id}"), Exclude: resourcesOf("x://secret/**")}
	d := start(t, Options{Catalog: catalog.Options{Sets: overlay.Sets{"s": set}}}, f)
	for _, about := range []string{``, `,"context":{"arguments":{"id":"1"}}`} {
		reply, err := d.Call(t.Context(), rules(t, modern), in(t, "s", mcp.MethodComplete,
			`{"ref":{"type":"ref/resource","uri":"x://{tenant}/{+id}"},"argument":{"name":"tenant","value":""}`+about+`}`), nil)
		if text := string(reply.Result); err != nil || !strings.Contains(text, "open") || strings.Contains(text, "secret") {
			t.Errorf("with %q: %s, %v", about, text, err)
		}
	}
}
