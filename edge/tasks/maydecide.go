package tasks

import (
	"context"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// MayDecide returns what a task waits for, and an error if a principal may not decide on that now. It decides nothing, but ends a wait
// whose time has passed. The errors are those of Decide.
func (t *Tasks) MayDecide(ctx context.Context, id string, by *mcp.Principal) (*Waiting, error) {
	w, err := t.Approval(ctx, id)
	if err != nil {
		return nil, err
	}
	_, err = t.approvable(by, w)
	return w, err
}

// approvable returns the digests of the approvals that a principal may give, of what a task waits for.
func (t *Tasks) approvable(by *mcp.Principal, w *Waiting) ([][]byte, error) {
	if t.o.Approvable == nil {
		return nil, mcp.Errorf(mcp.KindForbidden, "there is no policy by which anybody approves")
	}
	return t.o.Approvable(by, &w.Approval)
}
