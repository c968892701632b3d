package config

import (
	"fmt"
	"slices"
)

// Unclaimed returns a note for each backend whose names or URIs are not reserved by a prefix or by
// uris, so that another backend may take them while this one was never reached, and for each
// reservation that several backends share. It returns nil for a single backend.
//
// serves reports whether the named backend serves tools or prompts (names), and resources (uris).
// If the backend could not be asked, both are true.
func (c *Config) Unclaimed(serves func(backend string) (names, uris bool)) (notes []string) {
	if len(c.Backends) < 2 && c.Kubernetes == nil {
		return nil
	}
	for i, b := range c.Backends {
		names, uris := serves(b.Name)
		uris = uris && b.Kind != KindReflect
		needsPrefix, needsURIs := names && b.Prefix == "", uris && len(b.URIs) == 0
		switch {
		case needsPrefix && needsURIs:
			notes = append(notes, fmt.Sprintf("backends[%d] %s: it has no prefix and no uris: until it was reached once, another backend may have its names and URIs", i, b.Name))
		case needsPrefix:
			notes = append(notes, fmt.Sprintf("backends[%d] %s: it has no prefix: until it was reached once, another backend may have the names of its tools and prompts", i, b.Name))
		case needsURIs:
			notes = append(notes, fmt.Sprintf("backends[%d] %s: it has no uris: if it serves resources, another backend may have them until it was reached once", i, b.Name))
		}
		notes = append(notes, c.shared(i, serves)...)
	}
	return notes
}

// shared returns notes on the reservations of a backend that an earlier one has, too.
func (c *Config) shared(i int, serves func(backend string) (names, uris bool)) (notes []string) {
	b := &c.Backends[i]
	names, uris := serves(b.Name)
	first := func(has func(one *Backend, names, uris bool) bool) int {
		return slices.IndexFunc(c.Backends[:i], func(one Backend) bool {
			n, u := serves(one.Name)
			return has(&one, n, u)
		})
	}
	if at := first(func(one *Backend, n, _ bool) bool { return n && one.Prefix == b.Prefix }); names && b.Prefix != "" && at >= 0 {
		notes = append(notes, fmt.Sprintf("backends[%d] %s: its prefix %q is that of backends[%d] %s, too: a name that both have is served from one of them alone, and the prefix does not show which: "+
			"give each its own", i, b.Name, b.Prefix, at, c.Backends[at].Name))
	}
	for _, uri := range b.URIs {
		if at := first(func(one *Backend, _, u bool) bool { return u && slices.Contains(one.URIs, uri) }); uris && at >= 0 {
			notes = append(notes, fmt.Sprintf("backends[%d] %s: uris: %q is given to backends[%d] %s, too: a URI that both have is served of one of them alone: give each its own",
				i, b.Name, uri, at, c.Backends[at].Name))
		}
	}
	return notes
}
