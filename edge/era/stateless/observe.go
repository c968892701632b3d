package stateless

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// observe begins the operation of a message that is not a call. params may be nil.
func (e *Era) observe(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, rules *revision.Rules, params *mcp.Params) (context.Context, telemetry.Operation) {
	t := e.opts.Telemetry
	if t == nil {
		return ctx, telemetry.Operation{}
	}
	r := telemetry.Request{
		Method: mcp.Method(msg.Method), ID: msg.ID, Params: params, Version: rules.Version, Set: in.Set, Header: in.Header, Pipe: in.Header == nil, Principal: in.Principal, From: in.Address,
	}
	if params != nil {
		r.Client = t.ClientName(params.Meta.ClientInfo)
	}
	return t.Begin(ctx, &r)
}

// observeCall begins the operation of one round of a call. It links the round to the previous
// round. If the request names no trace, the round also joins that round's trace.
func (e *Era) observeCall(ctx context.Context, id jsonrpc.ID, rules *revision.Rules, call *mcp.Call, state *sealed) (context.Context, telemetry.Operation) {
	t := e.opts.Telemetry
	if t == nil {
		return ctx, telemetry.Operation{}
	}
	r := telemetry.Request{
		Method: call.Method, ID: id, Params: &call.Params, Version: rules.Version, Set: call.Set, Header: call.Header, Pipe: call.Header == nil,
		Client: t.ClientName(call.Client.Info), Round: call.Round, Attempt: call.Attempt,
		Principal: call.Principal, Call: call.ID, From: call.From,
	}
	r.Backend = call.Backend
	if state.Before != "" {
		r.Origin, r.Before = telemetry.ParseParent(state.Origin), telemetry.ParseParent(state.Before)
		r.Reason = telemetry.ReasonAnswered
		if len(state.Methods) == 0 {
			r.Reason = telemetry.ReasonContinued
		}
	}
	return t.Begin(ctx, &r)
}

// failure converts an error to an outcome.
func failure(rules *revision.Rules, e *mcp.Error) *telemetry.Outcome {
	return &telemetry.Outcome{Kind: e.Kind, Code: rules.Code(e.Kind), Message: e.Message, Reason: e.Reason, Cause: e.Cause()}
}

// remember stores a round's span in the state that the next round receives.
func (s *sealed) remember(op *telemetry.Operation) {
	if sc := op.SpanContext(); sc.IsValid() {
		if s.Before = telemetry.FormatParent(sc); s.Origin == "" {
			s.Origin = s.Before
		}
	}
}
