// Package generated keeps the parts of documents that tests write.
package generated

import (
	"os"
	"strings"
	"testing"
)

// Compare fails the test unless the part of the page that is named part is want; with update it writes want there instead. The part
// stands between the lines "<!-- generated: PART -->" and "<!-- end: PART -->". command is what writes it, for the error.
func Compare(t *testing.T, page, part, want, command string, update bool) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- generated: "+part+" -->\n", "<!-- end: "+part+" -->"
	before, rest, ok := strings.Cut(string(raw), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s lacks the lines %q and %q", page, begin, end)
	}
	want = "\n" + strings.Trim(want, "\n") + "\n\n"
	switch {
	case got == want:
	case update:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the part %q of %s is stale: write it with `%s`. It should be:\n%s", part, page, command, want)
	}
}
