package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// callerVariables are the variables of a Value: those of the principal.
var callerVariables = []string{varSubject, varIssuer, varClient, varIsClient, varScopes, varRoles, varClaims, varAnonymous}

// Value is a CEL expression that computes a text from a principal, such as principal.claims.tenant
// or "team-" + principal.roles[0]. It has the variables of rules that begin with principal. Safe
// for concurrent use.
type Value struct {
	text    string
	program cel.Program
	claims  []string
	// attributes are the other variables that the expression inspects, sorted.
	attributes []string
	// list reports that the expression has the type list. A claim whose value is a list does not
	// make it one.
	list bool
}

// CompileValue compiles an expression. It returns an error for an invalid syntax or type, and for
// claims whose names are not constant.
func CompileValue(text string) (*Value, error) { return compileValue(text, check) }

// CompileOwnedValue is CompileValue for a value of the catalog, which may be an owner's. It fails
// if the estimated cost exceeds MaxRuleCost. MaxDecisionCost bounds the evaluation.
func CompileOwnedValue(text string) (*Value, error) { return compileValue(text, checkBounded) }

func compileValue(text string, check checking) (*Value, error) {
	env, err := newEnv(slices.Values(callerVariables))
	if err != nil {
		return nil, err
	}
	checked, options, err := check(env, text)
	if err != nil {
		return nil, err
	}
	switch checked.OutputType().Kind() {
	case types.StringKind, types.BoolKind, types.IntKind, types.UintKind, types.DoubleKind, types.ListKind, types.DynKind:
	default:
		return nil, fmt.Errorf("it is of type %s: write one that gives a text, a number, a boolean, or a list of texts", checked.OutputType())
	}
	u := uses{variables: map[string]bool{}}
	u.add(checked.NativeRep())
	if u.allClaims {
		return nil, errors.New("it uses all claims: name each claim, such as principal.claims.tenant")
	}
	program, err := env.Program(checked, append(options, cel.EvalOptions(cel.OptOptimize))...)
	if err != nil {
		return nil, err
	}
	delete(u.variables, varClaims)
	return &Value{text: text, program: program, claims: u.claims, attributes: sortedKeys(u.variables), list: checked.OutputType().Kind() == types.ListKind}, nil
}

// String returns the expression.
func (v *Value) String() string { return v.text }

// Claims returns the sorted names of the claims in Principal.Forwarded that the expression
// inspects.
func (v *Value) Claims() []string { return v.claims }

// Attributes returns the sorted variables that the expression inspects, such as principal.subject,
// except for the claims.
func (v *Value) Attributes() []string { return v.attributes }

// Of evaluates the expression for a principal. Numbers and booleans are formatted as in JSON, and
// the texts of a list are joined with spaces. null and an empty list give an empty text. It returns
// an error if the principal lacks the claim, if a claim is not a text, number or boolean, and if a
// text in a list is empty or has a space, which would make it ambiguous.
func (v *Value) Of(who *mcp.Principal) (string, error) {
	forwarded := *who
	forwarded.Claims = who.Forwarded
	out, _, err := v.program.Eval(&values{who: &forwarded, target: &Target{}})
	if err != nil {
		return "", err
	}
	list, ok := out.(traits.Lister)
	if !v.list || !ok {
		return textOf(out)
	}
	var all []string
	for i := list.Iterator(); i.HasNext() == types.True; {
		text, ok := i.Next().(types.String)
		if !ok {
			return "", errors.New("it is a list with elements other than texts")
		}
		if text == "" || strings.ContainsFunc(string(text), unicode.IsSpace) {
			return "", fmt.Errorf("its list has an empty text, or one with a space: %.80q", string(text))
		}
		all = append(all, string(text))
	}
	return strings.Join(all, " "), nil
}

// JSON evaluates the expression for a principal, and returns a JSON string, number or boolean. It
// returns an error for other results, including null, and if the principal lacks the claim.
func (v *Value) JSON(who *mcp.Principal) (json.RawMessage, error) {
	given := *who
	given.Claims = who.Forwarded
	out, _, err := v.program.Eval(&values{who: &given, target: &Target{}})
	if err != nil {
		return nil, err
	}
	switch x := out.(type) {
	case types.String:
		return jsonrpc.AppendString(nil, string(x)), nil
	case types.Null:
		return nil, errors.New("it is null")
	}
	text, err := textOf(out)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(text), nil
}

func textOf(v ref.Val) (string, error) {
	switch v := v.(type) {
	case types.String:
		return string(v), nil
	case types.Bool, types.Int, types.Uint:
		return fmt.Sprint(v.Value()), nil
	case types.Double:
		if f := float64(v); f != math.Trunc(f) || math.Abs(f) >= exactBelow {
			return strconv.FormatFloat(f, 'g', -1, 64), nil
		}
		return strconv.FormatFloat(float64(v), 'f', 0, 64), nil
	case types.Null:
		return "", nil
	}
	return "", fmt.Errorf("it is of type %s, not a text, number or boolean", v.Type().TypeName())
}
