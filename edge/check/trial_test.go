package check

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// Arguments that the tool's schema refuses are the caller's mistake: the backend is not called, nor blamed.
func TestTrialOfArgumentsThatDoNotFit(t *testing.T) {
	tool := &pb.Tool{Name: "t", InputSchemaJson: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],
		"oneOf":[{"required":["a"]},{"required":["b"]},{"not":{"anyOf":[{"required":["a"]},{"required":["b"]}]}}]}`}
	for arguments, want := range map[string]string{
		`{"n":1,"a":2}`:       "",
		`{"n":"x"}`:           "/n",
		`{}`:                  "'n'",
		`{"n":1,"a":2,"b":3}`: "at most one of a, b may be present, but a and b are",
		`[]`:                  "the arguments are not a JSON object",
		`{`:                   "the arguments are not a JSON object",
	} {
		err := schemaViolation(tool, arguments)
		if err != nil && strings.Contains(err.Error(), "Go value") {
			t.Errorf("%s: %v speaks of the program", arguments, err)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arguments, err, want)
		}
	}
	out, err := report(t, newSample().serve(t, 0), map[string]string{"look": `[]`})
	if err == nil || !strings.Contains(out, `wrong   CallTool "look": not called`) || strings.Contains(out, "  breaks ") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// A tool that no backend lists is the caller's mistake, whatever backend is checked first.
func TestTrialOfToolsThatAreNotListed(t *testing.T) {
	trial := &Trial{Calls: map[string][]string{"look": {`{}`}, "lok": {`{}`}}}
	other := newSample()
	other.tools = []*pb.Tool{{Name: "seek"}}
	var out strings.Builder
	err := all(t.Context(), []backend.Config{{Name: "one", Target: newSample().serve(t, 0)}, {Name: "other", Target: other.serve(t, 0)}}, trial, &out, &patient)
	if err == nil || err.Error() != `--call lok: no backend lists the tool; there are change, find, look, seek` {
		t.Errorf("%v", err)
	}
	if err := all(t.Context(), nil, trial, &out, &patient); err == nil || !strings.Contains(err.Error(), "--call look: no backend lists the tool; there are none") {
		t.Errorf("%v", err)
	}
}

// A name is that which clients see. One that is the own name of several backends' tools, or that several serve, calls none of them.
func TestTrialOfNamesOfSeveralTools(t *testing.T) {
	var mu sync.Mutex
	called := map[string]int{}
	at := func(backend string) string {
		x := newSample()
		x.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
			if r.GetName() == "change" {
				mu.Lock()
				called[backend]++
				mu.Unlock()
			}
			return s.Send(notThere())
		}
		return x.serve(t, 0)
	}
	one, two := at("one"), at("two")
	for name, c := range map[string]struct {
		call, prefix string // prefix is that of two
		calls        map[string]int
		fail         string
	}{
		"as clients see it":    {"b_change", "b_", map[string]int{"two": 1}, ""},
		"the backends' own":    {"change", "b_", nil, `--call change: several backends list such a tool, and none was called: it may be a_change of backend "one" or b_change of backend "two": give one of these names`},
		"served by both":       {"a_change", "a_", nil, `it may be a_change of backend "one" or a_change of backend "two": give one of the backends a prefix, or check one alone`},
		"what clients see won": {"change", "", map[string]int{"two": 1}, ""},
	} {
		clear(called)
		var out strings.Builder
		cfgs := []backend.Config{{Name: "one", Target: one, Prefix: "a_"}, {Name: "two", Target: two, Prefix: c.prefix}}
		err := all(t.Context(), cfgs, &Trial{Calls: map[string][]string{c.call: {`{}`}}}, &out, &patient)
		if (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) || !maps.Equal(called, c.calls) {
			t.Errorf("%s: %v, called %v\n%s", name, err, called, &out)
		}
		if c.calls == nil && !strings.Contains(out.String(), "to call it: --call 'a_change={…}'") {
			t.Errorf("%s: the name of clients is missing in\n%s", name, &out)
		}
	}
}

// What a call that was asked for gives is shown, a failure of the tool as one.
func TestTrialShowsResults(t *testing.T) {
	x := newSample()
	x.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		if r.GetName() != "change" {
			return s.Send(notThere())
		}
		return s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_Result{Result: &pb.CallToolResult{
			IsError: true, Content: []*pb.ContentBlock{text("there is no order 9"), text(strings.Repeat("é", 2000))}}}})
	}
	out, err := report(t, x.serve(t, 0), map[string]string{"change": `{}`})
	if err != nil || !strings.Contains(out, `CallTool "change": a result that is an error after 1 round and 0 events: there is no order 9 é`) || len(out) > 4000 {
		t.Errorf("%v:\n%s", err, out)
	}
}

// A tool that was named several times is called as often.
func TestTrialMakesEveryCall(t *testing.T) {
	x := newSample()
	x.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		if r.GetName() != "change" {
			return s.Send(notThere())
		}
		return s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_Result{Result: &pb.CallToolResult{
			Content: []*pb.ContentBlock{text("got " + r.GetArgumentsJson())}}}})
	}
	var out strings.Builder
	trial := &Trial{Calls: map[string][]string{"change": {`{"steps":1}`, `{"steps":2}`}}}
	err := run(t.Context(), backend.Config{Name: "x", Target: x.serve(t, 0)}, trial, &out, &patient)
	for _, want := range []string{`CallTool "change" with {"steps":1}: a result after`, `got {"steps":1}`, `CallTool "change" with {"steps":2}: a result after`, `got {"steps":2}`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing (%v) in:\n%s", want, err, &out)
		}
	}
}

// A tool that takes its time breaks nothing: the report says how to give it more.
func TestTrialOfSlowTools(t *testing.T) {
	x := newSample()
	x.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		if r.GetName() != "change" {
			return s.Send(notThere())
		}
		<-s.Context().Done()
		return s.Context().Err()
	}
	at := x.serve(t, 0)
	noted := func(trial Trial, cfg backend.Config, want string) (ok bool, report string) {
		var out strings.Builder
		trial.Calls = map[string][]string{"change": {`{}`}}
		cfg.Name, cfg.Target = "x", at
		err := run(t.Context(), cfg, &trial, &out, &patient)
		ok = err == nil && strings.Contains(out.String(), `note    CallTool "change": `+want) && !strings.Contains(out.String(), `ok      CallTool "change"`)
		return ok, fmt.Sprintf("%v:\n%s", err, &out)
	}
	const short = 100 * time.Millisecond
	if ok, report := noted(Trial{Timeout: short}, backend.Config{}, "no outcome within 100ms: give it more time, as with --timeout=1m0s"); !ok {
		t.Errorf("the trial's: %s", report)
	}
	// All other calls must be answered within the backend's timeout, for which a machine under load needs longer.
	for within := time.Second; ; within *= 4 {
		ok, report := noted(Trial{Timeout: time.Hour}, backend.Config{Timeout: within}, fmt.Sprintf("no outcome within %v, the timeout of this backend", within))
		if ok {
			break
		}
		if within > await.Patience {
			t.Fatalf("the backend's: %s", report)
		}
	}
}

// A status DEADLINE_EXCEEDED of the tool's own is reported unchanged: more time does not help.
func TestTrialOfDeadlinesOfTheService(t *testing.T) {
	x := newSample()
	x.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		if r.GetName() != "change" {
			return s.Send(notThere())
		}
		return status.Error(codes.DeadlineExceeded, "the database did not answer in 50ms")
	}
	var out strings.Builder
	trial := &Trial{Timeout: time.Minute, Calls: map[string][]string{"change": {`{}`}}}
	err := run(t.Context(), backend.Config{Name: "x", Target: x.serve(t, 0)}, trial, &out, &patient)
	if err != nil || !strings.Contains(out.String(), "the database did not answer in 50ms") || strings.Contains(out.String(), "give it more time") {
		t.Errorf("%v:\n%s", err, &out)
	}
}

// A tool may ask the same question in several rounds, as long as it remembers more in each.
func TestTrialOfTheSameQuestionAgain(t *testing.T) {
	x := newSample()
	x.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		switch {
		case r.GetName() != "change":
			return s.Send(notThere())
		case len(r.GetState()) < 2:
			more := asks(&pb.InputRequest{Key: "more", Request: &pb.InputRequest_ListRoots{ListRoots: &pb.ListRoots{}}})
			more.GetInputRequired().State = append(r.GetState(), 'x')
			return s.Send(more)
		}
		return s.Send(gives(`{}`))
	}
	var out strings.Builder
	trial := &Trial{Calls: map[string][]string{"change": {`{}`}}, Answers: map[string]string{"more": `["file:///a"]`}}
	err := run(t.Context(), backend.Config{Name: "x", Target: x.serve(t, 0)}, trial, &out, &patient)
	if err != nil || !strings.Contains(out.String(), `CallTool "change": a result after 3 rounds`) {
		t.Errorf("%v:\n%s", err, &out)
	}
}

// An answer that does not fit is named with the reason, by the schema of the form, or as the backend asks the same again.
func TestTrialOfAnswersThatDoNotFit(t *testing.T) {
	const sure = `{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}`
	x := newSample()
	x.call = func(r *pb.CallToolRequest, s grpc.ServerStreamingServer[pb.CallToolResponse]) error {
		if r.GetName() != "change" {
			return s.Send(notThere())
		}
		return s.Send(asks(&pb.InputRequest{Key: "terms", Request: &pb.InputRequest_ElicitForm{ElicitForm: &pb.ElicitForm{Message: "Sure?", RequestedSchemaJson: sure}}}))
	}
	at := x.serve(t, 0)
	for answer, want := range map[string]string{
		`{"sure":"x"}`:                  `--answer terms: the answer does not fit: `,
		`{"answer":3}`:                  `missing`,
		`{"action":"accept"}`:           "an accepted form has content",
		`{"sure":true}`:                 "--answer terms: the answer does not fit: the tool asks the same again",
		`{"sure":true,"note":"\u0000"}`: "the tool asks the same again",
	} {
		var out strings.Builder
		trial := &Trial{Calls: map[string][]string{"change": {`{}`}}, Answers: map[string]string{"terms": answer}}
		err := run(t.Context(), backend.Config{Name: "x", Target: at}, trial, &out, &patient)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(out.String(), "wrong   CallTool") || strings.Contains(out.String(), "  breaks ") {
			t.Errorf("%s: %v, want %q:\n%s", answer, err, want, &out)
		}
	}
}

func TestTrialAnswers(t *testing.T) {
	form := &pb.InputRequest{Key: "k", Request: &pb.InputRequest_ElicitForm{ElicitForm: &pb.ElicitForm{}}}
	model := &pb.InputRequest{Key: "k", Request: &pb.InputRequest_CreateMessage{CreateMessage: &pb.CreateMessage{}}}
	roots := &pb.InputRequest{Key: "k", Request: &pb.InputRequest_ListRoots{ListRoots: &pb.ListRoots{}}}
	for _, c := range []struct {
		q      *pb.InputRequest
		answer string
		want   string // in the response; empty: an error
	}{
		{form, `{"name":"Ann"}`, `action:ELICIT_ACTION_ACCEPT content_json:"{\"name\":\"Ann\"}"`},
		{form, `{"action":"decline"}`, "ELICIT_ACTION_DECLINE"},
		{form, `{"action":"accept","content":{"n":1}}`, `content_json:"{\"n\":1}"`},
		{form, `"Ann"`, ""},
		{form, `Ann`, ""},
		{model, `"yes"`, `text:"yes"`},
		{roots, `["file:///a"]`, `uri:"file:///a"`},
		{roots, `{}`, ""},
	} {
		p := &prober{findings: &findings{}, trial: &Trial{Answers: map[string]string{"k": c.answer}}}
		a, how, err := p.answer(c.q)
		said := strings.ReplaceAll(a.String(), "  ", " ")
		if (err == nil) != (c.want != "") || err == nil && (how != "answered" || !strings.Contains(said, c.want)) {
			t.Errorf("%s: %q, %s, %v", c.answer, how, said, err)
		}
	}
	form.GetElicitForm().RequestedSchemaJson = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"odd\n":{}},"required":["name"]}`
	for answer, want := range map[string]string{
		`{"name":`: `--answer k: "{\"name\":" is not JSON: the question is a form: give a JSON object with its fields "name" (string), "age" (integer, optional), "odd\n" (any, optional)`,
		`"Ann"`:    `--answer k: "\"Ann\"" is not an object: the question is a form: give a JSON object with its fields "name" (string), `,
		`null`:     `is not an object: the question is a form`,
	} {
		p := &prober{findings: &findings{}, trial: &Trial{Answers: map[string]string{"k": answer}}}
		if _, _, err := p.answer(form); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", answer, err, want)
		}
	}
	p := &prober{findings: &findings{}}
	if a, how, err := p.answer(form); err != nil || how != "declined" || a.GetElicit().GetAction() != pb.ElicitAction_ELICIT_ACTION_DECLINE {
		t.Errorf("without an answer: %q, %v", how, err)
	}
}
