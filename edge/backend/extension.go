package backend

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Carries reports whether the backend's protocol extension with the given id may be announced to
// clients, because the edge transfers it completely. This holds for an extension that adds no
// methods, notifications or results to the protocol: the backend's `_meta`, resources and settings
// and the client's capabilities pass unchanged. It is built in for MCP Apps; Config.Extensions
// names others, outside the protocol's own name space.
func (b *Backend) Carries(id string) bool {
	return id == mcp.ExtensionApps || slices.Contains(b.cfg.Extensions, id)
}

// NotCarried returns a sentence for each extension that a backend declares and that is not
// announced to clients, in the order of their ids.
func (b *Backend) NotCarried(declared map[string]string) (said []string) {
	for _, id := range slices.Sorted(maps.Keys(declared)) {
		switch {
		case b.Carries(id), id == mcp.ExtensionSkills: // the edge itself reports that skills are served
		case mcp.OwnExtension(id):
			said = append(said, fmt.Sprintf("the extension %.80q is not announced to clients: backends cannot serve it through the edge", id))
		default:
			said = append(said, fmt.Sprintf("the extension %.80q is not announced to clients: the edge does not know it; "+
				"if it adds no methods and no notifications, name it under extensions of the backend in the configuration", id))
		}
	}
	return said
}
