// Package server implements the bundled resources service: files of a directory with notifications
// of changes, or bundled documents, and templates of sample data with argument completion.
package server

import (
	"log/slog"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

// Options configure the service. The zero value is usable.
type Options struct {
	// Dir is the directory to serve. Empty serves bundled documents.
	Dir string
	// Skills is a directory of skills to serve as skill:// resources, each a directory with a
	// SKILL.md. Empty means none.
	Skills string
	// MaxFiles is the maximum number of files and directories below Dir. 0 means 10,000.
	MaxFiles int
	// MaxBytes is the maximum size of a file. 0 means 10 MiB. A message holds at most 15 MiB.
	MaxBytes int64
	// Logger is the logger of the service. nil uses slog.Default.
	Logger *slog.Logger
	// Capability are further options of the server, such as capability.WithServerOptions. They are
	// applied last.
	Capability []capability.Option
	// Now returns the current time for suggestions. nil uses time.Now.
	Now func() time.Time
}

// New returns the service, ready to serve. It returns an error if Dir or Skills cannot be served
// within the limits.
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
