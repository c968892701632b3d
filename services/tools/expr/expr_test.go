package expr

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestEvaluate(t *testing.T) {
	for text, want := range map[string]float64{
		"1+2*3":                    7,
		"(1+2)*3":                  9,
		"2^3^2":                    512,
		"-2^2":                     -4,
		"(-2)^2":                   4,
		"2^-2":                     0.25,
		"2**3":                     8,
		"--3":                      3,
		"-+-3":                     3,
		"7%4":                      3,
		"-7%4":                     -3,
		"10/4":                     2.5,
		"6 × 7 ÷ 2 − 1":            20,
		".5 + 1. + 1e2 + 1.5E-1":   101.65,
		"8/2/2":                    2,
		"10-3-2":                   5,
		"sqrt(16) + abs(-2)":       6,
		"sin(0) + cos(0) + tan(0)": 1,
		"asin(1)":                  math.Pi / 2,
		"acos(-1)":                 math.Pi,
		"atan(1)*4":                math.Pi,
		"ATAN2(0, -1)":             math.Pi,
		"ln(e)":                    1,
		"log(1000)":                3,
		"log(8, 2)":                3,
		"log2(8) + log10(100)":     5,
		"exp(0)":                   1,
		"floor(-1.5) + ceil(1.2)":  0,
		"round(2.5) + round(-2.5)": 0,
		"round(3.14159, 2)":        3.14,
		"round(1234, -2)":          1200,
		"trunc(-1.7)":              -1,
		"sign(-3) + sign(0)":       -1,
		"cbrt(27) + hypot(3, 4)":   8,
		"min(3, 1, 2) + max(1, 5)": 6,
		"pi":                       math.Pi,
		"tau / 2":                  math.Pi,
		"  2\t*\n3 ":               6,
		"0 * -1":                   0,
		"max(min(1,2), sqrt(2)^2)": math.Sqrt2 * math.Sqrt2,
		strings.Repeat("(", 90) + "1" + strings.Repeat(")", 90): 1,
	} {
		got, err := Evaluate(text)
		if err != nil || math.Abs(got-want) > 1e-12 || math.Signbit(got) != (got < 0) {
			t.Errorf("Evaluate(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestEvaluateErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                              `at position 1: unexpected end of the expression; expected a number, a name or "("`,
		"1 +":                           `at position 4: unexpected end of the expression; expected a number, a name or "("`,
		"1 2":                           `at position 3: unexpected "2"; expected an operator or the end`,
		"2(3)":                          `at position 2: unexpected "("; expected an operator or the end`,
		"(1 + 2":                        `at position 7: unexpected end of the expression; expected an operator, or ")" for the "(" at position 1`,
		"1)":                            `at position 2: unexpected ")"; expected an operator or the end`,
		"1 / 0":                         `at position 3: division by zero`,
		"5 % (1-1)":                     `at position 3: division by zero`,
		"0^-1":                          `at position 2: division by zero`,
		"(-8)^(1/3)":                    `at position 5: a negative number (-8) to the power of a fraction`,
		"10^400":                        `at position 3: overflow`,
		"1e400":                         `at position 1: the number 1e400 is too large`,
		"1.2.3":                         `at position 1: "1.2.3" is not a number`,
		"1e":                            `at position 1: "1e" is not a number`,
		".":                             `at position 1: "." is not a number`,
		"exp(1000)":                     `at position 1: overflow`,
		"sqrt(-1)":                      `at position 1: "sqrt" needs a number that is not negative, not -1`,
		"ln(0)":                         `at position 1: "ln" needs a number above 0, not 0`,
		"log(8, 1)":                     `at position 1: "log" needs a base above 0 other than 1, not 1`,
		"log(0, 2)":                     `at position 1: "log" needs a number above 0, not 0`,
		"1 + acos(2)":                   `at position 5: "acos" needs a number from -1 to 1, not 2`,
		"round(1, 99)":                  `at position 1: "round" rounds to a whole number of digits`,
		"sin":                           `at position 4: unexpected end of the expression; expected "(" after the function "sin"`,
		"sin()":                         `at position 1: "sin" takes one argument, not 0`,
		"sin(1, 2)":                     `at position 1: "sin" takes one argument, not 2`,
		"max()":                         `at position 1: "max" takes one or more arguments, not 0`,
		"atan2(1)":                      `at position 1: "atan2" takes two arguments, not 1`,
		"max(1,)":                       `at position 7: unexpected ")"; expected a number`,
		"max(1 2)":                      `at position 7: unexpected "2"; expected an operator, "," or ")" for the "(" at position 4`,
		"foo + 1":                       `at position 1: unknown name "foo"; known: e, pi, tau, abs(), `,
		"pi(2)":                         `at position 3: unexpected "("`,
		"é + 1":                         `at position 1: unexpected character 'é'`,
		"1 & 2":                         `at position 3: unexpected character '&'`,
		"\xff":                          `at position 1: the expression is not valid UTF-8`,
		strings.Repeat("1", 1001):       `at position 1001: the expression has 1001 characters`,
		strings.Repeat("(", 500):        `at position 101: the expression nests deeper than 100 levels`,
		strings.Repeat("-", 500):        `at position 101: the expression nests deeper than 100 levels`,
		strings.Repeat("2^", 499) + "2": `the expression nests deeper than 100 levels`,
	} {
		_, err := Evaluate(text)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("Evaluate(%.40q): %v; want %q", text, err, want)
		}
	}
}

func TestFormat(t *testing.T) {
	for value, want := range map[float64]string{
		42: "42", -0.5: "-0.5", 1e20: "100000000000000000000", 1e21: "1e+21", 1e-7: "1e-07", 0: "0", 123456.789: "123456.789",
	} {
		if got := Format(value); got != want {
			t.Errorf("Format(%v) = %q, want %q", value, got, want)
		}
	}
}

func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"1+2*3", "sin(pi)^-2", "max(1,,2)", "((((", "1e999", "2**-.5", "×÷−", "log(8,2)%0", "--1", "e^e^e^e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := Evaluate(text)
		if err == nil {
			if math.IsNaN(value) || math.IsInf(value, 0) {
				t.Fatalf("Evaluate(%q) = %v", text, value)
			}
			return
		}
		var e *Error
		if !errors.As(err, &e) || e.Message == "" || e.Position < 1 || e.Position > len([]rune(text))+1 {
			t.Fatalf("Evaluate(%q): %#v", text, err)
		}
	})
}
