package tasks

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// recorded is a sink that stores the params of progress.
type recorded struct {
	mu       sync.Mutex
	progress []string
}

// Emit implements mcp.Sink.
func (r *recorded) Emit(_ context.Context, ev mcp.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ev.Method == mcp.NotifyProgress {
		r.progress = append(r.progress, string(ev.Params))
	}
	return nil
}

// TestProgressUnderTheClientsToken: a call that may become a task sends progress to its client only
// under the client's own token.
func TestProgressUnderTheClientsToken(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		w.backend.tools["steps"] = tool{later, false, func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			token := string(c.Params.Meta.ProgressToken)
			if token == "" {
				t.Error("the backend is not asked for progress, which would be the status of a task")
			}
			return result("done"), sink.Emit(ctx, mcp.Event{Method: mcp.NotifyProgress, Progress: 1, Params: json.RawMessage(`{"progressToken":` + token + `,"progress":1}`)})
		}}
		a := w.replica()
		for _, c := range []struct {
			params string
			want   []string
		}{
			{`"name":"steps"`, nil},
			{`"name":"steps","_meta":{"progressToken":"p"}`, []string{`{"progressToken":"p","progress":1}`}},
			{`"name":"steps","_meta":{"progressToken":"task"}`, []string{`{"progressToken":"task","progress":1}`}},
		} {
			var heard recorded
			if _, err := a.Call(t.Context(), modern, requestOf(t, modern, "alice", mcp.MethodToolsCall, c.params), &heard); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(heard.progress, c.want) {
				t.Errorf("%s: the client gets %q, want %q", c.params, heard.progress, c.want)
			}
		}
	})
}
