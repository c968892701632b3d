package expr

import "math"

// parser is a recursive-descent parser that evaluates while parsing.
type parser struct {
	tokens []token
	at     int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.at] }

// take returns the next token and advances, except at the end.
func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != endToken {
		p.at++
	}
	return t
}

// enter descends one level. Each successful call needs a leave.
func (p *parser) enter() error {
	if p.depth++; p.depth > MaxDepth {
		return fail(p.peek().position, "the expression nests deeper than %d levels; split it up", MaxDepth)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// sum = product { ("+" | "-") product }
func (p *parser) sum() (float64, error) {
	value, err := p.product()
	for err == nil && (p.peek().is("+") || p.peek().is("-")) {
		operator := p.take()
		var right float64
		if right, err = p.product(); err != nil {
			break
		}
		if operator.text == "-" {
			right = -right
		}
		value, err = finite(operator, value+right)
	}
	return value, err
}

// product = signed { ("*" | "/" | "%") signed }
func (p *parser) product() (float64, error) {
	value, err := p.signed()
	for err == nil && (p.peek().is("*") || p.peek().is("/") || p.peek().is("%")) {
		operator := p.take()
		var right float64
		if right, err = p.signed(); err != nil {
			break
		}
		switch {
		case operator.text == "*":
			value, err = finite(operator, value*right)
		case right == 0:
			err = fail(operator.position, "division by zero")
		case operator.text == "/":
			value, err = finite(operator, value/right)
		default:
			value = math.Mod(value, right)
		}
	}
	return value, err
}

// signed = ("-" | "+") signed | power
func (p *parser) signed() (float64, error) {
	if err := p.enter(); err != nil {
		return 0, err
	}
	defer p.leave()
	switch {
	case p.peek().is("-"):
		p.take()
		value, err := p.signed()
		return -value, err
	case p.peek().is("+"):
		p.take()
		return p.signed()
	}
	return p.power()
}

// power = operand [ "^" signed ]
func (p *parser) power() (float64, error) {
	base, err := p.operand()
	if err != nil || !p.peek().is("^") {
		return base, err
	}
	operator := p.take()
	exponent, err := p.signed()
	if err != nil {
		return 0, err
	}
	return raise(operator, base, exponent)
}

func raise(at token, base, exponent float64) (float64, error) {
	if base == 0 && exponent < 0 {
		return 0, fail(at.position, "division by zero: 0 to the power of %s", Format(exponent))
	}
	if base < 0 && exponent != math.Trunc(exponent) {
		return 0, fail(at.position, "a negative number (%s) to the power of a fraction (%s) is not a real number", Format(base), Format(exponent))
	}
	return finite(at, math.Pow(base, exponent))
}

// operand = number | name [ "(" [ sum { "," sum } ] ")" ] | "(" sum ")"
func (p *parser) operand() (float64, error) {
	t := p.take()
	switch {
	case t.kind == numberToken:
		return t.number, nil
	case t.kind == nameToken:
		return p.name(t)
	case t.is("("):
		value, err := p.sum()
		if err != nil {
			return 0, err
		}
		return value, p.close(t)
	}
	return 0, fail(t.position, "unexpected %s; expected a number, a name or \"(\"", t)
}

// close consumes the parenthesis that closes the opening one.
func (p *parser) close(opening token) error {
	if t := p.take(); !t.is(")") {
		return fail(t.position, "unexpected %s; expected an operator, or \")\" for the \"(\" at position %d", t, opening.position)
	}
	return nil
}

// finite returns value, or an error if it is not a finite number.
func finite(at token, value float64) (float64, error) {
	switch {
	case math.IsNaN(value):
		return 0, fail(at.position, "%q has no defined result here", at.text)
	case math.IsInf(value, 0):
		return 0, fail(at.position, "overflow: the result of %q is beyond ±1.8e308", at.text)
	}
	return value, nil
}
