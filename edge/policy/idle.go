package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"

	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/internal/pattern"
)

// Idle returns notes on names in valid settings that match nothing that exists: names and patterns
// of the scopes, and texts that conditions compare names with. Other ways of matching are not
// checked. It also returns notes on rules that never decide because an earlier one always does.
func (s *Settings) Idle(targets []Target) (notes []string) {
	exists := func(kinds []Kind, holds func(*Target) bool) bool {
		return slices.ContainsFunc(targets, func(t Target) bool { return slices.Contains(kinds, t.Kind) && holds(&t) })
	}
	for i, one := range s.Scopes {
		for _, part := range []struct { // URIs that are not listed may exist, so resources are skipped
			key      string
			patterns []string
			kind     Kind
		}{{"tools", one.Tools, Tool}, {"prompts", one.Prompts, Prompt}} {
			for n, p := range pattern.NewList(part.patterns) {
				if !exists([]Kind{part.kind}, func(t *Target) bool { return p.Match(t.Name) }) {
					notes = append(notes, fmt.Sprintf("policy: scopes[%d]: %s: no backend lists what %q names", i, part.key, part.patterns[n]))
				}
			}
		}
	}
	for i, r := range s.Rules {
		if behind := len(s.Rules) - 1 - i; strings.TrimSpace(r.When) == "true" && behind > 0 {
			notes = append(notes, fmt.Sprintf("policy: rules[%d] %s: its condition always holds, so that none of the %d behind it decides: put it last", i, r.Name, behind))
			break
		}
	}
	env, err := newEnv(maps.Keys(variables))
	if err != nil {
		return notes
	}
	note := func(list string, i int, name, when string) {
		for _, named := range compared(env, when) {
			of := named.of()
			if reads(named.text) && named.variable == varTool && !exists(of.kinds, func(t *Target) bool { return t.Name == named.text }) {
				notes = append(notes, fmt.Sprintf("policy: %s[%d] %s: %s: %q is a tool of the edge, which no condition decides about: a read through "+
					"%q is resources/read, for which rules have resource.uri, and confirmations do not apply", list, i, name, named.variable, named.text, mcp.ToolReadResource))
				continue
			}
			if of.value != nil && !exists(of.kinds, func(t *Target) bool { return of.value(t) == named.text }) {
				notes = append(notes, fmt.Sprintf("policy: %s[%d] %s: %s: no backend has %q", list, i, name, named.variable, named.text))
			}
		}
	}
	for i, r := range s.Rules {
		note("rules", i, r.Name, r.When)
	}
	for i, c := range s.Confirm {
		note("confirm", i, c.Name, c.When)
	}
	for i, a := range s.Approve {
		note("approve", i, a.Name, a.When)
	}
	return notes
}

// reads reports whether a name is that of a tool of the edge which finds, lists or reads.
func reads(name string) bool {
	return name == mcp.ToolReadResource || name == mcp.ToolListResources || name == mcp.ToolFind
}

// comparison is a comparison of a variable with a text in a condition.
type comparison struct{ variable, text string }

// named returns the kinds of targets for which a variable has a value, and their values. nil means
// that the values cannot be enumerated.
type named struct {
	kinds []Kind
	value func(*Target) string
}

func (c comparison) of() named {
	name, backend := func(t *Target) string { return t.Name }, func(t *Target) string { return t.Backend }
	switch c.variable {
	case varTool:
		return named{[]Kind{Tool}, name}
	case varPrompt:
		return named{[]Kind{Prompt}, name}
	case varToolBackend:
		return named{[]Kind{Tool}, backend}
	case varPromptBackend:
		return named{[]Kind{Prompt}, backend}
	case varResourceBackend:
		return named{[]Kind{Resource, Template}, backend}
	case varBackend:
		return named{[]Kind{Tool, Prompt, Resource, Template}, backend}
	}
	return named{} // URIs that are not listed may exist
}

// compared returns the comparisons of variables with texts in an expression, by == or by in.
func compared(env *cel.Env, text string) (out []comparison) {
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		return nil
	}
	root := checked.NativeRep()
	variable := func(e ast.Expr) string {
		if ref := root.ReferenceMap()[e.ID()]; ref != nil {
			return ref.Name
		}
		return ""
	}
	for _, e := range ast.MatchDescendants(ast.NavigateAST(root), ast.KindMatcher(ast.CallKind)) {
		args := e.AsCall().Args()
		if len(args) != 2 {
			continue
		}
		switch e.AsCall().FunctionName() {
		case operators.Equals:
			for n := range args {
				if s, ok := literal(args[1-n]); ok && variable(args[n]) != "" {
					out = append(out, comparison{variable(args[n]), s})
				}
			}
		case operators.In:
			if args[1].Kind() != ast.ListKind || variable(args[0]) == "" {
				continue
			}
			for _, item := range args[1].AsList().Elements() {
				if s, ok := literal(item); ok {
					out = append(out, comparison{variable(args[0]), s})
				}
			}
		}
	}
	return out
}

// literal returns the text of an expression that is a text literal, else false.
func literal(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().Value().(string)
	return s, ok
}
