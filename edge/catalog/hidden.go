package catalog

import (
	"slices"
	"strconv"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// hidden is a tool or prompt that a backend lists and no caller sees.
type hidden struct {
	// tool is nil for a prompt.
	tool *Tool
	// given are the names that the overlay gives it.
	given []string
	// impossible is why the overlay cannot apply its changes. nil means that something else hides it.
	impossible error
}

// Hidden returns, for an error message, what hides a tool or prompt that a backend lists from every
// caller. name is the canonical name, or one of the overlay's. The overlay may be nil. The text is
// empty if there is no such hidden tool or prompt.
func Hidden(pool *backend.Pool, o *overlay.Overlay, kind policy.Kind, name string) string {
	v := viewOf(pool, o, nil)
	all, list := v.Tools.hidden, listTools
	if kind == policy.Prompt {
		all, list = v.Prompts.hidden, listPrompts
	}
	for _, p := range v.Parts {
		for own, h := range all {
			if own.backend == p.Backend.Name() && (own.name == name || slices.Contains(h.given, name)) {
				return v.hiddenBy(list, p.Backend, own, h, strconv.Quote(Clip(name)))
			}
		}
	}
	return ""
}

// hiddenBy returns, for an error message, what hides a tool or prompt. what names its kind.
func (v *View) hiddenBy(kind listKind, b *backend.Backend, own canonicalName, h hidden, what string) string {
	switch {
	case h.tool != nil && v.lockDiffs.hides(kind, b, h.tool.Proto.GetName()):
		blocked := what + " " + differs(v.lockDiffs.lock, v.lockDiffs.tools[h.tool.Proto])
		if entriesOf(v.overlay, kind).Of(b.Name(), h.tool.Proto.GetName()).Hide {
			return "catalog hides " + what + "; " + blocked
		}
		return blocked
	case h.impossible != nil:
		return what + unchanged(h.impossible)
	}
	return "catalog hides " + what
}
