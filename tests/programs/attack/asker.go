package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// oneKey is the key of all that asker asks.
const oneKey = "step"

// asker is a backend whose tools ask one question after the other under one key. It records which answers come with which round.
type asker struct {
	pb.UnimplementedToolServiceServer
	mu  sync.Mutex
	got map[string][]string // the answers of each round, by the call's tag and the number of the question
}

// steps are the questions of each tool.
var steps = map[string][]*pb.InputRequest{
	// Each is another question, the last for a model.
	"replaces": {
		elicitForm(oneKey, "Your name?", "name"), elicitForm(oneKey, "Your street?", "street"), elicitForm(oneKey, "Your city?", "city"),
		elicitForm(oneKey, "Your zip?", "zip"), elicitForm(oneKey, "Your phone?", "phone"),
		{Key: oneKey, Request: &pb.InputRequest_CreateMessage{CreateMessage: &pb.CreateMessage{MaxTokens: 5, Messages: []*pb.SamplingMessage{{
			Role: pb.Role_ROLE_USER, Content: []*pb.SamplingContent{{Content: &pb.SamplingContent_Text{Text: &pb.TextContent{Text: "A word?"}}}}}}}}},
	},
	// Each looks like the one before, and is another.
	"repeats": {elicitForm(oneKey, "Pay 1?", "yes"), elicitForm(oneKey, "Pay 1000?", "yes"), elicitForm(oneKey, "Pay 1?", "yes")},
	// Each sends the user to another page.
	"sends": {elicitURL("https://a.example/"), elicitURL("https://b.example/"), elicitURL("https://b.example/")},
	// Two questions with one key are a breach of the contract.
	"doubles": {elicitForm(oneKey, "One?", "yes"), elicitForm(oneKey, "Two?", "yes")},
	"asking":  {elicitForm(oneKey, "Your name?", "name"), elicitForm(oneKey, "Your street?", "street")},
}

func elicitURL(url string) *pb.InputRequest {
	return &pb.InputRequest{Key: oneKey, Request: &pb.InputRequest_ElicitUrl{ElicitUrl: &pb.ElicitUrl{Message: "Go there", Url: url}}}
}

func (b *asker) register(s *grpc.Server) { pb.RegisterToolServiceServer(s, b) }

// ListTools implements the contract.
func (b *asker) ListTools(context.Context, *pb.ListToolsRequest) (*pb.ListToolsResponse, error) {
	out := &pb.ListToolsResponse{}
	for name := range steps {
		tool := &pb.Tool{Name: name}
		if name == "asking" {
			tool.TaskSupport = &pb.TaskSupport{Mode: pb.TaskMode_TASK_MODE_REQUIRED}
		}
		out.Tools = append(out.Tools, tool)
	}
	slices.SortFunc(out.Tools, func(a, b *pb.Tool) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// marker is the text of an answer.
var marker = regexp.MustCompile(`answer-[a-z]+-\d+`)

// CallTool implements the contract. A round without an answer asks the same again.
func (b *asker) CallTool(in *pb.CallToolRequest, s stream) error {
	asks := steps[in.GetName()]
	var args struct{ Tag string }
	_ = json.Unmarshal([]byte(in.GetArgumentsJson()), &args) // They are the attack's own.
	n, _ := strconv.Atoi(string(in.GetState()))
	b.mu.Lock()
	if n > 0 {
		key := fmt.Sprint(args.Tag, "-", n)
		for _, a := range in.GetInputResponses() {
			b.got[key] = append(b.got[key], a.GetKey()+": "+strings.Join(marker.FindAllString(a.String(), -1), " ")+strings.TrimPrefix(a.GetElicit().GetAction().String(), "ELICIT_ACTION_ACCEPT"))
		}
	}
	b.mu.Unlock()
	if n == 0 || len(in.GetInputResponses()) > 0 {
		n++
	}
	if n > len(asks) {
		return say(s, "done "+args.Tag)
	}
	requests := asks[n-1 : n]
	if in.GetName() == "doubles" {
		requests = asks
	}
	return s.Send(&pb.CallToolResponse{Message: &pb.CallToolResponse_InputRequired{InputRequired: &pb.InputRequired{
		State: strconv.AppendInt(nil, int64(n), 10), Requests: requests,
	}}})
}

// taken returns the answers that came since the last time.
func (b *asker) taken() map[string][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.got = map[string][]string{} }()
	return b.got
}

// each checks that each question of a call got its own answer and no other.
func (b *asker) each(tag string, n int, texts bool) (err error) {
	got := b.taken()
	for i := 1; i <= n; i++ {
		key := fmt.Sprint(tag, "-", i)
		want := oneKey + ": "
		if texts {
			want += "answer-" + key
		}
		if all := got[key]; len(all) != 1 || strings.TrimRight(strings.TrimSuffix(all[0], "ELICIT_ACTION_UNSPECIFIED"), " ") != strings.TrimRight(want, " ") {
			err = errors.Join(err, fmt.Errorf("question %d of the call %s got the answers %q, want %q", i, tag, all, want))
		}
		delete(got, key)
	}
	if len(got) > 0 {
		err = errors.Join(err, fmt.Errorf("answers came to questions that were not asked: %q", got))
	}
	return err
}

// asked is a question as a client sees it.
type asked struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Message         string
		URL             string
		ElicitationID   string
		RequestedSchema struct{ Required []string }
	}
}

// answerTo is an answer with a text.
func (q *asked) answerTo(text string) string {
	switch {
	case q.Method == "sampling/createMessage":
		return `{"role":"assistant","model":"m","content":{"type":"text","text":"` + text + `"}}`
	case q.Params.URL != "":
		return `{"action":"accept"}`
	}
	member := "none"
	if len(q.Params.RequestedSchema.Required) == 1 {
		member = q.Params.RequestedSchema.Required[0]
	}
	return `{"action":"accept","content":{"` + member + `":"` + text + `"}}`
}

// isStep says why a question is not one of a tool's, as the backend asks it.
func (q *asked) isStep(tool string, n int) error {
	want := steps[tool][n-1]
	message := want.GetElicitForm().GetMessage() + want.GetElicitUrl().GetMessage()
	if q.Params.Message != message || q.Params.URL != want.GetElicitUrl().GetUrl() || (q.Method == "sampling/createMessage") != (want.GetCreateMessage() != nil) {
		return fmt.Errorf("question %d of %s is %+v, want %q", n, tool, q, message)
	}
	return nil
}
