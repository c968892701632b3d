//go:build access

package access

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// TestSelfRegistered: a client that registers with the scopes that it is told of first can get no others. So it gets all of them
// where the edge names no initial ones, and cannot step up where it does.
func TestSelfRegistered(t *testing.T) {
	for name, at := range servers {
		for _, initial := range []string{"", "mcp:read"} {
			t.Run(name+"/initial="+initial, func(t *testing.T) {
				t.Parallel()
				log := &transcript{}
				address, err := freeport.Addr()
				if err != nil {
					t.Fatal(err)
				}
				edge := log.proxy(t, "http://"+address, toEdge)
				s := at(t, "registered"+strings.ReplaceAll(initial, ":", "-"), edge, log)
				serve(t, address, edge, s.settings(), strings.Fields(initial)...)
				need(t, npmPackages)
				u := newUser(t, "bob")
				c := newProgram("node", "clients/typescript-v2.mjs")(t, edge+"/mcp", u.redirect, "", log.login(u))
				if err := c.connect(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, err := c.call(t.Context(), "change")
				switch {
				case initial == "" && (err != nil || got != "mcp:read mcp:write"):
					t.Errorf("the call says %q, %v", got, err)
				case initial != "" && (err == nil || !strings.Contains(err.Error(), "invalid_scope")):
					t.Errorf("the call says %q, %v, want invalid_scope", got, err)
				}
				if t.Failed() {
					t.Logf("so far:\n%s", log)
				}
			})
		}
	}
}
