package tasks

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/quota"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// admitPoll bounds the rate at which a caller polls one task, opens its result, or lists its tasks.
// Requests of other principals do not count for the owner. It is called before the task is looked
// up.
func (t *Tasks) admitPoll(ctx context.Context, c *mcp.Call) error {
	switch c.Method {
	case mcp.MethodTasksGet, mcp.MethodTasksList:
	case mcp.MethodTasksResult:
		if len(c.Responses) > 0 || c.Attempt > 1 {
			return nil // The result was opened before.
		}
	default:
		return nil
	}
	b := quota.Budget{Interval: max(time.Second/time.Duration(t.o.Polls), time.Microsecond), Burst: 2 * t.o.Polls}
	_, wait, _ := t.polls.Take(ctx, c.Principal.Key()+"\x02"+clip(c.Params.Target), b, 1)
	if wait <= 0 {
		return nil
	}
	t.o.Telemetry.Hit(telemetry.BoundPolls)
	what := fmt.Sprintf("the task %q", clip(c.Params.Target))
	if c.Method == mcp.MethodTasksList {
		what = "your tasks"
	}
	return &mcp.Error{Kind: mcp.KindLimit, RetryAfter: wait,
		Message: fmt.Sprintf("you ask for %s more often than %d times a second: ask as often as its poll interval says; try again in %s",
			what, t.o.Polls, wait.Round(time.Millisecond))}
}

// clip truncates an id to one byte more than the maximum: a longer one is invalid anyway.
func clip(id string) string { return id[:min(len(id), maxID+1)] }
