// Command everything serves the fixtures that the official conformance suite of the Model Context
// Protocol expects of a server.
//
//	everything --listen 127.0.0.1:50054
package main

import (
	"github.com/mcpedge/mcpedge/services/everything/server"
	"github.com/mcpedge/mcpedge/services/internal/program"
)

func main() {
	program.Main("everything", func() (program.Service, error) {
		return server.New(server.Options{}), nil
	})
}
