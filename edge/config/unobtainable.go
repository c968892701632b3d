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
	// Setting is the key that requires Scope. Effect is the consequence if no caller has the scope.
	Setting, Scope, Effect string
	// Exact means that a scope which includes it does not suffice.
	Exact bool
	// Approver means that only approvers need it, whose credentials are tokens of issuers.
	Approver bool
}

// AdminScope is the NeededScope.Setting of the admin address.
const AdminScope = "admin.auth: scope"

// NeededScopes returns the scopes that the policy, the sets and the admin address require, in the order of
// the settings.
func (c *Config) NeededScopes() (out []NeededScope) {
	approves := false
	c.eachPolicy(func(p *Policy, placed func(string) string) {
		approves = approves || len(p.Approve) > 0
		for i, s := range p.Scopes {
			for _, scope := range s.Need {
				out = append(out, NeededScope{Setting: placed(fmt.Sprintf("policy: scopes[%d]: need", i)), Scope: scope, Effect: "the rule refuses every caller"})
			}
		}
	})
	c.eachSet(func(name string, s *Set, placed func(string) string) {
		for _, scope := range s.Scopes {
			out = append(out, NeededScope{Setting: placed("sets." + name + ".scopes"), Scope: scope, Effect: "no caller can use the set"})
		}
	})
	if o := c.Admin.Auth; o != nil && o.Scope != "" && !o.ClientCert {
		out = append(out, NeededScope{Setting: AdminScope, Scope: o.Scope, Effect: "no caller can use the admin address", Exact: true})
	}
	if o := c.Admin.Auth; o != nil && approves {
		out = append(out, NeededScope{Setting: "admin.auth: approve-scope", Scope: o.ScopeOfApprovers(), Effect: "no call can be approved", Exact: true, Approver: true})
	}
	return out
}

// ConditionScopes returns the scopes that conditions of the policy name. more reports that a
// condition also uses callers' scopes in other ways.
func (c *Config) ConditionScopes() (out []NeededScope, more bool) {
	for _, one := range c.conditions() {
		named, others := policy.ScopesOf(one.text)
		more = more || others
		for _, scope := range named {
			out = append(out, NeededScope{Setting: one.setting, Scope: scope, Effect: "the condition finds it in no caller", Exact: true, Approver: one.ofApprovers})
		}
	}
	return out, more
}

// ConditionRoles returns the roles that conditions of the policy name. more reports that a
// condition also uses callers' roles in other ways.
func (c *Config) ConditionRoles() (out []NeededRole, more bool) {
	for _, one := range c.conditions() {
		named, others := policy.RolesOf(one.text)
		more = more || others
		for _, role := range named {
			out = append(out, NeededRole{Setting: one.setting, Role: role, Approver: one.ofApprovers})
		}
	}
	return out, more
}

// NeededRole is a role that the condition of a setting names.
type NeededRole struct {
	Setting, Role string
	// Approver means that only approvers need it, whose credentials are tokens of issuers.
	Approver bool
}

// condition is an expression of the policy about callers, or about approvers.
type condition struct {
	// setting begins a note about it, with its place if it is in a file of Include.
	setting, text string
	ofApprovers   bool
}

// conditions returns the expressions of the policy: those of rules, confirmations and approvals.
func (c *Config) conditions() (out []condition) {
	c.eachPolicy(func(p *Policy, placed func(string) string) {
		add := func(list string, i int, name, text string) {
			out = append(out, condition{setting: placed(fmt.Sprintf("policy: %s[%d] %s", list, i, name)), text: text})
		}
		for i, r := range p.Rules {
			add("rules", i, r.Name, r.When)
		}
		for i, o := range p.Confirm {
			add("confirm", i, o.Name, o.When)
		}
		for i, a := range p.Approve {
			add("approve", i, a.Name, a.When)
			if a.Approvers != "" {
				add("approve", i, a.Name+": approvers", a.Approvers)
				out[len(out)-1].ofApprovers = true
			}
		}
	})
	return out
}

// IncludedScopes returns scopes and those that they include by the policy's hierarchy.
func (c *Config) IncludedScopes(scopes []string) []string {
	if c.Policy == nil {
		return scopes
	}
	return policy.Included(c.policySettings().Hierarchy, scopes)
}

// unobtainable returns a note for each setting that requires authenticated callers although auth is
// not set.
func (c *Config) unobtainable() (notes []string) {
	if c.Auth != nil {
		return slices.Concat(c.unobtainableClaims(), c.unobtainableMetadata(), c.unobtainablePins())
	}
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, need := range c.NeededScopes() {
		note("%s: there is no auth, so no caller has the scope %q: %s", need.Setting, need.Scope, need.Effect)
	}
	for _, one := range c.conditions() {
		if used := policy.CallerVariables(one.text); len(used) > 0 {
			note("%s: there is no auth, so every caller is anonymous and has no %s", one.setting, strings.Join(used, ", "))
		}
	}
	c.eachSet(func(name string, s *Set, placed func(string) string) {
		if s.When == nil {
			return
		}
		if used := policy.CallerVariables(*s.When); len(used) > 0 {
			note("%s: there is no auth, so every caller is anonymous and has no %s", placed("sets."+name+".when"), strings.Join(used, ", "))
		}
	})
	return slices.Concat(notes, c.unobtainableMetadata(), c.unobtainablePins())
}

// unobtainableClaims returns a note for each condition on claims that no caller has, if all callers have
// API keys.
func (c *Config) unobtainableClaims() (notes []string) {
	if len(c.Auth.Issuers) > 0 {
		return nil
	}
	for _, one := range c.conditions() {
		names, _ := policy.ClaimsOf(one.text)
		if !one.ofApprovers && slices.Contains(policy.CallerVariables(one.text), policy.Claims) && !c.keysHaveClaims(names) {
			notes = append(notes, fmt.Sprintf("%s: auth has no issuers, and no API key has all of the claims %s", one.setting, strings.Join(names, ", ")))
		}
	}
	return notes
}

// noIssuer returns the reason for which no caller has a value of an expression, or an empty text if
// callers may have one.
func (c *Config) noIssuer(from string) string {
	switch {
	case c.Auth == nil:
		return "there is no auth, and an anonymous caller does not have it"
	case len(c.Auth.Issuers) > 0:
		return ""
	}
	value, err := policy.CompileValue(from)
	if err != nil || c.keysHaveClaims(value.Claims()) {
		return ""
	}
	return "auth has no issuers, and no API key has all of the claims " + strings.Join(value.Claims(), ", ")
}

// unobtainablePins returns a note for each pinned argument that no caller can have.
func (c *Config) unobtainablePins() (notes []string) {
	check := func(s *Catalog, placed func(string) string) {
		note := func(place string, arguments map[string]CatalogArgument) {
			for _, name := range slices.Sorted(maps.Keys(arguments)) {
				from, effect := arguments[name].From, "is"
				if arguments[name].Mode == modeAudit {
					effect = "would be"
				}
				if from == "" || c.hasWithoutClaims(from) {
					continue
				}
				if why := c.noIssuer(from); why != "" {
					notes = append(notes, placed(fmt.Sprintf("%s: arguments.%s: from: %s: every call %s refused", place, name, why, effect)))
				}
			}
		}
		for i := range s.Tools {
			note(fmt.Sprintf("catalog.tools[%d]", i), s.Tools[i].Arguments)
		}
		for i := range s.Prompts {
			note(fmt.Sprintf("catalog.prompts[%d]", i), s.Prompts[i].Arguments)
		}
	}
	if c.Catalog != nil {
		check(c.Catalog, unplaced)
	}
	c.inForce(func(_ *Include, p *part) { check(p.catalog(), p.text.locate) })
	return notes
}

// eachPolicy calls fn for Policy and for the rules, scopes and approvals of the files of Include. placed prefixes
// a note with its place in a file of Include.
func (c *Config) eachPolicy(fn func(p *Policy, placed func(note string) string)) {
	if c.Policy != nil {
		fn(c.Policy, unplaced)
	}
	c.inForce(func(_ *Include, p *part) {
		s := &p.settings.Policy
		fn(&Policy{Rules: s.Rules, Scopes: s.Scopes, Approve: s.Approve}, p.text.locate)
	})
}

// unplaced returns a note about the settings file, which Locator places.
func unplaced(note string) string { return note }

// unobtainableMetadata returns a note for each value of metadata that no caller can have.
func (c *Config) unobtainableMetadata() (notes []string) {
	note := func(place string, of *Backend, backends string) {
		for _, key := range slices.Sorted(maps.Keys(of.Metadata)) {
			from := of.Metadata[key].From
			if from == "" || c.hasWithoutClaims(from) {
				continue
			}
			if why := c.noIssuer(from); why != "" {
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
	for i, b := range c.serviceEntries() {
		note(fmt.Sprintf("kubernetes.backends[%d] %s", i, b.Name), &b, "the backends")
	}
	return notes
}

// hasWithoutClaims reports whether a valid expression has a value for a caller without claims: an
// anonymous one or, if auth is set, one with an API key.
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
