package stateful

import (
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
)

// assumed returns the rules of a message whose session is unknown: those of the version header, or
// revision.Assumed if this era does not serve that version or there is none.
func assumed(in *mcp.Incoming) *revision.Rules {
	if in.Header != nil {
		if r, ok := revision.ByVersion(in.Header.Get(era.HeaderVersion)); ok && !r.Stateless {
			return r
		}
	}
	return revision.Assumed()
}
