package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// governed is an edge with all of its settings in a file, which the test changes.
type governed struct {
	*harness.Edge
	t          *testing.T
	file       string
	generation int
}

// govern starts an edge from a file with these settings.
func govern(t *testing.T, settings string, options ...app.Option) *governed {
	t.Helper()
	g := &governed{t: t, file: filepath.Join(t.TempDir(), "edge.yaml"), generation: 1}
	g.write(settings)
	cfg, err := config.Load("serve", []string{"--config", g.file}, func(string) (string, bool) { return "", false }, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	g.Edge = harness.Start(t, cfg, options...)
	return g
}

func (g *governed) write(settings string) {
	g.t.Helper()
	listen := "listen: {address: '127.0.0.1:0'}\n"
	if rest, has := strings.CutPrefix(settings, "listen: {"); has {
		listen, settings = "", "listen: {address: '127.0.0.1:0', "+rest
	}
	admin := "admin: {address: '127.0.0.1:0'}\n"
	if strings.Contains(settings, "\nadmin: {") {
		admin, settings = "", strings.Replace(settings, "\nadmin: {", "\nadmin: {address: '127.0.0.1:0', ", 1)
	}
	base := fmt.Sprintf("%s%sshutdown: {grace: %s}\nadvanced: {start-wait: %s}\n", listen, admin, await.Patience, await.Patience)
	if !strings.Contains("\n"+settings, "\ncalls:") {
		base += fmt.Sprintf("calls: {stream-after: %s}\n", await.Patience)
	}
	harness.Write(g.t, g.file, base+settings)
}

// change writes other settings, and returns once they are in force.
func (g *governed) change(settings string) {
	g.t.Helper()
	g.write(settings)
	g.generation++
	awaitMetric(g.t, g.Edge, "mcpedge_settings_generation", float64(g.generation))
}

// backend is an entry of the list of backends; more are its other settings.
func backend(name string, s *harness.Service, more string) string {
	return fmt.Sprintf("- {name: %s, target: %q%s}\n", name, s.Addr, more)
}

// adder serves one tool, which adds two numbers, and if that is named add one prompt.
func adder(tool string) *capability.Server {
	s := capability.New(tool, "1.0.0")
	capability.AddTool(s, tool, "Adds two numbers", func(_ context.Context, _ *capability.Call, in addIn) (sum, error) { return sum{in.A + in.B}, nil })
	if tool == "add" {
		capability.AddPrompt(s, &capability.Prompt{Name: "greet"}, func(context.Context, *capability.Call, map[string]string) (string, error) { return "hello", nil })
	}
	return s
}

// TestBackendsAreExchanged: backends are added, changed, moved and removed while calls run, of which none fails, and clients are
// told once of each list that differs.
func TestBackendsAreExchanged(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	first, moved := harness.Serve(t, "first", adder("add")), harness.Serve(t, "moved", adder("add"))
	second := harness.Serve(t, "second", adder("more"))

	a, b := backend("a", first, ""), backend("b", second, ", prefix: b_")
	e := govern(t, "backends:\n"+a)
	s := newSession(t, e.URL, vNov)
	stream := s.get("").want(200).events()
	lists := func() []string {
		return names(newStateless(t, e.URL).request("tools/list", nil).result()["tools"], "name")
	}
	stop, renewed := adding(t, e.Edge)
	defer stop()

	told := 0
	for _, step := range []struct {
		what, settings string
		// more is whether the second backend's tool is listed afterwards, differs whether it was not before.
		more, differs bool
	}{
		{"one is added", a + b, true, true},
		{"the order is another", b + a, true, true},
		{"a timeout is another", b + backend("a", first, ", timeout: 50s"), true, false},
		{"a target is another, with the same lists", b + backend("a", moved, ""), true, false},
		{"one is removed", backend("a", moved, ""), false, true},
		{"it is back", backend("a", moved, "") + b, true, true},
	} {
		if e.change("backends:\n" + step.settings); step.differs {
			told++
		}
		if got := lists(); slices.Contains(got, "b_more") != step.more || !slices.Contains(got, "add") {
			t.Errorf("%s: the tools are %q", step.what, got)
		}
		renewed()
	}
	e.change("backends:\n" + backend("a", moved, "") + b + "catalog: {prompts: [{backend: a, prompt: greet, hide: true}]}\n")
	var got []string
	for len(got) == 0 || got[len(got)-1] != "notifications/prompts/list_changed" {
		got = append(got, stream.message().Method)
	}
	if want := append(slices.Repeat([]string{"notifications/tools/list_changed"}, told), "notifications/prompts/list_changed"); !slices.Equal(got, want) {
		t.Errorf("the client was sent %q, want %q", got, want)
	}
	stop()
}

// TestCallsOfAChangedBackend: a call that runs ends where it began, one that asks goes on at the new target, and new ones begin
// there.
func TestCallsOfAChangedBackend(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	was := newFixture()
	old, fresh := startService(t, was.Server), startService(t, newFixture().Server)
	e := govern(t, "backends:\n"+backend("a", old, ""))
	for _, version := range []string{vNov, v2026} {
		running := make(chan message, 1)
		c := clientOf(t, e.Edge, version, "")
		go func() {
			running <- c.ask("tools/call", `{"name":"gate","arguments":{"name":"`+version+`"}}`).final()
		}()
		await.Receive(t, "the call to run", was.started)
		s := newSession(t, e.URL, vNov)
		asked := s.call("ask_name", "").want(200).events()
		question := asked.awaitMethod("elicitation/create")
		again := retry(t, newStateless(t, e.URL).call("ask_name", "").result(), `{"name":`+answers["elicitation/create"]+`}`)

		e.change("backends:\n" + backend("a", fresh, ""))
		s.answer(question, answers["elicitation/create"])
		if m := asked.response(); !strings.Contains(string(m.raw), "Hello, Ada") {
			t.Errorf("%s: a call that asked: %s", version, m.raw)
		}
		if got := newStateless(t, e.URL).call("ask_name", "", again).text(); got != "Hello, Ada" {
			t.Errorf("%s: another round: %s", version, got)
		}
		close(was.gate(version))
		if m := await.Receive(t, "the call that ran", running); !strings.Contains(string(m.raw), "passed "+version) {
			t.Errorf("%s: %s", version, m.raw)
		}
		e.change("backends:\n" + backend("a", old, ""))
	}
}

// TestUnreachableBackendIsAdded: it is in force soon, beside what serves, and answers as an unreachable one does.
func TestUnreachableBackendIsAdded(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	service := startService(t, newFixture().Server)
	e := govern(t, "backends:\n"+backend("a", service, ""))
	addr, err := freeport.Listen()
	if err != nil {
		t.Fatal(err)
	}
	gone := &harness.Service{Name: "gone", Addr: addr.Addr().String()}
	_ = addr.Close()
	e.change("backends:\n" + backend("a", service, "") + backend("gone", gone, ""))
	stop, renewed := adding(t, e.Edge)
	defer stop()
	renewed()
	late := harness.ServeAt(t, "gone", gone.Addr, newFixture().Server)
	await.Until(t, "its state to be ready", func() bool {
		r := newCaller(t, "http://"+e.Admin+"/v1/backends").send(t, http.MethodGet, "")
		return strings.Count(string(r.body), `"state":"ready"`) == 2
	})
	stop()
	late.Stop()
}

// TestBrokenSettingsChangeNothing: not one part of a file with a mistake is in force, wherever the mistake is, and no call and no
// client notices.
func TestBrokenSettingsChangeNothing(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	service := startService(t, newFixture().Server)
	good := "backends:\n" + backend("a", service, "") + "policy: {default: allow}\nquotas: [{per: principal, rate: 1000000/s}]\n"
	e := govern(t, good)
	stop, renewed := adding(t, e.Edge)
	defer stop()
	const changed = "catalog: {default: hide}\npolicy: {default: deny}\nquotas: [{per: principal, rate: 1/h}]\n"
	for _, bad := range []string{
		"backends: []\n" + changed,
		"backends:\n- {name: a, target: 'http://x'}\n" + changed,
		"backends:\n- {name: a, target: 'h:1', tls: {ca: nowhere.crt}}\n" + changed,
		"backends:\n" + backend("b", service, "") + changed + "nonsense: 1\n",
		"backends:\n" + backend("b", service, "") + "catalog: {default: hide}\npolicy: {default: hidden}\n",
		"backends:\n" + backend("b", service, "") + "policy: {default: deny}\n",
		changed,
		"",
		"backends: [\n",
	} {
		e.write(bad)
		awaitMetric(t, e.Edge, "mcpedge_settings_stale", 1)
		renewed()
		awaitMetric(t, e.Edge, "mcpedge_settings_generation", 1)
		e.write(good)
		awaitMetric(t, e.Edge, "mcpedge_settings_stale", 0)
	}
}

// TestGenerationIsReported: the status and the records of the audit name the settings that are in force, by a digest that is equal
// on each replica.
func TestGenerationIsReported(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	service := startService(t, newFixture().Server)
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	settings := func(more string) string {
		return "backends:\n" + backend("a", service, "") + "policy: {default: allow}\n" + more
	}
	e := govern(t, settings("audit: {file: "+audit+"}\n"))
	other := govern(t, settings(""))
	status := func(e *governed) (digest string, generation float64) {
		r := newCaller(t, "http://"+e.Admin+"/v1/status").send(t, http.MethodGet, "")
		about := object(t, r.body)["settings"].(map[string]any)
		if about["since"] == nil || about["file"] != e.file {
			t.Errorf("the settings are %v", about)
		}
		digest, _ = about["digest"].(string)
		number, _ := about["generation"].(string) // an int64 is a text in JSON of protobuf
		_, err := fmt.Sscan(number, &generation)
		if err != nil {
			t.Error(err)
		}
		return digest, generation
	}
	recorded := func(digest string) {
		t.Helper()
		call := newStateless(t, e.URL).call("add", `{"a":1,"b":2}`)
		call.want(200)
		await.Until(t, "a record with "+digest[:12], func() bool {
			text, err := os.ReadFile(audit)
			return err == nil && strings.Contains(string(text), `"settings":"`+digest[:12]+`"`)
		})
	}
	digest, generation := status(e)
	if same, _ := status(other); same != digest || generation != 1 {
		t.Errorf("generation %v has the digest %s, that of another replica is %s", generation, digest, same)
	}
	recorded(digest)
	e.change(settings("catalog: {default: hide, tools: [{backend: a, tool: add, title: Sum}]}\naudit: {file: " + audit + "}\n"))
	after, generation := status(e)
	if after == digest || generation != 2 {
		t.Errorf("generation %v has the digest %s after %s", generation, after, digest)
	}
	recorded(after)
}

// TestSettingsAreRolledBack: an operator puts the settings before in force again, which is recorded, while calls run.
func TestSettingsAreRolledBack(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	service, more := harness.Serve(t, "a", adder("add")), harness.Serve(t, "b", adder("more"))
	audit := filepath.Join(t.TempDir(), "audit.jsonl")
	beside := "audit: {file: " + audit + "}\n"
	e := govern(t, "backends:\n"+backend("a", service, "")+beside)
	lists := func() []string {
		return names(newStateless(t, e.URL).request("tools/list", nil).result()["tools"], "name")
	}
	rollBack := func() *reply {
		return newCaller(t, "http://"+e.Admin+"/v1/settings/rollback").send(t, http.MethodPost, "{}", "Content-Type", "application/json")
	}
	stop, renewed := adding(t, e.Edge)
	defer stop()
	rollBack().want(http.StatusBadRequest)
	e.change("backends:\n" + backend("a", service, "") + backend("b", more, "") + beside)
	if got := lists(); !slices.Contains(got, "more") {
		t.Errorf("the tools are %q", got)
	}
	about := object(t, rollBack().want(http.StatusOK).body)["settings"].(map[string]any)
	if about["rolledBack"] != true || about["generation"] != "3" {
		t.Errorf("the settings are %v", about)
	}
	if got := lists(); slices.Contains(got, "more") {
		t.Errorf("the tools are %q", got)
	}
	rollBack().want(http.StatusBadRequest)
	renewed()
	stop()
	await.Until(t, "the records of the operator", func() bool {
		text, err := os.ReadFile(audit)
		return err == nil && strings.Count(string(text), `"admin/settings/rollback"`) == 6 && strings.Count(string(text), `"outcome":"failed_precondition"`) == 2
	})
}
