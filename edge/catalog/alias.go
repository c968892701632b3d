package catalog

import "slices"

// ShownTool returns the name in lists of the tool with an alias. It returns name itself if name is
// not an alias.
func (c *Catalog) ShownTool(name string) string {
	tools := c.views.overlay.Load().Tools()
	for i := range tools.Entries {
		e := &tools.Entries[i]
		if !slices.Contains(e.Aliases, name) {
			continue
		}
		own := e.Names.String() // An entry with aliases has no stars.
		if change := tools.Of(e.Backend, own); change.Name != "" {
			return change.Name
		}
		for _, b := range c.views.backends() {
			if b.Name() == e.Backend {
				return canonical(listTools, b, own)
			}
		}
	}
	return name
}

// SharedTool returns the tool with a name in lists, or nil. Tools of backends that have a list for each
// caller are not known.
func (c *Catalog) SharedTool(name string) *Tool { return c.views.Shared.Load().Tools.ByName[name] }
