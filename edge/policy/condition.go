package policy

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
)

// costLimit bounds the evaluation of a condition that iterates over lists or matches regular
// expressions, in CEL's units of about a function call each. Exceeding it is an error. Other
// conditions are bounded by the number of their operators and the size of the request, and counting
// their cost would double it.
const costLimit = 100_000

// Variables. One that a target does not have is the zero value of its type.
const (
	varSubject   = "principal.subject"
	varIssuer    = "principal.issuer"
	varClient    = "principal.client_id"
	varIsClient  = "principal.subject_is_client"
	varScopes    = "principal.scopes"
	varRoles     = "principal.roles"
	varClaims    = "principal.claims"
	varAnonymous = "principal.anonymous"

	varMethod = "request.method"
	varSet    = "request.set"

	// varBackend is the backend of the target.
	varBackend = "backend"

	varTool        = "tool.name"
	varToolBackend = "tool.backend"
	varReadOnly    = "tool.annotations.read_only"
	varDestructive = "tool.annotations.destructive"
	varIdempotent  = "tool.annotations.idempotent"
	varOpenWorld   = "tool.annotations.open_world"

	varURI             = "resource.uri"
	varIsTemplate      = "resource.is_template"
	varResourceBackend = "resource.backend"
	varVars            = "resource.vars"

	varPrompt        = "prompt.name"
	varPromptBackend = "prompt.backend"

	varArguments = "arguments"
)

// variables are the variables with their types. A misspelled one is an error when the policy is
// compiled.
var variables = map[string]*cel.Type{
	varSubject: cel.StringType, varIssuer: cel.StringType, varClient: cel.StringType, varIsClient: cel.BoolType, varAnonymous: cel.BoolType,
	varScopes: cel.ListType(cel.StringType), varRoles: cel.ListType(cel.StringType),
	varClaims: cel.MapType(cel.StringType, cel.DynType),
	varMethod: cel.StringType, varSet: cel.StringType, varBackend: cel.StringType,
	varTool: cel.StringType, varToolBackend: cel.StringType,
	varReadOnly: cel.BoolType, varDestructive: cel.BoolType, varIdempotent: cel.BoolType, varOpenWorld: cel.BoolType,
	varURI: cel.StringType, varIsTemplate: cel.BoolType, varResourceBackend: cel.StringType,
	varVars:   cel.MapType(cel.StringType, cel.StringType),
	varPrompt: cel.StringType, varPromptBackend: cel.StringType,
	varArguments: cel.MapType(cel.StringType, cel.DynType),
}

// newEnv returns a CEL environment with the named variables.
func newEnv(names iter.Seq[string]) (*cel.Env, error) {
	options := []cel.EnvOption{cel.CrossTypeNumericComparisons(true)}
	for name := range names {
		options = append(options, cel.Variable(name, variables[name]))
	}
	return cel.NewEnv(options...)
}

// condition is a compiled expression.
type condition struct {
	program cel.Program
	// partial evaluates the condition with unknown arguments and template variables. It is nil if
	// the condition does not inspect them.
	partial cel.Program
}

// uses are the variables and claims that the conditions of a policy inspect.
type uses struct {
	variables map[string]bool
	// claims are the sorted names of the claims. allClaims reports that a condition inspects claims
	// whose names are not constant.
	claims    []string
	allClaims bool
}

// checking parses and type-checks an expression, and returns the options of its program.
type checking func(env *cel.Env, text string) (*cel.Ast, []cel.ProgramOption, error)

// compile compiles a condition: with check one of the platform, with checkBounded one of an owner.
func compile(env *cel.Env, text string, u *uses, check checking) (condition, error) {
	checked, options, err := check(env, text)
	if err != nil {
		return condition{}, err
	}
	if t := checked.OutputType(); t != cel.BoolType {
		return condition{}, fmt.Errorf("it is of type %s: write one that is true or false, a claim or an argument with == true", t)
	}
	arguments := u.add(checked.NativeRep())
	program, err := env.Program(checked, append(options, cel.EvalOptions(cel.OptOptimize))...)
	if err != nil {
		return condition{}, err
	}
	c := condition{program: program}
	if arguments {
		c.partial, err = env.Program(checked, append(options, cel.EvalOptions(cel.OptOptimize, cel.OptPartialEval))...)
	}
	return c, err
}

// check parses and type-checks an expression. options make numbers exact and bound the cost of its
// evaluation.
func check(env *cel.Env, text string) (_ *cel.Ast, options []cel.ProgramOption, _ error) {
	checked, err := checkText(env, text)
	if err != nil {
		return nil, nil, err
	}
	options = []cel.ProgramOption{cel.CustomDecoratorV2(exactComparisons(checked.NativeRep()))}
	if isCostly(checked.NativeRep()) {
		options = append(options, cel.CostLimit(costLimit))
	}
	return checked, options, nil
}

// oneLine returns the errors of an expression, each with its column, in one line.
func oneLine(issues *cel.Issues) string {
	var all []string
	for _, e := range issues.Errors() {
		text, _, _ := strings.Cut(e.Message, " (in container")
		at := fmt.Sprintf("column %d", e.Location.Column()+1)
		if line := e.Location.Line(); line > 1 {
			at = fmt.Sprintf("line %d, %s", line, at)
		}
		all = append(all, at+": "+text)
	}
	return strings.Join(all, "; ")
}

// checkText is check without the options.
func checkText(env *cel.Env, text string) (*cel.Ast, error) {
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		var names []string
		for _, v := range env.Variables() {
			if variables[v.Name()] != nil {
				names = append(names, v.Name())
			}
		}
		slices.Sort(names)
		about := ""
		for _, name := range unknown(env, text, names) {
			about += fmt.Sprintf("there is no variable %s; ", name)
		}
		return nil, fmt.Errorf("it is not a valid expression: %s%s; the variables are %s", about, oneLine(issues), strings.Join(names, ", "))
	}
	return checked, checkLiterals(checked.NativeRep(), text)
}

// unknown returns the dotted names in an expression that share their first part with a known
// variable but are none, such as principal.scope. CEL's own error names the first part only. It
// returns nil if the expression cannot be parsed.
func unknown(env *cel.Env, text string, known []string) []string {
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil
	}
	var out []string
	for _, e := range ast.MatchDescendants(ast.NavigateAST(parsed.NativeRep()), ast.KindMatcher(ast.SelectKind)) {
		if parent, ok := e.Parent(); ok && parent.Kind() == ast.SelectKind {
			continue
		}
		first, rest := splitSelection(e)
		if first == "" {
			continue
		}
		name := first + rest
		begins := slices.ContainsFunc(known, func(v string) bool { return strings.HasPrefix(v, first+".") })
		is := slices.ContainsFunc(known, func(v string) bool { return strings.HasPrefix(name+".", v+".") })
		if begins && !is && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// splitSelection returns a chain of selections such as a.b.c as its first name, a, and the rest, .b.c. Both
// are empty if the chain does not begin with a name.
func splitSelection(e ast.Expr) (first, rest string) {
	for ; e.Kind() == ast.SelectKind; e = e.AsSelect().Operand() {
		rest = "." + e.AsSelect().FieldName() + rest
	}
	if e.Kind() != ast.IdentKind {
		return "", ""
	}
	return e.AsIdent(), rest
}

// isCostly reports whether an expression may take more steps than it has operators.
func isCostly(checked *ast.AST) bool {
	return len(ast.MatchDescendants(ast.NavigateAST(checked), func(e ast.NavigableExpr) bool {
		return e.Kind() == ast.ComprehensionKind || e.Kind() == ast.CallKind && e.AsCall().FunctionName() == overloads.Matches
	})) > 0
}

// add records what an expression inspects. It reports whether that includes the arguments or the
// variables of a template.
func (u *uses) add(checked *ast.AST) (arguments bool) {
	root := ast.NavigateAST(checked)
	for _, e := range ast.MatchDescendants(root, func(e ast.NavigableExpr) bool {
		ref, ok := checked.ReferenceMap()[e.ID()]
		return ok && variables[ref.Name] != nil
	}) {
		name := checked.ReferenceMap()[e.ID()].Name
		u.variables[name] = true
		arguments = arguments || name == varArguments || name == varVars
		if name != varClaims {
			continue
		}
		claim, ok := claimOf(e)
		if !ok {
			u.allClaims = true
		} else if at, found := slices.BinarySearch(u.claims, claim); !found {
			u.claims = slices.Insert(u.claims, at, claim)
		}
	}
	return arguments
}

// claimOf returns the name of the claim that is selected from e, all claims, and false if it is not
// constant.
func claimOf(e ast.NavigableExpr) (string, bool) {
	parent, ok := e.Parent()
	if !ok {
		return "", false
	}
	switch parent.Kind() {
	case ast.SelectKind:
		return parent.AsSelect().FieldName(), true
	case ast.CallKind:
		call := parent.AsCall()
		if call.FunctionName() != operators.Index || len(call.Args()) != 2 || call.Args()[0].ID() != e.ID() || call.Args()[1].Kind() != ast.LiteralKind {
			return "", false
		}
		name, ok := call.Args()[1].AsLiteral().Value().(string)
		return name, ok
	}
	return "", false
}

// truth is the value of a condition.
type truth byte

const (
	isFalse truth = iota
	isTrue
	isOpen // it depends on unknown arguments
)

var errNotBool = errors.New("it is neither true nor false")

// holds evaluates a condition.
func (c *condition) holds(v *values) (truth, error) {
	t, _, err := c.cost(v)
	return t, err
}

// cost is holds with the cost of the evaluation. It is 0 if that is not counted, which is so for the
// platform's conditions.
func (c *condition) cost(v *values) (_ truth, cost uint64, _ error) {
	program := c.program
	var input any = v
	if !v.known && c.partial != nil {
		unknown := []*cel.AttributePatternType{cel.AttributePattern(varArguments)}
		if v.target.Kind == Template {
			unknown = append(unknown, cel.AttributePattern(varVars))
		}
		partial, err := cel.PartialVars(v, unknown...)
		if err != nil {
			return isFalse, 0, err
		}
		program, input = c.partial, partial
	}
	out, details, err := program.Eval(input)
	if actual := details.ActualCost(); actual != nil {
		cost = *actual
	}
	switch {
	case err != nil:
		return isFalse, cost, err
	case types.IsUnknown(out):
		return isOpen, cost, nil
	case out == types.True:
		return isTrue, cost, nil
	case out == types.False:
		return isFalse, cost, nil
	}
	return isFalse, cost, errNotBool
}
