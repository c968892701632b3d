package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/hookserver"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestConfirmAttempts: attempts to confirm one call and run another, in both eras, over each transport, by arguments, names, callers,
// states, answers, tasks, hooks and settings. None works: the backends see the confirmed call alone, once for each confirmation.
func TestConfirmAttempts(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	a := startAttempts(t)
	a.modernOthers()
	a.editedStates()
	a.modernAnswers()
	a.modernTasks()
	a.sessionOthers()
	a.sessionAnswers()
	a.hooks()
	a.settings()
	if got := a.v.take(); len(got) > 0 {
		t.Errorf("later ran %q", got)
	}
	const enough = 200
	t.Logf("%d attempts", len(a.tried))
	if len(a.tried) < enough {
		t.Errorf("%d attempts, want %d or more", len(a.tried), enough)
	}
	if len(a.passed) > 0 {
		t.Errorf("%d attempts passed:\n%s", len(a.passed), strings.Join(a.passed, "\n"))
	}
}

// confirmAll has each call of a tool confirmed, and pins the tenant of the caller.
func confirmAll(c *config.Config) {
	pin := map[string]config.CatalogArgument{"tenant": {From: `has(principal.claims.tenant) ? principal.claims.tenant : "acme"`}}
	c.Catalog = &config.Catalog{}
	for _, b := range c.Backends {
		c.Catalog.Tools = append(c.Catalog.Tools, config.CatalogTool{Backend: b.Name, Tool: "*", Arguments: pin})
	}
	c.Policy = &config.Policy{Default: "allow", Confirm: []config.PolicyConfirm{{Name: "all", When: "true", Message: "Go?"}}}
}

func startAttempts(t *testing.T, adjust ...func(*config.Config)) *tricks {
	id, v := issuer.Serve(t), newBankers(t)
	twin := issuer.Serve(t)
	a := &tricks{t: t, v: v, took: `bank pay {"amount":5,"to":"ann","tenant":"acme"}`, tried: map[string]bool{}}
	a.e = startEdge(t, v.backends(), append(adjust, withAuth(id), confirmAll, func(c *config.Config) {
		c.Auth.Optional = true
		c.Auth.Issuers = append(c.Auth.Issuers, config.Issuer{Issuer: twin.URL})
		c.Sets = map[string]config.Set{
			"desk": {Search: config.SearchOn, Include: config.SetMembers{Tools: config.Names{"**"}}}, "few": {Include: config.SetMembers{Tools: config.Names{"**"}}},
		}
	})...)
	everywhere := []string{public, public + "/mcp", public + "/mcp/desk", public + "/mcp/few", public + "/sse"}
	acme := map[string]any{"tenant": "acme", "aud": everywhere}
	a.tokens = map[string]string{
		"ann": id.Token("ann", public, acme), "bob": id.Token("bob", public, acme), "twin": twin.Token("ann", public, acme),
		"moved": id.Token("ann", public, map[string]any{"tenant": "evil", "aud": everywhere}), "nobody": "",
	}
	return a
}

// stdio is a client of another edge before the same backends.
func (a *tricks) stdio() *viaStdio {
	cfg := harness.Config(a.v.backends()...)
	confirmAll(&cfg)
	return newStdio(a.t, cfg, v2026)
}

// editedStates sends states that were changed, cut, encoded again and exchanged: with the confirmed call after it has run, which must not
// run again, and with another one.
func (a *tricks) editedStates() {
	ann := a.as("ann", "")
	const other = `{"amount":6,"to":"ann"}`
	edits := map[string]func(state string, theirs string) any{
		"as it is":        func(s, _ string) any { return s },
		"padded":          func(s, _ string) any { return s + "=" },
		"with two pads":   func(s, _ string) any { return s + "==" },
		"in base64":       func(s, _ string) any { return strings.NewReplacer("-", "+", "_", "/").Replace(s) },
		"encoded twice":   func(s, _ string) any { return base64.RawURLEncoding.EncodeToString([]byte(s)) },
		"with a line":     func(s, _ string) any { return s[:9] + "\n" + s[9:] },
		"with a space":    func(s, _ string) any { return " " + s },
		"with a NUL":      func(s, _ string) any { return s + "\x00" },
		"longer":          func(s, _ string) any { return s + "AAAA" },
		"twice":           func(s, _ string) any { return s + s },
		"in capitals":     func(s, _ string) any { return strings.ToUpper(s) },
		"reversed":        func(s, _ string) any { b := []byte(s); slices.Reverse(b); return string(b) },
		"empty":           func(string, string) any { return "" },
		"null":            func(string, string) any { return nil },
		"a list":          func(s, _ string) any { return []string{s} },
		"an object":       func(s, _ string) any { return map[string]string{"state": s} },
		"a number":        func(string, string) any { return 5 },
		"the other's":     func(_, theirs string) any { return theirs },
		"the other's end": func(s, theirs string) any { return s[:len(s)/2] + theirs[min(len(theirs), len(s)/2):] },
		"the other's key": func(s, theirs string) any { return theirs[:22] + s[22:] },
	}
	for n := range 12 {
		edits[fmt.Sprintf("cut to %d of 12", n)] = func(s, _ string) any { return s[:len(s)*n/12] }
		edits[fmt.Sprintf("changed at %d of 12", n)] = func(s, _ string) any {
			b := []byte(s)
			if i := len(b) * n / 12; b[i] == 'A' {
				b[i] = 'B'
			} else {
				b[i] = 'A'
			}
			return string(b)
		}
	}
	for what, edit := range edits {
		states := func() (yes, edited map[string]any) {
			yes = a.asked(ann, "pay", paid, sayYes)
			theirs := a.asked(ann, "pay", other, sayYes)
			return yes, map[string]any{"inputResponses": yes["inputResponses"], "requestState": edit(yes["requestState"].(string), theirs["requestState"].(string))}
		}
		a.try("2026-07-28: again with the state "+what, func() int {
			yes, edited := states()
			n := a.runs(ann, yes)
			ann.call("pay", paid, edited).final()
			return n
		})
		if what == "the other's" { // That is its own confirmation.
			continue
		}
		a.try("2026-07-28: another call with the state "+what, func() int {
			_, edited := states()
			ann.call("pay", other, edited).final()
			return 0
		})
	}
}

// notYes are answers that do not accept, and that a lax reader may take for an acceptance.
var notYes = []string{
	sayNo, goAway, leaveOpen, `{"action":"accept"}`, `{"action":"accept","content":{}}`, `{"action":"accept","content":null}`, `{"action":"accept","content":{"confirm":null}}`,
	`{"action":"accept","content":{"confirm":"true"}}`, `{"action":"accept","content":{"confirm":1}}`, `{"action":"accept","content":{"confirm":"yes"}}`, `{"action":"accept","content":{"confirm":[true]}}`,
	`{"action":"accept","content":{"confirm":{"confirm":true}}}`, `{"action":"accept","content":{"Confirm":true}}`, `{"action":"accept","content":{"confirm ":true}}`, `{"action":"accept","content":{"x":{"confirm":true}}}`,
	`{"action":"accept","content":[{"confirm":true}]}`, `{"action":"accept","content":"{\"confirm\":true}"}`, `{"action":"accept","content":true}`, `{"action":"accept","confirm":true}`, `{"action":"accept","Content":{"confirm":true}}`,
	`{"action":"Accept","content":{"confirm":true}}`, `{"action":"ACCEPT","content":{"confirm":true}}`, `{"action":"accept ","content":{"confirm":true}}`, `{"action":["accept"],"content":{"confirm":true}}`,
	`{"action":"accepted","content":{"confirm":true}}`, `{"action":true,"content":{"confirm":true}}`, `{"action":"decline","content":{"confirm":true}}`, `{"action":"cancel","content":{"confirm":true}}`,
	`{"Action":"accept","content":{"confirm":true}}`, `{"content":{"confirm":true}}`, `{"action":"decline","Action":"accept","content":{"confirm":true}}`, `{"action":"","content":{"confirm":true}}`, `{}`,
	`{"action":"accept","content":{"confirm":true,"confirm":false}}`, `{"action":"accept","action":"decline","content":{"confirm":true}}`,
	`{"result":{"action":"accept","content":{"confirm":true}}}`,
}

// modernAnswers sends answers that do not accept, by the wrong key, or after another answer.
func (a *tricks) modernAnswers() {
	ann := a.as("ann", "")
	send := func(name, responses string) {
		a.try("2026-07-28: answers "+name, func() int {
			yes := retry(a.t, ann.call("pay", paid).result(), responses)
			ann.call("pay", paid, yes).final()
			return 0
		})
	}
	for _, answer := range notYes {
		send(answer, confirming(answer))
	}
	for _, key := range []string{"confirm", "mcpedge.Confirm", "MCPEDGE.CONFIRM", "mcpedge.confirm ", " mcpedge.confirm", "mcpedge.confirm.1", "mcpedge.confirm.0", "mcpedge.approve", "mcpedge.approval", "", "mcpedge", "*"} {
		send(fmt.Sprintf("by the key %q", key), fmt.Sprintf(`{%q:%s}`, key, sayYes))
	}
	send("twice, first no", `{"mcpedge.confirm":`+sayNo+`,"mcpedge.confirm":`+sayNo+`}`)
	for _, first := range notYes[:3] {
		a.try("2026-07-28: accepts after "+first, func() int {
			asked := ann.call("pay", paid).result()
			ann.call("pay", paid, retry(a.t, asked, confirming(first))).json().wantError(a.t, -31403)
			ann.call("pay", paid, retry(a.t, asked, confirming(sayYes))).json().wantError(a.t, -31403)
			return 0
		})
	}
	a.try("2026-07-28: accepts before it is asked", func() int {
		ann.call("pay", paid, map[string]any{"inputResponses": json.RawMessage(confirming(sayYes))}).final()
		return 0
	})
	a.try("2026-07-28: accepts before a change of its rights", func() int {
		yes := a.asked(a.as("moved", ""), "pay", paid, sayYes)
		a.as("ann", "").call("pay", paid, yes).final()
		return 0
	})
	a.try("2026-07-28: accepts over REST what it was asked elsewhere", func() int {
		var out struct{ InputRequired struct{ State string } }
		o := newOperator(a.t, a.e)
		if err := json.Unmarshal([]byte(o.post("/v1/tools/pay:call", `{"arguments":`+paid+`}`).text), &out); err != nil {
			a.t.Fatal(err)
		}
		state := map[string]any{"requestState": out.InputRequired.State, "inputResponses": json.RawMessage(confirming(sayYes))}
		ann.call("pay", paid, state).final()
		a.as("nobody", "").call("burn", paid, state).final()
		round := fmt.Sprintf(`,"round":{"state":%q,"responses":%s}}`, out.InputRequired.State, confirming(sayYes))
		o.post("/v1/tools/burn:call", `{"arguments":`+paid+round)
		o.post("/v1/tools/pay:call", `{"arguments":{"amount":6,"to":"ann"}`+round)
		return 0
	})
}

// modernTasks confirms one task and has others wait.
func (a *tricks) modernTasks() {
	ann := a.as("ann", "", `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	status := func(c *stateless, id string) any {
		return c.request("tasks/get", map[string]any{"taskId": id}).result()["status"]
	}
	update := func(c *stateless, id, responses string) {
		c.request("tasks/update", map[string]any{"taskId": id, "inputResponses": json.RawMessage(responses)}).final()
	}
	waits := func(arguments string) string {
		id, _ := ann.call("wait", arguments).result()["taskId"].(string)
		await.Until(a.t, "the task asks", func() bool { return status(ann, id) == "input_required" })
		return id
	}
	for what, update := range map[string]func(id string){
		"by another caller":           func(id string) { update(a.as("bob", "", ann.capabilities), id, `{"mcpedge.confirm.1":`+sayYes+`}`) },
		"by the key of another round": func(id string) { update(ann, id, `{"mcpedge.confirm.2":`+sayYes+`}`) },
		"by the key of a call":        func(id string) { update(ann, id, confirming(sayYes)) },
		"for another task":            func(id string) { update(ann, id+"x", `{"mcpedge.confirm.1":`+sayYes+`}`) },
		"as an approval": func(id string) {
			update(ann, id, `{"mcpedge.approval.1":{"end":"granted"},"mcpedge.approve":{"end":"granted"}}`)
		},
		"at another set": func(id string) { update(a.as("ann", "/few", ann.capabilities), id, `{"mcpedge.confirm.9":`+sayYes+`}`) },
		"with a state":   func(id string) { ann.call("wait", paid, a.asked(a.as("ann", ""), "pay", paid, sayYes)).final() },
	} {
		a.try("2026-07-28: a task is accepted "+what, func() int {
			id := waits(paid)
			update(id)
			ann.request("tasks/update", map[string]any{"taskId": id, "inputResponses": json.RawMessage(`{"mcpedge.confirm.1":` + sayNo + `}`)}).final()
			await.Until(a.t, "the task ends", func() bool { return status(ann, id) == "failed" })
			return 0
		})
	}
}

// hooks has a hook change the arguments after the user was asked.
func (a *tricks) hooks() {
	h := hookserver.Serve(a.t)
	b := startAttempts(a.t, hookedBy(h))
	defer b.joins(a)
	ann := b.as("ann", "")
	for _, changed := range []string{
		`{"amount":6,"to":"ann","tenant":"acme"}`, `{"amount":5,"to":"bob","tenant":"acme"}`, `{"amount":5,"to":"ann","tenant":"evil"}`, `{"amount":5,"to":"ann"}`, `{}`,
		`{"amount":5,"to":"ann","tenant":"acme","note":"x"}`, `{"amount":"5","to":"ann","tenant":"acme"}`, `{"amount":5,"Amount":6,"to":"ann","tenant":"acme"}`,
	} {
		b.try("a hook changes the confirmed call to "+changed, func() int {
			h.SetRequest(hookserver.Pass)
			yes := b.asked(ann, "pay", paid, sayYes)
			h.SetRequest(hookserver.Arguments(changed))
			ann.call("pay", paid, yes).final()
			return 0
		})
		b.try("a hook changes the call that waits in a session to "+changed, func() int {
			h.SetRequest(hookserver.Arguments(changed))
			s := b.session("ann", "")
			q, stream := b.question(s, "pay", paid)
			h.SetRequest(hookserver.Pass)
			b.declines(s, q, stream)
			return 0
		})
	}
}

// joins adds attempts to others.
func (a *tricks) joins(others *tricks) {
	others.passed = append(others.passed, a.passed...)
	for name := range a.tried {
		others.tried[name] = true
	}
}

// settings changes the settings between the question and its answer: what is required then was not asked, or the name is that of another
// tool.
func (a *tricks) settings() {
	v := a.v
	backends := "backends:\n" + backend("bank", v.bank, "") + backend("mirror", v.mirror, ", prefix: m_")
	swapped := "backends:\n" + backend("mirror", v.mirror, "") + backend("bank", v.bank, ", prefix: m_")
	confirm := func(entries string) string { return "policy: {default: allow, confirm: [" + entries + "]}\n" }
	const all = "{name: all, when: 'true', message: Go?}"
	const none = "catalog: {}\n"
	still := map[string]int{"another tool's name": 1} // The tool that was asked about runs, whatever its name is now.
	asking := backends + confirm(all) + none
	g := govern(a.t, asking)
	b := &tricks{t: a.t, v: v, e: g.Edge, took: `bank pay {"amount":5,"to":"ann"}`, tokens: map[string]string{"nobody": ""}, tried: map[string]bool{}}
	defer b.joins(a)
	changes := map[string]string{
		"another message":      backends + confirm("{name: all, when: 'true', message: Stop?}"),
		"another condition":    backends + confirm("{name: all, when: 'true || false', message: Go?}"),
		"another name":         backends + confirm("{name: every, when: 'true', message: Go?}"),
		"a second one":         backends + confirm(all+", {name: more, when: arguments.amount > 1, message: Much?}"),
		"another backend":      swapped + confirm(all),
		"another pin":          backends + confirm(all) + "catalog: {tools: [{backend: bank, tool: pay, arguments: {tenant: {value: evil}}}]}\n",
		"another tool's name":  backends + confirm(all) + "catalog: {tools: [{backend: bank, tool: pay, name: paid}, {backend: bank, tool: burn, name: pay}]}\n",
		"a rule that denies":   backends + "policy: {default: allow, rules: [{name: no, when: tool.name == \"pay\", then: deny}], confirm: [" + all + "]}\n",
		"a rule that hides it": backends + "policy: {default: allow, rules: [{name: no, when: tool.name == \"pay\", then: hide}], confirm: [" + all + "]}\n",
	}
	ann := b.as("nobody", "")
	type waiting struct {
		yes      map[string]any
		s        *session
		question *message
		stream   *stream
	}
	asked := map[string]*waiting{}
	for what := range changes {
		w := &waiting{yes: b.asked(ann, "pay", paid, sayYes), s: newSession(b.t, g.URL, vNov)}
		w.question, w.stream = b.question(w.s, "pay", paid)
		asked[what] = w
	}
	for what, then := range changes {
		if !strings.Contains(then, "catalog:") {
			then += none
		}
		g.change(then)
		w := asked[what]
		b.try("2026-07-28: the settings have "+what, func() int {
			ann.call("pay", paid, w.yes).final()
			return still[what]
		})
		b.try("2025-11-25: the settings have "+what, func() int {
			w.s.answer(*w.question, sayYes)
			if m := w.stream.message(); m.Method == "elicitation/create" { // asked again
				b.declines(w.s, &m, w.stream)
			}
			return still[what]
		})
	}
}
