package main

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
)

func TestOrder(t *testing.T) {
	c := capabilitytest.Start(t, newServer())
	c.Principal = &capability.Principal{Subject: "ada"}
	c.Answer = capabilitytest.Answers(map[string]*capability.InputResponse{
		"cups": capabilitytest.Accepted(`{"cups":2}`),
	})
	out, err := c.CallTool(t.Context(), "order", map[string]any{"tea": "assam"})
	if err != nil || out.Text() != "order 1: 2 cups of assam" || out.Rounds != 2 {
		t.Errorf("%s, %v", out.Text(), err)
	}
	c.Answer = capabilitytest.Answers(map[string]*capability.InputResponse{"cups": capabilitytest.Dismissed()})
	out, err = c.CallTool(t.Context(), "order", map[string]any{"tea": "assam"})
	if err != nil || out.Text() != "order 2: nothing" || out.IsError() {
		t.Errorf("%s, %v", out.Text(), err)
	}
}

func TestMoods(t *testing.T) {
	c := capabilitytest.Start(t, newServer())
	moods, err := c.Complete(t.Context(), "recommend", "mood", "ca", nil)
	if err != nil || len(moods) != 1 || moods[0] != "calm" {
		t.Errorf("%q, %v", moods, err)
	}
}

func TestTheOthers(t *testing.T) {
	c := capabilitytest.Start(t, newServer())
	out, err := c.CallTool(t.Context(), "steep", map[string]any{"minutes": 2})
	if err != nil || out.Result.GetStructuredContentJson() != `{"tea":"assam","minutes":2}` || len(out.Progress) != 2 {
		t.Errorf("steep: %v, %v", out, err)
	}
	out, err = c.CallTool(t.Context(), "measure", map[string]any{"picture": []byte{0, 1, 255}})
	if err != nil || out.Text() != "3 bytes" {
		t.Errorf("measure: %v, %v", out, err)
	}
	read, err := c.ReadResource(t.Context(), "notes://monday")
	if err != nil || read.Text() != "Buy tea." {
		t.Errorf("the note: %v, %v", read, err)
	}
	if read, err = c.ReadResource(t.Context(), "notes://sunday"); err != nil || read.Failure.GetReason() != capability.NotFound {
		t.Errorf("a note that does not exist: %v, %v", read, err)
	}
	prompt, err := c.GetPrompt(t.Context(), "recommend", map[string]string{"mood": "calm"})
	if err != nil || prompt.Text() != "Recommend a tea to a guest who is calm." {
		t.Errorf("the prompt: %v, %v", prompt, err)
	}
}

func TestOrdersOfTheCaller(t *testing.T) {
	c := capabilitytest.Start(t, newServer())
	out, err := c.CallTool(t.Context(), "orders", nil)
	if err != nil || out.Failure.GetReason() != capability.PermissionDenied {
		t.Errorf("an anonymous caller: %v, %v", out, err)
	}
	c.Principal = &capability.Principal{Subject: "ada"}
	out, err = c.CallTool(t.Context(), "orders", nil)
	if err != nil || out.Result.GetStructuredContentJson() != `["a tea for ada"]` {
		t.Errorf("ada: %v, %v", out, err)
	}
}

func TestSkills(t *testing.T) {
	c := capabilitytest.Start(t, newServer())
	read, err := c.ReadResource(t.Context(), "skill://brewing/SKILL.md")
	if err != nil || !strings.Contains(read.Text(), "# Brewing") {
		t.Errorf("%v, %v", read, err)
	}
}
