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

// Curated describes the changes of a tool by the settings' catalog.
type Curated struct {
	// Name is the name by which clients see it, without a prefix. Empty means the backend's name after
	// its prefix.
	Name string
	// Aliases are further names by which clients may call it.
	Aliases []string
	// Hidden means that clients do not see it.
	Hidden bool
	// Shown is the tool that clients see, but for its name. nil means the backend's own.
	Shown *pb.Tool
	// Unsafe means that the catalog marks the tool as not read-only, even if the backend marks it as
	// read-only.
	Unsafe bool
	// Sent returns the arguments that the backend receives for those of the caller. nil changes none.
	Sent func(arguments string) (string, error)
}

// curated returns the changes of a backend's tool by the catalog.
func (t *Trial) curated(backend string, x *pb.Tool) Curated {
	if t == nil || t.Curate == nil {
		return Curated{}
	}
	return t.Curate(backend, x)
}

// Trial has inputs for calls that All does not make without them. nil has none.
type Trial struct {
	// Calls maps the tools to call to the arguments of each call, as JSON objects. A tool is named
	// by the name or an alias that clients use, or else by the backend's own name.
	Calls map[string][]string
	// Curate returns the changes of a backend's tool by the catalog. nil changes nothing.
	Curate func(backend string, t *pb.Tool) Curated
	// Answers has answers in JSON by the key of the question: for a form an object with its fields,
	// or a result of elicitation with its action; for sampling a string; for roots an array of
	// URIs. Questions without an answer are declined.
	Answers map[string]string
	// Caller is the caller of calls; zero means anonymous. Lists and feeds are read without it.
	Caller mcp.Principal
	// Timeout bounds each round of work, unless the backend's own timeout is shorter; 0 means 10 s.
	Timeout time.Duration
	// Pages returns sentences about parts of a backend's catalog that clients may not see, which
	// become notes. nil returns none.
	Pages func(*backend.Backend, *backend.Catalog) []string
	// Documents returns the URIs of files of skills and pages of tools of a backend, which are read
	// beside the listed resources. nil returns none.
	Documents func(*backend.Backend, *backend.Catalog) []string
	// Document gets each text that is read of Documents. It may be called concurrently for different
	// backends.
	Document func(b *backend.Backend, uri, text string)
	// Schemas reports each place where a tool's schema violates a rule of a model interface.
	// Without it there is one line for each interface.
	Schemas bool
}

// schemaViolation returns how arguments violate a tool's schema.
func schemaViolation(t *pb.Tool, arguments string) error {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &members) != nil || members == nil {
		return fmt.Errorf("the arguments are not a JSON object: %.80q", arguments)
	}
	s, err := schema.Compile(t.InputSchemaJson)
	if err != nil {
		return nil // reported with the list: its arguments are not validated
	}
	return s.Validate([]byte(arguments))
}

// answer answers a question from the trial. how describes the answer. It returns an error for an
// invalid answer in the trial.
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
		return nil, "", fmt.Errorf("--answer %s: %.80q is not JSON: %s", q.GetKey(), text, wantsForm(form))
	default:
		return nil, "", fmt.Errorf("--answer %s: %.80q is not JSON", q.GetKey(), text)
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
			return nil, "", fmt.Errorf("--answer %s: %.80q is not an object: %s", q.GetKey(), text, wantsForm(q.GetElicitForm()))
		}
		a.Response = &pb.InputResponse_Elicit{Elicit: result}
	}
	return a, answeredBy, nil
}

// wantsForm describes the expected answer of a form with its fields; for a URL, without fields.
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

// elicited parses the answer of a form: its content, or a result with an action. It returns nil if
// it is not an object.
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

// unused notes the answers of the trial that were not used.
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
