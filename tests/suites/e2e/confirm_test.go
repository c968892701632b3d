package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

const (
	sayYes    = `{"action":"accept","content":{"confirm":true}}`
	leaveOpen = `{"action":"accept","content":{"confirm":false}}`
	sayNo     = `{"action":"decline"}`
	goAway    = `{"action":"cancel"}`
)

func confirming(answer string) string { return `{"mcpedge.confirm":` + answer + `}` }

// wiper is a backend that counts the runs of its tools.
type wiper struct {
	*capability.Server
	runs atomic.Int64
}

type wiped struct {
	Path string `json:"path"`
}

func newWiper() *wiper {
	w := &wiper{Server: capability.New("wiper", "1.0.0")}
	run := func(context.Context, *capability.Call, wiped) (string, error) {
		return fmt.Sprint("run ", w.runs.Add(1)), nil
	}
	capability.AddTool(w.Server, "wipe", "Wipes", run)
	capability.AddTool(w.Server, "burn", "Burns", run)
	capability.AddTool(w.Server, "look", "Looks", run, capability.ReadOnly())
	capability.AddTool(w.Server, "job", "Wipes, perhaps as a task", run, capability.Tasks(capability.TaskOptional))
	capability.AddTool(w.Server, "twice", "Asks, too", func(_ context.Context, c *capability.Call, _ wiped) (string, error) {
		c.AskForm("name", "Which?", `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
		return fmt.Sprint("run ", w.runs.Add(1)), nil
	})
	return w
}

// toConfirm requires confirmations of what is not read-only.
func toConfirm(c *config.Config) {
	c.Policy = &config.Policy{Confirm: []config.PolicyConfirm{
		{Name: "destructive", When: `tool.annotations.destructive`, Message: "Wipe {arguments.path}?"},
		{Name: "root", When: `has(arguments.path) && arguments.path == "/"`, Message: "That is everything."},
	}}
}

func (w *wiper) ran(t *testing.T, want int64) {
	t.Helper()
	if got := w.runs.Load(); got != want {
		t.Fatalf("%d calls ran, want %d", got, want)
	}
}

// TestConfirmStateless: in 2026-07-28 a call runs once for each confirmation of the same call, and of no other.
func TestConfirmStateless(t *testing.T) {
	t.Parallel() // it waits for most of its time
	w := newWiper()
	id := issuer.Serve(t)
	e := startEdge(t, only(startService(t, w.Server)), withAuth(id), toConfirm)
	ann, bob := statelessAs(t, e, id.Token("ann", public, nil)), statelessAs(t, e, id.Token("bob", public, nil))
	if got := ann.call("look", `{"path":"a"}`).text(); got != "run 1" {
		t.Fatalf("a call that needs no confirmation gave %q", got)
	}
	ask := func() map[string]any { return ann.call("wipe", `{"path":"a"}`).want(http.StatusOK).result() }
	asked := ask()
	text := dig(asked, "inputRequests", "mcpedge.confirm", "params", "message")
	if want := "The tool \"wipe\" of the backend \"fixture\" is about to be called.\n\nWipe \"a\"?\n\nArguments: {\"path\":\"a\"}"; text != want {
		t.Errorf("asked %q, want %q", text, want)
	}
	both := ann.call("wipe", `{"path":"/"}`).result()
	if text := fmt.Sprint(dig(both, "inputRequests", "mcpedge.confirm", "params", "message")); !strings.Contains(text, "Wipe \"/\"?\n\nThat is everything.") {
		t.Errorf("two confirmations asked %q", text)
	}
	yes := retry(t, asked, confirming(sayYes))
	for what, r := range map[string]*reply{
		"other arguments": ann.call("wipe", `{"path":"b"}`, yes),
		"another tool":    ann.call("burn", `{"path":"a"}`, yes),
		"another caller":  bob.call("wipe", `{"path":"a"}`, yes),
	} {
		if m := r.json(); m.Error == nil || m.Error.Code != -32602 {
			t.Errorf("%s: %s", what, r.body)
		}
	}
	volunteered := ann.call("wipe", `{"path":"a"}`, map[string]any{"inputResponses": json.RawMessage(confirming(sayYes))}).result()
	if volunteered["resultType"] != "input_required" {
		t.Errorf("an answer without a question gave %v", volunteered)
	}
	w.ran(t, 1)
	if got := ann.call("wipe", `{"path":"a"}`, yes).text(); got != "run 2" {
		t.Errorf("the confirmed call gave %q", got)
	}
	ann.call("wipe", `{"path":"a"}`, yes).json().wantError(t, -31520)
	if again := ann.call("wipe", `{"path":"a"}`, retry(t, asked, "")).result(); again["resultType"] != "input_required" {
		t.Errorf("a state without an answer gave %v", again)
	}
	for answer, why := range map[string]string{sayNo: "the user declined", goAway: "the user dismissed", leaveOpen: "the user declined", `{"action":"accept","content":{}}`: "is incomplete", `{"x":1}`: "is not a confirmation"} {
		state := ask()
		if m := ann.call("wipe", `{"path":"a"}`, retry(t, state, confirming(answer))).json().wantError(t, -31403); !strings.Contains(m.Error.Message, why) || !strings.Contains(m.Error.Message, `"destructive"`) {
			t.Errorf("%s: %s", answer, m.Error.Message)
		}
		ann.call("wipe", `{"path":"a"}`, retry(t, state, confirming(sayYes))).json().wantError(t, -31403)
	}
	unable := newStateless(t, e.URL, `{}`)
	unable.as(id.Token("ann", public, nil))
	if m := unable.call("wipe", `{"path":"a"}`).want(http.StatusBadRequest).json().wantError(t, -32021); !strings.Contains(m.Error.Message, "elicitation") || !strings.Contains(m.Error.Message, `"destructive"`) {
		t.Errorf("a client that cannot ask: %s", m.Error.Message)
	}
	w.ran(t, 2)
}

// TestConfirmRounds: a tool that asks the user itself is confirmed once, and its later rounds run once each.
func TestConfirmRounds(t *testing.T) {
	w := newWiper()
	e := startEdge(t, only(startService(t, w.Server)), toConfirm)
	c := newStateless(t, e.URL)
	first := c.call("twice", `{"path":"a"}`).result()
	second := c.call("twice", `{"path":"a"}`, retry(t, first, confirming(sayYes))).want(http.StatusOK).result()
	if dig(second, "inputRequests", "name") == nil {
		t.Fatalf("the backend's question is not there: %v", second)
	}
	name := retry(t, second, `{"name":{"action":"accept","content":{"name":"x"}}}`)
	if got := c.call("twice", `{"path":"a"}`, name).text(); got != "run 1" {
		t.Errorf("the last round gave %q", got)
	}
	c.call("twice", `{"path":"a"}`, name).json().wantError(t, -31520)
	w.ran(t, 1)
	s := newSession(t, e.URL, vNov)
	stream := s.call("twice", `{"path":"a"}`).want(http.StatusOK).events()
	s.answer(stream.awaitMethod("elicitation/create"), sayYes)
	s.answer(stream.awaitMethod("elicitation/create"), `{"action":"accept","content":{"name":"x"}}`)
	if got := text(t, stream.message().result(t)); got != "run 2" {
		t.Errorf("in a session it gave %q", got)
	}
}

// TestConfirmSessions: in the revisions with sessions the question is a request on the call's stream.
func TestConfirmSessions(t *testing.T) {
	w := newWiper()
	e := startEdge(t, only(startService(t, w.Server)), toConfirm)
	runs := int64(0)
	for _, version := range stateful {
		s := newSession(t, e.URL, version)
		if version == v2024 || version == vMar { // without elicitation
			if m := s.call("wipe", `{"path":"a"}`).final().wantError(t, -31403); !strings.Contains(m.Error.Message, "elicitation") {
				t.Errorf("%s: %s", version, m.Error.Message)
			}
			continue
		}
		for answer, code := range map[string]int{sayYes: 0, sayNo: -31403, goAway: -31403, leaveOpen: -31403} {
			stream := s.call("wipe", `{"path":"a"}`).want(http.StatusOK).events()
			s.answer(stream.awaitMethod("elicitation/create"), answer)
			m := stream.message()
			if code != 0 {
				m.wantError(t, code)
				continue
			}
			if runs++; text(t, m.result(t)) != fmt.Sprint("run ", runs) {
				t.Errorf("%s: %s", version, m.Result)
			}
		}
		unable := newSession(t, e.URL, version, `{}`)
		if m := unable.call("wipe", `{"path":"a"}`).final().wantError(t, -31403); !strings.Contains(m.Error.Message, "elicitation") {
			t.Errorf("%s, a client that cannot ask: %s", version, m.Error.Message)
		}
	}
	w.ran(t, runs)
}

// TestConfirmTasks: a task asks for its confirmation before it runs.
func TestConfirmTasks(t *testing.T) {
	w := newWiper()
	e := startEdge(t, only(startService(t, w.Server)), toConfirm)
	s := newSession(t, e.URL, vNov)
	for i, answer := range []string{sayYes, sayNo} {
		id, _ := dig(s.request("tools/call", `{"name":"job","arguments":{"path":"a"},"task":{}}`).want(http.StatusOK).result(), "task", "taskId").(string)
		await.Until(t, "the task asks", func() bool {
			return s.request("tasks/get", `{"taskId":"`+id+`"}`).result()["status"] == "input_required"
		})
		w.ran(t, int64(i))
		stream := s.request("tasks/result", `{"taskId":"`+id+`"}`).want(http.StatusOK).events()
		s.answer(stream.awaitMethod("elicitation/create"), answer)
		if m := stream.message(); answer == sayYes {
			if got := text(t, m.result(t)); got != "run 1" {
				t.Errorf("the task gave %q", got)
			}
		} else {
			m.wantError(t, -31403)
		}
	}
	c := newStateless(t, e.URL, `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`)
	yes := retry(t, c.call("job", `{"path":"a"}`).want(http.StatusOK).result(), confirming(sayYes))
	if got := c.call("job", `{"path":"a"}`, yes).text(); got != "run 2" {
		t.Errorf("a call that may become a task gave %q", got)
	}
	c.call("job", `{"path":"a"}`, yes).json().wantError(t, -31520)
	w.ran(t, 2)
}

// TestConfirmReplicas: one confirmation sent at once to two replicas on one Redis runs once, and nothing runs while Redis is away.
func TestConfirmReplicas(t *testing.T) {
	server, w := redisserver.ForTest(t), newWiper()
	backends := only(startService(t, w.Server))
	var edges [2]*harness.Edge
	var clients [2]*stateless
	for i := range edges {
		edges[i] = startEdge(t, backends, toConfirm, func(c *config.Config) {
			c.Redis.URL = server.URL()
		})
		clients[i] = newStateless(t, edges[i].URL)
	}
	const rounds = 20
	for n := range rounds {
		yes := retry(t, clients[n%2].call("wipe", `{"path":"a"}`).result(), confirming(sayYes))
		var work sync.WaitGroup
		var replies [4]*reply
		for i := range replies {
			work.Go(func() { replies[i] = clients[i%2].call("wipe", `{"path":"a"}`, yes) })
		}
		work.Wait()
		for _, r := range replies {
			if m := r.json(); m.Error != nil && m.Error.Code != -31520 {
				t.Errorf("%s", r.body)
			}
		}
		w.ran(t, int64(n+1))
	}
	s := newSession(t, edges[0].URL, vNov)
	stream := s.call("wipe", `{"path":"a"}`).events()
	s.at(edges[1]).answer(stream.awaitMethod("elicitation/create"), sayYes)
	if got := text(t, stream.message().result(t)); got != fmt.Sprint("run ", rounds+1) {
		t.Errorf("a session answered elsewhere gave %q", got)
	}
	yes := retry(t, clients[0].call("wipe", `{"path":"a"}`).result(), confirming(sayYes))
	server.Kill()
	clients[0].call("wipe", `{"path":"a"}`, yes).want(http.StatusServiceUnavailable).json().wantError(t, -31503)
	w.ran(t, rounds+1)
}

// TestConfirmRemembered: who has confirmed is not asked again for the same tool for a time, on any replica; others are.
func TestConfirmRemembered(t *testing.T) {
	t.Parallel() // it waits for most of its time
	for _, kind := range []string{"memory", "Redis"} {
		t.Run(kind, func(t *testing.T) {
			id, w := issuer.Serve(t), newWiper()
			backends := only(startService(t, w.Server))
			adjust := []func(*config.Config){withAuth(id), toConfirm, func(c *config.Config) {
				c.Auth.Optional = true
				c.Policy.Confirm = c.Policy.Confirm[:1]
				c.Policy.Confirm[0].Remember = c.Calls.Lifetime / 100
			}}
			if kind == "Redis" {
				server := redisserver.ForTest(t)
				adjust = append(adjust, func(c *config.Config) { c.Redis.URL = server.URL() })
			}
			first := startEdge(t, backends, adjust...)
			second := first
			if kind == "Redis" {
				second = startEdge(t, backends, adjust...)
			}
			as := func(e *harness.Edge, who, client string) *stateless {
				return statelessAs(t, e, id.Token(who, public, map[string]any{"client_id": client}))
			}
			ann := as(first, "ann", "c")
			ann.call("wipe", `{"path":"a"}`, retry(t, ann.call("wipe", `{"path":"a"}`).result(), confirming(sayYes))).want(http.StatusOK)
			if got := as(second, "ann", "c").call("wipe", `{"path":"b"}`).text(); got != "run 2" {
				t.Errorf("the second call gave %q", got)
			}
			for what, r := range map[string]*reply{
				"another caller": as(first, "bob", "c").call("wipe", `{"path":"a"}`), "another client": as(first, "ann", "d").call("wipe", `{"path":"a"}`),
				"another tool": ann.call("burn", `{"path":"a"}`),
			} {
				if r.result()["resultType"] != "input_required" {
					t.Errorf("%s: %s", what, r.body)
				}
			}
			bob := as(first, "bob", "c")
			bob.call("wipe", `{"path":"a"}`, retry(t, bob.call("wipe", `{"path":"a"}`).result(), confirming(sayYes))).want(http.StatusOK)
			if got := as(second, "bob", "c").call("wipe", `{"path":"b"}`).text(); got != "run 4" {
				t.Errorf("another caller who confirmed, too, got %q", got)
			}
			nobody := newStateless(t, first.URL)
			nobody.call("wipe", `{"path":"a"}`, retry(t, nobody.call("wipe", `{"path":"a"}`).result(), confirming(sayYes))).want(http.StatusOK)
			if r := nobody.call("wipe", `{"path":"a"}`); r.result()["resultType"] != "input_required" {
				t.Errorf("an anonymous caller: %s", r.body)
			}
			w.ran(t, 5)
		})
	}
}

// TestConfirmIsRecorded: a call that waits for its confirmation is not recorded as allowed, each decision is
// recorded once, and quotas are charged once.
func TestConfirmIsRecorded(t *testing.T) {
	w, path := newWiper(), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, w.Server)), toConfirm, auditTo(path), func(c *config.Config) {
		c.Quotas = []config.Quota{quota("tool", 2, "wipe")}
	})
	c := newStateless(t, e.URL)
	for _, answer := range []string{sayYes, sayNo} {
		c.call("wipe", `{"path":"a"}`, retry(t, c.call("wipe", `{"path":"a"}`).want(http.StatusOK).result(), confirming(answer)))
	}
	newStateless(t, e.URL, `{}`).call("burn", `{"path":"a"}`).json().wantError(t, -32021)
	metrics := newOperator(t, e).get("/metrics").want(http.StatusOK).text
	e.End(t)
	var got []recorded
	for _, r := range records(t, path) {
		if r.Event == "decision" {
			got = append(got, r)
		}
	}
	wantRecords(t, got, "allow policy default wipe", "deny confirmation destructive wipe", "deny confirmation destructive burn")
	if c := got[0].Confirmed; len(c) != 1 || c[0].Name != "destructive" || c[0].How != "answered" || got[1].Confirmed != nil {
		t.Errorf("recorded as confirmed: %v, %v", c, got[1].Confirmed)
	}
	if !strings.Contains(metrics, `mcpedge_confirmation_outcome="declined",`) {
		t.Errorf("the answers are not counted: %s", metrics)
	}
	if !strings.Contains(metrics, `mcpedge_policy_denied_total{mcpedge_rule="destructive"`) && !strings.Contains(metrics, `rule="destructive"`) {
		t.Errorf("the refusals are not counted")
	}
	w.ran(t, 1)
}

// TestConfirmOverREST: over the REST API a call without the capability to ask is refused, and another one is asked as any client is.
func TestConfirmOverREST(t *testing.T) {
	w := newWiper()
	e := startEdge(t, only(startService(t, w.Server)), toConfirm)
	o := newOperator(t, e)
	if got := o.post("/v1/tools/wipe:call", `{"arguments":{"path":"a"},"clientCapabilities":{}}`).want(http.StatusBadRequest); !strings.Contains(got.text, "the user must confirm") {
		t.Errorf("%s", got.text)
	}
	var asked struct{ InputRequired struct{ State string } }
	got := o.post("/v1/tools/wipe:call", `{"arguments":{"path":"a"}}`).want(http.StatusOK)
	if err := json.Unmarshal([]byte(got.text), &asked); err != nil || !strings.Contains(got.text, "about to be called") {
		t.Fatalf("%v: %s", err, got.text)
	}
	w.ran(t, 0)
	yes := `{"arguments":{"path":"a"},"round":{"state":"` + asked.InputRequired.State + `","responses":` + confirming(sayYes) + `}}`
	for i := range 2 {
		if got := o.post("/v1/tools/wipe:call", yes); (got.status == http.StatusOK) != (i == 0) {
			t.Errorf("%d: %d %s", i, got.status, got.text)
		}
	}
	w.ran(t, 1)
}

// TestConfirmOverStdio: what comes over stdio is confirmed, too.
func TestConfirmOverStdio(t *testing.T) {
	w := newWiper()
	cfg := harness.Config(only(startService(t, w.Server))...)
	toConfirm(&cfg)
	e := harness.StartStdio(t, cfg)
	out := bufio.NewScanner(e.Out)
	defer func() {
		e.In.Close()
		for out.Scan() {
		}
		<-e.Ended()
	}()
	c := &stateless{t: t, capabilities: everything}
	n := 0
	send := func(more map[string]any) message {
		n++
		members := map[string]any{"name": "wipe", "arguments": map[string]any{"path": "a"}}
		for k, v := range more {
			members[k] = v
		}
		if _, err := fmt.Fprintln(e.In, envelope(fmt.Sprint(n), "tools/call", c.params(members))); err != nil || !out.Scan() {
			t.Fatal(err, out.Err())
		}
		return parse(t, out.Bytes())
	}
	yes := retry(t, send(nil).result(t), confirming(sayYes))
	if got := text(t, send(yes).result(t)); got != "run 1" {
		t.Errorf("confirmed: %q", got)
	}
	send(yes).wantError(t, -31520)
	c.capabilities = `{}`
	send(nil).wantError(t, -32021)
	w.ran(t, 1)
}

// TestConfirmTakeover: a call whose replica is lost after the confirmation does not run again, even if its tool
// could, and one that waits for the confirmation is confirmed at another replica.
func TestConfirmTakeover(t *testing.T) {
	t.Parallel() // it waits for most of its time
	var ran atomic.Int64
	began, gate := make(chan struct{}, 9), make(chan struct{})
	s := capability.New("fixture", "1")
	capability.AddTool(s, "look", "Looks", func(ctx context.Context, _ *capability.Call, _ struct{}) (string, error) {
		n := ran.Add(1)
		began <- struct{}{}
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return fmt.Sprint("run ", n), nil
	}, capability.ReadOnly())
	p := startPair(t, s, func(c *config.Config) {
		c.Policy = &config.Policy{Confirm: []config.PolicyConfirm{{Name: "all", When: "true", Message: "Look?"}}}
	})
	session := newSession(t, p.first.URL, vNov)
	lost := session.call("look", "{}").want(http.StatusOK).events()
	asked := lost.awaitMethod("elicitation/create")
	waits := session.call("look", "{}").want(http.StatusOK).events()
	second := waits.awaitMethod("elicitation/create")
	session.answer(asked, sayYes)
	await.Receive(t, "the first run", began)
	p.lose()
	lost.close()
	waits.close()
	there := session.at(p.second)
	there.get(lost.lastID).want(http.StatusOK).events().awaitError(-31520)
	if got := ran.Load(); got != 1 {
		t.Errorf("%d runs", got)
	}
	there.answer(second, sayYes)
	await.Receive(t, "the run of the call that waited", began)
	close(gate)
	if got := text(t, there.get(waits.lastID).want(http.StatusOK).events().message().result(t)); got != "run 2" {
		t.Errorf("it gave %q", got)
	}
	p.back()
}
