// Command service is the tool service that both the edge and the bare bridge call in the benchmarks.
package main

import (
	"context"

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
	capability.Main(s)
}
