package catalog

import (
	"cmp"
	"slices"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// ToolCost estimates how much of a model's context a tool takes.
type ToolCost struct {
	// Name is the name of the tool in lists, Backend the name of its backend.
	Name, Backend string
	// Tokens is a quarter of the bytes of name, description and input schema, as shown by
	// tools/list, rounded up. Hosts give these three to a model.
	Tokens int
}

// bytesPerToken approximates the tokenizers of current models for English text and JSON.
const bytesPerToken = 4

// Costs returns the cost of each tool that clients would see, the highest first.
func (p *Preview) Costs() (costs []ToolCost) {
	for key, t := range p.view(p.parts).Tools.ByName {
		if key != t.ShownName { // an alias
			continue
		}
		costs = append(costs, ToolCost{Name: t.ShownName, Backend: t.Owner.Name(), Tokens: costOf(t.ShownName, t.Shown)})
	}
	slices.SortFunc(costs, func(a, b ToolCost) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
	})
	return costs
}

// costOf returns the cost of a tool under a name, in tokens.
func costOf(name string, t *pb.Tool) int {
	n := len(name) + len(t.GetDescription()) + len(t.GetInputSchemaJson())
	return (n + bytesPerToken - 1) / bytesPerToken
}
