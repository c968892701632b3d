package stateless

import (
	"context"
	"encoding/json"
	"time"

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
	var twice error
	err := jsonrpc.Members(raw, func(key []byte, value json.RawMessage) error {
		method, known := asked[string(key)]
		if resumed && !known {
			return nil
		}
		for i := range out {
			if out[i].Key == string(key) {
				twice = mcp.Errorf(mcp.KindInvalidParams, "inputResponses has the key %.80q twice: send it once", key)
				return twice
			}
		}
		if !resumed && len(out) == maxVolunteered {
			return nil
		}
		out = append(out, mcp.InputResponse{Key: string(key), Method: method, Result: value})
		return nil
	})
	if twice != nil {
		return nil, twice
	}
	if err != nil {
		return nil, mcp.Errorf(mcp.KindInvalidParams, "inputResponses must be an object of results by key")
	}
	return out, nil
}

// errCancelled ends a round whose pause the client has ended.
var errCancelled = mcp.Errorf(mcp.KindCancelled, "the call was cancelled")

// inputRequired renders the result of a round that needs another round.
func (e *Era) inputRequired(ctx context.Context, rules *revision.Rules, call *mcp.Call, state sealed, in *mcp.InputRequired) ([]byte, error) {
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
