package dispatch

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/mcpedge/mcpedge/edge/budget"
	"github.com/mcpedge/mcpedge/edge/hook"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/redact"
	"github.com/mcpedge/mcpedge/edge/translate"
	hookv1 "github.com/mcpedge/mcpedge/gen/mcpedge/hook/v1"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// outcome is the backend's response of a round, or the error that ends the round. Each kind has its
// own type.
type outcome interface {
	// redact returns the outcome without the secrets that v replaces. nil replaces nothing.
	redact(v *redact.View) outcome
	// render returns the outcome in the form of the revision. The error is a *mcp.Error.
	render(r *round) (mcp.Reply, error)
}

// checked is an outcome that hooks check.
type checked interface {
	outcome
	// message returns the outcome in the contract of hooks.
	message() *hookv1.Outcome
	// replaced returns the outcome with which a hook replaces this one, which is not modified. The
	// error means that it cannot be used.
	replaced(r *round, with *hookv1.Outcome) (checked, error)
}

// shortenable is an outcome that may be too long for a model.
type shortenable interface {
	outcome
	// shorten returns the outcome with at most the tokens that the catalog allows.
	shorten(r *round) outcome
}

// finish turns an outcome into the reply to the client. Its stages have a fixed order. An error of
// a stage also ends the round: see fail.
func (r *round) finish(o outcome) (mcp.Reply, error) {
	o, err := r.check(o)
	if err != nil {
		return mcp.Reply{}, err
	}
	if v := r.masks(redact.Results); v != nil {
		o = o.redact(v)
	}
	if l, ok := o.(shortenable); ok {
		o = l.shorten(r)
	}
	return o.render(r)
}

// fail ends the round with an error.
func (r *round) fail(err error) (mcp.Reply, error) { return r.finish(failure{mcp.AsError(err)}) }

// check returns the outcome after the hooks have checked it. If a hook withholds a result, check
// returns the hook's error. A withheld error is replaced by another one.
func (r *round) check(o outcome) (outcome, error) {
	c, ok := o.(checked)
	if !ok || !r.isChecked(o) {
		return o, nil
	}
	left, err := r.hookOutcome(c)
	if _, failed := o.(failure); failed && err != nil {
		return failure{mcp.AsError(err)}, nil
	}
	return left, err
}

// isChecked reports whether the hooks check an outcome. They check at most one in a round, and only
// the backend's.
func (r *round) isChecked(o outcome) bool {
	if r.hooks == nil || r.hooks.checked || r.owner == nil {
		return false
	}
	f, failed := o.(failure)
	return !failed || f.isOfBackend()
}

// hookOutcome makes the hooks check an outcome, and returns the result. The deadline of the round
// does not apply, because the backend has responded.
func (r *round) hookOutcome(o checked) (outcome, error) {
	r.hooks.checked = true
	out := o.message()
	err := r.runHooks(hook.Result, func(h *hook.Hook) (hook.Decision, error) {
		req := &hookv1.CheckResultRequest{Call: r.hookCall(h), Outcome: out}
		most := r.named.Backend.MaxMessageBytes()
		if n := proto.Size(req); n > smallCheck { // The outcome is in memory already.
			bytes := int64(n + hook.Limit(n, most))
			r.call.Memory.Force(budget.Checks, bytes)
			defer r.call.Memory.Shrink(budget.Checks, bytes)
		}
		return h.CheckResult(r.hooks.ctx, req, most, func(with *hookv1.Outcome) error {
			changed, err := o.replaced(r, with)
			if err != nil || h.IsAudit() {
				return err
			}
			o, out = changed, with
			return nil
		})
	})
	return o, err
}

var errOtherKind = errors.New("its outcome is of another kind than the one that it checks")

// inputRequired renders the input that a backend requests, within the contract's bounds. If the
// client lacks a capability for it, or its revision cannot express it, the error is of kind
// KindMissingCapability: the stateless era has an error code for it; in the stateful era it is a
// tool result, or else an internal error.
func (r *round) inputRequired(in *pb.InputRequired) (mcp.Reply, error) {
	r.masks(redact.Questions).Message(in)
	out, err := translate.InputRequired(r.rules, in)
	if err != nil {
		if e := mcp.AsError(err); e.Kind != mcp.KindMissingCapability {
			return mcp.Reply{}, r.nameBackend(e)
		}
	}
	// All missing capabilities are named together, so this error precedes that of the first
	// request.
	if missing := translate.MissingCapability(r.rules, r.call.Client.Capabilities, in); missing != nil {
		return mcp.Reply{}, missing
	}
	if err != nil {
		return mcp.Reply{}, err
	}
	if len(out.Requests) > 0 || len(out.State) > 0 {
		if err := r.askAgain(out); err != nil {
			return mcp.Reply{}, err
		}
		out.State = r.nextConsent(r.sendsState(out)).prepend(out.State)
	}
	return mcp.Reply{Input: out}, nil
}
