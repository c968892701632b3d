package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/catalog/overlay"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// SetSummary counts the members of a set among the added backends' objects.
type SetSummary struct {
	Name string
	// Tools, Prompts, Resources, Templates and Skills count the entries of the set's lists.
	Tools, Prompts, Resources, Templates, Skills int
	// Listed is the number of tools in tools/list of a set with some of the edge's own tools,
	// including these. Tokens is the sum of their costs: see ToolCost. Both are 0 for other sets.
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

// Set returns the summary of a set, as clients see it.
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

// idlePattern is a pattern of a set that matches nothing.
type idlePattern struct {
	// key is include, exclude or listed.
	key, text string
	// backend is the backend whose names the pattern matches only in the form that clients see,
	// which is a mistake. It is empty if there is none.
	backend string
	// exact means that the pattern is one name.
	exact bool
}

// idlePatterns returns the patterns of a set that match nothing that backends list. It omits
// patterns of resources that may match unlisted URIs which a backend serves.
func idlePatterns(o *overlay.Overlay, listed []overlay.Listed, set *overlay.Set) (out []idlePattern) {
	var names, tools, prompts, uris, groups, reads []string
	for i := range listed {
		l := &listed[i]
		names, tools, prompts, uris, reads = append(names, l.Backend), append(tools, l.Tools...), append(prompts, l.Prompts...), append(uris, l.Resources...), append(reads, l.Reads...)
		for kind, list := range map[overlay.Kind][]string{overlay.KindTool: l.Tools, overlay.KindPrompt: l.Prompts, overlay.KindResource: l.Resources} {
			for _, name := range list {
				groups = append(groups, o.Groups(kind, l.Backend, name)...)
			}
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
			entries       overlay.List
			own           func(*overlay.Listed) []string
		}{
			{"backends", "no backend has the name", of.sel.Backends, names, nil, overlay.List{}, nil},
			{"groups", "nothing that is listed is in the group", of.sel.Groups, groups, nil, overlay.List{}, nil},
			{"tools", "no backend lists the tool", of.sel.Tools, tools, nil, o.Tools(), func(l *overlay.Listed) []string { return l.Tools }},
			{"prompts", "no backend lists the prompt", of.sel.Prompts, prompts, nil, o.Prompts(), func(l *overlay.Listed) []string { return l.Prompts }},
			{"resources", "no backend lists the resource or template", of.sel.Resources, uris, reads, overlay.List{}, nil},
		} {
			for _, one := range part.list {
				if slices.ContainsFunc(part.known, one.Match) || slices.ContainsFunc(part.beyond, func(head string) bool { return mayMatchBelow(one, head) }) {
					continue
				}
				idle := idlePattern{key: of.key, exact: one.Literal(), text: fmt.Sprintf("sets.%s.%s.%s: %s %q", set.Name, of.key, part.key, part.what, one.String())}
				for i := 0; part.own != nil && idle.backend == "" && i < len(listed); i++ {
					if hint := part.entries.OwnName(one, &listed[i], part.own(&listed[i])); hint != "" {
						idle.text, idle.backend = idle.text+hint, listed[i].Backend
					}
				}
				out = append(out, idle)
			}
		}
	}
	return out
}

// IdleInSet returns a note for each pattern of a set that matches nothing that the added backends
// list. It returns those that match names as clients see them as mistakes instead.
func (p *Preview) IdleInSet(set *overlay.Set) (notes, mistakes []string) {
	for _, one := range idlePatterns(p.opts.Overlay, listedBy(p.parts), set) {
		if one.backend != "" && one.key != "listed" {
			mistakes = append(mistakes, one.text)
		} else {
			notes = append(notes, one.text)
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
	return notes, mistakes
}

// mayMatchBelow reports whether a pattern may match a URI that begins with head.
func mayMatchBelow(p pattern.Pattern, head string) bool {
	literal, _, _ := strings.Cut(p.String(), "*")
	return strings.HasPrefix(literal, head) || !p.Literal() && strings.HasPrefix(head, literal)
}
