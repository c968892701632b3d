package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// SetSummary counts what a set has of the added backends.
type SetSummary struct {
	Name string
	// Tools, Prompts, Resources, Templates and Skills count the entries of the set's lists.
	Tools, Prompts, Resources, Templates, Skills int
	// Listed counts the tools that tools/list has of a set with some of the edge's own, these included, and
	// Tokens is the sum of their costs, see ToolCost. 0 for other sets.
	Listed, Tokens int
}

// String returns the counts.
func (s SetSummary) String() string {
	var out []string
	for _, one := range []struct {
		n    int
		what string
	}{{s.Tools, "tool"}, {s.Prompts, "prompt"}, {s.Resources, "resource"}, {s.Templates, "template"}, {s.Skills, "skill"}} {
		switch {
		case one.n == 0 && (one.what != "tool" || s.Listed == 0):
		case one.n == 1:
			out = append(out, "1 "+one.what)
		default:
			out = append(out, fmt.Sprintf("%d %ss", one.n, one.what))
		}
		if one.what == "tool" && s.Listed > 0 {
			out[0] += fmt.Sprintf(" (%d listed, %d tokens)", s.Listed, s.Tokens)
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// Set returns what a set has of the added backends, as clients see it.
func (p *Preview) Set(set *overlay.Set) SetSummary {
	whole := p.view(p.parts)
	v := whole.narrow(set, &viewOptions{report: whole.Tools.List.report, work: p.opts.SchemaWork})
	out := SetSummary{
		Name: set.Name, Tools: len(v.Tools.List.Entries), Prompts: len(v.Prompts.List.Entries), Resources: len(v.Resources.List.Entries),
		Templates: len(v.Resources.TemplateList.Entries), Skills: len(v.Resources.skillList.Entries),
	}
	if v.listed != nil && (out.Tools > 0 || set.ResourceTools) {
		out.Listed = len(v.listed.Entries)
		for _, e := range v.listed.Entries {
			out.Tokens += v.costOf(e)
		}
	}
	return out
}

// IdleInSet returns a note for each pattern of a set that matches nothing that the added backends
// list. Patterns of resources may match URIs that no list has, below the URIs that a backend answers
// for.
func (p *Preview) IdleInSet(set *overlay.Set) (notes []string) {
	var names, tools, prompts, uris, groups, reads []string
	for _, one := range p.parts {
		b, c := one.Backend.Name(), one.Catalog
		names = append(names, b)
		of := func(kind overlay.Kind, list []string) []string {
			for _, name := range list {
				groups = append(groups, p.opts.Overlay.Groups(kind, b, name)...)
			}
			return list
		}
		var own []string
		for _, t := range c.Tools {
			own = append(own, t.GetName())
		}
		tools = append(tools, of(overlay.KindTool, own)...)
		own = nil
		for _, x := range c.Prompts {
			own = append(own, x.GetName())
		}
		prompts = append(prompts, of(overlay.KindPrompt, own)...)
		uris = append(uris, of(overlay.KindResource, resourceNames(c))...)
		reads = append(reads, c.Describe.GetResources().GetUriPrefixes()...)
		for _, t := range c.Templates {
			head, _, _ := strings.Cut(t.GetUriTemplate(), "{")
			reads = append(reads, head)
		}
		for _, x := range c.Skills {
			reads = append(reads, strings.TrimSuffix(x.GetUri(), SkillFile[1:]))
		}
	}
	for _, of := range []struct {
		key string
		sel *overlay.Selection
	}{{"include", &set.Include}, {"exclude", &set.Exclude}, {"listed", &set.Listed}} {
		for _, part := range []struct {
			key, what     string
			list          pattern.List
			known, beyond []string
		}{
			{"backends", "no backend has the name", of.sel.Backends, names, nil},
			{"groups", "nothing that is listed is in the group", of.sel.Groups, groups, nil},
			{"tools", "no backend lists the tool", of.sel.Tools, tools, nil},
			{"prompts", "no backend lists the prompt", of.sel.Prompts, prompts, nil},
			{"resources", "no backend lists the resource or template", of.sel.Resources, uris, reads},
		} {
			for _, one := range part.list {
				if !slices.ContainsFunc(part.known, one.Match) && !slices.ContainsFunc(part.beyond, func(head string) bool { return mayMatchBelow(one, head) }) {
					notes = append(notes, fmt.Sprintf("sets.%s.%s.%s: %s %q", set.Name, of.key, part.key, part.what, one.String()))
				}
			}
		}
	}
	if all := ownToolsOf(set); len(all) > 0 {
		whole := p.view(p.parts)
		for _, one := range all {
			own := one.definition.GetName()
			if t := whole.Tools.ByName[own]; t != nil && set.Has(p.opts.Overlay, overlay.KindTool, t.Owner.Name(), t.Proto.GetName()) {
				notes = append(notes, fmt.Sprintf("sets.%s.%s: the set does not have the tool %q of the backend %q, since %q is the edge's own there: give it another name in the catalog",
					set.Name, one.key, t.Proto.GetName(), t.Owner.Name(), own))
			}
		}
	}
	return notes
}

// mayMatchBelow reports whether a pattern may match a URI that begins with head.
func mayMatchBelow(p pattern.Pattern, head string) bool {
	literal, _, _ := strings.Cut(p.String(), "*")
	return strings.HasPrefix(literal, head) || !p.Literal() && strings.HasPrefix(head, literal)
}
