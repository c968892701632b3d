package config

import "fmt"

// Unclaimed says, a sentence each, which backends' names and URIs are their own by their place alone, so that another
// backend may have them where this one was never reached. Nil: none, or there is only one backend.
func (c *Config) Unclaimed() (notes []string) {
	if len(c.Backends) < 2 && c.Kubernetes == nil {
		return nil
	}
	for i, b := range c.Backends {
		switch {
		case b.Prefix == "" && len(b.URIs) == 0:
			notes = append(notes, fmt.Sprintf("backends[%d] %s: it has no prefix and no uris: until it was reached once, another backend may have its names and URIs", i, b.Name))
		case b.Prefix == "":
			notes = append(notes, fmt.Sprintf("backends[%d] %s: it has no prefix: until it was reached once, another backend may have the names of its tools and prompts", i, b.Name))
		case len(b.URIs) == 0 && b.Kind != KindReflect:
			notes = append(notes, fmt.Sprintf("backends[%d] %s: it has no uris: if it serves resources, another backend may have them until it was reached once", i, b.Name))
		}
	}
	return notes
}
