package catalog

import (
	"cmp"
	"slices"
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
		n := len(t.ShownName) + len(t.Shown.GetDescription()) + len(t.Shown.GetInputSchemaJson())
		costs = append(costs, ToolCost{Name: t.ShownName, Backend: t.Owner.Name(), Tokens: (n + bytesPerToken - 1) / bytesPerToken})
	}
	slices.SortFunc(costs, func(a, b ToolCost) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
	})
	return costs
}
