package hook_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability/hook"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func serve(t *testing.T, h hook.Hook) hookv1.HookServiceClient {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.ServeListener(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return hookv1.NewHookServiceClient(conn)
}

func mask(text string) string { return strings.ReplaceAll(text, "4111", "****") }

func TestRequest(t *testing.T) {
	c := serve(t, hook.Hook{Request: func(_ context.Context, call *hook.Call) error {
		switch call.GetMethod() {
		case "deny":
			return hook.Denyf("no %s", "cards")
		case "fail":
			return errors.New("no memory")
		}
		call.ArgumentsJson = hook.MapStrings(call.GetArgumentsJson(), mask)
		return nil
	}})
	ask := func(method, args string) (*hookv1.CheckRequestResponse, error) {
		return c.CheckRequest(t.Context(), &hookv1.CheckRequestRequest{Call: &hookv1.Call{Method: method, ArgumentsJson: args}})
	}
	if r, err := ask("tools/call", `{"a": 1.50}`); err != nil || r.GetPass() == nil {
		t.Errorf("unchanged arguments gave %v, %v", r, err)
	}
	if r, err := ask("tools/call", `{"a": 1.50, "b":["x\"4111"]}`); err != nil || r.GetReplace().GetArgumentsJson() != `{"a": 1.50, "b":["x\"****"]}` {
		t.Errorf("changed arguments gave %v, %v", r, err)
	}
	if r, err := ask("deny", `{}`); err != nil || r.GetDeny().GetReason() != "no cards" {
		t.Errorf("a denial gave %v, %v", r, err)
	}
	if _, err := ask("fail", `{}`); status.Code(err) != codes.Internal {
		t.Errorf("a failure gave %v", err)
	}
	_, err := c.CheckResult(t.Context(), &hookv1.CheckResultRequest{})
	if _, again := c.CheckRequest(t.Context(), &hookv1.CheckRequestRequest{Answers: []*hookv1.Answer{{}}}); status.Code(err) != codes.Unimplemented || status.Code(again) != codes.Unimplemented {
		t.Errorf("what the hook does not check gave %v and %v", err, again)
	}
}

func TestAnswersAndResult(t *testing.T) {
	c := serve(t, hook.Hook{
		Answers: func(_ context.Context, _ *hook.Call, answers []*hook.Answer) error {
			answers[0].ResultJson = hook.MapStrings(answers[0].GetResultJson(), mask)
			return nil
		},
		Result: func(_ context.Context, _ *hook.Call, out *hook.Outcome) error { hook.MapTexts(out, mask); return nil },
	})
	for text, want := range map[string]string{`{"a":"4111"}`: `{"a":"****"}`, `{"a":"b"}`: ""} {
		r, err := c.CheckRequest(t.Context(), &hookv1.CheckRequestRequest{Answers: []*hookv1.Answer{{Key: "k", ResultJson: text}}})
		got := ""
		if answers := r.GetReplace().GetAnswers(); len(answers) > 0 {
			got = answers[0].GetResultJson()
		}
		if err != nil || got != want {
			t.Errorf("%s gave %v, %v", text, r, err)
		}
	}
	text := func(s string) *mcpedgev1.ContentBlock {
		return &mcpedgev1.ContentBlock{Content: &mcpedgev1.ContentBlock_Text{Text: &mcpedgev1.TextContent{Text: s}}}
	}
	for what, out := range map[string]*hookv1.Outcome{
		"tool": {Outcome: &hookv1.Outcome_Tool{Tool: &mcpedgev1.CallToolResult{StructuredContentJson: `{"4111":["4111"]}`, MetaJson: `{"a":"4111"}`,
			Content: []*mcpedgev1.ContentBlock{text("4111"), {MetaJson: `{"a":"4111"}`, Content: &mcpedgev1.ContentBlock_RawJson{RawJson: `{"type":"x","t":"4111"}`}},
				{Content: &mcpedgev1.ContentBlock_ResourceLink{ResourceLink: &mcpedgev1.Resource{Title: "4111", Description: "4111"}}},
				{Content: &mcpedgev1.ContentBlock_Resource{Resource: &mcpedgev1.ResourceContents{Body: &mcpedgev1.ResourceContents_Text{Text: "4111"}}}}}}}},
		"resource": {Outcome: &hookv1.Outcome_Resource{Resource: &mcpedgev1.ReadResourceResult{
			Contents: []*mcpedgev1.ResourceContents{{Body: &mcpedgev1.ResourceContents_Text{Text: "4111"}}}}}},
		"prompt": {Outcome: &hookv1.Outcome_Prompt{Prompt: &mcpedgev1.GetPromptResult{Description: "4111", Messages: []*mcpedgev1.PromptMessage{{Content: text("4111")}}}}},
		"values": {Outcome: &hookv1.Outcome_Values{Values: &hookv1.Values{Values: []string{"4111"}}}},
		"error":  {Outcome: &hookv1.Outcome_Error{Error: &hookv1.Error{Message: "4111", DataJson: `"4111"`}}},
	} {
		r, err := c.CheckResult(t.Context(), &hookv1.CheckResultRequest{Outcome: out})
		if err != nil || r.GetReplace() == nil || strings.Contains(r.String(), "4111") || !strings.Contains(r.String(), "****") {
			t.Errorf("%s gave %v, %v", what, r, err)
		}
	}
	if r, err := c.CheckResult(t.Context(), &hookv1.CheckResultRequest{Outcome: &hookv1.Outcome{}}); err != nil || r.GetPass() == nil {
		t.Errorf("an unknown outcome gave %v, %v", r, err)
	}
}

func TestEntries(t *testing.T) {
	c := serve(t, hook.Hook{Entry: func(_ context.Context, e *hook.Entry) error {
		switch e.GetTarget().GetName() {
		case "hidden":
			return hook.Deny("not reviewed")
		case "fails":
			return errors.New("no memory")
		}
		e.Description = mask(e.GetDescription())
		return nil
	}})
	entry := func(name, description string) *hookv1.ListEntry {
		return &hookv1.ListEntry{Target: &hookv1.Target{Name: name}, Title: "T", Description: description}
	}
	r, err := c.CheckList(t.Context(), &hookv1.CheckListRequest{Entries: []*hookv1.ListEntry{entry("a", "b"), entry("hidden", ""), entry("c", "4111")}})
	if v := r.GetVerdicts(); err != nil || len(v) != 3 || v[0].GetPass() == nil || v[1].GetDeny().GetReason() != "not reviewed" ||
		v[2].GetReplace().GetDescription() != "****" || v[2].GetReplace().GetTitle() != "T" {
		t.Errorf("got %v, %v", r, err)
	}
	if _, err := c.CheckList(t.Context(), &hookv1.CheckListRequest{Entries: []*hookv1.ListEntry{entry("a", ""), entry("fails", "")}}); status.Code(err) != codes.Internal {
		t.Errorf("a failure gave %v", err)
	}
	if _, err := serve(t, hook.Hook{}).CheckList(t.Context(), &hookv1.CheckListRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("what the hook does not check gave %v", err)
	}
}
