package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cel.dev/cel-go/common/types"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Numbers are doubles where one has their digits, else integers of 64 bits, else decimals.
func TestNumbersKeepTheirDigits(t *testing.T) {
	for text, want := range map[string]any{
		"0": 0.0, "-0": 0.0, "7": 7.0, "-2.5": -2.5, "1.0": 1.0, "0.1": 0.1, "1e3": 1000.0, "0.30000000000000004": 0.30000000000000004,
		"9007199254740991":         9007199254740991.0,
		"9007199254740992":         int64(9007199254740992),
		"9007199254740993":         int64(9007199254740993),
		"900719925474099.3e1":      int64(9007199254740993),
		"-9007199254740993.000":    int64(-9007199254740993),
		"90071992547409930e-1":     int64(9007199254740993),
		"9223372036854775808":      uint64(9223372036854775808),
		"18446744073709551615.0":   uint64(18446744073709551615),
		"-9223372036854775808.0e0": int64(-9223372036854775808),
		"18446744073709551616":     18446744073709551616.0,
		"1e22":                     1e22,
	} {
		if got, err := number(text); err != nil || got != want {
			t.Errorf("%s: %T %v, %v; want %T %v", text, got, got, err, want, want)
		}
	}
	for _, text := range []string{"9007199254740993.5", "0.1000000000000000055511151231257827", "18446744073709551617", "1e23", "1e400", "1e-400", "1e-999999999", "3.00000000000000000001"} {
		if got, err := number(text); err != nil {
			t.Errorf("%s: %v", text, err)
		} else if _, ok := got.(*decimal); !ok {
			t.Errorf("%s: %T %v, which has other digits", text, got, got)
		}
	}
	for _, text := range []string{"9007199254740993." + strings.Repeat("0", maxNumber), "1e99999999999999999999", "1e-2147483648"} {
		if got, err := number(text); err == nil {
			t.Errorf("%.40s: %v, which is beyond the bounds", text, got)
		}
	}
}

// Literals of every type are compared exactly with numbers that a caller sends.
func TestLiterals(t *testing.T) {
	for text, want := range map[string]map[string]bool{
		`arguments.x == 1`:                               {"1": true, "1.0": true, "10e-1": true, "1.00000000000000000001": false, "true": false, `"1"`: false},
		`arguments.x == 1.0`:                             {"1": true, "1.0": true},
		`arguments.x == 1u`:                              {"1": true, "-1": false},
		`arguments.x == 9007199254740993`:                {"9007199254740993": true, "9007199254740992": false, "9007199254740992.0": false, "9007199254740993.5": false},
		`arguments.x in [9007199254740993]`:              {"9007199254740993": true, "9007199254740992": false, "9007199254740994": false},
		`arguments.x in [1, 2.5, "a"]`:                   {"1.0": true, "2.5": true, `"a"`: true, "2": false, "2.50000000000000000001": false},
		`arguments.x == 9007199254740992.0`:              {"9007199254740993": false, "9007199254740992": true},
		`arguments.x == 18446744073709551615u`:           {"18446744073709551615": true, "18446744073709551616": false},
		`arguments.x == 9223372036854775807`:             {"9223372036854775807": true, "9223372036854775808": false},
		`arguments.x < 100`:                              {"99.99999999999999999999": true, "1e400": false, "-1e400": true, "1e-400": true},
		`arguments.x > 0`:                                {"1e-400": true, "-1e-400": false, "0e5": false},
		`arguments.x == 0`:                               {"1e-400": false, "0": true, "-0.0": true},
		`arguments.x + 1 == 9007199254740994`:            {"9007199254740993": true, "9007199254740992": false},
		`double(arguments.x) == double("0.1")`:           {"0.1": true},
		`string(arguments.x) == "9007199254740993"`:      {"9007199254740993": true},
		`principal.scopes.size() == arguments.x`:         {"0": true, "1": false},
		`type(arguments.x) == int || arguments.x == 1.5`: {"9007199254740993": true, "1.5": true},
	} {
		p := when(t, text)
		for x, allowed := range want {
			args, err := DecodeObject([]byte(`{"x":` + x + `}`))
			if err != nil {
				t.Fatal(err)
			}
			d := decide(t, p, mcp.Principal{Subject: "s"}, ship, args)
			if (d.Effect == Allow) != allowed || d.Err != nil {
				t.Errorf("%s with %s: %+v", text, x, d)
			}
		}
	}
}

// What CEL could do with a number only by taking another one is an error, which denies.
func TestInexactNumbersFail(t *testing.T) {
	for text, x := range map[string]string{
		`double(arguments.x) == 9007199254740992.0`: "9007199254740993",
		`double(arguments.x) > 0.0`:                 `"9007199254740993"`,
		`double(arguments.x) < 1.0`:                 "1e-400",
		`int(arguments.x) == 0`:                     "1e-400",
		`arguments.x + 1.0 > 0.0`:                   "1e400",
		`arguments.x == principal.claims.bad`:       "1",
		`arguments.x in principal.claims.all`:       "1",
		`principal.claims.all == [arguments.x]`:     "1",
	} {
		args, err := DecodeObject([]byte(`{"x":` + x + `}`))
		if err != nil {
			t.Fatal(err)
		}
		long := "1." + strings.Repeat("0", maxNumber)
		who := mcp.Principal{Subject: "s", Claims: map[string]json.RawMessage{"bad": json.RawMessage(long), "all": json.RawMessage("[" + long + "]")}}
		if d := decide(t, when(t, text), who, ship, args); d.Effect != Deny || d.Err == nil {
			t.Errorf("%s with %s: %+v", text, x, d)
		}
	}
}

// A rule's double that is not what is written is an error when the policy is loaded.
func TestLiteralsAreExact(t *testing.T) {
	for text, good := range map[string]bool{
		`arguments.x == 9007199254740993.0`:                  false,
		`arguments.x == -9007199254740993.0`:                 false,
		`arguments.x in [1, 9007199254740993.0]`:             false,
		`"é" != "ü" && arguments.x < 1.00000000000000000001`: false,
		`arguments.x < 1e23`:                                 false,
		`arguments.x < 1e400`:                                false,
		`arguments.x < 1e22 && arguments.x > -0.1`:           true,
		`arguments.x == .5 || arguments.x - 1.5 == 2.0`:      true,
		`arguments.x == 9007199254740993`:                    true,
		`arguments.x == "9007199254740993.0"`:                true,
	} {
		_, err := Compile(Settings{Default: Deny, Rules: []Rule{{Name: "r", When: text, Then: Allow}}})
		if (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A decimal orders as its text does, whatever else it is compared with.
func TestDecimals(t *testing.T) {
	inf, _ := types.String("Infinity").ConvertToType(types.DoubleType).(types.Double)
	d, err := number("1e400")
	if err != nil {
		t.Fatal(err)
	}
	if order, _, ok := compareNumbers(d.(*decimal), inf); !ok || order != -1 {
		t.Errorf("1e400 and infinity: %d", order)
	}
	if order, _, ok := compareNumbers(-inf, d.(*decimal)); !ok || order != -1 {
		t.Errorf("-infinity and 1e400: %d", order)
	}
	if s := fmt.Sprint(d); s != "0.1e401" {
		t.Error(s)
	}
}
