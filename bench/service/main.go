// Command service is the tool service that both the edge and the bare bridge call in the benchmarks.
package main

import (
	"context"
	"strconv"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

type args struct {
	Text string `json:"text"`
}

func main() {
	s := capability.New("bench", "1")
	capability.AddTool(s, "echo", "Echo a text", func(_ context.Context, _ *capability.Call, in args) (string, error) {
		return in.Text, nil
	})
	capability.AddTool(s, "tick", "Report progress with the time it was sent at", tick)
	capability.Main(s)
}

type tickArgs struct {
	Events int `json:"events"`
	// PauseMillis between two events; 0: none.
	PauseMillis int `json:"pauseMillis,omitempty"`
}

// tick sends progress whose message is the time in Unix nanoseconds.
func tick(ctx context.Context, c *capability.Call, in tickArgs) (string, error) {
	for i := range in.Events {
		if in.PauseMillis > 0 {
			select {
			case <-time.After(time.Duration(in.PauseMillis) * time.Millisecond):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		c.Progress(float64(i+1), float64(in.Events), strconv.FormatInt(time.Now().UnixNano(), 10))
	}
	return "ticked", nil
}
