package config

import (
	"regexp"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// maxExtensions bounds the Extensions of one backend.
const maxExtensions = 32

// extensionID matches an extension's id: a domain name in reverse, a slash, and a name.
var extensionID = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// validateExtensions calls at for each mistake in the Extensions of a backend.
func (b *Backend) validateExtensions(at wrongs) {
	wrong := func(format string, args ...any) { at("extensions: "+format, args...) }
	if len(b.Extensions) > maxExtensions {
		wrong("there are %d: name at most %d", len(b.Extensions), maxExtensions)
	}
	for i, id := range b.Extensions {
		switch {
		case !extensionID.MatchString(id):
			wrong("%q is not an id of an extension: write it as com.example/name", id)
		case mcp.OwnExtension(id):
			wrong("%q is the protocol's own: the edge knows by itself which of those it can pass; take it out", id)
		case slices.Contains(b.Extensions[:i], id):
			wrong("%q is there twice: name each once", id)
		}
	}
}
