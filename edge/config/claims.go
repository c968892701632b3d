package config

import (
	"fmt"
	"slices"
)

// Unclaimed says, a sentence each, which backends' names and URIs are their own by their place alone, so that another backend may have them where
// this one was never reached, and which several are given. Nil: none, or there is only one backend.
//
// serves reports what a backend serves, by its name: tools and prompts, which have names, and resources, which have URIs. Of one that could not be
// asked it reports both.
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

// shared says what a backend is given that an earlier one has, too.
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
		notes = append(notes, fmt.Sprintf("backends[%d] %s: its prefix %q is that of backends[%d] %s, too: a name that both have is served of one of them alone, and others do not tell whose they are: "+
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
