package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/policy"
)

// NeededScope is a scope that a setting requires of callers.
type NeededScope struct {
	// Setting is the key, and Effect what follows where no caller has the Scope.
	Setting, Scope, Effect string
	// Exact means that no scope which includes it will do.
	Exact bool
}

// AdminScope is the setting of a scope that the admin address requires.
const AdminScope = "admin-auth: scope"

// NeededScopes returns the scopes that the policy and the admin address require, in the order of the settings.
func (c *Config) NeededScopes() (out []NeededScope) {
	if c.Policy != nil {
		for i, s := range c.Policy.Scopes {
			for _, scope := range s.Need {
				out = append(out, NeededScope{Setting: fmt.Sprintf("policy: scopes[%d]: need", i), Scope: scope, Effect: "the rule refuses every caller"})
			}
		}
	}
	if o := c.AdminAuth; o != nil && o.Scope != "" && !o.ClientCert {
		out = append(out, NeededScope{Setting: AdminScope, Scope: o.Scope, Effect: "no caller can use the admin address", Exact: true})
	}
	return out
}

// ConditionScopes returns the scopes that the policy's conditions look for in callers by name. more reports that a condition inspects
// callers' scopes in other ways, too.
func (c *Config) ConditionScopes() (out []NeededScope, more bool) {
	if c.Policy == nil {
		return nil, false
	}
	for i, r := range c.Policy.Rules {
		named, others := policy.ScopesOf(r.When)
		more = more || others
		for _, scope := range named {
			out = append(out, NeededScope{Setting: fmt.Sprintf("policy: rules[%d] %s", i, r.Name), Scope: scope, Effect: "the condition finds it in no caller", Exact: true})
		}
	}
	return out, more
}

// IncludedScopes returns scopes and all that they include by the policy's hierarchy.
func (c *Config) IncludedScopes(scopes []string) []string {
	if c.Policy == nil {
		return scopes
	}
	return policy.Included(c.policySettings().Hierarchy, scopes)
}

// unobtainable says, a sentence each, which settings need a caller that is known, where there is no auth, so that nobody is.
func (c *Config) unobtainable() (notes []string) {
	if c.Auth != nil {
		return c.unobtainableMetadata()
	}
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, need := range c.NeededScopes() {
		note("%s: there is no auth, so no caller has the scope %q: %s", need.Setting, need.Scope, need.Effect)
	}
	if c.Policy != nil {
		for i, r := range c.Policy.Rules {
			if used := policy.CallerVariables(r.When); len(used) > 0 {
				note("policy: rules[%d] %s: there is no auth, so every caller is anonymous and has no %s", i, r.Name, strings.Join(used, ", "))
			}
		}
	}
	return append(notes, c.unobtainableMetadata()...)
}

// unobtainableMetadata says, a sentence each, which values of metadata no caller has.
func (c *Config) unobtainableMetadata() (notes []string) {
	why := "there is no auth, and an anonymous caller does not have it"
	switch {
	case c.Auth == nil:
	case len(c.Auth.Issuers) == 0:
		why = "auth has no issuers, and a caller with an API key has no claims"
	default:
		return nil
	}
	note := func(place string, of *Backend, backends string) {
		for _, key := range slices.Sorted(maps.Keys(of.Metadata)) {
			if v := of.Metadata[key]; v.From != "" && !c.hasWithoutClaims(v.From) {
				notes = append(notes, fmt.Sprintf("%s: metadata.%s: from: %s: every call of %s is refused", place, key, why, backends))
			}
		}
	}
	for i := range c.Backends {
		note(fmt.Sprintf("backends[%d] %s", i, c.Backends[i].Name), &c.Backends[i], "the backend")
	}
	if c.Kubernetes != nil {
		note("kubernetes", c.Kubernetes.Backend(), "the backends")
	}
	return notes
}

// hasWithoutClaims reports whether a caller without claims has the value of an expression, which is valid: an anonymous one, or one with an API key
// where there is auth.
func (c *Config) hasWithoutClaims(from string) bool {
	value, err := policy.CompileValue(from)
	if err != nil {
		return true
	}
	if c.Auth != nil && len(value.Claims()) == 0 {
		return true
	}
	text, err := value.Of(new(mcp.Principal))
	return err == nil && text != ""
}
