//go:build apps

package apps

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/examples/apps/dice"
	"github.com/mcpedge/mcpedge/tests/helpers/harness"
)

// TestHost: the page is found, shown and used, behind an edge with a prefix for the tools, beside another backend that has
// a page of the same URI.
func TestHost(t *testing.T) {
	first, second := harness.Serve(t, "dice", dice.New()).Backend(), harness.Serve(t, "again", dice.New()).Backend()
	first.Prefix, second.Prefix = "table_", "other_"
	e := harness.Start(t, harness.Config(first, second))
	for _, c := range []struct{ url, era, transport string }{
		{e.URL, "modern", "http"}, {e.URL, "legacy", "http"}, {"http://" + e.Host + "/sse", "legacy", "sse"},
	} {
		t.Run(c.era+" over "+c.transport, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "node", "host.mjs", c.url, c.era, c.transport, "table_roll").CombinedOutput()
			if err != nil || strings.TrimSpace(string(out)) != "ok" {
				t.Fatalf("%v\n%s", err, out)
			}
		})
	}
}
