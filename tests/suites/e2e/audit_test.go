package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/authorizer"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// recorded is a line of the audit.
type recorded struct {
	Event, Issuer, Subject, Session, Listener, Address, Call, Task, Method, Target, Backend, Decision, By, Rule, Outcome string
	TokenID                                                                                                              string `json:"jti_sha256"`
	Round, Attempt, Code                                                                                                 int
	Trace                                                                                                                string `json:"trace_id"`
	Arguments                                                                                                            json.RawMessage
	Shown, Set, Via                                                                                                      string
	RuleFailed                                                                                                           bool `json:"rule_failed"`
	Would                                                                                                                []struct{ Effect, By, Rule string }
	Confirmed                                                                                                            []struct{ Name, How string }
	Awaited                                                                                                              struct {
		Names     []string
		Requester struct {
			Subject string
			Client  string `json:"client_id"`
		}
	}
}

// String is what the record says, in a form to compare.
func (r recorded) String() string {
	if r.Event == "decision" {
		return strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", r.Subject, r.Decision, r.By, r.Rule, r.Target))
	}
	return fmt.Sprintf("%s %s %s %s", r.Subject, r.Method, r.Target, r.Outcome)
}

// records are the lines of files, in the order of the files.
func records(t *testing.T, paths ...string) (out []recorded) {
	t.Helper()
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			var r recorded
			if err := json.Unmarshal(line, &r); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			out = append(out, r)
		}
	}
	return out
}

// wantRecords checks that there are these records, each once, and no others, whatever their order.
func wantRecords(t *testing.T, got []recorded, want ...string) {
	t.Helper()
	var all []string
	for _, r := range got {
		all = append(all, r.String())
	}
	slices.Sort(all)
	slices.Sort(want)
	if !slices.Equal(all, want) {
		t.Errorf("recorded:\n%s\nwant:\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
}

// auditTo has an edge record in a file.
func auditTo(path string, adjust ...func(*config.Audit)) func(*config.Config) {
	return func(c *config.Config) {
		c.Audit = &config.Audit{File: path}
		for _, f := range adjust {
			f(c.Audit)
		}
	}
}

// TestAudit: there is one record of each decision, denials included, and one of each outcome, and no token, id of a token or
// of a session is in any.
func TestAudit(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, path := issuer.Serve(t), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id), auditTo(path), func(c *config.Config) {
		c.Quotas = []config.Quota{quota("principal+tool", 2, "add")}
	})
	alice := id.Token("alice", public, map[string]any{"jti": "the-id-of-the-token"})
	bob := id.Token("bob", public)
	s, c := sessionAs(t, e, vNov, alice), statelessAs(t, e, alice)
	const sum = `{"a":1,"b":2}`
	s.call("add", sum).want(http.StatusOK)
	c.call("add", sum).want(http.StatusOK)
	tooMany(t, s.call("add", sum))
	s.call("nothing", "").want(http.StatusOK).json().wantError(t, -32602)
	s.request("tools/list", "").want(http.StatusOK)
	s.request("resources/read", `{"uri":"test://note"}`).want(http.StatusOK)
	asked := s.call("ask_name", "").events()
	s.answer(asked.awaitMethod("elicitation/create"), answers["elicitation/create"])
	asked.message().result(t)
	again := retry(t, c.call("ask_name", "").result(), `{"name":`+answers["elicitation/create"]+`}`)
	c.call("ask_name", "", again).want(http.StatusOK)
	s.seenBy(e, bob).request("tools/list", "").want(http.StatusNotFound)
	s.seenBy(e, "no-token").request("tools/list", "").want(http.StatusUnauthorized)
	newCaller(t, e.URL).send(t, http.MethodPost, hello).want(http.StatusUnauthorized)
	e.End(t)

	got := records(t, path)
	wantRecords(t, got,
		"alice allow quota  add", "alice tools/call add ok", "alice allow quota  add", "alice tools/call add ok",
		"alice deny quota principal+tool add add", "alice tools/call add limit",
		"alice tools/call nothing unknown_tool",
		"alice resources/read test://note ok",
		"alice allow quota  ask_name", "alice tools/call ask_name ok",
		"alice allow quota  ask_name", "alice tools/call ask_name input_required", "alice allow quota  ask_name", "alice tools/call ask_name ok",
		"bob hide ownership", "deny authentication unknown", "deny authentication missing",
	)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{alice, bob, "no-token", "the-id-of-the-token", s.id, `"arguments"`} {
		if bytes.Contains(raw, []byte(secret)) {
			t.Errorf("%q is in the file", secret)
		}
	}
	hash := sha256.Sum256([]byte("the-id-of-the-token"))
	calls := map[string]int{}
	for _, r := range got {
		switch {
		case r.Subject == "alice" && (r.TokenID != hex.EncodeToString(hash[:]) || r.Issuer != id.URL):
			t.Errorf("%v: issuer %s, token %s", r, r.Issuer, r.TokenID)
		case r.Listener != "" && r.Listener != "mcp":
			t.Errorf("%v: listener %s", r, r.Listener)
		case r.Event == "decision" && r.Target != "" && r.Backend != "fixture":
			t.Errorf("%v: backend %q", r, r.Backend)
		case r.By == "ownership" && r.Session != telemetry.SessionPrint(s.id):
			t.Errorf("%v: session %q", r, r.Session)
		}
		if r.Event == "decision" && r.Call != "" {
			calls[r.Call+fmt.Sprint(r.Round)]++
		}
	}
	for _, r := range got {
		// The outcome of a call of a session is that of its last round.
		if r.Event == "outcome" && r.Target == "add" && calls[r.Call+"1"] != 1 {
			t.Errorf("%v: its call has %d decisions", r, calls[r.Call+"1"])
		}
	}
}

// TestAuditTellsArguments: as the setting says.
func TestAuditTellsArguments(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, bytes.Repeat([]byte("k"), 32), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ arguments, key, has, lacks string }{
		{config.AuditWhole, "", `"arguments":{"a":1,"b":2}`, "hmac"},
		{config.AuditDigest, key, `"arguments_hmac_sha256":"`, `"arguments":`},
	} {
		path := filepath.Join(dir, x.arguments)
		e := startEdge(t, only(startService(t, newFixture().Server)), auditTo(path, func(a *config.Audit) { a.Arguments, a.DigestKeyFile = x.arguments, x.key }))
		newSession(t, e.URL, vNov).call("add", `{ "a": 1, "b": 2 }`).want(http.StatusOK)
		e.End(t)
		raw, err := os.ReadFile(path)
		if err != nil || bytes.Count(raw, []byte(x.has)) != 1 || bytes.Contains(raw, []byte(x.lacks)) {
			t.Errorf("%s: %v\n%s", x.arguments, err, raw)
		}
	}
}

// TestAuditOfReplicas: a call that another replica goes on with, since its user answered there or its own replica ended, has
// one decision, where it began, and one outcome, where it ended.
func TestAuditOfReplicas(t *testing.T) {
	dir := t.TempDir()
	n, paths := 0, []string(nil)
	f, edges, _ := startReplicas(t, 2, func(c *config.Config) {
		paths = append(paths, filepath.Join(dir, fmt.Sprint(n)))
		c.Audit, c.Server.Replica = &config.Audit{File: paths[n]}, fmt.Sprint("r", n)
		c.Redis.Lease, c.Shutdown.Grace = 2*time.Second, 300*time.Millisecond
		if n++; n == 2 {
			c.Shutdown.Grace = await.Patience
		}
	})
	s := newSession(t, edges[0].URL, vNov)
	asked := s.call("ask_name", "").events()
	s.at(edges[1]).answer(asked.awaitMethod("elicitation/create"), answers["elicitation/create"])
	asked.message().result(t)

	stream := s.callWithProgress("gate", `{"name":"taken over"}`, "p").events()
	<-f.started
	stream.awaitMethod("notifications/progress")
	edges[0].Stop()
	_ = edges[0].Wait(t) // it leaves a call behind
	close(f.gate("taken over"))
	last := s.at(edges[1]).get(stream.lastID).events()
	for m := last.message(); m.Method != ""; m = last.message() {
	}
	edges[1].End(t)

	wantRecords(t, slices.DeleteFunc(records(t, paths[0]), func(r recorded) bool { return r.Event != "decision" }),
		"allow   ask_name", "allow   gate")
	if got := records(t, paths[0]); len(got) != 2 {
		t.Errorf("the first replica recorded %v, want two decisions", got)
	}
	got := records(t, paths[1])
	if len(got) != 2 || got[0].String() != " tools/call ask_name ok" || got[1].Target != "gate" || got[1].Event != "outcome" {
		t.Errorf("the second replica recorded %v, want two outcomes", got)
	}
	if before := records(t, paths[0]); len(got) == 2 && (got[0].Call != before[0].Call || got[1].Call != before[1].Call) {
		t.Errorf("the records are not about the same calls: %v, %v", before, got)
	}
}

// TestAuditOfCallsThatAreEnded: a call that its client cancels, or whose session it deletes, at whichever replica, has one decision
// and one outcome.
func TestAuditOfCallsThatAreEnded(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	f, edges, _ := startReplicas(t, 2, func(c *config.Config) {
		paths = append(paths, filepath.Join(dir, fmt.Sprint(len(paths))))
		c.Audit = &config.Audit{File: paths[len(paths)-1]}
	})
	cancel := func(s *session) { s.notify("notifications/cancelled", `{"requestId":2}`) }
	remove := func(s *session) { s.delete().want(http.StatusNoContent) }
	for name, end := range map[string]func(s *session){"cancelled": cancel, "deleted": remove} {
		for at, edge := range edges {
			for _, version := range stateful {
				gate := fmt.Sprint(name, at, version)
				s := newSession(t, edges[0].URL, version)
				stream := s.callWithProgress("gate", fmt.Sprintf(`{"name":%q}`, gate), "p").events()
				<-f.started
				stream.awaitMethod("notifications/progress") // so that it has a record
				end(s.at(edge))
				<-f.ended
			}
		}
	}
	waiting := newSession(t, edges[0].URL, vNov)
	waiting.call("ask_name", "").events().awaitMethod("elicitation/create")
	cancel(waiting.at(edges[1]))
	want := []string{"allow   ask_name", " tools/call ask_name cancelled"}
	for range 4 * len(stateful) {
		want = append(want, "allow   gate", " tools/call gate cancelled")
	}
	await.Until(t, "a record of each end", func() bool { return len(records(t, paths...)) >= len(want) })
	for _, e := range edges {
		e.End(t)
	}
	wantRecords(t, records(t, paths...), want...)
}

// TestAuditOfCallsThatAreCut: a call of 2026-07-28 that does not end within the grace was not cancelled by its client.
func TestAuditOfCallsThatAreCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit")
	f := newFixture()
	e := startEdge(t, only(startService(t, f.Server)), auditTo(path), func(c *config.Config) { c.Shutdown.Grace = 300 * time.Millisecond })
	c := newStateless(t, e.URL)
	c.progress = `"p"`
	c.call("gate", `{"name":"cut"}`).events().awaitMethod("notifications/progress")
	<-f.started
	e.Stop()
	_ = e.Wait(t) // it says that the call did not end
	wantRecords(t, records(t, path), "allow   gate", " tools/call gate unknown_outcome")
}

// TestAuditThatCannotBeWritten: with required everything that is decided on is refused, and nothing is lost; without, all goes
// on.
func TestAuditThatCannotBeWritten(t *testing.T) {
	for _, required := range []bool{false, true} {
		t.Run(fmt.Sprintf("required=%t", required), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "logs")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "audit.jsonl")
			f := newFixture()
			e := startEdge(t, only(startService(t, f.Server)), auditTo(path, func(a *config.Audit) {
				if a.Required = required; required {
					a.Timeout = 2 * time.Second
				}
			}))
			call := func() *reply { return newStateless(t, e.URL).call("add", `{"a":1,"b":2}`) }
			call().want(http.StatusOK)
			await.Until(t, "both records of the call", func() bool { // the one of the outcome comes after the response
				raw, err := os.ReadFile(path)
				return err == nil && bytes.Count(raw, []byte("\n")) == 2
			})
			if err := os.Rename(dir, dir+".1"); err != nil {
				t.Fatal(err)
			}
			if r := call(); !required {
				r.want(http.StatusOK)
			} else if r.want(http.StatusServiceUnavailable).json().wantError(t, -31503); r.header.Get("Retry-After") != "5" {
				t.Errorf("Retry-After: %q", r.header.Get("Retry-After"))
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			await.Until(t, "calls are served", func() bool { return call().status == http.StatusOK })
			e.End(t)
			decisions, refused := 0, 0
			for _, r := range records(t, path, filepath.Join(dir+".1", "audit.jsonl")) {
				switch {
				case r.Event == "decision":
					decisions++
				case r.Outcome == "ok":
				case r.Outcome == "state_unavailable":
					refused++
				}
			}
			if decisions != 3 || (refused > 0) != required {
				t.Errorf("%d decisions and %d refusals were recorded; want 3, and refusals: %t", decisions, refused, required)
			}
		})
	}
}

// TestAuditFileOfReplicas: replicas with the same settings record in a file each, and no two in one.
func TestAuditFileOfReplicas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit-{replica}.jsonl")
	named := func(name string) func(*config.Config) { return func(c *config.Config) { c.Server.Replica = name } }
	backends := only(startService(t, newFixture().Server))
	of := func(name string) string { return strings.ReplaceAll(path, "{replica}", name) }
	for _, name := range []string{"a", "b"} {
		e := startEdge(t, backends, auditTo(path), named(name))
		newStateless(t, e.URL).call("add", `{"a":1,"b":2}`).want(http.StatusOK)
		defer func() {
			e.End(t)
			wantRecords(t, records(t, of(name)), "allow   add", " tools/call add ok")
		}()
	}
	cfg := harness.Config()
	for _, f := range []func(*config.Config){auditTo(path), named("b")} {
		f(&cfg)
	}
	_, err := app.New(cfg, slog.New(slog.DiscardHandler))
	if want := "audit.file: another process writes " + of("b"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
}

// TestAuditOfRulesThatFail: a denial by a condition that could not be evaluated is told from one by a condition that holds, and the log says
// for which request it was first.
func TestAuditOfRulesThatFail(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, path := issuer.Serve(t), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id), auditTo(path), func(c *config.Config) {
		c.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{{Name: "other regions", Then: "deny", When: `principal.claims.region != "eu"`}}}
	})
	calls := map[string]string{"alice": id.Token("alice", public), "bob": id.Token("bob", public, map[string]any{"region": "us"})}
	for _, name := range []string{"alice", "bob"} {
		statelessAs(t, e, calls[name]).call("add", `{"a":1,"b":2}`).want(http.StatusOK).json().wantError(t, -31403)
	}
	e.End(t)
	failed := map[string]bool{}
	for _, r := range records(t, path) {
		if r.Event == "decision" && r.Rule == "other regions" {
			failed[r.Subject] = r.RuleFailed
		}
	}
	if want := map[string]bool{"alice": true, "bob": false}; !maps.Equal(failed, want) {
		t.Errorf("rule_failed: %v, want %v", failed, want)
	}
	if log := e.Log.String(); !strings.Contains(log, "could not be evaluated") || !strings.Contains(log, " method=tools/call target=add subject=alice ") {
		t.Errorf("the log does not say for whom the rule failed:\n%s", log)
	}
}

// TestAuditOfPolicy: what a policy decides against is recorded once, in either era, and clients are challenged
// as without records.
func TestAuditOfPolicy(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, path := issuer.Serve(t), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id), byRole, auditTo(path))
	as := func(name, role, scope string) string {
		return id.Token(name, public, map[string]any{"roles": []string{role}, "scope": scope})
	}
	add := toolParams("add", `{"a":1,"b":2}`, "")
	for _, version := range []string{v2026, vNov, v2024} {
		ask := func(token string) asker {
			if version == v2026 {
				return statelessAs(t, e, token)
			}
			return sessionAs(t, e, version, token)
		}
		ask(as("alice", "user", "mcp:admin")).ask("tools/call", add).want(http.StatusOK)
		refused := ask(as("bob", "user", "other")).ask("tools/call", add).want(http.StatusForbidden)
		if got := refused.header.Get("WWW-Authenticate"); !strings.Contains(got, `error="insufficient_scope"`) || !strings.Contains(got, `scope="mcp:write`) {
			t.Errorf("%s: challenged with %q", version, got)
		}
		ask(as("cem", "nobody", "mcp:write")).ask("tools/call", add)
		ask(as("dora", "hidden", "mcp:write")).ask("prompts/get", `{"name":"greet","arguments":{"name":"Ada"}}`)
	}
	e.End(t)
	var want []string
	for range 3 {
		want = append(want,
			"alice allow policy users add", "alice tools/call add ok",
			"bob step_up policy scopes add", "bob tools/call add forbidden",
			"cem deny policy default add", "cem tools/call add forbidden",
			"dora hide policy hidden greet", "dora prompts/get greet unknown_prompt")
	}
	wantRecords(t, records(t, path), want...)
}

// TestAuditOfWhatNobodyDecided: what is allowed because the policy server did not decide is recorded as that, whatever it is, in
// either era.
func TestAuditOfWhatNobodyDecided(t *testing.T) {
	pdp, path := authorizer.Serve(t), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, newFixture().Server)), askedOf(pdp, func(e *config.External) { e.OnFailure = "allow" }), auditTo(path))
	allowed := toolParams("add", `{"a":1,"b":2}`, "")
	clientOf(t, e, v2026, "").ask("tools/call", allowed).final()
	pdp.Stop()
	want := []string{"allow policy default add", " tools/call add ok"}
	for _, version := range []string{v2026, vNov} {
		c := clientOf(t, e, version, "")
		c.ask("tools/call", allowed).final()
		c.ask("prompts/get", `{"name":"greet","arguments":{"name":"Ada"}}`).final()
		want = append(want,
			"allow external failed add", "allow policy default add", " tools/call add ok",
			"allow external failed greet", " prompts/get greet ok")
	}
	e.End(t)
	wantRecords(t, records(t, path), want...)
}

// TestOperatorsAreRecorded: what an operator does on the admin address is recorded with its principal, once before it takes effect and once
// when it has ended, also where it fails.
func TestOperatorsAreRecorded(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, path := issuer.Serve(t), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id), auditTo(path), func(c *config.Config) {
		c.Admin.Auth = &config.AdminAuth{Scope: "mcp:operate"}
	})
	olga := []string{"Authorization", "Bearer " + id.Token("olga", public, map[string]any{"scope": "mcp:operate"})}
	s := sessionAs(t, e, vNov, id.Token("alice", public))
	o := newOperator(t, e)
	o.do(http.MethodDelete, "/v1/sessions/"+s.id, "").want(http.StatusUnauthorized)
	o.do(http.MethodDelete, "/v1/sessions/"+s.id, "", olga...).want(http.StatusOK)
	o.do(http.MethodDelete, "/v1/sessions/"+s.id, "", olga...).want(http.StatusNotFound)
	o.do(http.MethodPost, "/v1/tasks/none:cancel", "{}", olga...).want(http.StatusNotFound)
	o.do(http.MethodPost, "/v1/drain", "{}", olga...).want(http.StatusOK)
	e.AwaitEnd(t)
	got := records(t, path)
	wantRecords(t, got,
		"deny authentication missing",
		"olga allow operator", "olga admin/sessions/end  ok", "olga allow operator", "olga admin/sessions/end  not_found",
		"olga allow operator", "olga admin/tasks/cancel  not_found", "olga allow operator", "olga admin/drain  ok",
	)
	for _, r := range got {
		if r.Listener != "admin" || r.Subject == "olga" && r.Issuer != id.URL {
			t.Errorf("%+v", r)
		}
		if r.Method == "admin/sessions/end" && r.Session != telemetry.SessionPrint(s.id) || r.Method == "admin/tasks/cancel" && r.Task != telemetry.SessionPrint("none") {
			t.Errorf("%+v", r)
		}
	}
}
