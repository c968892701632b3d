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

// Settings are a policy as it is written. The zero value allows everything.
type Settings struct {
	// Default is what happens where no rule holds: Allow, Hide or Deny; empty: Allow, which is possible without Rules only.
	Default Effect
	// Hierarchy says which scopes a scope includes, and with them those that they include.
	Hierarchy map[string][]string
	// Scopes say what operations need. The first that is about an operation does; an operation that none is about needs no
	// scope.
	Scopes []Scopes
	// Rules in their order: the first whose condition holds decides.
	Rules []Rule
	// Lists says which entries that a caller could use with more scopes are listed; empty: Obtainable.
	Lists Lists
}

// Scopes are what operations need.
type Scopes struct {
	// Tools, Prompts and Resources are patterns of names and URIs: * is any text without a slash, ** any text. Templates
	// of resources are matched by their own text. All empty: every operation.
	Tools, Prompts, Resources []string
	// Need are the scopes, all of them. Empty: none is needed.
	Need []string
}

// Rule is a condition and what follows.
type Rule struct {
	// Name in metrics and explanations; not empty, and no two rules have the same.
	Name string
	// When is an expression of type bool.
	When string
	// Then is Allow, Hide or Deny.
	Then Effect
}

// Effect is what a policy does with an operation.
type Effect string

// The effects.
const (
	// Allow lets it happen.
	Allow Effect = "allow"
	// Hide answers as if there were nothing of that name.
	Hide Effect = "hide"
	// Deny refuses it openly, and does not list it.
	Deny Effect = "deny"
	// StepUp refuses it until the caller has further scopes. No rule has it.
	StepUp Effect = "step-up"
)

// Lists says what of what needs further scopes is listed.
type Lists string

// What lists show.
const (
	// Obtainable: what the caller could use, with further scopes if need be.
	Obtainable Lists = "obtainable"
	// Allowed: what the caller can use.
	Allowed Lists = "allowed"
)

// RuleDefault stands for the rule's name where none held.
const RuleDefault = "default"

// RuleScopes stands for the rule's name where scopes are lacking.
const RuleScopes = "scopes"

// validate reports everything that is wrong but in the conditions.
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
		if !r.Then.ofRule() {
			wrong("rules[%d] %s: then: %q: use allow, hide or deny", i, r.Name, r.Then)
		}
	}
	for i, one := range s.Scopes {
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
	for _, above := range slices.Sorted(maps.Keys(s.Hierarchy)) {
		for _, scope := range append([]string{above}, s.Hierarchy[above]...) {
			if why := mcp.NotScope(scope); why != "" {
				wrong("hierarchy: %q %s", scope, why)
			}
		}
		if slices.Contains(included(s.Hierarchy, s.Hierarchy[above]), above) {
			wrong("hierarchy: %q includes itself by way of those that it includes: take one of them out", above)
		}
	}
	return errors.Join(errs...)
}

func (e Effect) ofRule() bool { return e == Allow || e == Hide || e == Deny }

// included are scopes and all that they include, in the order in which they are met.
func included(hierarchy map[string][]string, scopes []string) []string {
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
