package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// decoded is the text of a cursor.
func decoded(cursor string) string {
	b, _ := base64.RawURLEncoding.DecodeString(cursor)
	return string(b)
}

// callerAt is a caller of a path of the edge with a token; empty means none.
func callerAt(t *testing.T, e *harness.Edge, path, token string) *caller {
	c := newCaller(t, "http://"+e.Host+path)
	c.as(token)
	return c
}

// TestSetsHaveAudiences: each set has metadata and an audience of its own; a token for another set, or for the root where the set
// does not accept it, is refused, also at a cached second time.
func TestSetsHaveAudiences(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	_, e := startFixture(t, withAuth(id), twoSets, func(c *config.Config) {
		words := c.Sets["words"]
		words.AcceptRoot = true
		c.Sets["words"] = words
	})
	token := func(path string) string { return id.Token("alice", public+path) }
	root, sums, words := token(""), token("/mcp/sums"), token("/mcp/words")
	for _, x := range []struct {
		path, token string
		status      int
	}{
		{"/mcp", root, 200}, {"/mcp", token("/mcp"), 200}, {"/mcp", sums, 401}, {"/mcp", words, 401},
		{"/mcp/sums", sums, 200}, {"/mcp/sums/", sums, 200}, {"/mcp/sums", token("/sse/sums"), 200}, {"/mcp/sums", root, 401},
		{"/mcp/sums", token("/mcp"), 401}, {"/mcp/sums", words, 401}, {"/mcp/sums", "", 401},
		{"/mcp/words", words, 200}, {"/mcp/words", root, 200}, {"/mcp/words", token("/mcp"), 200}, {"/mcp/words", sums, 401},
		{"/mcp/words", token("/mcp/words/x"), 401}, {"/mcp/nix", root, 404}, {"/mcp/nix", "", 404},
	} {
		for range 2 {
			r := callerAt(t, e, x.path, x.token).send(t, http.MethodPost, hello)
			if r.status != x.status {
				t.Errorf("%s: %d, want %d: %s", x.path, r.status, x.status, r.body)
			}
			if says := r.header.Get("WWW-Authenticate"); x.status == 401 &&
				!strings.Contains(says, `resource_metadata="`+public+"/.well-known/oauth-protected-resource"+strings.TrimSuffix(x.path, "/")+`"`) {
				t.Errorf("%s: the challenge is %s", x.path, says)
			}
		}
	}
	if r := callerAt(t, e, "/sse/sums", root).send(t, http.MethodGet, ""); r.status != 401 {
		t.Errorf("SSE: %d", r.status)
	}
	if r := callerAt(t, e, "/message/sums?sessionId=x", root).send(t, http.MethodPost, hello); r.status != 401 || !strings.Contains(r.header.Get("WWW-Authenticate"), "/sse/sums") {
		t.Errorf("SSE, POST: %d %s", r.status, r.header.Get("WWW-Authenticate"))
	}
	for path, resource := range map[string]string{"/mcp/sums": "/mcp/sums", "/sse/sums": "/sse/sums", "/mcp": "/mcp", "": ""} {
		r := newCaller(t, "http://"+e.Host+"/.well-known/oauth-protected-resource"+path).send(t, http.MethodGet, "", "Accept", "").want(200)
		if got := object(t, r.body); got["resource"] != public+resource || path == "/mcp/sums" && got["resource_name"] != "Sums" {
			t.Errorf("%s: %s", path, r.body)
		}
	}
	newCaller(t, "http://"+e.Host+"/.well-known/oauth-protected-resource/mcp/nix").send(t, http.MethodGet, "", "Accept", "").want(404)
}

// TestSetsOfCallers: a set whose condition is not true for a caller is unknown to it; a caller without its scopes is told them. Nothing
// else of the request is answered before.
func TestSetsOfCallers(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id, path := issuer.Serve(t), filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id), twoSets, auditTo(path), func(c *config.Config) {
		c.Auth.Issuers[0].Audiences = []string{"all"}
		sums, words := c.Sets["sums"], c.Sets["words"]
		sums.When, words.Scopes = new(`principal.claims.team == "sums"`), config.Names{"words:use"}
		c.Sets["sums"], c.Sets["words"] = sums, words
	})
	token := func(who string, more map[string]any) string { return id.Token(who, "all", more) }
	member, other := token("member", map[string]any{"team": "sums", "scope": "words:use"}), token("other", map[string]any{"team": "x", "scope": "x"})
	without := token("without", nil)
	bodies := map[string]string{"a session": hello, "no JSON": "{", "an unknown session": envelope("1", "ping", "")}
	for what, body := range bodies {
		unknown := callerAt(t, e, "/mcp/nix", other).send(t, http.MethodPost, body).want(http.StatusNotFound)
		for who, token := range map[string]string{"other": other, "without the claim": without} {
			same(t, what+", "+who, callerAt(t, e, "/mcp/sums", token).send(t, http.MethodPost, body), unknown)
			same(t, what+" by GET, "+who, callerAt(t, e, "/sse/sums", token).send(t, http.MethodGet, ""), callerAt(t, e, "/sse/nix", token).send(t, http.MethodGet, ""))
		}
		lacking := callerAt(t, e, "/mcp/words", other).send(t, http.MethodPost, body).want(http.StatusForbidden)
		if says := lacking.header.Get("WWW-Authenticate"); !strings.Contains(says, `error="insufficient_scope"`) || !strings.Contains(says, `scope="words:use"`) ||
			!strings.Contains(says, `/.well-known/oauth-protected-resource/mcp/words"`) {
			t.Errorf("%s: the challenge is %s", what, says)
		}
	}
	callerAt(t, e, "/mcp/sums", member).send(t, http.MethodPost, hello).want(http.StatusOK)
	callerAt(t, e, "/mcp/words", member).send(t, http.MethodPost, hello).want(http.StatusOK)
	e.End(t)
	got := records(t, path)
	// The condition decides once for each request.
	for want, n := range map[string]int{"other hide set sums": 2 * len(bodies), "other step_up set words": len(bodies)} {
		if is := slices.DeleteFunc(slices.Clone(got), func(r recorded) bool { return r.String() != want }); len(is) != n {
			t.Errorf("there are %d records %q, want %d", len(is), want, n)
		}
	}
}

// TestRulesKnowTheSet: policy, quotas, audit, metrics and the log know in which set a request is made.
func TestRulesKnowTheSet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	e := startEdge(t, only(startService(t, newFixture().Server)), auditTo(path), func(c *config.Config) {
		all := config.SetMembers{Backends: config.Names{c.Backends[0].Name}}
		c.Sets = map[string]config.Set{"one": {Include: all}, "two": {Include: all}}
		c.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{
			{Name: "no sums", When: `request.set == "one" && tool.name == "add"`, Then: "hide"},
			{Name: "not at the root", When: `request.set == "" && prompt.name == "greet"`, Then: "deny"},
		}}
		echo := quota("principal", 1, "echo")
		echo.Sets = []string{"two"}
		each := quota("set", 1, "count")
		c.Quotas = []config.Quota{echo, each}
	})
	lists := func(url, method, name string) bool {
		return strings.Contains(string(newStateless(t, url).ask(method, "{}").want(200).body), `"name":"`+name+`"`)
	}
	root, one, two := e.URL, atSet(e, "one"), atSet(e, "two")
	for url, want := range map[string][2]bool{root: {true, false}, one: {false, true}, two: {true, true}} {
		if got := [2]bool{lists(url, "tools/list", "add"), lists(url, "prompts/list", "greet")}; got != want {
			t.Errorf("%s lists add and greet: %v, want %v", url, got, want)
		}
		if m := newStateless(t, url).call("add", `{"a":1,"b":2}`).want(200).json(); (m.Error == nil) != want[0] {
			t.Errorf("%s: add: %s", url, m.raw)
		}
	}
	sum := `{"text":"x"}`
	newStateless(t, two).call("echo", sum).want(200)
	tooMany(t, newStateless(t, two).call("echo", sum))
	for range 3 {
		newStateless(t, root).call("echo", sum).want(200)
		newStateless(t, one).call("echo", sum).want(200)
	}
	for _, url := range []string{root, one, two} {
		newStateless(t, url).call("count", `{"to":1}`).want(200)
		tooMany(t, newStateless(t, url).call("count", `{"to":1}`))
	}
	metrics := string(newCaller(t, "http://"+e.Admin+"/metrics").send(t, http.MethodGet, "", "Accept", "").want(200).body)
	for _, set := range []string{"one", "two"} {
		if !strings.Contains(metrics, `mcpedge_set="`+set+`"`) {
			t.Errorf("no metric names the set %s", set)
		}
	}
	e.End(t)
	sets := map[string]int{}
	for _, r := range records(t, path) {
		if r.Event == "outcome" && r.Target == "add" {
			sets[r.Set]++
		}
	}
	if fmt.Sprint(sets) != "map[:1 one:1 two:1]" {
		t.Errorf("recorded outcomes of add by set: %v", sets)
	}
}

// TestChangedSetsAreTold: after a change of the settings, clients of exactly those sets hear of it whose lists differ, and cursors,
// sessions and lists are those of the new set.
func TestChangedSetsAreTold(t *testing.T) {
	harness.OneProcess(t)
	t.Parallel() // it waits for most of its time
	service := startService(t, newFixture().Server)
	settings := func(sums, catalog string) string {
		return "backends:\n" + backend("fixture", service, "") + "sets:\n  sums: {include: {tools: [" + sums + "]}}\n  words: {include: {tools: [echo], groups: [more]}}\n" +
			"catalog: {tools: [{backend: fixture, tool: count, groups: [more]}, {backend: fixture, tool: gate, groups: [none]}" + catalog + "]}\n"
	}
	e := govern(t, settings("add", ""))
	streams := map[string]*stream{}
	for set, url := range map[string]string{"": e.URL, "sums": atSet(e.Edge, "sums"), "words": atSet(e.Edge, "words")} {
		streams[set] = newSession(t, url, vNov).get("").want(200).events()
	}
	const told = "notifications/tools/list_changed"
	lists := func(set string) []string {
		return names(newStateless(t, atSet(e.Edge, set)).request("tools/list", nil).result()["tools"], "name")
	}
	e.change(settings("add, big", ""))
	streams["sums"].awaitMethod(told)
	if got := lists("sums"); !slices.Equal(got, []string{"add", "big"}) {
		t.Errorf("sums has %q", got)
	}
	e.change(settings("add, big", ", {backend: fixture, tool: rich, groups: [more]}"))
	streams["words"].awaitMethod(told)
	if got := lists("words"); !slices.Equal(got, []string{"count", "echo", "rich"}) && !slices.Equal(got, []string{"echo", "count", "rich"}) {
		t.Errorf("words has %q", got)
	}
	e.change(settings("add, big", ", {backend: fixture, tool: rich, groups: [more]}, {backend: fixture, tool: add, title: Sum}"))
	streams["sums"].awaitMethod(told)
	streams[""].awaitMethod(told)
	e.change("backends:\n" + backend("fixture", service, "") + "sets: {words: {include: {tools: [echo]}}}\ncatalog: {}\n")
	for _, set := range []string{"words", "sums", ""} { // add has its own title again at the root
		if m := streams[set].message(); m.Method != told {
			t.Errorf("%q was sent %s", set, m.raw)
		}
	}
	newCaller(t, atSet(e.Edge, "sums")).send(t, http.MethodPost, hello).want(http.StatusNotFound)
	for set, s := range streams {
		select {
		case ev := <-s.events:
			if ev.HasData && ev.Data != "" {
				t.Errorf("%q was also sent %s", set, ev.Data)
			}
		default:
		}
	}
}

// TestSetIsTakenOver: another replica continues a session of a set, its waiting call included, in that set alone.
func TestSetIsTakenOver(t *testing.T) {
	p := startPair(t, newFixture().Server, twoSets)
	s := newSession(t, atSet(p.first, "sums"), vNov)
	asked := s.call("ask_name", "").want(http.StatusOK).events()
	question := asked.awaitMethod("elicitation/create")
	p.lose()
	other := *s
	other.caller = newCaller(t, p.second.URL)
	other.post(envelope("9", "ping", "")).want(http.StatusNotFound)
	other.caller = newCaller(t, atSet(p.second, "words"))
	other.post(envelope("9", "ping", "")).want(http.StatusNotFound)
	other.caller = newCaller(t, atSet(p.second, "sums"))
	resumed := other.get(asked.lastID).want(http.StatusOK).events()
	other.answer(question, answers["elicitation/create"])
	if m := resumed.response(); !strings.Contains(string(m.raw), "Hello, Ada") {
		t.Errorf("the call ended with %s", m.raw)
	}
	if m := other.call("echo", `{"text":"x"}`).want(http.StatusOK).json(); m.Error == nil || !strings.Contains(m.Error.Message, "unknown tool") {
		t.Errorf("echo, of another set: %s", m.raw)
	}
}

// TestTasksOfSets: the creator of a task sees and cancels it from each set; lists, and cursors of lists, have those of the set alone.
func TestTasksOfSets(t *testing.T) {
	t.Parallel() // it waits for most of its time
	id := issuer.Serve(t)
	_, backends, steps := stepping(t)
	e := startEdge(t, backends, withAuth(id), func(c *config.Config) {
		c.Lists.PageSize = 1
		all := config.SetMembers{Backends: config.Names{c.Backends[0].Name}}
		c.Auth.Issuers[0].Audiences = []string{"all"}
		c.Sets = map[string]config.Set{"one": {Include: all}, "two": {Include: config.SetMembers{Tools: config.Names{"nothing"}}}}
	})
	alice, bob := id.Token("alice", "all", map[string]any{"client_id": "c"}), id.Token("alice", "all", map[string]any{"client_id": "other"})
	at := func(set, token string) *session {
		s := sessionAs(t, &harness.Edge{URL: e.URL + set}, vNov, token)
		return s
	}
	begin := func(s *session) string {
		made := s.request("tools/call", `{"name":"steps","arguments":{},"task":{}}`).want(http.StatusOK)
		id, _ := dig(made.result(), "task", "taskId").(string)
		return id
	}
	root, one, two := at("", alice), at("/one", alice), at("/two", alice)
	ofRoot, first, second := begin(root), begin(one), begin(one)
	for _, s := range []*session{root, one, two} {
		for _, id := range []string{ofRoot, first, second} {
			if got := s.request("tasks/get", `{"taskId":"`+id+`"}`).result(); got["status"] != "working" {
				t.Errorf("tasks/get: %v", got)
			}
		}
	}
	if m := at("/two", bob).request("tasks/get", `{"taskId":"`+first+`"}`).json(); m.Error == nil || !strings.Contains(m.Error.Message, "there is no task") {
		t.Errorf("another client at another set: %s", m.raw)
	}
	listed := func(s *session) (ids []string) {
		for params := "{}"; ; {
			r := s.request("tasks/list", params).want(http.StatusOK)
			for _, id := range []string{ofRoot, first, second} {
				var page struct{ Result struct{ NextCursor string } }
				if err := json.Unmarshal(r.body, &page); err != nil {
					t.Fatal(err)
				}
				if text := decoded(page.Result.NextCursor); strings.Contains(text, id) {
					t.Errorf("a cursor has the id of a task")
				}
			}
			got := r.result()
			ids = append(ids, names(got["tasks"], "taskId")...)
			next, more := got["nextCursor"].(string)
			if !more {
				return ids
			}
			params = `{"cursor":"` + next + `"}`
		}
	}
	if got := listed(root); !slices.Equal(got, []string{ofRoot}) {
		t.Errorf("the root lists %q", got)
	}
	if got := listed(one); !slices.Equal(got, []string{second, first}) {
		t.Errorf("one lists %q", got)
	}
	if got := listed(two); len(got) != 0 {
		t.Errorf("two lists %q", got)
	}
	page := one.request("tasks/list", "{}").result()
	two.request("tasks/list", fmt.Sprintf(`{"cursor":%q}`, page["nextCursor"])).json().wantError(t, -32602)
	two.request("tasks/cancel", `{"taskId":"`+first+`"}`).want(http.StatusOK)
	await.Until(t, "the task to be cancelled", func() bool {
		return one.request("tasks/get", `{"taskId":"`+first+`"}`).result()["status"] == "cancelled"
	})
	close(steps)
	if got := one.request("tasks/result", `{"taskId":"`+second+`"}`).final(); !strings.Contains(string(got.raw), "done") {
		t.Errorf("tasks/result at its set: %s", got.raw)
	}
	for _, s := range []*session{root, two} {
		if m := s.request("tasks/result", `{"taskId":"`+second+`"}`).final(); m.Error == nil || !strings.Contains(m.Error.Message, `belongs to the set "one"`) {
			t.Errorf("tasks/result at another endpoint: %s", m.raw)
		}
	}
	if m := one.request("tasks/result", `{"taskId":"`+ofRoot+`"}`).final(); m.Error == nil || !strings.Contains(m.Error.Message, "belongs to the endpoint without a set") {
		t.Errorf("tasks/result of a task of the root at a set: %s", m.raw)
	}
}
