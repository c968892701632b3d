package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestScrapeRecipe does what docs/access.md says of a scrape of a locked admin address, but for the port.
func TestScrapeRecipe(t *testing.T) {
	for _, program := range []string{"bash", "curl", "openssl", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil && os.Getenv("CI") != "true" {
			t.Skip("left out:", err)
		}
	}
	page, err := os.ReadFile("../../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- scrape recipe")
	recipe, _, found := strings.Cut(rest, "<!-- end: scrape recipe -->")
	blocks := fenced.FindAllStringSubmatch(recipe, -1)
	if !found || len(blocks) != 2 {
		t.Fatalf("docs/access.md has %d blocks between the marks of the recipe, want 2", len(blocks))
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("keys.yaml", []byte("- {name: nightly-report, sha256: "+strings.Repeat("ab", 32)+", scopes: [\"mcp:read\"]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(script, address string) string {
		t.Helper()
		out, err := exec.Command("bash", "-euo", "pipefail", "-c", strings.ReplaceAll(script, "127.0.0.1:9090", address)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	run(blocks[0][1], "")
	cfg := harness.Config()
	cfg.Listen.PublicURL, cfg.Auth, cfg.Admin.Auth = "https://mcp.example.com", &config.Auth{APIKeys: "keys.yaml"}, &config.AdminAuth{Scope: "mcp:operate"}
	e := harness.Start(t, cfg)
	if got := run(blocks[1][1], e.Admin); got != "401\nmcpedge_ready 1\n" {
		t.Errorf("%q", got)
	}
}
