// Package numbers has JSON numbers for tests of argument decoding, in all libraries and in services
// without a library.
package numbers

import "math/big"

// Number is one number.
type Number struct {
	// Text is the JSON of the number.
	Text string
	// integer is its value if it is an integer (JSON Schema 2020-12: without a fraction, however it
	// is written). Empty means that it is not an integer.
	integer string
	// Double is the nearest double.
	Double float64
}

// Integer returns the value, or nil if the number is not an integer.
func (n Number) Integer() *big.Int {
	i, ok := new(big.Int).SetString(n.integer, 10)
	if !ok {
		return nil
	}
	return i
}

// Within reports whether the number is an integer from least to most, inclusive.
func (n Number) Within(least, most string) bool {
	i := n.Integer()
	return i != nil && i.Cmp(Number{integer: least}.Integer()) >= 0 && i.Cmp(Number{integer: most}.Integer()) <= 0
}

// All are the numbers.
var All = []Number{
	{"1", "1", 1},
	{"5.0", "5", 5},
	{"1e2", "100", 100},
	{"1E+2", "100", 100},
	{"1.50e1", "15", 15},
	{"100e-2", "1", 1},
	{"10.00", "10", 10},
	{"0", "0", 0},
	{"-0", "0", 0},
	{"-0.0", "0", 0},
	{"0e5", "0", 0},
	{"-1", "-1", -1},
	{"1.5", "", 1.5},
	{"1e-1", "", 0.1},
	{"1E-2", "", 0.01},
	{"2147483647", "2147483647", 2147483647},
	{"2147483648", "2147483648", 2147483648},
	{"-2147483649", "-2147483649", -2147483649},
	{"9007199254740990", "9007199254740990", 1<<53 - 2},
	{"9007199254740991", "9007199254740991", 1<<53 - 1},
	{"9007199254740991.0", "9007199254740991", 1<<53 - 1},
	{"9.007199254740991e15", "9007199254740991", 1<<53 - 1},
	{"9007199254740992", "9007199254740992", 1 << 53},
	{"9007199254740993", "9007199254740993", 1 << 53},
	{"9007199254740993.0", "9007199254740993", 1 << 53},
	{"9223372036854775807", "9223372036854775807", 1 << 63},
	{"9223372036854775808", "9223372036854775808", 1 << 63},
	{"-9223372036854775808", "-9223372036854775808", -1 << 63},
	{"-9223372036854775809", "-9223372036854775809", -1 << 63},
	{"18446744073709551615", "18446744073709551615", 1 << 64},
	{"18446744073709551616", "18446744073709551616", 1 << 64},
	{"1e19", "10000000000000000000", 1e19},
	{"0.1000000000000000055511151231257827", "", 0.1},
	{"1e308", "1" + zeros(308), 1e308},
	{"5e-324", "", 5e-324},
}

// Beyond are numbers outside the range of a double.
var Beyond = []string{"1e400", "-1e309"}

func zeros(n int) string {
	out := make([]byte, n)
	for i := range out {
		out[i] = '0'
	}
	return string(out)
}
