package dispatch

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestDuplicatesKeepTheFirst(t *testing.T) {
	var log lockedBuffer
	a := &fake{name: "a", carried: []string{"e", "f"}, tools: []*pb.Tool{{Name: "same"}, {Name: "b_x"}}, prompts: []*pb.Prompt{{Name: "same"}},
		resources: []*pb.Resource{{Uri: "x:1", Name: "1"}}, templates: []*pb.ResourceTemplate{{UriTemplate: "x:{a}/b", Name: "t"}},
		describe: &pb.DescribeResponse{ExtensionsJson: map[string]string{"e": `{"v": 1}`, "f": `{"v":1}`},
			Resources: &pb.ResourceFeatures{UriPrefixes: []string{"z:"}}}}
	b := &fake{name: "b", carried: []string{"e", "f"}, tools: []*pb.Tool{{Name: "same"}, {Name: "own"}}, prompts: []*pb.Prompt{{Name: "same"}},
		resources: []*pb.Resource{{Uri: "x:1", Name: "2"}}, templates: []*pb.ResourceTemplate{{UriTemplate: "x:{a}/b", Name: "t"}},
		describe: &pb.DescribeResponse{ExtensionsJson: map[string]string{"e": `{"v":2}`, "f": `{ "v" : 1 }`},
			Resources: &pb.ResourceFeatures{UriPrefixes: []string{"z:"}}}}
	c := &fake{name: "c", prefix: "b_", tools: []*pb.Tool{{Name: "x"}}}
	d := start(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, a, b, c)

	want := []catalog.Conflict{
		{What: "tool", Key: "b_x", Kept: "c", Dropped: "a"}, {What: "tool", Key: "same", Kept: "a", Dropped: "b"},
		{What: "URI prefix", Key: "z:", Kept: "a", Dropped: "b"}, {What: "resource", Key: "x:1", Kept: "a", Dropped: "b"}, {What: "resource template", Key: "x:{a}/b", Kept: "a", Dropped: "b"},
		{What: "prompt", Key: "same", Kept: "a", Dropped: "b"}, {What: "extension", Key: "e", Kept: "a", Dropped: "b"},
	}
	if got := d.Catalog().Conflicts(); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	reply, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"same"}`), nil)
	if err != nil || !strings.Contains(string(reply.Result), "called a/same") {
		t.Errorf("got %s, %v", reply.Result, err)
	}
	// Another view of unchanged lists logs nothing new.
	before := d.catalog.Shared()
	c.change(func() { c.tools = append(c.tools, &pb.Tool{Name: "new"}) })
	await.Until(t, "the view to follow", func() bool { return d.catalog.Shared() != before })
	if n := strings.Count(log.String(), "two backends serve the same"); n != len(want) {
		t.Errorf("%d reports: %s", n, log.String())
	}
	// A prefix applies only to the names of tools and prompts.
	if n := strings.Count(log.String(), "configure a prefix"); n != 3 {
		t.Errorf("%d reports advise a prefix, want those of two tools and a prompt: %s", n, log.String())
	}
}

func TestDescribe(t *testing.T) {
	a := &fake{name: "alpha", services: "t", tools: tools(0, 1), describe: &pb.DescribeResponse{Instructions: "Use A.\n"}}
	b := &fake{name: "beta", services: "r", describe: &pb.DescribeResponse{Instructions: "Use B."},
		onComplete: func(string, string, string) ([]string, error) { return nil, nil }}
	d := start(t, Options{Catalog: catalog.Options{Name: "edge", Version: "9", Title: "The edge"}}, a, b)
	got := d.catalog.Describe(t.Context(), rules(t, modern), "", mcp.Principal{})
	if s := string(got.ServerInfo); s != `{"name":"edge","version":"9","title":"The edge"}` {
		t.Errorf("serverInfo %s", s)
	}
	if s := string(got.Capabilities); s != `{"logging":{},"completions":{},"resources":{"listChanged":true,"subscribe":true},"tools":{"listChanged":true}}` {
		t.Errorf("capabilities %s", s)
	}
	if got.Instructions != "## alpha\n\nUse A.\n\n## beta\n\nUse B." {
		t.Errorf("instructions %q", got.Instructions)
	}
	if got.TTL != 0 || got.Public {
		t.Errorf("ttl %d, public %t", got.TTL, got.Public)
	}

	alone := start(t, Options{}, &fake{name: "solo", describe: &pb.DescribeResponse{Instructions: "Just me."},
		cache: &pb.CacheHint{Ttl: durationpb.New(time.Second), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}})
	one := alone.catalog.Describe(t.Context(), rules(t, modern), "", mcp.Principal{})
	if one.Instructions != "Just me." || one.TTL != 1000 || !one.Public {
		t.Errorf("got %+v", one)
	}
}

func TestDigestIsOfTheContent(t *testing.T) {
	describe := func(fakes ...*fake) mcp.Digest {
		return start(t, Options{}, fakes...).catalog.Describe(t.Context(), rules(t, modern), "", mcp.Principal{}).Digest()
	}
	mk := func(n int) *fake { return &fake{name: "a", tools: tools(0, n), prompts: []*pb.Prompt{{Name: "p"}}} }
	one, same, other := describe(mk(3)), describe(mk(3)), describe(mk(4))
	if one != same {
		t.Errorf("two replicas: %v and %v", one, same)
	}
	if one.Tools == other.Tools || one.Prompts != other.Prompts || one.Resources != other.Resources {
		t.Errorf("another tool: %v and %v", one, other)
	}
}

func TestUnreachableBackend(t *testing.T) {
	f := &fake{name: "up", services: "t", tools: tools(0, 1),
		cache: &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}}
	pool, err := backend.NewPool([]backend.Config{{Name: "up", Target: f.serve(t)}, {Name: "down", Target: "127.0.0.1:1"}},
		backend.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	d := New(pool, Options{Logger: slog.New(slog.DiscardHandler)})
	pool.Start(t.Context())
	await.Until(t, "the tools", func() bool { return d.catalog.Shared().Features.Tools })
	p, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, mcp.Principal{})
	if err != nil || len(p.Tools) != 1 || *p.TTLMs != 0 || p.CacheScope != "private" {
		t.Errorf("an incomplete list is not to be kept: %+v, %v", p, err)
	}
	// It is unknown whether the missing backend has prompts.
	if _, err := listPage(t, d, modern, mcp.MethodPromptsList, `{}`, mcp.Principal{}); kindOf(t, err) != mcp.KindUnavailable {
		t.Errorf("got %v", err)
	}
}

// A list beyond the bounds is unavailable: the reason is logged, and clients get an error instead
// of an empty list.
func TestListThatCannotBeRead(t *testing.T) {
	f := &fake{name: "big", tools: tools(0, backend.MaxEntries+1), prompts: []*pb.Prompt{{Name: "p"}}}
	var log lockedBuffer
	pool, err := backend.NewPool([]backend.Config{{Name: "big", Target: f.serve(t)}},
		backend.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	d := New(pool, Options{Logger: slog.New(slog.DiscardHandler)})
	pool.Start(t.Context())
	await.Until(t, "the prompts", func() bool { return d.catalog.Shared().Features.Prompts })
	for _, method := range []mcp.Method{mcp.MethodToolsList, mcp.MethodToolsCall} {
		if _, err := d.Call(t.Context(), rules(t, modern), request(t, method, `{"name":"tool-0"}`), nil); kindOf(t, err) != mcp.KindUnavailable {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, err := listPage(t, d, modern, mcp.MethodPromptsList, `{}`, mcp.Principal{}); err != nil {
		t.Errorf("the other list: %v", err)
	}
	if text := log.String(); strings.Count(text, "a list cannot be read") != 1 || !strings.Contains(text, "more than 10000 entries") {
		t.Errorf("the log: %s", text)
	}
}

func TestPrivateLists(t *testing.T) {
	a := &fake{name: "a", tools: tools(0, 1), cache: &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}}
	b := &fake{name: "b", prefix: "b_", services: "t", cache: &pb.CacheHint{Ttl: durationpb.New(time.Minute), Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE},
		own: map[string][]*pb.Tool{"ann": {{Name: "ann"}}, "bob": {{Name: "bob"}}, "": {}}}
	d := start(t, Options{Catalog: catalog.Options{PageSize: 1, PrivateViews: 2}}, a, b)
	ann, bob := mcp.Principal{Subject: "ann", Issuer: "i"}, mcp.Principal{Subject: "bob", Issuer: "i"}
	for who, want := range map[*mcp.Principal]string{&ann: "b_ann", &bob: "b_bob"} {
		first, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, *who)
		if err != nil {
			t.Fatal(err)
		}
		if *first.TTLMs != 60_000 || first.CacheScope != "private" {
			t.Errorf("the first page has ttl %d, scope %s", *first.TTLMs, first.CacheScope)
		}
		second, err := listPage(t, d, modern, mcp.MethodToolsList, `{"cursor":"`+*first.NextCursor+`"}`, *who)
		if err != nil || len(second.Tools) != 1 || second.Tools[0].Name != want || second.CacheScope != "private" {
			t.Errorf("%s: second page %+v, %v", want, second, err)
		}
		call := request(t, mcp.MethodToolsCall, `{"name":"b_ann"}`)
		call.Principal = *who
		_, err = d.Call(t.Context(), rules(t, modern), call, nil)
		if allowed := who.Subject == "ann"; allowed != (err == nil) {
			t.Errorf("%s calls b_ann: %v", want, err)
		}
	}
	v1, _ := d.catalog.Of(t.Context(), "", ann)
	v2, _ := d.catalog.Of(t.Context(), "", ann)
	if v1 != v2 {
		t.Error("a caller's view is made again though nothing changed")
	}
	if shared := d.catalog.Shared(); v1.Prompts != shared.Prompts {
		t.Error("what is not private is not shared")
	}
	for _, s := range []string{"carl", "dora", "emil"} {
		if _, err := d.catalog.Of(t.Context(), "", mcp.Principal{Subject: s, Issuer: "i"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := d.catalog.Kept(); n != 2 {
		t.Errorf("%d private views are kept, the bound is 2", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.catalog.Of(ctx, "", mcp.Principal{Subject: "zoe", Issuer: "i"}); err != nil && kindOf(t, err) != mcp.KindCancelled {
		t.Errorf("got %v", err)
	}
}

// A private backend whose lists fail is missing from its caller's lists, but not from all calls.
func TestPrivateListsThatCannotBeRead(t *testing.T) {
	a := &fake{name: "a", services: "t", tools: tools(0, 1)}
	b := &fake{name: "b", services: "t", cache: &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE},
		refuseList: map[string]error{"ann": status.Error(codes.Unavailable, "down")}}
	d := start(t, Options{}, a, b)
	ann := mcp.Principal{Subject: "ann", Issuer: "i"}
	p, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, ann)
	if err != nil || len(p.Tools) != 1 || *p.TTLMs != 0 {
		t.Errorf("got %+v, %v", p, err)
	}
	for name, kind := range map[string]mcp.Kind{"t0000": 0, "hers": mcp.KindUnavailable} {
		call := request(t, mcp.MethodToolsCall, `{"name":"`+name+`"}`)
		call.Principal = ann
		if _, err := d.Call(t.Context(), rules(t, modern), call, nil); kindOf(t, err) != kind {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := d.catalog.Describe(t.Context(), rules(t, modern), "", ann); got.TTL != 0 || !strings.Contains(string(got.Capabilities), `"tools"`) {
		t.Errorf("got %+v", got)
	}
}

// The backends that have lists for a caller are asked together: here none answers before all were
// asked.
func TestPrivateListsAreReadTogether(t *testing.T) {
	const backends = 4
	var asked atomic.Int64
	answer := make(chan struct{})
	answered := sync.OnceFunc(func() { close(answer) })
	defer answered()
	var fakes []*fake
	for n := range backends {
		fakes = append(fakes, &fake{name: fmt.Sprint("b", n), prefix: fmt.Sprintf("b%d_", n), services: "t",
			cache: &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PRIVATE},
			own:   map[string][]*pb.Tool{"ann": {{Name: "hers"}}},
			onList: func(subject string) {
				if subject == "ann" {
					asked.Add(1)
					<-answer
				}
			}})
	}
	d := start(t, Options{}, fakes...)
	names := make(chan []string, 1)
	go func() {
		v, err := d.catalog.Of(t.Context(), "", mcp.Principal{Subject: "ann", Issuer: "i"})
		if err != nil {
			t.Error(err)
			names <- nil
			return
		}
		names <- slices.Sorted(maps.Keys(v.Tools.ByName))
	}()
	await.Until(t, "every backend to be asked before any has answered", func() bool { return asked.Load() == backends })
	answered()
	if got := await.Receive(t, "the view", names); !slices.Equal(got, []string{"b0_hers", "b1_hers", "b2_hers", "b3_hers"}) {
		t.Errorf("the caller's view has %v", got)
	}
}

// Calls, lists and feeds continue while all lists change.
func TestChurn(t *testing.T) {
	a, b := &fake{name: "a", tools: tools(0, 5)}, &fake{name: "b", prefix: "b_", tools: tools(0, 5), resources: []*pb.Resource{{Uri: "x:1", Name: "1"}}}
	d := start(t, Options{Catalog: catalog.Options{PageSize: 3, Jitter: -1}}, a, b)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	work := func(fn func()) {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					fn()
				}
			}
		})
	}
	work(func() { walk(t, d, mcp.MethodToolsList, nil) })
	work(func() {
		if _, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"b_t0004"}`), nil); err != nil {
			t.Error(err)
		}
	})
	work(func() {
		feed, err := d.Changes(t.Context(), "", mcp.Principal{}, mcp.Filter{Tools: true, URIs: []string{"x:1"}})
		if err != nil {
			t.Error(err)
			return
		}
		feed.Close()
	})
	feed := open(t, d, mcp.Filter{Tools: true, URIs: []string{"x:1"}})
	for i := range 5 {
		a.change(func() { a.tools = tools(0, 6+i) })
		for !slices.Contains(next(t, feed), mcp.Change{Kind: mcp.ToolsChanged}) {
		}
	}
	close(stop)
	wg.Wait()
	feed.Close()
	await.Until(t, "the watches to end", func() bool { return b.watchers("x:1") == 0 })
}

func TestToolChecksOutliveAView(t *testing.T) {
	a, b := &fake{name: "a", tools: tools(0, 1)}, &fake{name: "b", prefix: "b_", tools: tools(0, 1)}
	d := start(t, Options{}, a, b)
	before := d.catalog.Shared()
	b.change(func() { b.tools = tools(0, 2) })
	await.Until(t, "the view to follow", func() bool { return len(d.catalog.Shared().Tools.ByName) == 3 })
	after := d.catalog.Shared()
	if after.Tools.ByName["t0000"].Check != before.Tools.ByName["t0000"].Check {
		t.Error("an unchanged tool of another backend is compiled anew")
	}
	if after.Prompts != before.Prompts {
		t.Error("unchanged prompts are merged anew")
	}
}
