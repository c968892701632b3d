package tasks

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// TestRoundsKnowTheToolOfTheEdge: each round of a task that was made through a tool of the edge knows that tool, as the rounds of a call
// do, also on another replica: the audit has it, and the policy server is shown the headers of the request, not those of that tool.
func TestRoundsKnowTheToolOfTheEdge(t *testing.T) {
	onMedia(t, nil, func(t *testing.T, w *world) {
		asks := asking()
		via := make(chan string, 10)
		w.backend.tools["asks"] = tool{asks.support, asks.repeatable, func(ctx context.Context, c *mcp.Call, sink mcp.Sink) (mcp.Reply, error) {
			via <- c.Params.Via()
			return asks.run(ctx, c, sink)
		}}
		a, b := w.replica(), w.replica()
		c := requestOf(t, modern, "alice", mcp.MethodToolsCall, `"name":"call_tool","arguments":{"name":"asks","arguments":{"x":1}}`)
		if err := c.Unwrap(); err != nil {
			t.Fatal(err)
		}
		c.Backend = "b"
		reply, err := a.Call(t.Context(), modern, c, nil)
		var made struct{ TaskID string }
		if err != nil || json.Unmarshal(reply.Result, &made) != nil || made.TaskID == "" {
			t.Fatalf("%s, %v", reply.Result, err)
		}
		for range 2 {
			a.awaits(made.TaskID, InputRequired)
			key := keys(a.get(made.TaskID))[0]
			_ = b.must(modern, "alice", mcp.MethodTasksUpdate, about(made.TaskID)+`,"inputResponses":{"`+key+`":{"action":"accept","content":{"name":"Ann"}}}`)
		}
		a.awaits(made.TaskID, Completed)
		for range 3 {
			if got := <-via; got != mcp.ToolCall {
				t.Errorf("a round was made through %q", got)
			}
		}
	})
}
