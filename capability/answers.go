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
	maxState    = 64 << 10 // bytes of state in one InputRequired
	maxRequests = 16       // requests in one InputRequired
	maxKey      = 128      // bytes of a key
	maxRepeats  = 1000     // times that one round may ask one question that has an answer
	// stateMark is the prefix of states written by this package; its last byte is the format
	// version.
	stateMark = "\x00capability\x01"
)

// answers holds the client's answers so far, and the questions that this round found unanswered.
type answers struct {
	kept    []*InputResponse // from earlier rounds, already validated
	latest  []*InputResponse // from this request, not validated yet
	asked   []*asked         // in this round, by the handler
	stepped map[string]bool  // the keys of Once whose values this round has returned
	missing []*InputRequest
	unwound bool
	mistake *Failure // of the handler with a key, which ends the round; the first one
}

// asked is a question of this round, and how often the handler asked it.
type asked struct {
	request *InputRequest
	times   int
}

// InputRequired ends the round with requests to the client when a handler returns it as its error.
// It is for handlers that manage state and answers themselves. Handlers that use Ask and the
// methods of Call do not need it. MCP: InputRequiredResult.
type InputRequired struct {
	// Requests are sent to the client together; at most 16.
	Requests []*InputRequest
	// State is returned by Call.State in the next round; at most 64 KiB. nil keeps the state set by
	// Call.SetState.
	State []byte
	// RetryAfter is the delay before the next round if there are no requests; at most 1 h. 0 means
	// as soon as possible.
	RetryAfter time.Duration
	// Repeatable allows the edge to run the next round again after a replica failure, even if the
	// tool is neither ReadOnly nor Idempotent.
	Repeatable bool
}

// Error implements error, so that a handler can return an InputRequired.
func (r *InputRequired) Error() string {
	return fmt.Sprintf("input required: %d requests", len(r.Requests))
}

// load reads the answers and the state of a request.
func (c *Call) load(responses []*InputResponse, state []byte) *Failure {
	c.answers.latest = slices.DeleteFunc(slices.Clone(responses), isOnce)
	if len(state) == 0 {
		return nil
	}
	text, ours := strings.CutPrefix(string(state), stateMark)
	var m mcpedgev1.CallToolRequest // it has the two fields that are stored: answers and state
	if !ours || proto.Unmarshal([]byte(text), &m) != nil {
		return &Failure{Reason: InvalidArgument,
			Message: "the state of this call was written by another version of the service; call again from the start"}
	}
	c.answers.kept = m.GetInputResponses()
	c.state = m.GetState()
	return nil
}

// required returns the outcome that sends requests to the client, with the state for the next
// round.
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

// memoryOf encodes answers and a handler's state as the state of the call.
func memoryOf(answers []*InputResponse, state []byte) ([]byte, error) {
	memory, err := proto.Marshal(&mcpedgev1.CallToolRequest{InputResponses: answers, State: state})
	if err != nil {
		return nil, fmt.Errorf("the state cannot be encoded: %w", err)
	}
	if size := len(stateMark) + len(memory); size > maxState {
		return nil, fmt.Errorf("the answers and the state of this call have %d bytes; the limit is %d: store large data elsewhere, under Call.ID", size, maxState)
	}
	return append([]byte(stateMark), memory...), nil
}

// errInvalid is wrapped by errors about an answer that does not match its question.
var errInvalid = errors.New("the answer does not fit the question")

// find returns the answer to a key. An answer from an earlier round wins, so that a client cannot
// change it. A new answer that check accepts is stored.
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

// ask records a question of this round. It returns what is wrong if an earlier one with its key is
// another question, whose answer it must not get, or if it was asked too often; otherwise "".
func (a *answers) ask(request *InputRequest) string {
	key := request.GetKey()
	i := slices.IndexFunc(a.asked, func(q *asked) bool { return q.request.GetKey() == key })
	if i < 0 {
		a.asked = append(a.asked, &asked{request: request, times: 1})
		return ""
	}
	earlier := a.asked[i]
	if earlier.request != request && !proto.Equal(earlier.request, request) {
		return fmt.Sprintf("two different questions have the key %.40q; give each its own, as %.40q + id", key, key+"-")
	}
	if earlier.times++; earlier.times > maxRepeats {
		return fmt.Sprintf("one round asked the question %.40q %d times, and its answer stays the same; ask again under another key, "+
			"as fmt.Sprint(%.40q, attempt)", key, maxRepeats, key+"-")
	}
	return ""
}

// request adds a question for the next round, once per key.
func (a *answers) request(request *InputRequest) {
	for i, m := range a.missing {
		if m.GetKey() == request.GetKey() {
			a.missing[i] = request
			return
		}
	}
	a.missing = append(a.missing, request)
}
