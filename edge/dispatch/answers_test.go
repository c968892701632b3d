package dispatch

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// The backend's own state is returned unchanged, whatever its bytes, together with the misfits.
func TestMisfitsAreKeptBesideTheState(t *testing.T) {
	for _, own := range [][]byte{nil, []byte("own"), misfitsMark, append(bytes.Clone(misfitsMark), "{}\x00own"...), {0}} {
		for _, m := range []misfits{nil, {"name": {1, 1}}, {"a\x00b": {1 << 63, 2}, "c": {2, 0}}} {
			state := m.prepend(own)
			call := &mcp.Call{State: state}
			got, counts, _ := withOwnState(call)
			if !bytes.Equal(got.State, own) || (got.State == nil) != (own == nil) || len(counts) != len(m) || !bytes.Equal(call.State, state) {
				t.Errorf("%q with %v came back as %q with %v", own, m, got.State, counts)
			}
			for key, n := range m {
				if counts[key] != n {
					t.Errorf("%q has %v, want %v", key, counts[key], n)
				}
			}
		}
	}
	if own := []byte("own"); &misfits(nil).prepend(own)[0] != &own[0] {
		t.Error("a state without misfits is copied")
	}
	broken := append(bytes.Clone(misfitsMark), "no JSON"...)
	if got, counts, _ := withOwnState(&mcp.Call{State: broken}); !bytes.Equal(got.State, broken) || counts != nil {
		t.Errorf("a state that seal did not write came back as %q, %v", got.State, counts)
	}
}

// A misfit has a reason only if the form's schema can be read and checked within bounds.
func TestMisfitOf(t *testing.T) {
	form := func(schema string) *mcp.InputRequest {
		return &mcp.InputRequest{Method: mcp.MethodElicit, Params: json.RawMessage(`{"message":"m","requestedSchema":` + schema + `}`)}
	}
	age := form(`{"type":"object","properties":{"age":{"type":"integer","maximum":150}},"required":["age"]}`)
	sample := &mcp.InputRequest{Method: mcp.MethodCreateMessage, Params: json.RawMessage(`{}`)}
	for _, x := range []struct {
		question *mcp.InputRequest
		answer   string
		want     string // a part of the reason; empty: none
	}{
		{age, `{"action":"accept","content":{"age":7}}`, ""},
		{age, `{"action":"accept","content":{"age":7.0}}`, ""},
		{age, `{"action":"accept","content":{"age":151}}`, "at '/age'"},
		{age, `{"action":"accept","content":{"age":"x"}}`, "want integer"},
		{age, `{"action":"accept"}`, "age"},
		{age, `{"action":"decline"}`, ""},
		{age, `{"action":"decline","content":{"age":"x"}}`, ""},
		{age, `{"action":"maybe"}`, "not a result of elicitation/create"},
		{age, `{"action":"accept","content":{"age":{"nested":1}}}`, "not a result of elicitation/create"},
		{form(`{"type":"object","properties":{"day":{"type":"string","format":"date"}}}`), `{"action":"accept","content":{"day":"soon"}}`, "at '/day'"},
		{form(`{"type":"object","properties":{"day":{"type":"string","format":"date"}}}`), `{"action":"accept","content":{"day":"2026-11-27"}}`, ""},
		{age, `[]`, "not a result of elicitation/create"},
		{form(`{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}`), `{"action":"accept","content":{"a":7}}`, ""},
		{form(`{"description":"` + strings.Repeat("x", maxFormSchema) + `","required":["a"]}`), `{"action":"accept"}`, ""},
		{&mcp.InputRequest{Method: mcp.MethodElicit, URLMode: true, Params: json.RawMessage(`{"mode":"url","message":"m"}`)}, `{"action":"accept"}`, ""},
		{sample, `{"role":"assistant","content":{"type":"text","text":"w"},"model":"m"}`, ""},
		{sample, `{"role":"none"}`, "not a result of sampling/createMessage"},
	} {
		err := misfitOf(x.question, &mcp.InputResponse{Result: json.RawMessage(x.answer)})
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s to %.80s: %v, want %q", x.answer, x.question.Params, err, x.want)
		}
	}
}

// withReason appends the reason to the message and changes nothing else.
func TestWithReason(t *testing.T) {
	reason := misfitOf(&mcp.InputRequest{Method: mcp.MethodElicit}, &mcp.InputResponse{Result: json.RawMessage(`7`)})
	for params, want := range map[string]string{
		`{"mode":"form","message":"Who?","requestedSchema":{"type":"object"}}`: `{"mode":"form","message":"Who?\n\nThe last answer did not fit: it is not a result of elicitation/create.","requestedSchema":{"type":"object"}}`,
		`{"maxTokens":1}`: `{"maxTokens":1}`,
		`{}`:              `{}`,
	} {
		if got := string(withReason(json.RawMessage(params), reason.Error())); got != want {
			t.Errorf("%s became %s", params, got)
		}
	}
}

// A backend may ask another question under the key of the previous one. The answer to the previous
// question does not count as a misfit.
func TestAnotherQuestionUnderTheSameKey(t *testing.T) {
	question := func(member string) *mcp.InputRequired {
		return &mcp.InputRequired{Requests: []mcp.InputRequest{{Key: "step", Method: mcp.MethodElicit, Params: json.RawMessage(
			`{"message":"Your ` + member + `?","requestedSchema":{"type":"object","properties":{"` + member + `":{"type":"string"}},"required":["` + member + `"]}}`)}}}
	}
	r := &round{before: &noConsent, call: &mcp.Call{}}
	for _, member := range []string{"name", "street", "city", "zip", "phone"} {
		asked := question(member)
		if err := r.askAgain(asked); err != nil {
			t.Fatalf("%s: %v", member, err)
		}
		if strings.Contains(string(asked.Requests[0].Params), "did not fit") {
			t.Errorf("asked %s", asked.Requests[0].Params)
		}
		next := &mcp.Call{Round: 2, State: asked.State, Responses: []mcp.InputResponse{
			{Key: "step", Method: mcp.MethodElicit, Result: json.RawMessage(`{"action":"accept","content":{"` + member + `":"x"}}`)},
		}}
		r = &round{before: &noConsent}
		r.call, r.misfits, _ = withOwnState(next)
	}
	// The repeated question gets the reason after an answer that does not fit.
	again := question("phone")
	r.call.Responses[0].Result = json.RawMessage(`{"action":"accept","content":{}}`)
	if err := r.askAgain(again); err != nil || !strings.Contains(string(again.Requests[0].Params), "did not fit") {
		t.Errorf("asked %s, %v", again.Requests[0].Params, err)
	}
}
