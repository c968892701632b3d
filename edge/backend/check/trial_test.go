package check

import (
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/backend"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Arguments that the tool's schema refuses are the caller's mistake: the backend is not called, nor blamed.
func TestTrialOfArgumentsThatDoNotFit(t *testing.T) {
	tool := &pb.Tool{Name: "t", InputSchemaJson: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],
		"oneOf":[{"required":["a"]},{"required":["b"]},{"not":{"anyOf":[{"required":["a"]},{"required":["b"]}]}}]}`}
	for arguments, want := range map[string]string{
		`{"n":1,"a":2}`:       "",
		`{"n":"x"}`:           "/n",
		`{}`:                  "'n'",
		`{"n":1,"a":2,"b":3}`: "at most one of a, b may be there, and a and b are",
		`[]`:                  "the arguments are no JSON object",
		`{`:                   "the arguments are no JSON object",
	} {
		err := refuses(tool, arguments)
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
	trial := &Trial{Calls: map[string]string{"look": `{}`, "lok": `{}`}}
	other := newSample()
	other.tools = []*pb.Tool{{Name: "seek"}}
	for name, x := range map[string]*sample{"one": newSample(), "other": other} {
		var out strings.Builder
		if err := run(t.Context(), backend.Config{Name: name, Target: x.serve(t, 0)}, trial, &out, &patient); err != nil {
			t.Errorf("%s: %v\n%s", name, err, &out)
		}
	}
	err := trial.Unlisted()
	if err == nil || !strings.Contains(err.Error(), `--call lok: no backend lists the tool; there are change, find, look, seek`) || strings.Contains(err.Error(), "--call look") {
		t.Errorf("%v", err)
	}
	if err := (&Trial{}).Unlisted(); err != nil {
		t.Error(err)
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
		`{"name":`: `--answer k: "{\"name\":" is no JSON: the question is a form: give a JSON object with its fields "name" (string), "age" (integer, optional), "odd\n" (any, optional)`,
		`"Ann"`:    `--answer k: "\"Ann\"" is no object: the question is a form: give a JSON object with its fields "name" (string), `,
		`null`:     `is no object: the question is a form`,
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
