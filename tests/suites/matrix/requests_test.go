package matrix

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

func initialized(t *testing.T, c *cell) {
	if c.hello["protocolVersion"] != c.version || dig(c.hello, "serverInfo", "name") != "mcpedge" || c.hello["instructions"] == nil {
		t.Errorf("initialize gave %v", c.hello)
	}
	checkCapabilities(t, c, c.hello["capabilities"])
}

func discovered(t *testing.T, c *cell) {
	got := c.result(t, "server/discover", nil)
	served, _ := got["supportedVersions"].([]any)
	if len(served) != len(versions) || served[0] != vNew {
		t.Errorf("supportedVersions: %v", served)
	}
	if dig(got, "_meta", "io.modelcontextprotocol/serverInfo", "name") != "mcpedge" || got["instructions"] == nil {
		t.Errorf("server/discover gave %v", got)
	}
	checkCapabilities(t, c, got["capabilities"])
}

func checkCapabilities(t *testing.T, c *cell, got any) {
	t.Helper()
	want := object{
		"logging": object{}, "tools": object{"listChanged": true}, "prompts": object{"listChanged": true},
		"resources": object{"listChanged": true, "subscribe": true},
	}
	if c.version >= vMar {
		want["completions"] = object{}
	}
	if c.version >= vJun {
		want["extensions"] = object{"io.example/matrix": object{"deep": object{"er": []any{1.0}}}, "io.modelcontextprotocol/ui": object{"a": 1.0}}
	}
	switch c.version {
	case vNov:
		want["tasks"] = object{"cancel": object{}, "requests": object{"tools": object{"call": object{}}}}
	case vNew:
		want["extensions"].(object)["io.modelcontextprotocol/tasks"] = object{}
	}
	same(t, "capabilities", got, want)
}

func pinged(t *testing.T, c *cell) {
	if got := c.result(t, "ping", nil); len(got) > 0 {
		t.Errorf("ping gave %v", got)
	}
}

// listed is a list, all pages of it. It checks that entries of every backend that has some are there.
func listed(t *testing.T, c *cell, method, member, key string, want ...string) (all []any, pages int) {
	t.Helper()
	params := object{}
	for {
		got := c.result(t, method, params)
		page, _ := got[member].([]any)
		all, pages = append(all, page...), pages+1
		if params["cursor"] = got["nextCursor"]; params["cursor"] == nil {
			break
		}
	}
	has := names(all, key)
	for _, w := range want {
		if !slices.Contains(has, w) {
			t.Errorf("%s lacks %s: %v", method, w, has)
		}
	}
	return all, pages
}

// entry is the entry of a list with a member of this value.
func entry(t *testing.T, list []any, key, value string) object {
	t.Helper()
	for _, e := range list {
		if dig(e, key) == value {
			o, _ := e.(object)
			return o
		}
	}
	t.Fatalf("no entry with %s %s", key, value)
	return nil
}

func toolsListed(t *testing.T, c *cell) {
	got, pages := listed(t, c, "tools/list", "tools", "name", "test_simple_text", "calculator_arithmetic", "rich")
	if pages < 2 {
		t.Errorf("%d tools on one page", len(got))
	}
	c.request(t, "tools/list", object{"cursor": "invented"}).wantError(t, -32602)
	same(t, "the tool", entry(t, got, "name", "rich"), rich(c.version, "tool"))
}

func resourcesListed(t *testing.T, c *cell) {
	got, _ := listed(t, c, "resources/list", "resources", "uri", "test://static-text", "matrix://rich")
	same(t, "the resource", entry(t, got, "uri", "matrix://rich"), rich(c.version, "resource"))
}

func templatesListed(t *testing.T, c *cell) {
	got, _ := listed(t, c, "resources/templates/list", "resourceTemplates", "uriTemplate", "test://template/{id}/data", "matrix://rich/{id}")
	same(t, "the template", entry(t, got, "uriTemplate", "matrix://rich/{id}"), rich(c.version, "template"))
}

func promptsListed(t *testing.T, c *cell) {
	got, _ := listed(t, c, "prompts/list", "prompts", "name", "test_simple_prompt", "rich")
	same(t, "the prompt", entry(t, got, "name", "rich"), rich(c.version, "prompt"))
}

func toolsCalled(t *testing.T, c *cell) {
	if got := text(c.call(t, "test_simple_text", nil)); got != "This is a simple text response for testing." {
		t.Errorf("got %q", got)
	}
	got := c.call(t, "calculator_arithmetic", object{"expression": "6*7"})
	want := any(nil)
	if c.version >= vJun {
		want = 42.0
	}
	if text(got) != "42" || dig(got, "structuredContent", "result") != want {
		t.Errorf("the calculator gave %v", got)
	}
	if got := c.call(t, "test_error_handling", nil); got["isError"] != true {
		t.Errorf("want isError: %v", got)
	}
	c.request(t, "tools/call", calling("no_such_tool", nil)).wantError(t, -32602)
	misfit := c.request(t, "tools/call", calling("calculator_arithmetic", object{"expression": 1}))
	if c.version < vNov {
		misfit.wantError(t, -32602)
	} else if misfit.result(t)["isError"] != true {
		t.Errorf("arguments that do not fit: %s", misfit.raw)
	}
}

// text is that of the first block of a tool's result.
func text(result object) string {
	s, _ := dig(result, "content", 0, "text").(string)
	return s
}

func resourcesRead(t *testing.T, c *cell) {
	read := func(uri string) object { return c.result(t, "resources/read", object{"uri": uri}) }
	if got := read("test://static-text"); dig(got, "contents", 0, "text") != "This is the content of the static text resource." {
		t.Errorf("got %v", got)
	}
	if got := read("test://static-binary"); dig(got, "contents", 0, "blob") == nil || dig(got, "contents", 0, "mimeType") != "image/png" {
		t.Errorf("got %v", got)
	}
	if got := read("test://template/7/data"); dig(got, "contents", 0, "mimeType") != "application/json" {
		t.Errorf("got %v", got)
	}
	same(t, "what was read", c.bare(t, read("matrix://rich"), true), rich(c.version, "read"))
	code := -32002
	if stateless(c.version) {
		code = -32602
	}
	const nowhere = "test://nowhere"
	m := c.request(t, "resources/read", object{"uri": nowhere}).wantError(t, code)
	if dig(m.Error.Data, "uri") != nowhere {
		t.Errorf("data.uri is not %s: %s", nowhere, m.raw)
	}
}

func subscribed(t *testing.T, c *cell) {
	if got := c.result(t, "resources/subscribe", object{"uri": "matrix://rich"}); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	c.call(t, "touch", nil)
	c.heard(t, "notifications/resources/updated")
}

// unsubscribed shows by a change that is told later, on the same stream, that one of the resource is not.
func unsubscribed(t *testing.T, c *cell) {
	c.result(t, "resources/subscribe", object{"uri": "matrix://rich"})
	if got := c.result(t, "resources/unsubscribe", object{"uri": "matrix://rich"}); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	c.settle(t)
	c.call(t, "touch", nil)
	c.call(t, "add_tool", object{"name": c.unique("unsubscribed")})
	m := c.await(t, "a change", func(m message) bool { return m.Method != "" })
	for ; m.Method != "notifications/tools/list_changed"; m = c.await(t, "a change", func(m message) bool { return m.Method != "" }) {
		if m.Method == "notifications/resources/updated" {
			t.Errorf("told of what was unsubscribed: %s", m.raw)
		}
	}
}

// unique is a name that no other column uses: all share the backends.
func (c *cell) unique(prefix string) string {
	return fmt.Sprintf("%s_%s_%c", prefix, c.version, c.transport[len(c.transport)-1])
}

func promptsGot(t *testing.T, c *cell) {
	got := c.result(t, "prompts/get", object{"name": "test_prompt_with_arguments", "arguments": object{"arg1": "one", "arg2": "two"}})
	if dig(got, "messages", 0, "content", "text") != "Prompt with arguments: arg1='one', arg2='two'" {
		t.Errorf("got %v", got)
	}
	got = c.result(t, "prompts/get", object{"name": "rich", "arguments": object{"a": "x"}})
	same(t, "the prompt", c.bare(t, got, false), rich(c.version, "messages"))
	c.request(t, "prompts/get", object{"name": "no_such_prompt"}).wantError(t, -32602)
}

func completed(t *testing.T, c *cell) {
	got := c.result(t, "completion/complete", object{"ref": object{"type": "ref/prompt", "name": "test_prompt_with_arguments"},
		"argument": object{"name": "arg1", "value": "par"}})
	same(t, "completions of a prompt", dig(got, "completion", "values"), []any{"paris", "park", "party"})
	got = c.result(t, "completion/complete", object{"ref": object{"type": "ref/resource", "uri": "matrix://rich/{id}"},
		"argument": object{"name": "id", "value": ""}, "context": object{"arguments": object{"region": "north"}}})
	want := "chosen "
	if c.version >= vJun {
		want += "north"
	}
	same(t, "completions of a template", dig(got, "completion", "values"), []any{want})
}

func levelSet(t *testing.T, c *cell) {
	if got := c.result(t, "logging/setLevel", object{"level": "error"}); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	c.request(t, "logging/setLevel", object{"level": "loud"}).wantError(t, -32602)
}

func batchServed(t *testing.T, c *cell) {
	c.mu.Lock()
	c.batched = true
	c.asked["900"], c.asked["901"] = "ping", "tools/call"
	c.mu.Unlock()
	c.link.send(outgoing{id: "900", raw: []byte(`[{"jsonrpc":"2.0","id":900,"method":"ping"},` +
		`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},` +
		`{"jsonrpc":"2.0","id":901,"method":"tools/call","params":{"name":"test_simple_text"}}]`)})
	c.response(t, "900").result(t)
	if got := c.response(t, "901").result(t); text(got) == "" {
		t.Errorf("got %v", got)
	}
	c.mu.Lock()
	c.batched = false
	c.mu.Unlock()
}

// batchRefused: there is no id that the refusal could name.
func batchRefused(t *testing.T, c *cell) {
	c.link.send(outgoing{id: "none", method: "ping", raw: []byte(`[{"jsonrpc":"2.0","id":900,"method":"ping"}]`)})
	c.await(t, "the refusal of a batch", func(m message) bool { return m.Error != nil && m.ID == nil }).wantError(t, -32600)
}

// same compares decoded JSON.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	a, errA := json.MarshalIndent(got, "", " ")
	b, errB := json.MarshalIndent(want, "", " ")
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%s is\n%s\nwant\n%s", what, a, b)
	}
}
