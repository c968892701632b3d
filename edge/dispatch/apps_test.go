package dispatch

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// paged returns a backend whose tool "show" names a page, and which answers a read of any URI.
func paged(name, meta string, resources ...*pb.Resource) *fake {
	f := &fake{name: name, prefix: name + "_", tools: []*pb.Tool{{Name: "show", MetaJson: meta}, {Name: "plain", MetaJson: `{"k":1}`}}, resources: resources}
	f.onRead = func(req *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
		return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{
			Contents: []*pb.ResourceContents{{Uri: req.GetUri(), Body: &pb.ResourceContents_Text{Text: "page of " + name}}}}}})
	}
	return f
}

func toolList(t *testing.T, d *Dispatch) string {
	t.Helper()
	reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsList, `{}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(reply.Result)
}

func readPage(t *testing.T, d *Dispatch, uri string) string {
	t.Helper()
	reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodResourcesRead, `{"uri":"`+uri+`"}`), nil)
	if err != nil {
		return err.Error()
	}
	return string(reply.Result)
}

// A page that no backend lists is read from the backend whose tool names it.
func TestPagesNeedNotBeListed(t *testing.T) {
	meta := `{"ui":{"resourceUri":"ui://b/page","visibility":["app"]}}`
	a, b := paged("a", `{"ui/resourceUri":"ui://a/page"}`), paged("b", meta)
	d := start(t, Options{}, a, b)
	for _, owner := range []string{"a", "b"} {
		if got := readPage(t, d, "ui://"+owner+"/page"); !strings.Contains(got, "page of "+owner) {
			t.Errorf("%s: %s", owner, got)
		}
	}
	if got := readPage(t, d, "ui://b/other"); !strings.Contains(got, "not found") {
		t.Errorf("a page that no tool names: %s", got)
	}
	if got := toolList(t, d); !strings.Contains(got, meta) || !strings.Contains(got, `"ui/resourceUri":"ui://a/page"`) {
		t.Errorf("_meta is not as it was: %s", got)
	}
	// Removing the tool removes its page.
	b.change(func() { b.tools = b.tools[1:] })
	await.Until(t, "the page to go", func() bool { return strings.Contains(readPage(t, d, "ui://b/page"), "not found") })
}

// A tool never refers to a page of another backend.
func TestPagesOfTheSameURI(t *testing.T) {
	const uri = "ui://dashboard"
	named := `{"k":"v","ui":{"visibility":["app"],"resourceUri":"` + uri + `"},"ui/resourceUri":"` + uri + `"}`
	for name, c := range map[string]struct{ a, b *fake }{
		"both list it":      {paged("a", named, &pb.Resource{Uri: uri, Name: "p"}), paged("b", named, &pb.Resource{Uri: uri, Name: "p"})},
		"the first lists":   {paged("a", `{}`, &pb.Resource{Uri: uri, Name: "p"}), paged("b", named)},
		"neither lists it":  {paged("a", named), paged("b", named)},
		"the first's alone": {paged("a", `{"ui":{"resourceUri":"`+uri+`"}}`), paged("b", named)},
	} {
		for _, full := range []bool{true, false} {
			c.a.full, c.b.full = full, full
			d := start(t, Options{}, c.a, c.b)
			if got := readPage(t, d, uri); !strings.Contains(got, "page of a") {
				t.Errorf("%s: %s", name, got)
			}
			got := toolList(t, d)
			_, ofB, _ := strings.Cut(got, `"b_show"`)
			if !strings.Contains(ofB, `{"k":"v","ui":{"visibility":["app"]}}`) || strings.Contains(ofB, uri) {
				t.Errorf("%s: the tool of b has a page that is not b's, or lost something else: %s", name, got)
			}
			if has := strings.Contains(strings.TrimSuffix(got, ofB), uri); has != (name != "the first lists") {
				t.Errorf("%s: the tool of a: %s", name, got)
			}
			want := catalog.Conflict{What: "page of a tool", Key: uri, Kept: "a", Dropped: "b"}
			found := false
			for _, one := range d.Catalog().Conflicts() {
				found = found || one == want
			}
			if !found {
				t.Errorf("%s: conflicts %v", name, d.Catalog().Conflicts())
			}
		}
	}
}

// The digest of the tools changes when the owner of a page changes.
func TestPagesThatChangeHands(t *testing.T) {
	const uri = "ui://dashboard"
	a, b := paged("a", `{}`), paged("b", `{"ui":{"resourceUri":"`+uri+`"}}`)
	d := start(t, Options{}, a, b)
	before := d.catalog.Describe(t.Context(), rules(t, modern), "", mcp.Principal{}).Digest().Tools
	if got := toolList(t, d); !strings.Contains(got, uri) {
		t.Fatalf("got %s", got)
	}
	a.change(func() { a.resources = []*pb.Resource{{Uri: uri, Name: "p"}} })
	await.Until(t, "the page to be a's", func() bool { return !strings.Contains(toolList(t, d), uri) })
	if now := d.catalog.Describe(t.Context(), rules(t, modern), "", mcp.Principal{}).Digest().Tools; now == before {
		t.Error("the digest of the tools is the same")
	}
	a.change(func() { a.resources = nil })
	await.Until(t, "the page to be b's again", func() bool { return strings.Contains(toolList(t, d), uri) })
	if now := d.catalog.Describe(t.Context(), rules(t, modern), "", mcp.Principal{}).Digest().Tools; now != before {
		t.Error("the digest of the tools is not what it was")
	}
}

// A tool does not refer to a page of another backend, by any spelling of the members that name
// pages, or by only one of the two members.
func TestPagesByEverySpelling(t *testing.T) {
	const uri = "ui://a/page"
	for name, meta := range map[string]string{
		"an escaped member":           `{"ui":{"resource\u0055ri":"` + uri + `"}}`,
		"an escaped flat member":      `{"ui\/resource\u0055ri":"` + uri + `"}`,
		"an escaped object":           `{"\u0075i":{"\u0072esourceUri":"` + uri + `"}}`,
		"an escaped page":             `{"ui":{"resourceUri":"ui:\/\/a/p\u0061ge"}}`,
		"the flat member beside own":  `{"ui":{"resourceUri":"ui://b/page"},"ui/resourceUri":"` + uri + `"}`,
		"the other beside a flat own": `{"ui/resourceUri":"ui://b/page","ui":{"resourceUri":"` + uri + `"}}`,
	} {
		a := paged("a", `{"ui":{"resourceUri":"`+uri+`"}}`)
		b := paged("b", meta, &pb.Resource{Uri: "ui://b/page", Name: "p"})
		_, ofB, _ := strings.Cut(toolList(t, start(t, Options{}, a, b)), `"b_show"`)
		if shown, _, _ := strings.Cut(ofB, `"b_plain"`); strings.Contains(shown, "://a/") || strings.Contains(shown, `:\/\/`) {
			t.Errorf("%s: the tool of b has the page of a: %s", name, shown)
		}
	}
}

// A tool does not refer to a page that another backend lists by another spelling of its URI.
func TestPagesThatOthersListByAnotherSpelling(t *testing.T) {
	for _, uri := range []string{"ui://a/page", "ui://a/p%61ge", "UI://a/page"} {
		a := paged("a", `{}`, &pb.Resource{Uri: "ui://a/page", Name: "p"})
		b := paged("b", `{"ui":{"resourceUri":"`+uri+`"}}`)
		d := start(t, Options{}, a, b)
		_, ofB, _ := strings.Cut(toolList(t, d), `"b_show"`)
		if shown, _, _ := strings.Cut(ofB, `"b_plain"`); strings.Contains(shown, uri) && strings.Contains(readPage(t, d, uri), "page of a") {
			t.Errorf("the tool of b has the page %s, which is read from a", uri)
		}
	}
}
