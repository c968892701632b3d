// Command resources serves resources as a gRPC backend: the files of a directory or bundled
// documents, skills of a directory, and templates of sample data: weather, flights and events.
//
//	resources --listen 127.0.0.1:50052 --dir ./docs
package main

import (
	"flag"

	"github.com/mcpedge/mcpedge/services/internal/program"
	"github.com/mcpedge/mcpedge/services/resources/server"
)

func main() {
	var o server.Options
	flag.StringVar(&o.Dir, "dir", "", "directory to serve as file:// resources; without it, bundled documents")
	flag.StringVar(&o.Skills, "skills", "", "directory of skills to serve as skill:// resources, each a directory with a SKILL.md")
	flag.IntVar(&o.MaxFiles, "max-files", 0, "maximum number of files and directories below --dir (0 means 10000)")
	flag.Int64Var(&o.MaxBytes, "max-bytes", 0, "maximum size of a file in bytes (0 means 10 MiB)")
	program.Main("resources", func() (program.Service, error) {
		return server.New(o)
	})
}
