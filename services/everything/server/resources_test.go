package server

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestResources(t *testing.T) {
	c := start(t)
	list, err := c.Resources.ListResources(timed(t), &mcpedgev1.ListResourcesRequest{})
	if err != nil || len(list.GetResources()) != 3 || list.GetCache().GetTtl().AsDuration() != 5*time.Minute {
		t.Fatalf("%v, %v", list, err)
	}
	for _, r := range list.GetResources() {
		out, err := c.ReadResource(timed(t), r.GetUri())
		if err != nil || out.Result == nil {
			t.Fatalf("%s: %v, %v", r.GetUri(), out, err)
		}
		got := out.Result.GetContents()[0]
		if r.GetDescription() == "" || got.GetUri() != r.GetUri() || got.GetMimeType() != r.GetMimeType() || got.GetBody() == nil {
			t.Errorf("%v: %v", r, got)
		}
	}
	for uri, want := range map[string]string{
		"test://static-text":       "This is the content of the static text resource.",
		"test://template/123/data": `{"id":"123","templateTest":true,"data":"Data for ID: 123"}`,
		"test://watched-resource":  "Watched resource content, version ",
	} {
		out, err := c.ReadResource(timed(t), uri)
		if err != nil || !strings.HasPrefix(out.Result.GetContents()[0].GetText(), want) {
			t.Errorf("%s: %v, %v", uri, out, err)
		}
	}
	for _, uri := range []string{"test://nonexistent-resource-for-conformance-testing", "test://watched-resource/x", "test://template/123"} {
		if out, err := c.ReadResource(timed(t), uri); err != nil || out.Failure.GetReason() != capability.NotFound {
			t.Errorf("%s: %v, %v", uri, out, err)
		}
	}
}

func TestAskingRead(t *testing.T) {
	c := start(t)
	c.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Accepted(`{"context":"all of it"}`)
	}
	out, err := c.ReadResource(timed(t), "test://ask/weather")
	if err != nil || out.Rounds != 2 || out.Result.GetContents()[0].GetText() != "all of it" {
		t.Errorf("%v, %v", out, err)
	}
	c.Answer = func(*capability.InputRequest) *capability.InputResponse { return capabilitytest.Declined() }
	if out, err = c.ReadResource(timed(t), "test://ask/weather"); err != nil || out.Failure.GetReason() != capability.FailedPrecondition {
		t.Errorf("declined: %v, %v", out, err)
	}
}

func TestWatchedResourceChangesByItself(t *testing.T) {
	c := start(t)
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
	defer cancel()
	stream, err := c.Resources.WatchResource(ctx, &mcpedgev1.WatchResourceRequest{Uri: watchedURI})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err != nil || m.GetStarted() == nil {
		t.Fatalf("%v, %v", m, err)
	}
	seen := map[string]bool{}
	for len(seen) < 2 { // Updates that were received late may be of the same contents.
		if m, err := stream.Recv(); err != nil || m.GetUpdated().GetUri() != watchedURI {
			t.Fatalf("%v, %v", m, err)
		}
		out, err := c.ReadResource(ctx, watchedURI)
		if err != nil {
			t.Fatal(err)
		}
		seen[out.Result.GetContents()[0].GetText()] = true
	}
	cancel()
	for err == nil { // Updates that were sent before come first.
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Canceled {
		t.Errorf("after the watch: %v", err)
	}
}

func TestPrompts(t *testing.T) {
	c := start(t)
	c.Answer = func(*capability.InputRequest) *capability.InputResponse {
		return capabilitytest.Accepted(`{"context":"tests"}`)
	}
	for name, test := range map[string]struct {
		arguments map[string]string
		kinds     string
		text      string
	}{
		"test_simple_prompt":                 {nil, "text", "This is a simple prompt for testing."},
		"test_prompt_with_arguments":         {map[string]string{"arg1": "a", "arg2": "b"}, "text", "Prompt with arguments: arg1='a', arg2='b'"},
		"test_prompt_with_embedded_resource": {map[string]string{"resourceUri": "test://x"}, "resource test://x text", "Please process the embedded resource above."},
		"test_prompt_with_image":             {nil, "image text", "Please analyze the image above."},
		"test_input_required_result_prompt":  {nil, "text", "Prompt with context: tests"},
	} {
		out, err := c.GetPrompt(timed(t), name, test.arguments)
		if err != nil || out.Result == nil {
			t.Errorf("%s: %v, %v", name, out, err)
			continue
		}
		var kinds []string
		var last string
		for _, m := range out.Result.GetMessages() {
			switch content := m.GetContent(); {
			case content.GetImage() != nil:
				kinds = append(kinds, "image")
			case content.GetResource() != nil:
				kinds = append(kinds, "resource", content.GetResource().GetUri())
			default:
				kinds = append(kinds, "text")
				last = content.GetText().GetText()
			}
			if m.GetRole() != capability.User {
				t.Errorf("%s: role %v", name, m.GetRole())
			}
		}
		if got := strings.Join(kinds, " "); got != test.kinds || last != test.text {
			t.Errorf("%s: %s %q, want %s %q", name, got, last, test.kinds, test.text)
		}
	}
	got, err := c.Prompts.CompletePrompt(timed(t), &mcpedgev1.CompletePromptRequest{Name: "test_prompt_with_arguments", ArgumentName: "arg1", ArgumentValue: "par"})
	if err != nil || strings.Join(got.GetValues(), " ") != "paris park party" {
		t.Errorf("completion %v, %v", got, err)
	}
}
