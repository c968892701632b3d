package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// callerVariables are those of a Value: what is known of a caller whatever it asks for.
var callerVariables = []string{varSubject, varIssuer, varClient, varIsClient, varScopes, varRoles, varClaims, varAnonymous}

// Value is an expression over a principal that gives text, such as principal.claims.tenant or "team-" + principal.roles[0]. Its variables are the
// principal's of rules. Safe for concurrent use.
type Value struct {
	text    string
	program cel.Program
	claims  []string
	// list: it is a list of texts, such as principal.roles. A claim that turns out to be a list is no text.
	list bool
}

// CompileValue compiles an expression. The error says what is wrong with it: its syntax or type, or that it does not name the claims that it
// looks at.
func CompileValue(text string) (*Value, error) {
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
		return nil, errors.New("it looks at all claims: name each, as principal.claims.tenant")
	}
	program, err := env.Program(checked, append(options, cel.EvalOptions(cel.OptOptimize))...)
	if err != nil {
		return nil, err
	}
	return &Value{text: text, program: program, claims: u.claims, list: checked.OutputType().Kind() == types.ListKind}, nil
}

// String is the expression.
func (v *Value) String() string { return v.text }

// Claims are the names of the claims, of Principal.Forwarded, that it looks at, sorted.
func (v *Value) Claims() []string { return v.claims }

// Of is the value that a principal has: a text, a number or a boolean as JSON writes it, or, of an expression
// that is a list such as principal.roles, its texts with spaces between them. It is empty where that is null or has nothing. An error says why there
// is none, as that the principal has no such claim, or that the claim is a list.
func (v *Value) Of(who *mcp.Principal) (string, error) {
	told := *who
	told.Claims = who.Forwarded
	out, _, err := v.program.Eval(&values{who: &told, target: &Target{}})
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
			return "", errors.New("it is a list of other things than texts")
		}
		all = append(all, string(text))
	}
	return strings.Join(all, " "), nil
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
	return "", fmt.Errorf("it is of type %s, and no text, number or boolean", v.Type().TypeName())
}
