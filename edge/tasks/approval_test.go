package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// approved is a tool whose call waits for an approval.
func approved() tool {
	return tool{support: mcp.TaskSupport{Required: true, AtOnce: true}, run: func(_ context.Context, c *mcp.Call, _ mcp.Sink) (mcp.Reply, error) {
		if c.Round > 1 {
			return result("paid"), nil
		}
		params, err := json.Marshal(mcp.Approval{Names: []string{"a"}, Requester: c.Principal, Expires: time.Now().Add(time.Hour)})
		return mcp.Reply{Input: &mcp.InputRequired{Requests: []mcp.InputRequest{{Key: mcp.ApprovalKey, Method: mcp.MethodApprove, Params: params}}}}, err
	}}
}

// TestApprovalsLeaveNothing: a task that has waited for an approval, and was decided on or cancelled at any replica that knows of it, has no
// timer.
func TestApprovalsLeaveNothing(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["pay"] = approved()
		a, b := w.replica(approving), w.replica(approving)
		begin := func() string {
			id := a.begin("pay", "x")
			await.Until(t, "the task to wait", func() bool {
				_, err := a.Approval(t.Context(), id)
				if err != nil && !errors.Is(err, ErrNotWaiting) {
					t.Fatal(err)
				}
				return err == nil && a.timers() == 1
			})
			return id
		}
		for what, end := range map[string]func(id string) error{
			"granted": func(id string) error {
				w, err := a.Approval(t.Context(), id)
				if err == nil {
					_, err = a.Decide(t.Context(), id, w.ApprovalID, &mcp.Principal{Subject: "lee"}, true, "")
				}
				return err
			},
			"cancelled":                    func(id string) error { a.must(modern, "alice", mcp.MethodTasksCancel, about(id)); return nil },
			"cancelled at another replica": func(id string) error { b.must(modern, "alice", mcp.MethodTasksCancel, about(id)); return nil },
		} {
			if err := end(begin()); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			await.Until(t, "a task that was "+what+" to leave no timer", func() bool { return a.timers() == 0 })
		}
	})
}

// timers returns the number of timers for waits of tasks.
func (r *replica) timers() int {
	r.expiries.mu.Lock()
	defer r.expiries.mu.Unlock()
	return len(r.expiries.timers)
}
