package era

import (
	"context"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Response is the response to a request with the outcome of its operation: the code and message of an
// error, or whether a result has isError. Without a body there is no response.
type Response struct {
	mcp.Response
	Outcome telemetry.Outcome
}

// Failure returns the response with an error, in the form of the revisions with sessions.
func Failure(rules *revision.Rules, id jsonrpc.ID, err error) Response {
	e := mcp.AsError(err)
	code := rules.Code(e.Kind)
	return Response{
		mcp.Response{
			Body:  jsonrpc.AppendError(nil, id, code, e.Message, e.Data),
			Owned: true, Kind: e.Kind, RetryAfter: e.RetryAfter, Challenge: e.Challenge,
		},
		telemetry.Outcome{Kind: e.Kind, Code: code, Message: e.Message, Reason: e.Reason, Cause: e.Cause()},
	}
}

// NewCall returns the first run of a request, without its round and its params.
func NewCall(in *mcp.Incoming, id jsonrpc.ID, method mcp.Method) *mcp.Call {
	return &mcp.Call{
		Attempt: 1, Method: method, Set: in.Set, Envelope: mcp.Envelope{ID: id},
		HTTP: in.HTTP, Principal: in.Principal, From: in.Address,
	}
}

// OperationOf describes a message for telemetry. params may be nil.
func OperationOf(in *mcp.Incoming, msg jsonrpc.Message, rules *revision.Rules, params *mcp.Params) telemetry.Request {
	return telemetry.Request{
		Method: mcp.Method(msg.Method), ID: msg.ID, Params: params, Version: rules.Version, Set: in.Set,
		Header: in.Header, Pipe: in.Header == nil, Principal: in.Principal, From: in.Address,
	}
}

// OperationOfCall describes a round of a call for telemetry.
func OperationOfCall(call *mcp.Call, rules *revision.Rules) telemetry.Request {
	return telemetry.Request{
		Method: call.Method, ID: call.Envelope.ID, Params: &call.Params, Backend: call.Backend, Version: rules.Version, Set: call.Set,
		Round: call.Round, Attempt: call.Attempt, Principal: call.Principal, Call: call.ID, From: call.From,
	}
}

// Pause waits for d. It returns false if ctx is done first.
func Pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// TasksUndeclared returns the error for a request that requires the extension of tasks, which its
// client has not declared. what names the request.
func TasksUndeclared(what string) *mcp.Error {
	return &mcp.Error{
		Kind: mcp.KindMissingCapability,
		Data: []byte(`{"requiredCapabilities":{"extensions":{"` + mcp.ExtensionTasks + `":{}}}}`),
		Message: what + ` needs a client that can have tasks: send "` + mcp.ExtensionTasks + `":{} in the extensions of ` +
			mcp.MetaCapabilities + " with the request",
	}
}
