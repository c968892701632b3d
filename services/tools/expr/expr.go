// Package expr evaluates arithmetic expressions over 64-bit floating-point numbers.
//
// In order of binding, loosest first: + and -; *, / and % (the remainder, with the sign of the
// dividend); unary + and -; ^ (a power, grouped from the right: 2^3^2 is 2^9, and -2^2 is -4). ×, ÷,
// − and ** are other spellings of *, /, - and ^. Numbers are decimal, with an optional exponent.
// Multiplication is always written out. Names, whatever the case, are those of Names.
package expr

import (
	"fmt"
	"math"
	"strconv"
)

const (
	// MaxLength bounds an expression, in characters.
	MaxLength = 1000
	// MaxDepth bounds how deep parentheses, functions, powers and signs nest.
	MaxDepth = 100
)

// Error says what is wrong with an expression, and where.
type Error struct {
	// Position counts characters from 1.
	Position int
	// Message says what is wrong there, and what would be right.
	Message string
}

// Error returns position and message.
func (e *Error) Error() string { return fmt.Sprintf("at position %d: %s", e.Position, e.Message) }

func fail(position int, format string, args ...any) error {
	return &Error{Position: position, Message: fmt.Sprintf(format, args...)}
}

// Evaluate returns the value of an expression: a finite number, never negative zero. The error is
// always an *Error.
func Evaluate(text string) (float64, error) {
	tokens, err := scan(text)
	if err != nil {
		return 0, err
	}
	p := &parser{tokens: tokens}
	value, err := p.sum()
	if err != nil {
		return 0, err
	}
	if t := p.peek(); t.kind != endToken {
		return 0, fail(t.position, "unexpected %s; expected an operator or the end of the expression", t)
	}
	return value + 0, nil // -0 + 0 is 0
}

// Format writes a value as Evaluate returns it: in full, and with an exponent only below 1e-6 and
// from 1e21 on.
func Format(value float64) string {
	if size := math.Abs(value); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(value, 'e', -1, 64)
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}
