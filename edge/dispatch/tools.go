package dispatch

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/translate"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// callTool runs tools/call (MCP, "Tools", "Calling Tools").
func (r *round) callTool(ctx context.Context) (mcp.Reply, error) {
	if err := r.endRefused(ctx); err != nil {
		return mcp.Reply{}, err
	}
	if r.target.Misused != nil || r.named.Own {
		return r.callOwn(ctx)
	}
	reply, err := r.callBackendTool(ctx)
	if err != nil && r.state == consentAccepted {
		err = r.chargeUnused(ctx, err)
	}
	return reply, err
}

// callBackendTool runs a call of a backend's tool, in stages. The stages of resolve are over: it
// has hidden targets that the caller may not see, added pinned arguments, and applied rules and
// scopes. The first stage that refuses the call, or must ask the user, ends the round.
func (r *round) callBackendTool(ctx context.Context) (mcp.Reply, error) {
	args, err := r.arguments()
	if err != nil {
		return mcp.Reply{}, err
	}
	check := r.named.Tool.Check.Ready()
	if err := r.checkHeaders(check, args); err != nil {
		return mcp.Reply{}, err
	}
	if err := r.hookRequest(); err != nil {
		return mcp.Reply{}, err
	}
	if r.hooks != nil { // They may have replaced the arguments.
		if args, err = r.arguments(); err != nil {
			return mcp.Reply{}, err
		}
	}
	if refused, err := r.validate(check, args); refused != nil || err != nil {
		return argumentReply(refused, err)
	}
	if err := r.askPolicyServer(ctx); err != nil {
		return mcp.Reply{}, err
	}
	if asked, err := r.requireConsent(ctx, args); asked != nil || err != nil {
		return mcp.Reply{Input: asked}, err
	}
	return r.runTool(ctx)
}

// runTool runs the call at the backend.
func (r *round) runTool(ctx context.Context) (mcp.Reply, error) {
	t := r.named.Tool
	r.effects = !t.Repeatable()
	req, err := translate.CallToolRequest(r.call, t.Proto.GetName())
	if err != nil {
		return mcp.Reply{}, err
	}
	req.Context.Round = uint32(r.backendRound()) // #nosec G115 -- bounded by calls.rounds
	if r.size = t.Size.Load(); r.size == nil {
		r.size = r.d.sizes.of(t.Owner, mcp.MethodToolsCall, t.Proto.GetName())
		t.Size.Store(r.size)
	}
	r.addClaims(req.Context, t.Owner)
	release, err := r.acquire(ctx, t.Owner)
	if err != nil {
		return mcp.Reply{}, err
	}
	defer release()
	ctx, end, err := r.outgoingContext(ctx, t.Owner, t.Proto.GetName())
	if err != nil {
		return mcp.Reply{}, err
	}
	defer end()
	if err := r.spend(ctx); err != nil {
		return mcp.Reply{}, err
	}
	if len(r.holds.Has) > 0 && r.required.declared != nil {
		ctx = r.required.declared(ctx)
	}
	stream, err := t.Owner.Tools().CallTool(ctx, req)
	if err != nil {
		return mcp.Reply{}, r.repeatableError(r.status(ctx, err))
	}
	out, err := receive[pb.CallToolResponse, *pb.CallToolResponse, *pb.CallToolResult](ctx, r, stream)
	if err != nil {
		return mcp.Reply{}, r.repeatableError(err)
	}
	if out.input != nil {
		return r.inputRequired(out.input)
	}
	if err := r.checkOutputSchema(out.result); err != nil {
		return mcp.Reply{}, r.contractError("tool %q: %v", t.Proto.GetName(), err)
	}
	return r.finish(toolResult{out.result})
}

// CancelCall notifies the backend of a call that the call was cancelled between two rounds. It
// returns nil if the tool no longer exists, if the call has no state, or if the backend does not
// implement CancelCall.
func (d *Dispatch) CancelCall(ctx context.Context, rules *revision.Rules, call *mcp.Call) error {
	r := &round{d: d, rules: rules}
	err := d.catalog.Resolve(ctx, rules, call, &r.named)
	t := r.named.Cancellable(call)
	switch {
	case t != nil:
	case ctx.Err() != nil:
		return err
	default:
		return nil // The name no longer exists.
	}
	call, _, r.before = withOwnState(call)
	if call.State == nil {
		return nil
	}
	r.call = call
	ctx, end, err := r.begin(ctx, t.Owner, t.Proto.GetName())
	if err != nil {
		return err
	}
	defer end()
	req := translate.CancelCallRequest(call, t.Proto.GetName())
	req.Context.Round = uint32(r.backendRound()) // #nosec G115 -- as in callTool
	r.addClaims(req.Context, t.Owner)
	if _, err = t.Owner.Tools().CancelCall(ctx, req); status.Code(err) == codes.Unimplemented {
		return nil
	}
	return err
}
