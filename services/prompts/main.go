// Command prompts serves prompts as a gRPC backend: a vacation plan, a code review, and every
// Markdown file of a directory.
//
//	prompts --listen 127.0.0.1:50053 --dir ./prompts
package main

import (
	"flag"

	"github.com/mcpedge/mcpedge/services/internal/program"
	"github.com/mcpedge/mcpedge/services/prompts/server"
)

func main() {
	var o server.Options
	flag.StringVar(&o.Dir, "dir", "", "directory whose *.md files are prompts; without it, bundled samples")
	program.Main("prompts", func() (program.Service, error) {
		return server.New(o)
	})
}
