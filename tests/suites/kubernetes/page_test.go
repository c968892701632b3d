//go:build kubernetes && linux

package kubernetes

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	heading = regexp.MustCompile(`(?m)^## (.+)$`)
	code    = regexp.MustCompile("(?ms)^```(sh|yaml)\n(.*?)^```$")
)

// page is the code of a section of docs/kubernetes.md, in order: that of shells, and values.
func page(t *testing.T, section string) (shell, values []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	at := heading.FindAllStringSubmatchIndex(string(text), -1)
	for i, h := range at {
		if string(text[h[2]:h[3]]) != section {
			continue
		}
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		for _, m := range code.FindAllStringSubmatch(string(text[h[1]:end]), -1) {
			if m[1] == "sh" {
				shell = append(shell, m[2])
			} else {
				values = append(values, m[2])
			}
		}
		return shell, values
	}
	t.Fatalf("docs/kubernetes.md has no section %q", section)
	return nil, nil
}

// clone is the repository as a newcomer has it: what is written there goes to another folder.
type clone struct {
	c   *cluster
	dir string
	env []string
}

func (c *cluster) clone(t *testing.T) *clone {
	t.Helper()
	n := &clone{c: c, dir: filepath.Join(c.Dir, "clone")}
	for _, dir := range []string{"written", "work"} {
		if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	n.env = append(c.Env(), "KUBECONFIG="+c.kubeconfig(), "PATH="+absolute(t, "")+":"+os.Getenv("PATH"))
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // They go by HOME, and that is the engine's.
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		n.env = append(n.env, name+"="+strings.TrimSpace(string(value)))
	}
	return n
}

// sh runs commands at its root, and returns what they print.
func (n *clone) sh(t *testing.T, script string, env ...string) string {
	t.Helper()
	at, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	const inside = `mount -t overlay -o "lowerdir=$0,upperdir=$1/written,workdir=$1/work" clone "$0"; cd "$0"; exec bash -ec "$2"`
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-ec", inside, at, n.dir, script)
	cmd.Env = append(n.env, env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v: %s", script, err, out)
	}
	t.Logf("%s\n%s", script, out)
	return string(out)
}

// write writes a file of values there.
func (n *clone) write(t *testing.T, name, text string) {
	t.Helper()
	write(t, filepath.Join(n.dir, "written", name), text)
}
