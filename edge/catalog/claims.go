package catalog

import "github.com/mcpedge/mcpedge/internal/uris"

// claims records which backend has which key of one list.
type claims struct {
	merge  *merge
	kind   listKind
	owners map[string]string
	// forms maps the compared form of a key to the key, so that no backend has a spelling of
	// another's key.
	forms map[string]string
}

// claim gives a key to the part with a rank. It returns false and the backend that keeps the key if
// it belongs to another one, or was claimed before.
func (c *claims) claim(key string, rank int) (kept string, ok bool) {
	name, form := c.merge.parts[rank].Backend.Name(), c.kind.form(key)
	kept, taken := c.owners[key]
	if by, known := c.forms[form]; known && by != name && !taken {
		kept, taken = by, true
	}
	given, isGiven := c.merge.overlay(c.kind).Owner(key)
	switch {
	case taken:
	case isGiven:
		kept, taken = given, given != name
	default:
		if holder, foreign := c.merge.owners.foreign(c.kind, key, rank); foreign {
			kept, taken = c.merge.parts[holder].Backend.Name(), true
		}
	}
	if taken {
		return kept, false
	}
	c.owners[key], c.forms[form] = name, name
	return "", true
}

// form returns the form in which keys of different backends are compared: the normal form of a URI,
// and a name unchanged.
func (k listKind) form(key string) string {
	if k == listTools || k == listPrompts {
		return key
	}
	return uris.Normal(key)
}
