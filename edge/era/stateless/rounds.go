package stateless

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// multiRound reports whether requests of a method may take several rounds.
func multiRound(m mcp.Method) bool {
	return m == mcp.MethodToolsCall || m == mcp.MethodPromptsGet || m == mcp.MethodResourcesRead
}

// maxStateWait bounds the delay of a response without questions that the backend requests.
const maxStateWait = 5 * time.Second

// resume restores the call from its previous rounds: id, round, answers and state. A first round
// starts a new call, as do answers without a state.
func (e *Era) resume(call *mcp.Call) (sealed, error) {
	params := &call.Params
	state := sealed{CallID: mcp.NewCallID(), Round: 1, Expires: time.Now().Add(e.opts.CallLifetime)}
	if !multiRound(call.Method) {
		call.ID, call.Round = state.CallID, state.Round
		return state, nil
	}
	sent := params.More()
	if sent.RequestState != nil {
		text, ok := jsonrpc.Unquote(sent.RequestState)
		if !ok {
			return state, mcp.Errorf(mcp.KindBadState, "requestState must be the string that was issued")
		}
		var refused *mcp.Error
		if state, refused = openState(e.keys, text, associatedData(call), time.Now()); refused != nil {
			return state, refused
		}
	}
	call.ID, call.Round, call.State, call.Backend = state.CallID, state.Round, state.State, state.Backend
	if state.Wrapped {
		if err := call.Unwrap(); err != nil {
			return state, err
		}
	}
	params.Continue(state.Name, state.Added)
	var err error
	call.Responses, err = responses(sent.InputResponses, sent.RequestState != nil, state.Methods)
	return state, err
}

// maxVolunteered bounds the accepted answers without a state, which no question requested.
const maxVolunteered = 64

// responses reads inputResponses. After a round, it drops answers to unasked questions, as the
// specification requires (MCP, "Multi Round-Trip Requests"). Without a previous round, it accepts
// the first maxVolunteered answers under any key, with an unknown method.
func responses(raw json.RawMessage, resumed bool, asked map[string]mcp.Method) ([]mcp.InputResponse, error) {
	if raw == nil {
		return nil, nil
	}
	var out []mcp.InputResponse
	err := jsonrpc.Members(raw, func(key []byte, value json.RawMessage) error {
		method, known := asked[string(key)]
		if resumed && !known {
			return nil
		}
		for i := range out {
			if out[i].Key == string(key) {
				return mcp.Errorf(mcp.KindInvalidParams, "inputResponses has the key %.80q twice: send it once", key)
			}
		}
		if !resumed && len(out) == maxVolunteered {
			return nil
		}
		out = append(out, mcp.InputResponse{Key: string(key), Method: method, Result: value})
		return nil
	})
	if twice := (*mcp.Error)(nil); errors.As(err, &twice) {
		return nil, twice
	}
	if err != nil {
		return nil, mcp.Errorf(mcp.KindInvalidParams, "inputResponses must be an object of results by key")
	}
	return out, nil
}

// errCancelled ends a round whose pause the client has ended.
var errCancelled = mcp.Errorf(mcp.KindCancelled, "the call was cancelled")

// ask returns the result of a round that needs another round, with the state that the client sends
// back. span is the round's span, which the state has for the next round.
func (e *Era) ask(
	ctx context.Context, rules *revision.Rules, call *mcp.Call, state sealed, in *mcp.InputRequired, span trace.SpanContext,
) ([]byte, error) {
	if span.IsValid() {
		state.Before = telemetry.FormatParent(span)
		state.Origin = cmp.Or(state.Origin, state.Before)
	}
	if state.Wrapped = call.Params.Wrapped != nil; state.Wrapped || call.Params.Shown() != "" {
		state.Name = call.Params.Target
	}
	state.Added = call.Params.Added()
	state.Round++
	state.State = in.State
	state.Methods = make(map[string]mcp.Method, len(in.Requests))
	if len(in.Requests) > 0 {
		if err := in.CheckRounds(state.Asked, e.opts.MaxRounds); err != nil {
			e.opts.Telemetry.Hit(telemetry.BoundRounds)
			return nil, err
		}
		state.Asked++
	} else if !era.Pause(ctx, min(in.RetryAfter, maxStateWait)) {
		return nil, errCancelled
	}
	for _, r := range in.Requests {
		state.Methods[r.Key] = r.Method
	}
	text, err := e.keys.Seal(stateCipher, state, associatedData(call))
	if err != nil {
		return nil, err
	}
	out := []byte(`{"resultType":"input_required"`)
	if len(in.Requests) > 0 {
		out = append(appendRequests(append(out, `,"inputRequests":{`...), in.Requests), '}')
	}
	out = jsonrpc.AppendString(append(out, `,"requestState":`...), text)
	out = appendMeta(out, e.server.ServerInfo(rules, call.Set), jsonrpc.ID{})
	return append(out, '}'), nil
}

// appendRequests appends the questions as members of an open object.
func appendRequests(out []byte, requests []mcp.InputRequest) []byte {
	for _, r := range requests {
		question := jsonrpc.AppendString([]byte(`{"method":`), string(r.Method))
		if r.Params != nil {
			question = jsonrpc.AppendMember(question, "params", r.Params)
		}
		out = jsonrpc.AppendMember(out, r.Key, append(question, '}'))
	}
	return out
}

// sealed is the state of a call between its rounds. It passes through the client as requestState.
type sealed struct {
	CallID  string                `json:"c"`
	Round   int                   `json:"r"` // the number of the next round
	Asked   int                   `json:"a"` // the number of rounds that asked the client
	Expires time.Time             `json:"e"`
	Methods map[string]mcp.Method `json:"m,omitempty"` // the methods of the questions, by key
	State   []byte                `json:"s,omitempty"` // the backend's own state
	Backend string                `json:"w,omitempty"` // the backend of State and the questions
	// Name is the canonical name of the tool or prompt. Empty means the name that the client uses.
	Name string `json:"n,omitempty"`
	// Wrapped means that the client made the request through a tool of the edge, see mcp.Wrapped.
	Wrapped bool `json:"t,omitempty"`
	// Added are the arguments, as an object, that the client did not send.
	Added json.RawMessage `json:"x,omitempty"`
	// Progress is the progress sent to the client so far.
	Progress mcp.ProgressTracker `json:"p,omitzero"`
	// Origin is the span of the first round, Before that of the previous round, each as a traceparent.
	// Empty means that the round was not traced.
	Origin string `json:"o,omitempty"`
	Before string `json:"b,omitempty"`
}

// stateCipher is AES-256-GCM with a random nonce of 12 bytes before the ciphertext. The bound data
// are the request of the state (principal, set, method, target, arguments), so a state opens for
// that request only.
func stateCipher(key []byte) (cipher.AEAD, []byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return aead, nil, err
}

// notIssued is the error message for a state that cannot be opened.
const notIssued = "requestState was not issued by this service for this request, or was changed: start the call again without it"

// associatedData returns the associated data of a call.
func associatedData(call *mcp.Call) []byte {
	h := sha256.New()
	method, name, arguments := call.Bound()
	for _, part := range []string{call.Principal.Key(), string(method), name} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	if call.Set != "" { // Without a set, the digest is the same as in earlier releases.
		fmt.Fprintf(h, "set %d:%s", len(call.Set), call.Set)
	}
	h.Write(jsonrpc.Compact(nil, arguments))
	return h.Sum(nil)
}

// openState opens a state. The error is of KindBadState, and has its reason for the log.
func openState(keys era.Keys, text string, bind []byte, now time.Time) (sealed, *mcp.Error) {
	var state sealed
	switch err := keys.Open(stateCipher, text, bind, &state); {
	case errors.Is(err, era.ErrForged):
		return state, badState("it is for another caller, set, method, target or arguments, or was changed")
	case err != nil:
		return state, badState(err.Error())
	case now.After(state.Expires):
		return state, mcp.Errorf(mcp.KindBadState, "requestState expired at %s: start the call again without it", state.Expires.UTC().Format(time.RFC3339))
	}
	return state, nil
}

func badState(reason string) *mcp.Error {
	return &mcp.Error{Kind: mcp.KindBadState, Message: notIssued, Reason: "requestState: " + reason}
}
