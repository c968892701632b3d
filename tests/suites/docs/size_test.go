package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// library is the code of a capability library: not its stubs, its tests, its fixtures, nor what a program imports from it by a name of its own, with
// dependencies of its own: the kit for the tests of others, the skills of a folder, the check of signed identities, hooks.
type library struct {
	folder    string // below the root
	extension string
	without   []string // patterns of paths below the folder, as filepath.Match has them, of files and of folders
	most      int      // lines of code
	code      func(text string) string
}

var libraries = []library{
	{"sdk/rust/src", ".rs", []string{"gen", "generated", "proto", "testing.rs", "testing", "tests"}, 3000, rustCode},
}

// The libraries of other languages are small: lines that are neither blank nor comments or documentation alone. Those of
// TypeScript, Python and Java are held to the names that they export, by TestExports.
func TestLibrariesAreSmall(t *testing.T) {
	for _, l := range libraries {
		if _, err := os.Stat(filepath.Join(root, l.folder)); os.IsNotExist(err) {
			continue
		}
		lines := l.lines(t)
		t.Logf("%s: %d lines of code, at most %d wanted", l.folder, lines, l.most)
		if lines == 0 {
			t.Errorf("%s has no code: is it elsewhere?", l.folder)
		}
		if lines > l.most {
			t.Errorf("%s has %d lines of code, above %d: simplify it", l.folder, lines, l.most)
		}
	}
}

// lines counts the lines of code of a library.
func (l library) lines(t *testing.T) int {
	t.Helper()
	n := 0
	folder := filepath.Join(root, l.folder)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		apart := slices.ContainsFunc(l.without, func(pattern string) bool {
			ok, err := filepath.Match(pattern, filepath.ToSlash(below))
			return ok && err == nil
		})
		switch {
		case apart && entry.IsDir():
			return fs.SkipDir
		case apart || entry.IsDir() || filepath.Ext(path) != l.extension:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n += countCode(l.code(string(text)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func countCode(code string) int {
	n := 0
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

var (
	slashed       = regexp.MustCompile(`(?m)^[ \t]*//.*$`)
	blockComments = regexp.MustCompile(`(?ms)^[ \t]*/\*.*?\*/`)
	// The tests of a module stand at its end.
	unitTests = regexp.MustCompile(`(?s)\n#\[cfg\(test\)\]\nmod tests \{.*\n\}\n$`)
)

// slashedCode is for languages whose comments are // and /* */.
func slashedCode(text string) string {
	return slashed.ReplaceAllString(blockComments.ReplaceAllString(text, ""), "")
}

// rustCode is without the unit tests, which have to stand in the file of what they test.
func rustCode(text string) string { return slashedCode(unitTests.ReplaceAllString(text, "\n")) }

func TestCodeIsCounted(t *testing.T) {
	for _, c := range []struct {
		code func(string) string
		text string
		want int
	}{
		{slashedCode, "// why\n/** Says. */\nclass A {\n  /**\n   * Says.\n   */\n  /** @internal */ readonly a = 1; // one\n\n}\n", 3},
		{rustCode, "//! Says.\nfn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a_is() {}\n}\n", 1},
		{slashedCode, "/* a\n b */\nconst url = \"https://x\";\n", 1},
	} {
		if got := countCode(c.code(c.text)); got != c.want {
			t.Errorf("%q has %d lines of code, counted %d:\n%s", c.text, c.want, got, c.code(c.text))
		}
	}
}
