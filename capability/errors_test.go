package capability_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
)

// NOT_FOUND from a tool's handler becomes a tool error, because the tool itself exists.
func TestNotFoundFromATool(t *testing.T) {
	s := capability.New("errors", "1")
	addTool(s, "failure", func(context.Context, *capability.Call) (string, error) {
		return "", capability.Errorf(capability.NotFound, "there is no order 7")
	})
	addTool(s, "status", func(context.Context, *capability.Call) (string, error) {
		return "", status.Error(codes.NotFound, "there is no order 7")
	})
	c := capabilitytest.Start(t, s)
	for _, name := range []string{"failure", "status"} {
		if out, err := c.CallTool(limit(t), name, nil); err != nil || !out.IsError() || out.Text() != "there is no order 7" {
			t.Errorf("%s: %v, %v", name, out, err)
		}
	}
	if out, err := c.CallTool(limit(t), "none", nil); err != nil || out.Failure.GetReason() != capability.NotFound || !strings.Contains(out.Text(), "none") {
		t.Errorf("a tool that does not exist: %v, %v", out, err)
	}
}

// Masked errors without a reason are in the log only; errors with a reason are shown.
func TestMaskedErrors(t *testing.T) {
	var logged bytes.Buffer
	s := capability.New("masked", "1", capability.WithMaskedErrors(), capability.WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
	for name, err := range map[string]error{"plain": errors.New("secret"), "reason": capability.Errorf(capability.FailedPrecondition, "not open"),
		"declined": capability.ErrDeclined} {
		addTool(s, name, func(context.Context, *capability.Call) (string, error) { return "", err })
	}
	capability.AddResource(s, &capability.Resource{Uri: "x://a", Name: "a"}, func(context.Context, *capability.Call, string) (string, error) {
		return "", errors.New("secret")
	})
	addFailingPrompt(s, errors.New("secret"))
	c := capabilitytest.Start(t, s)
	plain, err := c.CallTool(limit(t), "plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	read, err := c.ReadResource(limit(t), "x://a")
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := c.GetPrompt(limit(t), "failing", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{plain.Text(), read.Text(), prompt.Text()} {
		if strings.Contains(text, "secret") || !strings.Contains(text, "INTERNAL") {
			t.Errorf("%q was shown", text)
		}
	}
	if n := strings.Count(logged.String(), "error=secret"); n != 3 {
		t.Errorf("the log has %d errors, want 3: %s", n, logged.String())
	}
	if out, err := c.CallTool(limit(t), "reason", nil); err != nil || !strings.Contains(out.Text(), "not open") {
		t.Errorf("an error with a reason: %v, %v", out, err)
	}
	if out, err := c.CallTool(limit(t), "declined", nil); err != nil || !out.IsError() || out.Text() != capability.ErrDeclined.Error() {
		t.Errorf("a declined question: %v, %v", out, err)
	}
}

func addFailingPrompt(s *capability.Server, err error) {
	capability.AddPrompt(s, &capability.Prompt{Name: "failing"}, func(context.Context, *capability.Call, map[string]string) (string, error) { return "", err })
}

// The official SDK's error about a resource that does not exist is NOT_FOUND.
func TestNotFoundOfTheOfficialSDK(t *testing.T) {
	s := capability.New("errors", "1")
	capability.AddResource(s, &capability.Resource{Uri: "x://a", Name: "a"}, func(_ context.Context, _ *capability.Call, uri string) (string, error) {
		return "", mcp.ResourceNotFoundError(uri)
	})
	if out, err := capabilitytest.Start(t, s).ReadResource(limit(t), "x://a"); err != nil || out.Failure.GetReason() != capability.NotFound {
		t.Errorf("%v, %v", out, err)
	}
}

// Forms that no client can show are refused before the question is sent.
func TestFormsThatNoClientShows(t *testing.T) {
	for want, ask := range map[string]func(){
		"uuid": func() {
			capability.Form[struct {
				ID string `json:"id" format:"uuid"`
			}]("k", "?")
		},
		"strings only": func() {
			capability.Form[struct {
				Cups int `json:"cups" enum:"1,2"`
			}]("k", "?")
		},
		"base64": func() {
			capability.Form[struct {
				File []byte `json:"file"`
			}]("k", "?")
		},
	} {
		func() {
			defer func() {
				if said, ok := recover().(string); !ok || !strings.Contains(said, want) {
					t.Errorf("panic %q, want %q in it", said, want)
				}
			}()
			ask()
		}()
	}
}

// The kit gives a call a principal, completes arguments, cancels tasks and lists the questions.
func TestKit(t *testing.T) {
	s := capability.New("kit", "1")
	var cancelled []string
	addTool(s, "whoami", func(_ context.Context, c *capability.Call) (string, error) {
		answer, err := capability.Ask[age](c, "age", "How old?")
		return c.Principal().GetSubject() + " " + string(rune('0'+answer.Years)), err
	})
	addTool(s, "job", func(context.Context, *capability.Call) (string, error) {
		return "", &capability.InputRequired{State: []byte("handle")}
	})
	s.OnCancel("job", func(_ context.Context, c *capability.Call) error {
		cancelled = append(cancelled, string(c.State()))
		return nil
	})
	capability.AddPrompt(s, &capability.Prompt{Name: "review", Arguments: []*capability.PromptArgument{{Name: "lang"}}},
		func(context.Context, *capability.Call, map[string]string) (string, error) { return "Review", nil }, capability.Suggest("lang", "Go", "Rust"))
	capability.AddTemplate(s, &capability.ResourceTemplate{UriTemplate: "x://{name}", Name: "x"},
		func(_ context.Context, _ *capability.Call, _ string, vars map[string]string) (string, error) {
			return vars["name"], nil
		},
		capability.Suggest("name", "ada", "bob"))
	c := capabilitytest.Start(t, s)
	c.Principal = &capability.Principal{Subject: "ada"}
	out, err := c.CallTool(limit(t), "whoami", nil)
	if err != nil || !strings.Contains(out.Text(), `asks for "age"`) {
		t.Errorf("a question without an answer: %v, %v", out, err)
	}
	c.Answer = capabilitytest.Answers(map[string]*capability.InputResponse{"age": capabilitytest.Accepted(`{"years":7}`)})
	if out, err = c.CallTool(limit(t), "whoami", nil); err != nil || out.Text() != "ada 7" || len(out.Asked) != 1 || out.IsError() {
		t.Errorf("%v, %v", out, err)
	}
	for of, argument := range map[string]string{"review": "lang", "x://{name}": "name"} {
		got, err := c.Complete(limit(t), of, argument, "", nil)
		if err != nil || !slices.Equal(got, map[string][]string{"lang": {"Go", "Rust"}, "name": {"ada", "bob"}}[argument]) {
			t.Errorf("%s: %q, %v", of, got, err)
		}
	}
	c.Answer = nil
	job, err := c.CallTool(limit(t), "job", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Cancel(limit(t), "job", job.InputRequired.GetState()); err != nil || !slices.Equal(cancelled, []string{"handle"}) {
		t.Errorf("cancelled with %q, %v", cancelled, err)
	}
	read, err := c.ReadResource(limit(t), "x://ada")
	if err != nil || read.Text() != "ada" {
		t.Errorf("%v, %v", read, err)
	}
}

// Content can be created and read without importing package gen.
func TestMessagesOfSampling(t *testing.T) {
	image := capability.SamplingImage(capability.User, []byte{1}, "image/png")
	audio := capability.SamplingAudio(capability.User, []byte{2}, "audio/wav")
	result := capability.SamplingToolResult("use-1", capability.Text("7"))
	if image.GetContent()[0].GetImage().GetMimeType() != "image/png" || audio.GetContent()[0].GetAudio().GetData()[0] != 2 ||
		result.GetContent()[0].GetToolResult().GetToolUseId() != "use-1" || result.GetContent()[0].GetToolResult().GetContent()[0].GetText().GetText() != "7" {
		t.Errorf("%v, %v, %v", image, audio, result)
	}
}
