package app

import (
	"fmt"
	"io"
	"slices"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/config"
)

// reportScopes writes a line for each scope that may be mistyped: scopes in settings that no caller
// can have or that scopes-supported lacks, and scopes of API keys that no setting names.
func reportScopes(cfg *config.Config, a *auth.Authenticator, out io.Writer) {
	named, all := cfg.ConditionScopes()
	named = slices.Concat(cfg.NeededScopes(), named)
	x := scopeCheck{cfg: cfg, keys: a.ValidKeys(), named: named, out: out}
	switch supported := cfg.Auth.Metadata.ScopesSupported; {
	case len(cfg.Auth.Issuers) == 0:
		x.reportUnheld()
	case len(supported) > 0:
		x.reportUnsupported(supported)
	}
	// A condition may inspect unnamed scopes in other ways; without named scopes, only backends use
	// them.
	if !all && len(named) > 0 {
		x.reportUnnamed()
	}
	x.checkRoles()
}

// scopeCheck compares the scopes that settings name with those that callers can have.
type scopeCheck struct {
	cfg *config.Config
	// keys are the API keys that have not expired.
	keys []auth.APIKey
	// named are the scopes that settings require or inspect.
	named []config.NeededScope
	out   io.Writer
}

// held returns the scopes of all keys.
func (x *scopeCheck) held() (all []string) {
	for i := range x.keys {
		all = append(all, x.keys[i].Scopes...)
	}
	return all
}

// has reports whether one of the scopes is, or includes, the one that is needed.
func (x *scopeCheck) has(scopes []string, need *config.NeededScope) bool {
	if !need.Exact {
		scopes = x.cfg.IncludedScopes(scopes)
	}
	return slices.Contains(scopes, need.Scope)
}

// reportUnheld writes the scopes that no key has, if keys are the only credentials.
func (x *scopeCheck) reportUnheld() {
	for i := range x.named {
		if need := &x.named[i]; !need.Approver && !x.has(x.held(), need) { // there are no approvers without an issuer
			x.line("note", "%s: no API key has the scope %q, and there is no issuer: %s", need.Setting, need.Scope, need.Effect)
		}
	}
}

// reportUnsupported writes the scopes that are neither supported by an issuer nor held by a key;
// keys do not count for approvers. The scopes of operators and approvers may be unpublished on
// purpose, so these are notes only if they resemble another scope, and otherwise information.
func (x *scopeCheck) reportUnsupported(supported []string) {
	for i := range x.named {
		need, known, keys := &x.named[i], supported, ""
		if !need.Approver {
			known, keys = slices.Concat(supported, x.held()), ", and no API key has it"
		}
		if x.has(known, need) {
			continue
		}
		meant := config.Nearest(need.Scope, known)
		kind := "note"
		if (need.Setting == config.AdminScope || need.Approver) && meant == "" {
			kind = "info"
		}
		x.line(kind, "%s: the scope %q is not in auth.metadata.scopes-supported, which lists the scopes for clients%s%s", need.Setting, need.Scope, keys, scopeSuggestion(meant))
	}
}

// reportUnnamed writes the scopes of keys that no setting names. Backends may use them, so that is
// a note only if the scope resembles another one.
func (x *scopeCheck) reportUnnamed() {
	known := slices.Concat(x.cfg.Auth.Metadata.ScopesSupported, x.cfg.Auth.Metadata.InitialScopes)
	for i := range x.named {
		known = append(known, x.named[i].Scope)
	}
	if o := x.cfg.Admin.Auth; o != nil && o.Scope != "" { // a client certificate may suffice instead
		known = append(known, o.Scope)
	}
	if p := x.cfg.Policy; p != nil {
		for above, below := range p.Hierarchy {
			known = append(append(known, above), below...)
		}
	}
	slices.Sort(known)
	seen := map[[2]string]bool{}
	for i := range x.keys {
		for _, scope := range x.keys[i].Scopes {
			of := [2]string{x.keys[i].Name, scope}
			if slices.Contains(known, scope) || seen[of] {
				continue
			}
			seen[of] = true
			meant := config.Nearest(scope, known)
			kind := "note"
			if meant == "" {
				kind = "info"
			}
			x.line(kind, "auth.api-keys: %q has the scope %q, which no setting names%s", of[0], scope, scopeSuggestion(meant))
		}
	}
}

// checkRoles writes the roles that conditions name and no key has, if keys are the only credentials.
// It also writes the roles of keys that no condition names. Backends may use the latter, so that is
// a note only if the role resembles another one.
func (x *scopeCheck) checkRoles() {
	needed, more := x.cfg.ConditionRoles()
	var held, looked []string
	for i := range x.keys {
		held = append(held, x.keys[i].Roles...)
	}
	for _, need := range needed {
		looked = append(looked, need.Role)
		if len(x.cfg.Auth.Issuers) == 0 && !need.Approver && !slices.Contains(held, need.Role) {
			x.line("note", "%s: no API key has the role %q, and there is no issuer: the condition finds it in no caller%s", need.Setting, need.Role, scopeSuggestion(config.Nearest(need.Role, held)))
		}
	}
	if more || len(looked) == 0 {
		return
	}
	noted := map[[2]string]bool{}
	for i := range x.keys {
		for _, role := range x.keys[i].Roles {
			of := [2]string{x.keys[i].Name, role}
			if slices.Contains(looked, role) || noted[of] {
				continue
			}
			noted[of] = true
			meant := config.Nearest(role, looked)
			kind := "note"
			if meant == "" {
				kind = "info"
			}
			x.line(kind, "auth.api-keys: %q has the role %q, which no condition of the policy looks for%s", of[0], role, scopeSuggestion(meant))
		}
	}
}

// line writes a line of a kind, note or info.
func (x *scopeCheck) line(kind, format string, args ...any) {
	_, _ = fmt.Fprintf(x.out, "%-8s"+format+"\n", append([]any{kind}, args...)...)
}

// scopeSuggestion returns a question that suggests a scope; empty if scope is empty.
func scopeSuggestion(scope string) string {
	if scope == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", scope)
}
