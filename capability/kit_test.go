package capability_test

import (
	"context"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
)

// A call that asks without end says which question has no answer, or one that its form refuses.
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
