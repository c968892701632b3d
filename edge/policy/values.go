package policy

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// values are the variables of one decision. It implements interpreter.Activation.
type values struct {
	who    *mcp.Principal
	target *Target
	// arguments, if they are known.
	arguments map[string]any
	known     bool
	// claims, args and vars are the values of the maps. nil means that they were not needed yet.
	claims, args, vars ref.Val
}

// variables returns the variables of the template: those of the matched URI or, for a completion,
// its arguments.
func (v *values) variables() ref.Val {
	if v.vars != nil {
		return v.vars
	}
	vars := v.target.variables()
	if v.target.Kind == Template {
		vars = make(map[string]string, len(v.arguments))
		for name, value := range v.arguments {
			if text, ok := value.(string); ok {
				vars[name] = text
			}
		}
	}
	v.vars = types.NewStringStringMap(types.DefaultTypeAdapter, vars)
	return v.vars
}

var _ interpreter.Activation = (*values)(nil)

// Parent implements interpreter.Activation.
func (v *values) Parent() interpreter.Activation { return nil }

// ResolveName implements interpreter.Activation.
func (v *values) ResolveName(name string) (any, bool) {
	of := func(k Kind, text string) string {
		if v.target.Kind == k || k == Resource && v.target.Kind == Template {
			return text
		}
		return ""
	}
	tool := v.target.Kind == Tool
	switch name {
	case varSubject:
		return v.who.Subject, true
	case varIssuer:
		return v.who.Issuer, true
	case varClient:
		return v.who.Client, true
	case varIsClient:
		return v.who.SubjectIsClient, true
	case varScopes:
		return v.who.Scopes, true
	case varRoles:
		return v.who.Roles, true
	case varClaims:
		if v.claims == nil {
			v.claims = types.NewDynamicMap(claims, v.who.Claims)
		}
		return v.claims, true
	case varAnonymous:
		return v.who.Anonymous(), true
	case varMethod:
		return string(v.target.Method), true
	case varSet:
		return v.target.Set, true
	case varBackend:
		return v.target.Backend, true
	case varTool:
		return of(Tool, v.target.Name), true
	case varToolBackend:
		return of(Tool, v.target.Backend), true
	case varReadOnly:
		return tool && v.target.Hints.ReadOnly, true
	case varDestructive:
		return tool && v.target.Hints.Destructive, true
	case varIdempotent:
		return tool && v.target.Hints.Idempotent, true
	case varOpenWorld:
		return tool && v.target.Hints.OpenWorld, true
	case varURI:
		return of(Resource, v.target.Name), true
	case varIsTemplate:
		return v.target.Kind == Template, true
	case varResourceBackend:
		return of(Resource, v.target.Backend), true
	case varVars:
		return v.variables(), true
	case varPrompt:
		return of(Prompt, v.target.Name), true
	case varPromptBackend:
		return of(Prompt, v.target.Backend), true
	case varArguments:
		if v.args == nil {
			v.args = types.NewStringInterfaceMap(types.DefaultTypeAdapter, v.arguments)
		}
		return v.args, true
	}
	return nil, false
}
