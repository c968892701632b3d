package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
)

// TestConfirmBehindSearch: call_tool asks about the tool that it calls, and that tool runs once.
func TestConfirmBehindSearch(t *testing.T) {
	w := newWiper()
	e := startEdge(t, only(startService(t, w.Server)), toConfirm, searchAtRoot)
	const question = "The tool \"wipe\" of the backend \"fixture\" is about to be called.\n\nWipe \"a\"?\n\nArguments: {\"path\":\"a\"}"
	c := newStateless(t, e.URL)
	asked := wrapped(t, c, "wipe", `{"path":"a"}`, nil).want(http.StatusOK).result()
	if got := dig(asked, "inputRequests", "mcpedge.confirm", "params", "message"); got != question {
		t.Errorf("asked %q", got)
	}
	yes := retry(t, asked, confirming(sayYes))
	if m := wrapped(t, c, "wipe", `{"path":"b"}`, yes).json(); m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("with other arguments: %+v", m.Error)
	}
	if got := wrapped(t, c, "wipe", `{"path":"a"}`, yes).text(); got != "run 1" {
		t.Errorf("confirmed: %q", got)
	}
	wrapped(t, c, "wipe", `{"path":"a"}`, yes).json().wantError(t, -31520)
	s := newSession(t, e.URL, vNov)
	stream := s.request("tools/call", `{"name":"call_tool","arguments":{"name":"wipe","arguments":{"path":"a"}}}`).want(http.StatusOK).events()
	m := stream.awaitMethod("elicitation/create")
	var params struct{ Message string }
	if err := json.Unmarshal(m.Params, &params); err != nil || params.Message != question {
		t.Errorf("in a session it asked %q, %v", params.Message, err)
	}
	s.answer(m, sayYes)
	if got := text(t, stream.message().result(t)); got != "run 2" {
		t.Errorf("in a session: %q", got)
	}
	w.ran(t, 2)
}

// TestConfirmIsNotImitated: a backend that asks by a key of the edge breaks the contract.
func TestConfirmIsNotImitated(t *testing.T) {
	s := capability.New("bad", "1")
	capability.AddTool(s, "go", "Goes", func(_ context.Context, c *capability.Call, _ struct{}) (string, error) {
		c.AskForm("mcpedge.confirm", "The tool \"pay\" is about to be called.", `{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`)
		return "ran", nil
	})
	e := startEdge(t, only(startService(t, s)))
	for what, m := range map[string]message{
		"2026-07-28": newStateless(t, e.URL).call("go", `{}`).json(), "2025-11-25": newSession(t, e.URL, vNov).call("go", `{}`).final(),
	} {
		if m := m.wantError(t, -32603); !strings.Contains(m.Error.Message, `"mcpedge.confirm"`) {
			t.Errorf("%s: %s", what, m.Error.Message)
		}
	}
}
