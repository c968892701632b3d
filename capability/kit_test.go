package capability_test

import (
	"context"
	"errors"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
)

// The error of a call that asks in every round names the question without an answer, or with one
// that its form refuses.
func TestKitSaysWhichQuestionHasNoAnswer(t *testing.T) {
	s := capability.New("kit", "1")
	addTool(s, "ask", func(_ context.Context, c *capability.Call) (string, error) {
		_, err := capability.Ask[struct {
			Cups int `json:"cups" minimum:"1"`
		}](c, "cups", "How many?")
		return "done", err
	})
	c := capabilitytest.Start(t, s)
	for answer, want := range map[string]string{
		"none":  `after 32 rounds the call still asks for "cups", for which Client.Answer returns nil`,
		"wrong": `after 32 rounds the call still asks for "cups", whose answer its form refuses`,
	} {
		c.Answer = capabilitytest.Answers(map[string]*capability.InputResponse{})
		if answer == "wrong" {
			c.Answer = capabilitytest.Answers(map[string]*capability.InputResponse{"cups": capabilitytest.Accepted(`{"cups":0}`)})
		}
		if _, err := c.CallTool(limit(t), "ask", nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
	}
}

// A tool's failure that the edge gives to the model is an error in the kit, too.
func TestIsErrorIsWhatTheModelSees(t *testing.T) {
	s := capability.New("errors", "1")
	fail := map[string]error{
		"invalid": capability.Errorf(capability.InvalidArgument, "no"), "state": capability.Errorf(capability.FailedPrecondition, "no"),
		"missing": capability.Errorf(capability.NotFound, "no"), "plain": errors.New("no"),
		"away": capability.Errorf(capability.Unavailable, "no"), "denied": capability.Errorf(capability.PermissionDenied, "no"),
	}
	for name, err := range fail {
		addTool(s, name, func(context.Context, *capability.Call) (string, error) { return "", err })
		capability.AddResource(s, &capability.Resource{Uri: "a://" + name, Name: name},
			func(context.Context, *capability.Call, string) (string, error) { return "", err })
	}
	c := capabilitytest.Start(t, s)
	for name := range fail {
		out, err := c.CallTool(limit(t), name, nil)
		if want := name != "away" && name != "denied"; err != nil || out.IsError() != want || want && out.Text() != "no" {
			t.Errorf("tool %s: %v, %v; want an error for the model: %t", name, out, err, want)
		}
		read, err := c.ReadResource(limit(t), "a://"+name)
		if err != nil || read.IsError() {
			t.Errorf("read of %s: %v, %v", name, read, err)
		}
	}
	if out, err := c.CallTool(limit(t), "plain", map[string]any{"stray": 1}); err != nil || !out.IsError() {
		t.Errorf("an unknown argument: %v, %v", out, err)
	}
}
