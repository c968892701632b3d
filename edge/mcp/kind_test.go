package mcp

import "testing"

// Operators tell failures apart by their names: every kind has its own.
func TestKindNames(t *testing.T) {
	seen := map[string]Kind{}
	for k := KindNone; k <= KindInternal; k++ {
		if int(k) >= len(kindNames) || kindNames[k] == "" {
			t.Errorf("kind %d has no name", k)
		}
		if other, dup := seen[k.String()]; dup {
			t.Errorf("kinds %d and %d are both %q", other, k, k)
		}
		seen[k.String()] = k
	}
	if got := Kind(255).String(); got != "internal" {
		t.Errorf("an unknown kind is %q", got)
	}
}
