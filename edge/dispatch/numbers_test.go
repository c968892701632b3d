package dispatch

import (
	"strings"
	"testing"
)

// An integer is the same however it is written: none is judged as its neighbour that is a double.
func TestIntegersAreExact(t *testing.T) {
	for text, want := range map[string]any{
		"1": 1.0, "1.5": 1.5, "-0": 0.0, "1e3": 1000.0,
		"9007199254740993":         int64(9007199254740993),
		"9007199254740993.0":       int64(9007199254740993),
		"900719925474099.3e1":      int64(9007199254740993),
		"-9007199254740993.000":    int64(-9007199254740993),
		"90071992547409930e-1":     int64(9007199254740993),
		"18446744073709551615.0":   uint64(18446744073709551615),
		"9007199254740993.5":       9007199254740994.0,
		"1e300":                    1e300,
		"1e-999999999":             0.0,
		"18446744073709551616":     18446744073709551616.0,
		"-9223372036854775808.0e0": int64(-9223372036854775808),
	} {
		if got, err := number64(text); err != nil || got != want {
			t.Errorf("%s: %T %v, %v; want %T %v", text, got, got, err, want, want)
		}
	}
	if got, err := number64("9007199254740993." + strings.Repeat("0", maxExact)); err == nil {
		t.Errorf("a text beyond the bound is %v", got)
	}
}
