package app

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
)

// Rules that use roles cause a warning if the settings of an issuer do not name their claim.
func TestRolesWithoutTheirSettingAreWarnedOf(t *testing.T) {
	said := []config.Issuer{{Issuer: "https://a", Claims: config.Claims{Roles: config.Names{"roles"}}}}
	for name, x := range map[string]struct {
		when    string
		issuers []config.Issuer
		want    int
	}{
		"roles, and no setting": {`"intern" in principal.roles`, []config.Issuer{{Issuer: "https://a"}, {Issuer: "https://b"}}, 2},
		"roles, one setting":    {`"intern" in principal.roles`, append(said, config.Issuer{Issuer: "https://b"}), 1},
		"roles, and settings":   {`"intern" in principal.roles`, said, 0},
		"no roles":              {`"x" in principal.scopes`, []config.Issuer{{Issuer: "https://a"}}, 0},
	} {
		cfg := config.Config{Auth: &config.Auth{Issuers: x.issuers}, Policy: &config.Policy{
			Default: "deny", Rules: []config.PolicyRule{{Name: "r", When: x.when, Then: "deny"}},
		}}
		warned := 0
		for _, w := range Warnings(cfg) {
			if strings.HasPrefix(w.Setting, "auth.issuers[") && strings.Contains(w.Setting, "claims.roles is not set") {
				warned++
			}
		}
		if warned != x.want {
			t.Errorf("%s: %q", name, Warnings(cfg))
		}
	}
}
