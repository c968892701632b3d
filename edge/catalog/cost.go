package catalog

import (
	"cmp"
	"slices"
)

// ToolCost is about how much of a model's context a tool takes.
type ToolCost struct {
	// Name is the name of the tool as clients see it, Backend the name of its backend.
	Name, Backend string
	// Tokens is an estimate: a quarter of the bytes of name, description and input schema as tools/list shows them, rounded up. Hosts give
	// a model these three.
	Tokens int
}

// bytesPerToken is what tokenizers of current models need for English text and JSON, roughly.
const bytesPerToken = 4

// Costs returns the cost of each tool that clients would see, the highest first.
func (p *Preview) Costs() (costs []ToolCost) {
	for _, t := range p.view(p.parts).Tools.ByName {
		n := len(t.Name) + len(t.Shown.GetDescription()) + len(t.Shown.GetInputSchemaJson())
		costs = append(costs, ToolCost{Name: t.Name, Backend: t.Owner.Name(), Tokens: (n + bytesPerToken - 1) / bytesPerToken})
	}
	slices.SortFunc(costs, func(a, b ToolCost) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Name, b.Name))
	})
	return costs
}
