// Package expr evaluates arithmetic expressions over 64-bit floating-point numbers.
//
// Operators in order of precedence, lowest first: + and -; *, / and % (remainder with the sign of
// the dividend); unary + and -; ^ (power, right-associative: 2^3^2 is 2^9, and -2^2 is -4). ×, ÷, −
// and ** are aliases of *, /, - and ^. Numbers are decimal with an optional exponent.
// Multiplication needs an operator. Names are those of Names; case is ignored.
package expr

import (
	"fmt"
	"math"
	"strconv"
)

const (
	// MaxLength is the maximum length of an expression, in characters.
	MaxLength = 1000
	// MaxDepth is the maximum nesting of parentheses, functions, powers and signs.
	MaxDepth = 100
)

// Error describes an error in an expression and its position.
type Error struct {
	// Position is the position in characters, from 1.
	Position int
	// Message describes the error and the expected input.
	Message string
}

// Error returns the position and the message.
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

// Format formats a value without an exponent if it is from 1e-6 to below 1e21, and with one
// otherwise.
func Format(value float64) string {
	if size := math.Abs(value); size != 0 && (size < 1e-6 || size >= 1e21) {
		return strconv.FormatFloat(value, 'e', -1, 64)
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}
