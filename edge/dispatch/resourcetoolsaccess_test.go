package dispatch

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/quota"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// TestResourceToolsUnderPolicy: a caller lists and reads through the tools what it may list and read: by rules about the resource, its
// template's variables and its method, never about the tool, and what is hidden, by a rule or the catalog, is what does not exist.
func TestResourceToolsUnderPolicy(t *testing.T) {
	o := overlay.New(overlay.Entries{Resources: hiding("lib://internal/**")})
	d := start(t, Options{Catalog: asTools(o), Access: decider(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{
		{Name: "tenants", Then: policy.Deny, When: `request.method == "resources/read" && has(resource.vars.tenant) && resource.vars.tenant != principal.subject`},
		{Name: "hidden", Then: policy.Hide, When: `resource.uri == "lib://rules" && principal.subject != "acme"`},
		{Name: "never", Then: policy.Deny, When: `request.method == "tools/call"`},
	}})}, library())
	acme, other := mcp.Principal{Issuer: "https://id", Subject: "acme"}, mcp.Principal{Issuer: "https://id", Subject: "other"}
	for _, version := range []string{legacy, modern} {
		read := func(who mcp.Principal, uri string) (string, mcp.Kind, string) {
			_, reply, err := owned(t, d, version, who, "read_resource", `{"uri":"`+uri+`"}`)
			text := ""
			if err != nil {
				text = strings.ReplaceAll(err.Error(), uri, "URI")
			}
			return string(reply.Result), kindOf(t, err), text
		}
		_, _, unknown := read(other, "lib://internal/none")
		for _, x := range []struct {
			who  mcp.Principal
			uri  string
			kind mcp.Kind
		}{
			{acme, "lib://rules", mcp.KindNone}, {other, "lib://rules", mcp.KindResourceNotFound}, {acme, "lib://internal/plan", mcp.KindResourceNotFound},
			{acme, "lib://books/acme/7", mcp.KindNone}, {acme, "lib://books/other/7", mcp.KindForbidden}, {other, "lib://books/other/7", mcp.KindNone},
		} {
			result, kind, text := read(x.who, x.uri)
			if kind != x.kind || kind == mcp.KindResourceNotFound && text != unknown {
				t.Errorf("%s: %s reads %s: %s, %s", version, x.who.Subject, x.uri, result, text)
			}
		}
		if got := strings.Join(uriNames(resourcePages(t, d, version, acme)), " "); got != "lib://rules lib://books/{tenant}/{id}" {
			t.Errorf("%s: acme lists %s", version, got)
		}
		if got := strings.Join(uriNames(resourcePages(t, d, version, other)), " "); got != "lib://books/{tenant}/{id}" {
			t.Errorf("%s: other lists %s", version, got)
		}
	}
}

// TestQuotasOfResourceTools: both tools spend the quotas of a tool of their name, a read those of its backend, too; a read by its own
// method spends none.
func TestQuotasOfResourceTools(t *testing.T) {
	for _, c := range []struct {
		rule          quota.Rule
		lists, counts bool // list_resources, read_resource
	}{
		{quota.Rule{Name: "all", Per: quota.PerPrincipal}, true, true},
		{quota.Rule{Name: "reading", Per: quota.PerTool, Tools: pattern.NewList([]string{"read_resource"})}, false, true},
		{quota.Rule{Name: "listing", Per: quota.PerTool, Tools: pattern.NewList([]string{"list_*"})}, true, false},
		{quota.Rule{Name: "set", Per: quota.PerSet, Sets: pattern.NewList([]string{"s"})}, true, true},
		{quota.Rule{Name: "lend", Per: quota.PerTool, Tools: pattern.NewList([]string{"lend"})}, false, false},
	} {
		for tool, counts := range map[string]bool{"list_resources": c.lists, "read_resource": c.counts} {
			arguments := map[string]string{"list_resources": `{}`, "read_resource": `{"uri":"lib://rules"}`}[tool]
			c.rule.Budget = quota.Budget{Interval: time.Hour, Burst: 2}
			control := access.New(access.Options{Quotas: quota.New(quota.Options{Rules: []quota.Rule{c.rule}})})
			d := start(t, Options{Catalog: asTools(nil), Access: by(control)}, library())
			for range 2 {
				for _, free := range []*mcp.Call{in(t, "s", mcp.MethodResourcesRead, `{"uri":"lib://rules"}`), in(t, "s", mcp.MethodToolsCall, `{"name":"`+tool+`","arguments":{"x":1}}`)} {
					if _, err := d.Call(t.Context(), rules(t, legacy), free, nil); err != nil {
						t.Errorf("%s: %s: %v", c.rule.Name, free.Method, err)
					}
				}
				if _, reply, err := owned(t, d, modern, mcp.Principal{}, tool, arguments); err != nil || reply.ToolError {
					t.Errorf("%s: %s: %s, %v", c.rule.Name, tool, reply.Result, err)
				}
			}
			if _, _, err := owned(t, d, modern, mcp.Principal{}, tool, arguments); (kindOf(t, err) == mcp.KindLimit) != counts {
				t.Errorf("%s: %s: %v", c.rule.Name, tool, err)
			}
		}
	}
}

// TestDisabledResourceTools: what an operator has disabled is not listed and not read through the tools, and a disabled set lists no tools.
func TestDisabledResourceTools(t *testing.T) {
	d := start(t, Options{Catalog: asTools(nil)}, library())
	d.catalog.Disable(off("backend:one"))
	_, want := d.Call(t.Context(), rules(t, modern), in(t, "s", mcp.MethodResourcesRead, `{"uri":"lib://rules"}`), nil)
	_, _, got := owned(t, d, modern, mcp.Principal{}, "read_resource", `{"uri":"lib://rules"}`)
	if want == nil || got == nil || got.Error() != want.Error() || kindOf(t, got) != kindOf(t, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if all := uriNames(resourcePages(t, d, modern, mcp.Principal{})); len(all) != 0 {
		t.Errorf("listed are %v", all)
	}
	if names, _ := namesInSet(t, d, modern, mcp.Principal{}); strings.Join(names, " ") != "list_resources read_resource" {
		t.Errorf("the tools are %v", names)
	}
	d.catalog.Disable(off("set:s"))
	if names, _ := namesInSet(t, d, modern, mcp.Principal{}); len(names) != 0 {
		t.Errorf("a disabled set has %v", names)
	}
	for tool, arguments := range map[string]string{"list_resources": `{}`, "read_resource": `{"uri":"lib://rules"}`} {
		for _, a := range []string{arguments, `{"x":1}`, `{"uri":"lib://unknown"}`} {
			if _, reply, err := owned(t, d, modern, mcp.Principal{}, tool, a); err == nil || !strings.Contains(err.Error(), "this endpoint") {
				t.Errorf("%s: %s: %s, %v", tool, a, reply.Result, err)
			}
			call := in(t, "s", mcp.MethodToolsCall, `{"name":"`+tool+`","arguments":`+a+`}`)
			call.Header = http.Header{}
			if _, err := d.Call(t.Context(), rules(t, modern), call, nil); err == nil || !strings.Contains(err.Error(), "this endpoint") {
				t.Errorf("%s without a header: %s: %v", tool, a, err)
			}
		}
	}
}

// TestNamesOfResourceTools: a set with the tools does not have a backend's tool of their names, also not one by an alias, and says so;
// without them, or elsewhere, it has.
func TestNamesOfResourceTools(t *testing.T) {
	f := library()
	f.tools = append(f.tools, &pb.Tool{Name: "read_resource", InputSchemaJson: `{"type":"object"}`}, &pb.Tool{Name: "find_tools", InputSchemaJson: `{"type":"object"}`})
	o := overlay.New(overlay.Entries{Tools: []overlay.Entry{{Backend: "one", Names: pattern.New("lend"), Aliases: []string{"list_resources"}}}})
	d, pool := startPool(t, Options{Catalog: asTools(o)}, f)
	if names, _ := namesInSet(t, d, modern, mcp.Principal{}); strings.Join(names, " ") != "list_resources read_resource lend find_tools" {
		t.Errorf("the list has %v", names)
	}
	if got := strings.Join(uriNames(resourcePages(t, d, modern, mcp.Principal{})), " "); !strings.HasPrefix(got, "lib://rules") {
		t.Errorf("listed are %s", got)
	}
	call := request(t, mcp.MethodToolsCall, `{"name":"read_resource","arguments":{"uri":"lib://rules"}}`)
	if reply, err := d.Call(t.Context(), rules(t, modern), call, nil); err != nil || !strings.Contains(string(reply.Result), "called one/read_resource") {
		t.Errorf("at the root: %s, %v", reply.Result, err)
	}
	p := catalog.NewPreview(catalog.Options{})
	for _, b := range pool.Backends() {
		p.Of(b, b.Catalog())
	}
	set := asTools(nil).Sets["s"]
	want := []string{`sets.s.as-tools: the set does not have the tool "read_resource" of the backend "one", since "read_resource" is the edge's own there: give it another name in the catalog`}
	if notes, _ := p.IdleInSet(set); !slices.Equal(notes, want) {
		t.Errorf("the notes are %q", notes)
	}
	if s := p.Set(set); s.Tools != 2 || s.Listed != 4 || s.Tokens < 50 || s.Tokens > 200 {
		t.Errorf("%+v", s)
	}
}

// TestResourceToolsWithSearch: with search the list has four tools of the edge, find_tools does not find the edge's own, and call_tool
// does not call them.
func TestResourceToolsWithSearch(t *testing.T) {
	o := asTools(nil)
	o.Sets["s"].Search = true
	d := start(t, Options{Catalog: o}, library())
	for _, version := range []string{legacy, modern} {
		if names, _ := namesInSet(t, d, version, mcp.Principal{}); strings.Join(names, " ") != "find_tools call_tool list_resources read_resource" {
			t.Errorf("%s: the list has %v", version, names)
		}
		if names, raw := found(t, d, version, mcp.Principal{}, `{"query":"lend read list resource"}`); strings.Join(names, " ") != "lend" {
			t.Errorf("%s: found %s", version, raw)
		}
		for _, name := range []string{"read_resource", "list_resources"} {
			if _, _, err := through(t, d, version, mcp.Principal{}, `{"name":"`+name+`","arguments":{"uri":"lib://rules"}}`); kindOf(t, err) != mcp.KindUnknownTool {
				t.Errorf("%s: %s through call_tool: %v", version, name, err)
			}
		}
		if _, reply, err := owned(t, d, version, mcp.Principal{}, "read_resource", `{"uri":"lib://rules"}`); err != nil || reply.ToolError {
			t.Errorf("%s: %s, %v", version, reply.Result, err)
		}
	}
}

// TestResourceToolsSwitchedOff: a read that is resolved where the set has no such tool by then is refused, and one that has begun
// continues.
func TestResourceToolsSwitchedOff(t *testing.T) {
	f := library()
	f.onRead = func(in *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
		return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{
			Contents: []*pb.ResourceContents{{Uri: in.GetUri(), Body: &pb.ResourceContents_Text{Text: "state " + string(in.GetState())}}},
		}}})
	}
	d := start(t, Options{Catalog: asTools(nil)}, f)
	begun := in(t, "s", mcp.MethodToolsCall, `{"name":"read_resource","arguments":{"uri":"lib://rules"}}`)
	if err := begun.Unwrap(); err != nil {
		t.Fatal(err)
	}
	fresh := *begun
	begun.Backend, begun.State = "one", misfits(nil).prepend([]byte("kept"))
	plain := asTools(nil).Sets
	plain["s"].ResourceTools = false
	d.catalog.Replace(nil, plain, func() {}, false)
	if _, err := d.Call(t.Context(), rules(t, modern), &fresh, nil); kindOf(t, err) != mcp.KindUnavailable {
		t.Errorf("a new read: %v", err)
	}
	if reply, err := d.Call(t.Context(), rules(t, modern), begun, nil); err != nil || !strings.Contains(string(reply.Result), `"content":[{"type":"text","text":"state kept"`) {
		t.Errorf("a read that has begun: %s, %v", reply.Result, err)
	}
	if _, _, err := owned(t, d, modern, mcp.Principal{}, "read_resource", `{"uri":"lib://rules"}`); kindOf(t, err) != mcp.KindUnknownTool {
		t.Errorf("without the tool: %v", err)
	}
}
