package app

import (
	"fmt"
	"io"
	"slices"

	"github.com/mcpedge/mcpedge/edge/auth"
	"github.com/mcpedge/mcpedge/edge/config"
)

// tellScopes writes, one line each, which scopes that the settings name may be mistyped: those that no caller can have, or that clients
// are not told of, and those of API keys that nothing names.
func tellScopes(cfg *config.Config, a *auth.Authenticator, out io.Writer) {
	named, all := cfg.ConditionScopes()
	named = slices.Concat(cfg.NeededScopes(), named)
	x := scopeCheck{cfg: cfg, keys: a.ValidKeys(), named: named, out: out}
	switch supported := cfg.Auth.Metadata.ScopesSupported; {
	case len(cfg.Auth.Issuers) == 0:
		x.tellUnheld()
	case len(supported) > 0:
		x.tellUnsupported(supported)
	}
	// What a condition makes of other scopes is unknown, and without any the scopes of keys are for others.
	if !all && len(named) > 0 {
		x.tellUnnamed()
	}
}

// scopeCheck compares the scopes that settings name with those that callers can have.
type scopeCheck struct {
	cfg *config.Config
	// keys are the API keys that have not expired.
	keys []auth.APIKey
	// named are the scopes that settings require or look for.
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

// tellUnheld writes the scopes that no key has, where keys are the only credentials.
func (x *scopeCheck) tellUnheld() {
	for i := range x.named {
		if need := &x.named[i]; !x.has(x.held(), need) {
			x.line("note", "%s: no API key has the scope %q, and there is no issuer: %s", need.Setting, need.Scope, need.Effect)
		}
	}
}

// tellUnsupported writes the scopes that clients are not told to ask for, and that no key has either. One for operators is
// legitimately not told, so that it is a note only where it is like another.
func (x *scopeCheck) tellUnsupported(supported []string) {
	known := slices.Concat(supported, x.held())
	for i := range x.named {
		need := &x.named[i]
		if x.has(known, need) {
			continue
		}
		meant := config.Nearest(need.Scope, known)
		kind := "note"
		if need.Setting == config.AdminScope && meant == "" {
			kind = "info"
		}
		x.line(kind, "%s: the scope %q is not in auth.metadata.scopes-supported, which clients are told of, and no API key has it%s", need.Setting, need.Scope, orMeant(meant))
	}
}

// tellUnnamed writes the scopes of keys that no setting names. A backend may want them, so that one is a note only where it is like
// another.
func (x *scopeCheck) tellUnnamed() {
	known := slices.Concat(x.cfg.Auth.Metadata.ScopesSupported, x.cfg.Auth.Metadata.InitialScopes)
	for i := range x.named {
		known = append(known, x.named[i].Scope)
	}
	if p := x.cfg.Policy; p != nil {
		for above, below := range p.Hierarchy {
			known = append(append(known, above), below...)
		}
	}
	slices.Sort(known)
	told := map[[2]string]bool{}
	for i := range x.keys {
		for _, scope := range x.keys[i].Scopes {
			of := [2]string{x.keys[i].Name, scope}
			if slices.Contains(known, scope) || told[of] {
				continue
			}
			told[of] = true
			meant := config.Nearest(scope, known)
			kind := "note"
			if meant == "" {
				kind = "info"
			}
			x.line(kind, "auth.api-keys: %q has the scope %q, which no setting names%s", of[0], scope, orMeant(meant))
		}
	}
}

// line writes a line of a kind, note or info.
func (x *scopeCheck) line(kind, format string, args ...any) {
	_, _ = fmt.Fprintf(x.out, "%-8s"+format+"\n", append([]any{kind}, args...)...)
}

// orMeant asks whether a scope was meant; empty without one.
func orMeant(scope string) string {
	if scope == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %q?", scope)
}
