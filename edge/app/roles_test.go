package app

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Rules that look at roles are warned of where the settings of an issuer do not say which claim has them.
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
		p, err := policy.Compile(policy.Settings{Default: policy.Deny, Rules: []policy.Rule{{Name: "r", When: x.when, Then: policy.Deny}}})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		a := &App{cfg: config.Config{Auth: &config.Auth{Issuers: x.issuers}}, log: slog.New(slog.NewTextHandler(&out, nil))}
		if a.warnRoles(p); strings.Count(out.String(), "claims.roles does not say") != x.want {
			t.Errorf("%s:\n%s", name, &out)
		}
	}
}
