package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
)

// TestHookWays: a call is checked once, whatever the way that it takes.
func TestHookWays(t *testing.T) {
	harness.OneProcess(t)
	s, w := hookserver.Serve(t), newWiper()
	e := startEdge(t, only(startService(t, w.Server)), hookedBy(s), func(c *config.Config) {
		c.Sets = map[string]config.Set{"few": {Include: config.SetMembers{Tools: config.Names{"*"}}, Search: "on"}}
	})
	s.SetRequest(hookserver.Arguments(`{"path":"b"}`))
	s.OnResult(hookserver.Outcome(hookserver.Text("masked")))
	checked := func(what string, seen string) {
		t.Helper()
		calls, results := s.Asked()
		if len(calls) != 1 || len(results) != 1 || results[0].GetCall().GetArgumentsJson() != `{"path":"b"}` || calls[0].GetCall().GetTarget().GetName() != "job" {
			t.Errorf("%s: asked %v and %v", what, calls, results)
		}
		if !strings.Contains(seen, "masked") || strings.Contains(seen, "run ") {
			t.Errorf("%s gave %s", what, seen)
		}
	}
	checked("call_tool", string(wrapped(t, newStateless(t, e.URL+"/few"), "job", `{"path":"a"}`, nil).body))
	checked("the REST API", newOperator(t, e).post("/v1/tools/job:call", `{"arguments":{"path":"a"}}`).want(http.StatusOK).text)
	session := newSession(t, e.URL, vNov)
	id, _ := dig(session.request("tools/call", `{"name":"job","arguments":{"path":"a"},"task":{}}`).want(http.StatusOK).result(), "task", "taskId").(string)
	checked("a task", string(session.request("tasks/result", `{"taskId":"`+id+`"}`).want(http.StatusOK).final().raw))
	session.request("tasks/result", `{"taskId":"`+id+`"}`).want(http.StatusOK).final()
	if calls, results := s.Asked(); len(calls)+len(results) > 0 {
		t.Errorf("a result that is read again was checked again: %v, %v", calls, results)
	}
}

// TestHookAnswers: the client's answers to a backend's questions are checked before the backend gets them.
func TestHookAnswers(t *testing.T) {
	s := hookserver.Serve(t)
	b := capability.New("b", "1")
	capability.AddTool(b, "who", "Asks", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		in, err := capability.Ask[struct {
			Name string `json:"name"`
		}](c, "name", "Who?")
		return "it is " + in.Name, err
	})
	e := startEdge(t, only(startService(t, b)), hookedBy(s))
	c := newStateless(t, e.URL)
	by := func(answer func(a *hookv1.Answer) *hookv1.CheckRequestResponse) {
		s.SetRequest(func(ctx context.Context, req *hookv1.CheckRequestRequest) (*hookv1.CheckRequestResponse, error) {
			if len(req.GetAnswers()) == 0 {
				return hookserver.Pass(ctx, req)
			}
			return answer(req.GetAnswers()[0]), nil
		})
	}
	replaced := func(key, result string) *hookv1.CheckRequestResponse {
		return &hookv1.CheckRequestResponse{Verdict: &hookv1.CheckRequestResponse_Replace{
			Replace: &hookv1.RequestReplacement{Answers: []*hookv1.Answer{{Key: key, ResultJson: result}}}}}
	}
	answered := func() *reply {
		asked := c.call("who", `{}`).want(http.StatusOK).result()
		return c.call("who", `{}`, retry(t, asked, `{"name":{"action":"accept","content":{"name":"Ada"}}}`)).want(http.StatusOK)
	}
	by(func(a *hookv1.Answer) *hookv1.CheckRequestResponse {
		return replaced(a.GetKey(), strings.ReplaceAll(a.GetResultJson(), "Ada", "nobody"))
	})
	if got := answered().text(); got != "it is nobody" {
		t.Errorf("a replaced answer gave %q", got)
	}
	for _, lie := range []*hookv1.CheckRequestResponse{replaced("other", `{"action":"accept"}`), replaced("name", `[]`), {}} {
		by(func(*hookv1.Answer) *hookv1.CheckRequestResponse { return lie })
		answered().json().wantError(t, -31403)
	}
}

// TestHookHeaders: headers mirror the arguments that the client sent, and not those of a hook.
func TestHookHeaders(t *testing.T) {
	s := hookserver.Serve(t)
	_, e := startFixture(t, hookedBy(s))
	c := newStateless(t, e.URL)
	s.SetRequest(hookserver.Arguments(`{"region":"us"}`))
	call := func(region string) *reply {
		return c.request("tools/call", map[string]any{"name": "region", "arguments": map[string]any{"region": "eu"}}, "Mcp-Param-Region", region)
	}
	if got := call("eu").want(http.StatusOK).text(); got != "in us" {
		t.Errorf("the header of the sent argument gave %q", got)
	}
	call("us").want(http.StatusBadRequest)
}
