package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	transport "google.golang.org/grpc/credentials"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// askedOf has an edge ask a policy server, with a timeout that is not met where the test does not mean it.
func askedOf(s *authorizer.Server, adjust ...func(*config.External)) func(*config.Config) {
	return func(c *config.Config) {
		e := &config.External{Target: s.Addr, Timeout: 10 * time.Second}
		for _, f := range adjust {
			f(e)
		}
		if c.Policy == nil {
			c.Policy = &config.Policy{}
		}
		c.Policy.External = e
	}
}

// clientOf is a client of a revision, with a token if it is not empty.
func clientOf(t *testing.T, e *harness.Edge, version, token string) asker {
	switch {
	case version == v2026 && token == "":
		return newStateless(t, e.URL)
	case version == v2026:
		return statelessAs(t, e, token)
	case token == "":
		return newSession(t, e.URL, version)
	}
	return sessionAs(t, e, version, token)
}

// TestPolicyServer: each surface, in each revision, is asked about once, is told as it is, and is denied or allowed; lists
// are not asked about.
func TestPolicyServer(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, pdp := issuer.Serve(t), authorizer.Serve(t)
	_, e := startFixture(t, withAuth(id), askedOf(pdp))
	token := id.Token("ann", public, map[string]any{"roles": []string{"user"}, "scope": "a b", "client_id": "app"})
	for _, version := range append(slices.Clone(stateful), v2026) {
		t.Run(version, func(t *testing.T) {
			c := clientOf(t, e, version, token)
			for _, s := range surfaces {
				what, listen := s.method+" "+s.params, version == v2026 && s.method == "resources/subscribe"
				pdp.SetDecide(authorizer.Deny("not\r\n\x1b today"))
				pdp.Asked()
				if listen {
					stream := c.ask(s.method, s.params).want(http.StatusOK).events()
					if m := stream.message(); strings.Contains(string(m.raw), "resourceSubscriptions") {
						t.Errorf("%s, denied, is honoured: %s", what, m.raw)
					}
					stream.close()
				} else if m := c.ask(s.method, s.params).want(http.StatusOK).final(); m.Error == nil || m.Error.Code != -31403 || !strings.HasSuffix(m.Error.Message, ": not today") {
					t.Errorf("%s, denied: %s", what, m.raw)
				}
				asked := pdp.Asked()
				if len(asked) != 1 {
					t.Fatalf("%s was asked about %d times", what, len(asked))
				}
				isTold(t, asked[0], s.method, s.params)
				pdp.SetDecide(authorizer.Allow)
				if listen {
					stream := c.ask(s.method, s.params).want(http.StatusOK).events()
					if m := stream.message(); !strings.Contains(string(m.raw), "test://note") {
						t.Errorf("%s, allowed, is not honoured: %s", what, m.raw)
					}
					stream.close()
				} else if m := c.ask(s.method, s.params).want(http.StatusOK).final(); m.Error != nil {
					t.Errorf("%s, allowed: %s", what, m.raw)
				}
				if n := len(pdp.Asked()); n != 1 {
					t.Errorf("%s, allowed, was asked about %d times", what, n)
				}
			}
			pdp.SetDecide(authorizer.Deny("never"))
			if r := c.ask("tools/list", `{}`).want(http.StatusOK); !strings.Contains(string(r.body), `"name":"add"`) || len(pdp.Asked()) > 0 {
				t.Errorf("a list depends on the policy server: %s", r.body)
			}
			if m := c.ask("tools/call", `{"name":"nix0"}`).final(); m.Error == nil || m.Error.Code == -31403 || len(pdp.Asked()) > 0 {
				t.Errorf("something unknown was asked about: %s", m.raw)
			}
		})
	}
}

// isTold checks what a policy server was told of a request.
func isTold(t *testing.T, req *authv3.CheckRequest, method, params string) {
	t.Helper()
	about := authorizer.About(req).AsMap()
	for name, want := range object(t, []byte(params)) {
		if got := dig(about, "params", name); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: params.%s is told as %v, want %v", method, name, got, want)
		}
	}
	if about["method"] != method || about["id"] == nil {
		t.Errorf("told of %s: method %v, id %v", method, about["method"], about["id"])
	}
	a := req.GetAttributes()
	h := a.GetRequest().GetHttp()
	if a.GetSource().GetPrincipal() != "ann" || a.GetSource().GetAddress().GetSocketAddress().GetAddress() != "127.0.0.1" ||
		h.GetMethod() != "POST" || h.GetPath() != "/mcp" || !strings.HasPrefix(h.GetHost(), "127.0.0.1:") || h.GetHeaders()["content-type"] != "application/json" {
		t.Errorf("%s is told as %v", method, a)
	}
	if whole := strings.ToLower(req.String()); strings.Contains(whole, "bearer") || strings.Contains(whole, "authorization") {
		t.Errorf("%s: the credentials are told: %s", method, whole)
	}
	who := a.GetMetadataContext().GetFilterMetadata()["mcpedge.principal"].AsMap()
	if who["client_id"] != "app" || fmt.Sprint(who["scopes"], who["roles"]) != "[a b] [user]" || who["issuer"] == "" || who["subject_is_client"] != false {
		t.Errorf("%s: the caller is told as %v", method, who)
	}
}

// TestPolicyServerIsAskedLast: what rules and scopes do not allow is not asked about, and the audit says who decided.
func TestPolicyServerIsAskedLast(t *testing.T) {
	pdp, path := authorizer.Serve(t), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, newFixture().Server)), auditTo(path), func(c *config.Config) {
		c.Policy = &config.Policy{
			Default: "allow", Rules: []config.PolicyRule{{Name: "no echo", When: `tool.name == "echo"`, Then: "deny"}},
			Scopes: []config.PolicyScopes{{Tools: config.Names{"region"}, Need: config.Names{"x"}}},
		}
	}, askedOf(pdp))
	c := newStateless(t, e.URL)
	c.call("echo", `{"text":"x"}`).json().wantError(t, -31403)
	c.call("region", `{"region":"x"}`).json().wantError(t, -31403)
	if n := len(pdp.Asked()); n > 0 {
		t.Errorf("asked %d times about what the policy denies", n)
	}
	pdp.SetDecide(authorizer.Deny(""))
	c.call("add", `{"a":1,"b":2}`).json().wantError(t, -31403)
	pdp.Stop()
	c.call("add", `{"a":1,"b":2}`).json().wantError(t, -31403)
	e.Stop()
	e.AwaitEnd(t)
	var decided []string
	for _, r := range records(t, path) {
		if r.Event == "decision" {
			decided = append(decided, r.String())
		}
	}
	if want := []string{"deny policy no echo echo", "step_up policy scopes region", "deny external denied add", "deny external failed add"}; !slices.Equal(decided, want) {
		t.Errorf("recorded %q, want %q", decided, want)
	}
}

// TestPolicyServerInABatch: each entry has a decision of its own.
func TestPolicyServerInABatch(t *testing.T) {
	pdp := authorizer.Serve(t)
	pdp.SetDecide(func(ctx context.Context, req *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		if dig(authorizer.About(req).AsMap(), "params", "name") == "add" {
			return authorizer.Deny("no sums")(ctx, req)
		}
		return authorizer.Allow(ctx, req)
	})
	_, e := startFixture(t, askedOf(pdp))
	s := newSession(t, e.URL, vMar)
	r := s.post(`[{"jsonrpc":"2.0","id":11,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":1}}},` +
		`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo","arguments":{"text":"said"}}}]`).want(http.StatusOK)
	if body := string(r.body); strings.Count(body, `"code":-31403`) != 1 || !strings.Contains(body, "no sums") || !strings.Contains(body, "said") {
		t.Error(body)
	}
	var ids []any
	for _, req := range pdp.Asked() {
		ids = append(ids, authorizer.About(req).AsMap()["id"])
	}
	if len(ids) != 2 || !slices.Contains(ids, any(11.0)) || !slices.Contains(ids, any(12.0)) {
		t.Errorf("asked about %v", ids)
	}
}

// TestPolicyServerOverREST: the REST API's calls are asked about, too.
func TestPolicyServerOverREST(t *testing.T) {
	pdp := authorizer.Serve(t)
	e := startEdge(t, only(startService(t, newFixture().Server)), askedOf(pdp))
	for want, d := range map[int]authorizer.Decide{403: authorizer.Deny("no"), 200: authorizer.Allow} {
		pdp.SetDecide(d)
		resp, err := http.Post("http://"+e.Admin+"/v1/tools/add:call", "application/json", strings.NewReader(`{"arguments":{"a":1,"b":2}}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		asked := pdp.Asked()
		if resp.StatusCode != want || len(asked) != 1 {
			t.Fatalf("%s, want %d; asked %d times", resp.Status, want, len(asked))
		}
		h := asked[0].GetAttributes().GetRequest().GetHttp()
		if h.GetPath() != "/v1/tools/add:call" || h.GetHost() != e.Admin || asked[0].GetAttributes().GetSource().GetPrincipal() != "admin" {
			t.Errorf("told of %v", asked[0])
		}
	}
}

// TestPolicyServerOverStdio: what comes over stdio is asked about, without an HTTP request.
func TestPolicyServerOverStdio(t *testing.T) {
	pdp := authorizer.Serve(t)
	cfg := harness.Config(only(startService(t, newFixture().Server))...)
	askedOf(pdp)(&cfg)
	e := harness.StartStdio(t, cfg)
	out := bufio.NewScanner(e.Out)
	defer func() {
		e.In.Close()
		for out.Scan() {
		}
		<-e.Ended()
	}()
	for i, d := range []authorizer.Decide{authorizer.Deny("not here"), authorizer.Allow} {
		pdp.SetDecide(d)
		c := &stateless{t: t, capabilities: everything}
		line := envelope(fmt.Sprint(i), "tools/call", c.params(map[string]any{"name": "add", "arguments": map[string]any{"a": 1, "b": 2}}))
		if _, err := fmt.Fprintln(e.In, line); err != nil || !out.Scan() {
			t.Fatal(err, out.Err())
		}
		if denied := strings.Contains(out.Text(), "not here") && strings.Contains(out.Text(), "-31403"); denied != (i == 0) {
			t.Errorf("%d: %s", i, out.Text())
		}
		if asked := pdp.Asked(); len(asked) != 1 || authorizer.About(asked[0]).AsMap()["method"] != "tools/call" || asked[0].GetAttributes().GetRequest().GetHttp().GetPath() != "" {
			t.Errorf("asked %v", asked)
		}
	}
}

// TestPolicyServerOverSSE: where a challenge must be told before a message is accepted, it is still asked about once.
func TestPolicyServerOverSSE(t *testing.T) {
	pdp := authorizer.Serve(t)
	// One replica: of a message that came to another than its stream's, the server is told no path.
	e := startEdge(t, only(startService(t, newFixture().Server)), askedOf(pdp))
	stream := newCaller(t, "http://"+e.Host+"/sse").send(t, http.MethodGet, "").want(http.StatusOK).events()
	defer stream.close()
	endpoint, _ := stream.next()
	c := newCaller(t, "http://"+e.Host+endpoint.Data)
	c.send(t, http.MethodPost, envelope("1", "initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)).want(http.StatusAccepted)
	stream.message()
	pdp.SetDecide(authorizer.Deny("no"))
	for _, request := range []string{
		envelope("7", "tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`), envelope("8", "resources/subscribe", `{"uri":"test://note"}`),
	} {
		c.send(t, http.MethodPost, request).want(http.StatusAccepted)
		stream.message().wantError(t, -31403)
		asked := pdp.Asked()
		if len(asked) != 1 {
			t.Fatalf("asked %d times", len(asked))
		}
		if h := asked[0].GetAttributes().GetRequest().GetHttp(); !strings.HasSuffix(h.GetPath(), "/message") || h.GetQuery() != "" || strings.Contains(asked[0].String(), "sessionId") {
			t.Errorf("told of %v", h)
		}
	}
}

// TestPolicyServerIsDownAndBack: a server that cannot be asked denies, or allows where on-failure says so, is logged once,
// and is asked again when it is back.
func TestPolicyServerIsDownAndBack(t *testing.T) {
	for _, x := range []struct {
		onFailure, version string
		allows             bool
	}{{"", v2026, false}, {"deny", vNov, false}, {"allow", v2026, true}, {"allow", vNov, true}} {
		t.Run(x.onFailure+" "+x.version, func(t *testing.T) {
			pdp := authorizer.Serve(t)
			e := startEdge(t, only(startService(t, newFixture().Server)), askedOf(pdp, func(e *config.External) { e.OnFailure = x.onFailure }))
			c := clientOf(t, e, x.version, "")
			add := func() message { return c.ask("tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`).final() }
			if m := add(); m.Error != nil {
				t.Fatalf("%s", m.raw)
			}
			pdp.Stop()
			for range 3 {
				if m := add(); (m.Error == nil) != x.allows || !x.allows && (m.Error.Code != -31403 || !strings.Contains(m.Error.Message, "the policy server is unavailable")) {
					t.Errorf("down: %s", m.raw)
				}
			}
			awaitMetric(t, e, `mcpedge_policy_external_total{mcpedge_policy_outcome="failed"`, 3)
			pdp.SetDecide(authorizer.Deny("back"))
			pdp.Restart(t)
			await.Until(t, "the policy server to be asked again", func() bool {
				m := add()
				return m.Error != nil && strings.Contains(m.Error.Message, "back")
			})
			if log := e.Log.String(); strings.Count(log, "the policy server is unavailable:") != 1 || strings.Count(log, "the policy server is available again") != 1 {
				t.Errorf("logged:\n%s", log)
			}
			awaitMetric(t, e, `mcpedge_policy_external_total{mcpedge_policy_outcome="denied"`, 1)
			awaitMetric(t, e, `mcpedge_policy_external_total{mcpedge_policy_outcome="allowed"`, 1)
		})
	}
}

// slow has a server answer nothing. ended is told when a question has ended.
func slow(pdp *authorizer.Server) (begun, ended chan struct{}) {
	begun, ended = make(chan struct{}, 16), make(chan struct{}, 16)
	pdp.SetDecide(func(ctx context.Context, _ *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		begun <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return nil, ctx.Err()
	})
	return begun, ended
}

// TestPolicyServerIsSlow: after the timeout it has failed.
func TestPolicyServerIsSlow(t *testing.T) {
	for _, version := range []string{vNov, v2026} {
		for onFailure, allows := range map[string]bool{"deny": false, "allow": true} {
			pdp := authorizer.Serve(t)
			e := startEdge(t, only(startService(t, newFixture().Server)), askedOf(pdp, func(e *config.External) { e.OnFailure, e.Timeout = onFailure, 0 }))
			c := clientOf(t, e, version, "")
			begun, ended := slow(pdp)
			// The timeout is the default, in which a busy machine may not even connect.
			await.Until(t, "a question to reach the server", func() bool {
				if m := c.ask("tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`).final(); (m.Error == nil) != allows {
					t.Errorf("%s, on-failure %s: %s", version, onFailure, m.raw)
				}
				return len(begun) > 0
			})
			await.Receive(t, "the question to end", ended)
		}
	}
}

// TestPolicyServerIsNotAskedForNobody: a caller who leaves, or cancels, ends the question, which has not failed then.
func TestPolicyServerIsNotAskedForNobody(t *testing.T) {
	pdp := authorizer.Serve(t)
	e := startEdge(t, only(startService(t, newFixture().Server)), askedOf(pdp, func(e *config.External) { e.OnFailure = "allow" }))
	begun, ended := slow(pdp)
	c := newStateless(t, e.URL)
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, strings.NewReader(envelope("1", "tools/call", c.params(map[string]any{"name": "echo", "arguments": map[string]any{"text": "x"}}))))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": v2026, "Mcp-Method": "tools/call", "Mcp-Name": "echo",
	} {
		req.Header.Set(name, value)
	}
	go func() {
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			t.Errorf("the call was answered: %s", resp.Status)
		}
	}()
	await.Receive(t, "the question to begin", begun)
	leave()
	await.Receive(t, "the question to end", ended)

	s := newSession(t, e.URL, vNov)
	var cancelling sync.WaitGroup
	cancelling.Go(func() {
		await.Receive(t, "the question to begin", begun)
		s.notify("notifications/cancelled", `{"requestId":77}`)
	})
	r := s.post(envelope("77", "tools/call", `{"name":"echo","arguments":{"text":"x"}}`))
	cancelling.Wait()
	await.Receive(t, "the question to end", ended)
	if strings.Contains(string(r.body), `"text":"x"`) {
		t.Errorf("a call that was cancelled is allowed: %s", r.body)
	}
	awaitMetric(t, e, `mcpedge_policy_external_total{mcpedge_policy_outcome="failed"`, 0)
}

// TestPolicyServerOverTLS: the connection is secured as those of backends are.
func TestPolicyServerOverTLS(t *testing.T) {
	ca := authority.New(t, "ca")
	pdp := authorizer.Serve(t, grpc.Creds(transport.NewServerTLSFromCert(new(ca.Server(t).TLS(t)))))
	pdp.SetDecide(authorizer.Deny("secured"))
	e := startEdge(t, only(startService(t, newFixture().Server)), askedOf(pdp, func(e *config.External) {
		e.TLS = &config.TLS{CA: authority.File(t, filepath.Join(t.TempDir(), "ca.crt"), ca.PEM)}
	}))
	if m := newStateless(t, e.URL).call("add", `{"a":1,"b":2}`).json(); m.Error == nil || !strings.Contains(m.Error.Message, "secured") {
		t.Errorf("%s", m.raw)
	}
}

// loose returns a fixture with a tool that takes any arguments besides text.
func loose() *capability.Server {
	s := newFixture().Server
	capability.AddTool(s, "loose", "Says it again, whatever else is sent", func(_ context.Context, _ *capability.Call, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	}, capability.AllowUnknownArguments())
	return s
}

// TestPolicyServerCannotBeAvoided: with on-failure allow, nothing that a client sends makes a question fail.
func TestPolicyServerCannotBeAvoided(t *testing.T) {
	pdp := authorizer.Serve(t)
	pdp.SetDecide(authorizer.Deny("no"))
	e := startEdge(t, only(startService(t, loose())), askedOf(pdp, func(e *config.External) { e.OnFailure = "allow" }))
	s := newSession(t, e.URL, vNov)
	for what, params := range map[string]string{
		"params that are large":  `{"name":"loose","arguments":{"text":"` + strings.Repeat("x", 64<<10) + `"}}`,
		"params that are deep":   `{"name":"loose","arguments":{"text":"x","more":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}}`,
		"a member twice":         `{"name":"loose","arguments":{"text":"x","text":"y"}}`,
		"a number out of range":  `{"name":"loose","arguments":{"text":"x","more":1e999}}`,
		"half a surrogate pair":  `{"name":"loose","arguments":{"text":"\ud800"}}`,
		"a header without UTF-8": `{"name":"loose","arguments":{"text":"x"}}`,
	} {
		m := s.post(envelope("5", "tools/call", params), "X-Odd", "\xff\xfe").final()
		if m.Error == nil || m.Error.Code != -31403 && m.Error.Code != -32602 {
			t.Errorf("%s: %s", what, m.raw)
		}
		for _, req := range pdp.Asked() {
			about := authorizer.About(req).AsMap()
			if what != "half a surrogate pair" && what != "a header without UTF-8" || about["params_omitted"] != nil || about["params"] == nil {
				t.Errorf("%s: asked with %v", what, about)
			}
		}
	}
	awaitMetric(t, e, `mcpedge_policy_external_total{mcpedge_policy_outcome="failed"`, 0)
}

// TestPolicyServerSeesTheName: nothing that a client sends hides from the policy server which tool it calls; what else it is not shown is
// denied, or with on-omitted: ask said to it.
func TestPolicyServerSeesTheName(t *testing.T) {
	meta := `"_meta":{"x":"` + strings.Repeat("x", 64<<10) + `"}`
	large, deep := strings.Repeat("x", 64<<10), strings.Repeat("[", 40)+strings.Repeat("]", 40)
	for _, ask := range []bool{false, true} {
		pdp := authorizer.Serve(t)
		pdp.SetDecide(authorizer.Allow)
		e := startEdge(t, only(startService(t, loose())), askedOf(pdp, func(e *config.External) {
			if ask {
				e.OnOmitted = "ask"
			}
		}))
		s := newSession(t, e.URL, vNov)
		for what, x := range map[string]struct {
			params  string
			omitted bool
		}{
			"large _meta":         {`{"name":"loose","arguments":{"text":"x"},` + meta + `}`, false},
			"_meta first":         {`{` + meta + `,"name":"loose","arguments":{"text":"x"}}`, false},
			"a large argument":    {`{"name":"loose","arguments":{"text":"x","more":"` + large + `"}}`, true},
			"a deep argument":     {`{"name":"loose","arguments":{"text":"x","more":` + deep + `}}`, true},
			"an inexact argument": {`{"name":"loose","arguments":{"text":"x","more":9007199254740993}}`, true},
		} {
			m := s.post(envelope("5", "tools/call", x.params)).final()
			asked := pdp.Asked()
			if x.omitted && !ask {
				if len(asked) != 0 || m.Error == nil || m.Error.Code != -31403 {
					t.Errorf("%s: asked %d times, %.300s", what, len(asked), m.raw)
				}
				continue
			}
			if len(asked) != 1 {
				t.Fatalf("%s: asked %d times, %.300s", what, len(asked), m.raw)
			}
			about := authorizer.About(asked[0]).AsMap()
			if dig(about, "params", "name") != "loose" || dig(about, "params", "arguments", "text") != "x" || (about["params_omitted"] == true) != x.omitted || (about["meta_omitted"] == true) == x.omitted {
				t.Errorf("%s: told %.300v", what, about)
			}
		}
	}
}
