// Package generated compares and writes the generated parts of pages.
package generated

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Compare fails the test unless the named part of the page equals want; with update it writes want.
// The part is between the lines "<!-- generated: PART -->" and "<!-- end: PART -->". command is the
// command that writes it, for the error message.
func Compare(t *testing.T, page, part, want, command string, update bool) {
	t.Helper()
	text, err := os.ReadFile(page) // #nosec G304 -- a page of the repository, which the test names
	if err != nil {
		t.Fatal(err)
	}
	after, err := replace(string(text), part, want)
	switch {
	case err != nil:
		t.Fatalf("%s: %v", page, err)
	case after == string(text):
	case update:
		if err := os.WriteFile(page, []byte(after), 0o644); err != nil { // #nosec G306 G703 -- pages are public
			t.Fatal(err)
		}
	default:
		t.Errorf("the part %q of %s is stale: update it with `%s`. It should be:\n%s", part, page, command, want)
	}
}

// replace returns text with want as its part.
func replace(text, part, want string) (string, error) {
	begin, end := "<!-- generated: "+part+" -->\n", "<!-- end: "+part+" -->"
	before, rest, opened := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		return "", fmt.Errorf("it lacks the lines %q and %q", begin, end)
	}
	return before + begin + "\n" + strings.Trim(want, "\n") + "\n\n" + end + after, nil
}
