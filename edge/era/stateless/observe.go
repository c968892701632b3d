package stateless

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// observe begins the operation of a message that is not a call. params may be nil.
func (e *Era) observe(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, rules *revision.Rules, params *mcp.Params) (context.Context, telemetry.Operation) {
	r := era.OperationOf(in, msg, rules, params)
	if params != nil {
		r.Client = e.opts.Telemetry.ClientName(params.Meta.ClientInfo)
	}
	return e.opts.Telemetry.Begin(ctx, &r)
}

// observeCall begins the operation of one round of a call. It links the round to the previous
// round. If the request names no trace, the round also joins that round's trace. header is that of
// the HTTP request, or nil.
func (e *Era) observeCall(ctx context.Context, header mcp.Header, rules *revision.Rules, call *mcp.Call, state *sealed) (context.Context, telemetry.Operation) {
	t := e.opts.Telemetry
	if t == nil {
		return ctx, telemetry.Operation{}
	}
	r := era.OperationOfCall(call, rules)
	r.Header, r.Pipe, r.Client = header, header == nil, t.ClientName(call.Client.Info)
	if state.Before != "" {
		r.Origin, r.Before = telemetry.ParseParent(state.Origin), telemetry.ParseParent(state.Before)
		r.Reason = telemetry.ReasonAnswered
		if len(state.Methods) == 0 {
			r.Reason = telemetry.ReasonContinued
		}
	}
	return t.Begin(ctx, &r)
}

// remember stores a round's span in the state that the next round receives.
func (s *sealed) remember(op *telemetry.Operation) {
	if sc := op.SpanContext(); sc.IsValid() {
		if s.Before = telemetry.FormatParent(sc); s.Origin == "" {
			s.Origin = s.Before
		}
	}
}
