//go:build release && linux

package release

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// TestRelease is one test, since it ends with the table of what its parts found.
func TestRelease(t *testing.T) {
	d := readDist(t)
	defer d.table(t)
	for _, part := range []struct {
		name string
		run  func(*dist, *testing.T)
	}{
		{"checksums", (*dist).checksums},
		{"archives", (*dist).archives},
		{"foreign archives", (*dist).foreign},
		{"deb", (*dist).deb},
		{"rpm", (*dist).rpm},
		{"unit", (*dist).unit},
		{"service", (*dist).service},
		{"npm", (*dist).npm},
		{"wheel", (*dist).wheel},
		{"cask", (*dist).cask},
		{"SBOMs", (*dist).sboms},
		{"contract", (*dist).contract},
		{"chart", (*dist).chart},
		{"libraries", (*dist).libraries},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(d, t) })
	}
}

// need skips a part whose program is missing, and says so in the table.
func (d *dist) need(t *testing.T, artefact string, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			d.say(artefact, "left out: %s is missing", program)
			t.Skipf("left out: %s is missing", program)
		}
	}
}

// serving is how an installed edge is started: the words before its flags, and who calls it.
type serving struct {
	env     []string // NAME=VALUE
	command []string
	caller  []string
	// through: the process that is started starts the edge, and may end otherwise than with status 0.
	through bool
}

// answers starts an edge, calls a tool of its demo, and stops it.
func (s serving) answers(t *testing.T) {
	t.Helper()
	addrs, err := process.FreeAddrs(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.env {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	args := append(append([]string{}, s.command[1:]...), "--listen", addrs[0], "--admin", addrs[1])
	p, err := process.Start(s.command[0], s.command[0], filepath.Join(t.TempDir(), "edge.log"), args...)
	if err != nil {
		t.Fatal(err)
	}
	stop := p.Stop
	if s.through {
		stop = func() error { return errors.Join(p.Terminate(), p.Kill()) }
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	if err := process.AwaitOK(t.Context(), "http://"+addrs[1]+"/readyz", p); err != nil {
		t.Fatal(err)
	}
	call := append(append([]string{}, s.caller[1:]...), "call", "http://"+addrs[0]+"/mcp", "calculator_arithmetic", `{"expression":"6*7"}`)
	if got := run(t, "", nil, s.caller[0], call...); strings.TrimSpace(got) != "42" {
		t.Fatalf("mcpedge call says %q, want 42", got)
	}
}

// versioned checks what an installed edge says of itself.
func (d *dist) versioned(t *testing.T, command ...string) {
	t.Helper()
	out := run(t, "", nil, command[0], append(command[1:], "version")...)
	if !strings.HasPrefix(out, "mcpedge v"+d.version+"\n") || strings.Contains(out, "unknown") {
		t.Errorf("%s version says %q, want v%s, a commit and its date", strings.Join(command, " "), out, d.version)
	}
}
