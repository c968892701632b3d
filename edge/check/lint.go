package check

import (
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/edge/check/lint"
	"github.com/mcpedge/mcpedge/edge/schema/portable"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// maxLintLines bounds what is printed of one profile.
const maxLintLines = 20

// lint holds the tools, as clients are shown them, against the rules of model interfaces. What breaks one
// breaks no contract: it is a note, by tool, place and rule. list makes the schemas' portable form; nil: they are
// shown as they are.
func (f *findings) lint(prefix string, tools []*pb.Tool, list *portable.List) {
	refused, limited := map[lint.Profile][]string{}, map[lint.Profile][]string{}
	bad, byForm := map[lint.Profile]int{}, map[lint.Profile]bool{}
	for _, t := range tools {
		shown := t.GetInputSchemaJson()
		if list != nil {
			shown = list.Schema(shown, nil).JSON
		}
		name, counted := prefix+t.GetName(), map[lint.Profile]bool{}
		for _, found := range lint.Check(lint.Tool{Name: name, Schema: shown}) {
			text := fmt.Sprintf("tool %.80q: %s", name, found)
			if found.Limit {
				limited[found.Profile] = append(limited[found.Profile], text)
				continue
			}
			refused[found.Profile] = append(refused[found.Profile], text)
			byForm[found.Profile] = byForm[found.Profile] || found.Rule != "name"
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
		sum := fmt.Sprintf("%s: %d of %d tools break its rules, and it may refuse all of them together", p, bad[p], len(tools))
		if list == nil && byForm[p] {
			sum += "; schemas: portable in this backend's settings shows its schemas in a form without what breaks them"
		}
		f.some(refused[p], sum)
		if n := len(limited[p]); n > 0 {
			f.note("%s: at %d places not all arguments can be given, such as %s", p, n, limited[p][0])
		}
	}
	if len(clean) > 0 && len(tools) > 0 {
		f.ok("tools keep the rules of %s", strings.Join(clean, ", "))
	}
}

// some notes the first of many findings, and what they come to.
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
