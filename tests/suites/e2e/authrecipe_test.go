package e2e

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

var fenced = regexp.MustCompile("(?s)```(?:bash|sh)\n(.*?)```")

// TestAccessRecipe does what docs/access.md tells a reader to do, but for the port: it makes the files, starts the edge, and
// asks it.
func TestAccessRecipe(t *testing.T) {
	for _, program := range []string{"bash", "curl", "openssl"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") != "true" {
			t.Skip("left out:", err)
		}
	}
	page, err := os.ReadFile("../../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- recipe")
	recipe, _, found := strings.Cut(rest, "<!-- end: recipe -->")
	blocks := fenced.FindAllStringSubmatch(recipe, -1)
	if !found || len(blocks) != 2 {
		t.Fatalf("docs/access.md has %d blocks between the marks of the recipe, want 2", len(blocks))
	}
	address, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	run := func(script string) string {
		t.Helper()
		cmd := exec.Command("bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script, "127.0.0.1:8080", address))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	run(blocks[0][1])
	none := func(string) (string, bool) { return "", false }
	cfg, err := config.Load("serve", []string{"--config", "locked.yaml", "--admin", "127.0.0.1:0"}, none, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Backends = only(startService(t, newFixture().Server)) // in the place of the bundled ones
	harness.Start(t, cfg)
	got := regexp.MustCompile(`HTTP/1.1 \d+|(?i)www-authenticate: [^\r\n]*`).FindAllString(run(blocks[1][1]), -1)
	want := []string{"HTTP/1.1 401", `Www-Authenticate: Bearer resource_metadata="http://` + address + `/.well-known/oauth-protected-resource/mcp"`, "HTTP/1.1 200", "HTTP/1.1 200"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
