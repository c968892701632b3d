package expr

import (
	"math"
	"slices"
	"strings"
)

var constants = map[string]float64{"pi": math.Pi, "e": math.E, "tau": 2 * math.Pi}

// function computes a value from its arguments, which are finite. Their number has been checked.
type function struct {
	least, most int // number of arguments; most 0 means no maximum
	// domain returns why the arguments have no real result, or "". nil means that all have one.
	domain  func(a []float64) string
	compute func(a []float64) float64
}

func one(f func(float64) float64) function {
	return function{1, 1, nil, func(a []float64) float64 { return f(a[0]) }}
}

func within(f func(float64) float64, why string, admits func(float64) bool) function {
	return function{1, 1, func(a []float64) string {
		if admits(a[0]) {
			return ""
		}
		return why + ", not " + Format(a[0])
	}, func(a []float64) float64 { return f(a[0]) }}
}

func positive(x float64) bool { return x > 0 }
func unsigned(x float64) bool { return x >= 0 }
func unit(x float64) bool     { return x >= -1 && x <= 1 }

func minOf(a []float64) float64 { return slices.Min(a) }
func maxOf(a []float64) float64 { return slices.Max(a) }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}

var functions = map[string]function{
	"sin": one(math.Sin), "cos": one(math.Cos), "tan": one(math.Tan), "atan": one(math.Atan),
	"asin": within(math.Asin, "needs a number from -1 to 1", unit),
	"acos": within(math.Acos, "needs a number from -1 to 1", unit),
	"sinh": one(math.Sinh), "cosh": one(math.Cosh), "tanh": one(math.Tanh),
	"atan2": {2, 2, nil, func(a []float64) float64 { return math.Atan2(a[0], a[1]) }},
	"hypot": {2, 2, nil, func(a []float64) float64 { return math.Hypot(a[0], a[1]) }},
	"sqrt":  within(math.Sqrt, "needs a number that is not negative", unsigned),
	"cbrt":  one(math.Cbrt),
	"abs":   one(math.Abs), "sign": one(sign), "exp": one(math.Exp),
	"ln":    within(math.Log, "needs a number above 0", positive),
	"log2":  within(math.Log2, "needs a number above 0", positive),
	"log10": within(math.Log10, "needs a number above 0", positive),
	"log":   {1, 2, logDomain, logarithm},
	"floor": one(math.Floor), "ceil": one(math.Ceil), "trunc": one(math.Trunc),
	"round": {1, 2, roundDomain, round},
	"min":   {1, 0, nil, minOf}, "max": {1, 0, nil, maxOf},
}

// Names returns the known names, sorted: constants, then functions with "()".
func Names() []string {
	var names, calls []string
	for name := range constants {
		names = append(names, name)
	}
	for name := range functions {
		calls = append(calls, name+"()")
	}
	slices.Sort(names)
	slices.Sort(calls)
	return append(names, calls...)
}

func logDomain(a []float64) string {
	switch {
	case a[0] <= 0:
		return "needs a number above 0, not " + Format(a[0])
	case len(a) == 2 && (a[1] <= 0 || a[1] == 1):
		return "needs a base above 0 other than 1, not " + Format(a[1])
	}
	return ""
}

// logarithm returns the logarithm to the base 10, or to the second argument.
func logarithm(a []float64) float64 {
	if len(a) == 1 {
		return math.Log10(a[0])
	}
	switch a[1] {
	case 2:
		return math.Log2(a[0])
	case 10:
		return math.Log10(a[0])
	}
	return math.Log(a[0]) / math.Log(a[1])
}

func roundDomain(a []float64) string {
	if len(a) == 2 && (a[1] != math.Trunc(a[1]) || math.Abs(a[1]) > 15) {
		return "rounds to a whole number of digits from -15 to 15, not to " + Format(a[1])
	}
	return ""
}

// round rounds half away from zero, to whole numbers or to the given number of decimal places.
func round(a []float64) float64 {
	if len(a) == 1 {
		return math.Round(a[0])
	}
	scale := math.Pow(10, math.Abs(a[1]))
	if a[1] < 0 {
		return math.Round(a[0]/scale) * scale
	}
	if scaled := math.Round(a[0] * scale); !math.IsInf(scaled, 0) {
		return scaled / scale
	}
	return a[0] // so large that it has no decimal places
}

// name evaluates a constant, or a function with its arguments.
func (p *parser) name(t token) (float64, error) {
	if value, ok := constants[t.text]; ok {
		return value, nil
	}
	f, ok := functions[t.text]
	if !ok {
		return 0, fail(t.position, "unknown name %q; known: %s", t.text, strings.Join(Names(), ", "))
	}
	opening := p.take()
	if !opening.is("(") {
		return 0, fail(opening.position, "unexpected %s; expected \"(\" after the function %q", opening, t.text)
	}
	arguments, err := p.arguments(opening)
	if err != nil {
		return 0, err
	}
	if n := len(arguments); n < f.least || (f.most > 0 && n > f.most) {
		return 0, fail(t.position, "%q takes %s, not %d", t.text, f.arity(), n)
	}
	if f.domain != nil {
		if why := f.domain(arguments); why != "" {
			return 0, fail(t.position, "%q %s", t.text, why)
		}
	}
	return finite(t, f.compute(arguments))
}

// arguments parses the arguments of a function up to its closing parenthesis.
func (p *parser) arguments(opening token) ([]float64, error) {
	if p.peek().is(")") {
		p.take()
		return nil, nil
	}
	var values []float64
	for {
		value, err := p.sum()
		if err != nil {
			return nil, err
		}
		values = append(values, value)
		switch t := p.take(); {
		case t.is(")"):
			return values, nil
		case !t.is(","):
			return nil, fail(t.position, "unexpected %s; expected an operator, \",\" or \")\" for the \"(\" at position %d", t, opening.position)
		}
	}
}

func (f function) arity() string {
	switch {
	case f.most == 0:
		return "one or more arguments"
	case f.least != f.most:
		return "one or two arguments"
	case f.least == 1:
		return "one argument"
	}
	return "two arguments"
}
