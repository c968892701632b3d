package check

import (
	"fmt"
	"testing"
)

// Tools that are not called for the same reason are one line, which names the first of them.
func TestSkippedTools(t *testing.T) {
	f := new(findings)
	s := skippedTools{findings: f}
	for i := range 7 {
		s.add(fmt.Sprintf("t%d", i), fmt.Sprintf("x_t%d", i), needsMore)
		if i < 1 {
			s.add("gone", "", "since the catalog hides it")
		}
	}
	s.report()
	want := `  note    CallTool: 7 tools are not called, each since it needs arguments: "t0", "t1", "t2", "t3", "t4" and 2 more; to call one: --call 'x_t0={…}'
  note    CallTool "gone": not called, since the catalog hides it
`
	if got := f.text.String(); got != want {
		t.Errorf("%s", got)
	}
}
