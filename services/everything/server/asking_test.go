package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// reply answers by key.
func reply(answers map[string]*capability.InputResponse) func(*capability.InputRequest) *capability.InputResponse {
	return func(r *capability.InputRequest) *capability.InputResponse { return answers[r.GetKey()] }
}

// first runs the first round only.
func first(t *testing.T, c *capabilitytest.Client, name string, arguments any) *mcpedgev1.InputRequired {
	t.Helper()
	c.Answer = nil
	out := call(t, c, name, arguments)
	if out.InputRequired == nil {
		t.Fatalf("%s did not ask: %v", name, out)
	}
	return out.InputRequired
}

func keys(r *mcpedgev1.InputRequired) string {
	var all []string
	for _, request := range r.GetRequests() {
		all = append(all, request.GetKey())
	}
	return strings.Join(all, " ")
}

func TestForms(t *testing.T) {
	c := start(t)
	for name, test := range map[string]struct {
		arguments    any
		message      string
		properties   string // of the schema, in order of their names' appearance in the suite
		answer, want string
	}{
		"test_elicitation": {map[string]any{"message": "Who?"}, "Who?", "username email",
			`{"username":"u","email":"e"}`, `User response: action=accept, content={"username":"u","email":"e"}`},
		"test_elicitation_sep1034_defaults": {nil, "Please review", "name age score status verified",
			`{"age":25,"score":88.0}`, `Elicitation completed: action=accept, content={"age":25,"score":88.0}`},
		"test_elicitation_sep1330_enums": {nil, "Please select", "untitledSingle titledSingle legacyEnum untitledMulti titledMulti",
			`{"titledSingle":"value1","legacyEnum":"opt1","untitledMulti":["option1","option2"],"titledMulti":["value1"]}`, "action=accept"},
		"test_streaming_elicitation": {nil, "What is your name?", "name", `{"name":"A"}`, `content={"name":"A"}`},
	} {
		form := first(t, c, name, test.arguments).GetRequests()[0].GetElicitForm()
		var schema struct {
			Properties map[string]map[string]any `json:"properties"`
		}
		if err := json.Unmarshal([]byte(form.GetRequestedSchemaJson()), &schema); err != nil || !strings.HasPrefix(form.GetMessage(), test.message) {
			t.Errorf("%s: message %q, schema %v", name, form.GetMessage(), err)
		}
		for p := range strings.FieldsSeq(test.properties) {
			if schema.Properties[p]["type"] == nil {
				t.Errorf("%s: property %s: %v", name, p, schema.Properties[p])
			}
		}
		c.Answer = func(*capability.InputRequest) *capability.InputResponse { return capabilitytest.Accepted(test.answer) }
		if got := text(call(t, c, name, test.arguments)); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		c.Answer = func(*capability.InputRequest) *capability.InputResponse { return capabilitytest.Declined() }
		if got := text(call(t, c, name, test.arguments)); !strings.Contains(got, "action=decline, content={}") {
			t.Errorf("%s, declined: %q", name, got)
		}
	}
}

func TestDefaultsAndChoices(t *testing.T) {
	var defaults, enums struct {
		Properties map[string]map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(defaultsForm), &defaults); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{"name": "John Doe", "age": 30.0, "score": 95.5, "status": "active", "verified": true} {
		if got := defaults.Properties[name]["default"]; got != want {
			t.Errorf("default of %s: %v, want %v", name, got, want)
		}
	}
	if err := json.Unmarshal([]byte(enumsForm), &enums); err != nil {
		t.Fatal(err)
	}
	for name, keyword := range map[string]string{"untitledSingle": "enum", "titledSingle": "oneOf", "legacyEnum": "enumNames", "untitledMulti": "items", "titledMulti": "items"} {
		if enums.Properties[name][keyword] == nil {
			t.Errorf("%s has no %s", name, keyword)
		}
	}
}

func TestSampling(t *testing.T) {
	c := start(t)
	request := first(t, c, "test_sampling", map[string]any{"prompt": "Hi"}).GetRequests()[0].GetCreateMessage()
	if request.GetMaxTokens() != 100 || request.GetMessages()[0].GetContent()[0].GetText().GetText() != "Hi" {
		t.Errorf("asked %v", request)
	}
	c.Answer = func(*capability.InputRequest) *capability.InputResponse { return capabilitytest.Sampled("Hello") }
	if got := text(call(t, c, "test_sampling", map[string]any{"prompt": "Hi"})); got != "LLM response: Hello" {
		t.Errorf("%q", got)
	}
	if got := text(call(t, c, "test_missing_capability", nil)); got != "The client's model said: Hello" {
		t.Errorf("%q", got)
	}
	if first(t, c, "test_missing_capability", nil).GetRequests()[0].GetCreateMessage() == nil {
		t.Error("test_missing_capability does not need sampling")
	}
}

func TestRounds(t *testing.T) {
	c := start(t)
	alice := capabilitytest.Accepted(`{"name":"Alice"}`)
	answers := map[string]*capability.InputResponse{
		"user_name": alice, "step1": alice, "step2": capabilitytest.Accepted(`{"color":"blue"}`),
		"capital_question": capabilitytest.Sampled("Paris."), "greeting": capabilitytest.Sampled("Hi there!"),
		"client_roots": capabilitytest.Roots(&capability.Root{Uri: "file:///home/me"}),
		"confirm":      capabilitytest.Accepted(`{"ok":true}`),
	}
	const prefix = "test_input_required_result_"
	for name, test := range map[string]struct {
		keys, want string
		rounds     int
	}{
		"elicitation":     {"user_name", "Hello, Alice!", 2},
		"sampling":        {"capital_question", "Sampling result: Paris.", 2},
		"list_roots":      {"client_roots", "Found 1 root(s): file:///home/me", 2},
		"request_state":   {"confirm", "state-ok", 2},
		"tampered_state":  {"confirm", "state-ok", 2},
		"multiple_inputs": {"user_name greeting client_roots", "Hello, Alice!\nHi there!\nFound 1 root(s)", 2},
		"multi_round":     {"step1", "Hello, Alice! Your favorite color is blue.", 3},
		"capabilities":    {"capital_question user_name client_roots", "asked 3 question(s).\nParis.\nHello, Alice!\nFound 1", 2},
	} {
		asked := first(t, c, prefix+name, nil)
		if keys(asked) != test.keys || len(asked.GetState()) == 0 {
			t.Errorf("%s asks %q with a state of %d bytes; want %q", name, keys(asked), len(asked.GetState()), test.keys)
		}
		c.Answer = reply(answers)
		out := call(t, c, prefix+name, nil)
		if !strings.Contains(text(out), test.want) || out.Rounds != test.rounds {
			t.Errorf("%s: %q in %d rounds, want %q in %d", name, text(out), out.Rounds, test.want, test.rounds)
		}
	}
}

// round runs one round with the given answers.
func round(t *testing.T, c *capabilitytest.Client, name string, state []byte, answers map[string]*capability.InputResponse) *mcpedgev1.CallToolResponse {
	t.Helper()
	request := &mcpedgev1.CallToolRequest{Name: name, State: state, Context: &mcpedgev1.RequestContext{CallId: "x", Round: 1, Attempt: 1}}
	for key, a := range answers {
		request.InputResponses = append(request.InputResponses, &mcpedgev1.InputResponse{Key: key, Response: a.GetResponse()})
	}
	stream, err := c.Tools.CallTool(timed(t), request)
	if err != nil {
		t.Fatal(err)
	}
	for {
		m, err := stream.Recv()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.GetProgress() == nil && m.GetLog() == nil {
			return m
		}
	}
}

func TestVolunteeredAnswers(t *testing.T) {
	c := start(t)
	const tool = "test_input_required_result_elicitation"
	alice := capabilitytest.Accepted(`{"name":"Alice"}`)
	raw := &capability.InputResponse{Response: &mcpedgev1.InputResponse_RawJson{RawJson: "12345"}}
	for name, answers := range map[string]map[string]*capability.InputResponse{
		"nothing":       nil,
		"a wrong key":   {"wrong_key": alice},
		"a number":      {"user_name": raw},
		"another form":  {"user_name": capabilitytest.Accepted(`{"title":"Dr"}`)},
		"another type":  {"user_name": capabilitytest.Accepted(`{"name":7}`)},
		"another thing": {"user_name": capabilitytest.Sampled("Alice")},
	} {
		asked := round(t, c, tool, nil, answers).GetInputRequired()
		if keys(asked) != "user_name" {
			t.Errorf("%s: asked %q", name, keys(asked))
			continue
		}
		again := round(t, c, tool, asked.GetState(), map[string]*capability.InputResponse{"user_name": alice})
		if got := again.GetResult().GetContent(); len(got) != 1 || got[0].GetText().GetText() != "Hello, Alice!" {
			t.Errorf("%s, then answered well: %v", name, again)
		}
	}
	done := round(t, c, tool, nil, map[string]*capability.InputResponse{"user_name": alice, "extra": alice, "other": raw})
	if got := done.GetResult().GetContent(); len(got) != 1 || got[0].GetText().GetText() != "Hello, Alice!" {
		t.Errorf("with more answers than asked for: %v", done)
	}
}

func TestStates(t *testing.T) {
	c := start(t)
	const confirm = "test_input_required_result_request_state"
	ok := map[string]*capability.InputResponse{"confirm": capabilitytest.Accepted(`{"ok":true}`)}
	one, two := round(t, c, confirm, nil, nil).GetInputRequired(), round(t, c, confirm, nil, nil).GetInputRequired()
	if string(one.GetState()) == string(two.GetState()) {
		t.Error("two calls got the same state")
	}
	if asked := round(t, c, confirm, nil, ok).GetInputRequired(); keys(asked) != "confirm" {
		t.Errorf("an answer without the state was enough: %v", asked)
	}
	if m := round(t, c, "test_input_required_result_tampered_state", one.GetState(), ok); m.GetFailure().GetReason() != capability.InvalidArgument {
		t.Errorf("another tool's state: %v", m)
	}
	const twice = "test_input_required_result_multi_round"
	step1 := round(t, c, twice, nil, nil).GetInputRequired()
	step2 := round(t, c, twice, step1.GetState(), map[string]*capability.InputResponse{"step1": capabilitytest.Accepted(`{"name":"A"}`)}).GetInputRequired()
	if keys(step1) != "step1" || keys(step2) != "step2" || string(step1.GetState()) == string(step2.GetState()) {
		t.Errorf("asked %q, then %q", keys(step1), keys(step2))
	}
}

func TestOnlyTheAbleAreAsked(t *testing.T) {
	c := start(t)
	const tool = "test_input_required_result_capabilities"
	c.Context = &mcpedgev1.RequestContext{CallId: "x", ClientCapabilities: &mcpedgev1.ClientCapabilities{Sampling: &mcpedgev1.SamplingCapability{}}}
	if got := keys(first(t, c, tool, nil)); got != "capital_question" {
		t.Errorf("a client with sampling alone was asked %q", got)
	}
	c.Context = &mcpedgev1.RequestContext{CallId: "x"}
	if got := text(call(t, c, tool, nil)); got != "The client was asked 0 question(s)." {
		t.Errorf("a client that cannot be asked: %q", got)
	}
}
