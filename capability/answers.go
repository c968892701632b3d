package capability

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

const (
	maxState    = 64 << 10 // of one InputRequired
	maxRequests = 16       // of one InputRequired
	maxKey      = 128      // bytes of a key
	// stateMark begins the state that this package writes; the byte is its version.
	stateMark = "\x00capability\x01"
)

// answers are what the client has said so far, and what this round found missing.
type answers struct {
	kept    []*InputResponse // of earlier rounds, good when they came
	latest  []*InputResponse // just come; not looked at yet
	missing []*InputRequest
	unwound bool
}

// InputRequired is an outcome for handlers that keep their own account of the rounds: returned as
// the error, it ends the round as it says. Handlers that ask through Call never need it.
// MCP: InputRequiredResult.
type InputRequired struct {
	// Requests are asked all at once; at most 16.
	Requests []*InputRequest
	// State comes back in Call.State; nil keeps that of Call.SetState. The bound is 64 KiB.
	State []byte
	// RetryAfter, with no requests, is when to call again; at most 1 h. 0: soon.
	RetryAfter time.Duration
	// Repeatable: the next round may be run again with the state when the edge's replica is lost, whatever the tool says of itself.
	Repeatable bool
}

// Error makes an InputRequired returnable as an error.
func (r *InputRequired) Error() string {
	return fmt.Sprintf("input required: %d requests", len(r.Requests))
}

// load takes the answers and the state of a request.
func (c *Call) load(responses []*InputResponse, state []byte) *Failure {
	c.answers.latest = slices.DeleteFunc(slices.Clone(responses), isOnce)
	if len(state) == 0 {
		return nil
	}
	text, ours := strings.CutPrefix(string(state), stateMark)
	var m mcpedgev1.CallToolRequest // its fields are just those of a memory: answers and a state
	if !ours || proto.Unmarshal([]byte(text), &m) != nil {
		return &Failure{Reason: InvalidArgument,
			Message: "the state of this call was written by another version of the service; call again from the start"}
	}
	c.answers.kept = m.GetInputResponses()
	c.state = m.GetState()
	return nil
}

// required is the outcome that asks for what is missing, with everything needed to go on.
func (c *Call) required(requests []*InputRequest, retryAfter time.Duration, repeatable bool) (*mcpedgev1.InputRequired, error) {
	if len(requests) > maxRequests {
		return nil, fmt.Errorf("%d questions in one round; ask at most %d at once", len(requests), maxRequests)
	}
	for i, r := range requests {
		if r.GetKey() == "" || len(r.GetKey()) > maxKey {
			return nil, fmt.Errorf("the key of a question has 1 to %d bytes, not %d: %.40q", maxKey, len(r.GetKey()), r.GetKey())
		}
		if slices.ContainsFunc(requests[:i], func(o *InputRequest) bool { return o.GetKey() == r.GetKey() }) {
			return nil, fmt.Errorf("two questions of one round have the key %q; give each its own", r.GetKey())
		}
	}
	memory, err := memoryOf(c.answers.kept, c.state)
	if err != nil {
		return nil, err
	}
	out := &mcpedgev1.InputRequired{Requests: requests, State: memory, Repeatable: repeatable}
	if retryAfter > 0 {
		out.RetryAfter = durationpb.New(retryAfter)
	}
	return out, nil
}

// memoryOf is the state that answers and a state are kept in.
func memoryOf(answers []*InputResponse, state []byte) ([]byte, error) {
	memory, err := proto.Marshal(&mcpedgev1.CallToolRequest{InputResponses: answers, State: state})
	if err != nil {
		return nil, fmt.Errorf("the state cannot be kept: %w", err)
	}
	if size := len(stateMark) + len(memory); size > maxState {
		return nil, fmt.Errorf("answers and state of this call have %d bytes, above the %d that survive a round; keep large data elsewhere, under Call.ID", size, maxState)
	}
	return append([]byte(stateMark), memory...), nil
}

// errInvalid marks an answer that does not fit its question.
var errInvalid = errors.New("the answer does not fit the question")

// find returns the answer to a key: one kept from earlier rounds first, so that a client cannot
// change what it said. A new one that check accepts is kept.
func (a *answers) find(key string, check func(*InputResponse) error) *InputResponse {
	for _, r := range a.kept {
		if r.GetKey() == key && check(r) == nil {
			return r
		}
	}
	for _, r := range a.latest {
		if r.GetKey() == key && check(r) == nil {
			a.kept = append(slices.DeleteFunc(a.kept, func(o *InputResponse) bool { return o.GetKey() == key }), r)
			return r
		}
	}
	return nil
}

// miss notes a question for the next round, once per key.
func (a *answers) miss(request *InputRequest) {
	for i, m := range a.missing {
		if m.GetKey() == request.GetKey() {
			a.missing[i] = request
			return
		}
	}
	a.missing = append(a.missing, request)
}
