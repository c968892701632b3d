package docs

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	promisedTest   = regexp.MustCompile("`(Test[A-Za-z0-9_]+|Fuzz[A-Za-z0-9_]+)`")
	promisedAttack = regexp.MustCompile("attacks? (`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*)")
	declaredTest   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9_]+)\(`)
	declaredAttack = regexp.MustCompile(`\{name: "([a-z0-9-]+)"`)
)

// Each promise of docs/security.md names a test, and each test that it names exists.
func TestPromisesAreTested(t *testing.T) {
	tests, attacks := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "gen"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		text := read(t, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))
		found, into := declaredTest, tests
		if strings.Contains(filepath.ToSlash(path), "/programs/attack/") {
			found, into = declaredAttack, attacks
		}
		for _, m := range found.FindAllStringSubmatch(text, -1) {
			into[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	_, promises, _ := strings.Cut(read(t, "docs/security.md"), "\n## What is promised\n")
	promises, _, _ = strings.Cut(promises, "\n## ")
	rows := 0
	for line := range strings.Lines(promises) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise") {
			continue
		}
		rows++
		named := promisedTest.FindAllStringSubmatch(line, -1)
		if len(named) == 0 && !strings.Contains(line, "`make ") {
			t.Errorf("no test is named: %s", line)
		}
		for _, m := range named {
			if !tests[m[1]] {
				t.Errorf("%s does not exist: %.80s", m[1], line)
			}
		}
		for _, m := range promisedAttack.FindAllStringSubmatch(line, -1) {
			for name := range strings.SplitSeq(m[1], ", ") {
				if name = strings.Trim(name, "`"); !attacks[name] {
					t.Errorf("the attack %s does not exist: %.80s", name, line)
				}
			}
		}
	}
	if rows < 10 {
		t.Errorf("there are %d promises", rows)
	}
}
