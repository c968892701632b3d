package check

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/command/commandtest"
	"github.com/mcpedge/mcpedge/tests/helpers/authority"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestCheckTellsOfBackendsWithoutApprovals: check notes each backend with identity: exchange that
// has tools to which approvals may apply, with the approvals.
func TestCheckTellsOfBackendsWithoutApprovals(t *testing.T) {
	is, dir := issuer.Serve(t), t.TempDir()
	secret := authority.File(t, filepath.Join(dir, "secret"), []byte("x"))
	first := "auth: {issuers: [{issuer: '" + is.URL + "', exchange: {client-id: edge, client-secret-file: '" + secret + "'}}]}\nadmin: {auth: {scope: s}}\n" +
		"backends: [{name: one, target: '" + commandtest.Tools(t, "a", 3) + "', identity: exchange}, {name: two, target: '" + commandtest.Tools(t, "b", 1) + "', identity: exchange}, " +
		"{name: three, target: '" + commandtest.Tools(t, "c", 1) + "'}]\n"
	note := func(place, tools string) string {
		return "note    " + place + ": it has identity: exchange, so that calls to which an approval applies are denied, since no token is stored: approvals may apply to the tool " +
			tools + ": use identity: signed, or conditions that leave them out"
	}
	for when, want := range map[string][]string{
		`tool.name == "a0001" && "x" in principal.roles`: {note("backends[0] one", `"a0001"`)},
		`arguments.amount > 3`:                           {note("backends[0] one", `"a0000" and 2 others`), note("backends[1] two", `"b0000"`)},
		`tool.backend == "three"`:                        nil,
	} {
		var out strings.Builder
		settings := first + "policy: {default: allow, approve: [{name: a, when: '" + when + "', message: Go?}]}\n"
		if err := Run(t.Context(), []string{"--config", authority.File(t, filepath.Join(dir, "edge.yaml"), []byte(settings))}, &out, &out); err != nil {
			t.Errorf("%s: %v\n%s", when, err, &out)
		}
		for _, one := range want {
			if !strings.Contains(out.String(), one) {
				t.Errorf("%s: %s is missing:\n%s", when, one, &out)
			}
		}
		if n := strings.Count(out.String(), "to which an approval applies"); n != len(want) {
			t.Errorf("%s: %d notes, want %d:\n%s", when, n, len(want), &out)
		}
	}
}
