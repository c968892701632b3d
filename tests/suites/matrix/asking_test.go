package matrix

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// answers to what clients are asked, by method.
var answers = map[string]string{
	"sampling/createMessage": `{"role":"assistant","model":"m","content":{"type":"text","text":"word"},"stopReason":"endTurn"}`,
	"roots/list":             `{"roots":[{"uri":"file:///home","name":"home"}]}`,
	"elicitation/create":     `{"action":"accept","content":{"name":"Ada","ok":true,"context":"sun"}}`,
}

const formAnswer = `{"action":"accept","content":{"name":"Ada","age":36,"agree":true}}`

// asks calls a tool, answers the one thing it asks, and returns both.
func (c *cell) asks(t *testing.T, tool string, arguments object, method, answer string) (asked message, result object) {
	t.Helper()
	id := c.begin("tools/call", calling(tool, arguments), nil)
	asked = c.answer(t, method, answer)
	return asked, c.response(t, id).result(t)
}

func sampled(t *testing.T, c *cell) {
	asked, got := c.asks(t, "test_sampling", object{"prompt": "Say a word."}, "sampling/createMessage", answers["sampling/createMessage"])
	if dig(asked.Params, "messages", 0, "content", "text") != "Say a word." || dig(asked.Params, "maxTokens") != 100.0 {
		t.Errorf("asked %s", asked.raw)
	}
	if text(got) != "LLM response: word" {
		t.Errorf("got %v", got)
	}
}

func sampledWithTools(t *testing.T, c *cell) {
	asked, got := c.asks(t, "ask_tools", nil, "sampling/createMessage",
		`{"role":"assistant","model":"m","stopReason":"toolUse","content":[{"type":"text","text":"let me see"},`+
			`{"type":"tool_use","id":"1","name":"weather","input":{}}]}`)
	if dig(asked.Params, "tools", 0, "name") != "weather" || dig(asked.Params, "toolChoice", "mode") != "auto" {
		t.Errorf("asked %s", asked.raw)
	}
	if text(got) != "2 blocks, stopped by toolUse" {
		t.Errorf("got %v", got)
	}
}

// incapable: where the revision cannot ask so, the tool's result says it; where nothing is a request,
// the result asks.
func incapable(tool string) func(*testing.T, *cell) {
	return func(t *testing.T, c *cell) {
		if stateless(c.version) {
			if got := c.call(t, tool, nil); got["resultType"] != "input_required" {
				t.Errorf("%s gave %v", tool, got)
			}
			noRequest(t, c)
			return
		}
		if got := c.call(t, tool, nil); got["isError"] != true || text(got) == "" {
			t.Errorf("%s gave %v, want an error that a model can read", tool, got)
		}
	}
}

// noRequest: with all that was done before, no request came. What asks instead has rows of its own.
func noRequest(t *testing.T, c *cell) {
	for method := range requests {
		if c.hasHeard(method) {
			t.Errorf("%s was sent as a request", method)
		}
	}
}

// talked: what the model is sent is all that the backend said and the revision has.
func talked(tool string) func(*testing.T, *cell) {
	return func(t *testing.T, c *cell) {
		asked, got := c.asks(t, tool, nil, "sampling/createMessage", answers["sampling/createMessage"])
		same(t, "what the model is sent", asked.Params["messages"], talk(c.version, tool))
		if text(got) != "The model is m" {
			t.Errorf("got %v", got)
		}
	}
}

func rootsListed(t *testing.T, c *cell) {
	_, got := c.asks(t, "list_workspace", nil, "roots/list", answers["roots/list"])
	if !strings.Contains(text(got), "file:///home (home)") {
		t.Errorf("got %v", got)
	}
}

func elicited(t *testing.T, c *cell) {
	asked, got := c.asks(t, "ask_form", nil, "elicitation/create", formAnswer)
	if !strings.HasPrefix(text(got), "accept ") || !strings.Contains(text(got), `"age":36`) {
		t.Errorf("got %v", got)
	}
	var want object
	if err := json.Unmarshal([]byte(everyFieldForm), &want); err != nil {
		t.Fatal(err)
	}
	if c.version == vJun {
		delete(want, "$schema")
		fields, _ := want["properties"].(object)
		for name, f := range fields {
			field, _ := f.(object)
			if name != "agree" {
				delete(field, "default")
			}
			if name == "titled" {
				delete(field, "oneOf")
				field["enum"], field["enumNames"] = []any{"a", "b"}, []any{"Alpha", "Beta"}
			}
		}
	}
	same(t, "the form", asked.Params["requestedSchema"], want)
}

func chosen(t *testing.T, c *cell) {
	_, got := c.asks(t, "test_elicitation_sep1330_enums", nil, "elicitation/create",
		`{"action":"accept","content":{"untitledMulti":["option1","option2"]}}`)
	if !strings.Contains(text(got), `["option1","option2"]`) {
		t.Errorf("got %v", got)
	}
}

func urlOpened(t *testing.T, c *cell) {
	asked, got := c.asks(t, "ask_url", nil, "elicitation/create", `{"action":"accept"}`)
	id, _ := asked.Params["elicitationId"].(string)
	if asked.Params["mode"] != "url" || asked.Params["url"] != "https://login.example/start" || id == "" || text(got) != "url: accept" {
		t.Errorf("asked %s, got %v", asked.raw, got)
	}
}

// rounds repeats a request with answers for all it asks, until it is complete.
func (c *cell) rounds(t *testing.T, method string, members object) (result object, asked []string) {
	t.Helper()
	for range 5 {
		result = c.result(t, method, members)
		if result["resultType"] != "input_required" {
			return result, asked
		}
		responses := object{}
		requests, _ := result["inputRequests"].(object)
		for key, r := range requests {
			kind, _ := dig(r, "method").(string)
			asked = append(asked, kind)
			responses[key] = json.RawMessage(answers[kind])
		}
		members["inputResponses"], members["requestState"] = responses, result["requestState"]
	}
	t.Fatalf("no end of rounds: %v", result)
	return nil, nil
}

func toolRounds(t *testing.T, c *cell) {
	got, asked := c.rounds(t, "tools/call", calling("test_input_required_result_multiple_inputs", nil))
	slices.Sort(asked)
	same(t, "what was asked", asked, []string{"elicitation/create", "roots/list", "sampling/createMessage"})
	if !strings.HasPrefix(text(got), "Hello, Ada!\nword\nFound 1 root(s)") {
		t.Errorf("got %v", got)
	}
	_, asked = c.rounds(t, "tools/call", calling("test_input_required_result_request_state", nil))
	same(t, "what was asked", asked, []string{"elicitation/create"})
}

// noRounds: the same tool asks by requests, all at once where the revision has all.
func noRounds(t *testing.T, c *cell) {
	if c.version < vJun {
		incapable("test_input_required_result_multiple_inputs")(t, c)
		return
	}
	id := c.begin("tools/call", calling("test_input_required_result_multiple_inputs", nil), nil)
	for method, answer := range answers {
		c.answer(t, method, answer)
	}
	if got := c.response(t, id).result(t); !strings.HasPrefix(text(got), "Hello, Ada!\nword\nFound 1 root(s)") {
		t.Errorf("got %v", got)
	}
}

// everythingAsked: each kind of question, by itself.
func everythingAsked(t *testing.T, c *cell) {
	for tool, method := range map[string]string{"test_input_required_result_sampling": "sampling/createMessage",
		"test_input_required_result_list_roots": "roots/list", "test_input_required_result_elicitation": "elicitation/create"} {
		got, asked := c.rounds(t, "tools/call", calling(tool, nil))
		same(t, "what was asked", asked, []string{method})
		if text(got) == "" {
			t.Errorf("%s gave %v", tool, got)
		}
	}
	form := dig(c.call(t, "ask_form", nil), "inputRequests", "form", "params", "requestedSchema")
	var want object
	if err := json.Unmarshal([]byte(everyFieldForm), &want); err != nil {
		t.Fatal(err)
	}
	same(t, "the form", form, want)
}

// richlyAsked: what only some revisions have requests for.
func richlyAsked(t *testing.T, c *cell) {
	params := func(tool, key string) any { return dig(c.call(t, tool, nil), "inputRequests", key, "params") }
	if got := params("ask_tools", "model"); dig(got, "tools", 0, "name") != "weather" || dig(got, "toolChoice", "mode") != "auto" {
		t.Errorf("ask_tools asks %v", got)
	}
	if got := params("test_elicitation_sep1330_enums", "enums"); dig(got, "requestedSchema", "properties", "titledMulti") == nil {
		t.Errorf("test_elicitation_sep1330_enums asks %v", got)
	}
	for _, tool := range []string{"talk_image", "talk_audio", "talk_blocks", "talk_tools"} {
		same(t, tool, dig(params(tool, "model"), "messages"), talk(c.version, tool))
	}
	if got := params("ask_url", "login"); dig(got, "url") != "https://login.example/start" || dig(got, "mode") != "url" || dig(got, "elicitationId") != nil {
		t.Errorf("ask_url asks %v", got)
	}
}

func promptRounds(t *testing.T, c *cell) {
	got, _ := c.rounds(t, "prompts/get", object{"name": "test_input_required_result_prompt"})
	if dig(got, "messages", 0, "content", "text") != "Prompt with context: sun" {
		t.Errorf("got %v", got)
	}
}

func readRounds(t *testing.T, c *cell) {
	got, _ := c.rounds(t, "resources/read", object{"uri": "test://ask/x"})
	if dig(got, "contents", 0, "text") != "sun" {
		t.Errorf("got %v", got)
	}
}

func noPromptRounds(t *testing.T, c *cell) {
	got := c.asksOther(t, "prompts/get", object{"name": "test_input_required_result_prompt"})
	if got != nil && dig(got, "messages", 0, "content", "text") != "Prompt with context: sun" {
		t.Errorf("got %v", got)
	}
}

func noReadRounds(t *testing.T, c *cell) {
	got := c.asksOther(t, "resources/read", object{"uri": "test://ask/x"})
	if got != nil && dig(got, "contents", 0, "text") != "sun" {
		t.Errorf("got %v", got)
	}
}

// asksOther is what a request gives whose backend asks the user; nil where the revision cannot ask:
// then there is no result that could say so, and it is an error.
func (c *cell) asksOther(t *testing.T, method string, members object) object {
	t.Helper()
	id := c.begin(method, members, nil)
	if c.version < vJun {
		c.response(t, id).wantError(t, -32603)
		return nil
	}
	c.answer(t, "elicitation/create", `{"action":"accept","content":{"context":"sun"}}`)
	return c.response(t, id).result(t)
}
