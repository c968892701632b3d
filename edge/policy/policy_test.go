package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

func compiled(t testing.TB, s Settings) *Policy {
	t.Helper()
	p, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// when is a policy of one rule: what it holds for is allowed.
func when(t testing.TB, text string) *Policy {
	return compiled(t, Settings{Default: Deny, Rules: []Rule{{"r", text, Allow, ""}}})
}

// claimed are claims as principals have them.
func claimed(all map[string]any) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, v := range all {
		out[name], _ = json.Marshal(v)
	}
	return out
}

func given(args map[string]any) Arguments { return func() (map[string]any, error) { return args, nil } }

func decide(t testing.TB, p *Policy, who mcp.Principal, target Target, args map[string]any) Decision {
	t.Helper()
	d, err := p.Decide(&who, &target, given(args))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var (
	alice = mcp.Principal{
		Subject: "alice", Issuer: "https://id", Client: "desk", Scopes: []string{"mcp:write", "profile"}, Roles: []string{"intern"},
		Claims: claimed(map[string]any{"region": "eu", "level": 3.0, "tags": []any{"a"}}),
	}
	ship = Target{Kind: Tool, Method: mcp.MethodToolsCall, Name: "ship", Backend: "shop", Hints: Hints{Destructive: true, OpenWorld: true}}
)

// Every variable has its value, and none of another kind of target.
func TestVariables(t *testing.T) {
	page := Target{Kind: Resource, Method: mcp.MethodResourcesRead, Name: "docs://a", Backend: "library"}
	form := Target{Kind: Template, Method: mcp.MethodComplete, Name: "docs://{id}", Backend: "library"}
	ask := Target{Kind: Prompt, Method: mcp.MethodPromptsGet, Name: "ask", Backend: "desk"}
	for _, x := range []struct {
		text   string
		target Target
		want   bool
	}{
		{`principal.subject == "alice" && principal.issuer == "https://id" && principal.client_id == "desk"`, ship, true},
		{`"mcp:write" in principal.scopes && principal.roles == ["intern"]`, ship, true},
		{`principal.anonymous`, ship, false},
		{`principal.subject_is_client`, ship, false},
		{`principal.claims.region == "eu" && principal.claims["level"] > 2 && "a" in principal.claims.tags`, ship, true},
		{`has(principal.claims.region) && !has(principal.claims.tenant)`, ship, true},
		{`request.method == "tools/call"`, ship, true},
		{`tool.name == "ship" && tool.backend == "shop"`, ship, true},
		{`tool.annotations.destructive && tool.annotations.open_world && !tool.annotations.read_only && !tool.annotations.idempotent`, ship, true},
		{`prompt.name == "" && prompt.backend == "" && resource.uri == "" && resource.backend == "" && !resource.is_template`, ship, true},
		{`arguments.region == "us" && arguments.weight > 3`, ship, true},
		{`resource.uri.startsWith("docs://") && resource.backend == "library" && !resource.is_template && tool.name == "" && !tool.annotations.destructive`, page, true},
		{`resource.uri == "docs://{id}" && resource.is_template`, form, true},
		{`prompt.name == "ask" && prompt.backend == "desk" && tool.backend == ""`, ask, true},
		{`backend == "shop"`, ship, true},
		{`backend == "desk"`, ask, true},
		{`backend == "shop"`, ask, false},
	} {
		d := decide(t, when(t, x.text), alice, x.target, map[string]any{"region": "us", "weight": 4.0})
		if got := d.Effect == Allow; got != x.want || d.Err != nil {
			t.Errorf("%s: %+v", x.text, d)
		}
	}
}

// The first rule that holds decides; then scopes do.
func TestOrder(t *testing.T) {
	p := compiled(t, Settings{
		Default:   Deny,
		Hierarchy: map[string][]string{"mcp:admin": {"mcp:write"}, "mcp:write": {"mcp:read"}},
		Scopes: []Scopes{
			{Tools: []string{"admin_*"}, Need: []string{"mcp:admin", "mcp:write"}},
			{Resources: []string{"docs://**"}, Need: []string{"mcp:read"}},
			{Tools: []string{"free"}},
			{Need: []string{"mcp:write"}},
		},
		Rules: []Rule{
			{"interns destroy nothing", `tool.annotations.destructive && "intern" in principal.roles`, Hide, ""},
			{"own region", `tool.name == "ship" && arguments.region != principal.claims.region`, Deny, ""},
			{"no prompts", `prompt.name != "" && prompt.name != "ask"`, Deny, ""},
			{"the rest", `!principal.claims.blocked`, Allow, ""},
		},
	})
	user := func(scopes ...string) mcp.Principal {
		return mcp.Principal{Subject: "u", Scopes: scopes, Claims: claimed(map[string]any{"region": "eu", "blocked": false})}
	}
	intern := user("mcp:admin")
	intern.Roles = []string{"intern"}
	unclaimed := user("mcp:admin")
	unclaimed.Claims = nil
	blocked := user("mcp:admin")
	blocked.Claims = claimed(map[string]any{"blocked": true})
	tool := func(name string) Target { return Target{Kind: Tool, Name: name} }
	for _, x := range []struct {
		who    mcp.Principal
		target Target
		args   map[string]any
		want   string
		listed bool
	}{
		{intern, ship, nil, "hide by interns destroy nothing", false},
		{user("mcp:write"), ship, map[string]any{"region": "us"}, "deny by own region", true},
		{user("mcp:write"), ship, map[string]any{"region": "eu"}, "allow by the rest", true},
		{user("mcp:read"), ship, map[string]any{"region": "eu"}, "step-up by scopes [mcp:write]", true},
		{user("mcp:write"), ship, map[string]any{}, "deny by own region, which failed", true},
		{user("mcp:write"), tool("add"), nil, "allow by the rest", true},
		{user("mcp:admin"), tool("add"), nil, "allow by the rest", true},
		{user(), tool("add"), nil, "step-up by scopes [mcp:write]", true},
		{user(), tool("free"), nil, "allow by the rest", true},
		{user("mcp:write"), tool("admin_x"), nil, "step-up by scopes [mcp:admin mcp:write]", true},
		{user("mcp:admin"), tool("admin_x"), nil, "allow by the rest", true},
		{user("mcp:admin"), tool("admin/x"), nil, "allow by the rest", true},
		{user("mcp:read"), Target{Kind: Resource, Name: "docs://a/b/c"}, nil, "allow by the rest", true},
		{user("mcp:read"), Target{Kind: Template, Name: "docs://{id}"}, nil, "allow by the rest", true},
		{user("mcp:read"), Target{Kind: Resource, Name: "other://a"}, nil, "step-up by scopes [mcp:write]", true},
		{user("mcp:admin"), Target{Kind: Prompt, Name: "tell"}, nil, "deny by no prompts", false},
		{blocked, tool("add"), nil, "deny by default", false},
		{unclaimed, tool("add"), nil, "deny by the rest, which failed", false},
	} {
		d := decide(t, p, x.who, x.target, x.args)
		got := fmt.Sprintf("%s by %s", d.Effect, d.Rule)
		if d.Need != nil {
			got += fmt.Sprint(" ", d.Need)
		}
		if d.Err != nil {
			got += ", which failed"
		}
		if got != x.want {
			t.Errorf("%v, %v, %v: %s, want %s", x.who, x.target.Name, x.args, got, x.want)
		}
		if listed := p.Listed(&x.who, &x.target); listed != x.listed {
			t.Errorf("%v, %v: listed %v, want %v", x.who, x.target.Name, listed, x.listed)
		}
	}
	counts := map[string]string{}
	p.Denied(func(rule string, denied, failed int64) { counts[rule] = fmt.Sprint(denied, failed) })
	for rule, want := range map[string]string{
		"interns destroy nothing": "1 0", "own region": "2 1", "no prompts": "1 0", "the rest": "1 1", RuleDefault: "1 0", RuleScopes: "4 0",
	} {
		if counts[rule] != want {
			t.Errorf("%s: denied and failed %s, want %s", rule, counts[rule], want)
		}
	}
}

// What is listed where the arguments are not known.
func TestListed(t *testing.T) {
	own := `arguments.region == principal.claims.region`
	for _, x := range []struct {
		rules  []Rule
		def    Effect
		scopes []string
		lists  Lists
		want   bool
	}{
		{[]Rule{{"r", own, Allow, ""}}, Deny, nil, "", true},
		{[]Rule{{"r", own, Deny, ""}}, Allow, nil, "", true},
		{[]Rule{{"r", own, Deny, ""}}, Hide, nil, "", false},
		{[]Rule{{"r", own, Hide, ""}, {"s", "true", Deny, ""}}, Allow, nil, "", false},
		{[]Rule{{"r", own, Deny, ""}, {"s", "true", Allow, ""}}, Deny, nil, "", true},
		{[]Rule{{"r", own + ` && tool.name == "other"`, Allow, ""}}, Deny, nil, "", false},
		{[]Rule{{"r", own, Allow, ""}}, Deny, []string{"none"}, Obtainable, true},
		{[]Rule{{"r", own, Allow, ""}}, Deny, []string{"none"}, Allowed, false},
		{nil, "", []string{"none"}, Obtainable, true},
		{nil, "", []string{"none"}, Allowed, false},
		{nil, "", []string{"profile"}, Allowed, true},
		{nil, Deny, nil, "", false},
	} {
		p := compiled(t, Settings{Default: x.def, Rules: x.rules, Scopes: []Scopes{{Need: x.scopes}}, Lists: x.lists})
		if got := p.Listed(&alice, &ship); got != x.want {
			t.Errorf("%v, else %s, with scopes %v and lists %s: listed %v", x.rules, x.def, x.scopes, x.lists, got)
		}
	}
}

// Callers with the same rights have the same entitlement, and no others.
func TestEntitlement(t *testing.T) {
	p := compiled(t, Settings{
		Default: Deny,
		Scopes:  []Scopes{{Need: []string{"a"}}, {Need: []string{"b"}}},
		Rules: []Rule{
			{"1", `"x" in principal.roles`, Allow, ""}, {"2", `principal.claims.region == "eu"`, Allow, ""},
			{"3", `.principal.claims["a.b"] == "eu" || [1].exists(i, principal.claims.deep.down == i)`, Allow, ""},
		},
	})
	if names, all := p.Claims(); all || !slices.Equal(names, []string{"a.b", "deep", "region"}) {
		t.Errorf("it looks at the claims %q, all %v", names, all)
	}
	base := mcp.Principal{Subject: "s", Scopes: []string{"a"}, Roles: []string{"x"}, Claims: claimed(map[string]any{"region": "eu"})}
	of := func(change func(*mcp.Principal)) string {
		who := base
		change(&who)
		return string(p.AppendEntitlement(nil, &who))
	}
	same := of(func(*mcp.Principal) {})
	for i, change := range []func(*mcp.Principal){
		func(p *mcp.Principal) { p.Subject, p.Issuer, p.Client = "other", "o", "c" },
		func(p *mcp.Principal) { p.Scopes = []string{"other", "a"} },
		func(p *mcp.Principal) { p.Claims = claimed(map[string]any{"region": "eu", "tenant": "t"}) },
	} {
		if of(change) != same {
			t.Errorf("%d: what no rule looks at is another entitlement", i)
		}
	}
	seen := map[string]int{same: -1}
	for i, change := range []func(*mcp.Principal){
		func(p *mcp.Principal) { p.Scopes = []string{"b"} },
		func(p *mcp.Principal) { p.Scopes = []string{"a", "b"} },
		func(p *mcp.Principal) { p.Roles = []string{"x", "y"} },
		func(p *mcp.Principal) { p.Roles = []string{"xy"} },
		func(p *mcp.Principal) { p.Claims = nil },
		func(p *mcp.Principal) { p.Claims = claimed(map[string]any{"region": "us"}) },
		func(p *mcp.Principal) { p.Claims = claimed(map[string]any{"region": nil}) },
		func(p *mcp.Principal) { p.Claims = claimed(map[string]any{"region": "eu", "a.b": "eu"}) },
	} {
		key := of(change)
		if other, known := seen[key]; known {
			t.Errorf("%d and %d have the same entitlement", i, other)
		}
		seen[key] = i
	}
	for _, text := range []string{`principal.claims == {"a": 1}`, `principal.claims[request.method] == 1`, `principal.claims.exists(c, c == "x")`, `"x" in principal.claims`} {
		if _, all := when(t, text).Claims(); !all {
			t.Errorf("%s may look at any claim", text)
		}
	}
	for name := range variables {
		for _, form := range []string{"[%s] == []", "[%s].exists(x, x == x)", "[[1].map(i, %s)] == [] || true", "type(.%s) == bool", "(true ? %[1]s : %[1]s) != dyn(1)"} {
			if text := fmt.Sprintf(form, name); !when(t, text).uses.variables[name] {
				t.Errorf("%s: it is not known to look at %s", text, name)
			}
		}
	}
}

// Decisions are remembered apart for all that they depend on.
func TestRemembered(t *testing.T) {
	p := when(t, `tool.name == "ship" && tool.backend == "shop" && !tool.annotations.read_only && request.method == "tools/call" && "intern" in principal.roles`)
	other := ship
	for i, change := range []func(*Target, *mcp.Principal){
		func(*Target, *mcp.Principal) {},
		func(t *Target, _ *mcp.Principal) { t.Name = "other" },
		func(t *Target, _ *mcp.Principal) { t.Backend = "other" },
		func(t *Target, _ *mcp.Principal) { t.Hints.ReadOnly = true },
		func(t *Target, _ *mcp.Principal) { t.Kind = Prompt },
		func(t *Target, _ *mcp.Principal) { t.Method = mcp.MethodComplete },
		func(_ *Target, p *mcp.Principal) { p.Roles = nil },
		func(t *Target, _ *mcp.Principal) { t.Name = "ship" + strings.Repeat("x", 2*cacheKey) },
	} {
		for range 2 {
			target, who := other, alice
			change(&target, &who)
			if got := decide(t, p, who, target, nil).Effect; got == Allow != (i == 0) {
				t.Errorf("%d: %s", i, got)
			}
		}
	}
	for i := range 3 * cacheEntries {
		target := ship
		target.Name = fmt.Sprint("t", i)
		decide(t, p, alice, target, nil)
	}
	if n := p.decided.young.Load().size.Load() + p.decided.old.Load().size.Load(); n > 2*cacheEntries {
		t.Errorf("%d decisions are remembered", n)
	}
}

// What cannot be evaluated within its bounds denies, and so do arguments that cannot be read.
func TestBounds(t *testing.T) {
	p := when(t, `arguments.list.all(x, arguments.list.all(y, x != y || x == y))`)
	list := make([]any, 1000)
	if d := decide(t, p, alice, ship, map[string]any{"list": list}); d.Effect != Deny || d.Err == nil {
		t.Errorf("a condition that takes a million steps: %+v", d)
	}
	unread := errors.New("unread")
	if _, err := p.Decide(&alice, &ship, func() (map[string]any, error) { return nil, unread }); err != unread {
		t.Errorf("arguments that cannot be read: %v", err)
	}
	// They are read only where they are looked at.
	if _, err := p.Decide(&alice, &Target{Kind: Tool}, nil); err != nil {
		t.Error(err)
	}
	if d, err := when(t, `true || arguments.x == 1`).Decide(&alice, &ship, func() (map[string]any, error) { return nil, unread }); err != nil || d.Effect != Allow {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestWrongSettings(t *testing.T) {
	for _, x := range []struct {
		s    Settings
		want string
	}{
		{Settings{Rules: []Rule{{"r", "true", Allow, ""}}}, "default: it is missing"},
		{Settings{Default: "perhaps"}, `default: "perhaps"`},
		{Settings{Default: StepUp}, `default: "step-up"`},
		{Settings{Lists: "all"}, `lists: "all"`},
		{Settings{Default: Deny, Rules: []Rule{{"", "true", Allow, ""}}}, `rules[0]: name: ""`},
		{Settings{Default: Deny, Rules: []Rule{{"default", "true", Allow, ""}}}, `rules[0]: name: "default"`},
		{Settings{Default: Deny, Rules: []Rule{{"r", "true", Allow, ""}, {"r", "true", Allow, ""}}}, `rules[1]: name: "r" is used twice`},
		{Settings{Default: Deny, Rules: []Rule{{"r", "true", StepUp, ""}}}, `rules[0] r: then: "step-up"`},
		{Settings{Default: Deny, Rules: []Rule{{"r", "principal.role == 'x'", Allow, ""}}}, "rules[0] r: when: it is not a valid expression"},
		{Settings{Default: Deny, Rules: []Rule{{"r", "tool.annotations.destructiv", Allow, ""}}}, "undeclared reference"},
		{Settings{Default: Deny, Rules: []Rule{{"r", "tool.annotations.destructiv", Allow, ""}}}, "a valid expression: there is no variable tool.annotations.destructiv; column 1: "},
		{Settings{Default: Deny, Rules: []Rule{{"r", "'x' in principal.scope && principal.scope.exists(s, s.a == 'tool.x') && tool.name == x.y", Allow, ""}}}, "a valid expression: there is no variable principal.scope; column 8: "},
		{Settings{Default: Deny, Rules: []Rule{{"r", "principal.claims.a.b == 1 && tool.name == x", Allow, ""}}}, "; the variables are"},
		{Settings{Default: Deny, Rules: []Rule{{"r", "tool.name == 1", Allow, ""}}}, "no matching overload"},
		{Settings{Default: Deny, Rules: []Rule{{"r", "principal.claims.x", Allow, ""}}}, "it is of type dyn"},
		{Settings{Default: Deny, Rules: []Rule{{"r", "tool.name", Allow, ""}}}, "it is of type string"},
		{Settings{Default: Deny, Rules: []Rule{{"r", "tool.name ==", Allow, ""}}}, "Syntax error"},
		{Settings{Scopes: []Scopes{{Tools: []string{""}}}}, "scopes[0]: a pattern is empty"},
		{Settings{Scopes: []Scopes{{Need: []string{"a b"}}}}, `scopes[0]: need: "a b"`},
		{Settings{Scopes: []Scopes{{Need: []string{"offline_access"}}}}, "between a client and its issuer"},
		{Settings{Hierarchy: map[string][]string{"a": {"b"}, "b": {"a"}}}, `hierarchy: "a" includes itself`},
		{Settings{Hierarchy: map[string][]string{"a": {""}}}, `hierarchy: ""`},
	} {
		if _, err := Compile(x.s); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%+v: %v, want %s", x.s, err, x.want)
		}
	}
}

func TestHeld(t *testing.T) {
	p := compiled(t, Settings{Hierarchy: map[string][]string{"a": {"b"}}, Scopes: []Scopes{{Need: []string{"c"}}}})
	who := mcp.Principal{Scopes: []string{"profile", "c", "b", "c", "a"}}
	if got := p.Held(&who); !slices.Equal(got, []string{"c", "b", "a"}) {
		t.Errorf("held of those that the policy names: %q", got)
	}
}

func BenchmarkDecide(b *testing.B) {
	rules := []Rule{{"rest", "true", Allow, ""}}
	for i := range 20 {
		rules = append([]Rule{{fmt.Sprint("r", i), fmt.Sprintf(`tool.name == "x%d" && "intern" in principal.roles`, i), Hide, ""}}, rules...)
	}
	p := compiled(b, Settings{Default: Deny, Rules: rules, Scopes: []Scopes{{Need: []string{"mcp:write"}}}})
	b.Run("remembered", func(b *testing.B) {
		for b.Loop() {
			if d, _ := p.Decide(&alice, &ship, nil); d.Effect != Allow {
				b.Fatal(d)
			}
		}
	})
	rules = rules[:0]
	for i := range 100 {
		rules = append(rules, Rule{fmt.Sprint("r", i), fmt.Sprintf(`arguments.region == "x%d" && arguments.region != principal.claims.region`, i), Deny, ""})
	}
	p = compiled(b, Settings{Default: Allow, Rules: rules})
	args := given(map[string]any{"region": "eu"})
	b.Run("100 rules over arguments", func(b *testing.B) {
		for b.Loop() {
			if d, _ := p.Decide(&alice, &ship, args); d.Effect != Allow {
				b.Fatal(d)
			}
		}
	})
}

// The error about an unknown variable lists the existing ones.
func TestMisspelledVariable(t *testing.T) {
	_, err := Compile(Settings{Default: Deny, Rules: []Rule{{Name: "r", When: "tool.nam == 'x'", Then: Allow}}})
	if err == nil || !strings.Contains(err.Error(), "tool.name") || !strings.Contains(err.Error(), "principal.roles") {
		t.Errorf("tool.nam gives %v, want the names of the variables", err)
	}
}

// A client and a user with the same subject are distinguished, also if the decision for one of them is cached.
func TestClientsAreNoUsers(t *testing.T) {
	p := when(t, `!principal.subject_is_client`)
	for range 2 {
		for _, isClient := range []bool{false, true} {
			who := alice
			who.SubjectIsClient = isClient
			if d := decide(t, p, who, ship, nil); (d.Effect == Allow) == isClient {
				t.Errorf("a client %v: %v", isClient, d.Effect)
			}
		}
	}
}
