package dispatch

import (
	"testing"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// A watcher of a resource gets the updates of only those resources below it that it may watch.
func TestUpdatesBelowPassThePolicy(t *testing.T) {
	f := everything()
	f.describe.Resources.Subscribe = true
	d := start(t, Options{Access: decider(t, policy.Settings{Default: policy.Allow, Rules: []policy.Rule{{
		Name: "secrets are hidden", Then: policy.Hide, When: `resource.uri.startsWith("docs://one/secret")`,
	}}})}, f)
	feed, err := d.Changes(t.Context(), "", mcp.Principal{}, mcp.Filter{URIs: []string{"docs://one"}})
	if err != nil {
		t.Fatal(err)
	}
	defer feed.Close()
	f.update(t, "docs://one", "docs://one/secret/merger")
	f.update(t, "docs://one", "docs://one/public")
	for heard := ""; heard != "docs://one/public"; {
		changes, err := feed.Next(t.Context(), await.Patience)
		if err != nil || len(changes) == 0 {
			t.Fatalf("%v, %v", changes, err)
		}
		for _, c := range changes {
			if heard = c.URI; heard == "docs://one/secret/merger" {
				t.Errorf("it hears of %s", heard)
			}
		}
	}
}
