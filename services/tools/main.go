// Command tools serves sample tools as a gRPC backend: arithmetic, weather, flights, a booking that
// asks the user, a recommendation that asks the client's model, and a countdown.
//
//	tools --listen 127.0.0.1:50051
package main

import (
	"github.com/mcpedge/mcpedge/services/internal/program"
	"github.com/mcpedge/mcpedge/services/tools/server"
)

func main() {
	program.Main("tools", func() (program.Service, error) {
		return server.New(server.Options{}), nil
	})
}
