package policy

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

const (
	// exactBelow is the bound below which doubles represent all integers.
	exactBelow = 1 << 53
	// maxNumber bounds the text of a number, in bytes, and maxExponent the absolute value of its
	// exponent.
	maxNumber, maxExponent = 1 << 10, 1 << 30
)

// number converts a JSON number to a CEL value: a double that represents it exactly, else an int64
// or uint64, else a *decimal. Integers from 2^53 on are int64 or uint64 if they fit. Texts of the
// same number give equal values. The error means that the number exceeds maxNumber or maxExponent.
func number(text string) (any, error) {
	if len(text) <= 15 && !strings.ContainsAny(text, "eE") { // a double represents 15 digits
		return strconv.ParseFloat(text, 64)
	}
	if len(text) > maxNumber {
		return nil, fmt.Errorf("a number has %d characters, and numbers of at most %d are compared: send a shorter one", len(text), maxNumber)
	}
	d, err := parseDecimal(text)
	if err != nil {
		return nil, err
	}
	f, _ := strconv.ParseFloat(text, 64) // infinite if too large
	if math.Abs(f) < exactBelow {
		if d.compare(decimalOf(f)) == 0 {
			return f, nil
		}
		return d, nil
	}
	if whole, ok := d.integer(); ok {
		if n, err := strconv.ParseInt(whole, 10, 64); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(whole, 10, 64); err == nil {
			return n, nil
		}
	}
	if !math.IsInf(f, 0) && d.compare(decimalOf(f)) == 0 {
		return f, nil
	}
	return d, nil
}

// IsDouble reports whether a double represents a JSON number exactly.
func IsDouble(text string) bool {
	if len(text) <= 15 && !strings.ContainsAny(text, "eE") {
		return true
	}
	if len(text) > maxNumber {
		return false
	}
	d, err := parseDecimal(text)
	f, _ := strconv.ParseFloat(text, 64)
	return err == nil && !math.IsInf(f, 0) && d.compare(decimalOf(f)) == 0
}

// decimal is a number that no double, int64 or uint64 represents exactly. It implements ref.Val: it
// is equal to the same decimal only, and ordered exactly among all numbers. It has no arithmetic.
type decimal struct {
	negative bool
	// digits have no zeros at either end; empty means 0. The number is 0.digits × 10^exponent.
	digits   string
	exponent int
}

// parseDecimal parses a number in the notation of JSON or CEL.
func parseDecimal(text string) (*decimal, error) {
	d := &decimal{}
	rest, negative := strings.CutPrefix(text, "-")
	mantissa, exponent := rest, 0
	if at := strings.IndexAny(rest, "eE"); at >= 0 {
		n, err := strconv.Atoi(rest[at+1:])
		if err != nil || n > maxExponent || n < -maxExponent {
			return nil, fmt.Errorf("the number %.64s has an exponent beyond %d: send another", text, maxExponent)
		}
		mantissa, exponent = rest[:at], n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d.exponent = exponent + len(whole) - (len(whole) + len(fraction) - len(digits))
	if d.digits = strings.TrimRight(digits, "0"); d.digits == "" {
		return &decimal{}, nil
	}
	d.negative = negative
	return d, nil
}

// decimalOf converts a finite double: an integer exactly, others by the shortest text that parses
// to it.
func decimalOf(f float64) *decimal {
	text := strconv.FormatFloat(f, 'e', -1, 64)
	if math.Abs(f) >= exactBelow {
		text = strconv.FormatFloat(f, 'f', 0, 64)
	}
	d, _ := parseDecimal(text) // text is always valid
	return d
}

// integer returns the number without point and exponent, if it is an integer of at most 20 digits.
func (d *decimal) integer() (string, bool) {
	if d.exponent < len(d.digits) || d.exponent > 20 {
		return "", false
	}
	text := d.digits + strings.Repeat("0", d.exponent-len(d.digits))
	if d.negative {
		text = "-" + text
	}
	return text, true
}

// compare returns -1, 0 or 1.
func (d *decimal) compare(e *decimal) int {
	sign := func(d *decimal) int {
		switch {
		case d.digits == "":
			return 0
		case d.negative:
			return -1
		}
		return 1
	}
	s := sign(d)
	switch other := sign(e); {
	case s < other:
		return -1
	case s > other:
		return 1
	case s == 0:
		return 0
	case d.exponent != e.exponent:
		if d.exponent < e.exponent {
			return -s
		}
		return s
	}
	return s * strings.Compare(d.digits, e.digits)
}

// String returns the number in the notation of JSON.
func (d *decimal) String() string {
	sign := ""
	if d.negative {
		sign = "-"
	}
	return sign + "0." + d.digits + "e" + strconv.Itoa(d.exponent)
}

var _ ref.Val = (*decimal)(nil)

// decimalType is the type of a decimal. CEL's own functions do not treat it as a number.
var decimalType = types.NewObjectType("mcpedge.Decimal")

// ConvertToNative implements ref.Val.
func (d *decimal) ConvertToNative(reflect.Type) (any, error) { return nil, d.misfit() }

// ConvertToType implements ref.Val.
func (d *decimal) ConvertToType(t ref.Type) ref.Val {
	switch t {
	case types.StringType:
		return types.String(d.String())
	case types.TypeType:
		return decimalType
	}
	return types.WrapErr(d.misfit())
}

// Equal implements ref.Val.
func (d *decimal) Equal(other ref.Val) ref.Val { return equal(d, other) }

// Type implements ref.Val.
func (d *decimal) Type() ref.Type { return decimalType }

// Value implements ref.Val.
func (d *decimal) Value() any { return d }

func (d *decimal) misfit() error {
	return fmt.Errorf("the number %.64s has more digits than a double or an integer of 64 bits: it can be compared only", d)
}

// compareNumbers compares exactly. ok is false if one of the values is not a number. unordered is
// true if one is NaN.
func compareNumbers(a, b ref.Val) (order int, unordered, ok bool) {
	switch x := a.(type) {
	case types.Int:
		switch y := b.(type) {
		case types.Int:
			return compareOrdered(x, y), false, true
		case types.Uint:
			if x < 0 {
				return -1, false, true
			}
			return compareOrdered(types.Uint(x), y), false, true
		}
	case types.Uint:
		switch y := b.(type) {
		case types.Uint:
			return compareOrdered(x, y), false, true
		case types.Int:
			order, unordered, ok = compareNumbers(b, a)
			return -order, unordered, ok
		}
	case types.Double:
		if y, is := b.(types.Double); is {
			return compareOrdered(x, y), math.IsNaN(float64(x)) || math.IsNaN(float64(y)), true
		}
	}
	x, infiniteX, isX := decimalFrom(a)
	y, infiniteY, isY := decimalFrom(b)
	switch {
	case !isX || !isY:
		return 0, false, false
	case x == nil || y == nil:
		return 0, true, true
	case infiniteX != 0 || infiniteY != 0: // the other is a decimal, which is finite
		return infiniteX - infiniteY, false, true
	}
	return x.compare(y), false, true
}

func compareOrdered[T types.Int | types.Uint | types.Double](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// decimalFrom converts a number to a decimal. d is nil for NaN, and 0 for an infinity. infinite is
// the sign of an infinity, else 0.
func decimalFrom(v ref.Val) (d *decimal, infinite int, ok bool) {
	switch v := v.(type) {
	case *decimal:
		return v, 0, true
	case types.Int:
		d, _ = parseDecimal(strconv.FormatInt(int64(v), 10))
		return d, 0, true
	case types.Uint:
		d, _ = parseDecimal(strconv.FormatUint(uint64(v), 10))
		return d, 0, true
	case types.Double:
		f := float64(v)
		switch {
		case math.IsNaN(f):
			return nil, 0, true
		case math.IsInf(f, 1):
			return &decimal{}, 1, true
		case math.IsInf(f, -1):
			return &decimal{}, -1, true
		}
		return decimalOf(f), 0, true
	}
	return nil, 0, false
}
