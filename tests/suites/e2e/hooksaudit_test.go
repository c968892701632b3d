package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
)

// TestHookAudits: with mode: audit the verdicts have no effect.
func TestHookAudits(t *testing.T) {
	harness.OneProcess(t)
	s := hookserver.Serve(t)
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	_, e := startFixture(t, hookedBy(s, func(h *config.Hook) { h.Mode = "audit" }), auditTo(file))
	s.SetRequest(hookserver.Deny("no"))
	s.OnResult(hookserver.Outcome(hookserver.Text("masked")))
	seesCall(t, newStateless(t, e.URL), "card 4111", "")
	e.End(t)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, want := range []string{`{"effect":"deny","by":"hook","rule":"dlp"}`, `{"effect":"replace","by":"hook","rule":"dlp"}`} {
		if !strings.Contains(text, want) {
			t.Errorf("the audit lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, `"by":"hook","rule":"dlp","hooks"`) {
		t.Errorf("the audit has a decision of a hook in audit mode:\n%s", text)
	}
}

// TestHookAudited: the audit has what hooks did other than pass, with the reasons.
func TestHookAudited(t *testing.T) {
	harness.OneProcess(t)
	s, second := hookserver.Serve(t), hookserver.Serve(t)
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	_, e := startFixture(t, hookedBy(s, onFailureAllow), hookedBy(second, func(h *config.Hook) { h.Name = "second" }), auditTo(file))
	c := newStateless(t, e.URL)
	s.SetRequest(hookserver.Arguments(`{"text":"x"}`))
	second.SetRequest(hookserver.Deny("no cards"))
	seesCall(t, c, "", "no cards")
	second.SetRequest(hookserver.Pass)
	s.SetRequest(hookserver.Arguments(`[]`))
	second.OnResult(hookserver.DenyResult("secret"))
	seesCall(t, c, "", "secret")
	e.End(t)
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, want := range []string{
		`"decision":"deny","by":"hook","rule":"second","hooks":[{"name":"dlp","on":"request","outcome":"replace"},{"name":"second","on":"request","outcome":"deny","reason":"no cards"}]`,
		`"decision":"allow","by":"hook","rule":"dlp","hooks":[{"name":"dlp","on":"request","outcome":"failed","reason":"its arguments_json is not a JSON object"},{"name":"second","on":"request","outcome":"pass"}]`,
		`"decision":"deny","by":"hook","rule":"second","hooks":[{"name":"dlp","on":"result","outcome":"pass"},{"name":"second","on":"result","outcome":"deny","reason":"secret"}]`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the audit lacks %s:\n%s", want, text)
		}
	}
}

// TestHookReload: hooks are added and removed without a restart, also while a call runs.
func TestHookReload(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	s := hookserver.Serve(t)
	f := newFixture()
	backends := "backends:\n" + backend("fixture", startService(t, f.Server), "")
	hooks := fmt.Sprintf("hooks: [{name: dlp, target: %q, on: [request, result], timeout: 10s}]\n", s.Addr)
	g := govern(t, backends+hooks)
	c := newStateless(t, g.URL)
	s.OnResult(hookserver.DenyResult("withheld"))
	waiting := make(chan message, 1)
	go func() { waiting <- c.ask("tools/call", `{"name":"gate","arguments":{"name":"one"}}`).final() }()
	await.Receive(t, "the call", f.started)
	g.change(backends + "hooks: []\n")
	if m := c.call("add", `{"a":1,"b":2}`).json(); m.Error != nil {
		t.Errorf("without the hook a call gave %s", m.raw)
	}
	close(f.gate("one"))
	if m := await.Receive(t, "the end of the call", waiting); m.Error == nil || !strings.Contains(m.Error.Message, "withheld") {
		t.Errorf("a call that began with the hook gave %s", m.raw)
	}
	g.change(backends + hooks)
	c.call("add", `{"a":1,"b":2}`).json().wantError(t, -31403)
}
