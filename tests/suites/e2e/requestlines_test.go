package e2e

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestRequestLines: the line of each request that names something says by whom, what and where, also where no backend has it.
func TestRequestLines(t *testing.T) {
	id := issuer.Serve(t)
	e := startEdge(t, only(startService(t, newFixture().Server)), withAuth(id))
	for _, version := range []string{vNov, v2026} {
		c := clientOf(t, e, version, id.Token("alice", public))
		for _, one := range []struct{ method, params, target, backend string }{
			{"tools/call", `{"name":"echo","arguments":{"text":"x"}}`, "echo", "fixture"},
			{"tools/call", `{"name":"nothing"}`, "nothing", ""},
			{"prompts/get", `{"name":"greet","arguments":{"name":"x"}}`, "greet", "fixture"},
			{"resources/read", `{"uri":"test://note"}`, "test://note", "fixture"},
			{"resources/read", `{"uri":"test://item/7"}`, "test://item/7", "fixture"},
			{"resources/read", `{"uri":"none://x"}`, "none://x", ""},
			{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"a"}}`, "greet", "fixture"},
			{"tools/list", `{}`, "", ""},
		} {
			before := len(e.Log.String())
			c.ask(one.method, one.params).final()
			var line string
			await.Until(t, one.method+" to be logged", func() bool {
				for l := range strings.Lines(e.Log.String()[before:]) {
					if strings.Contains(l, "msg=request method="+one.method+" ") {
						line = l
						return true
					}
				}
				return false
			})
			for key, value := range map[string]string{" target=": one.target, " backend=": one.backend} {
				if value != "" && !strings.Contains(line, key+value+" ") || value == "" && strings.Contains(line, key) {
					t.Errorf("%s %s: %q is not as wanted (%q) in %s", version, one.method, key, value, line)
				}
			}
			if !strings.Contains(line, " subject=alice ") {
				t.Errorf("%s %s: no subject in %s", version, one.method, line)
			}
		}
	}
}
