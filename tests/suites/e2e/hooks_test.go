package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// hookedBy has an edge ask a hook about everything, with a timeout that is not met where the test does not mean it.
func hookedBy(s *hookserver.Server, adjust ...func(*config.Hook)) func(*config.Config) {
	return func(c *config.Config) {
		h := config.Hook{Name: "dlp", Target: s.Addr, On: config.Names{"request", "answer", "result"}, Timeout: 10 * time.Second}
		for _, f := range adjust {
			f(&h)
		}
		c.Hooks = append(c.Hooks, h)
	}
}

func onFailureAllow(h *config.Hook) { h.OnFailure = "allow" }

// hookBehaviour is what a hook does, and what a client sees of `echo {"text":"card 4111"}`.
type hookBehaviour struct {
	name    string
	request hookserver.Request
	result  hookserver.Result
	// want is the text of the result, or a part of the error with -31403.
	want, wantError string
	// isFailure: with on-failure: allow the client sees the call as it was.
	isFailure bool
}

// endless answers only after its caller has left.
func endless(ctx context.Context, _ *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func hookBehaviours() []hookBehaviour {
	const failed, withheld = `the hook "dlp", which must check it, failed`, `the tool ran, and its result is withheld: `
	lie := func(name string, f hookserver.Request) hookBehaviour {
		return hookBehaviour{name: "request: " + name, request: f, wantError: failed, isFailure: true}
	}
	liar := func(name string, o *hookv1.Outcome) hookBehaviour {
		return hookBehaviour{name: "result: " + name, result: hookserver.Outcome(o), wantError: withheld + "forbidden: " + failed, isFailure: true}
	}
	return []hookBehaviour{
		{name: "passes", want: "card 4111"},
		{name: "replaces arguments", request: hookserver.Arguments(`{"text":"card ****"}`), want: "card ****"},
		{name: "replaces the result", result: hookserver.Outcome(hookserver.Text("masked")), want: "masked"},
		{name: "denies", request: hookserver.Deny("no\ncards\x1b"), wantError: `forbidden by the hook "dlp": nocards`},
		{name: "withholds", result: hookserver.DenyResult("no cards"), wantError: withheld + `forbidden by the hook "dlp": no cards`},
		lie("no verdict", func(context.Context, *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
			return &hookv1.CheckRequestResponse{}, nil
		}),
		lie("a status", func(context.Context, *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
			return nil, status.Error(codes.Internal, "db.internal:5432 is down")
		}),
		lie("no JSON", hookserver.Arguments(`{"text":`)),
		lie("no object", hookserver.Arguments(`["card"]`)),
		lie("nothing", hookserver.Arguments("")),
		lie("a name twice", hookserver.Arguments(`{"text":"a","text":"b"}`)),
		lie("huge", hookserver.Arguments(`{"text":"`+strings.Repeat("x", 1<<20)+`"}`)),
		lie("answers", func(context.Context, *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
			return &hookv1.CheckRequestResponse{Verdict: &hookv1.CheckRequestResponse_Replace{
				Replace: &hookv1.RequestReplacement{ArgumentsJson: `{"text":"a"}`, Answers: []*hookv1.Answer{{Key: "x"}}}}}, nil
		}),
		liar("another kind", &hookv1.Outcome{Outcome: &hookv1.Outcome_Values{Values: &hookv1.Values{}}}),
		liar("an empty block", &hookv1.Outcome{Outcome: &hookv1.Outcome_Tool{Tool: &pb.CallToolResult{Content: []*pb.ContentBlock{{}}}}}),
		liar("invalid JSON", &hookv1.Outcome{Outcome: &hookv1.Outcome_Tool{Tool: &pb.CallToolResult{StructuredContentJson: "{"}}}),
		liar("huge", hookserver.Text(strings.Repeat("x", 1<<20))),
		liar("nothing", &hookv1.Outcome{}),
	}
}

// TestHookBehaviours: what a client sees of each behaviour of a hook, in both eras, with each on-failure.
func TestHookBehaviours(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, version := range []string{vNov, v2026} {
		for _, allow := range []bool{false, true} {
			var adjust []func(*config.Hook)
			if allow {
				adjust = append(adjust, onFailureAllow)
			}
			for _, b := range hookBehaviours() {
				t.Run(fmt.Sprintf("%s/allow=%v/%s", version, allow, b.name), func(t *testing.T) {
					s := hookserver.Serve(t)
					_, e := startFixture(t, hookedBy(s, adjust...))
					c := clientOf(t, e, version, "")
					if b.request != nil {
						s.SetRequest(b.request)
					}
					if b.result != nil {
						s.OnResult(b.result)
					}
					want, wantError := b.want, b.wantError
					if b.isFailure && allow {
						want, wantError = "card 4111", ""
					}
					seesCall(t, c, want, wantError)
				})
			}
		}
	}
}

// seesCall calls echo, and compares what the client sees.
func seesCall(t *testing.T, c asker, want, wantError string) {
	t.Helper()
	m := c.ask("tools/call", `{"name":"echo","arguments":{"text":"card 4111"}}`).want(http.StatusOK).final()
	switch {
	case wantError != "":
		if m.Error == nil || m.Error.Code != -31403 || !strings.Contains(m.Error.Message, wantError) || strings.Contains(m.Error.Message, "127.0.0.1") || strings.Contains(m.Error.Message, "db.internal") {
			t.Fatalf("got %s, want the error %q", m.raw, wantError)
		}
	case m.Error != nil || !strings.Contains(string(m.raw), want):
		t.Fatalf("got %s, want %q", m.raw, want)
	}
}

// TestHookSlowDeadBusy: a hook that does not answer in time, one that is not there, and one that has too much to do fail; the breaker
// opens, and closes once it answers again.
func TestHookSlowDeadBusy(t *testing.T) {
	harness.OneProcess(t)
	s := hookserver.Serve(t)
	_, e := startFixture(t, hookedBy(s, func(h *config.Hook) { h.Timeout, h.On = 3*time.Second, config.Names{"request"} }))
	c := newStateless(t, e.URL)
	const failed = `the hook "dlp", which must check it, failed; try again later`
	s.SetRequest(endless)
	var five sync.WaitGroup // at once, so that each may have long to reach the hook
	for range 5 {
		c := newStateless(t, e.URL)
		five.Go(func() { seesCall(t, c, "", failed) })
	}
	five.Wait()
	calls, _ := s.Asked()
	seesCall(t, c, "", failed)
	if again, _ := s.Asked(); len(calls) != 5 || len(again) != 0 {
		t.Fatalf("asked %d and then %d times, want 5 and then 0: the breaker is open", len(calls), len(again))
	}
	text := newOperator(t, e).get("/metrics").want(http.StatusOK).text
	for _, want := range []string{`mcpedge_hook_breaker{mcpedge_hook_name="dlp"} 1`, `mcpedge_outcome="failed"} 5`, `mcpedge_outcome="open"} 1`} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// TestHookDead: a hook that cannot be reached denies, or passes.
func TestHookDead(t *testing.T) {
	for _, allow := range []bool{false, true} {
		s := hookserver.Serve(t)
		s.Stop()
		_, e := startFixture(t, hookedBy(s, func(h *config.Hook) {
			if allow {
				onFailureAllow(h)
			}
		}))
		if allow {
			seesCall(t, newStateless(t, e.URL), "card 4111", "")
		} else {
			seesCall(t, newStateless(t, e.URL), "", `the hook "dlp", which must check it, failed`)
		}
	}
}

// TestHookLoops: a hook that calls the edge, which asks the hook, ends with an error.
func TestHookLoops(t *testing.T) {
	harness.OneProcess(t)
	s := hookserver.Serve(t)
	_, e := startFixture(t, hookedBy(s, func(h *config.Hook) { h.Concurrency, h.On = 4, config.Names{"request"} }))
	c := newStateless(t, e.URL)
	var mu sync.Mutex
	var inner [8]string
	depth := 0
	s.SetRequest(func(ctx context.Context, req *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
		mu.Lock()
		at := depth
		depth++
		mu.Unlock()
		raw := string(c.ask("tools/call", `{"name":"echo","arguments":{"text":"x"}}`).final().raw)
		mu.Lock()
		inner[at] = raw
		mu.Unlock()
		return hookserver.Pass(ctx, req)
	})
	seesCall(t, c, "card 4111", "")
	mu.Lock()
	defer mu.Unlock()
	if depth != 4 || !strings.Contains(inner[3], `the hook \"dlp\", which checks this request, is busy`) {
		t.Errorf("the hook was asked %d times; the innermost call gave %s", depth, inner[3])
	}
}

// TestHookSeesAndOrder: what hooks get, that each sees what the one before replaced, and which calls match.
func TestHookSeesAndOrder(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	first, second := hookserver.Serve(t), hookserver.Serve(t)
	_, e := startFixture(t, withAuth(id),
		hookedBy(first, func(h *config.Hook) { h.Match, h.Claims = `tool.name == "echo"`, config.Names{"tenant"} }),
		hookedBy(second, func(h *config.Hook) { h.Name = "second" }))
	c := statelessAs(t, e, id.Token("ann", public, map[string]any{"tenant": "acme"}))
	first.SetRequest(hookserver.Arguments(`{"text":"one"}`))
	first.OnResult(hookserver.Outcome(hookserver.Text("two")))
	seesCall(t, c, "two", "")
	calls, results := first.Asked()
	if len(calls) != 1 || len(results) != 1 {
		t.Fatalf("asked %d and %d times", len(calls), len(results))
	}
	got := calls[0].GetCall()
	if got.GetMethod() != "tools/call" || got.GetArgumentsJson() != `{"text":"card 4111"}` || got.GetTarget().GetName() != "echo" || got.GetTarget().GetOwnName() != "echo" ||
		got.GetTarget().GetBackend() != "fixture" || !got.GetTarget().GetHints().GetDestructive() || got.GetCallId() == "" || got.GetRound() != 1 ||
		got.GetPrincipal().GetSubject() != "ann" || got.GetPrincipal().GetClaimsJson()["tenant"] != `"acme"` {
		t.Errorf("the hook got %v", got)
	}
	if args := results[0].GetCall().GetArgumentsJson(); args != `{"text":"one"}` {
		t.Errorf("with the result it got the arguments %s", args)
	}
	calls, results = second.Asked()
	if len(calls) != 1 || calls[0].GetCall().GetArgumentsJson() != `{"text":"one"}` || len(calls[0].GetCall().GetPrincipal().GetClaimsJson()) > 0 {
		t.Errorf("the second hook got %v", calls)
	}
	if len(results) != 1 || results[0].GetOutcome().GetTool().GetContent()[0].GetText().GetText() != "two" {
		t.Errorf("the second hook got %v", results)
	}
	c.call("add", `{"a":1,"b":2}`).want(http.StatusOK)
	if calls, _ := first.Asked(); len(calls) > 0 {
		t.Errorf("a call that does not match was checked: %v", calls)
	}
}

// TestHookReplacedIsDecidedAgain: arguments that a hook replaces are decided on by the rules, confirmed and validated as if they had been sent.
func TestHookReplacedIsDecidedAgain(t *testing.T) {
	s, w := hookserver.Serve(t), newWiper()
	e := startEdge(t, only(startService(t, w.Server)), hookedBy(s), func(c *config.Config) {
		c.Policy = &config.Policy{
			Default: "allow",
			Rules:   []config.PolicyRule{{Name: "not root", When: `tool.name == "wipe" && arguments.path == "/"`, Then: "deny"}},
			Confirm: []config.PolicyConfirm{{Name: "home", When: `arguments.path == "/home"`, Message: "Wipe {arguments.path}?"}},
		}
	})
	c := newStateless(t, e.URL)
	s.SetRequest(hookserver.Arguments(`{"path":"/"}`))
	if m := c.call("wipe", `{"path":"a"}`).json().wantError(t, -31403); !strings.Contains(m.Error.Message, "not root") {
		t.Errorf("replaced by what a rule denies: %s", m.Error.Message)
	}
	s.SetRequest(hookserver.Arguments(`{"path":7}`))
	if got := c.call("wipe", `{"path":"a"}`).result(); got["isError"] != true {
		t.Errorf("replaced by what does not fit gave %v", got)
	}
	s.SetRequest(hookserver.Arguments(`{"path":"/home"}`))
	asked := c.call("wipe", `{"path":"a"}`).want(http.StatusOK).result()
	if text := fmt.Sprint(dig(asked, "inputRequests", "mcpedge.confirm", "params", "message")); !strings.Contains(text, `Wipe "/home"?`) || !strings.Contains(text, `Arguments: {"path":"/home"}`) {
		t.Errorf("asked %q", text)
	}
	w.ran(t, 0)
	yes := retry(t, asked, confirming(sayYes))
	s.SetRequest(hookserver.Arguments(`{"path":"/home/x"}`))
	c.call("wipe", `{"path":"a"}`, yes).want(http.StatusOK).result() // needs no confirmation
	s.SetRequest(hookserver.Arguments(`{"path":"/home"}`))
	if got := c.call("wipe", `{"path":"a"}`).result(); got["resultType"] != "input_required" {
		t.Errorf("another call of the same gave %v", got)
	}
}

// TestHookPins: a hook cannot change, remove or respell an argument that the catalog pins.
func TestHookPins(t *testing.T) {
	s := hookserver.Serve(t)
	f := newFixture()
	e := startEdge(t, only(startService(t, f.Server)), hookedBy(s), func(c *config.Config) {
		c.Catalog = &config.Catalog{Tools: []config.CatalogTool{{Tool: "add", Backend: "fixture",
			Arguments: map[string]config.CatalogArgument{"a": {Value: 1}}}}}
	})
	c := newStateless(t, e.URL)
	for _, changed := range []string{`{"a":2,"b":2}`, `{"b":2}`, `{"a":1,"A":5,"b":2}`, `{"a":null,"b":2}`} {
		s.SetRequest(hookserver.Arguments(changed))
		if m := c.call("add", `{"b":2}`).json().wantError(t, -31403); !strings.Contains(m.Error.Message, `the hook "dlp"`) {
			t.Errorf("%s: %s", changed, m.Error.Message)
		}
	}
	s.SetRequest(hookserver.Arguments(`{"b":5,"a":1}`))
	if got := fmt.Sprint(dig(c.call("add", `{"b":2}`).result(), "structuredContent", "sum")); got != "6" {
		t.Errorf("a hook that keeps the pin gave %s", got)
	}
}

// TestHookSurfaces: prompts, resources, completions and errors are checked, and nothing else is.
func TestHookSurfaces(t *testing.T) {
	s := hookserver.Serve(t)
	_, e := startFixture(t, hookedBy(s))
	for _, version := range []string{vNov, v2026} {
		c := clientOf(t, e, version, "")
		for _, one := range surfaces {
			s.Asked()
			c.ask(one.method, one.params)
			calls, results := s.Asked()
			switch one.method {
			case "tools/call", "prompts/get", "resources/read", "completion/complete":
				if len(calls) != 1 || calls[0].GetCall().GetMethod() != one.method {
					t.Errorf("%s: %s %s: the hook was asked %v", version, one.method, one.params, calls)
				}
			default:
				if len(calls)+len(results) > 0 {
					t.Errorf("%s: %s was checked", version, one.method)
				}
			}
		}
	}
}

// TestHookErrors: the text of a backend's error is checked.
func TestHookErrors(t *testing.T) {
	s := hookserver.Serve(t)
	b := capability.New("b", "1")
	capability.AddTool(b, "break", "Fails", func(context.Context, *capability.Call, struct{}) (string, error) {
		return "", capability.Errorf(capability.FailedPrecondition, "card 4111")
	})
	e := startEdge(t, only(startService(t, b)), hookedBy(s))
	c := newStateless(t, e.URL)
	s.OnResult(hookserver.Outcome(&hookv1.Outcome{Outcome: &hookv1.Outcome_Error{Error: &hookv1.Error{Message: "card ****"}}}))
	if got := string(c.call("break", `{}`).json().raw); !strings.Contains(got, "card ****") || strings.Contains(got, "4111") {
		t.Errorf("the client got %s", got)
	}
	s.OnResult(hookserver.DenyResult(""))
	if got := string(c.call("break", `{}`).json().raw); !strings.Contains(got, `forbidden by the hook`) || strings.Contains(got, "4111") {
		t.Errorf("the client got %s", got)
	}
}
