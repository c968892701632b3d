package dispatch

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// A list of more than one page is logged once for each change of it: some clients read only the
// first page.
func TestSeveralPagesAreReported(t *testing.T) {
	var log bytes.Buffer
	a := &fake{name: "a", tools: tools(0, 3), prompts: []*pb.Prompt{{Name: "p"}}}
	d := start(t, Options{Catalog: catalog.Options{PageSize: 2}, Logger: slog.New(slog.NewTextHandler(&log, nil))}, a)
	lists := func() {
		t.Helper()
		for _, r := range revision.All() {
			for _, m := range []mcp.Method{mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodToolsList} {
				if _, err := d.Call(t.Context(), r, &mcp.Call{Method: m}, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	for i, want := range []string{"entries=3 first_page=2", "entries=4 first_page=2", "entries=3 first_page=2"} {
		if i > 0 {
			before := d.catalog.Shared().Tools
			a.change(func() { a.tools = tools(0, 3+i%2) })
			await.Until(t, "the change", func() bool { return d.catalog.Shared().Tools != before })
		}
		log.Reset()
		lists()
		if n := strings.Count(log.String(), "more than one page"); n != 1 ||
			!strings.Contains(log.String(), "list=tools/list "+want) || !strings.Contains(log.String(), "setting=lists.page-size") {
			t.Errorf("state %d: reported %d times, want once, with %s: %s", i, n, want, log.String())
		}
	}
	before := d.catalog.Shared()
	a.change(func() { a.prompts = []*pb.Prompt{{Name: "q"}} })
	await.Until(t, "the change of prompts", func() bool { return d.catalog.Shared() != before })
	log.Reset()
	if lists(); log.Len() > 0 {
		t.Errorf("a change of another list reports the first again: %s", log.String())
	}
}

// The private lists of all callers are reported once.
func TestSeveralPagesOfPrivateListsAreReportedOnce(t *testing.T) {
	var log bytes.Buffer
	a := &fake{name: "a", cache: &pb.CacheHint{Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE},
		own: map[string][]*pb.Tool{"ann": tools(0, 3), "bob": tools(0, 4)}}
	d := start(t, Options{Catalog: catalog.Options{PageSize: 2}, Logger: slog.New(slog.NewTextHandler(&log, nil))}, a)
	for _, subject := range []string{"ann", "bob", "ann"} {
		if _, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, mcp.Principal{Subject: subject, Issuer: "i"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "more than one page"); n != 1 {
		t.Errorf("reported %d times: %s", n, log.String())
	}
}

// Preview returns the lists that have several pages, for one backend and for all together, and the
// setting that divides them, before any client connects.
func TestPaging(t *testing.T) {
	a := &fake{name: "a", prefix: "a_", tools: tools(0, 3), prompts: []*pb.Prompt{{Name: "p"}}}
	b := &fake{name: "b", tools: tools(0, 2), resources: []*pb.Resource{
		{Uri: "file:///1", Name: "1", Description: strings.Repeat("x", 600)}, {Uri: "file:///2", Name: "2", Description: strings.Repeat("x", 600)}}}
	_, pool := startPool(t, Options{}, a, b)
	p := catalog.NewPreview(catalog.Options{PageSize: 2, PageBytes: 1000})
	for i, want := range [][]string{
		{`tools/list has 2 pages, as lists.page-size is 2: the first has 2 of 3 entries`, `from "a_t0002" on: raise lists.page-size`},
		{`resources/list has 2 pages, as advanced.page-bytes is 1000: the first has 1 of 2 entries`, `from "file:///2" on: raise advanced.page-bytes`},
	} {
		x := pool.Backends()[i]
		said := p.Of(x, x.Catalog())
		if len(said) != 1 || !strings.Contains(said[0], want[0]) || !strings.Contains(said[0], want[1]) {
			t.Errorf("backend %d: %q, want %q", i, said, want)
		}
	}
	want := `tools/list has 3 pages, as lists.page-size is 2: the first has 2 of 5 entries`
	if said := p.Together(); len(said) != 1 || !strings.Contains(said[0], want) {
		t.Errorf("together: %q, want %q alone", said, want)
	}
	if said := catalog.NewPreview(catalog.Options{}).Of(pool.Backends()[0], pool.Backends()[0].Catalog()); len(said) != 0 {
		t.Errorf("lists of one page: %q", said)
	}
}

func tools(from, to int) (out []*pb.Tool) {
	for i := from; i < to; i++ {
		out = append(out, &pb.Tool{Name: fmt.Sprintf("t%04d", i)})
	}
	return out
}

// page is the decoded response to a list request.
type page struct {
	Tools             []struct{ Name string }
	Resources         []struct{ URI string }
	ResourceTemplates []struct{ URITemplate string }
	Prompts           []struct{ Name string }
	NextCursor        *string
	TTLMs             *int64
	CacheScope        string
	ResultType        string
}

func (p page) names() (out []string) {
	for _, x := range p.Tools {
		out = append(out, x.Name)
	}
	for _, x := range p.Resources {
		out = append(out, x.URI)
	}
	for _, x := range p.ResourceTemplates {
		out = append(out, x.URITemplate)
	}
	for _, x := range p.Prompts {
		out = append(out, x.Name)
	}
	return out
}

func listPage(t testing.TB, d *Dispatch, version string, method mcp.Method, params string, who mcp.Principal) (page, error) {
	t.Helper()
	call := request(t, method, params)
	call.Principal = who
	reply, err := d.Call(t.Context(), rules(t, version), call, nil)
	if err != nil {
		return page{}, err
	}
	var p page
	if err := json.Unmarshal(reply.Result, &p); err != nil {
		t.Fatalf("%s: %v", reply.Result, err)
	}
	return p, nil
}

// walk follows the cursors of a list; between is called before each further page.
func walk(t testing.TB, d *Dispatch, method mcp.Method, between func(page int)) (names []string, pages int) {
	t.Helper()
	for params := `{}`; ; {
		p, err := listPage(t, d, modern, method, params, mcp.Principal{})
		if err != nil {
			t.Fatal(err)
		}
		names, pages = append(names, p.names()...), pages+1
		if p.NextCursor == nil {
			return names, pages
		}
		if between != nil {
			between(pages)
		}
		params = fmt.Sprintf(`{"cursor":%q}`, *p.NextCursor)
	}
}

func TestPagination(t *testing.T) {
	a, b := &fake{name: "a", tools: tools(0, 25)}, &fake{name: "b", prefix: "b_", tools: tools(0, 13)}
	none := &fake{name: "none", services: "r"}
	d := start(t, Options{Catalog: catalog.Options{PageSize: 10}}, a, none, b)
	var want []string
	for _, x := range tools(0, 25) {
		want = append(want, x.Name)
	}
	for _, x := range tools(0, 13) {
		want = append(want, "b_"+x.Name)
	}
	if got, pages := walk(t, d, mcp.MethodToolsList, nil); !slices.Equal(got, want) || pages != 4 {
		t.Errorf("%d pages: %v", pages, got)
	}
}

func TestPagesAreBoundedByBytes(t *testing.T) {
	f := &fake{name: "a", tools: tools(0, 6)}
	f.tools[2].Description = strings.Repeat("x", 5000)
	d := start(t, Options{Catalog: catalog.Options{PageBytes: 300}}, f)
	got, pages := walk(t, d, mcp.MethodToolsList, nil)
	if len(got) != 6 || pages < 3 {
		t.Errorf("%d pages: %v", pages, got)
	}
}

// An entry that exists from the first page to the last is listed exactly once, whatever is added or
// removed meanwhile.
func TestPaginationIsStableUnderChange(t *testing.T) {
	for name, edit := range map[string]func(a, b *fake){
		"inserted before":     func(a, _ *fake) { a.tools = append(tools(100, 105), a.tools...) },
		"removed before":      func(a, _ *fake) { a.tools = a.tools[5:] },
		"cursor removed":      func(a, _ *fake) { a.tools = slices.Delete(slices.Clone(a.tools), 9, 10) },
		"cursor and neighbor": func(a, _ *fake) { a.tools = slices.Delete(slices.Clone(a.tools), 9, 11) },
		"backend empty":       func(a, _ *fake) { a.tools = nil },
		"other backend":       func(_, b *fake) { b.tools = append(tools(200, 203), b.tools...) },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := &fake{name: "a", tools: tools(0, 20)}, &fake{name: "b", prefix: "b_", tools: tools(0, 5)}
			d := start(t, Options{Catalog: catalog.Options{PageSize: 10}}, a, b)
			got, _ := walk(t, d, mcp.MethodToolsList, func(page int) {
				if page != 1 {
					return
				}
				before := d.catalog.Shared()
				a.change(func() { b.change(func() { edit(a, b) }) })
				await.Until(t, "the view to follow", func() bool { return d.catalog.Shared().Digest() != before.Digest() })
			})
			seen := make(map[string]int)
			for _, n := range got {
				seen[n]++
			}
			for _, x := range slices.Concat(tools(0, 20), tools(0, 5)) {
				name, still := x.Name, slices.ContainsFunc(a.tools, func(y *pb.Tool) bool { return y.Name == x.Name })
				if still && seen[name] != 1 {
					t.Errorf("%s was listed %d times", name, seen[name])
				}
			}
			for _, x := range b.tools {
				if seen["b_"+x.Name] != 1 {
					t.Errorf("b_%s was listed %d times", x.Name, seen["b_"+x.Name])
				}
			}
		})
	}
}

func TestCursors(t *testing.T) {
	d := start(t, Options{Catalog: catalog.Options{PageSize: 1}}, &fake{name: "a", tools: tools(0, 3), prompts: []*pb.Prompt{{Name: "p"}, {Name: "q"}}})
	first, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, mcp.Principal{})
	if err != nil || first.NextCursor == nil {
		t.Fatal(first, err)
	}
	good := *first.NextCursor
	elsewhere, err := listPage(t, start(t, Options{Catalog: catalog.Options{PageSize: 1}}, &fake{name: "elsewhere", tools: tools(0, 3)}),
		modern, mcp.MethodToolsList, `{}`, mcp.Principal{})
	if err != nil {
		t.Fatal(err)
	}
	stranger := *elsewhere.NextCursor
	for name, tc := range map[string]struct {
		method mcp.Method
		cursor string
		kind   mcp.Kind
	}{
		"good":            {mcp.MethodToolsList, `"` + good + `"`, 0},
		"null":            {mcp.MethodToolsList, `null`, 0},
		"empty":           {mcp.MethodToolsList, `""`, mcp.KindBadCursor},
		"number":          {mcp.MethodToolsList, `7`, mcp.KindBadCursor},
		"other list":      {mcp.MethodPromptsList, `"` + good + `"`, mcp.KindBadCursor},
		"cut":             {mcp.MethodToolsList, `"` + good[:len(good)-1] + `"`, mcp.KindBadCursor},
		"padded":          {mcp.MethodToolsList, `"` + good + `="`, mcp.KindBadCursor},
		"invented":        {mcp.MethodToolsList, `"` + base64.RawURLEncoding.EncodeToString([]byte("next page, please")) + `"`, mcp.KindBadCursor},
		"unknown backend": {mcp.MethodToolsList, `"` + stranger + `"`, mcp.KindBadCursor},
	} {
		if _, err := listPage(t, d, modern, tc.method, `{"cursor":`+tc.cursor+`}`, mcp.Principal{}); kindOf(t, err) != tc.kind {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestListsOfAllKindsAndCacheHints(t *testing.T) {
	minute := &pb.CacheHint{Ttl: durationpb.New(time.Minute), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}
	hour := &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}
	a := &fake{name: "a", cache: minute, tools: tools(0, 1), resources: []*pb.Resource{{Uri: "x:1", Name: "1"}},
		templates: []*pb.ResourceTemplate{{UriTemplate: "x:{a}", Name: "t"}}, prompts: []*pb.Prompt{{Name: "p"}}}
	b := &fake{name: "b", prefix: "b_", cache: hour, tools: tools(0, 1), resources: []*pb.Resource{{Uri: "y:1", Name: "1"}},
		templates: []*pb.ResourceTemplate{{UriTemplate: "y:{a}", Name: "t"}}, prompts: []*pb.Prompt{{Name: "p"}}}
	d := start(t, Options{}, a, b)
	for method, want := range map[mcp.Method]string{
		mcp.MethodToolsList: "t0000 b_t0000", mcp.MethodResourcesList: "x:1 y:1",
		mcp.MethodTemplatesList: "x:{a} y:{a}", mcp.MethodPromptsList: "p b_p",
	} {
		p, err := listPage(t, d, modern, method, `{}`, mcp.Principal{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.names(), " "); got != want {
			t.Errorf("%s: %s", method, got)
		}
		if p.TTLMs == nil || *p.TTLMs != 60_000 || p.CacheScope != "public" || p.ResultType != "complete" {
			t.Errorf("%s: hints %v %s %s", method, p.TTLMs, p.CacheScope, p.ResultType)
		}
		old, err := listPage(t, d, "2024-11-05", method, `{}`, mcp.Principal{})
		if err != nil || old.TTLMs != nil || old.ResultType != "" {
			t.Errorf("%s: an old revision has no hints: %+v, %v", method, old, err)
		}
	}
}

func TestUnservedFeatures(t *testing.T) {
	d := start(t, Options{}, &fake{name: "tools", services: "t"})
	for method, kind := range map[mcp.Method]mcp.Kind{
		mcp.MethodToolsList: 0, mcp.MethodToolsCall: mcp.KindInvalidParams,
		mcp.MethodResourcesList: mcp.KindMethodNotFound, mcp.MethodTemplatesList: mcp.KindMethodNotFound,
		mcp.MethodResourcesRead: mcp.KindMethodNotFound, mcp.MethodPromptsList: mcp.KindMethodNotFound,
		mcp.MethodPromptsGet: mcp.KindMethodNotFound, mcp.MethodComplete: mcp.KindMethodNotFound,
		"no/such": mcp.KindMethodNotFound,
	} {
		if _, err := d.Call(t.Context(), rules(t, modern), request(t, method, `{}`), nil); kindOf(t, err) != kind {
			t.Errorf("%s: %v", method, err)
		}
	}
}

func BenchmarkToolsList(b *testing.B) {
	d := start(b, Options{Catalog: catalog.Options{PageSize: 1000}}, &fake{name: "a", tools: tools(0, 1000)})
	call, r := request(b, mcp.MethodToolsList, `{}`), rules(b, modern)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Call(b.Context(), r, call, nil); err != nil {
			b.Fatal(err)
		}
	}
}
