package tasks

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// MayDecide returns the approvals that a task waits for. It returns an error if a principal may not
// decide now on those with the id approval. It makes no decision, but ends a wait that has expired.
// The errors are those of Decide.
func (t *Tasks) MayDecide(ctx context.Context, id, approval string, by *mcp.Principal) (*Waiting, error) {
	w, err := t.Approval(ctx, id)
	if err != nil {
		return nil, err
	}
	if w.ApprovalID != approval {
		return nil, ErrOtherApproval
	}
	_, err = t.approvable(by, w)
	return w, err
}

// approvable returns the digests of the awaited approvals that a principal may give.
func (t *Tasks) approvable(by *mcp.Principal, w *Waiting) ([][]byte, error) {
	if t.o.Approvable == nil {
		return nil, mcp.Errorf(mcp.KindForbidden, "there is no policy by which anybody approves")
	}
	return t.o.Approvable(by, &w.Approval)
}
