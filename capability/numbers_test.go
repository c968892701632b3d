package capability

import (
	"encoding/json"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// Whole numbers are integers, however they are written. Other numbers, and those out of range, are
// rejected.
func TestWholeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"5.0": "5", "1e2": "100", "1E+2": "100", "1.50e1": "15", "-0": "0", "-0.0": "0", "0e9": "0", "0.0e-3": "0", "100e-2": "1", "-2.0e0": "-2",
		"9223372036854775807.0": "9223372036854775807", "9.223372036854775807e18": "9223372036854775807", "9007199254740993.0": "9007199254740993",
		"1.5": "1.5", "1e-1": "1e-1", "1e400": "1e400", "1e99999999999999999999": "1e99999999999999999999", "123": "123",
	} {
		if got := string(wholeNumbers([]byte(text))); got != want && whole(text) != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	const data = `{"a":5.0,"s":"1.0 \" 2.0","l":[1e1,-3.0],"f":2.5,"u":18446744073709551615.0}`
	var got struct {
		A int64
		S string
		L []int8
		F float64
		U uint64
	}
	if err := unmarshal([]byte(data), &got); err != nil || got.A != 5 || got.S != `1.0 " 2.0` || got.L[0] != 10 || got.L[1] != -3 || got.F != 2.5 || got.U != 18446744073709551615 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{`{"a":5.5}`, `{"a":9223372036854775808.0}`, `{"a":1e400}`, `{"l":[300.0]}`, `{"u":-1.0}`, `{"a":"5.0"}`} {
		if err := unmarshal([]byte(bad), &got); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// A rewritten number has the same value, and is an integer.
func TestWholeNumbersStayTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,21})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "number")
		got := whole(text)
		a, _ := new(big.Rat).SetString(text)
		b, ok := new(big.Rat).SetString(got)
		if !ok || a.Cmp(b) != 0 || !json.Valid([]byte(got)) {
			t.Fatalf("%s is made %s", text, got)
		}
		if a.IsInt() && len(a.Num().String()) < 20 && new(big.Int).Set(a.Num()).String() != got {
			t.Fatalf("%s stays %s", text, got)
		}
	})
}
