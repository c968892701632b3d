package app

import (
	"encoding/json"

	"github.com/mcpedge/mcpedge/edge/admin"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
)

// curated returns a function with what the catalog changes of a tool, for operators.
func curated(c *catalog.Catalog) func(name string) admin.Curated {
	return func(name string) admin.Curated {
		out := admin.Curated{Shown: c.ShownTool(name)}
		t := c.SharedTool(out.Shown)
		if t == nil {
			return out
		}
		out.Canonical, out.Backend = t.Name, t.Owner.Name()
		for i := range t.Arguments {
			a := &t.Arguments[i]
			one := admin.Added{Name: a.Name}
			switch pin := a.Pin.(type) {
			case nil:
				one.Default = a.Default
			case overlay.Fixed:
				one.Value = json.RawMessage(pin)
			default:
				one.From = pin.String()
			}
			out.Added = append(out.Added, one)
		}
		return out
	}
}
