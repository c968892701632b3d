package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Settings are the settings of a policy. The zero value allows everything.
type Settings struct {
	// Default is the effect if no condition is true: Allow, Hide or Deny. Empty allows, and is
	// valid without Rules only.
	Default Effect
	// Hierarchy maps a scope to the scopes that it includes. Inclusion is transitive.
	Hierarchy map[string][]string
	// Scopes are the required scopes of operations. The first element that applies to an operation
	// decides. An operation to which none applies requires no scope.
	Scopes []Scopes
	// Rules are evaluated in order. The first one whose condition is true decides.
	Rules []Rule
	// Lists selects the listed entries. Empty means Obtainable.
	Lists Lists
	// Restrictions apply to what Rules allow.
	Restrictions []Restriction `json:",omitempty"`
	// Confirm are the confirmations for calls that all of the above allow. Each one whose condition
	// is true applies.
	Confirm []Confirm `json:",omitempty"`
	// Approve are the approvals for these calls. Each one whose condition is true applies.
	Approve []Approve `json:",omitempty"`
}

// Scopes are the scopes that some operations require.
type Scopes struct {
	// Tools, Prompts and Resources are patterns for names and URIs: * matches any text without a
	// slash, ** any text. A resource template is matched by its own text. If all are empty, the
	// scopes apply to every operation.
	Tools, Prompts, Resources []string
	// Need are the required scopes. Empty requires none.
	Need []string
}

// Rule is a condition with its effect.
type Rule struct {
	// Name identifies the rule in metrics and explanations. It is unique and not empty.
	Name string
	// When is a CEL expression of type bool.
	When string
	// Then is Allow, Hide or Deny.
	Then Effect
	// Mode is Enforce or Audit. Empty means Enforce.
	Mode Mode `json:",omitempty"`
}

// Effect is the effect of a decision.
type Effect string

// Effects.
const (
	// Allow allows the operation.
	Allow Effect = "allow"
	// Hide answers the operation as if its target did not exist.
	Hide Effect = "hide"
	// Deny refuses the operation and removes its target from lists.
	Deny Effect = "deny"
	// StepUp refuses the operation until the caller has more scopes. Rules cannot use it.
	StepUp Effect = "step-up"
)

// Lists selects the objects that lists show to a caller.
type Lists string

// Values of Lists.
const (
	// Obtainable lists the objects that the caller may use, possibly after a step-up.
	Obtainable Lists = "obtainable"
	// Allowed lists the objects that the caller may use with the present scopes.
	Allowed Lists = "allowed"
)

// RuleDefault is the name of the rule in decisions if no condition was true.
const RuleDefault = "default"

// RuleScopes is the name of the rule in decisions if scopes are missing.
const RuleScopes = "scopes"

// validate returns an error with all invalid settings. It does not compile the conditions.
func (s *Settings) validate() error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case s.Default == "" && len(s.Rules) > 0:
		wrong("default: it is missing, and needed where there are rules: say allow, hide or deny")
	case s.Default != "" && !s.Default.ofRule():
		wrong("default: %q: use allow, hide or deny", s.Default)
	}
	if s.Lists != "" && s.Lists != Obtainable && s.Lists != Allowed {
		wrong("lists: %q: use obtainable or allowed", s.Lists)
	}
	names := map[string]bool{RuleDefault: true, RuleScopes: true}
	for i, r := range s.Rules {
		switch {
		case r.Name == "" || strings.ContainsFunc(r.Name, func(c rune) bool { return !unicode.IsPrint(c) }):
			wrong("rules[%d]: name: %q: give the rule a name, of characters that can be printed", i, r.Name)
		case r.Name == RuleDefault || r.Name == RuleScopes:
			wrong("rules[%d]: name: %q is what decisions without a rule are called: give the rule another", i, r.Name)
		case names[r.Name]:
			wrong("rules[%d]: name: %q is used twice: give each rule its own", i, r.Name)
		}
		names[r.Name] = true
		if r.Mode.wrong() {
			wrong("rules[%d] %s: mode: %q: use enforce or audit", i, r.Name, r.Mode)
		}
		if !r.Then.ofRule() {
			wrong("rules[%d] %s: then: %q: use allow, hide or deny", i, r.Name, r.Then)
		}
	}
	for _, r := range s.Restrictions {
		for _, one := range r.Rules {
			if name := r.Qualified(one.Name); names[name] {
				wrong("restrictions of %s: the name %q is that of another rule, too: give each its own", r.Owner, name)
			} else {
				names[name] = true
			}
		}
	}
	errs = append(errs, invalidScopes(s.Scopes)...)
	for _, above := range slices.Sorted(maps.Keys(s.Hierarchy)) {
		for _, scope := range append([]string{above}, s.Hierarchy[above]...) {
			if why := mcp.NotScope(scope); why != "" {
				wrong("hierarchy: %q %s", scope, why)
			}
		}
		if slices.Contains(Included(s.Hierarchy, s.Hierarchy[above]), above) {
			wrong("hierarchy: %q includes itself by way of those that it includes: take one of them out", above)
		}
	}
	return errors.Join(errs...)
}

// invalidScopes returns the errors of required scopes.
func invalidScopes(list []Scopes) (errs []error) {
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for i, one := range list {
		for _, p := range slices.Concat(one.Tools, one.Prompts, one.Resources) {
			if p == "" {
				wrong("scopes[%d]: a pattern is empty: write a name or a URI, with * or ** for any text", i)
			}
		}
		for _, scope := range one.Need {
			if why := mcp.NotScope(scope); why != "" {
				wrong("scopes[%d]: need: %q %s", i, scope, why)
			}
		}
	}
	return errs
}

func (e Effect) ofRule() bool { return e == Allow || e == Hide || e == Deny }

// Included returns scopes and all that they include by a hierarchy, in the order in which they are
// met.
func Included(hierarchy map[string][]string, scopes []string) []string {
	out := slices.Clone(scopes)
	for i := 0; i < len(out); i++ {
		for _, s := range hierarchy[out[i]] {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}
