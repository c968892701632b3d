package dispatch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/catalog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// control returns an access.Control with a policy.
func control(t testing.TB, s policy.Settings) *access.Control {
	t.Helper()
	p, err := policy.Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return access.New(access.Options{Policy: p, Authenticates: true})
}

// decider returns Options.Access for a policy.
func decider(t testing.TB, s policy.Settings) func() *access.Decider {
	t.Helper()
	return by(control(t, s))
}

// by returns Options.Access for a Control.
func by(c *access.Control) func() *access.Decider { return c.InForce }

// everything returns a backend with each kind of named object.
func everything() *fake {
	return &fake{
		name: "a", tools: []*pb.Tool{{Name: "one"}, {Name: "two", Annotations: &pb.ToolAnnotations{ReadOnly: proto.Bool(true)}}},
		resources: []*pb.Resource{{Uri: "docs://one", Name: "one"}, {Uri: "docs://two", Name: "two"}},
		templates: []*pb.ResourceTemplate{{UriTemplate: "one://{id}", Name: "one"}, {UriTemplate: "two://{id}", Name: "two"}},
		prompts:   []*pb.Prompt{{Name: "one", Arguments: []*pb.PromptArgument{{Name: "x"}}}, {Name: "two"}},
		describe:  &pb.DescribeResponse{Resources: &pb.ResourceFeatures{UriPrefixes: []string{"docs://"}}},
		cache:     &pb.CacheHint{Ttl: durationpb.New(time.Hour), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC},
		onComplete: func(string, string, string) ([]string, error) {
			return []string{"value"}, nil
		},
	}
}

// named are the requests about each kind of object, whose name is NAME.
var named = []struct {
	method mcp.Method
	params string
}{
	{mcp.MethodToolsCall, `{"name":"NAME"}`},
	{mcp.MethodPromptsGet, `{"name":"NAME","arguments":{"x":"y"}}`},
	{mcp.MethodResourcesRead, `{"uri":"docs://NAME"}`},
	{mcp.MethodResourcesRead, `{"uri":"NAME://x"}`},
	{mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"NAME"},"argument":{"name":"x","value":"v"}}`},
	{mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":"NAME://{id}"},"argument":{"name":"id","value":"v"}}`},
	{mcp.MethodComplete, `{"ref":{"type":"ref/resource","uri":"docs://NAME"},"argument":{"name":"id","value":"v"}}`},
}

// about makes a request about an object by its name.
func about(t testing.TB, i int, name string, who mcp.Principal) *mcp.Call {
	call := request(t, named[i].method, strings.ReplaceAll(named[i].params, "NAME", name))
	call.Principal = who
	return call
}

// seenBy returns the part of an error that a client sees, with the object's name replaced.
func seenBy(err error, name string) string {
	e := mcp.AsError(err)
	return strings.ReplaceAll(fmt.Sprintf("%s %s %s %v", e.Kind, e.Message, e.Data, e.Challenge), name, "NAME")
}

// A hidden object gets the same response as one that does not exist, for every kind of request.
func TestHidden(t *testing.T) {
	f := everything()
	f.onRead = func(in *pb.ReadResourceRequest, _ grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
		return status.Error(codes.NotFound, "no such page in this library: "+in.GetUri())
	}
	d := start(t, Options{Access: decider(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{{
		Name: "one is hidden", Then: policy.Hide, When: `[tool.name, prompt.name].exists(n, n == "one") || resource.uri == "docs://one" || resource.uri.startsWith("one:")`,
	}}})}, f)
	for i := range named {
		for _, version := range []string{legacy, modern} {
			before, _ := f.seen()
			_, hidden := d.Call(t.Context(), rules(t, version), about(t, i, "one", mcp.Principal{}), nil)
			if after, _ := f.seen(); after != before {
				t.Errorf("%s: the backend was asked for what is hidden", named[i].params)
			}
			_, unknown := d.Call(t.Context(), rules(t, version), about(t, i, "nix", mcp.Principal{}), nil)
			if unknown == nil || seenBy(hidden, "one") != seenBy(unknown, "nix") {
				t.Errorf("%s: hidden is\n%s\nunknown\n%s", named[i].params, seenBy(hidden, "one"), seenBy(unknown, "nix"))
			}
			if _, err := d.Resolve(t.Context(), rules(t, version), about(t, i, "one", mcp.Principal{})); err == nil || seenBy(err, "one") != seenBy(unknown, "nix") {
				t.Errorf("%s: resolved, hidden is %v", named[i].params, err)
			}
		}
	}
}

// A denied request is refused openly. If scopes are missing, the error names them: those of the
// operation and, in revisions with sessions, those of the caller that the policy knows.
func TestDenied(t *testing.T) {
	f := everything()
	d := start(t, Options{Access: decider(t, policy.Settings{
		Default: policy.Deny,
		Rules:   []policy.Rule{{Name: "two", Then: policy.Allow, When: `tool.name == "two" || prompt.name == "two" || resource.uri.endsWith("two") || resource.uri.startsWith("two:")`}},
		Scopes:  []policy.Scopes{{Need: []string{"w"}}}, Hierarchy: map[string][]string{"a": {"r"}},
	})}, f)
	some := mcp.Principal{Subject: "s", Scopes: []string{"other", "r"}}
	for i := range named {
		for _, version := range []string{legacy, modern} {
			for _, ask := range []func(*mcp.Call) error{
				func(c *mcp.Call) error { _, err := d.Resolve(t.Context(), rules(t, version), c); return err },
				func(c *mcp.Call) error { _, err := d.Call(t.Context(), rules(t, version), c, nil); return err },
			} {
				before, _ := f.seen()
				err := ask(about(t, i, "one", some))
				if kindOf(t, err) != mcp.KindForbidden || mcp.AsError(err).Challenge != nil || !strings.Contains(err.Error(), `"default"`) {
					t.Errorf("%s, denied: %v", named[i].params, err)
				}
				for _, who := range []mcp.Principal{some, {}} {
					want, kind := []string{"w"}, mcp.KindUnauthenticated
					if !who.Anonymous() {
						kind = mcp.KindForbidden
						if version == legacy {
							want = []string{"w", "r"}
						}
					}
					err := ask(about(t, i, "two", who))
					c := mcp.AsError(err).Challenge
					if kindOf(t, err) != kind || c == nil || !slices.Equal(c.Scopes, want) || c.Anonymous != who.Anonymous() || string(mcp.AsError(err).Data) != `{"scopes":["w"]}` {
						t.Errorf("%s, lacking: %v, %+v", named[i].params, err, c)
					}
				}
				if after, _ := f.seen(); after != before {
					t.Errorf("%s: the backend was asked for what is denied", named[i].params)
				}
			}
			if _, err := d.Call(t.Context(), rules(t, version), about(t, i, "two", mcp.Principal{Subject: "s", Scopes: []string{"w"}}), nil); err != nil {
				t.Errorf("%s, allowed: %v", named[i].params, err)
			}
		}
	}
}

// Rules inspect the same arguments that the backend gets.
func TestArgumentsDecide(t *testing.T) {
	d := start(t, Options{ArgumentValues: 10, Access: decider(t, policy.Settings{
		Default: policy.Deny,
		Rules: []policy.Rule{
			{Name: "number", Then: policy.Allow, When: `tool.name == "one" && arguments.n == 9007199254740993`},
			{Name: "prompt", Then: policy.Allow, When: `prompt.name == "one" && arguments.x == "a"`},
		},
	})}, everything())
	for _, x := range []struct {
		method mcp.Method
		params string
		want   mcp.Kind
	}{
		{mcp.MethodToolsCall, `{"name":"one","arguments":{"n":9007199254740993}}`, mcp.KindNone},
		{mcp.MethodToolsCall, `{"name":"one","arguments":{"n":9007199254740992}}`, mcp.KindForbidden},
		{mcp.MethodToolsCall, `{"name":"one","arguments":{}}`, mcp.KindForbidden},
		{mcp.MethodToolsCall, `{"name":"one"}`, mcp.KindForbidden},
		{mcp.MethodToolsCall, `{"name":"one","arguments":{"n":1,"n":9007199254740993}}`, mcp.KindInvalidParams},
		{mcp.MethodToolsCall, `{"name":"one","arguments":{"n":1e999}}`, mcp.KindForbidden},
		{mcp.MethodToolsCall, `{"name":"one","arguments":{"n":[1,2,3,4,5,6,7,8,9,10,11]}}`, mcp.KindInvalidParams},
		{mcp.MethodToolsCall, `{"name":"one","arguments":7}`, mcp.KindInvalidParams},
		{mcp.MethodToolsCall, `{"name":"two","arguments":7}`, mcp.KindForbidden},
		{mcp.MethodPromptsGet, `{"name":"one","arguments":{"x":"a"}}`, mcp.KindNone},
		{mcp.MethodPromptsGet, `{"name":"one","arguments":{"x":"b"}}`, mcp.KindForbidden},
		{mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"one"},"argument":{"name":"x","value":"a"}}`, mcp.KindNone},
		{mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"one"},"argument":{"name":"x","value":"b"}}`, mcp.KindForbidden},
		{mcp.MethodComplete, `{"ref":{"type":"ref/prompt","name":"one"},"argument":{"name":"y","value":"b"},"context":{"arguments":{"x":"a"}}}`, mcp.KindNone},
	} {
		if _, err := d.Call(t.Context(), rules(t, legacy), request(t, x.method, x.params), nil); kindOf(t, err) != x.want {
			t.Errorf("%s: %v", x.params, err)
		}
	}
	for method, want := range map[mcp.Method][]string{mcp.MethodToolsList: {"one"}, mcp.MethodPromptsList: {"one"}, mcp.MethodResourcesList: nil} {
		if p, err := listPage(t, d, modern, method, `{}`, mcp.Principal{}); err != nil || !slices.Equal(p.names(), want) {
			t.Errorf("%s: %v, %v; what is open is listed", method, p.names(), err)
		}
	}
}

// Lists show only what the policy lets a caller use, page by page. A cursor is valid only for its
// caller.
func TestFilteredLists(t *testing.T) {
	f := everything()
	f.tools = tools(0, 100)
	b := &fake{name: "b", prefix: "b_", services: "t", tools: tools(0, 10), cache: f.cache}
	d := start(t, Options{Catalog: catalog.Options{PageSize: 7}, Access: decider(t, policy.Settings{
		Default: policy.Deny, Rules: []policy.Rule{{Name: "own", Then: policy.Allow, When: `principal.roles.exists(r, tool.name.endsWith(r))`}},
	})}, f, b)
	role := func(r string) mcp.Principal { return mcp.Principal{Subject: r, Roles: []string{r}} }
	all := func(who mcp.Principal) (names, cursors []string) {
		for params := `{}`; ; {
			p, err := listPage(t, d, modern, mcp.MethodToolsList, params, who)
			if err != nil {
				t.Fatal(err)
			}
			if p.CacheScope != "private" {
				t.Errorf("lists differ, and their scope is %s", p.CacheScope)
			}
			names = append(names, p.names()...)
			if p.NextCursor == nil {
				return names, cursors
			}
			cursors = append(cursors, *p.NextCursor)
			params = fmt.Sprintf(`{"cursor":%q}`, *p.NextCursor)
		}
	}
	three, cursors := all(role("3"))
	want := []string{"t0003", "t0013", "t0023", "t0033", "t0043", "t0053", "t0063", "t0073", "t0083", "t0093", "b_t0003"}
	if !slices.Equal(three, want) || len(cursors) != 1 {
		t.Errorf("listed %q in %d pages", three, len(cursors)+1)
	}
	another := role("3")
	another.Subject = "another"
	if _, err := listPage(t, d, modern, mcp.MethodToolsList, fmt.Sprintf(`{"cursor":%q}`, cursors[0]), another); err != nil {
		t.Errorf("a cursor of one with the same rights: %v", err)
	}
	_, err := listPage(t, d, modern, mcp.MethodToolsList, fmt.Sprintf(`{"cursor":%q}`, cursors[0]), role("4"))
	_, invented := listPage(t, d, modern, mcp.MethodToolsList, `{"cursor":"x"}`, role("4"))
	if kindOf(t, err) != mcp.KindBadCursor || seenBy(err, cursors[0]) != seenBy(invented, "x") {
		t.Errorf("a cursor of one with other rights: %v; an invented one: %v", err, invented)
	}
	if got, _ := all(role("none")); len(got) != 0 {
		t.Errorf("listed to one without rights: %q", got)
	}
	a, z := d.catalog.Describe(t.Context(), rules(t, modern), "", role("3")), d.catalog.Describe(t.Context(), rules(t, modern), "", role("4"))
	if a.Digest() == z.Digest() || a.Digest().Prompts != z.Digest().Prompts {
		t.Errorf("digests %v and %v", a.Digest(), z.Digest())
	}
}

// A cache hint that a backend marks as public is private if a policy may deny the answer to some
// callers.
func TestCacheScopeUnderPolicy(t *testing.T) {
	when := policy.Rule{Name: "own", Then: policy.Allow, When: `principal.roles.exists(r, r == "reader")`}
	for name, c := range map[string]struct {
		access func() *access.Decider
		want   string
	}{
		"no policy":    {nil, "public"},
		"none yet":     {by(access.New(access.Options{Authenticates: true})), "public"},
		"rules":        {decider(t, policy.Settings{Default: policy.Deny, Rules: []policy.Rule{when}}), "private"},
		"scopes alone": {decider(t, policy.Settings{Scopes: []policy.Scopes{{Need: []string{"mcp:read"}}}}), "private"},
	} {
		t.Run(name, func(t *testing.T) {
			f := skilled("a", true, "skill://one/SKILL.md")
			f.resources = []*pb.Resource{{Uri: "docs://one", Name: "one"}}
			f.cache = &pb.CacheHint{Ttl: durationpb.New(time.Minute), Scope: pb.CacheScope_CACHE_SCOPE_PUBLIC}
			d := start(t, Options{Access: c.access}, f)
			for method, params := range map[mcp.Method]string{
				mcp.MethodResourcesRead: `{"uri":"docs://one"}`, mcp.MethodSkillsGet: `{"uri":"skill://one/SKILL.md"}`,
			} {
				call := request(t, method, params)
				call.Principal = mcp.Principal{Subject: "s", Roles: []string{"reader"}, Scopes: []string{"mcp:read"}}
				reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
				if err != nil {
					t.Fatalf("%s: %v", method, err)
				}
				if want := `"ttlMs":60000,"cacheScope":"` + c.want + `"`; !strings.Contains(string(reply.Result), want) {
					t.Errorf("%s has no %s: %s", method, want, reply.Result)
				}
			}
		})
	}
}

// Callers with the same rights share cached lists.
func TestEntitlementsShareLists(t *testing.T) {
	d := start(t, Options{Access: decider(t, policy.Settings{
		Default: policy.Deny, Rules: []policy.Rule{{Name: "own", Then: policy.Allow, When: `principal.roles.exists(r, tool.name.endsWith(r))`}},
	})}, &fake{name: "a", tools: tools(0, 100)})
	for i := range 10_000 {
		who := mcp.Principal{Subject: fmt.Sprint("s", i), Roles: []string{fmt.Sprint(i % 10)}}
		if p, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, who); err != nil || len(p.Tools) != 10 {
			t.Fatal(len(p.Tools), err)
		}
	}
	v := d.catalog.Shared()
	if n, m := v.Filtered.Visible.Len(), v.Filtered.Lists.Len(); n != 10 || m != 10 {
		t.Errorf("10,000 callers with 10 sets of rights keep %d views of %d lists", n, m)
	}
}

// Without rules, all callers see the same list, including entries that need further scopes.
func TestScopesAloneDoNotFilter(t *testing.T) {
	f := everything()
	d := start(t, Options{Access: decider(t, policy.Settings{Scopes: []policy.Scopes{{Need: []string{"w"}}}})}, f)
	p, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, mcp.Principal{})
	if err != nil || len(p.Tools) != 2 || p.CacheScope != "public" {
		t.Errorf("%+v, %v", p, err)
	}
}

// A new policy notifies exactly the callers whose lists change, and closes and opens watches.
func TestExchangedPolicy(t *testing.T) {
	f := everything()
	settings := func(role string) policy.Settings {
		return policy.Settings{Default: policy.Allow, Rules: []policy.Rule{{
			Name: "hidden", Then: policy.Hide, When: fmt.Sprintf(`%q in principal.roles && (tool.name == "one" || resource.uri == "docs://one")`, role),
		}}}
	}
	c := control(t, settings("a"))
	d := start(t, Options{Catalog: catalog.Options{Jitter: -1}, Access: by(c)}, f)
	feeds := map[string]mcp.Feed{}
	for _, role := range []string{"a", "b", "c"} {
		feed, err := d.Changes(t.Context(), "", mcp.Principal{Subject: role, Roles: []string{role}}, mcp.Filter{Tools: true, Prompts: true, URIs: []string{"docs://one"}})
		if err != nil {
			t.Fatal(err)
		}
		defer feed.Close()
		feeds[role] = feed
		if watched := len(feed.Honoured().URIs) == 1; watched != (role != "a") {
			t.Errorf("%s: watches what is hidden: %v", role, watched)
		}
	}
	p, err := policy.Compile(settings("b"))
	if err != nil {
		t.Fatal(err)
	}
	d.Catalog().Replace(nil, nil, func() { c.SetPolicy(p, nil) }, false)
	for role, changed := range map[string]bool{"a": true, "b": true, "c": false} {
		idle := await.Patience
		if !changed { // No change is expected.
			idle = 50 * time.Millisecond
		}
		got, err := feeds[role].Next(t.Context(), idle)
		tools := slices.Contains(got, mcp.Change{Kind: mcp.ToolsChanged})
		if err != nil || tools != changed || slices.Contains(got, mcp.Change{Kind: mcp.PromptsChanged}) {
			t.Errorf("%s gets %v, %v", role, got, err)
		}
	}
	awaitWatch := func(role string, want int) {
		t.Helper()
		await.Until(t, fmt.Sprintf("%s to watch %d resources", role, want), func() bool { return len(feeds[role].Honoured().URIs) == want })
	}
	awaitWatch("a", 1)
	awaitWatch("b", 0)
	awaitWatch("c", 1)
}

// No list shows, and no call reaches, an object that the policy denies.
func TestNothingPassesThePolicy(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 7))
	f := everything()
	f.tools = tools(0, 20)
	c := control(t, policy.Settings{})
	d := start(t, Options{Access: by(c)}, f)
	for range 60 {
		// Each role sees, is denied, or does not see tools, at random.
		effects := map[string]policy.Effect{}
		s := policy.Settings{Default: policy.Deny, Lists: policy.Allowed, Scopes: []policy.Scopes{{Tools: []string{"t000*"}, Need: []string{"w"}}}}
		for _, role := range []string{"a", "b"} {
			byEffect := map[policy.Effect][]string{}
			for _, tool := range f.tools {
				e := []policy.Effect{policy.Allow, policy.Deny, policy.Hide}[r.IntN(3)]
				effects[role+tool.GetName()] = e
				byEffect[e] = append(byEffect[e], tool.GetName())
			}
			for _, e := range []policy.Effect{policy.Allow, policy.Deny, policy.Hide} {
				list, _ := json.Marshal(byEffect[e])
				if byEffect[e] != nil {
					s.Rules = append(s.Rules, policy.Rule{Name: fmt.Sprint(role, " ", e), Then: e, When: fmt.Sprintf(`%q in principal.roles && tool.name in %s`, role, list)})
				}
			}
		}
		compiled, err := policy.Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		d.Catalog().Replace(nil, nil, func() { c.SetPolicy(compiled, nil) }, false)
		for range 10 {
			role := []string{"a", "b"}[r.IntN(2)]
			who := mcp.Principal{Subject: "s", Roles: []string{role}, Scopes: [][]string{nil, {"w"}}[r.IntN(2)]}
			p, err := listPage(t, d, modern, mcp.MethodToolsList, `{}`, who)
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range f.tools {
				name := tool.GetName()
				open := effects[role+name] == policy.Allow && (who.Scopes != nil || !strings.HasPrefix(name, "t000"))
				before, _ := f.seen()
				call := request(t, mcp.MethodToolsCall, fmt.Sprintf(`{"name":%q}`, name))
				call.Principal = who
				_, err := d.Call(t.Context(), rules(t, modern), call, nil)
				after, _ := f.seen()
				if listed := slices.Contains(p.names(), name); listed != open || (err == nil) != open || (after != before) != open {
					t.Fatalf("seed %d: %s, %v, %s: listed %v, called %v, reached %v", seed, name, who, effects[role+name], listed, err, after != before)
				}
			}
		}
	}
}

// Rules and the backend see the same arguments: an optional null member is absent for both.
func TestNullArgumentsAreAbsent(t *testing.T) {
	var mu sync.Mutex
	var got string
	f := &fake{name: "one", tools: []*pb.Tool{
		{Name: "pay", InputSchemaJson: `{"type":"object","properties":{"to":{"type":"string"},"dry":{"type":"boolean"},"by":{"type":["string","null"]}},"required":["to"]}`},
		{Name: "free", InputSchemaJson: `{"type":"object"}`},
	}, prompts: []*pb.Prompt{{Name: "hint", Arguments: []*pb.PromptArgument{{Name: "x"}, {Name: "must", Required: true}}}}}
	f.onCall = func(in *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		mu.Lock()
		defer mu.Unlock()
		got = in.GetArgumentsJson()
		return s.Send(toolText("called"))
	}
	d := start(t, Options{Access: decider(t, policy.Settings{
		Default: policy.Allow,
		Rules: []policy.Rule{
			{Name: "dry", Then: policy.Deny, When: `has(arguments.dry) || has(arguments.x)`},
			{Name: "by", Then: policy.Deny, When: `has(arguments.by) && arguments.by != null`},
		},
	})}, f)
	for _, x := range []struct {
		method       mcp.Method
		params, args string
		want         mcp.Kind
		toolError    bool
	}{
		{mcp.MethodToolsCall, `{"name":"pay","arguments":{"to":"a","dry":null}}`, `{"to":"a"}`, mcp.KindNone, false},
		{mcp.MethodToolsCall, `{"name":"pay","arguments":{"to":"a","by":null, "n":1.0}}`, `{"to":"a","by":null, "n":1.0}`, mcp.KindNone, false},
		{mcp.MethodToolsCall, `{"name":"pay","arguments":{"to":"a","dry":false}}`, ``, mcp.KindForbidden, false},
		{mcp.MethodToolsCall, `{"name":"pay","arguments":{"to":null}}`, ``, mcp.KindNone, true},
		{mcp.MethodToolsCall, `{"name":"free","arguments":{"dry":null}}`, ``, mcp.KindForbidden, false},
		{mcp.MethodPromptsGet, `{"name":"hint","arguments":{"must":"a","x":null}}`, ``, mcp.KindNone, false},
		{mcp.MethodPromptsGet, `{"name":"hint","arguments":{"must":null}}`, ``, mcp.KindInvalidParams, false},
	} {
		for _, version := range []string{legacy, modern} {
			got = ""
			call := request(t, x.method, x.params)
			reply, err := d.Call(t.Context(), rules(t, version), call, &events{})
			if kindOf(t, err) != x.want || reply.ToolError != x.toolError {
				t.Errorf("%s %s: %s, %v", version, x.params, reply.Result, err)
			}
			if got != x.args {
				t.Errorf("%s %s: the backend has %s, want %s", version, x.params, got, x.args)
			}
			_, err = d.Resolve(t.Context(), rules(t, version), request(t, x.method, x.params))
			if denied := x.want == mcp.KindForbidden; denied != (kindOf(t, err) == mcp.KindForbidden) {
				t.Errorf("%s %s: resolved: %v", version, x.params, err)
			}
			if _, _, bound := call.Bound(); !strings.HasSuffix(x.params, string(bound)+"}") {
				t.Errorf("%s %s: a state would be bound to %s", version, x.params, bound)
			}
		}
	}
}
