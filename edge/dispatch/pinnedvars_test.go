package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// pinning returns an entry for the names of a pattern that pins a variable to a claim.
func pinning(t *testing.T, names, variable, claim string) overlay.Entry {
	t.Helper()
	from, err := policy.CompileValue("principal.claims." + claim)
	if err != nil {
		t.Fatal(err)
	}
	return overlay.Entry{Place: "catalog.resources[0]", Backend: "one", Names: pattern.New(names), Variables: []overlay.Argument{{Name: variable, Pin: from, Place: "catalog.resources[0]"}}}
}

// planned is a backend with resources of tenants.
func planned() *fake {
	f := skilled("one", true, "skill://acme/SKILL.md", "skill://globex/SKILL.md")
	f.describe = &pb.DescribeResponse{Resources: &pb.ResourceFeatures{UriPrefixes: []string{"crm:", "files:", "skill:"}, Directories: true}}
	f.resources = []*pb.Resource{
		{Uri: "crm://acme/plan/1", Name: "a"}, {Uri: "crm://globex/plan/1", Name: "g"}, {Uri: "crm://glob%65x/plan/2", Name: "h"}, {Uri: "crm://help", Name: "help"},
	}
	f.templates = []*pb.ResourceTemplate{
		{UriTemplate: "crm://{tenant}/plan/{id}", Name: "plan"}, {UriTemplate: "crm://{+rest}", Name: "rest"}, {UriTemplate: "crm://search{?tenant,q}", Name: "search"},
		{UriTemplate: "files:{tenant}/{+path}", Name: "files"}, {UriTemplate: "skill://{tenant}/{+path}", Name: "skill"},
	}
	return f
}

// tenantPins pins the variable tenant of all templates of planned that have it.
func tenantPins(t *testing.T) overlay.Entries {
	return overlay.Entries{Resources: []overlay.Entry{
		pinning(t, "crm://{tenant}/**", "tenant", "tenant"), pinning(t, "crm://search*", "tenant", "tenant"),
		pinning(t, "files:**", "tenant", "tenant"), pinning(t, "skill://{tenant}/**", "tenant", "tenant"),
	}}
}

// askAs is ask for a caller with a tenant, a JSON value.
func askAs(t *testing.T, d *Dispatch, tenant string, method mcp.Method, params string) string {
	t.Helper()
	call := request(t, method, params)
	call.Principal = callerOf(tenant)
	reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
	if err != nil {
		return err.Error()
	}
	return string(reply.Result)
}

// A caller reads the URIs with its own value of a pinned variable, in every spelling, and no others.
func TestPinnedVariables(t *testing.T) {
	f := planned()
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(tenantPins(t))}}, f)
	for tenant, own := range map[string][]string{
		`"acme"`: {
			"crm://acme/plan/1", "CRM://acme/plan/7", "crm://%61cme/plan/7", "crm://help", "crm://search?tenant=acme", "crm://search?tenant=acme&q=x", "files:acme/a/b", "crm://other",
		},
		`"globex"`: {
			"crm://acme/../globex/plan/1", "crm://acme/..%2Fglobex/plan/1", // No backend reads acme there.
			"crm://globex/plan/1", "crm://glob%65x/plan/2", "crm://glob%65x/plan/9", "crm://help", "files:globex/a",
		},
		`"a/b"`: {"crm://a%2Fb/plan/1", "crm://a%2fb/plan/1", "crm://help"},
		``:      {"crm://help"}, `null`: {"crm://help"}, `""`: {"crm://help"}, `7`: {"crm://help"}, `["acme"]`: {"crm://help"}, `".."`: {"crm://help"},
	} {
		for _, uri := range []string{
			"crm://acme/plan/1", "CRM://acme/plan/7", "crm://%61cme/plan/7", "crm://help", "crm://search?tenant=acme", "crm://search?tenant=acme&q=x", "files:acme/a/b", "crm://other",
			"crm://globex/plan/1", "crm://glob%65x/plan/2", "crm://glob%65x/plan/9", "files:globex/a", "crm://a%2Fb/plan/1", "crm://a%2fb/plan/1",
			"crm://Acme/plan/1", "crm://%2561cme/plan/1", "crm://acme/../globex/plan/1", "crm://acme/..%2Fglobex/plan/1", "crm://acme%2F..%2Fglobex/plan/1", "crm:///plan/1",
			"crm://acme@globex/plan/1", "crm://acme.globex/plan/1", "crm://search", "crm://search?q=x", "crm://search?q=x&tenant=acme", "crm://search?tenant=acme&tenant=globex",
			"crm://search?tenant=", "files:acme/../globex/a", "files:acme/..%2Fglobex/a", `files:acme/..\\globex\\a`, "files:acme/%2e%2e/globex/a", "crm://../plan/1",
		} {
			if uri == "crm://other" && tenant != `"acme"` {
				continue
			}
			got := askAs(t, d, tenant, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`)
			if read := strings.Contains(got, "read from one"); read != slices.Contains(own, uri) {
				t.Errorf("%s reads %s: %s", tenant, uri, got)
			} else if !read && !strings.Contains(got, "no backend answers for it") {
				t.Errorf("%s: %s: %s", tenant, uri, got)
			}
			if slices.Contains(own, uri) {
				continue
			}
			for _, method := range []mcp.Method{mcp.MethodSkillsGet, mcp.MethodDirectoryRead} {
				if got := askAs(t, d, tenant, method, `{"uri":"`+uri+`"}`); !strings.Contains(got, "no backend answers for it") {
					t.Errorf("%s: %s %s: %s", tenant, method, uri, got)
				}
			}
			call := request(t, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`)
			call.Principal, call.Backend = callerOf(tenant), "one" // a later round
			if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindResourceNotFound {
				t.Errorf("%s: %s, a later round: %v", tenant, uri, err)
			}
		}
	}
}

// The lists of a caller have its own values in place of pinned variables, and nothing of others.
func TestPinnedVariablesInLists(t *testing.T) {
	f := planned()
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(tenantPins(t))}}, f)
	for range 2 { // The second time from the cache.
		for tenant, c := range map[string]struct{ has, lacks []string }{
			`"acme"`: {
				[]string{`"crm://acme/plan/{id}"`, `"crm://search?tenant=acme{&q}"`, `"files:acme/{+path}"`, `"crm://{+rest}"`, `"crm://acme/plan/1"`, `"crm://help"`, `"skill://acme/SKILL.md"`},
				[]string{"globex", "glob%65x", "{tenant", "tenant,"},
			},
			`"globex"`: {
				[]string{`"crm://globex/plan/{id}"`, `"crm://globex/plan/1"`, `"crm://glob%65x/plan/2"`, `"skill://globex/SKILL.md"`}, []string{"acme", "{tenant"},
			},
			`"a/b"`: {[]string{`"crm://a%2Fb/plan/{id}"`, `"crm://help"`}, []string{"acme", "globex", "{tenant"}},
			``:      {[]string{`"crm://help"`, `"crm://{+rest}"`}, []string{"acme", "globex", "tenant", "search"}},
			`["x"]`: {[]string{`"crm://help"`}, []string{"acme", "globex", "tenant", "search"}},
		} {
			var all string
			for _, method := range []mcp.Method{mcp.MethodResourcesList, mcp.MethodTemplatesList, mcp.MethodSkillsList} {
				all += askAs(t, d, tenant, method, `{}`)
			}
			for _, text := range c.has {
				if !strings.Contains(all, text) {
					t.Errorf("%s: the lists have no %s: %s", tenant, text, all)
				}
			}
			for _, text := range c.lacks {
				if strings.Contains(all, text) {
					t.Errorf("%s: the lists have %s: %s", tenant, text, all)
				}
			}
			if strings.Contains(all, `"public"`) {
				t.Errorf("%s: a list of one caller is public: %s", tenant, all)
			}
		}
	}
}

// Each page of a list has the caller's own entries, and a cursor of another caller is refused.
func TestPinnedVariablesOnPages(t *testing.T) {
	d := start(t, Options{Catalog: catalog.Options{PageSize: 2, Overlay: overlay.New(tenantPins(t))}}, planned())
	var all, cursor string
	for page := 0; ; page++ {
		params := `{}`
		if cursor != "" {
			params = `{"cursor":"` + cursor + `"}`
			if got := askAs(t, d, `"globex"`, mcp.MethodTemplatesList, params); !strings.Contains(got, "cursor") {
				t.Errorf("another caller continues: %s", got)
			}
		}
		got := askAs(t, d, `"acme"`, mcp.MethodTemplatesList, params)
		all += got
		var out struct{ NextCursor string }
		if err := json.Unmarshal([]byte(got), &out); err != nil {
			t.Fatal(err)
		}
		if cursor = out.NextCursor; cursor == "" {
			break
		}
	}
	if n := strings.Count(all, `"uriTemplate"`); n != 5 || strings.Count(all, "acme") != 4 {
		t.Errorf("the pages have %d templates: %s", n, all)
	}
}

// A completion names the template as the caller sees it. Its context has the pinned value.
func TestPinnedVariablesInCompletions(t *testing.T) {
	f := planned()
	var asked []string
	f.onComplete = func(template, argument, _ string) ([]string, error) {
		asked = append(asked, template+" "+argument)
		return []string{"1", "../../globex/plan/2"}, nil
	}
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(tenantPins(t))}}, f)
	complete := func(tenant, template, argument, context string) string {
		return askAs(t, d, tenant, mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":"`+template+`"},"argument":{"name":"`+argument+`","value":""}`+context+`}`)
	}
	if got := complete(`"acme"`, "crm://acme/plan/{id}", "id", ""); !strings.Contains(got, `"1"`) || !slices.Equal(asked, []string{"crm://{tenant}/plan/{id} id"}) {
		t.Errorf("the completion is %s, and %q was completed", got, asked)
	}
	if got := complete(`"acme"`, "files:acme/{+path}", "path", ""); strings.Contains(got, "globex") || !strings.Contains(got, `"1"`) {
		t.Errorf("the completion has a value of another tenant: %s", got)
	}
	asked = nil
	if got := complete(`"acme"`, "crm://acme/plan/{id}", "tenant", ""); !strings.Contains(got, `"values":[]`) {
		t.Errorf("a pinned variable is completed: %s", got)
	}
	for _, params := range [][3]string{
		{`"acme"`, "crm://globex/plan/{id}", ""}, {`"acme"`, "crm://{tenant}/plan/{id}", ""}, {``, "crm://acme/plan/{id}", ""}, {``, "crm://{tenant}/plan/{id}", ""}, {`"acme"`, "crm://globex/plan/1", ""},
		{`"acme"`, "crm://acme/plan/{id}", `,"context":{"arguments":{"Tenant":"globex"}}`},
	} {
		got := complete(params[0], params[1], "id", params[2])
		if !strings.Contains(got, "does not exist") && (params[2] == "" || !strings.Contains(got, "is not accepted")) {
			t.Errorf("%v: %s", params, got)
		}
	}
	if len(asked) > 0 {
		t.Errorf("the backend completed %q", asked)
	}
}

// Results of a read, and the children of a directory, have no URIs of other callers. A hint is that of
// one caller.
func TestPinnedVariablesInResults(t *testing.T) {
	f := planned()
	f.children = []*pb.Resource{{Uri: "skill://acme/a", Name: "a"}, {Uri: "skill://globex/secret", Name: "s"}}
	f.cache = &pb.CacheHint{Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}
	f.onRead = func(in *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
		out := &pb.ReadResourceResult{Cache: f.cache}
		for _, uri := range []string{in.GetUri(), "skill://globex/secret"} {
			out.Contents = append(out.Contents, &pb.ResourceContents{Uri: uri, Body: &pb.ResourceContents_Text{Text: "text"}})
		}
		return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: out}})
	}
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(tenantPins(t))}}, f)
	for method, uri := range map[mcp.Method]string{mcp.MethodResourcesRead: "skill://acme/a", mcp.MethodDirectoryRead: "skill://acme"} {
		got := askAs(t, d, `"acme"`, method, `{"uri":"`+uri+`"}`)
		if strings.Contains(got, "secret") || !strings.Contains(got, "skill://acme/a") || strings.Contains(got, `"public"`) {
			t.Errorf("%s: %s", method, got)
		}
	}
	if got := askAs(t, d, `"acme"`, mcp.MethodDirectoryRead, `{"uri":"skill://globex"}`); !strings.Contains(got, "no backend answers") {
		t.Errorf("the directory of another tenant: %s", got)
	}
}

// A watch opens for the caller's own URIs alone, and ends with the value.
func TestPinnedVariablesAreNotWatched(t *testing.T) {
	f := planned()
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Overlay: overlay.New(tenantPins(t))}}, f)
	feed, err := d.Changes(t.Context(), "", callerOf(`"acme"`), mcp.Filter{URIs: []string{"crm://acme/plan/1", "crm://globex/plan/1", "crm://acme/../globex/plan/1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	if got := feed.Honoured().URIs; !slices.Equal(got, []string{"crm://acme/plan/1"}) {
		t.Errorf("watched are %q", got)
	}
	pinned := tenantPins(t)
	pinned.Resources[0] = pinning(t, "crm://{tenant}/**", "tenant", "other")
	d.Catalog().Replace(overlay.New(pinned), nil, func() {}, false)
	await.Until(t, "the end of the watch", func() bool { return len(feed.Honoured().URIs) == 0 })
}

// A changed list notifies those callers only who see the change.
func TestPinnedListsChange(t *testing.T) {
	f := planned()
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1, Overlay: overlay.New(tenantPins(t))}}, f)
	digest := func(tenant string) uint64 {
		return d.Catalog().Describe(t.Context(), rules(t, modern), "", callerOf(tenant)).Digest().Resources
	}
	acme, globex, none := digest(`"acme"`), digest(`"globex"`), digest("")
	if acme == globex || acme == none {
		t.Error("the digests of callers are equal")
	}
	f.change(func() { f.resources = append(f.resources, &pb.Resource{Uri: "crm://acme/plan/2", Name: "n"}) })
	await.Until(t, "the changed list", func() bool { return digest(`"acme"`) != acme })
	if digest(`"globex"`) != globex || digest("") != none {
		t.Error("other callers' lists have changed, too")
	}
}

// A template whose variables cannot be pinned is hidden, with all that a backend may read as its URIs,
// and a problem names the entry's effect.
func TestImpossibleVariables(t *testing.T) {
	for _, text := range []string{"crm://{tenat}/plan/{id}", "crm://{tenant:3}/plan/{id}", "crm:/{/tenant*}/plan/{id}", "crm://{id,tenant}/plan/x"} {
		f := planned()
		f.templates = []*pb.ResourceTemplate{{UriTemplate: text, Name: "t"}}
		d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(overlay.Entries{Resources: []overlay.Entry{pinning(t, "**", "tenant", "tenant")}})}}, f)
		if got := askAs(t, d, `"acme"`, mcp.MethodTemplatesList, `{}`); strings.Contains(got, "crm:") {
			t.Errorf("%s is listed: %s", text, got)
		}
		if strings.HasPrefix(text, "crm://{tena") {
			for _, uri := range []string{"crm://acme/plan/1", "crm://globex/plan/1"} {
				if got := askAs(t, d, `"acme"`, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`); !strings.Contains(got, "no backend answers") {
					t.Errorf("%s: %s: %s", text, uri, got)
				}
			}
		}
		if got := fmt.Sprint(d.Catalog().Problems("one")); !strings.Contains(got, "cannot be pinned") || !strings.Contains(got, text) {
			t.Errorf("the problems of %s are %s", text, got)
		}
	}
}

// A set shows and reads what the root does.
func TestPinnedVariablesInSets(t *testing.T) {
	all := overlay.Sets{"all": {Name: "all", Include: overlay.Selection{Backends: pattern.NewList([]string{"one"})}, ResourceTools: true}}
	d := start(t, Options{Catalog: catalog.Options{Overlay: overlay.New(tenantPins(t)), Sets: all}}, planned())
	in := func(tenant string, method mcp.Method, params string) string {
		call := request(t, method, params)
		call.Principal, call.Set = callerOf(tenant), "all"
		if _, err := d.Resolve(t.Context(), rules(t, modern), call); err != nil {
			return err.Error()
		}
		reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
		if err != nil {
			return err.Error()
		}
		return string(reply.Result)
	}
	list := in(`"acme"`, mcp.MethodTemplatesList, `{}`) + in(`"acme"`, mcp.MethodResourcesList, `{}`) + in(`"acme"`, mcp.MethodToolsCall, `{"name":"list_resources","arguments":{}}`)
	if strings.Contains(list, "globex") || strings.Contains(list, "{tenant") || strings.Count(list, "crm://acme/plan/{id}") < 2 {
		t.Errorf("the lists are %s", list)
	}
	if got := in(`"acme"`, mcp.MethodResourcesRead, `{"uri":"crm://globex/plan/1"}`); !strings.Contains(got, "no backend answers") {
		t.Errorf("another's resource: %s", got)
	}
	if got := in(`"acme"`, mcp.MethodResourcesRead, `{"uri":"crm://acme/plan/1"}`); !strings.Contains(got, "read from one") {
		t.Errorf("the own resource: %s", got)
	}
	for _, uri := range []string{"crm://globex/plan/1", "crm://acme/../globex/plan/1"} {
		if got := in(`"acme"`, mcp.MethodToolsCall, `{"name":"read_resource","arguments":{"uri":"`+uri+`"}}`); !strings.Contains(got, "no backend answers") {
			t.Errorf("another's resource by the tool: %s", got)
		}
	}
}
