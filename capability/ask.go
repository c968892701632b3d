package capability

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"runtime"
	"strings"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

var (
	// ErrUnanswered is wrapped by ErrDeclined and ErrDismissed: errors.Is(err, ErrUnanswered) is
	// true for both.
	ErrUnanswered = errors.New("the user did not answer")
	// ErrDeclined means that the user declined to answer.
	ErrDeclined error = unanswered("the user declined to answer")
	// ErrDismissed means that the user dismissed the question, or that the client could not show
	// it.
	ErrDismissed error = unanswered("the user dismissed the question")
)

// unanswered is an error that wraps ErrUnanswered.
type unanswered string

// Error returns the text.
func (e unanswered) Error() string { return string(e) }

// Unwrap returns ErrUnanswered.
func (unanswered) Unwrap() error { return ErrUnanswered }

// Action is the user's reaction to a question. MCP: ElicitResult.action.
type Action string

// The actions of an ElicitResult.
const (
	Accept  Action = "accept"
	Decline Action = "decline"
	Cancel  Action = "cancel"
)

// ElicitResult is the user's answer to a form or to a URL. MCP: ElicitResult.
type ElicitResult struct {
	// Action is the user's reaction.
	Action Action
	// Content is the completed form, a JSON object. It is nil unless a form was accepted.
	Content json.RawMessage
}

// Err returns nil if the action is accept, ErrDeclined if it is decline, and ErrDismissed if it is
// cancel.
func (r ElicitResult) Err() error {
	switch r.Action {
	case Accept:
		return nil
	case Decline:
		return ErrDeclined
	default:
		return ErrDismissed
	}
}

// Question is a question to the client with an answer of type T. Its key is unique within the call.
// Form, FormSchema, OpenURL, Sampling, ListRoots and RawQuestion return one.
type Question[T any] struct {
	request *InputRequest
	parse   func(*InputResponse) (T, error)
}

// Asking is a Question with an answer of any type, as Call.AskAll takes it.
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

// Answer returns the client's answer. It ends the handler if there is no answer yet, as Ask does.
// The error is ErrDeclined or ErrDismissed, for Form only, or says that the goroutine is not the
// handler's: return it from the handler then.
func (q Question[T]) Answer(c *Call) (T, error) {
	if err := c.await(q); err != nil {
		var none T
		return none, err
	}
	c.mu.Lock()
	r := c.answers.find(q.request.GetKey(), q.check)
	c.mu.Unlock()
	return q.parse(r)
}

// Ask asks the user to complete a form generated from T, and returns the answer. T is a struct of
// strings, numbers, booleans and lists of enumerated strings, with the tags of AddTool. The error
// is ErrDeclined or ErrDismissed.
//
// The execution of a handler is durable by replay, as in workflow engines. A handler that asks runs
// once per round, each time from its top:
//   - A question that has been answered returns the answer.
//   - The first question without an answer ends the handler immediately, as testing.T.FailNow ends
//     a test: deferred functions run, recover returns nil, and the handler's return values are
//     ignored. The edge sends the question to the client, and runs the handler again with the
//     answer.
//   - Answers are kept in all later rounds. An answer that does not match the question is
//     discarded, and the question is sent again.
//
// Therefore a handler must be deterministic up to its last question:
//   - put a side effect that must happen once, a time or a random value before that into Once, which
//     calls its function in one round and replays the result in later ones;
//   - ask the same questions with the same keys in the same order in every round; in a loop, each
//     question has a key of its own. A second question with the key of another one ends the call
//     as INTERNAL, and so does one that is asked a thousand times: its answer stays the same;
//   - ask in its own goroutine; Call.AskAll asks several questions at once. In another goroutine, a
//     question without an answer cannot end the handler: Ask returns an error, and the other methods
//     end that goroutine. The round ends with the question whatever the handler then returns, but
//     what it does until it returns is done.
//
// MCP: elicitation/create in form mode; InputRequiredResult.
func Ask[T any](c *Call, key, message string) (T, error) {
	return Form[T](key, message).Answer(c)
}

// AskAll sends all questions without an answer to the client in one round, at most 16. It returns
// when all are answered; Question.Answer then returns at once. It ends the handler as Ask does.
func (c *Call) AskAll(questions ...Asking) {
	if c.await(questions...) != nil {
		runtime.Goexit() // of another goroutine than the handler's
	}
}

// await returns nil if all questions are answered, and otherwise ends the handler. If the goroutine
// is not the handler's, it returns an error, and the round ends when the handler returns.
func (c *Call) await(questions ...Asking) error {
	if c.send == nil {
		panic("capability: a completion cannot ask the client")
	}
	c.mu.Lock()
	for _, q := range questions {
		if wrong := c.answers.ask(q.question()); wrong != "" {
			c.mu.Unlock()
			return c.keyMistake(wrong)
		}
	}
	missing := false
	for _, q := range questions {
		if c.answers.find(q.question().GetKey(), q.check) == nil {
			c.answers.request(q.question())
			missing = true
		}
	}
	c.answers.unwound = c.answers.unwound || missing
	unwind := c.answers.unwound
	c.mu.Unlock()
	if unwind && !inHandler() {
		return errElsewhere
	}
	if unwind {
		runtime.Goexit()
	}
	return nil
}

// keyMistake ends the handler, and its call with a mistake of the handler with a key. In another
// goroutine than the handler's it returns the error, and the call ends when the handler returns.
func (c *Call) keyMistake(what string) error {
	failure := &Failure{Reason: Internal, Message: what}
	c.mu.Lock()
	c.answers.mistake = cmp.Or(c.answers.mistake, failure)
	c.mu.Unlock()
	if inHandler() {
		runtime.Goexit()
	}
	return failure
}

// errElsewhere is the error of a question without an answer in another goroutine than the handler's.
var errElsewhere = errors.New("the question has no answer yet, and was asked in another goroutine than the handler's: return from the handler, " +
	"which runs again with the answer")

// handlerFrame begins the name of the function with which the goroutine of a handler starts: that
// within run.
var handlerFrame = reflect.TypeFor[Server]().PkgPath() + ".run["

// inHandler reports whether the current goroutine is one that run has started for a handler.
func inHandler() bool {
	pcs := make([]uintptr, 64)
	n := runtime.Callers(1, pcs)
	for n == len(pcs) {
		pcs = make([]uintptr, 4*len(pcs))
		n = runtime.Callers(1, pcs)
	}
	for frames := runtime.CallersFrames(pcs[:n]); ; {
		frame, more := frames.Next()
		if strings.HasPrefix(frame.Function, handlerFrame) {
			return true
		}
		if !more {
			return false
		}
	}
}

// AskForm asks the user to complete a form. schema is a flat JSON Schema object of primitive
// properties; it is sent verbatim. Accepted content matches its required members, types, enums and
// bounds. AskForm ends the handler as Ask does.
func (c *Call) AskForm(key, message, schema string) ElicitResult {
	q := FormSchema(key, message, schema)
	c.AskAll(q)
	r, _ := q.Answer(c)
	return r
}

// AskURL asks the user to open an https: URL, for data that must not pass through the client:
// logins, secrets, payments. Accept means that the user agreed to open it, not that the user
// completed the page. AskURL ends the handler as Ask does. MCP: elicitation/create in URL mode.
func (c *Call) AskURL(key, message, url string) ElicitResult {
	q := OpenURL(key, message, url)
	c.AskAll(q)
	r, _ := q.Answer(c)
	return r
}

// Sample requests a completion from the client's model. It ends the handler as Ask does. MCP:
// sampling/createMessage.
func (c *Call) Sample(key string, request *SamplingRequest) *SamplingResult {
	q := Sampling(key, request)
	c.AskAll(q)
	r, _ := q.Answer(c)
	return r
}

// Roots requests the directories and files that the client works on; there may be none. It ends the
// handler as Ask does. MCP: roots/list.
func (c *Call) Roots(key string) []*Root {
	q := ListRoots(key)
	c.AskAll(q)
	r, _ := q.Answer(c)
	return r
}

// Response returns the client's answer to a key without validation, or nil. It is for handlers that
// return InputRequired themselves. The answer is kept in later rounds.
func (c *Call) Response(key string) *InputResponse {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers.find(key, func(*InputResponse) error { return nil })
}

// ask returns a question whose answer parse decodes.
func ask[T any](request *mcpedgev1.InputRequest, parse func(*InputResponse) (T, error)) Question[T] {
	return Question[T]{request: request, parse: parse}
}
