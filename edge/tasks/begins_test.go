package tasks

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// TestBeginsWithItsState: what a call has left before it becomes a task, the state of a job or a
// checkpoint, is in the task's record from its beginning. If the first replica is lost directly
// after that, another one continues from there.
func TestBeginsWithItsState(t *testing.T) {
	// becomesTask makes the call a task. Only another replica gets further.
	becomesTask := func(ctx context.Context, s mcp.Sink) (mcp.Reply, error) {
		if err := s.(mcp.Deferrer).Defer(ctx); err != nil {
			return mcp.Reply{}, err
		}
		<-ctx.Done()
		return mcp.Reply{}, context.Cause(ctx)
	}
	for name, c := range map[string]struct {
		repeatable bool
		first      func(ctx context.Context, s mcp.Sink) (mcp.Reply, error)
	}{
		"a job whose query may be repeated": {false, func(context.Context, mcp.Sink) (mcp.Reply, error) {
			return mcp.Reply{Input: &mcp.InputRequired{State: []byte("begun"), Repeatable: true}}, nil
		}},
		"a job of a tool that may be repeated": {true, func(context.Context, mcp.Sink) (mcp.Reply, error) {
			return mcp.Reply{Input: &mcp.InputRequired{State: []byte("begun")}}, nil
		}},
		"a checkpoint": {false, func(ctx context.Context, s mcp.Sink) (mcp.Reply, error) {
			s.(mcp.Checkpointer).Checkpoint([]byte("begun"))
			return becomesTask(ctx, s)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			onMedia(t, nil, func(t *testing.T, w *world) {
				var begun atomic.Int32
				w.backend.tools["tool"] = tool{mcp.TaskSupport{Optional: true}, c.repeatable, func(ctx context.Context, call *mcp.Call, s mcp.Sink) (mcp.Reply, error) {
					switch {
					case call.State == nil:
						begun.Add(1)
						return c.first(ctx, s)
					case call.Attempt == 1:
						return becomesTask(ctx, s)
					}
					return result("continued what was " + string(call.State)), nil
				}}
				a, b := w.replica(func(o *Options) { o.Grace = time.Hour }), w.replica()
				a.cut.begins.Store(true)
				id := a.begin("tool", "")
				if got := text(b.awaits(id, Completed)); got != "continued what was begun" || begun.Load() != 1 {
					t.Errorf("got %q, begun %d times", got, begun.Load())
				}
			})
		})
	}
}
