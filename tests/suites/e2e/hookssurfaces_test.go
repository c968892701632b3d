package e2e

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability/hook"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
)

// mapped replaces all texts of results.
func mapped(ctx context.Context, req *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error) {
	hook.MapTexts(req.GetOutcome(), func(string) string { return "masked" })
	return hookserver.Outcome(req.GetOutcome())(ctx, req)
}

// misplaced replaces results by ones that are not for what was asked: of other URIs, of none, of blocks without content, of another kind.
func misplaced(ctx context.Context, req *hookv1.CheckResultRequest) (*hookv1.CheckResultResponse, error) {
	out := req.GetOutcome()
	switch o := out.GetOutcome().(type) {
	case *hookv1.Outcome_Resource:
		if o.Resource.Contents[0].Uri == "test://note" {
			o.Resource.Contents[0].Uri = "test://other"
		} else {
			o.Resource.Contents = nil
		}
	case *hookv1.Outcome_Prompt:
		o.Prompt.Messages = append(o.Prompt.Messages, &pb.PromptMessage{Content: &pb.ContentBlock{}})
	default:
		out = &hookv1.Outcome{Outcome: &hookv1.Outcome_Error{Error: &hookv1.Error{Message: "masked"}}}
	}
	return hookserver.Outcome(out)(ctx, req)
}

// TestHookResults: the results of each method are replaced, and replacements for something else are refused, over HTTP and stdio. Without
// the hook's consent no method returns anything.
func TestHookResults(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := hookserver.Serve(t)
	f, e := startFixture(t, hookedBy(s))
	over := map[string]asker{vNov: clientOf(t, e, vNov, ""), v2026: clientOf(t, e, v2026, "")}
	for _, version := range []string{vNov, v2026} {
		cfg := harness.Config(only(startService(t, f.Server))...)
		hookedBy(s)(&cfg)
		over["stdio "+version] = newStdio(t, cfg, version)
	}
	end := func(r *reply) message {
		t.Helper()
		if r.header == nil { // stdio has one message
			return parse(t, r.body)
		}
		return r.want(http.StatusOK).final()
	}
	for what, c := range over {
		for _, one := range surfaces {
			if one.method == "resources/subscribe" {
				continue
			}
			s.OnResult(hookserver.PassResult)
			plain := string(end(c.ask(one.method, one.params)).raw)
			s.OnResult(mapped)
			m := end(c.ask(one.method, one.params))
			isAdd, isEmpty := strings.Contains(one.params, `"add"`), strings.Contains(plain, `"values":[]`) // add promises numbers
			if isAdd != (m.Error != nil) || !isAdd && !isEmpty && !strings.Contains(string(m.raw), "masked") {
				t.Errorf("%s: %s %s: %s; without the hook: %s", what, one.method, one.params, m.raw, plain)
			}
			s.OnResult(misplaced)
			if m := end(c.ask(one.method, one.params)); m.Error == nil || m.Error.Code != -31403 {
				t.Errorf("%s: misplaced, %s %s: %s", what, one.method, one.params, m.raw)
			}
			s.OnResult(hookserver.DenyResult("no"))
			if m := end(c.ask(one.method, one.params)); m.Error == nil || !strings.Contains(string(m.raw), `is withheld: forbidden by the hook \"dlp\": no`) {
				t.Errorf("%s: withheld, %s %s: %s", what, one.method, one.params, m.raw)
			}
			s.SetRequest(hookserver.Deny("no"))
			if m := end(c.ask(one.method, strings.TrimSuffix(one.params, "}")+`,"extra":[7]}`)); m.Error == nil || m.Error.Code != -31403 {
				t.Errorf("%s: denied, %s %s: %s", what, one.method, one.params, m.raw)
			}
			s.SetRequest(hookserver.Pass)
		}
	}
}
