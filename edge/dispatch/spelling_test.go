package dispatch

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/uris/uristest"
)

// spelled returns a backend that lists URIs in its own spellings. It stores each requested spelling
// and returns it.
func spelled(got *string) *fake {
	f := &fake{name: "a",
		describe: &pb.DescribeResponse{Resources: &pb.ResourceFeatures{Subscribe: true, Directories: true, UriPrefixes: []string{"files:", "Deep://café/"}}},
		resources: []*pb.Resource{
			{Uri: "doc://notes/café menu.txt", Name: "1"}, {Uri: "doc://notes/a%2Db", Name: "2"}, {Uri: "doc://notes/a%2db", Name: "3"},
			{Uri: "doc://notes/x~y", Name: "4"}, {Uri: "doc://notes/x%7Ey", Name: "5"}},
		templates: []*pb.ResourceTemplate{{UriTemplate: "file:///docs/café/{name}", Name: "t"}, {UriTemplate: "DOC://{+any}", Name: "t"}},
		skills: []*pb.Skill{{Uri: "skill://café/SKILL.md", FrontmatterJson: `{"name":"café","description":"d"}`,
			Files: []*pb.SkillFile{{Uri: "skill://café/SKILL.md", Sha256: make([]byte, 32)}, {Uri: "skill://café/a b.txt", Sha256: make([]byte, 32)}}}},
	}
	f.onRead = func(req *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
		*got = req.GetUri()
		return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{
			Contents: []*pb.ResourceContents{{Uri: req.GetUri(), Body: &pb.ResourceContents_Text{Text: "x"}}, {Uri: "other:x", Body: &pb.ResourceContents_Text{Text: "y"}}}}}})
	}
	return f
}

// A backend gets its own spelling of a listed URI and the normal form of any other. Clients get
// back their own spelling.
func TestReadsByEverySpelling(t *testing.T) {
	var got string
	d := start(t, Options{}, spelled(&got))
	for uri, want := range map[string]string{
		"doc://notes/café menu.txt":          "doc://notes/café menu.txt",
		"doc://notes/caf%C3%A9%20menu.txt":   "doc://notes/café menu.txt",
		"DOC://notes/caf%c3%a9%20menu%2Etxt": "doc://notes/café menu.txt",
		"doc://notes/a%2Db":                  "doc://notes/a%2Db",
		"doc://notes/a%2db":                  "doc://notes/a%2db",
		"doc://notes/a-b":                    "doc://notes/a%2Db",
		"doc://notes/x~y":                    "doc://notes/x~y",
		"doc://notes/x%7Ey":                  "doc://notes/x%7Ey",
		"doc://notes/x%7ey":                  "doc://notes/x~y",
		"Doc://other%2f%41":                  "doc://other%2FA",
		"file:///docs/caf%C3%A9/x":           "file:///docs/caf%C3%A9/x",
		"FILE:///docs/café/x":                "file:///docs/caf%C3%A9/x",
		"FILES:%41":                          "files:A",
		"deep://caf%c3%a9/%41":               "Deep://café/A",
		"Deep://café/A":                      "Deep://café/A",
		"skill://caf%C3%A9/SKILL.md":         "skill://café/SKILL.md",
		"skill://caf%C3%A9/a%20b.txt":        "skill://café/a b.txt",
		"skill://café/sub/c":                 "skill://café/sub/c",
		"unknown://x":                        "",
	} {
		got = ""
		reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`), nil)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: the backend got %q, want %q; %v", uri, got, want, err)
		}
		if err == nil && !strings.Contains(string(reply.Result), `{"uri":"`+uri+`","text":"x"},{"uri":"other:x"`) {
			t.Errorf("%s: the client got %s", uri, reply.Result)
		}
	}
	if got := ask(t, d, mcp.MethodSkillsGet, `{"uri":"SKILL://caf%C3%A9/SKILL.md"}`); !strings.Contains(got, `"uri":"skill://café/SKILL.md"`) {
		t.Errorf("the skill: %s", got)
	}
	if got := ask(t, d, mcp.MethodDirectoryRead, `{"uri":"skill://caf%C3%A9"}`); !strings.Contains(got, `skill://café/sub`) {
		t.Errorf("the directory: %s", got)
	}
}

// A listed resource is readable by every spelling, and decisions do not depend on the spelling.
func TestDrawnSpellings(t *testing.T) {
	var got string
	r := rand.New(rand.NewPCG(8, 37))
	d := start(t, Options{Access: decider(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{
		{Name: "slash", When: `resource.uri.startsWith("doc://notes/secret/")`, Then: policy.Deny},
		{Name: "vars", When: `has(resource.vars.name) && resource.vars.name == "secret"`, Then: policy.Deny},
	}})}, spelled(&got))
	for decoded, want := range map[string]string{
		"doc://notes/café menu.txt": "doc://notes/café menu.txt", "doc://notes/a-b": "doc://notes/a%2Db", "skill://café/a b.txt": "skill://café/a b.txt",
		"file:///docs/café/menu": "file:///docs/caf%C3%A9/menu", "file:///docs/café/secret": "", "doc://notes/secret/x": "",
	} {
		for range 50 {
			uri := uristest.Respell(r, decoded)
			if slices.Contains([]string{"doc://notes/a%2db"}, uri) {
				continue // That one is listed, too.
			}
			got = ""
			params, _ := json.Marshal(map[string]string{"uri": uri})
			_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, string(params)), nil)
			if got != want || (err == nil) != (want != "") {
				t.Fatalf("%s: the backend got %q, want %q; %v", uri, got, want, err)
			}
		}
	}
	for _, uri := range []string{"doc://notes/secret%2fx", "DOC://notes%2Fsecret/x"} {
		if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`), nil); kindOf(t, err) != mcp.KindForbidden {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// Updates use the subscriber's spelling of a resource. Watches are opened with the backend's.
func TestUpdatesKeepTheSpelling(t *testing.T) {
	var got string
	a := spelled(&got)
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}}, a)
	const uri = "DOC://notes/caf%C3%A9%20menu.txt"
	feed := open(t, d, mcp.Filter{URIs: []string{uri}})
	defer feed.Close()
	if a.watchers("doc://notes/café menu.txt") != 1 {
		t.Fatal("the backend is not watched by its own spelling")
	}
	a.update(t, "doc://notes/café menu.txt", "doc://notes/café menu.txt")
	if changes := next(t, feed); !slices.ContainsFunc(changes, func(c mcp.Change) bool { return c.URI == uri }) {
		t.Errorf("got %+v", changes)
	}
}

// A later backend cannot take a URI of an earlier one, or one granted to another, by listing
// another spelling of it.
func TestSpellingsOfAnEarlierBackend(t *testing.T) {
	const escaped = "doc://notes/caf%C3%A9%20menu.txt"
	for _, own := range []string{"doc://notes/café menu.txt", "DOC://notes/caf%C3%A9%20menu.txt", "doc://notes/caf%c3%a9%20menu.txt"} {
		for name, granted := range map[string][]string{"by order": nil, "by grant": {"doc://notes/"}} {
			a, b := paged("a", `{}`, &pb.Resource{Uri: own, Name: "p"}), paged("b", `{}`, &pb.Resource{Uri: escaped, Name: "p"})
			backends := []placed{{fake: a, uris: granted}, {fake: b}}
			if granted != nil {
				slices.Reverse(backends)
			}
			d := startPlaced(t, nil, backends...)
			for _, uri := range []string{own, escaped, "doc://notes/c%61fé%20menu.txt"} {
				if got := readPage(t, d, uri); !strings.Contains(got, "page of a") {
					t.Errorf("%s, %s as %s: %s", name, own, uri, got)
				}
			}
		}
	}
}

// Rules apply to the variables of each matching template of the backend, and of no other backend's.
func TestVariablesOfEachTemplate(t *testing.T) {
	template := func(text string) *pb.ResourceTemplate { return &pb.ResourceTemplate{UriTemplate: text, Name: text} }
	a := &fake{name: "a", templates: []*pb.ResourceTemplate{template("t://{tenant}/{name}"), template("t://{name}/{tenant}")}}
	b := &fake{name: "b", templates: []*pb.ResourceTemplate{template("t://{a}/{tenant}")}}
	d := start(t, Options{Access: decider(t, policy.Settings{Default: policy.Deny, Rules: []policy.Rule{
		{Name: "own", When: `resource.vars.tenant == "ann"`, Then: policy.Allow},
	}})}, a, b)
	for uri, want := range map[string]mcp.Kind{"t://ann/ann": mcp.KindNone, "t://ann/bob": mcp.KindForbidden, "t://bob/ann": mcp.KindForbidden} {
		_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`), nil)
		if kindOf(t, err) != want {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
