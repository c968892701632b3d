package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// byRole hides, denies and allows by the caller's role, and needs mcp:write of what is allowed.
func byRole(c *config.Config) {
	c.Policy = &config.Policy{
		Default:   "deny",
		Hierarchy: map[string]config.Names{"mcp:admin": {"mcp:write"}},
		Scopes:    []config.PolicyScopes{{Need: config.Names{"mcp:write"}}},
		Rules: []config.PolicyRule{
			{Name: "hidden", When: `"hidden" in principal.roles`, Then: "hide"},
			{Name: "broken", When: `"broken" in principal.roles && principal.claims.missing == 1`, Then: "allow"},
			{Name: "users", When: `"user" in principal.roles || principal.anonymous`, Then: "allow"},
		},
	}
}

// surfaces are all requests that name something; each gives the method, its params and those of something unknown.
var surfaces = []struct {
	method, params, unknown string
}{
	{"tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`, `{"name":"nix0","arguments":{"a":1,"b":2}}`},
	{"prompts/get", `{"name":"greet","arguments":{"name":"Ada"}}`, `{"name":"nix00","arguments":{"name":"Ada"}}`},
	{"resources/read", `{"uri":"test://note"}`, `{"uri":"nix0://note"}`},
	{"resources/read", `{"uri":"test://item/7"}`, `{"uri":"nix0://item/7"}`},
	{"resources/subscribe", `{"uri":"test://note"}`, `{"uri":"nix0://note"}`},
	{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"A"}}`, `{"ref":{"type":"ref/prompt","name":"nix00"},"argument":{"name":"name","value":"A"}}`},
	{"completion/complete", `{"ref":{"type":"ref/resource","uri":"test://item/{id}"},"argument":{"name":"id","value":"7"}}`, `{"ref":{"type":"ref/resource","uri":"nix0://item/{id}"},"argument":{"name":"id","value":"7"}}`},
}

// asker sends a request in some revision.
type asker interface {
	ask(method, params string) *reply
}

func (s *session) ask(method, params string) *reply { return s.request(method, params) }

func (c *stateless) ask(method, params string) *reply {
	var members map[string]any
	if method == "resources/subscribe" {
		var one struct{ URI string }
		if json.Unmarshal([]byte(params), &one) != nil {
			c.t.Fatal(params)
		}
		method, members = "subscriptions/listen", map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{one.URI}}}
	} else if err := json.Unmarshal([]byte(params), &members); err != nil {
		c.t.Fatal(err)
	}
	return c.request(method, members)
}

// unnamed takes from an answer what it has of the names asked for, and its id.
func unnamed(r *reply) string {
	var m struct{ Error json.RawMessage }
	_ = json.Unmarshal(r.body, &m)
	return fmt.Sprint(r.status, strings.NewReplacer("test://note", "URI", "nix0://note", "URI", "test://item", "URI", "nix0://item", "URI", `"add\`, `"NAME\`, `"nix0\`, `"NAME\`, `greet`, "NAME", "nix00", "NAME").Replace(string(m.Error)))
}

// TestPolicy: each decision, over each surface, in each revision.
func TestPolicy(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	_, e := startFixture(t, withAuth(id), byRole, func(c *config.Config) { c.Auth.Optional = true })
	token := func(role, scope string) string {
		return id.Token("s-"+role, public, map[string]any{"roles": []string{role}, "scope": scope})
	}
	for _, version := range append(slices.Clone(stateful), v2026) {
		t.Run(version, func(t *testing.T) {
			as := func(token string) asker {
				if version == v2026 {
					return statelessAs(t, e, token)
				}
				return sessionAs(t, e, version, token)
			}
			hidden, denied, broken := as(token("hidden", "mcp:write")), as(token("other", "mcp:write")), as(token("broken", "mcp:write"))
			lacking, user := as(token("user", "mcp:read mcp:admin-not profile")), as(token("user", "mcp:admin"))
			var nobody asker = newStateless(t, e.URL)
			if version != v2026 {
				nobody = newSession(t, e.URL, version)
			}
			metadata := `resource_metadata="` + public + `/.well-known/oauth-protected-resource/mcp"`
			for _, s := range surfaces {
				what := s.method + " " + s.params
				listen := version == v2026 && s.method == "resources/subscribe"
				if r := lacking.ask(s.method, s.params); r.status != http.StatusForbidden || len(r.header.Values("WWW-Authenticate")) != 1 ||
					!strings.HasPrefix(r.header.Get("WWW-Authenticate"), `Bearer error="insufficient_scope", error_description="`) ||
					!strings.HasSuffix(r.header.Get("WWW-Authenticate"), `scope="mcp:write", `+metadata) {
					t.Errorf("%s, without the scope: %d %q %s", what, r.status, r.header.Values("WWW-Authenticate"), r.body)
				} else if m := r.json(); m.Error == nil || m.Error.Code != -31403 || len(m.ID) == 0 {
					t.Errorf("%s, without the scope: %s", what, r.body)
				}
				if r := nobody.ask(s.method, s.params); r.status != http.StatusUnauthorized || r.header.Get("WWW-Authenticate") != `Bearer scope="mcp:write", `+metadata {
					t.Errorf("%s, anonymous: %d %q %s", what, r.status, r.header.Values("WWW-Authenticate"), r.body)
				} else if m := r.json(); m.Error == nil || m.Error.Code != -31401 {
					t.Errorf("%s, anonymous: %s", what, r.body)
				}
				if listen { // what may not be watched is not honoured, as what does not exist
					for who, a := range map[string]asker{"hidden": hidden, "denied": denied, "broken": broken} {
						stream := a.ask(s.method, s.params).want(http.StatusOK).events()
						if m := stream.message(); strings.Contains(string(m.raw), "resourceSubscriptions") {
							t.Errorf("%s: %s may watch: %s", what, who, m.raw)
						}
						stream.close()
					}
					stream := user.ask(s.method, s.params).want(http.StatusOK).events()
					if m := stream.message(); !strings.Contains(string(m.raw), "test://note") {
						t.Errorf("%s: one who may watch does not: %s", what, m.raw)
					}
					stream.close()
					continue
				}
				got, want := unnamed(hidden.ask(s.method, s.params)), unnamed(user.ask(s.method, s.unknown))
				if got != want || !strings.Contains(want, "code") {
					t.Errorf("%s: hidden is\n%s\nunknown\n%s", what, got, want)
				}
				for rule, a := range map[string]asker{"default": denied, "broken": broken} {
					r := a.ask(s.method, s.params).want(http.StatusOK)
					if m := r.json(); m.Error == nil || m.Error.Code != -31403 || !strings.Contains(m.Error.Message, rule) || r.header.Get("WWW-Authenticate") != "" {
						t.Errorf("%s, denied by %s: %s", what, rule, r.body)
					}
				}
				if m := user.ask(s.method, s.params).want(http.StatusOK).final(); m.Error != nil {
					t.Errorf("%s, allowed: %s", what, m.raw)
				}
			}
			for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
				for who, a := range map[string]asker{"hidden": hidden, "denied": denied, "broken": broken} {
					if r := a.ask(method, `{}`).want(http.StatusOK); !strings.Contains(string(r.body), ":[]") {
						t.Errorf("%s of one to whom all is %s: %s", method, who, r.body)
					}
				}
				for who, a := range map[string]asker{"allowed": user, "obtainable": lacking} {
					if r := a.ask(method, `{}`).want(http.StatusOK); strings.Contains(string(r.body), ":[]") {
						t.Errorf("%s of one to whom all is %s: %s", method, who, r.body)
					} else if version == v2026 && !strings.Contains(string(r.body), `"cacheScope":"private"`) {
						t.Errorf("%s: lists differ, and may be shared: %s", method, r.body)
					}
				}
			}
		})
	}
}

// TestChallengeKeepsScopes: up to 2025-11-25 a challenge has what the caller can already do, too.
func TestChallengeKeepsScopes(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	_, e := startFixture(t, withAuth(id), func(c *config.Config) {
		c.Policy = &config.Policy{Scopes: []config.PolicyScopes{{Tools: config.Names{"add"}, Need: config.Names{"x:add", "x:sum"}}, {Need: config.Names{"x:rest"}}}}
	})
	token := id.Token("s", public, map[string]any{"scope": "openid x:rest x:sum"})
	for version, want := range map[string]string{v2026: "x:add x:sum", vNov: "x:add x:sum x:rest", v2024: "x:add x:sum x:rest"} {
		var a asker = statelessAs(t, e, token)
		if version != v2026 {
			a = sessionAs(t, e, version, token)
		}
		if got := a.ask("tools/call", toolParams("add", `{"a":1,"b":2}`, "")).want(http.StatusForbidden).header.Get("WWW-Authenticate"); !strings.Contains(got, `scope="`+want+`"`) {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

// TestPolicyInBand: where no status can say it, the response does; over HTTP+SSE the POST does, at any replica.
func TestPolicyInBand(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	_, edges, _ := startReplicas(t, 2, withAuth(id), byRole)
	lacking := id.Token("s", public, map[string]any{"roles": []string{"user"}, "scope": "mcp:read"})
	s := sessionAs(t, edges[0], vMar, lacking)
	call := func(n string) string { return envelope(n, "tools/call", toolParams("add", `{"a":1,"b":2}`, "")) }
	r := s.post("[" + call("11") + "," + envelope("12", "ping", "") + "]").want(http.StatusOK)
	if body := string(r.body); !strings.Contains(body, `"code":-31403`) || !strings.Contains(body, `"scopes":["mcp:write"]`) || !strings.Contains(body, `"result":{}`) {
		t.Errorf("in a batch: %s", body)
	}

	c := newCaller(t, "http://"+edges[0].Host+"/sse")
	c.as(lacking)
	stream := c.send(t, "GET", "").want(200).events()
	ev, _ := stream.next()
	hello := envelope("1", "initialize", `{"protocolVersion":"2024-11-05","capabilities":{"sampling":{}},"clientInfo":`+clientInfo+`}`)
	for i, e := range edges {
		own := newCaller(t, "http://"+e.Host+ev.Data)
		own.as(lacking)
		if i == 0 {
			own.send(t, "POST", hello).want(202)
			stream.message()
		}
		for _, request := range []string{call("7"), envelope("8", "resources/subscribe", `{"uri":"test://note"}`)} {
			r := own.send(t, "POST", request).want(http.StatusForbidden)
			want := `scope="mcp:write", resource_metadata="` + public + `/.well-known/oauth-protected-resource/sse"`
			if got := r.header.Get("WWW-Authenticate"); !strings.HasPrefix(got, `Bearer error="insufficient_scope"`) || !strings.HasSuffix(got, want) {
				t.Errorf("replica %d: %q", i, got)
			}
			if m := r.json(); m.Error == nil || m.Error.Code != -31403 {
				t.Errorf("replica %d: %s", i, r.body)
			}
		}
		// The scope that was asked for is enough.
		own.as(id.Token("s", public, map[string]any{"roles": []string{"user"}, "scope": "mcp:write"}))
		own.send(t, "POST", call("9")).want(202)
		if m := stream.response(); string(m.ID) != "9" || m.Error != nil {
			t.Errorf("replica %d: the stream has %s", i, m.raw)
		}
		// So it is of an answer.
		own.send(t, "POST", envelope("20", "tools/call", toolParams("ask_model", "", ""))).want(202)
		q := stream.awaitMethod("sampling/createMessage")
		given := `{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + answers["sampling/createMessage"] + `}`
		own.as(lacking)
		if r := own.send(t, "POST", given).want(http.StatusForbidden); !strings.Contains(r.header.Get("WWW-Authenticate"), `scope="mcp:write"`) {
			t.Errorf("replica %d: %q", i, r.header.Get("WWW-Authenticate"))
		}
		own.as(id.Token("s", public, map[string]any{"roles": []string{"user"}, "scope": "mcp:write"}))
		own.send(t, "POST", given).want(202)
		if m := stream.response(); string(m.ID) != "20" || m.Error != nil {
			t.Errorf("replica %d: the stream has %s", i, m.raw)
		}
		// What is denied whatever the scopes is told in the stream.
		own.as(id.Token("s", public, map[string]any{"roles": []string{"other"}, "scope": "mcp:write"}))
		own.send(t, "POST", call("10")).want(202)
		if m := stream.response(); string(m.ID) != "10" || m.Error == nil || m.Error.Code != -31403 {
			t.Errorf("replica %d: the stream has %s", i, m.raw)
		}
	}
}

// TestStepUpOfAnAnswer: who answers a question without the scope that the call needs is challenged at any replica, and the call waits
// for the answer still. What the policy denies whatever the scopes ends the call.
func TestStepUpOfAnAnswer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	_, edges, _ := startReplicas(t, 2, withAuth(id), byRole)
	e, other := edges[0], edges[1]
	token := func(scope string, roles ...string) string {
		return id.Token("s", public, map[string]any{"roles": append(roles, "user"), "scope": scope})
	}
	for _, version := range []string{vJun, vNov} {
		for _, at := range []*harness.Edge{e, other} {
			s := sessionAs(t, e, version, token("mcp:write"))
			asked := s.call("ask_name", "").events()
			q := asked.awaitMethod("elicitation/create")
			by := s.seenBy(at, token("mcp:read"))
			given := `{"jsonrpc":"2.0","id":` + string(q.ID) + `,"result":` + answers["elicitation/create"] + `}`
			for range 2 {
				r := by.post(given).want(http.StatusForbidden)
				if got := r.header.Get("WWW-Authenticate"); !strings.Contains(got, `error="insufficient_scope"`) || !strings.Contains(got, `scope="mcp:write"`) {
					t.Errorf("%s: %s", version, got)
				}
			}
			by.as(token("mcp:write"))
			by.answer(q, answers["elicitation/create"])
			if got := text(t, asked.message().result(t)); got != "Hello, Ada" {
				t.Errorf("%s: %q", version, got)
			}
			// An answer to nothing is taken, whatever the scopes.
			by.as(token("mcp:read"))
			by.post(given).want(http.StatusAccepted)
		}
	}
	s := sessionAs(t, e, vNov, token("mcp:write"))
	asked := s.call("ask_name", "").events()
	q := asked.awaitMethod("elicitation/create")
	s.as(token("mcp:write", "hidden"))
	s.answer(q, answers["elicitation/create"])
	if m := asked.response(); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("got %s", m.raw)
	}

	c := statelessAs(t, e, token("mcp:write"))
	again := retry(t, c.call("ask_name", "").result(), `{"name":`+answers["elicitation/create"]+`}`)
	c.as(token("mcp:read"))
	c.call("ask_name", "", again).want(http.StatusForbidden)
	c.as(token("mcp:write"))
	if got := c.call("ask_name", "", again).text(); got != "Hello, Ada" {
		t.Errorf("with the scope: %q", got)
	}
}

// TestPolicyOverREST: the REST API's calls pass the policy, too.
func TestPolicyOverREST(t *testing.T) {
	e := startEdge(t, only(startService(t, newFixture().Server)), func(c *config.Config) {
		c.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{
			{Name: "no sums", When: `principal.issuer == "mcpedge" && tool.name == "add"`, Then: "deny"}, {Name: "no echo", When: `tool.name == "echo"`, Then: "hide"},
		}, Scopes: []config.PolicyScopes{{Tools: config.Names{"region"}, Need: config.Names{"x"}}}}
	})
	for tool, want := range map[string]int{"add": 403, "echo": 404, "nix": 404, "region": 403} {
		resp, err := http.Post("http://"+e.Admin+"/v1/tools/"+tool+":call", "application/json", strings.NewReader(`{"arguments":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", tool, resp.Status, want)
		}
	}
}

// settingsFile is a file of settings that an edge reads its policy, its quotas and its catalog from again.
func settingsFile(t *testing.T) (write func(settings string), set func(*config.Config)) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "edge.yaml")
	write = func(settings string) {
		t.Helper()
		harness.Write(t, name, settings)
	}
	return write, func(c *config.Config) {
		read, err := config.Load("serve", []string{"--config", name}, func(string) (string, bool) { return "", false }, os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		c.Policy, c.Quotas, c.Catalog, c.File = read.Policy, read.Quotas, read.Catalog, name
	}
}

// TestPolicyIsReadAgain: another policy is in force soon, what cannot be used is not, and those whose lists are others are
// told.
func TestPolicyIsReadAgain(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	write, set := settingsFile(t)
	rule := func(when, then string) string {
		return "policy:\n  default: allow\n  rules:\n    - {name: r, when: '" + when + "', then: " + then + "}\n"
	}
	write(rule(`tool.name == "add" && principal.subject == "ann"`, "hide"))
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id), set)
	token := func(who, region string) string { return id.Token(who, public, map[string]any{"region": region}) }
	ann, bob := sessionAs(t, e, vNov, token("ann", "eu")), sessionAs(t, e, vNov, token("bob", "us"))
	streams := map[string]*stream{"ann": ann.get("").want(200).events(), "bob": bob.get("").want(200).events()}
	sees := func(s *session) bool {
		return strings.Contains(string(s.request("tools/list", "").want(200).body), `"name":"add"`)
	}
	if sees(ann) || !sees(bob) {
		t.Fatalf("at first ann sees the tool: %v, bob: %v", sees(ann), sees(bob))
	}
	// A claim that no rule looked at before.
	write(rule(`tool.name == "add" && principal.claims.region == "us"`, "hide"))
	await.Until(t, "the other policy to be in force", func() bool { return sees(ann) && !sees(bob) })
	for _, s := range streams {
		s.awaitMethod("notifications/tools/list_changed")
	}
	// Streams that were open have the callers' claims as they were then.
	for _, s := range streams {
		s.close()
	}
	ann, bob = sessionAs(t, e, vNov, token("ann", "eu")), sessionAs(t, e, vNov, token("bob", "us"))
	streams = map[string]*stream{"ann": ann.get("").want(200).events(), "bob": bob.get("").want(200).events()}
	for _, bad := range []string{rule("tool.nix", "hide"), "", "server: {name: x}\n", "policy: [\n"} {
		write(bad)
		awaitMetric(t, e, "mcpedge_settings_stale", 1)
		if !sees(ann) || sees(bob) {
			t.Errorf("%q: a policy that cannot be used is in force", bad)
		}
		write(rule(`tool.name == "add" && principal.claims.region == "us"`, "hide"))
		awaitMetric(t, e, "mcpedge_settings_stale", 0)
	}
	// What only bob sees is told to bob alone.
	write(rule(`tool.name == "echo" && principal.claims.region == "us" || tool.name == "add" && principal.claims.region == "us"`, "hide"))
	streams["bob"].awaitMethod("notifications/tools/list_changed")
	bob.call("echo", `{"text":"x"}`).want(200).json().wantError(t, -32602)
	for done := false; !done; {
		select {
		case ev := <-streams["ann"].events:
			if strings.Contains(ev.Data, "list_changed") {
				t.Errorf("ann was told %s, whose lists are as they were", ev.Data)
			}
		default:
			done = true
		}
	}
}

// TestOwnRightsChangeTheLists: a session whose caller comes with another token is told of the lists that this one sees other, also
// where its stream is at another replica, and of no others.
func TestOwnRightsChangeTheLists(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	write, set := settingsFile(t)
	write(`policy: {default: allow, rules: [{name: r, when: 'tool.name == "add" && principal.claims.region != "eu"', then: hide}]}` + "\n")
	_, edges, _ := startReplicas(t, 2, withAuth(id), set)
	token := func(region string) string {
		return id.Token("ann", public, map[string]any{"region": region, "jti": "token of " + region})
	}
	s := sessionAs(t, edges[0], vNov, token("us"))
	sees := func(s *session) bool {
		return strings.Contains(string(s.request("tools/list", "").want(200).body), `"name":"add"`)
	}
	stream := s.get("").want(200).events()
	for i, region := range []string{"eu", "us", "eu"} {
		at := s.seenBy(edges[(i+1)%2], token(region))
		// This replica may not have loaded yet what the other one wrote; then only a later request is found to differ.
		changed := func() (is bool) {
			select {
			case ev := <-stream.events:
				is = strings.Contains(ev.Data, `"method":"notifications/tools/list_changed"`)
				if ev.Data != "" && !is {
					t.Errorf("sent %s", ev.Data)
				}
			default:
			}
			return is
		}
		await.Until(t, "the list change by the token of "+region, func() bool {
			if got := sees(at); got != (region == "eu") {
				t.Fatalf("by the token of %s the tool is seen: %v", region, got)
			}
			return changed()
		})
	}
}

// awaitMetric waits until a metric has a value.
func awaitMetric(t *testing.T, e *harness.Edge, name string, value float64) {
	t.Helper()
	c := newCaller(t, "http://"+e.Admin+"/metrics")
	await.Until(t, fmt.Sprintf("%s to be %v", name, value), func() bool {
		r := c.send(t, "GET", "")
		for line := range strings.Lines(string(r.body)) {
			if strings.HasPrefix(line, name) && strings.HasSuffix(strings.TrimSpace(line), fmt.Sprintf(" %v", value)) {
				return true
			}
		}
		return false
	})
}
