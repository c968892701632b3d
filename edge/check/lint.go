package check

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/check/lint"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// maxLintLines bounds the lines for one profile.
const maxLintLines = 20

// shownTools returns the tools of a backend with the names and in the form that the catalog shows,
// without those that it hides. trial may be nil.
func shownTools(cfg backend.Config, tools []*pb.Tool, trial *Trial) (out []lint.Tool) {
	for _, t := range tools {
		c := trial.curated(cfg.Name, t)
		if c.Hidden {
			continue
		}
		out = append(out, lint.Tool{Name: cmp.Or(c.Name, cfg.Prefix+t.GetName()), Schema: cmp.Or(c.Shown, t).GetInputSchemaJson()})
	}
	return out
}

// lint checks tools as clients see them against the rules of model interfaces. A violation breaks
// no contract: it is a note with tool, place and rule. list makes the schemas portable; nil shows
// them unchanged. Without places, one note summarizes all violations, and one all limits.
func (f *findings) lint(tools []lint.Tool, list *portable.List, places bool) {
	refused, limited := map[lint.Profile][]string{}, map[lint.Profile][]string{}
	bad, byForm := map[lint.Profile]int{}, map[lint.Profile]bool{}
	for _, t := range tools {
		if list != nil {
			t.Schema = list.Schema(t.Schema, nil).JSON
		}
		counted := map[lint.Profile]bool{}
		for _, found := range lint.Check(t) {
			text := fmt.Sprintf("tool %.80q: %s", t.Name, found)
			if found.Limit {
				limited[found.Profile] = append(limited[found.Profile], text)
				continue
			}
			refused[found.Profile] = append(refused[found.Profile], text)
			if found.Rule != "name" {
				byForm[found.Profile] = true
			}
			if !counted[found.Profile] {
				counted[found.Profile] = true
				bad[found.Profile]++
			}
		}
	}
	if list != nil && list.Withheld() > 0 {
		f.note("the schemas of the tools are too large together: of the last %d of %d tools the arguments are shown as any object; send smaller schemas or fewer tools, or set schemas: full",
			list.Withheld(), len(tools))
	}
	var clean []string
	for _, p := range lint.Profiles {
		if len(refused[p]) == 0 {
			clean = append(clean, string(p))
		}
		if !places {
			continue
		}
		sum := fmt.Sprintf("%s: %d of %d tools break its rules, and it may refuse all of them together", p, bad[p], len(tools))
		if list == nil && byForm[p] {
			sum += portableHelps
		}
		f.some(refused[p], sum)
		if n := len(limited[p]); n > 0 {
			f.note("%s: at %d places not all arguments can be given, such as %s", p, n, limited[p][0])
		}
	}
	if len(clean) > 0 && len(tools) > 0 {
		f.ok("tools keep the rules of %s", strings.Join(clean, ", "))
	}
	if places {
		return
	}
	f.fold(refused, func(p lint.Profile) string { return fmt.Sprintf("%s by %d of %d tools", p, bad[p], len(tools)) },
		"rules of model interfaces are broken, each of which may refuse all tools together for it", list == nil && len(byForm) > 0)
	f.fold(limited, func(p lint.Profile) string { return fmt.Sprintf("%s at %s", p, count(len(limited[p]), "place")) },
		"not all arguments can be given", false)
}

// portableHelps ends a note about schemas that the setting schemas: portable repairs.
const portableHelps = "; schemas: portable in this backend's settings shows its schemas in a form without what breaks them"

// fold writes findings of all interfaces as one note: a summary, the number for each interface, and
// the first finding.
func (f *findings) fold(texts map[lint.Profile][]string, many func(lint.Profile) string, what string, mended bool) {
	var counts []string
	first := ""
	for _, p := range lint.Profiles {
		if len(texts[p]) > 0 {
			counts, first = append(counts, many(p)), cmp.Or(first, texts[p][0])
		}
	}
	if first == "" {
		return
	}
	tail := ""
	if mended {
		tail = portableHelps
	}
	f.note("%s: %s; the first: %s; --schemas names each place%s", what, strings.Join(counts, ", "), first, tail)
}

// some writes the first of many findings, and a summary.
func (f *findings) some(texts []string, sum string) {
	for i, text := range texts {
		if i == maxLintLines {
			f.note("and %d more of the kind", len(texts)-i)
			break
		}
		f.note("%s", text)
	}
	if len(texts) > 0 {
		f.note("%s", sum)
	}
}
