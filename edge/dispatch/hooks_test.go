package dispatch

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/once"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/edge/redact"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
)

// checkedBy adds a hook at every point to options.
func checkedBy(t testing.TB, o Options, s *hookserver.Server, adjust ...func(*hook.Options)) Options {
	t.Helper()
	ho := hook.Options{Name: "h", Target: s.Addr, On: []hook.Point{hook.Request, hook.Answer, hook.Result}, Timeout: 20 * time.Second}
	for _, f := range adjust {
		f(&ho)
	}
	h, err := hook.New(ho)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	chain := hook.NewChain([]*hook.Hook{h})
	o.Hooks = func() *hook.Chain { return chain }
	return o
}

func audited(o *hook.Options) { o.Audit = true }

// A member that the method does not have keeps no request from its hooks.
func TestHooksAreAskedWhateverIsSent(t *testing.T) {
	s := hookserver.Serve(t)
	s.SetRequest(hookserver.Deny("no"))
	f := everything()
	d := start(t, checkedBy(t, Options{}, s), f)
	for _, one := range []struct {
		method mcp.Method
		params string
	}{
		{mcp.MethodResourcesRead, `"uri":"` + f.resources[0].GetUri() + `"`},
		{mcp.MethodPromptsGet, `"name":"` + f.prompts[0].GetName() + `"`},
		{mcp.MethodToolsCall, `"name":"` + f.tools[0].GetName() + `"`},
		{mcp.MethodComplete, `"ref":{"type":"ref/prompt","name":"` + f.prompts[0].GetName() + `"},"argument":{"name":"a","value":"x"}`},
	} {
		for _, arguments := range []string{`7`, `[]`, `"x"`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `null`, `{}`} {
			_, err := d.Call(t.Context(), rules(t, modern), request(t, one.method, `{`+one.params+`,"arguments":`+arguments+`}`), nil)
			if kind := kindOf(t, err); kind != mcp.KindForbidden && kind != mcp.KindInvalidParams {
				t.Errorf("%s with the arguments %s: %v", one.method, arguments, err)
			}
		}
	}
	if calls, _ := f.seen(); calls != 0 {
		t.Errorf("the backend was called %d times", calls)
	}
}

// The text of an error that names scopes is the backend's.
func TestHooksCheckErrorsWithScopes(t *testing.T) {
	s := hookserver.Serve(t)
	s.OnResult(hookserver.Outcome(&hookv1.Outcome{Outcome: &hookv1.Outcome_Error{Error: &hookv1.Error{Message: "card ****"}}}))
	f := everything()
	f.onCall = stream(nil, &pb.CallToolResponse{Message: &pb.CallToolResponse_Failure{Failure: &pb.Failure{
		Reason: pb.FailureReason_FAILURE_REASON_PERMISSION_DENIED, Message: "card 4111", Scopes: []string{"cards"}}}})
	d := start(t, checkedBy(t, Options{}, s), f)
	_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"`+f.tools[0].GetName()+`","arguments":{}}`), nil)
	if e := mcp.AsError(err); err == nil || e.Message != "card ****" || e.Challenge == nil {
		t.Errorf("got %+v", e)
	}
}

// What a hook has replaced in an error is in no cause of it, which the log has.
func TestHooksReplaceCauses(t *testing.T) {
	s := hookserver.Serve(t)
	s.OnResult(hookserver.Outcome(&hookv1.Outcome{Outcome: &hookv1.Outcome_Error{Error: &hookv1.Error{Message: "card ****"}}}))
	f := everything()
	f.onCall = func(*pb.CallToolRequest, grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		return status.Error(codes.Internal, "card 4111")
	}
	d := start(t, checkedBy(t, Options{}, s), f)
	_, err := d.Call(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"`+f.tools[0].GetName()+`","arguments":{}}`), nil)
	if e := mcp.AsError(err); err == nil || e.Message != "card ****" || e.Cause() != nil || e.Reason != "" {
		t.Errorf("got %+v, caused by %v", e, e.Cause())
	}
}

// Secrets are replaced after hooks: what a hook adds is redacted, too, and hooks see what the backend has returned.
func TestHooksAreRedacted(t *testing.T) {
	const sent, added = "secret-1111", "secret-2222"
	text := func(s string) *pb.ContentBlock {
		return &pb.ContentBlock{Content: &pb.ContentBlock_Text{Text: &pb.TextContent{Text: s}}}
	}
	masker, err := redact.Compile([]redact.Rule{{Name: "s", Pattern: `secret-\d+`}})
	if err != nil {
		t.Fatal(err)
	}
	for _, isAudit := range []bool{false, true} {
		s := hookserver.Serve(t)
		var mu sync.Mutex
		var saw []string
		s.OnResult(func(ctx context.Context, req *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error) {
			mu.Lock()
			saw = append(saw, req.GetOutcome().String())
			mu.Unlock()
			with := &hookv1.Outcome{}
			switch o := req.GetOutcome().GetOutcome().(type) {
			case *hookv1.Outcome_Tool:
				with = hookserver.Text(added)
			case *hookv1.Outcome_Resource:
				o.Resource.Contents[0].Body = &pb.ResourceContents_Text{Text: added}
				with.Outcome = o
			case *hookv1.Outcome_Prompt:
				o.Prompt.Messages[0].Content = text(added)
				with.Outcome = o
			case *hookv1.Outcome_Values:
				o.Values.Values = []string{added}
				with.Outcome = o
			}
			return hookserver.Outcome(with)(ctx, req)
		})
		f := everything()
		f.onCall = stream(nil, toolText(sent))
		f.onRead = func(in *pb.ReadResourceRequest, s grpc.ServerStreamingServer[pb.ReadResourceResponse]) error {
			return s.Send(&pb.ReadResourceResponse{Message: &pb.ReadResourceResponse_Result{Result: &pb.ReadResourceResult{
				Contents: []*pb.ResourceContents{{Uri: in.GetUri(), Body: &pb.ResourceContents_Text{Text: sent}}}}}})
		}
		f.onPrompt = func(_ *pb.GetPromptRequest, s grpc.ServerStreamingServer[pb.GetPromptResponse]) error {
			return s.Send(&pb.GetPromptResponse{Message: &pb.GetPromptResponse_Result{Result: &pb.GetPromptResult{
				Messages: []*pb.PromptMessage{{Role: pb.Role_ROLE_USER, Content: text(sent)}}}}})
		}
		f.onComplete = func(string, string, string) ([]string, error) { return []string{sent}, nil }
		var adjust []func(*hook.Options)
		if isAudit {
			adjust = append(adjust, audited)
		}
		d := start(t, checkedBy(t, Options{Redact: func() *redact.Masker { return masker }}, s, adjust...), f)
		for method, params := range map[mcp.Method]string{
			mcp.MethodToolsCall:     `{"name":"` + f.tools[0].GetName() + `","arguments":{}}`,
			mcp.MethodResourcesRead: `{"uri":"` + f.resources[0].GetUri() + `"}`,
			mcp.MethodPromptsGet:    `{"name":"` + f.prompts[0].GetName() + `"}`,
			mcp.MethodComplete:      `{"ref":{"type":"ref/prompt","name":"` + f.prompts[0].GetName() + `"},"argument":{"name":"a","value":"x"}}`,
		} {
			reply, err := d.Call(t.Context(), rules(t, modern), request(t, method, params), nil)
			if err != nil || strings.Contains(string(reply.Result), "secret-") {
				t.Errorf("audit=%v, %s gave %s, %v", isAudit, method, reply.Result, err)
			}
		}
		for _, text := range saw {
			if !strings.Contains(text, sent) {
				t.Errorf("a hook got %s", text)
			}
		}
		if len(saw) != 4 {
			t.Errorf("the hook got %d results", len(saw))
		}
	}
}

// The question of a confirmation shows what a hook has replaced, also a default of the catalog, and never what is pinned.
func TestHooksAndTheQuestion(t *testing.T) {
	s := hookserver.Serve(t)
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: findSchema}}}
	o := overlaid(pinnedTenant(t))
	o.Access, o.Confirmations = by(control(t, guarded("Go?"))), once.NewMemory(100)
	d := start(t, checkedBy(t, o, s), f)
	for with, want := range map[string]string{
		`{"query":"x","limit":20,"tenantId":"acme","verbose":false}`:   `Arguments: {"query":"x"}`,
		`{"query":"x","limit":9999,"tenantId":"acme","verbose":false}`: `Arguments: {"query":"x","limit":9999}`,
		`{"verbose":false,"limit":9999,"tenantId":"acme"}`:             ``, // does not fit
	} {
		s.SetRequest(hookserver.Arguments(with))
		call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x"}}`)
		call.Principal, call.Client = callerOf(`"acme"`), able
		reply, err := d.Call(t.Context(), rules(t, modern), call, nil)
		if want == "" {
			continue
		}
		if err != nil || reply.Input == nil {
			t.Fatalf("%s: %s, %v", with, reply.Result, err)
		}
		text, _ := json.Marshal(reply.Input.Requests)
		plain := strings.ReplaceAll(string(text), `\`, "")
		if !strings.Contains(plain, want) || strings.Contains(plain, "acme") || strings.Contains(plain, "verbose") {
			t.Errorf("%s: the question is %s", with, plain)
		}
	}
}

// A pinned value is the same in every spelling of JSON, since hooks write their own.
func TestHooksKeepPins(t *testing.T) {
	s := hookserver.Serve(t)
	f := &fake{name: "one", tools: []*pb.Tool{{Name: "find", InputSchemaJson: findSchema}}}
	d := start(t, checkedBy(t, overlaid(pinnedTenant(t)), s), f)
	call := func(with string) error {
		s.SetRequest(hookserver.Arguments(with))
		call := request(t, mcp.MethodToolsCall, `{"name":"find","arguments":{"query":"x"}}`)
		call.Principal = callerOf(`"Zürich"`)
		_, err := d.Call(t.Context(), rules(t, modern), call, nil)
		return err
	}
	for _, with := range []string{
		`{"query":"x","limit":20,"tenantId":"Zürich","verbose":false}`,
		`{"query":"x", "limit":20, "tenantId":"Z\u00fcrich", "verbose":false}`,
		`{"query":"x","limit":20,"\u0074enantId":"Z\u00FCrich","verbose":false}`,
	} {
		if err := call(with); err != nil {
			t.Errorf("%s: %v", with, err)
		}
	}
	calls, _ := f.seen()
	for _, with := range []string{
		`{"query":"x","limit":20,"tenantId":"Zurich","verbose":false}`, `{"query":"x","limit":20,"tenantId":"Zürich"}`,
		`{"query":"x","limit":20,"tenantId":"Zürich","verbose":false,"tenant_id":"Zürich"}`, `{"query":"x","limit":20,"tenantId":"Zürich","verbose":null}`,
		`{"query":"x","limit":20,"tenantid":"Zürich","verbose":false}`, `{"query":"x","limit":20,"tenantId":"Zürich","tenantId.x":"a","verbose":false}`,
	} {
		if err := call(with); kindOf(t, err) != mcp.KindForbidden {
			t.Errorf("%s: %v", with, err)
		}
	}
	if again, _ := f.seen(); again != calls {
		t.Errorf("%d calls with other pins ran", again-calls)
	}
}

// A call that needs a confirmation because of a hook runs once, also if its replica is lost: its target was resolved as one
// that may be run again.
func TestHooksAndConfirmationsOfLostCalls(t *testing.T) {
	s := hookserver.Serve(t)
	g := newGuards(t)
	g.f.tools[0].Annotations = &pb.ToolAnnotations{Idempotent: proto.Bool(true)}
	settings := policy.Settings{Default: policy.Allow, Confirm: []policy.Confirm{{Name: "x", When: `has(arguments.x)`, Message: "Go?"}}}
	d := start(t, checkedBy(t, Options{Access: by(control(t, settings)), Confirmations: g.store}, s), g.f)
	s.SetRequest(hookserver.Arguments(`{"x":1}`))
	state := g.ask(d, rules(t, legacy))
	run := func(attempt int) error {
		c := request(t, mcp.MethodToolsCall, `{"name":"`+g.f.tools[0].GetName()+`","arguments":{}}`)
		c.Client, c.Round, c.Attempt, c.State, c.Responses, c.Begun = able, 2, attempt, state, yes(), true
		_, err := d.Call(t.Context(), rules(t, legacy), c, nil)
		return err
	}
	if err := run(1); err != nil {
		t.Fatal(err)
	}
	if err := run(2); kindOf(t, err) != mcp.KindUnknownOutcome {
		t.Errorf("the second attempt: %v", err)
	}
	g.ran(1)
}

// A hook in audit mode changes nothing, also if there is no memory to ask it.
func TestAuditWithoutMemory(t *testing.T) {
	s := hookserver.Serve(t)
	f := everything()
	f.onCall = func(_ *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		return s.Send(toolText("done"))
	}
	d := start(t, checkedBy(t, Options{}, s, audited), f)
	large := `{"a":"` + strings.Repeat("x", 300<<10) + `"}`
	b := budget.New(1 << 19)
	held, err := b.Named("c").Reserve(budget.Checks, 1)
	if err != nil {
		t.Fatal(err)
	}
	call := request(t, mcp.MethodToolsCall, `{"name":"`+f.tools[0].GetName()+`","arguments":`+large+`}`)
	call.Memory = &held
	if reply, err := d.Call(t.Context(), rules(t, modern), call, nil); err != nil || !strings.Contains(string(reply.Result), "done") {
		t.Errorf("got %s, %v", reply.Result, err)
	}
}

// Rounds pay nothing for hooks that there are not.
func TestNoHooksCostNothing(t *testing.T) {
	for costs, o := range map[bool]Options{false: {Hooks: func() *hook.Chain { return nil }}, true: checkedBy(t, Options{}, hookserver.Serve(t))} {
		f := everything()
		d := start(t, o, f)
		resolved, err := d.Resolve(t.Context(), rules(t, modern), request(t, mcp.MethodToolsCall, `{"name":"one","arguments":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		r := resolved.Handle.(*round)
		out := &pb.CallToolResult{}
		n := leastAllocs(func() {
			chain, err := d.acquireHooks()
			if err != nil || (chain != nil) != costs {
				t.Fatal(chain, err)
			}
			if chain != nil {
				defer chain.Release()
				r.hooks = &hookState{chain: chain, ctx: t.Context()}
			}
			if err := r.hookRequest(); err != nil {
				t.Fatal(err)
			}
			if _, err := r.check(toolResult{out}); err != nil {
				t.Fatal(err)
			}
		})
		if (n > 0) != costs {
			t.Errorf("with hooks %t: %v allocations", costs, n)
		}
	}
}
