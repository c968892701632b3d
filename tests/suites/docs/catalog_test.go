package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/process"
)

// blocks are the blocks of a page, commands and the output of those before them.
var blocks = regexp.MustCompile("(?s)```(sh|text)\n(.*?)```")

// Each command of the section "Two teams in ten minutes" of docs/catalog.md does what the page says, in one
// shell, but for the ports and the directory.
func TestTwoTeams(t *testing.T) {
	for _, program := range []string{"bash", "curl", "openssl"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") != "true" {
			t.Skip("left out:", err)
		}
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "catalog.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- two teams")
	section, _, found := strings.Cut(rest, "<!-- end: two teams -->")
	if !found {
		t.Fatal("docs/catalog.md has no section between the marks")
	}
	addrs, err := process.FreeAddrs(4)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ports := strings.NewReplacer("127.0.0.1:8080", addrs[0], "127.0.0.1:9090", addrs[1], "127.0.0.1:50051", addrs[2], "127.0.0.1:50052", addrs[3],
		"-o bin/", "-o "+dir+"/bin/", "$PWD/bin", dir+"/bin", "two-teams", dir+"/two-teams")
	script := new(strings.Builder)
	script.WriteString("set -eo pipefail\ntrap 'kill $(jobs -p)' EXIT\n")
	var outputs []string
	for _, block := range blocks.FindAllStringSubmatch(section, -1) {
		if block[1] == "sh" {
			script.WriteString(ports.Replace(block[2]))
			continue
		}
		outputs = append(outputs, block[2])
		script.WriteString("echo '=== end of an output'\n")
	}
	cmd := exec.Command("bash", "-c", script.String())
	cmd.Dir, cmd.WaitDelay = root, await.Patience
	raw, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	got := strings.Split(string(raw), "=== end of an output\n")
	if len(outputs) < 6 || len(got) <= len(outputs) {
		t.Fatalf("%d outputs on the page, and %d of the commands:\n%s", len(outputs), len(got)-1, raw)
	}
	for i, want := range outputs {
		if !strings.HasSuffix(got[i], want) {
			t.Errorf("output %d is\n%s\nwant\n%s", i+1, got[i], want)
		}
	}
}
