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
