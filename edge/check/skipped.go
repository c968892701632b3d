package check

import (
	"fmt"
	"strings"
)

// needsMore is the reason for which a tool with unknown arguments is not called.
const needsMore = "since it needs arguments"

// maxNamed bounds the tools that one line about several names.
const maxNamed = 5

// skippedTools groups the tools of a backend that are not called by their reasons, in the order of
// each reason's first tool.
type skippedTools struct {
	findings *findings
	reasons  []string
	tools    map[string][]skippedTool
}

// skippedTool is a tool that is not called. name is its own name, shown its name for --call. An
// empty shown means that it cannot be called.
type skippedTool struct{ name, shown string }

func (s *skippedTools) add(name, shown, why string) {
	if s.tools == nil {
		s.tools = map[string][]skippedTool{}
	}
	if s.tools[why] == nil {
		s.reasons = append(s.reasons, why)
	}
	s.tools[why] = append(s.tools[why], skippedTool{name, shown})
}

// report writes a line for each reason, with the number of the tools, and the first ones if there
// are several.
func (s *skippedTools) report() {
	for _, why := range s.reasons {
		tools := s.tools[why]
		first := tools[0]
		text, it := fmt.Sprintf("CallTool %q: not called, %s", first.name, why), "it"
		if n := len(tools); n > 1 {
			names := make([]string, 0, maxNamed)
			for _, t := range tools[:min(n, maxNamed)] {
				names = append(names, fmt.Sprintf("%q", t.name))
			}
			more := ""
			if n > maxNamed {
				more = fmt.Sprintf(" and %d more", n-maxNamed)
			}
			text, it = fmt.Sprintf("CallTool: %d tools are not called, each %s: %s%s", n, why, strings.Join(names, ", "), more), "one"
		}
		if first.shown != "" {
			text += fmt.Sprintf("; to call %s: --call '%s={…}'", it, first.shown)
		}
		s.findings.note("%s", text)
	}
}
