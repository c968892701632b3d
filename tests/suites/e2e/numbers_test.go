package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/issuer"
)

// TestClaimsKeepTheirDigits: a caller gets its own tenant and no neighbour, in each revision, where no double tells the two apart.
func TestClaimsKeepTheirDigits(t *testing.T) {
	t.Parallel() // it waits for most of its time
	s := capability.New("tenants", "1.0.0")
	capability.AddTool(s, "read", "Reads", func(context.Context, *capability.Call, struct {
		Tenant json.Number `json:"tenant"`
	}) (string, error) {
		return "read", nil
	})
	id := issuer.Serve(t)
	e := startEdge(t, only(startService(t, s)), withAuth(id), func(c *config.Config) {
		c.Policy = &config.Policy{Default: "deny", Rules: []config.PolicyRule{
			{Name: "own tenant", Then: "allow", When: `arguments.tenant == principal.claims.tenant || arguments.tenant in principal.claims.tenants`},
		}}
	})
	token := id.Token("ann", public, map[string]any{"tenant": json.Number("9007199254740993"), "tenants": []any{json.Number("18446744073709551617")}})
	for _, version := range []string{v2024, vNov, v2026} {
		call := func(arguments string) *reply { return sessionAs(t, e, version, token).call("read", arguments) }
		if version == v2026 {
			call = func(arguments string) *reply { return statelessAs(t, e, token).call("read", arguments) }
		}
		for tenant, allowed := range map[string]bool{
			"9007199254740993": true, "9007199254740993.0": true, "9007199254740992": false, "9007199254740994": false, "9007199254740993.5": false,
			"18446744073709551617": true, "18446744073709551616": false, "18446744073709551615": false, "1e300": false,
		} {
			m := call(`{"tenant":` + tenant + `}`).want(http.StatusOK).final()
			if denied := m.Error != nil && m.Error.Code == -31403; denied == allowed {
				t.Errorf("%s: %s: %s", version, tenant, m.raw)
			}
		}
	}
}
