//go:build access

package access

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

var fenced = regexp.MustCompile("(?s)```bash\n(.*?)```")

// TestKeycloakRecipe does what docs/access.md tells a reader to do once Keycloak runs, but for the ports: it makes the file,
// starts the edge, has alice log in by the link, and asks the edge.
func TestKeycloakRecipe(t *testing.T) {
	t.Parallel()
	k := theKeycloak(t)
	page, err := os.ReadFile("../../../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "<!-- keycloak recipe")
	recipe, _, found := strings.Cut(rest, "<!-- end: keycloak recipe -->")
	blocks := fenced.FindAllStringSubmatch(recipe, -1)
	if !found || len(blocks) != 3 {
		t.Fatalf("docs/access.md has %d blocks between the marks of the recipe, want 3", len(blocks))
	}
	dir := t.TempDir()
	ports := strings.NewReplacer("http://127.0.0.1:8180", k.origin, "127.0.0.1:8080", shared.recipe)
	run := func(script string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", ports.Replace(script))
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	run(blocks[0][1])
	none := func(string) (string, bool) { return "", false }
	cfg, err := config.Load("serve", []string{"--config", dir + "/keycloak.yaml", "--admin", "127.0.0.1:0"}, none, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Backends = []config.Backend{fixture(t)} // in the place of the bundled ones
	harness.Start(t, cfg)

	alice := newUser(t, "alice")
	alice.redirect = ""
	if err := alice.visit(t.Context(), strings.TrimSpace(run(blocks[1][1]))); err != nil {
		t.Fatal(err)
	}
	setup, _, _ := strings.Cut(blocks[1][1], "curl")
	if got := run(setup + blocks[2][1]); !strings.HasPrefix(got, "HTTP/1.1 200 ") || !strings.Contains(got, `"name":"look"`) {
		t.Errorf("with the token:\n%s", got)
	}
}
