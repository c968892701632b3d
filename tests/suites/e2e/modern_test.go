package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// TestStateless runs the main job of the revision without sessions, on the same endpoint.
func TestStateless(t *testing.T) {
	_, e := startFixture(t)
	c := newStateless(t, e.URL)
	checkDiscovery(t, c)
	checkModernLists(t, c)

	r := c.call("add", `{"a":2,"b":3}`).want(http.StatusOK)
	if r.stream != nil || r.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("want JSON and no session: %v", r.header)
	}
	sum := r.result()
	if dig(sum, "structuredContent", "sum") != float64(5) || sum["resultType"] != "complete" {
		t.Errorf("add gave %v", sum)
	}
	if dig(sum, "_meta", "io.modelcontextprotocol/serverInfo", "name") != "mcpedge" {
		t.Errorf("the result does not say who gave it: %v", sum)
	}
	read := c.request("resources/read", map[string]any{"uri": "test://item/7"}).result()
	if dig(read, "contents", 0, "text") != "item 7" || read["ttlMs"] == nil || read["cacheScope"] == nil {
		t.Errorf("read gave %v", read)
	}
	got := c.request("prompts/get", map[string]any{"name": "greet", "arguments": map[string]string{"name": "Ada"}}).result()
	if dig(got, "messages", 0, "content", "text") != "Greet Ada" {
		t.Errorf("get gave %v", got)
	}
	got = c.request("completion/complete", map[string]any{
		"ref":      map[string]string{"type": "ref/resource", "uri": "test://item/{id}"},
		"argument": map[string]string{"name": "id", "value": "ap"},
	}).result()
	if values, _ := dig(got, "completion", "values").([]any); len(values) != 2 {
		t.Errorf("complete gave %v", got)
	}
}

func checkDiscovery(t *testing.T, c *stateless) {
	t.Helper()
	d := c.request("server/discover", nil).want(http.StatusOK).result()
	versions, _ := d["supportedVersions"].([]any)
	if !slices.Contains(versions, any(v2026)) {
		t.Errorf("supportedVersions: %v", versions)
	}
	for _, m := range []string{"capabilities", "instructions", "ttlMs", "cacheScope", "resultType"} {
		if d[m] == nil {
			t.Errorf("discovery lacks %s: %v", m, d)
		}
	}
}

func checkModernLists(t *testing.T, c *stateless) {
	t.Helper()
	for _, list := range []struct{ method, member, key, want string }{
		{"tools/list", "tools", "name", "add"},
		{"resources/list", "resources", "uri", "test://note"},
		{"resources/templates/list", "resourceTemplates", "uriTemplate", "test://item/{id}"},
		{"prompts/list", "prompts", "name", "greet"},
	} {
		got := c.request(list.method, nil).want(http.StatusOK).result()
		if !slices.Contains(names(got[list.member], list.key), list.want) {
			t.Errorf("%s lacks %s: %v", list.method, list.want, got)
		}
		for _, m := range []string{"resultType", "ttlMs", "cacheScope"} {
			if got[m] == nil {
				t.Errorf("%s lacks %s", list.method, m)
			}
		}
	}
}

// TestStatelessEvents: progress with a token of any type, messages only when asked for, and nothing
// behind the response.
func TestStatelessEvents(t *testing.T) {
	_, e := startFixture(t)
	c := newStateless(t, e.URL)
	if r := c.call("count", `{"to":2}`); r.stream != nil {
		t.Error("nobody asked for events, and a stream came")
	}
	c.progress = "7"
	stream := c.call("count", `{"to":2}`).events()
	for i := 1; i <= 2; i++ {
		p := object(t, stream.message().Params)
		if p["progressToken"] != float64(7) || p["progress"] != float64(i) {
			t.Errorf("progress %d: %v", i, p)
		}
	}
	if got := text(t, stream.message().result(t)); got != "counted to 2" {
		t.Errorf("count gave %q", got)
	}
	stream.end()
	if stream.lastID != "" {
		t.Errorf("an event has the id %q; streams of this revision cannot be resumed", stream.lastID)
	}
	c.progress, c.logLevel = "", "info"
	stream = c.call("count", `{"to":1}`).events()
	if m := object(t, stream.awaitMethod("notifications/message").Params); m["level"] != "info" {
		t.Errorf("message: %v", m)
	}
	c.logLevel = "error"
	if r := c.call("count", `{"to":1}`); r.stream != nil {
		t.Error("a message below the level was sent")
	}
}

// TestRounds: what a backend asks is the call's result; the call repeated with the answers completes.
func TestRounds(t *testing.T) {
	_, e := startFixture(t)
	c := newStateless(t, e.URL)
	for _, q := range []struct{ tool, key, method, want string }{
		{"ask_name", "name", "elicitation/create", "Hello, Ada"},
		{"ask_model", "word", "sampling/createMessage", "The model said word"},
		{"ask_roots", "roots", "roots/list", "roots: file:///home"},
	} {
		asked := c.call(q.tool, "").want(http.StatusOK).result()
		if got := dig(asked, "inputRequests", q.key, "method"); got != q.method {
			t.Fatalf("%s asks %v, want %s under %s", q.tool, asked, q.method, q.key)
		}
		if asked["ttlMs"] != nil {
			t.Errorf("%s: input_required has a cache hint", q.tool)
		}
		done := c.call(q.tool, "", retry(t, asked, `{"`+q.key+`":`+answers[q.method]+`}`)).result()
		if got := text(t, done); got != q.want || done["resultType"] != "complete" {
			t.Errorf("%s: %v, want %q", q.tool, done, q.want)
		}
	}
	asked := c.call("ask_url", "").result()
	if dig(asked, "inputRequests", "login", "params", "url") != "https://login.example/start" ||
		dig(asked, "inputRequests", "login", "params", "elicitationId") != nil {
		t.Errorf("ask_url asks %v", asked)
	}
	asked = c.call("ask_all", "").result()
	all := `{"name":` + answers["elicitation/create"] + `,"word":` + answers["sampling/createMessage"] + `,"roots":` + answers["roots/list"] + `}`
	if got := c.call("ask_all", "", retry(t, asked, all)).text(); got != "Ada word 1" {
		t.Errorf("ask_all: %q", got)
	}
	for method, target := range map[string]map[string]any{
		"prompts/get":    {"name": "ask_prompt"},
		"resources/read": {"uri": "test://asked"},
	} {
		asked := c.request(method, target).result()
		for k, v := range retry(t, asked, `{"name":`+answers["elicitation/create"]+`}`) {
			target[k] = v
		}
		if got := c.request(method, target).result(); got["resultType"] != "complete" {
			t.Errorf("%s: %v", method, got)
		}
	}
}

// TestRoundsGoneWrong: answers that are missing, unknown or do not fit are asked for again; a state
// that was not issued for this call is refused.
func TestRoundsGoneWrong(t *testing.T) {
	_, e := startFixture(t)
	c := newStateless(t, e.URL)
	asked := c.call("ask_name", "").result()
	for _, responses := range []string{"", `{}`, `{"other":{"action":"accept"}}`, `{"name":{"action":"accept","content":{"name":7}}}`} {
		again := c.call("ask_name", "", retry(t, asked, responses)).want(http.StatusOK).result()
		if again["resultType"] != "input_required" {
			t.Errorf("answered with %q: %v, want the question again", responses, again)
		}
	}
	// Answers may come without a state, and before any was issued.
	free := map[string]any{"inputResponses": json.RawMessage(`{"name":` + answers["elicitation/create"] + `,"more":{}}`)}
	if got := c.call("ask_name", "", free).text(); got != "Hello, Ada" {
		t.Errorf("answers without a state: %q", got)
	}
	first := c.call("two_steps", "").result()
	second := c.call("two_steps", "", retry(t, first, `{"first":`+answers["elicitation/create"]+`}`)).result()
	if first["requestState"] == second["requestState"] || dig(second, "inputRequests", "last") == nil {
		t.Errorf("second round: %v", second)
	}
	if got := c.call("two_steps", "", retry(t, second, `{"last":{"action":"accept","content":{"name":"Lovelace"}}}`)).text(); got != "Ada Lovelace" {
		t.Errorf("two_steps: %q", got)
	}
	state, _ := asked["requestState"].(string)
	for what, m := range map[string]map[string]any{
		"tampered":     {"requestState": state + "-TAMPERED"},
		"no string":    {"requestState": 7},
		"empty":        {"requestState": ""},
		"other's":      {"requestState": first["requestState"]},
		"invented":     {"requestState": "e30"},
		"with answers": {"requestState": state[:len(state)-4], "inputResponses": json.RawMessage(`{}`)},
	} {
		t.Run(what, func(t *testing.T) {
			c.call("ask_name", "", m).want(http.StatusBadRequest).json().wantError(t, -32602)
		})
	}
	// The state is bound to the arguments.
	bound := c.call("ask_name", `{}`).result()
	c.call("ask_name", `{"x":2}`, retry(t, bound, "{}")).want(http.StatusBadRequest).json().wantError(t, -32602)
}

// TestDisconnectCancels: the client's leaving ends the call at the backend.
func TestDisconnectCancels(t *testing.T) {
	f, e := startFixture(t)
	c := newStateless(t, e.URL)
	c.progress = `"p"`
	stream := c.call("gate", `{"name":"left"}`).events()
	<-f.started
	stream.close()
	if err := <-f.ended; err == nil {
		t.Error("the backend's call went on")
	}
}
