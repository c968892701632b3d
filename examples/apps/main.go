// Command apps is a backend with an MCP App: a tool whose result hosts show on a page that the backend brings along.
//
//	go run ./examples/apps --listen 127.0.0.1:50051
//	go run ./edge --backend dice=127.0.0.1:50051
package main

import (
	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/examples/apps/dice"
)

func main() { capability.Main(dice.New()) }
