package capability_test

import (
	"context"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
)

// nil content is an error that says so, as a nil result is. Otherwise the edge would report a
// violation of the contract.
func TestNilContent(t *testing.T) {
	s := capability.New("nil", "1")
	returns(s, "one", (*capability.Content)(nil))
	returns(s, "list", []*capability.Content{capability.Text("a"), nil})
	returns(s, "empty", []*capability.Content{})
	returns(s, "result", &capability.Result{Content: []*capability.Content{nil}})
	returns[any](s, "any", (*capability.Content)(nil))
	capability.AddPrompt(s, &capability.Prompt{Name: "one"}, func(context.Context, *capability.Call, map[string]string) (*capability.PromptMessage, error) {
		return nil, nil
	})
	capability.AddPrompt(s, &capability.Prompt{Name: "list"}, func(context.Context, *capability.Call, map[string]string) ([]*capability.PromptMessage, error) {
		return []*capability.PromptMessage{capability.Message(capability.User, capability.Text("a")), nil}, nil
	})
	c := capabilitytest.Start(t, s)
	for name, want := range map[string]string{
		"one":    "the tool returned a nil *Content and no error",
		"list":   "the tool returned content that is nil at 1",
		"empty":  "",
		"result": "the tool returned content that is nil at 0",
		"any":    "the tool returned a nil *Content and no error",
	} {
		if out, err := c.CallTool(limit(t), name, nil); err != nil || out.Failure.GetMessage() != want {
			t.Errorf("tool %s: %v, %v, want %q", name, out, err, want)
		}
	}
	for name, want := range map[string]string{
		"one":  `prompt "one" returned nothing and no error`,
		"list": `prompt "list" returned messages that are nil at 1`,
	} {
		if out, err := c.GetPrompt(limit(t), name, nil); err != nil || out.Failure.GetMessage() != want {
			t.Errorf("prompt %s: %v, %v, want %q", name, out, err, want)
		}
	}
}

// returns adds a tool that returns a value.
func returns[Out any](s *capability.Server, name string, out Out) {
	capability.AddTool(s, name, "", func(context.Context, *capability.Call, struct{}) (Out, error) { return out, nil })
}
