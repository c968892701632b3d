package dispatch

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/internal/uris"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func hiding(patterns ...string) (out []overlay.Entry) {
	for _, p := range patterns {
		out = append(out, overlay.Entry{Backend: "one", Names: pattern.New(p), Hide: true})
	}
	return out
}

func showing(patterns ...string) (out []overlay.Entry) {
	for _, p := range patterns {
		out = append(out, overlay.Entry{Backend: "one", Names: pattern.New(p)})
	}
	return out
}

// Hidden URIs are unknown in every spelling, however the backend would answer for them.
func TestHiddenURIs(t *testing.T) {
	for name, c := range map[string]struct {
		entries         overlay.Entries
		shown, hidden   []string
		lists, listless string // texts that the lists have and lack
	}{
		"a resource": {
			entries: overlay.Entries{Resources: hiding("x://a/1")},
			shown:   []string{"x://a/2", "x://free/1", "files:a"},
			hidden:  []string{"x://a/1", "X://a/1", "x://a/%31"},
			lists:   `"x://a/2" "x://a/{id}"`, listless: `"x://a/1"`,
		},
		"URIs that no list has": {
			entries: overlay.Entries{Resources: hiding("files:secret/**", "x://a/9*")},
			shown:   []string{"x://a/1", "x://a/8", "files:a"},
			hidden:  []string{"x://a/9", "x://a/99", "x://a/%39%39", "files:secret/", "files:secret/a/b", "files:%73ecret/a", "FILES:secret/a"},
			lists:   `"x://a/1"`,
		},
		"by another form": {
			entries: overlay.Entries{Resources: hiding("x://a/1", "files:secret/**", "x://dir/**")},
			shown:   []string{"x://a/2", "x://other/plan"},
			hidden: []string{
				"x://a/./1", "x://b/../a/1", "x://a//1", "x://@a/1", "x://:@a/1", "x://a:/1", "x://a%2F1", `x://a\\1`, "x://free/%2e%2e/../a/1",
				"x://dir/plan", "x://dir%2Fplan", "x://free/..%2Fdir%2Fplan", `x://free/..\\dir\\plan`, "files:a/../secret/b", "files:secret%2Fb",
			},
		},
		"without parts that libraries drop": {
			entries: overlay.Entries{Resources: hiding("x://a/1", "files:**/*.key", "x://free/{id}")},
			shown:   []string{"x://a/2", "x://a/2#", "x://a/2?x", "files:a/b.key.txt", "x://other/"},
			hidden: []string{
				"x://a/1#", "x://a/1?", "x://a/1?x", "x://a/1/", "x://a/1/?x#y", "x://a/1//", "x://a/%31#", "x://a/1%23x", "x://a/1%3Fx", "x://b/../a/1/?",
				"files:a/b.key#", "files:a/b.key?x=/", "files:a/b.key/", "x://free/7#", "x://free/7?x", "x://free/7/", "x://free/7%2F",
			},
		},
		"shown without parts": {
			entries: overlay.Entries{Hides: true, Resources: showing("x://slash/", "files:dir/**", "x://queries?a=*")},
			shown:   []string{"x://slash/", "files:dir/a?x", "files:dir/a/"},
			hidden:  []string{"x://slash", "x://slash/?x", "files:dir/", "x://queries?a=1"},
			lists:   `"x://slash/"`,
		},
		"a template in other forms": {
			entries: overlay.Entries{Resources: hiding("x://free/{id}")},
			shown:   []string{"x://a/7"},
			hidden:  []string{"x://free/7", "x://free//7", "x://free/./7", "x://free%2F7"},
		},
		"an allow-list": {
			entries: overlay.Entries{Hides: true, Resources: showing("files:public/**")},
			shown:   []string{"files:public/a", "files:public/a/../b"},
			hidden:  []string{"files:public/../secret", "files:public/%2e%2e/secret", `files:public/..\\secret`, "files:public/..%2Fsecret"},
		},
		"a template": {
			entries: overlay.Entries{Resources: hiding("x://a/{id}")},
			shown:   []string{"x://a/1", "x://free/7", "files:a"}, // A listed resource has an entry of its own.
			hidden:  []string{"x://a/7", "x://a/%37"},
			lists:   `"x://a/1" "x://free/{id}"`, listless: `"x://a/{id}"`,
		},
		"a skill": {
			entries:  overlay.Entries{Resources: hiding("skill://one/SKILL.md")},
			shown:    []string{"x://a/1"},
			hidden:   []string{"skill://one/SKILL.md", "skill://one/docs.md", "skill://%6Fne/docs.md", "skill://one", "skill://one/listed.md"},
			listless: `"skill://one/SKILL.md" "skill://one/listed.md"`,
		},
		"everything else": {
			entries: overlay.Entries{Hides: true, Resources: showing("x://a/1", "x://free/{id}", "files:open/**")},
			shown:   []string{"x://a/1", "x://free/7", "files:open/a"},
			hidden:  []string{"ui://page?v=1", "ui://secret", "ui://other", "x://a/2", "x://a/7", "files:a", "skill://one/SKILL.md", "skill://one/docs.md"},
			lists:   `"x://a/1" "x://free/{id}"`, listless: `"x://a/2" "x://a/{id}"`,
		},
		"pages of shown tools": {
			entries: overlay.Entries{Hides: true, Tools: append(showing("app", "locked"), hiding("locked")...), Resources: hiding("ui://out")},
			shown:   []string{"ui://page?v=1", "ui://p%61ge?v=1", "UI://page?v=1"},
			hidden:  []string{"ui://page", "ui://page?v=2", "ui://page?v=1#", "ui://secret", "ui://locked", "ui://other", "ui://out", "x://a/1"},
		},
		"what is shown, too": {
			entries: overlay.Entries{Hides: true, Resources: append(showing("**"), hiding("x://a/**")...)},
			shown:   []string{"x://free/7", "files:a"},
			hidden:  []string{"x://a/1", "x://a/7"},
			lists:   `"x://free/{id}"`, listless: `"x://a/1" "x://a/{id}"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := skilled("one", true, "skill://one/SKILL.md")
			f.describe = &pb.DescribeResponse{Resources: &pb.ResourceFeatures{UriPrefixes: []string{"files:", "ui:", "x:"}, Directories: true}}
			f.resources = []*pb.Resource{{Uri: "x://a/1", Name: "1"}, {Uri: "x://a/2", Name: "2"}, {Uri: "skill://one/listed.md", Name: "l"}, {Uri: "x://slash/", Name: "s"}}
			f.templates = []*pb.ResourceTemplate{{UriTemplate: "x://a/{id}", Name: "t"}, {UriTemplate: "x://free/{id}", Name: "u"}}
			for tool, page := range map[string]string{"app": "page?v=1", "hidden": "secret", "locked": "locked", "out": "out"} {
				f.tools = append(f.tools, &pb.Tool{Name: tool, MetaJson: `{"ui":{"resourceUri":"ui://` + page + `"}}`})
			}
			d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(c.entries)}}, f)
			for _, uri := range c.shown {
				if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`), nil); err != nil {
					t.Errorf("%s: %v", uri, err)
				}
			}
			for _, uri := range c.hidden {
				for _, method := range []mcp.Method{mcp.MethodResourcesRead, mcp.MethodSkillsGet, mcp.MethodDirectoryRead} {
					_, err := d.Call(t.Context(), rules(t, modern), request(t, method, `{"uri":"`+uri+`"}`), nil)
					if kindOf(t, err) != mcp.KindResourceNotFound || !strings.Contains(err.Error(), "no backend answers for it") {
						t.Errorf("%s %s: %v", method, uri, err)
					}
				}
				call := request(t, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`)
				call.Backend = "one" // a later round
				if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindResourceNotFound {
					t.Errorf("%s, a later round: %v", uri, err)
				}
			}
			var all string
			for _, method := range []mcp.Method{mcp.MethodResourcesList, mcp.MethodTemplatesList, mcp.MethodSkillsList} {
				reply, err := d.Call(t.Context(), rules(t, modern), request(t, method, `{}`), nil)
				if err != nil {
					t.Fatal(err)
				}
				all += string(reply.Result)
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

// A hidden template is unknown to completions, and a title and a description are replaced in lists.
func TestOverlaidResources(t *testing.T) {
	f := &fake{name: "one", onComplete: func(string, string, string) ([]string, error) { return []string{"1"}, nil },
		resources: []*pb.Resource{{Uri: "x:1", Name: "1", Description: "old"}},
		templates: []*pb.ResourceTemplate{{UriTemplate: "x:{a}", Name: "t", Title: "old"}, {UriTemplate: "y:{a}", Name: "t"}}}
	entries := append(hiding("y:{a}"), overlay.Entry{Backend: "one", Names: pattern.New("x:**"), Title: "Title", Description: "Text."})
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(overlay.Entries{Resources: entries})}}, f)
	for _, method := range []mcp.Method{mcp.MethodResourcesList, mcp.MethodTemplatesList} {
		reply, err := d.Call(t.Context(), rules(t, modern), request(t, method, `{}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		var out struct {
			Resources, ResourceTemplates []struct{ URI, Name, Title, Description string }
		}
		if err := json.Unmarshal(reply.Result, &out); err != nil {
			t.Fatal(err)
		}
		all := append(out.Resources, out.ResourceTemplates...)
		if len(all) != 1 || all[0].Title != "Title" || all[0].Description != "Text." {
			t.Errorf("%s has %+v", method, all)
		}
	}
	complete := func(template string) error {
		_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodComplete,
			`{"ref":{"type":"ref/resource","uri":"`+template+`"},"argument":{"name":"a","value":""}}`), nil)
		return err
	}
	if err := complete("x:{a}"); err != nil {
		t.Error(err)
	}
	hidden, unknown := complete("y:{a}"), complete("z:{a}")
	if hidden == nil || unknown == nil || strings.ReplaceAll(hidden.Error(), "y:", "z:") != unknown.Error() {
		t.Errorf("hidden: %v; unknown: %v", hidden, unknown)
	}
}

// Results of shown objects have no hidden URIs: contents of a read, files of a skill, values of a
// completion.
func TestHiddenURIsInResults(t *testing.T) {
	f := skilled("one", true, "skill://one/SKILL.md", "skill://one/sub/SKILL.md")
	for _, file := range []string{"skill://one/a.md", "skill://one/secret%2Ekey", "skill://one/sub/b.md", "skill://one/SKILL.md/"} {
		f.skills[0].Files = append(f.skills[0].Files, &pb.SkillFile{Uri: file, Sha256: make([]byte, 32)})
	}
	f.describe.Resources.UriPrefixes = []string{"x:"}
	f.templates = []*pb.ResourceTemplate{{UriTemplate: "x://{tenant}/{+id}", Name: "t"}}
	suggested := []string{"1", "secret", "s%2Fx", "2"}
	f.onComplete = func(string, string, string) ([]string, error) { return suggested, nil }
	var contents []string
	f.onRead = func(_ *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
		out := &pb.ReadResourceResult{}
		for _, uri := range contents {
			out.Contents = append(out.Contents, &pb.ResourceContents{Uri: uri, Body: &pb.ResourceContents_Text{Text: "text"}})
		}
		return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: out}})
	}
	for name, c := range map[string]struct {
		entries           overlay.Entries
		contents, listed  string // the URIs of the contents, and of the skill's files
		tenants, ids, own string // the suggested values
	}{
		"nothing is hidden": {
			contents: "x://a/0 x://a/1 x://a/secret# X://a/s/x y://b", ids: "1 secret s%2Fx 2", tenants: "1 secret s%2Fx 2",
			listed: "skill://one/SKILL.md skill://one/a.md skill://one/secret%2Ekey skill://one/sub/b.md skill://one/SKILL.md/",
		},
		"entries hide": {
			entries:  overlay.Entries{Resources: hiding("x://a/secret", "x://a/s/**", "x://secret/**", "**.key", "skill://one/sub/SKILL.md", "y:**")},
			contents: "x://a/0 x://a/1", ids: "1 s%2Fx 2", tenants: "1 s%2Fx 2", listed: "skill://one/SKILL.md skill://one/a.md skill://one/SKILL.md/",
		},
		"the rest is hidden": {
			entries:  overlay.Entries{Hides: true, Resources: append(showing("x://{tenant}/{+id}", "skill://one/SKILL.md"), hiding("**.key", "x://a/secret")...)},
			contents: "x://a/0 x://a/1 X://a/s/x", ids: "1 s%2Fx 2", tenants: "1 secret s%2Fx 2",
			listed: "skill://one/SKILL.md skill://one/a.md skill://one/sub/b.md skill://one/SKILL.md/",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(c.entries)}}, f)
			contents = []string{"x://a/0", "x://a/1", "x://a/secret#", "X://a/s/x", "y://b"}
			var out struct {
				Contents []struct{ URI string }
				Skills   []struct {
					URI       string
					Resources []struct{ URI string }
				}
				Skill      struct{ Resources []struct{ URI string } }
				Completion struct{ Values []string }
			}
			call := func(method mcp.Method, params string) {
				t.Helper()
				out.Contents, out.Skills, out.Skill.Resources = nil, nil, nil
				if err := json.Unmarshal([]byte(ask(t, d, method, params)), &out); err != nil {
					t.Fatal(err)
				}
			}
			joined := func(list []struct{ URI string }) string {
				var all []string
				for _, one := range list {
					all = append(all, one.URI)
				}
				return strings.Join(all, " ")
			}
			call(mcp.MethodResourcesRead, `{"uri":"x://a/0"}`)
			if got := joined(out.Contents); got != c.contents {
				t.Errorf("read %s, want %s", got, c.contents)
			}
			call(mcp.MethodSkillsList, `{}`)
			if got := joined(out.Skills[0].Resources); got != c.listed {
				t.Errorf("the listed skill has %s, want %s", got, c.listed)
			}
			call(mcp.MethodSkillsGet, `{"uri":"skill://one/SKILL.md"}`)
			if got := joined(out.Skill.Resources); got != c.listed {
				t.Errorf("the skill has %s, want %s", got, c.listed)
			}
			complete := func(argument, context string) string {
				call(mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":"x://{tenant}/{+id}"},"argument":{"name":"`+argument+`","value":""}`+context+`}`)
				return strings.Join(out.Completion.Values, " ")
			}
			if got := complete("tenant", ""); got != c.tenants {
				t.Errorf("the tenants are %s, want %s", got, c.tenants)
			}
			if got := complete("id", `,"context":{"arguments":{"tenant":"a"}}`); got != c.ids {
				t.Errorf("the ids are %s, want %s", got, c.ids)
			}
			contents = []string{"x://a/secret", "y://" + strings.Repeat("é/../", uris.MaxBytes)}
			if got := ask(t, d, mcp.MethodResourcesRead, `{"uri":"x://a/0"}`); strings.Contains(got, "no backend answers for it") != (name != "nothing is hidden") {
				t.Errorf("a result of hidden contents: %.300s", got)
			}
		})
	}
}

// Files of a skill that are hidden by another catalog change the list, and its subscribers are
// notified.
func TestHiddenFilesChangeTheList(t *testing.T) {
	f := skilled("one", true, "skill://one/SKILL.md")
	f.skills[0].Files = append(f.skills[0].Files, &pb.SkillFile{Uri: "skill://one/a.md", Sha256: make([]byte, 32)})
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}}, f)
	before := d.Catalog().Shared().Digest()
	d.Catalog().Replace(overlay.New(overlay.Entries{Resources: hiding("skill://one/a.md")}), nil, func() {}, false)
	if after := d.Catalog().Shared().Digest(); after.Resources == before.Resources {
		t.Error("the digest is that of before")
	}
	if got := ask(t, d, mcp.MethodSkillsList, `{}`); strings.Contains(got, "a.md") || !strings.Contains(got, "SKILL.md") {
		t.Errorf("the list is %s", got)
	}
}

// A change of hidden entries changes no digest, so no client is notified of it, but the rules of the
// policy see the variables of the backend's templates as they are.
func TestHiddenTemplatesAreUpToDate(t *testing.T) {
	f := &fake{name: "one", templates: []*pb.ResourceTemplate{{UriTemplate: "y:{old}", Name: "t"}, {UriTemplate: "y:{+all}", Name: "u"}}}
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Overlay: overlay.New(overlay.Entries{Hides: true, Resources: showing("y:{+all}")})}}, f)
	variables := func() string {
		var target catalog.Target
		if err := d.Catalog().Resolve(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"y:1"}`), &target); err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, vars := range target.Policy.Vars() {
			for name := range vars {
				names[name] = true
			}
		}
		return strings.Join(slices.Sorted(maps.Keys(names)), " ")
	}
	before := d.Catalog().Shared().Digest()
	if got := variables(); got != "all old" {
		t.Errorf("the variables are %q", got)
	}
	f.change(func() { f.templates = []*pb.ResourceTemplate{{UriTemplate: "y:{new}", Name: "t"}, f.templates[1]} })
	await.Until(t, "the new template's variable", func() bool { return variables() == "all new" })
	if after := d.Catalog().Shared().Digest(); after != before {
		t.Errorf("the digests are %+v after %+v", after, before)
	}
}

// A watch of a resource ends without a word when the overlay hides it, and opens when it is shown.
func TestHiddenResourcesAreNotWatched(t *testing.T) {
	f := &fake{name: "one", resources: []*pb.Resource{{Uri: "x:1", Name: "1"}},
		describe: &pb.DescribeResponse{Resources: &pb.ResourceFeatures{Subscribe: true}}}
	hidden := overlay.New(overlay.Entries{Resources: hiding("x:**")})
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Overlay: hidden}}, f)
	feed, err := d.Changes(t.Context(), "", mcp.Principal{}, mcp.Filter{URIs: []string{"x:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	watches := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.watched["x:1"]
	}
	if n := watches(); n != 0 {
		t.Errorf("a hidden resource has %d watches", n)
	}
	d.Catalog().Replace(nil, nil, func() {}, false)
	await.Until(t, "the watch of the shown resource", func() bool { return watches() == 1 })
	d.Catalog().Replace(hidden, nil, func() {}, false)
	await.Until(t, "the end of the watch of the hidden resource", func() bool { return watches() == 0 })
}
