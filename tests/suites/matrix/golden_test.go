package matrix

import (
	"os"
	"strings"
	"testing"
)

const page = "../../../docs/revisions.md"

// golden compares a generated part of the page, or writes it with -update.
func golden(t *testing.T, part, want string) {
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
	case *update:
		if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the part %q of %s is stale: write it with `go test ./tests/suites/matrix -update`. It should be:\n%s", part, page, want)
	}
}
