package dispatch

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Rules on the variables of templates decide on what is listed, also in directories, as on what is read: by allowing one's own, and by hiding
// what is another's.
func TestVariablesDecideOnWhatIsListed(t *testing.T) {
	own := `has(resource.vars.tenant) && resource.vars.tenant == principal.subject`
	for name, s := range map[string]policy.Settings{
		"own are allowed": {Default: policy.Hide, Rules: []policy.Rule{
			{Name: "own", When: own, Then: policy.Allow},
			{Name: "skills", When: `resource.uri.startsWith("skill://one")`, Then: policy.Allow},
		}},
		"others' are hidden": {Default: policy.Allow, Rules: []policy.Rule{
			{Name: "others'", When: `has(resource.vars.tenant) && resource.vars.tenant != principal.subject`, Then: policy.Hide},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := skilled("a", true, "skill://one/SKILL.md")
			f.templates = []*pb.ResourceTemplate{{UriTemplate: "t://{tenant}/{doc}", Name: "docs"}}
			for _, uri := range []string{"t://acme/plan", "t://globex/merger", "t://gl%6fbex/another"} {
				f.resources = append(f.resources, &pb.Resource{Uri: uri, Name: uri})
				f.children = append(f.children, &pb.Resource{Uri: uri + "/child", Name: "child"}, &pb.Resource{Uri: uri + "-child", Name: "child"})
			}
			d := start(t, Options{Access: control(t, s)}, f)
			acme := mcp.Principal{Issuer: "i", Subject: "acme"}
			p, err := listPage(t, d, modern, mcp.MethodResourcesList, `{}`, acme)
			if err != nil || !slices.Equal(p.names(), []string{"t://acme/plan"}) {
				t.Errorf("listed %q, %v", p.names(), err)
			}
			call := request(t, mcp.MethodDirectoryRead, `{"uri":"skill://one"}`)
			call.Principal = acme
			reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
			if got := string(reply.Result); err != nil || !strings.Contains(got, "t://acme/plan-child") || strings.Contains(got, "-child") && strings.Contains(got, "bex") && name == "own are allowed" ||
				strings.Contains(got, "t://globex/merger-child") {
				t.Errorf("in a directory: %s, %v", got, err)
			}
		})
	}
}

// A completion of a URI that a rule on the variables of templates hides is answered as that of a URI that does not exist.
func TestVariablesDecideOnCompletedURIs(t *testing.T) {
	f := everything()
	f.templates = append(f.templates, &pb.ResourceTemplate{UriTemplate: "t://{tenant}/{doc}", Name: "docs"})
	for _, uri := range []string{"t://acme/plan", "t://globex/merger", "t://gl%6fbex/another"} {
		f.resources = append(f.resources, &pb.Resource{Uri: uri, Name: uri})
	}
	d := start(t, Options{Access: control(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{
		{Name: "others'", When: `has(resource.vars.tenant) && resource.vars.tenant != principal.subject`, Then: policy.Hide},
	}})}, f)
	complete := func(uri string) error {
		call := request(t, mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":"`+uri+`"},"argument":{"name":"doc","value":""}}`)
		call.Principal = mcp.Principal{Issuer: "i", Subject: "acme"}
		_, err := d.Call(t.Context(), rules(t, modern), call, nil)
		return err
	}
	if err := complete("t://acme/plan"); err != nil {
		t.Error(err)
	}
	for _, uri := range []string{"t://globex/merger", "T://gl%6Fbex/merger", "t://gl%6fbex/another", "t://globex/another"} {
		want := `params.ref names the resource template "` + uri + `", which does not exist`
		if err := complete(uri); kindOf(t, err) != mcp.KindInvalidParams || err.Error() != want {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

// A mesh that reads metadata sees the name that the backend reads in the body, however the client spells a URI.
func TestMetadataHasTheNameOfTheBody(t *testing.T) {
	f := everything()
	f.templates = append(f.templates, &pb.ResourceTemplate{UriTemplate: "t://{tenant}/{doc}", Name: "docs"})
	d := start(t, Options{}, f)
	if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"t://%61cme/pl%61n"}`), nil); err != nil {
		t.Fatal(err)
	}
	if _, md := f.seen(); !slices.Equal(md["mcp-name"], []string{"t://acme/plan"}) {
		t.Errorf("the metadata has %q", md["mcp-name"])
	}
}
