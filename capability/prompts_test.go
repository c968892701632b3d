package capability_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func addPrompt[Out capability.PromptOutput](s *capability.Server, name string, out Out) {
	capability.AddPrompt(s, &capability.Prompt{Name: name, Description: "d"},
		func(context.Context, *capability.Call, map[string]string) (Out, error) { return out, nil })
}

func TestPrompts(t *testing.T) {
	s := capability.New("prompts", "1")
	hello := capability.Message(capability.User, capability.Text("hello"))
	addPrompt(s, "string", "hello")
	addPrompt(s, "message", hello)
	addPrompt(s, "messages", []*capability.PromptMessage{hello, capability.Message(capability.Assistant, capability.Text("hi"))})
	addPrompt(s, "result", &capability.PromptResult{Description: "other", Messages: []*capability.PromptMessage{hello}})
	capability.AddPrompt(s, &capability.Prompt{Name: "review", Arguments: []*capability.PromptArgument{{Name: "lang", Required: true}}},
		func(_ context.Context, c *capability.Call, args map[string]string) (string, error) {
			c.SetMeta(json.RawMessage(`{"m":1}`))
			_, err := capability.Ask[age](c, "age", "How old?")
			return "Review " + args["lang"], err
		}, capability.Suggest("lang", "Go", "Rust"))
	c := capabilitytest.Start(t, s)
	c.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Accepted(`{"years":7}`)
	}

	review := capability.Message(capability.User, capability.Text("Review Go"))
	for name, want := range map[string]*mcpedgev1.GetPromptResult{
		"string": {Description: "d", Messages: []*capability.PromptMessage{hello}}, "message": {Description: "d", Messages: []*capability.PromptMessage{hello}},
		"messages": {Description: "d", Messages: []*capability.PromptMessage{hello, capability.Message(capability.Assistant, capability.Text("hi"))}},
		"result":   {Description: "other", Messages: []*capability.PromptMessage{hello}},
		"review":   {Messages: []*capability.PromptMessage{review}, MetaJson: `{"m":1}`},
	} {
		var arguments map[string]string
		if name == "review" {
			arguments = map[string]string{"lang": "Go"}
		}
		out, err := c.GetPrompt(limit(t), name, arguments)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, out.Result, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	out, err := c.GetPrompt(limit(t), "review", map[string]string{"lang": "Go", "tone": "kind"})
	if err != nil || out.Failure.GetReason() != capability.InvalidArgument || !strings.Contains(out.Failure.GetMessage(), `"tone"`) {
		t.Errorf("an unknown argument: %v, %v", out, err)
	}
	for name, want := range map[string]capability.Reason{"none": capability.NotFound, "review": capability.InvalidArgument} {
		if out, err := c.GetPrompt(limit(t), name, nil); err != nil || out.Failure.GetReason() != want {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
	got, err := c.Prompts.CompletePrompt(limit(t), &mcpedgev1.CompletePromptRequest{Name: "review", ArgumentName: "lang", ArgumentValue: "r"})
	if err != nil || !cmp.Equal(got.GetValues(), []string{"Rust"}) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.Prompts.CompletePrompt(limit(t), &mcpedgev1.CompletePromptRequest{Name: "none"}); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown prompt: %v", err)
	}
	list, err := c.Prompts.ListPrompts(limit(t), &mcpedgev1.ListPromptsRequest{PageSize: 3})
	if err != nil || len(list.GetPrompts()) != 3 || list.GetNextPageToken() == "" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestCompletionCannotAsk(t *testing.T) {
	s := capability.New("prompts", "1")
	capability.AddPrompt(s, &capability.Prompt{Name: "p", Arguments: []*capability.PromptArgument{{Name: "a"}}},
		func(context.Context, *capability.Call, map[string]string) (string, error) { return "", nil },
		capability.Complete("a", func(_ context.Context, c *capability.Call, _ string, _ map[string]string) ([]string, error) {
			c.Progress(1, 1, "dropped")
			c.Roots("r")
			return nil, nil
		}))
	c := capabilitytest.Start(t, s)
	if _, err := c.Prompts.CompletePrompt(limit(t), &mcpedgev1.CompletePromptRequest{Name: "p", ArgumentName: "a"}); status.Code(err) != codes.Internal {
		t.Errorf("%v", err)
	}
}
