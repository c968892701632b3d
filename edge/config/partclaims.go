package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// foreignClaims returns an error for each pinned argument or variable whose value has an attribute of the caller
// that its backend does not receive otherwise.
func (c *Config) foreignClaims(g *Include, s *Catalog) (errs []error) {
	for _, v := range s.computed() {
		from, err := policy.CompileOwnedValue(v.from)
		if err != nil {
			continue
		}
		if not := c.unsent(v.backend, from); len(not) > 0 {
			errs = append(errs, fmt.Errorf("%s: %s: from: the backend %q does not receive %s: the platform gives it claims, with claims or metadata, and the grant %q cannot",
				v.entry, v.pin, v.backend, strings.Join(not, ", "), g.Label()))
		}
	}
	return errs
}

// unsent returns the variables of a value that a backend does not receive: claims other than those
// in its settings and, with kind: reflect, variables that are not in its metadata.
func (c *Config) unsent(backend string, from *policy.Value) (out []string) {
	b, isContract := new(Backend), true
	if at := slices.IndexFunc(c.Backends, func(b Backend) bool { return b.Name == backend }); at >= 0 {
		b = &c.Backends[at]
		isContract = b.Kind != KindReflect
	} else if k := c.Kubernetes; k != nil {
		b = k.settingsOf(backend)
		isContract = b.Kind == KindContract || b.Kind == "" && !k.Reflect
	}
	isContract = isContract || b.Identity == IdentitySigned
	sent, attributes := b.ForwardedClaims(), b.metadataAttributes()
	for _, name := range from.Claims() {
		if !slices.Contains(sent, name) {
			out = append(out, policy.Claims+"."+name)
		}
	}
	for _, name := range from.Attributes() {
		if !isContract && !slices.Contains(attributes, name) {
			out = append(out, name)
		}
	}
	return out
}

// metadataAttributes returns the attributes of callers that the metadata of a backend has.
func (b *Backend) metadataAttributes() (out []string) {
	for _, v := range b.Metadata {
		if value, err := policy.CompileValue(v.From); v.From != "" && err == nil {
			out = append(out, value.Attributes()...)
		}
	}
	return out
}
