package capability

import (
	"encoding/json"
	"errors"
	"runtime"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

var (
	// ErrDeclined: the user said no.
	ErrDeclined = errors.New("the user declined to answer")
	// ErrCancelled: the user closed the question without a choice, or the client could not show it.
	ErrCancelled = errors.New("the user dismissed the question")
)

// Action is what the user did with a question. MCP: ElicitResult.action.
type Action string

// The actions of an ElicitResult.
const (
	Accept  Action = "accept"
	Decline Action = "decline"
	Cancel  Action = "cancel"
)

// ElicitResult is the user's answer to a form or a URL. MCP: ElicitResult.
type ElicitResult struct {
	// Action is what the user did.
	Action Action
	// Content is the filled in form, a JSON object; nil unless accepted from a form.
	Content json.RawMessage
}

// Err is nil, ErrDeclined or ErrCancelled, by the action.
func (r ElicitResult) Err() error {
	switch r.Action {
	case Accept:
		return nil
	case Decline:
		return ErrDeclined
	default:
		return ErrCancelled
	}
}

// Question is something to ask of the client, under a key that is its own within the call, with an
// answer of type T. Make one with Form, FormSchema, OpenURL, Sampling, ListRoots or RawQuestion.
type Question[T any] struct {
	request *InputRequest
	parse   func(*InputResponse) (T, error)
}

// Asking is any Question, whatever its answer; for Call.AskAll.
type Asking interface {
	question() *InputRequest
	check(*InputResponse) error
}

func (q Question[T]) question() *InputRequest { return q.request }

func (q Question[T]) check(r *InputResponse) error {
	if _, err := q.parse(r); errors.Is(err, errInvalid) {
		return err
	}
	return nil
}

// Answer returns the client's answer. If it is not there yet, the handler ends here, as described
// at Ask. The error is ErrDeclined or ErrCancelled, from Form only.
func (q Question[T]) Answer(c *Call) (T, error) {
	c.AskAll(q)
	c.mu.Lock()
	r := c.answers.find(q.request.GetKey(), q.check)
	c.mu.Unlock()
	return q.parse(r)
}

// Ask asks the user to fill in a form made from T, a struct of strings, numbers, booleans and
// lists of enumerated strings, with the tags of AddTool. The error is ErrDeclined or ErrCancelled.
//
// A handler that asks is run from its top in each round. A question whose answer has come returns
// it; the first one without an answer ends the handler on the spot, as testing.T.FailNow ends a
// test: deferred calls run, recover sees nothing, and whatever was to be returned is not. The client
// is then asked, and the handler runs again. Answers survive all later rounds; one that does not fit
// the question is asked for again. So:
//   - do nothing that must not happen twice before the last question is answered;
//   - ask in the same order under the same keys in every round;
//   - ask in the handler's own goroutine (Call.AskAll asks several questions at once).
//
// MCP: elicitation/create in form mode; InputRequiredResult.
func Ask[T any](c *Call, key, message string) (T, error) {
	return Form[T](key, message).Answer(c)
}

// AskAll makes sure that all these questions are answered: those that are not are asked in one
// round, at most 16. Then each Question's Answer returns at once. See Ask for how it ends the
// handler.
func (c *Call) AskAll(questions ...Asking) {
	if c.send == nil {
		panic("capability: a completion cannot ask the client")
	}
	c.mu.Lock()
	missing := false
	for _, q := range questions {
		if c.answers.find(q.question().GetKey(), q.check) == nil {
			c.answers.miss(q.question())
			missing = true
		}
	}
	c.answers.unwound = c.answers.unwound || missing
	unwind := c.answers.unwound
	c.mu.Unlock()
	if unwind {
		runtime.Goexit()
	}
}

// AskForm asks the user to fill in a form by a flat JSON Schema object of primitive properties,
// sent verbatim. Accepted content fits its required members, types, enums and bounds. See Ask for
// how it ends the handler.
func (c *Call) AskForm(key, message, schema string) ElicitResult {
	r, _ := FormSchema(key, message, schema).Answer(c)
	return r
}

// AskURL asks the user to open an https: URL, for what must not pass through the client (logins,
// secrets, payments). Accept says that the user agreed to, not that anything is done there. See Ask
// for how it ends the handler. MCP: elicitation/create in URL mode.
func (c *Call) AskURL(key, message, url string) ElicitResult {
	r, _ := OpenURL(key, message, url).Answer(c)
	return r
}

// Sample asks the client's model. See Ask for how it ends the handler. MCP: sampling/createMessage.
func (c *Call) Sample(key string, request *SamplingRequest) *SamplingResult {
	r, _ := Sampling(key, request).Answer(c)
	return r
}

// Roots asks for the directories and files the client works on; there may be none. See Ask for how
// it ends the handler. MCP: roots/list.
func (c *Call) Roots(key string) []*Root {
	r, _ := ListRoots(key).Answer(c)
	return r
}

// Response returns the client's answer to a key, unchecked, or nil: for handlers that return
// InputRequired themselves. What it returns is kept for the later rounds.
func (c *Call) Response(key string) *InputResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers.find(key, func(*InputResponse) error { return nil })
}

// ask is a question whose answer is of one kind.
func ask[T any](request *mcpedgev1.InputRequest, parse func(*InputResponse) (T, error)) Question[T] {
	return Question[T]{request: request, parse: parse}
}
