package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpedge/mcpedge/edge/policy"
)

// costs returns an error if the expressions of an owner may take more time than one owner may.
func (g *Include) costs(parts []part) error {
	var total, greatest uint64
	var costliest string
	for i := range parts {
		p := &parts[i]
		placed := p.text.locator()
		for _, one := range p.expressions() {
			cost, err := policy.EstimatedCost(one.text)
			if err != nil {
				continue
			}
			total += cost
			if cost > greatest {
				greatest, costliest = cost, fmt.Sprintf("%s in %s", one.key, placed(one.key+": "))
			}
		}
	}
	if total <= policy.MaxOwnerCost {
		return nil
	}
	return fmt.Errorf("config %s: the conditions and values have an estimated cost of %d together, and at most %d is allowed: simplify them, first of all %s",
		g.File, total, policy.MaxOwnerCost, costliest)
}

// expression is an expression in a file of an owner. key is its place in the file.
type expression struct{ key, text string }

// expressions returns the conditions of rules, approvals and sets, and the values of arguments and variables.
func (p *part) expressions() (out []expression) {
	for i, r := range p.settings.Policy.Rules {
		out = append(out, expression{fmt.Sprintf("policy.rules[%d].when", i), r.When})
	}
	for i, a := range p.settings.Policy.Approve {
		out = append(out, expression{fmt.Sprintf("policy.approve[%d].when", i), a.When}, expression{fmt.Sprintf("policy.approve[%d].approvers", i), a.Approvers})
	}
	for _, name := range slices.Sorted(maps.Keys(p.settings.Sets)) {
		if when := p.settings.Sets[name].When; when != nil {
			out = append(out, expression{fmt.Sprintf("sets.%s.when", name), *when})
		}
	}
	for _, v := range p.catalog().computed() {
		out = append(out, expression{v.entry + "." + v.pin + ".from", v.from})
	}
	return out
}
