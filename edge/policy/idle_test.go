package policy

import (
	"strings"
	"testing"
)

// Rules after one that always matches are reported, and only if there are any.
func TestRulesThatNeverDecide(t *testing.T) {
	always, other := Rule{Name: "all", When: " true ", Then: Allow}, Rule{Name: "admins", When: `"admin" in principal.roles`, Then: Deny}
	for name, c := range map[string]struct {
		rules []Rule
		want  string
	}{
		"last":   {[]Rule{other, always}, ""},
		"first":  {[]Rule{always, other, other}, "rules[0] all: its condition always holds, so that none of the 2 behind it decides"},
		"middle": {[]Rule{other, always, other}, "rules[1] all: its condition always holds, so that none of the 1 behind it decides"},
		"none":   {[]Rule{other}, ""},
	} {
		s := Settings{Default: Deny, Rules: c.rules}
		notes := strings.Join(s.Idle(nil), "\n")
		if c.want == "" && notes != "" || !strings.Contains(notes, c.want) {
			t.Errorf("%s: %q, want %q", name, notes, c.want)
		}
	}
}

// A condition on a tool of the edge that reads says what decides about reads.
func TestToolsThatReadAreNoted(t *testing.T) {
	for name, noted := range map[string]bool{"read_resource": true, "find_tools": true, "list_resources": true, "call_tool": false, "other": false} {
		s := Settings{Confirm: []Confirm{{Name: "c", When: `tool.name == "` + name + `"`, Message: "Go?"}}, Rules: []Rule{{Name: "r", When: `tool.name in ["` + name + `"]`, Then: Deny}}}
		notes := s.Idle(nil)
		if len(notes) != 2 {
			t.Fatalf("%s: %q", name, notes)
		}
		for _, note := range notes {
			if strings.Contains(note, "resources/read") != noted || !strings.Contains(note, name) {
				t.Errorf("%s: %q", name, note)
			}
		}
		if notes := s.Idle([]Target{{Kind: Tool, Name: name}}); len(notes) != 0 {
			t.Errorf("a backend's own %s: %q", name, notes)
		}
	}
}
