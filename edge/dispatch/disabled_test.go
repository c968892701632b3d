package dispatch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/disabled"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// off returns a list of what is disabled, each as kind:name or, for a tool, tool:backend/name.
func off(ids ...string) *disabled.List {
	var entries []disabled.Entry
	for _, text := range ids {
		kind, name, _ := strings.Cut(text, ":")
		id := disabled.ID{Kind: disabled.Kind(kind), Name: name}
		if id.Kind == disabled.Tool {
			id.Backend, id.Name, _ = strings.Cut(name, "/")
		}
		entries = append(entries, disabled.Entry{ID: id, Reason: "SECRET"})
	}
	return disabled.NewList(entries...)
}

// wholeSet is a set with all of the backend one.
func wholeSet() overlay.Sets {
	return overlay.Sets{"s": &overlay.Set{Name: "s", Instructions: "Ask s.", Include: overlay.Selection{Backends: pattern.NewList([]string{"one"})}}}
}

// asked are requests for everything that mixed serves, by what each is for.
var asked = map[string]struct {
	method mcp.Method
	params string
}{
	"a tool":                      {mcp.MethodToolsCall, `{"name":"p_shown"}`},
	"another tool":                {mcp.MethodToolsCall, `{"name":"p_other"}`},
	"a prompt":                    {mcp.MethodPromptsGet, `{"name":"p_greet"}`},
	"a resource":                  {mcp.MethodResourcesRead, `{"uri":"x://a/1"}`},
	"a resource of a template":    {mcp.MethodResourcesRead, `{"uri":"x://free/7"}`},
	"a resource of a URI prefix":  {mcp.MethodResourcesRead, `{"uri":"files:a"}`},
	"a page":                      {mcp.MethodResourcesRead, `{"uri":"ui://one/page"}`},
	"a file of a skill":           {mcp.MethodResourcesRead, `{"uri":"skill://two/secret.md"}`},
	"a skill":                     {mcp.MethodSkillsGet, `{"uri":"skill://one/SKILL.md"}`},
	"a directory":                 {mcp.MethodDirectoryRead, `{"uri":"skill://one"}`},
	"a watch":                     {mcp.MethodSubscribe, `{"uri":"x://a/1"}`},
	"a completion of a prompt":    {mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"p_greet"},"argument":{"name":"x","value":"y"}}`},
	"a completion of a template":  {mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":"x://a/{id}"},"argument":{"name":"id","value":"y"}}`},
	"a later round of its call":   {mcp.MethodToolsCall, `{"name":"p_shown"}`},
	"a later round of its prompt": {mcp.MethodPromptsGet, `{"name":"p_greet"}`},
}

// refusals returns the errors of all requests that say that something is disabled, and checks that these did not reach the backend.
func refusals(t *testing.T, d *Dispatch, f *fake, set string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for what, a := range asked {
		call := in(t, set, a.method, a.params)
		if strings.HasPrefix(what, "a later round") {
			call.Backend, call.Begun, call.Round = "one", true, 2
		}
		before, _ := f.seen()
		target, err := d.Resolve(t.Context(), rules(t, modern), call)
		if err == nil || !strings.Contains(err.Error(), "disabled by the operator") {
			continue
		}
		if kindOf(t, err) != mcp.KindForbidden || strings.Contains(err.Error(), "SECRET") || target == nil {
			t.Errorf("%s: %v", what, err)
		}
		if after, _ := f.seen(); after != before {
			t.Errorf("%s reached the backend", what)
		}
		out[what] = err.Error()
	}
	return out
}

// allLists returns all lists of a set and the names in them.
func allLists(t *testing.T, d *Dispatch, set string) string {
	t.Helper()
	var all strings.Builder
	for _, method := range []mcp.Method{mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodTemplatesList, mcp.MethodSkillsList} {
		reply, err := d.Call(t.Context(), rules(t, modern), in(t, set, method, `{}`), nil)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		all.Write(reply.Result)
	}
	return all.String()
}

// What is disabled is not listed and is refused as such at every door, at the root and in sets, until it is enabled again. Everything
// else is served.
func TestDisabled(t *testing.T) {
	f := mixed()
	f.onComplete = func(string, string, string) ([]string, error) { return nil, nil }
	d := start(t, Options{Catalog: catalog.Options{Sets: wholeSet(), Jitter: -1}}, f)
	untouched := map[string]string{"": allLists(t, d, ""), "s": allLists(t, d, "s")}
	everything := len(asked)
	for name, c := range map[string]struct {
		off []string
		// root and set are how many requests are refused.
		root, set int
		// listless are names that the root does not list, listed some that it does.
		listless, listed string
	}{
		"a tool":                 {[]string{"tool:one/shown"}, 2, 2, `"p_shown"`, `"p_other" "p_greet" "x://a/1"`},
		"a backend":              {[]string{"backend:one"}, everything, everything, `"p_shown" "p_greet" "x://a/1" "x://a/{id}" "skill://one/SKILL.md"`, ""},
		"a set":                  {[]string{"set:s"}, 0, everything, "", `"p_shown" "p_other" "p_greet" "x://a/1"`},
		"a tool and a set":       {[]string{"tool:one/other", "set:s"}, 1, everything, `"p_other"`, `"p_shown"`},
		"of another backend":     {[]string{"tool:two/shown", "backend:two", "set:two"}, 0, 0, "", `"p_shown"`},
		"a prompt is not a tool": {[]string{"tool:one/greet"}, 0, 0, "", `"p_greet"`},
		"a name with a prefix":   {[]string{"tool:one/p_shown"}, 0, 0, "", `"p_shown"`},
		"what is not there":      {[]string{"tool:one/nothing"}, 0, 0, "", `"p_shown"`},
		"another kind of name":   {[]string{"set:one", "backend:s"}, 0, 0, "", `"p_shown"`},
	} {
		t.Run(name, func(t *testing.T) {
			d.Catalog().Disable(off(c.off...))
			defer d.Catalog().Disable(nil)
			if got := refusals(t, d, f, ""); len(got) != c.root {
				t.Errorf("%d are refused at the root: %v", len(got), got)
			}
			if got := refusals(t, d, f, "s"); len(got) != c.set {
				t.Errorf("%d are refused in the set: %v", len(got), got)
			}
			all := allLists(t, d, "")
			for _, text := range strings.Fields(c.listless) {
				if strings.Contains(all, text) {
					t.Errorf("%s is listed: %s", text, all)
				}
			}
			for _, text := range strings.Fields(c.listed) {
				if !strings.Contains(all, text) {
					t.Errorf("%s is not listed: %s", text, all)
				}
			}
			if c.set == everything {
				if all := allLists(t, d, "s"); strings.Contains(all, "p_") || strings.Contains(all, "://") {
					t.Errorf("the set lists %s", all)
				}
			}
		})
	}
	for set, want := range untouched {
		if got := allLists(t, d, set); got != want {
			t.Errorf("afterwards the lists of %q are %s, want %s", set, got, want)
		}
	}
	if got := refusals(t, d, f, ""); len(got) != 0 {
		t.Errorf("afterwards: %v", got)
	}
}

// What the policy hides from a caller stays unknown, whatever is disabled, and what does not exist does, too.
func TestDisabledIsUnknownToWhomItIsHidden(t *testing.T) {
	c := control(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{
		{Name: "hidden", Then: policy.Hide, When: `principal.subject == "" && tool.name == "p_shown"`},
		{Name: "denied", Then: policy.Deny, When: `tool.name == "p_other"`},
	}})
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}, Access: by(c)}, mixed())
	d.Catalog().Disable(off("backend:one"))
	for _, q := range []struct {
		who, params string
		kind        mcp.Kind
		text        string
	}{
		{"", `{"name":"p_shown"}`, mcp.KindUnknownTool, "unknown tool"},
		{"ada", `{"name":"p_shown"}`, mcp.KindForbidden, `the tool "p_shown" is disabled by the operator`},
		{"ada", `{"name":"p_other"}`, mcp.KindForbidden, "policy rule"},
		{"ada", `{"name":"p_third"}`, mcp.KindUnknownTool, "unknown tool"},
	} {
		call := request(t, mcp.MethodToolsCall, q.params)
		call.Principal.Subject = q.who
		if _, err := d.Call(t.Context(), rules(t, legacy), call, nil); kindOf(t, err) != q.kind || !strings.Contains(err.Error(), q.text) {
			t.Errorf("%q %s: %v", q.who, q.params, err)
		}
	}
}

// Clients are notified of the lists that differ, and of no others; what changes of a disabled backend is no news; its watches end, and
// begin again when it is enabled.
func TestDisabledIsNotified(t *testing.T) {
	f := mixed()
	d := start(t, Options{Catalog: catalog.Options{Sets: wholeSet(), Jitter: -1}}, f, &fake{name: "two", tools: tools(0, 1)})
	all := mcp.Filter{Tools: true, Resources: true, Prompts: true}
	root := open(t, d, mcp.Filter{Tools: true, Resources: true, Prompts: true, URIs: []string{"x://a/1"}})
	set, err := d.Changes(t.Context(), "s", mcp.Principal{}, all)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	watched := func() int { return f.watchers("x://a/1") }
	if watched() != 1 {
		t.Fatal("it is not watched")
	}
	kinds := func(feed mcp.Feed, most int) (out []mcp.ChangeKind) {
		for len(out) < most {
			for _, c := range next(t, feed) {
				if c.Kind != mcp.ResourceUpdated {
					out = append(out, c.Kind)
				}
			}
		}
		slices.Sort(out)
		return out
	}
	everyKind := []mcp.ChangeKind{mcp.ToolsChanged, mcp.ResourcesChanged, mcp.PromptsChanged}
	slices.Sort(everyKind)
	d.Catalog().Disable(off("tool:one/shown"))
	for _, feed := range []mcp.Feed{root, set} {
		if got := kinds(feed, 1); !slices.Equal(got, []mcp.ChangeKind{mcp.ToolsChanged}) {
			t.Errorf("a tool: %v", got)
		}
	}
	d.Catalog().Disable(off("tool:one/shown", "set:s"))
	if got := kinds(set, 3); !slices.Equal(got, everyKind) {
		t.Errorf("a set: %v", got)
	}
	silent(t, root)
	d.Catalog().Disable(off("backend:one"))
	if got := kinds(root, 3); !slices.Equal(got, everyKind) {
		t.Errorf("a backend: %v", got)
	}
	silent(t, set) // it lists nothing before and after
	await.Until(t, "the watch to end", func() bool { return watched() == 0 })
	f.change(func() { f.prompts = append(f.prompts, &pb.Prompt{Name: "new"}) })
	await.Until(t, "the change of the disabled backend", func() bool {
		return slices.ContainsFunc(d.Catalog().Shared().Parts[0].Catalog.Prompts, func(p *pb.Prompt) bool { return p.GetName() == "new" })
	})
	if err := d.Catalog().Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	silent(t, root)
	d.Catalog().Disable(nil)
	for _, feed := range []mcp.Feed{root, set} {
		if got := kinds(feed, 3); !slices.Equal(got, everyKind) {
			t.Errorf("enabled: %v", got)
		}
	}
	await.Until(t, "the watch to begin again", func() bool { return watched() == 1 })
}

// The end of what is disabled, or of nothing that is listed, is no news.
func TestDisabledIsNoNewsWhenItEnds(t *testing.T) {
	f := mixed()
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}}, f)
	feed := open(t, d, mcp.Filter{Tools: true, Resources: true, Prompts: true})
	d.Catalog().Disable(off("tool:one/nothing"))
	silent(t, feed)
	d.Catalog().Disable(off("tool:one/shown"))
	if got := next(t, feed); len(got) != 1 || got[0].Kind != mcp.ToolsChanged {
		t.Errorf("%v", got)
	}
	f.change(func() {
		f.tools = slices.DeleteFunc(f.tools, func(tool *pb.Tool) bool { return tool.GetName() == "shown" })
	})
	await.Until(t, "the tool to end", func() bool {
		return !slices.ContainsFunc(d.Catalog().Shared().Parts[0].Catalog.Tools, func(tool *pb.Tool) bool { return tool.GetName() == "shown" })
	})
	if err := d.Catalog().Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	silent(t, feed)
	d.Catalog().Disable(nil)
	silent(t, feed)
}

// The instructions of a disabled backend are not sent, nor those of a disabled set.
func TestDisabledInstructions(t *testing.T) {
	d := start(t, Options{Catalog: catalog.Options{Sets: wholeSet()}}, mixed())
	instructions := func(set string) string {
		return d.catalog.Describe(t.Context(), rules(t, modern), set, mcp.Principal{}).Instructions
	}
	for _, c := range []struct {
		off       string
		root, set bool
	}{{"tool:one/shown", true, true}, {"backend:one", false, true}, {"set:s", true, false}} {
		d.Catalog().Disable(off(c.off))
		if got := strings.Contains(instructions(""), "Ask one."); got != c.root {
			t.Errorf("%s: the root has those of the backend: %t", c.off, got)
		}
		if got := strings.Contains(instructions("s"), "Ask s."); got != c.set {
			t.Errorf("%s: the set has its own: %t", c.off, got)
		}
	}
}

// An operator names a tool by its canonical or shown name or an alias, a backend or a set; what several have is refused with what to say.
func TestFindToDisable(t *testing.T) {
	o := overlay.New(overlay.Entries{Tools: []overlay.Entry{
		{Backend: "one", Names: pattern.New("shown"), Name: "renamed", Aliases: []string{"also"}}, {Backend: "one", Names: pattern.New("other"), Name: "s"},
	}})
	two := &fake{name: "two", tools: []*pb.Tool{{Name: "p_shown"}}}
	d := start(t, Options{Catalog: catalog.Options{Sets: wholeSet(), Overlay: o}}, mixed(), two)
	for _, c := range []struct{ kind, of, name, want, known string }{
		{"", "", "renamed", "tool one shown", ""},
		{"", "", "also", "tool one shown", ""},
		{"", "", "p_other", "tool one other", ""},
		{"", "", "p_shown", "several", ""},
		{"", "two", "p_shown", "tool two p_shown", ""},
		{"", "one", "p_shown", "tool one shown", ""},
		{"", "one", "shown", "tool one shown", ""},
		{"", "one", "renamed", "tool one shown", ""},
		{"tool", "one", "also", "tool one shown", ""},
		{"tool", "one", "s", "tool one other", ""},
		{"tool", "two", "also", "unlisted tool two also", ""},
		{"tool", "two", "unlisted", "unlisted tool two unlisted", ""},
		{"", "one", "p_unlisted", "unlisted tool one unlisted", ""},
		{"", "one", "unlisted", `with its prefix, "p_"`, "p_shown"},
		{"", "one", "p_", "does not list", "renamed"},
		{"", "", "one", "backend  one", ""},
		{"backend", "", "two", "backend  two", ""},
		{"set", "", "one", "there is no set", "s"},
		{"", "", "s", "several", ""},
		{"set", "", "s", "set  s", ""},
		{"tool", "", "s", "tool one other", ""},
		{"", "", "nothing", "named with its backend", "p_shown"},
		{"", "", "read_resource", "disabled with its set", ""},
		{"tool", "", "find_tools", "disabled with its set", ""},
		{"set", "", "find_tools", "there is no set", "s"},
		{"", "nothing", "x", "there is no backend", "two"},
		{"", "", "", "name the tool", ""},
		{"planet", "", "one", "it is tool, backend or set", ""},
		{"set", "one", "s", "leave backend out", ""},
		{"", "", strings.Repeat("x", disabled.MaxName+1), "the limit is 1024", ""},
	} {
		id, err := d.Catalog().Find(disabled.Kind(c.kind), c.of, c.name)
		got := string(id.Kind) + " " + id.Backend + " " + id.Name
		if id.Unlisted {
			got = "unlisted " + got
		}
		if prefix := map[string]string{"one": "p_"}[id.Backend]; err == nil && id.Kind == disabled.Tool && id.Canonical != prefix+id.Name {
			t.Errorf("%+v: the canonical name is %q", c, id.Canonical)
		}
		if err != nil {
			got = err.Error()
		}
		missing := (*disabled.NotFoundError)(nil)
		if errors.As(err, &missing) && c.known != "" && (missing.Name == "" || !slices.Contains(missing.Known, c.known)) {
			t.Errorf("%+v: %q is not found among %q", c, missing.Name, missing.Known)
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) && !(c.want == "several" && strings.Contains(got, "name one of them")) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// Capabilities are those of the settings, at the root and in sets, whatever is disabled: a client that connects meanwhile need not connect
// again when it is enabled.
func TestDisabledKeepsCapabilities(t *testing.T) {
	task := pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_OPTIONAL}
	f := mixed()
	f.describe.ExtensionsJson = map[string]string{"com.example/x": "{}"}
	f.tools[0].TaskSupport = &task
	sets := wholeSet()
	sets["page"] = &overlay.Set{Name: "page", Include: overlay.Selection{Tools: pattern.NewList([]string{"shown"})}}
	d := start(t, Options{Catalog: catalog.Options{Sets: sets, Jitter: -1}}, f)
	capabilities := func(version, set string) string {
		return string(d.catalog.Describe(t.Context(), rules(t, version), set, mcp.Principal{}).Capabilities)
	}
	for _, set := range []string{"", "s", "page"} {
		for _, version := range []string{legacy, modern} {
			d.Catalog().Disable(nil)
			want := capabilities(version, set)
			if !strings.Contains(want, `"tools"`) || !strings.Contains(want, "asks") || (set != "page") != strings.Contains(want, `"prompts"`) {
				t.Errorf("%s, %q: %s", version, set, want)
			}
			for _, id := range []string{"tool:one/shown", "backend:one", "set:s", "set:page"} {
				d.Catalog().Disable(off(id))
				if got := capabilities(version, set); got != want {
					t.Errorf("%s, %q, without %s: %s, want %s", version, set, id, got, want)
				}
			}
		}
	}
}

// Digests of lists without what is disabled are as they were, at the root and in sets: a session that is continued then is not notified of them.
func TestDisabledKeepsOtherDigests(t *testing.T) {
	d := start(t, Options{Catalog: catalog.Options{Sets: wholeSet(), Jitter: -1}}, mixed())
	for _, set := range []string{"", "s"} {
		digest := func() mcp.Digest {
			return d.catalog.Describe(t.Context(), rules(t, modern), set, mcp.Principal{}).Digest()
		}
		before := digest()
		d.Catalog().Disable(off("tool:one/shown"))
		if now := digest(); now.Tools == before.Tools || now.Resources != before.Resources || now.Prompts != before.Prompts {
			t.Errorf("%q: without a tool: %v, before %v", set, now, before)
		}
		d.Catalog().Disable(off("tool:one/nothing", "backend:two"))
		if now := digest(); now != before {
			t.Errorf("%q: without what is not there: %v, before %v", set, now, before)
		}
		d.Catalog().Disable(nil)
		if now := digest(); now != before {
			t.Errorf("%q: afterwards: %v, before %v", set, now, before)
		}
	}
}
