package backend

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Carries says whether clients may be told that the backend has the protocol extension of an id: nothing of it is lost
// between them. That is so of an extension that adds no methods, notifications or results to the protocol, because the
// backend's `_meta`, resources and settings and the client's capabilities pass as they are. The edge knows it of MCP Apps;
// of extensions outside the protocol's own name space Config.Extensions says it.
func (b *Backend) Carries(id string) bool {
	return id == mcp.ExtensionApps || slices.Contains(b.cfg.Extensions, id)
}

// NotCarried says, a sentence for each, which of the extensions that a backend declares clients are not told of, in the order
// of their ids.
func (b *Backend) NotCarried(declared map[string]string) (said []string) {
	for _, id := range slices.Sorted(maps.Keys(declared)) {
		switch {
		case b.Carries(id), id == mcp.ExtensionSkills: // the edge says by itself that skills are served
		case mcp.OwnExtension(id):
			said = append(said, fmt.Sprintf("the extension %.80q is not announced to clients: backends cannot serve it through the edge", id))
		default:
			said = append(said, fmt.Sprintf("the extension %.80q is not announced to clients: the edge does not know it; "+
				"if it adds no methods and no notifications, name it under extensions of the backend in the configuration", id))
		}
	}
	return said
}
