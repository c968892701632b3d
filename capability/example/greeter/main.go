package main

import (
	"context"

	"github.com/mcpedge/mcpedge/capability"
)

func main() {
	s := capability.New("greeter", "1.0.0")
	capability.AddTool(s, "greet", "Greets someone", func(_ context.Context, _ *capability.Call, in struct{ Name string }) (string, error) {
		return "Hello, " + in.Name, nil
	})
	capability.Main(s)
}
