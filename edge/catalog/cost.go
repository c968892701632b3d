package catalog

import (
	"cmp"
	"slices"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// ToolCost estimates how much of a model's context a tool takes.
type ToolCost struct {
	// Name is the name of the tool in lists. Backend is the name of its backend, or empty for one of
	// the edge's own tools.
	Name, Backend string
	// Tokens is a quarter of the bytes of name, description and input schema, as shown by
	// tools/list, rounded up. Hosts give these three to a model.
	Tokens int
}

// bytesPerToken approximates the tokenizers of current models for English text and JSON.
const bytesPerToken = 4

// Costs returns the cost of each tool in tools/list of a set, the highest first. A nil set is the
// root with root: all.
func (p *Preview) Costs(set *overlay.Set) (costs []ToolCost) {
	v := p.view(p.parts)
	if set != nil {
		v = v.narrow(set, &viewOptions{report: v.Tools.List.report})
	}
	for _, e := range v.listedTools().Entries {
		costs = append(costs, ToolCost{Name: e.key, Backend: e.owner, Tokens: v.costOf(e)})
	}
	slices.SortFunc(costs, func(a, b ToolCost) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
	})
	return costs
}

// costOf returns the cost of an entry of tools/list, in tokens.
func (v *View) costOf(e *entry) int {
	if e.owner == ownTools {
		return costOf(e.key, ownToolOf(v.set, e.key).definition)
	}
	return costOf(e.key, v.Tools.shownOf(v.Tools.ByName[e.key]))
}

// costOf returns the cost of a tool under a name, in tokens.
func costOf(name string, t *pb.Tool) int {
	n := len(name) + len(t.GetDescription()) + len(t.GetInputSchemaJson())
	return (n + bytesPerToken - 1) / bytesPerToken
}
