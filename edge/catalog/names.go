package catalog

import "github.com/mcpedge/mcpedge/edge/backend"

// canonicalName is a backend's name and the canonical name of one of its tools or prompts.
type canonicalName struct{ backend, name string }

// keys returns the keys by which clients find a name or URI of a part: the one in lists, then
// aliases. It returns none if the overlay hides the name.
func (m *merge) keys(kind listKind, p part, name string) []string {
	e := m.changed(kind, p, name)
	switch {
	case e.Hide:
		return nil
	case e.Name == "":
		return append([]string{canonical(kind, p.Backend, name)}, e.Aliases...)
	}
	return e.Given()
}

// canonical returns the canonical name of a backend's name, as used by policy, quotas, metrics and
// the audit: the name after the backend's prefix. The URIs of resources have no prefix.
func canonical(kind listKind, b *backend.Backend, name string) string {
	if kind == listTools || kind == listPrompts {
		return b.Prefix() + name
	}
	return name
}
