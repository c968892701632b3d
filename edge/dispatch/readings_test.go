package dispatch

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Rules on template variables decide on listed entries and directories as on reads, both by
// allowing the caller's own and by hiding others'.
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
			d := start(t, Options{Access: decider(t, s)}, f)
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

// Rules on template variables also see those of a URI without the parts that the backend may drop,
// and a listed URI is readable whose rest the default refuses.
func TestVariablesOfURIsWithoutParts(t *testing.T) {
	f := everything()
	f.templates = []*pb.ResourceTemplate{{UriTemplate: "t://{tenant}/{doc}", Name: "docs"}}
	f.describe = &pb.DescribeResponse{Resources: &pb.ResourceFeatures{UriPrefixes: []string{"t:", "l:"}}}
	f.resources = []*pb.Resource{{Uri: "l://open?a=1", Name: "l"}}
	read := func(d *Dispatch, uri string) error {
		call := request(t, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`)
		call.Principal = mcp.Principal{Issuer: "i", Subject: "acme"}
		_, err := d.Call(t.Context(), rules(t, modern), call, nil)
		return err
	}
	hides := start(t, Options{Access: decider(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{
		{Name: "others'", When: `has(resource.vars.tenant) && resource.vars.tenant != principal.subject`, Then: policy.Hide}}})}, f)
	for _, uri := range []string{"t://globex/plan", "t://globex/plan#", "t://globex/plan?x", "t://globex/plan/", "t://globex/plan/?x#y"} {
		if err := read(hides, uri); kindOf(t, err) != mcp.KindResourceNotFound {
			t.Errorf("%s: %v", uri, err)
		}
	}
	for _, uri := range []string{"t://acme/plan", "t://acme/plan?x", "l://open?a=1"} {
		if err := read(hides, uri); err != nil {
			t.Errorf("%s: %v", uri, err)
		}
	}
	allows := start(t, Options{Access: decider(t, policy.Settings{Default: policy.Hide, Rules: []policy.Rule{
		{Name: "own", When: `has(resource.vars.tenant) && resource.vars.tenant == principal.subject || resource.uri == "l://open?a=1"`, Then: policy.Allow}}})}, f)
	for uri, readable := range map[string]bool{"t://acme/plan": true, "t://acme/plan?x": false, "l://open?a=1": true, "l://open?a=1#": false, "l://open": false} {
		if err := read(allows, uri); (err == nil) != readable {
			t.Errorf("%s by an allow-list: %v", uri, err)
		}
	}
}

// A completion of a URI that a rule on template variables hides gets the response of a URI that
// does not exist.
func TestVariablesDecideOnCompletedURIs(t *testing.T) {
	f := everything()
	f.templates = append(f.templates, &pb.ResourceTemplate{UriTemplate: "t://{tenant}/{doc}", Name: "docs"})
	for _, uri := range []string{"t://acme/plan", "t://globex/merger", "t://gl%6fbex/another"} {
		f.resources = append(f.resources, &pb.Resource{Uri: uri, Name: uri})
	}
	d := start(t, Options{Access: decider(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{
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

// The name in the gRPC metadata equals the name in the body, however the client spells a URI.
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
