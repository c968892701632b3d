package check

import (
	"encoding/json"
	"fmt"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	prober "github.com/mcpedge/mcpedge/edge/check"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// curation returns a function that applies the settings' catalog to a backend's tool, for the
// caller who. It returns nil without a catalog.
func curation(cfg *config.Config, who *mcp.Principal) func(backend string, t *pb.Tool) prober.Curated {
	o := cfg.Overlay()
	if o == nil {
		return nil
	}
	tools := o.Tools()
	return func(backend string, t *pb.Tool) prober.Curated {
		e := tools.Of(backend, t.GetName())
		shown, err := e.Tool(t)
		out := prober.Curated{Name: e.Name, Aliases: e.Aliases, Shown: shown, Hidden: e.Hide || err != nil || o.Lock().Blocks() && len(o.Lock().Differences(backend, t)) > 0}
		a := &e.Annotations
		out.Unsafe = a.ReadOnly != nil && !*a.ReadOnly || a.Destructive != nil && *a.Destructive
		if arguments := overlay.Typed(e.Arguments, t.GetInputSchemaJson()); len(arguments) > 0 {
			out.Sent = func(given string) (string, error) {
				sent, err := overlay.Sent(arguments, who, json.RawMessage(given))
				if err != nil && who.Anonymous() {
					err = fmt.Errorf("%w; the caller is anonymous: --claims has the claims of another one, --api-key the name of its key", err)
				}
				return string(sent), err
			}
		}
		return out
	}
}
