package dispatch

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// maxDeclared bounds the message of a service's own confirmation, in bytes.
const maxDeclared = 1000

// requirements are the confirmations and approvals that a round needs. The zero value requires nothing.
type requirements struct {
	// confirmations and approvals are those of the policy. The service behind an adapter may require
	// a confirmation, too.
	confirmations, approvals []policy.Obligation
	// declared marks the context of a call whose user has given the confirmation that the service
	// behind an adapter requires. nil means that it requires none.
	declared func(context.Context) context.Context
}

// noRequirements are the requirements of a call that needs none. It is shared, and not changed.
var noRequirements requirements

// findRequirements determines the approvals and confirmations that the policy and the service behind an
// adapter require of the round.
func (r *round) findRequirements(ctx context.Context) error {
	t := r.named.Tool
	if r.required = &noRequirements; t == nil || r.call.Method != mcp.MethodToolsCall {
		return nil
	}
	var confirmations, approvals []policy.Obligation
	if r.allowed.Obliges() {
		list, err := r.allowed.Obligations(ctx, r.call, r.named.Policy, r.toolArguments)
		if err != nil {
			return err
		}
		for _, o := range list {
			if o.Approval() {
				approvals = append(approvals, o)
			} else {
				confirmations = append(confirmations, o)
			}
		}
	}
	message, declared := t.Owner.Confirmation(t.Proto.GetName())
	if declared != nil {
		message = clipped(printable(message), maxDeclared)
		confirmations = append(confirmations, policy.Declared(t.Owner.Name()+"/"+t.Proto.GetName(), message))
	}
	if len(confirmations)+len(approvals) == 0 {
		return nil
	}
	r.required = &requirements{confirmations, approvals, declared}
	r.target.Repeatable = false // the confirmation, or the approval, holds once
	if len(approvals) > 0 {     // The call waits in a task, whatever its tool says.
		r.target.Tasks.Optional, r.target.Tasks.AtOnce = !r.target.Tasks.Required, true
	}
	return nil
}
