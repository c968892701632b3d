package policy

import (
	"maps"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// CallerVariables returns the sorted variables of the principal that a condition inspects and that
// are empty for an anonymous caller. It returns nil for a condition that also inspects
// principal.anonymous, because it handles such callers, and for one that does not compile.
func CallerVariables(when string) []string {
	env, err := newEnv(maps.Keys(variables))
	if err != nil {
		return nil
	}
	checked, err := checkText(env, when)
	if err != nil {
		return nil
	}
	u := uses{variables: map[string]bool{}}
	u.add(checked.NativeRep())
	if u.variables[varAnonymous] {
		return nil
	}
	var out []string
	for _, name := range callerVariables {
		if u.variables[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// ClaimsOf returns the sorted names of the claims that a condition inspects. all is true if it
// inspects claims whose names are not constant. For a condition that does not compile, it returns
// nil and false.
func ClaimsOf(when string) (names []string, all bool) {
	env, err := newEnv(maps.Keys(variables))
	if err != nil {
		return nil, false
	}
	checked, err := checkText(env, when)
	if err != nil {
		return nil, false
	}
	u := uses{variables: map[string]bool{}}
	u.add(checked.NativeRep())
	return u.claims, u.allClaims
}

// Claims is the variable of the claims of a caller's token.
const Claims = varClaims

// ScopesOf returns the sorted scopes that a condition names, as in "mcp:read" in principal.scopes.
// more reports that it also inspects the caller's scopes in other ways. For a condition that does
// not compile both are empty.
func ScopesOf(when string) (named []string, more bool) { return namesIn(when, varScopes) }

// RolesOf is ScopesOf for the caller's roles.
func RolesOf(when string) (named []string, more bool) { return namesIn(when, varRoles) }

// namesIn returns the sorted texts that a condition looks for in a variable, a list.
func namesIn(when, variable string) (named []string, more bool) {
	env, err := newEnv(maps.Keys(variables))
	if err != nil {
		return nil, false
	}
	compiled, err := checkText(env, when)
	if err != nil {
		return nil, false
	}
	checked := compiled.NativeRep()
	for _, e := range ast.MatchDescendants(ast.NavigateAST(checked), func(e ast.NavigableExpr) bool {
		ref, ok := checked.ReferenceMap()[e.ID()]
		return ok && ref.Name == variable
	}) {
		if scope, ok := testedConstant(e); ok {
			named = append(named, scope)
		} else {
			more = true
		}
	}
	slices.Sort(named)
	return slices.Compact(named), more
}

// testedConstant returns the constant whose presence in the list e is tested. It returns false if e is
// used otherwise.
func testedConstant(e ast.NavigableExpr) (string, bool) {
	parent, ok := e.Parent()
	if !ok || parent.Kind() != ast.CallKind {
		return "", false
	}
	call := parent.AsCall()
	if call.FunctionName() != operators.In || len(call.Args()) != 2 || call.Args()[1].ID() != e.ID() || call.Args()[0].Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := call.Args()[0].AsLiteral().Value().(string)
	return text, ok
}
