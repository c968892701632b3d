package catalog

// Conflict is one name that two backends claim, or one backend twice. The first in configuration
// order is served under it. Equal fields on every replica of one configuration.
type Conflict struct {
	// What is "tool", "prompt", "resource", "resource template", "URI prefix", "extension", "skill" or "page of a tool", which
	// is a page that a tool of one backend names and another backend answers for.
	What string
	// Key is the name as clients see it, the URI, template, prefix or extension id.
	Key string
	// Kept and Dropped are backend names.
	Kept, Dropped string
}

// Conflicts lists the entries of backends that an earlier backend's entry of the same name hides, in the view
// that all callers share.
func (c *Catalog) Conflicts() []Conflict {
	return append([]Conflict(nil), c.views.Shared.Load().conflicts...)
}

func (r *reporter) conflict(c Conflict) {
	advice := "rename one"
	if c.What == "tool" || c.What == "prompt" { // what a backend's prefix is put before
		advice += ", or configure a prefix"
	}
	r.once("conflict\x00"+c.What+"\x00"+c.Key+"\x00"+c.Kept+"\x00"+c.Dropped,
		"two backends serve the same "+c.What+": the first keeps it; "+advice,
		"key", c.Key, "kept", c.Kept, "dropped", c.Dropped)
}
