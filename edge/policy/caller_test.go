package policy

import (
	"slices"
	"testing"
)

func TestCallerVariables(t *testing.T) {
	for when, want := range map[string][]string{
		`"a" in principal.scopes && principal.claims.b == 1 || "a" in principal.scopes`: {"principal.claims", "principal.scopes"},
		`tool.name == "a"`: nil,
		`principal.anonymous || principal.subject == "a"`: nil,
		`principal.subjec == "a"`:                         nil,
	} {
		if got := CallerVariables(when); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
}
