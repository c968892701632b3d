package catalog

// Conflict is a name that two backends list, or that one backend lists twice. The backend
// that owns it keeps it, see owners. Replicas with the same configuration report equal conflicts.
type Conflict struct {
	// What is "tool", "prompt", "resource", "resource template", "URI prefix", "extension", "skill"
	// or "page of a tool". The last is a page that a tool of one backend names and another backend
	// owns.
	What string
	// Key is the name as clients see it, the URI, template, prefix or extension id.
	Key string
	// Kept and Dropped are backend names.
	Kept, Dropped string
}

// Conflicts returns the entries that are hidden by an entry of the same name of an earlier backend,
// in the view that all callers share.
func (c *Catalog) Conflicts() []Conflict {
	return append([]Conflict(nil), c.views.Shared.Load().conflicts...)
}

func (r *reporter) conflict(c Conflict) {
	advice := "rename one"
	if c.What == "tool" || c.What == "prompt" { // these have the backend's prefix
		advice += ", or configure a prefix"
	}
	if c.Kept == c.Dropped {
		r.once("twice\x00"+c.What+"\x00"+c.Key+"\x00"+c.Kept,
			"two of a backend's "+c.What+"s have the same name or alias: the first keeps it; the backend lists it twice, or the catalog gives one the name of the other",
			"key", c.Key, "backend", c.Kept)
		return
	}
	r.once("conflict\x00"+c.What+"\x00"+c.Key+"\x00"+c.Kept+"\x00"+c.Dropped,
		"two backends serve the same "+c.What+": the first keeps it; "+advice,
		"key", c.Key, "kept", c.Kept, "dropped", c.Dropped)
}
