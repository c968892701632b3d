package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/mcpedge/mcpedge/edge/frame"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

var questionAttacks = []attack{
	{name: "asks-again", what: "a backend asks one question after the other under one key, and answers to each come again, late and crossed", run: askUnderOneKey},
}

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

func askUnderOneKey(ctx context.Context, s *site) error {
	b := &asker{got: map[string][]string{}}
	return withServer("asker", "", b.register, func(ctx context.Context, s *site, r *ruled) error {
		c := r.as(s, nil)
		defer c.close()
		session, err := c.hello(ctx, `{"name":"asked","version":"1"}`)
		if err != nil {
			return err
		}
		for tool, questions := range steps {
			if tool == "doubles" || tool == "asking" {
				continue
			}
			if e := errors.Join(c.answersStateless(ctx, b, tool, len(questions)), c.answersInSession(ctx, session, b, tool, len(questions))); e != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", tool, e))
			}
		}
		return errors.Join(err, c.answersCrossed(ctx, session, b), c.answersTask(ctx, b), c.asksDouble(ctx, b))
	})(ctx, s)
}

// answersStateless answers without a session: each question by its own state, once a question has been asked also without an answer, and with
// answers under other keys.
func (r *rogue) answersStateless(ctx context.Context, b *asker, tool string, n int) error {
	b.taken()
	ask := func(state, responses string) (*asked, string, *answer, error) {
		members := callMembers(tool, `{"tag":"plain"}`)
		if state != "" {
			members += `,"requestState":` + state + `,"inputResponses":{` + responses + `}`
		}
		a, err := r.modern(ctx, "tools/call", tool, members)
		if err != nil {
			return nil, "", nil, err
		}
		var out struct {
			Result struct {
				InputRequests map[string]*asked
				RequestState  json.RawMessage
			}
		}
		_ = json.Unmarshal(a.body, &out) // An answer without questions is the caller's.
		return out.Result.InputRequests[oneKey], string(out.Result.RequestState), a, nil
	}
	q, state, a, err := ask("", "")
	before := ""
	for i := 1; i <= n; i++ {
		if err != nil {
			return err
		}
		if q == nil {
			return fmt.Errorf("question %d is not asked: %d %.300s", i, a.status, a.body)
		}
		if err := q.isStep(tool, i); err != nil {
			return err
		}
		// The answer to the first question comes again, under keys that nobody asked for, and then none does: the second stays.
		for _, late := range []string{before, ""} {
			if i != 2 {
				break // Rounds are bounded.
			}
			if q, state, a, err = ask(state, late); err != nil {
				return err
			}
			if q == nil {
				return fmt.Errorf("question %d is not asked again: %d %.300s", i, a.status, a.body)
			}
			if err := q.isStep(tool, i); err != nil {
				return err
			}
		}
		text := q.answerTo(fmt.Sprint("answer-plain-", i))
		before = `"` + oneKey + `.` + strconv.Itoa(i) + `":` + text + `,"Step":` + text + `,"step ":` + text
		q, state, a, err = ask(state, `"`+oneKey+`":`+text)
	}
	if err == nil && (q != nil || !bytes.Contains(a.body, []byte("done plain"))) {
		err = fmt.Errorf("the call does not end: %d %.300s", a.status, a.body)
	}
	return errors.Join(err, b.each("plain", n, tool != "sends"))
}

// calling is a call of a session whose stream is read.
type calling struct {
	resp   *http.Response
	events *frame.Reader
	// completed are the elicitations that the client was told the end of.
	completed []string
}

func (r *rogue) begins(ctx context.Context, session, tool, tag string) (*calling, error) {
	resp, err := r.open(ctx, http.MethodPost, r.legacyBody("tools/call", `{"name":"`+tool+`","arguments":{"tag":"`+tag+`"}}`), sessionHeader(session)...)
	if err != nil {
		return nil, err
	}
	return &calling{resp: resp, events: frame.NewReader(resp.Body, 1<<20)}, nil
}

// next returns the next question, or the result as it is.
func (c *calling) next() (*asked, []byte, error) {
	for {
		ev, err := c.events.Next()
		if err == io.EOF && len(ev.Data) == 0 {
			return nil, nil, errors.New("the stream of the call has ended")
		}
		if err != nil {
			return nil, nil, err
		}
		if len(ev.Data) == 0 {
			continue // It has an id alone.
		}
		q := &asked{}
		if err := json.Unmarshal(ev.Data, q); err != nil {
			return nil, nil, fmt.Errorf("%w: %.300s", err, ev.Data)
		}
		switch {
		case q.Method == "notifications/elicitation/complete":
			c.completed = append(c.completed, q.Params.ElicitationID)
		case q.Method == "":
			return nil, ev.Data, nil
		default:
			return q, nil, nil
		}
	}
}

// answers sends the answer to a question of a session.
func (r *rogue) answers(ctx context.Context, session string, q *asked, result string) error {
	a, err := r.send(ctx, http.MethodPost, `{"jsonrpc":"2.0","id":`+string(q.ID)+`,"result":`+result+`}`, sessionHeader(session)...)
	if err == nil && a.status != http.StatusAccepted {
		err = fmt.Errorf("an answer: %d %.300s", a.status, a.body)
	}
	return err
}

// answersInSession answers the questions of a call of a session. The answers to those before come again once the next is asked.
func (r *rogue) answersInSession(ctx context.Context, session string, b *asker, tool string, n int) error {
	b.taken()
	limited, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	c, err := r.begins(limited, session, tool, "held")
	if err != nil {
		return err
	}
	defer c.resp.Body.Close()
	var before []*asked
	for i := 1; i <= n; i++ {
		q, result, err := c.next()
		if err != nil || q == nil {
			return fmt.Errorf("question %d is not asked: %v: %.300s", i, err, result)
		}
		if err := q.isStep(tool, i); err != nil {
			return err
		}
		for _, old := range before {
			if bytes.Equal(old.ID, q.ID) {
				return fmt.Errorf("questions %q and %q are one request", old.Params.Message, q.Params.Message)
			}
			if sameID := old.Params.ElicitationID == q.Params.ElicitationID; q.Params.URL != "" && sameID && old.Params.URL != q.Params.URL {
				return fmt.Errorf("%s and %s are one elicitation: %s", old.Params.URL, q.Params.URL, q.Params.ElicitationID)
			}
			if err := r.answers(limited, session, old, q.answerTo("answer-stale-1")); err != nil {
				return err
			}
		}
		if len(before) > 0 {
			pause(limited, 200*time.Millisecond) // in which the backend would get them
		}
		if err := errors.Join(r.answers(limited, session, q, q.answerTo(fmt.Sprint("answer-held-", i))), r.answers(limited, session, q, q.answerTo("answer-twice-1"))); err != nil {
			return err
		}
		before = append(before, q)
	}
	q, result, err := c.next()
	if err != nil || q != nil || !bytes.Contains(result, []byte("done held")) {
		return fmt.Errorf("the call does not end: %v: %+v %.300s", err, q, result)
	}
	for _, q := range before {
		if q.Params.URL != "" && !slices.Contains(c.completed, q.Params.ElicitationID) {
			err = errors.Join(err, fmt.Errorf("the end of the elicitation of %s is not told: %q", q.Params.URL, c.completed))
		}
	}
	return errors.Join(err, b.each("held", n, tool != "sends"))
}

// answersCrossed answers two calls of one session that ask the same at one time, the later one first.
func (r *rogue) answersCrossed(ctx context.Context, session string, b *asker) error {
	b.taken()
	limited, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	tags := []string{"left", "right"}
	var both []*calling
	for _, tag := range tags {
		c, err := r.begins(limited, session, "repeats", tag)
		if err != nil {
			return err
		}
		defer c.resp.Body.Close()
		both = append(both, c)
	}
	for i := 1; i <= len(steps["repeats"]); i++ {
		var questions []*asked
		for k, c := range both {
			q, result, err := c.next()
			if err != nil || q == nil {
				return fmt.Errorf("question %d of the call %s is not asked: %v: %.300s", i, tags[k], err, result)
			}
			questions = append(questions, q)
		}
		for k := range both {
			k = len(both) - 1 - k
			if err := r.answers(limited, session, questions[k], questions[k].answerTo(fmt.Sprint("answer-", tags[k], "-", i))); err != nil {
				return err
			}
		}
	}
	for k, c := range both {
		if q, result, err := c.next(); err != nil || q != nil || !bytes.Contains(result, []byte("done "+tags[k])) {
			return fmt.Errorf("the call %s does not end: %v: %+v %.300s", tags[k], err, q, result)
		}
	}
	got := b.taken()
	var err error
	for _, tag := range tags {
		for i := 1; i <= len(steps["repeats"]); i++ {
			key := fmt.Sprint(tag, "-", i)
			if want := []string{oneKey + ": answer-" + key}; !slices.Equal(got[key], want) {
				err = errors.Join(err, fmt.Errorf("question %d of the call %s got the answers %q, want %q", i, tag, got[key], want))
			}
		}
	}
	return err
}

// answersTask answers the questions of a task. Answers under the name of the question before, and under the backend's own key, come first.
func (r *rogue) answersTask(ctx context.Context, b *asker) error {
	b.taken()
	id, a, err := r.task(ctx, "asking", `{"tag":"task"}`)
	if err != nil || id == "" {
		return fmt.Errorf("no task: %v, %v", err, a)
	}
	defer func() { _ = r.cancelTask(ctx, id) }()
	var before []string
	for i := 1; i <= len(steps["asking"]); i++ {
		name, q, err := r.questionOf(ctx, id, before)
		if err != nil {
			return fmt.Errorf("question %d of a task: %w", i, err)
		}
		if err := q.isStep("asking", i); err != nil {
			return err
		}
		for _, old := range append(before, oneKey, "again."+name, name+" ") {
			if err := r.updates(ctx, id, old, q.answerTo("answer-stale-1")); err != nil {
				return err
			}
		}
		if i > 1 {
			pause(ctx, 200*time.Millisecond) // in which the backend would get them
		}
		if err := errors.Join(r.updates(ctx, id, name, q.answerTo(fmt.Sprint("answer-task-", i))), r.updates(ctx, id, name, q.answerTo("answer-twice-1"))); err != nil {
			return err
		}
		before = append(before, name)
	}
	for end := time.Now().Add(slack); ; pause(ctx, 50*time.Millisecond) {
		a, err := r.tasks(ctx, "tasks/get", id, aboutTask(id))
		if err == nil && bytes.Contains(a.body, []byte("done task")) {
			break
		}
		if time.Now().After(end) {
			return fmt.Errorf("the task does not end: %v, %v", err, a)
		}
	}
	return b.each("task", len(steps["asking"]), true)
}

// questionOf waits for a question of a task other than some, and returns it by its name.
func (r *rogue) questionOf(ctx context.Context, id string, but []string) (string, *asked, error) {
	for end := time.Now().Add(slack); ; pause(ctx, 50*time.Millisecond) {
		a, err := r.tasks(ctx, "tasks/get", id, aboutTask(id))
		if err != nil {
			return "", nil, err
		}
		var out struct {
			Result struct{ InputRequests map[string]*asked }
		}
		_ = json.Unmarshal(a.body, &out) // What has no questions is asked for again.
		for name, q := range out.Result.InputRequests {
			if !slices.Contains(but, name) {
				return name, q, nil
			}
			return "", nil, fmt.Errorf("it has the name %s of a question before: %.300s", name, a.body)
		}
		if time.Now().After(end) {
			return "", nil, fmt.Errorf("it is not asked: %d %.300s", a.status, a.body)
		}
	}
}

func (r *rogue) updates(ctx context.Context, id, name, result string) error {
	a, err := r.tasks(ctx, "tasks/update", id, aboutTask(id)+`,"inputResponses":{"`+name+`":`+result+`}`)
	if err == nil && a.status != http.StatusOK {
		err = fmt.Errorf("tasks/update: %d %.300s", a.status, a.body)
	}
	return err
}

// asksDouble: of two questions with one key at a time, none is asked.
func (r *rogue) asksDouble(ctx context.Context, b *asker) error {
	b.taken()
	a, err := r.call(ctx, "doubles", `{"tag":"double"}`)
	if err == nil && bytes.Contains(a.body, []byte("inputRequests")) {
		err = fmt.Errorf("two questions with one key are asked: %.300s", a.body)
	}
	return err
}
