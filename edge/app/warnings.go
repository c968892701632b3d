package app

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// Warning is about valid settings that may not have the intended effect.
type Warning struct {
	// Message is the same for all warnings of a kind.
	Message string
	// Setting is a sentence that begins with the key.
	Setting string
}

// Warnings returns everything that an edge warns of at its start by the settings alone. mcpedge
// check prints it, too. The settings are valid.
func Warnings(cfg config.Config) (out []Warning) {
	add := func(message string, settings []string) {
		for _, s := range settings {
			out = append(out, Warning{message, s})
		}
	}
	add("a setting cannot do what it seems to be there for", cfg.Ineffective())
	add("a setting has credentials, or keys, sent without TLS", cfg.Exposed())
	add("sets are separated by no audience", setsWithoutBoundary(&cfg))
	if p, err := cfg.CompilePolicy(); err == nil && p != nil {
		add(rolesUnknown, withoutRoles(&cfg, p))
	}
	return out
}

// warnOfSettings logs the Warnings.
func warnOfSettings(cfg config.Config, log *slog.Logger) {
	for _, w := range Warnings(cfg) {
		log.Warn(w.Message, "setting", w.Setting)
	}
}

// rolesUnknown is the Message of warnings about withoutRoles.
const rolesUnknown = "rules of the policy look at roles, and a setting does not say where callers have them"

// withoutRoles returns a warning for each issuer without claims.roles, if rules use roles. Roles
// are then read from the default claims, and a rule that denies by role does not match a caller
// whose role is in another claim.
func withoutRoles(cfg *config.Config, p *policy.Policy) (notes []string) {
	if !p.UsesRoles() || cfg.Auth == nil {
		return nil
	}
	for i := range cfg.Auth.Issuers {
		if one := &cfg.Auth.Issuers[i]; len(one.Claims.Roles) == 0 {
			notes = append(notes, fmt.Sprintf("auth.issuers[%d] %s: claims.roles is not set, and rules of the policy look at principal.roles: "+
				"they are taken from %s, and not from groups", i, one.Issuer, strings.Join(auth.DefaultRoles, " and ")))
		}
	}
	return notes
}
