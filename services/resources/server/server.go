// Package server is the bundled resources service: files of a directory with word of their changes,
// or bundled documents, and templates of sample data with argument completion.
package server

import (
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// Options adjust the service; the zero value is useful.
type Options struct {
	// Dir is the directory to serve; empty: bundled documents.
	Dir string
	// Skills is a directory of skills to serve as skill:// resources, each a directory with a SKILL.md; empty: none.
	Skills string
	// MaxFiles bounds the files and directories below Dir; 0: 10,000.
	MaxFiles int
	// MaxBytes bounds one file; 0: 10 MiB. Above 15 MiB a file does not fit in a message.
	MaxBytes int64
	// Logger is the service's own log; nil: slog.Default.
	Logger *slog.Logger
	// Capability are further options of the server, such as capability.WithServerOptions; applied last.
	Capability []capability.Option
	// Now is the clock of the suggestions; nil: time.Now.
	Now func() time.Time
}

// New returns the service, ready to be served. It fails when Dir or Skills cannot be served within their bounds.
func New(o Options) (*capability.Server, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := capability.New("mcpedge-resources", "1.0.0", append([]capability.Option{
		capability.WithTitle("Sample resources"),
		capability.WithDescription("Files of a directory or bundled documents, and sample data by templates."),
		capability.WithInstructions("Weather, flights and events are sample data."),
		capability.WithLogger(o.Logger),
	}, o.Capability...)...)
	if o.Dir == "" {
		addDocuments(s)
	} else if err := addDirectory(s, o); err != nil {
		return nil, err
	}
	if o.Skills != "" {
		if err := addSkills(s, o); err != nil {
			return nil, err
		}
	}
	addTemplates(s, o.Now)
	return s, nil
}
