package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/schema"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Trial is what All tries beside what it does by itself. A nil one is nothing.
type Trial struct {
	// Calls are tools to call, by the name that clients see or else the backend's own, each with the arguments of every call, JSON objects.
	Calls map[string][]string
	// Answers are by the key of the question, JSON: what a form asks for as an object, or a whole result
	// of elicitation with its action; a text of a model as a string; roots as an array of URIs. What has
	// no answer is declined.
	Answers map[string]string
	// Caller is who calls; zero: an anonymous caller. Lists and feeds are read without.
	Caller mcp.Principal
	// Timeout bounds each round of work, unless the backend's own timeout is shorter; 0: 10 s.
	Timeout time.Duration
	// Pages, unless nil, is given what the backend serves and returns, a sentence each, what clients may not see of
	// it: they are noted.
	Pages func(*backend.Backend, *backend.Catalog) []string
	// Schemas has each place named where a tool's schema breaks the rules of a model interface; else there is one line for each
	// interface.
	Schemas bool
}

// refuses says what is wrong with arguments by a tool's schema, before the backend sees them.
func refuses(t *pb.Tool, arguments string) error {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &members) != nil || members == nil {
		return fmt.Errorf("the arguments are no JSON object: %.80q", arguments)
	}
	s, err := schema.Compile(t.InputSchemaJson)
	if err != nil {
		return nil // reported with the list: such a tool goes unvalidated
	}
	return s.Validate([]byte(arguments))
}

// answer answers a question as the trial says; how is what was done. The error says that the answer there is
// cannot be given.
func (p *prober) answer(q *pb.InputRequest) (a *pb.InputResponse, how string, err error) {
	var text string
	given := false
	if p.trial != nil {
		text, given = p.trial.Answers[q.GetKey()]
	}
	if !given {
		return decline(q), "declined", nil
	}
	p.used = append(p.used, q.GetKey())
	raw := json.RawMessage(text)
	switch form := q.GetElicitForm(); {
	case json.Valid(raw):
	case form != nil:
		return nil, "", fmt.Errorf("--answer %s: %.80q is no JSON: %s", q.GetKey(), text, wantsForm(form))
	default:
		return nil, "", fmt.Errorf("--answer %s: %.80q is no JSON", q.GetKey(), text)
	}
	a = &pb.InputResponse{Key: q.GetKey()}
	switch {
	case q.GetListRoots() != nil:
		var uris []string
		if json.Unmarshal(raw, &uris) != nil {
			return nil, "", fmt.Errorf("--answer %s: the question is for roots: give a JSON array of URIs", q.GetKey())
		}
		roots := &pb.ListRootsResult{}
		for _, uri := range uris {
			roots.Roots = append(roots.Roots, &pb.Root{Uri: uri})
		}
		a.Response = &pb.InputResponse_ListRoots{ListRoots: roots}
	case q.GetCreateMessage() != nil:
		var said string
		if json.Unmarshal(raw, &said) != nil {
			said = text
		}
		a.Response = &pb.InputResponse_CreateMessage{CreateMessage: &pb.CreateMessageResult{
			Role: pb.Role_ROLE_ASSISTANT, Model: "mcpedge-check", StopReason: "endTurn",
			Content: []*pb.SamplingContent{{Content: &pb.SamplingContent_Text{Text: &pb.TextContent{Text: said}}}}}}
	case q.GetRawJson() != "":
		a.Response = &pb.InputResponse_RawJson{RawJson: text}
	default:
		result := elicited(raw)
		if result == nil {
			return nil, "", fmt.Errorf("--answer %s: %.80q is no object: %s", q.GetKey(), text, wantsForm(q.GetElicitForm()))
		}
		a.Response = &pb.InputResponse_Elicit{Elicit: result}
	}
	return a, answeredBy, nil
}

// wantsForm says what the answer of a form is, with the fields that it has; nil: of a URL.
func wantsForm(form *pb.ElicitForm) string {
	if form == nil {
		return `the question is a URL to open: give {"action":"accept"}, or decline or cancel`
	}
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	_ = json.Unmarshal([]byte(form.GetRequestedSchemaJson()), &s) // what it is not, is reported with the question
	var fields []string
	_ = jsonrpc.Members(s.Properties, func(name string, value json.RawMessage) error {
		var property struct {
			Type any `json:"type"`
		}
		_ = json.Unmarshal(value, &property)
		kind := "any"
		if property.Type != nil {
			kind = fmt.Sprint(property.Type)
		}
		if !slices.Contains(s.Required, name) {
			kind += ", optional"
		}
		fields = append(fields, fmt.Sprintf("%.80q (%.80s)", name, kind))
		return nil
	})
	const wants = "the question is a form: give a JSON object with its fields"
	switch more := len(fields) - maxListed; {
	case len(fields) == 0:
		return wants + ", of which its schema names none"
	case more > 0:
		return fmt.Sprintf("%s %s and %d more", wants, strings.Join(fields[:maxListed], ", "), more)
	}
	return wants + " " + strings.Join(fields, ", ")
}

// elicited reads the answer of a form: its content, or a result with an action; nil: it is no object.
func elicited(raw json.RawMessage) *pb.ElicitResult {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return nil
	}
	var action string
	_ = json.Unmarshal(members["action"], &action) // else it is a field of the form
	switch action {
	case "decline":
		return &pb.ElicitResult{Action: pb.ElicitAction_ELICIT_ACTION_DECLINE}
	case "cancel":
		return &pb.ElicitResult{Action: pb.ElicitAction_ELICIT_ACTION_CANCEL}
	case "accept":
		return &pb.ElicitResult{Action: pb.ElicitAction_ELICIT_ACTION_ACCEPT, ContentJson: string(members["content"])}
	}
	return &pb.ElicitResult{Action: pb.ElicitAction_ELICIT_ACTION_ACCEPT, ContentJson: string(raw)}
}

// unused notes the answers that unknownName asked for.
func (p *prober) unused() {
	if p.trial == nil {
		return
	}
	for key := range p.trial.Answers {
		if !slices.Contains(p.used, key) {
			p.note("--answer %s: no tool that was called asked for it", key)
		}
	}
}
