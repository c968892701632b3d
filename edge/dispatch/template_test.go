package dispatch

import (
	"strings"
	"testing"
)

// TestTemplatesOfManyCommas: a URI whose commas would take a template's matching long matches none.
func TestTemplatesOfManyCommas(t *testing.T) {
	found := newTemplate("x://found{?q}", nil, 0, nil)
	for commas, want := range map[int]bool{0: true, maxCommas: true, maxCommas + 1: false, 8000: false} {
		if got := found.matches("x://found?q=a" + strings.Repeat(",a", commas)); got != want {
			t.Errorf("%d commas: %v, want %v", commas, got, want)
		}
	}
}
