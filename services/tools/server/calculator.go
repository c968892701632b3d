package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/services/tools/expr"
)

type arithmetic struct {
	Expression string `json:"expression" title:"Expression" minLength:"1" maxLength:"1000" description:"What to compute, such as 2 * (3 + 4)^2 or sqrt(2) / sin(pi/4)"`
}

type arithmeticResult struct {
	Result     float64 `json:"result" description:"The value"`
	Expression string  `json:"expression" description:"What was computed"`
}

func addCalculator(s *capability.Server) {
	capability.AddTool(s, "calculator_arithmetic",
		"Computes an arithmetic expression with + - * / % ^, parentheses, and these names: "+
			strings.Join(expr.Names(), ", ")+". Angles are in radians; log is to the base 10 unless a second argument says otherwise.",
		calculate, readOnlyOptions("Calculator", capability.OutputType[arithmeticResult]())...)
}

func calculate(_ context.Context, _ *capability.Call, in arithmetic) (*capability.Result, error) {
	value, err := expr.Evaluate(in.Expression)
	if err != nil {
		return nil, fmt.Errorf("the expression %.200q cannot be computed: %w", in.Expression, err)
	}
	return &capability.Result{
		Content:    []*capability.Content{capability.Text(expr.Format(value))},
		Structured: arithmeticResult{Result: value, Expression: in.Expression},
	}, nil
}
