package check

import (
	"strings"
	"testing"

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
		`[]`:                  "no JSON object",
		`{`:                   "no JSON object",
	} {
		err := refuses(tool, arguments)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arguments, err, want)
		}
	}
	out, err := report(t, newSample().serve(t, 0), map[string]string{"look": `[]`})
	if err == nil || !strings.Contains(out, `wrong   CallTool "look": not called`) || strings.Contains(out, "  breaks ") {
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
	p := &prober{findings: &findings{}}
	if a, how, err := p.answer(form); err != nil || how != "declined" || a.GetElicit().GetAction() != pb.ElicitAction_ELICIT_ACTION_DECLINE {
		t.Errorf("without an answer: %q, %v", how, err)
	}
}
