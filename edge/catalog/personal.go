package catalog

import (
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/ownership"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/internal/uris"
)

// personal reports whether a backend's name or URI is remembered only because some callers saw it
// in their private lists.
func (c *Catalog) personal(owner *backend.Backend, kind policy.Kind, name string) bool {
	listed, own := c.opts.Names.SharedAndOwn(owner.Name())
	if own == nil {
		return false
	}
	if listed == nil {
		listed = &ownership.Names{}
	}
	bare := strings.TrimPrefix(name, owner.Prefix())
	switch kind {
	case policy.Tool:
		return slices.Contains(own.Tools, bare) && !slices.Contains(listed.Tools, bare)
	case policy.Prompt:
		return slices.Contains(own.Prompts, bare) && !slices.Contains(listed.Prompts, bare)
	}
	uri := uris.Normal(name)
	granted := slices.ContainsFunc(owner.URIs(), func(prefix string) bool { return strings.HasPrefix(uri, uris.Normal(prefix)) })
	return !granted && mayHave(own, uri) && !mayHave(listed, uri)
}

// mayHave reports whether a URI in normal form is in n, or has the beginning of a template, prefix
// or directory in n.
func mayHave(n *ownership.Names, uri string) bool {
	for _, list := range [][]string{n.Resources, n.Pages, n.Skills} {
		if slices.ContainsFunc(list, func(one string) bool { return uris.Normal(one) == uri }) {
			return true
		}
	}
	return slices.ContainsFunc(n.Prefixes, func(prefix string) bool { return strings.HasPrefix(uri, uris.Normal(prefix)) }) ||
		slices.ContainsFunc(n.Templates, func(text string) bool { return strings.HasPrefix(uri, headOf(text)) }) ||
		slices.ContainsFunc(n.Skills, func(file string) bool {
			return strings.HasPrefix(uri, uris.Normal(strings.TrimSuffix(file, SkillFile)))
		})
}
