package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/ownership"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// placed is a backend in the order of the configuration. away means that its address does not
// answer.
type placed struct {
	*fake
	away bool
	uris []string
	// ownLists bounds the wait for private lists; 0 means the default.
	ownLists time.Duration
}

// startPlaced makes a Dispatch over backends in the given order. names remembers their names.
func startPlaced(t *testing.T, names *ownership.Registry, all ...placed) *Dispatch {
	t.Helper()
	return startPlacedWith(t, catalog.Options{Names: names}, all...)
}

func startPlacedWith(t *testing.T, served catalog.Options, all ...placed) *Dispatch {
	t.Helper()
	var cfgs []backend.Config
	for _, p := range all {
		target := "127.0.0.1:1"
		if !p.away {
			target = p.serve(t)
		}
		cfgs = append(cfgs, backend.Config{Name: p.name, Prefix: p.prefix, URIs: p.uris, Target: target, Timeout: 20 * time.Second, OwnLists: p.ownLists})
	}
	quiet := slog.New(slog.DiscardHandler)
	pool, err := backend.NewPool(cfgs, backend.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d := New(pool, Options{Catalog: served, Logger: quiet})
	pool.Start(t.Context())
	if err := pool.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the view to hold those that are there", func() bool {
		v := d.catalog.Shared()
		there := 0
		for _, p := range v.Parts {
			if p.Catalog.Present {
				there++
			}
		}
		return there == len(slices.DeleteFunc(slices.Clone(all), func(p placed) bool { return p.away }))
	})
	return d
}

// doors are requests that reach a backend by a name or a URI.
var doors = []struct {
	name   string
	method mcp.Method
	params string
}{
	{"a tool", mcp.MethodToolsCall, `{"name":"pay"}`},
	{"a prompt", mcp.MethodPromptsGet, `{"name":"ask"}`},
	{"a completion of a prompt", mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"ask"},"argument":{"name":"a","value":""}}`},
	{"a resource", mcp.MethodResourcesRead, `{"uri":"doc://one"}`},
	{"a resource of a template", mcp.MethodResourcesRead, `{"uri":"item://7"}`},
	{"a completion of a template", mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":"item://{id}"},"argument":{"name":"id","value":""}}`},
	{"a resource below a prefix", mcp.MethodResourcesRead, `{"uri":"file:///a/b"}`},
	{"a page", mcp.MethodResourcesRead, `{"uri":"ui://pay"}`},
	{"a skill", mcp.MethodSkillsGet, `{"uri":"skill://s/SKILL.md"}`},
	{"a file of a skill", mcp.MethodResourcesRead, `{"uri":"skill://s/more.md"}`},
	{"the directory of a skill", mcp.MethodDirectoryRead, `{"uri":"skill://s"}`},
}

// full returns a backend that serves all doors.
func full(name string) *fake {
	f := skilled(name, true, "skill://s/SKILL.md")
	f.tools = []*pb.Tool{{Name: "pay", MetaJson: `{"ui":{"resourceUri":"ui://pay"}}`}}
	f.prompts = []*pb.Prompt{{Name: "ask"}}
	f.resources = []*pb.Resource{{Uri: "doc://one", Name: "one"}}
	f.templates = []*pb.ResourceTemplate{{UriTemplate: "item://{id}", Name: "item"}}
	f.describe.Resources.UriPrefixes = []string{"file:///a/"}
	f.onComplete = func(string, string, string) ([]string, error) { return []string{"from " + name}, nil }
	return f
}

// While a backend is away, its listed names and URIs stay its own: on a replica that never reached
// it, and in another order of the backends. No door leads to another backend with the same name.
func TestNamesOfABackendThatIsAway(t *testing.T) {
	store := &memoryStore{}
	knew := ownership.New(ownership.Options{Store: store})
	startPlaced(t, knew, placed{fake: full("first")}, placed{fake: full("second")})
	if err := knew.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, order := range map[string][]placed{
		"the same order": {{fake: full("first"), away: true}, {fake: full("second")}},
		"another order":  {{fake: full("second")}, {fake: full("first"), away: true}},
	} {
		late := ownership.New(ownership.Options{Store: store})
		d := startPlaced(t, late, order...)
		if err := late.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := d.Catalog().Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, door := range doors {
			reply, err := d.Call(t.Context(), rules(t, modern), request(t, door.method, door.params), nil)
			if kindOf(t, err) != mcp.KindUnavailable || !strings.Contains(err.Error(), `"first"`) {
				t.Errorf("%s: %s: %s, %v; want it to be unavailable with first", name, door.name, reply.Result, err)
			}
		}
		if got := toolList(t, d); strings.Contains(got, `"pay"`) {
			t.Errorf("%s: a name of a backend that is away is listed: %s", name, got)
		}
	}
	// Once the backend is removed from the configuration, its names are free.
	alone := ownership.New(ownership.Options{Store: store})
	d := startPlaced(t, alone, placed{fake: full("second")})
	if err := errors.Join(alone.Load(t.Context()), d.Catalog().Settle(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, door := range doors {
		if _, err := d.Call(t.Context(), rules(t, modern), request(t, door.method, door.params), nil); err != nil {
			t.Errorf("%s: %v", door.name, err)
		}
	}
}

// TestPersonalNamesOfABackendThatIsAway: names that a backend lists only to some callers are
// unknown to all callers while it is away. They still belong to no other backend.
func TestPersonalNamesOfABackendThatIsAway(t *testing.T) {
	store := &memoryStore{}
	knew := ownership.New(ownership.Options{Store: store})
	startPlaced(t, knew, placed{fake: full("first")})
	knew.Own("first", &ownership.Names{Tools: []string{"hers"}, Prompts: []string{"hers"}, Resources: []string{"mine://hers"}, Templates: []string{"mine://of/{x}"}})
	if err := knew.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := full("second")
	second.tools = append(second.tools, &pb.Tool{Name: "hers"})
	second.prompts = append(second.prompts, &pb.Prompt{Name: "hers"})
	second.resources = append(second.resources, &pb.Resource{Uri: "mine://hers", Name: "r"})
	late := ownership.New(ownership.Options{Store: store})
	d := startPlaced(t, late, placed{fake: full("first"), away: true}, placed{fake: second})
	if err := errors.Join(late.Load(t.Context()), d.Catalog().Settle(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		method        mcp.Method
		hers, unowned string
	}{
		{mcp.MethodToolsCall, `{"name":"hers"}`, `{"name":"nixx"}`},
		{mcp.MethodPromptsGet, `{"name":"hers"}`, `{"name":"nixx"}`},
		{mcp.MethodResourcesRead, `{"uri":"mine://hers"}`, `{"uri":"mine://nixx"}`},
		{mcp.MethodResourcesRead, `{"uri":"mine://of/hers"}`, `{"uri":"mine://of/nixx"}`},
	} {
		hers, unowned := ask(t, d, x.method, x.hers), ask(t, d, x.method, x.unowned)
		if hers != strings.ReplaceAll(unowned, "nixx", "hers") || strings.Contains(hers, "second") || strings.Contains(hers, "first") {
			t.Errorf("%s %s: %s; of an unknown name: %s", x.method, x.hers, hers, unowned)
		}
	}
}

// A backend that returns owns its names again. A backend that starts late wins by its place in the
// configuration.
func TestABackendThatComesLate(t *testing.T) {
	a, b := full("a"), full("b")
	d := start(t, Options{}, a, b)
	b.change(func() { b.tools = append(b.tools, &pb.Tool{Name: "new"}) })
	called := func() string {
		reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"new"}`), nil)
		if err != nil {
			return err.Error()
		}
		return string(reply.Result)
	}
	await.Until(t, "the tool to be b's", func() bool { return strings.Contains(called(), "called b/new") })
	a.change(func() { a.tools = append(a.tools, &pb.Tool{Name: "new"}) })
	await.Until(t, "the tool to be a's", func() bool { return strings.Contains(called(), "called a/new") })
	if want := (catalog.Conflict{What: "tool", Key: "new", Kept: "a", Dropped: "b"}); !slices.Contains(d.Catalog().Conflicts(), want) {
		t.Errorf("%v is not reported: %v", want, d.Catalog().Conflicts())
	}
}

// A granted name belongs to no other backend, whether its owner is away, was never reached, or does
// not list it.
func TestGrants(t *testing.T) {
	hostile := full("hostile")
	hostile.tools = []*pb.Tool{{Name: "desk_pay"}, {Name: "free"}}
	hostile.prompts = []*pb.Prompt{{Name: "desk_ask"}}
	hostile.resources = []*pb.Resource{{Uri: "docs://desk/a", Name: "a"}, {Uri: "docs://other/a", Name: "b"}}
	hostile.templates = []*pb.ResourceTemplate{{UriTemplate: "docs://desk/{x}/{y}", Name: "t"}, {UriTemplate: "{+any}", Name: "u"}}
	hostile.describe.Resources.UriPrefixes = []string{"docs://desk/deep/", "docs:"}
	hostile.skills = skilled("hostile", true, "docs://desk/skill/SKILL.md").skills
	desk := &fake{name: "desk", prefix: "desk_", tools: []*pb.Tool{{Name: "other"}},
		describe: &pb.DescribeResponse{Resources: &pb.ResourceFeatures{UriPrefixes: []string{"docs://desk/mine/", "file:///"}}}}
	for _, away := range []bool{true, false} {
		d := startPlaced(t, nil, placed{fake: hostile}, placed{fake: desk, away: away, uris: []string{"docs://desk/"}})
		for _, door := range []struct {
			method mcp.Method
			params string
		}{
			{mcp.MethodToolsCall, `{"name":"desk_pay"}`}, {mcp.MethodPromptsGet, `{"name":"desk_ask"}`},
			{mcp.MethodResourcesRead, `{"uri":"docs://desk/a"}`}, {mcp.MethodResourcesRead, `{"uri":"docs://desk/a/b"}`},
			{mcp.MethodResourcesRead, `{"uri":"docs://desk/deep/x"}`}, {mcp.MethodResourcesRead, `{"uri":"docs://desk/skill/x"}`},
			{mcp.MethodSkillsGet, `{"uri":"docs://desk/skill/SKILL.md"}`},
		} {
			reply, err := d.Call(t.Context(), rules(t, modern), request(t, door.method, door.params), nil)
			if err == nil || away && door.method != mcp.MethodToolsCall && door.method != mcp.MethodPromptsGet && kindOf(t, err) != mcp.KindUnavailable {
				t.Errorf("away %t: %s %s: %s, %v", away, door.method, door.params, reply.Result, err)
			}
		}
		for uri, want := range map[string]string{"docs://other/a": "hostile", "docs://other/b": "hostile"} {
			if got := readPage(t, d, uri); !strings.Contains(got, "read from "+want) {
				t.Errorf("%s: %s", uri, got)
			}
		}
		if !away {
			if got := readPage(t, d, "docs://desk/mine/x"); !strings.Contains(got, "read from desk") {
				t.Errorf("below its own prefix: %s", got)
			}
			if got := readPage(t, d, "file:///x"); !strings.Contains(got, "read from hostile") {
				t.Errorf("a prefix beyond what was granted counts: %s", got)
			}
		}
		for _, method := range []mcp.Method{mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodTemplatesList, mcp.MethodSkillsList} {
			if got := ask(t, d, method, `{}`); strings.Contains(got, "desk_pay") || strings.Contains(got, "desk_ask") || strings.Contains(got, "docs://desk/") {
				t.Errorf("%s: %s", method, got)
			}
		}
	}
}

// An earlier backend keeps its URIs: a later one does not get them by an exact resource, a longer
// prefix, a skill or a page.
func TestURIsOfAnEarlierBackend(t *testing.T) {
	a := &fake{name: "a", describe: &pb.DescribeResponse{Resources: &pb.ResourceFeatures{UriPrefixes: []string{"pre://x/"}}},
		templates: []*pb.ResourceTemplate{{UriTemplate: "tpl://{x}", Name: "t"}, {UriTemplate: "ui://{x}", Name: "p"}}}
	b := skilled("b", true, "pre://x/s/SKILL.md")
	b.resources = []*pb.Resource{{Uri: "tpl://1", Name: "1"}, {Uri: "pre://x/1", Name: "2"}}
	b.describe.Resources.UriPrefixes = []string{"pre://x/long/", "tpl://"}
	b.tools = []*pb.Tool{{Name: "show", MetaJson: `{"ui":{"resourceUri":"ui://page"}}`}}
	d := start(t, Options{}, a, b)
	for _, uri := range []string{"tpl://1", "pre://x/1", "pre://x/long/1", "pre://x/s/more.md", "ui://page"} {
		if got := readPage(t, d, uri); !strings.Contains(got, "read from a") {
			t.Errorf("%s: %s", uri, got)
		}
	}
	if got := toolList(t, d); strings.Contains(got, "ui://page") {
		t.Errorf("the tool of b has a page that a template of a matches: %s", got)
	}
}

// A call continues only at the backend that asked, even if an earlier backend has acquired the name
// since.
func TestRoundsBelongToTheirBackend(t *testing.T) {
	asking := func(name string) *fake {
		f := full(name)
		f.onCall = func(in *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
			return s.Send(toolText("called " + name + " with " + string(in.GetState())))
		}
		return f
	}
	a, b := asking("a"), asking("b")
	a.tools, a.prompts, a.resources, a.templates, a.skills = nil, nil, nil, nil, []*pb.Skill{}
	a.describe.Resources.UriPrefixes = nil
	d := start(t, Options{}, a, b)
	later := func(method mcp.Method, params, backend string) (string, error) {
		c := request(t, method, params)
		c.Backend, c.State, c.Round = backend, []byte("secret"), 2
		reply, err := d.Call(t.Context(), rules(t, modern), c, nil)
		return string(reply.Result), err
	}
	for _, door := range doors {
		if door.method != mcp.MethodToolsCall && door.method != mcp.MethodPromptsGet && door.method != mcp.MethodResourcesRead {
			continue
		}
		for _, other := range []string{"gone", "a"} {
			got, err := later(door.method, door.params, other)
			if door.method == mcp.MethodResourcesRead && other == "a" {
				continue // The resource is a's, so that a answers.
			}
			if kindOf(t, err) != mcp.KindUnavailable {
				t.Errorf("%s of %s: %s, %v", door.name, other, got, err)
			}
		}
	}
	if calls, _ := b.seen(); calls != 0 {
		t.Fatalf("the other backend was called %d times", calls)
	}
	a.change(func() { a.tools = []*pb.Tool{{Name: "pay"}} })
	await.Until(t, "the name to be a's", func() bool { return strings.Contains(ask(t, d, mcp.MethodToolsCall, `{"name":"pay"}`), "called a") })
	if got, err := later(mcp.MethodToolsCall, `{"name":"pay"}`, "b"); err != nil || !strings.Contains(got, "called b with secret") {
		t.Errorf("a call that b began: %s, %v", got, err)
	}
	if err := d.CancelCall(t.Context(), rules(t, modern), &mcp.Call{ID: "c", Method: mcp.MethodToolsCall, Backend: "gone", Params: mcp.Params{Target: "pay"}}); err != nil {
		t.Errorf("cancelled without an owner: %v", err)
	}
}

// waiting calls begun when a goroutine waits for the end of the context.
type waiting struct {
	context.Context
	begun func()
}

func (w waiting) Done() <-chan struct{} {
	w.begun()
	return w.Context.Done()
}

// A call that is bound to a backend, as after a takeover, waits on a replica that has not reached
// that backend yet.
func TestBoundCallWaitsForItsBackend(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	pool, err := backend.NewPool([]backend.Config{{Name: "first", Target: full("first").serve(t), Timeout: 20 * time.Second}}, backend.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d := New(pool, Options{Logger: quiet})
	failures := make(chan error)
	bound := 0
	for _, door := range doors {
		if door.method != mcp.MethodToolsCall && door.method != mcp.MethodPromptsGet && door.method != mcp.MethodResourcesRead {
			continue
		}
		bound++
		call := request(t, door.method, door.params)
		call.Backend = "first"
		began := make(chan struct{})
		ctx := waiting{t.Context(), sync.OnceFunc(func() { close(began) })}
		go func() {
			_, err := d.Call(ctx, rules(t, modern), call, nil)
			failures <- err
		}()
		select {
		case <-began:
		case err := <-failures:
			t.Fatalf("%s: %v before the backend was tried", door.name, err)
		}
	}
	pool.Start(t.Context())
	for range bound {
		if err := await.Receive(t, "an answer", failures); err != nil {
			t.Error(err)
		}
	}
}
