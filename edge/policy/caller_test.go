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

func TestScopesOfCondition(t *testing.T) {
	for when, want := range map[string]struct {
		named []string
		more  bool
	}{
		`"a" in principal.scopes && !("b" in principal.scopes) || "a" in principal.scopes`: {[]string{"a", "b"}, false},
		`tool.name in ["a"] && "c" in principal.roles`:                                     {nil, false},
		`"a" in principal.scopes && tool.name in principal.scopes`:                         {[]string{"a"}, true},
		`principal.scopes.exists(s, s == "a")`:                                             {nil, true},
		`principal.scopes == ["a"]`:                                                        {nil, true},
		`principal.scope == 1`:                                                             {nil, false},
	} {
		if named, more := ScopesOf(when); !slices.Equal(named, want.named) || more != want.more {
			t.Errorf("%s: %q, more: %t", when, named, more)
		}
	}
}
