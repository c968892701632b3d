package dispatch

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/schema"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// asTools is a set that has everything, with tools for its resources.
func asTools(o *overlay.Overlay) catalog.Options {
	return catalog.Options{Jitter: -1, Overlay: o, Sets: overlay.Sets{"s": {
		Name: "s", ResourceTools: true, Include: overlay.Selection{Backends: pattern.NewList([]string{"**"})},
	}}}
}

// library is a backend with a tool, resources and a template.
func library() *fake {
	return &fake{
		name: "one", services: "tr", tools: []*pb.Tool{{Name: "lend", InputSchemaJson: `{"type":"object"}`}},
		resources: []*pb.Resource{
			{Uri: "lib://rules", Name: "rules", Title: "House rules", Description: "What holds here.", MimeType: "text/plain", MetaJson: `{"secret":1}`, Size: new(int64)},
			{Uri: "lib://internal/plan", Name: "plan"},
		},
		templates: []*pb.ResourceTemplate{{UriTemplate: "lib://books/{tenant}/{id}", Name: "book", MimeType: "text/markdown"}},
	}
}

// owned calls a tool of the edge in the set s, with the header that mirrors a URI.
func owned(t *testing.T, d *Dispatch, version string, who mcp.Principal, tool, arguments string) (*mcp.Call, mcp.Reply, error) {
	t.Helper()
	call := in(t, "s", mcp.MethodToolsCall, `{"name":"`+tool+`","arguments":`+arguments+`}`)
	call.Principal = who
	if version == modern {
		var named struct{ URI string }
		_ = json.Unmarshal([]byte(arguments), &named)
		call.Header = http.Header{"Mcp-Param-Uri": {mcp.EncodeHeader(named.URI)}}
	}
	reply, err := d.Call(t.Context(), rules(t, version), call, nil)
	return call, reply, err
}

// resourcePage is a result of list_resources.
type resourcePage struct {
	Resources         []map[string]any
	ResourceTemplates []map[string]any
	NextCursor        string
	Incomplete        bool
}

// resourcePages returns the results of list_resources until the last page.
func resourcePages(t *testing.T, d *Dispatch, version string, who mcp.Principal) (pages []resourcePage) {
	t.Helper()
	arguments := `{}`
	for {
		_, reply, err := owned(t, d, version, who, "list_resources", arguments)
		var out struct{ Content []struct{ Text string } }
		var one resourcePage
		if err != nil || reply.ToolError || json.Unmarshal(reply.Result, &out) != nil || len(out.Content) != 1 || json.Unmarshal([]byte(out.Content[0].Text), &one) != nil {
			t.Fatalf("%s: %s, %v", version, reply.Result, err)
		}
		if pages = append(pages, one); one.NextCursor == "" {
			return pages
		}
		arguments = fmt.Sprintf(`{"cursor":%q}`, one.NextCursor)
	}
}

// uriNames returns the URIs and templates of pages.
func uriNames(pages []resourcePage) (all []string) {
	for _, p := range pages {
		for _, x := range p.Resources {
			all = append(all, fmt.Sprint(x["uri"]))
		}
		for _, x := range p.ResourceTemplates {
			all = append(all, fmt.Sprint(x["uriTemplate"]))
		}
	}
	return all
}

// TestResourceTools: a set lists tools that list and read its resources beside its own tools, in every revision, and elsewhere there
// are none.
func TestResourceTools(t *testing.T) {
	d := start(t, Options{Catalog: asTools(nil)}, library())
	for _, r := range revision.All() {
		names, list := namesInSet(t, d, r.Version, mcp.Principal{})
		if strings.Join(names, " ") != "list_resources read_resource lend" {
			t.Errorf("%s: the list has %v", r.Version, names)
		}
		var tools struct {
			Tools []struct{ InputSchema, OutputSchema json.RawMessage }
		}
		if err := json.Unmarshal([]byte(list), &tools); err != nil {
			t.Fatal(err)
		}
		for _, x := range tools.Tools {
			if _, err := schema.Compile(string(x.InputSchema)); err != nil {
				t.Errorf("%s: %s: %v", r.Version, x.InputSchema, err)
			}
		}
		pages := resourcePages(t, d, r.Version, mcp.Principal{})
		if got := strings.Join(uriNames(pages), " "); len(pages) != 1 || got != "lib://rules lib://internal/plan lib://books/{tenant}/{id}" {
			t.Errorf("%s: %s", r.Version, got)
		}
		want := map[string]any{"uri": "lib://rules", "name": "rules", "title": "House rules", "description": "What holds here.", "mimeType": "text/plain"}
		if !r.Titles {
			delete(want, "title")
		}
		if got := pages[0].Resources[0]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: it is listed as %v", r.Version, got)
		}
		for _, uri := range []string{"lib://rules", "lib://books/acme/7"} {
			if _, reply, err := owned(t, d, r.Version, mcp.Principal{}, "read_resource", `{"uri":"`+uri+`"}`); err != nil || !strings.Contains(string(reply.Result), `"content":[{"type":"text","text":"read from one"}]`) {
				t.Errorf("%s: %s: %s, %v", r.Version, uri, reply.Result, err)
			}
		}
		for _, tool := range []string{"list_resources", "read_resource"} {
			call := request(t, mcp.MethodToolsCall, `{"name":"`+tool+`","arguments":{"uri":"lib://rules"}}`)
			if _, err := d.Call(t.Context(), rules(t, r.Version), call, nil); kindOf(t, err) != mcp.KindUnknownTool {
				t.Errorf("%s: at the root %s: %v", r.Version, tool, err)
			}
		}
	}
	if got := string(d.catalog.Describe(t.Context(), rules(t, modern), "s", mcp.Principal{}).Capabilities); !strings.Contains(got, `"tools"`) || !strings.Contains(got, `"resources"`) {
		t.Errorf("the capabilities are %s", got)
	}
}

// TestResourceToolsOfBareResources: the tools are listed where no backend has a tool, and exist where none has resources: the list is
// empty, and no URI is found.
func TestResourceToolsOfBareResources(t *testing.T) {
	for services, want := range map[string]mcp.Kind{"r": mcp.KindNone, "p": mcp.KindResourceNotFound} {
		f := library()
		f.services = services
		d := start(t, Options{Catalog: asTools(nil)}, f)
		for _, version := range []string{legacy, modern} {
			if names, _ := namesInSet(t, d, version, mcp.Principal{}); strings.Join(names, " ") != "list_resources read_resource" {
				t.Errorf("%s: %s: the list has %v", services, version, names)
			}
			pages := resourcePages(t, d, version, mcp.Principal{})
			if n := len(uriNames(pages)); len(pages) != 1 || (n > 0) != (services == "r") || pages[0].Incomplete {
				t.Errorf("%s: %s: the pages are %v", services, version, pages)
			}
			if _, _, err := owned(t, d, version, mcp.Principal{}, "read_resource", `{"uri":"lib://rules"}`); kindOf(t, err) != want {
				t.Errorf("%s: %s: %v", services, version, err)
			}
			_, err := d.Call(t.Context(), rules(t, version), in(t, "s", mcp.MethodResourcesRead, `{"uri":"lib://rules"}`), nil)
			if (err == nil) != (services == "r") || err != nil && kindOf(t, err) != mcp.KindMethodNotFound {
				t.Errorf("%s: %s: a read itself: %v", services, version, err)
			}
		}
	}
}

// TestResourceToolsOfAwayBackends: while a backend is away and no other one has resources, the list is incomplete, and a read says that it
// may succeed later.
func TestResourceToolsOfAwayBackends(t *testing.T) {
	d := startPlacedWith(t, asTools(nil), placed{fake: &fake{name: "h"}, away: true}, placed{fake: &fake{name: "f", services: "t"}})
	for _, version := range []string{legacy, modern} {
		if pages := resourcePages(t, d, version, mcp.Principal{}); len(pages) != 1 || !pages[0].Incomplete || len(uriNames(pages)) != 0 {
			t.Errorf("%s: the pages are %v", version, pages)
		}
		if _, _, err := owned(t, d, version, mcp.Principal{}, "read_resource", `{"uri":"lib://rules"}`); kindOf(t, err) != mcp.KindUnavailable {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// TestPagesOfResourceTools: pages are bounded in entries and bytes, have each entry once, also where one list ends and the other
// begins, and a cursor is one of these pages.
func TestPagesOfResourceTools(t *testing.T) {
	f := &fake{name: "one", services: "r"}
	var want []string
	for i := range 7 {
		f.resources = append(f.resources, &pb.Resource{Uri: fmt.Sprintf("lib://%d", i), Name: "x", Description: strings.Repeat("d", 50*i)})
		want = append(want, fmt.Sprintf("lib://%d", i))
	}
	for i := range 5 {
		f.templates = append(f.templates, &pb.ResourceTemplate{UriTemplate: fmt.Sprintf("lib://t%d/{id}", i), Name: "x", Description: strings.Repeat("d", 300)})
		want = append(want, fmt.Sprintf("lib://t%d/{id}", i))
	}
	for size := 1; size <= 13; size++ {
		for _, bytes := range []int{1, 400, 1000, 1 << 20} {
			o := asTools(nil)
			o.PageSize, o.PageBytes = size, bytes
			d := start(t, Options{Catalog: o}, f)
			pages := resourcePages(t, d, modern, mcp.Principal{})
			if got := uriNames(pages); !slices.Equal(got, want) {
				t.Errorf("pages of %d and %d bytes have %v", size, bytes, got)
			}
			for i, p := range pages {
				raw, _ := json.Marshal(p)
				if n := len(p.Resources) + len(p.ResourceTemplates); n > size || n == 0 || n > 1 && len(raw) > bytes+200 {
					t.Errorf("page %d of %d and %d bytes has %d entries and %d bytes", i, size, bytes, n, len(raw))
				}
			}
		}
	}
	o := asTools(nil)
	o.PageSize = 2
	d := start(t, Options{Catalog: o}, f)
	first := resourcePages(t, d, modern, mcp.Principal{})[0].NextCursor
	for _, arguments := range []string{`{"cursor":"x"}`, `{"cursor":""}`, `{"cursor":7}`, `{"cursors":"x"}`, `{"cursor":"` + first + `x"}`} {
		if arguments == `{"cursor":""}` {
			continue // It is the first page: a model that has no cursor may send none as an empty text.
		}
		if _, reply, err := owned(t, d, modern, mcp.Principal{}, "list_resources", arguments); err != nil || !reply.ToolError {
			t.Errorf("%s: %s, %v", arguments, reply.Result, err)
		}
	}
	if _, reply, err := owned(t, d, modern, mcp.Principal{}, "list_resources", `{"cursor":null}`); err != nil || reply.ToolError {
		t.Errorf("null: %s, %v", reply.Result, err)
	}
}

// TestLargeListsOfResourceTools: a page for a model is smaller than one for a client.
func TestLargeListsOfResourceTools(t *testing.T) {
	f := &fake{name: "one", services: "r"}
	for i := range 1000 {
		f.resources = append(f.resources, &pb.Resource{Uri: fmt.Sprintf("lib://%d", i), Name: "x", Description: strings.Repeat("d", i)})
	}
	d := start(t, Options{Catalog: asTools(nil)}, f)
	pages := resourcePages(t, d, modern, mcp.Principal{})
	if n := len(uriNames(pages)); n != 1000 || len(pages[0].Resources) != 200 {
		t.Errorf("%d resources, %d of them on the first page", n, len(pages[0].Resources))
	}
	for _, p := range pages {
		if raw, _ := json.Marshal(p); len(raw) > 66<<10 {
			t.Errorf("a page has %d bytes", len(raw))
		}
	}
}

// TestReadThroughATool: a read through read_resource is the read, in all that the stages after it see and in its errors, but for the
// form of its result.
func TestReadThroughATool(t *testing.T) {
	f := library()
	d := start(t, Options{Catalog: asTools(nil)}, f)
	direct := in(t, "s", mcp.MethodResourcesRead, `{"uri":"lib://rules","_meta":{"progressToken":7}}`)
	through := in(t, "s", mcp.MethodToolsCall, `{"name":"read_resource","arguments":{"uri":"lib://rules"},"_meta":{"progressToken":7}}`)
	through.Header = http.Header{"Mcp-Param-Uri": {"lib://rules"}}
	one, err := d.Resolve(t.Context(), rules(t, modern), direct)
	two, err2 := d.Resolve(t.Context(), rules(t, modern), through)
	if err != nil || err2 != nil || through.Method != mcp.MethodResourcesRead || through.Backend != direct.Backend || !two.Repeatable {
		t.Fatalf("%v, %v, %+v", err, err2, through)
	}
	if one.Handle, two.Handle = nil, nil; !reflect.DeepEqual(one, two) {
		t.Errorf("the read is %+v\nthrough the tool: %+v", one, two)
	}
	for _, uri := range []string{"lib://nix", "none://x", "lib://rules", "http://%zz"} {
		for name, message := range map[string]error{"": nil, "gone": status.Error(codes.NotFound, "gone"), "full": status.Error(codes.ResourceExhausted, "full"), "bad": status.Error(codes.InvalidArgument, "bad")} {
			f.onRead = func(_ *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
				if message == nil {
					return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{}}})
				}
				return message
			}
			for _, version := range []string{legacy, modern} {
				_, want := d.Call(t.Context(), rules(t, version), in(t, "s", mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`), nil)
				_, reply, got := owned(t, d, version, mcp.Principal{}, "read_resource", `{"uri":"`+uri+`"}`)
				if want == nil || kindOf(t, got) != kindOf(t, want) || got.Error() != want.Error() || string(mcp.AsError(got).Data) != string(mcp.AsError(want).Data) {
					t.Errorf("%s: %s, %s: %s, %v, want %v", version, uri, name, reply.Result, got, want)
				}
			}
		}
	}
	for _, arguments := range []string{`{}`, `{"uri":7}`, `{"uri":""}`, `{"uri":"lib://rules","x":1}`, `{"uri":"` + strings.Repeat("x", 9000) + `"}`} {
		if _, reply, err := owned(t, d, legacy, mcp.Principal{}, "read_resource", arguments); err != nil || !reply.ToolError {
			t.Errorf("%.40s: %s, %v", arguments, reply.Result, err)
		}
	}
	if _, _, err := owned(t, d, modern, mcp.Principal{}, "read_resource", `{"uri":"lib://rules","uri":"lib://internal/plan"}`); kindOf(t, err) != mcp.KindInvalidParams {
		t.Errorf("two URIs: %v", err)
	}
	for _, h := range []http.Header{{}, {"Mcp-Param-Uri": {"lib://internal/plan"}}, {"Mcp-Param-Uri": {"lib://rules", "lib://rules"}}} {
		call := in(t, "s", mcp.MethodToolsCall, `{"name":"read_resource","arguments":{"uri":"lib://rules"}}`)
		call.Header = h
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != mcp.KindHeaderMismatch {
			t.Errorf("with the header %v: %v", h, err)
		}
	}
}

// TestContentsThroughATool: texts are text blocks, after their URI if it is another one, and blobs embedded resources.
func TestContentsThroughATool(t *testing.T) {
	f := library()
	f.onRead = func(_ *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
		return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{MetaJson: `{"m":1}`, Contents: []*pb.ResourceContents{
			{Uri: "lib://rules", MimeType: "text/plain", Body: &pb.ResourceContents_Text{Text: "no noise"}},
			{Uri: "lib://rules/2", Body: &pb.ResourceContents_Text{Text: "no food"}, MetaJson: `{"n":2}`},
			{Uri: "lib://map", MimeType: "image/png", Body: &pb.ResourceContents_Blob{Blob: []byte("png")}},
		}}}})
	}
	d := start(t, Options{Catalog: asTools(nil)}, f)
	for _, r := range revision.All() {
		_, reply, err := owned(t, d, r.Version, mcp.Principal{}, "read_resource", `{"uri":"lib://rules"}`)
		const want = `"content":[{"type":"text","text":"no noise"},{"type":"text","text":"lib://rules/2"},{"type":"text","text":"no food"`
		if got := string(reply.Result); err != nil || !strings.Contains(got, want) || !strings.Contains(got, `{"type":"resource","resource":{"uri":"lib://map","mimeType":"image/png","blob":"cG5n"}}`) || !strings.Contains(got, `"m":1`) || strings.Contains(got, `"contents"`) {
			t.Errorf("%s: %s, %v", r.Version, got, err)
		}
	}
	for _, contents := range []*pb.ResourceContents{{Uri: "lib://rules"}, {Body: &pb.ResourceContents_Text{}}, {Uri: "lib://rules", Body: &pb.ResourceContents_Text{}, MetaJson: "x"}} {
		f.onRead = func(_ *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
			return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{Contents: []*pb.ResourceContents{contents}}}})
		}
		_, want := d.Call(t.Context(), rules(t, modern), in(t, "s", mcp.MethodResourcesRead, `{"uri":"lib://rules"}`), nil)
		_, _, got := owned(t, d, modern, mcp.Principal{}, "read_resource", `{"uri":"lib://rules"}`)
		if kindOf(t, got) != mcp.KindContract || got.Error() != want.Error() {
			t.Errorf("%v: %v, want %v", contents, got, want)
		}
	}
}
