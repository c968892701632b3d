package reflect_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/tests/helpers/numbers"
)

// Numbers mean to a service what they mean to those of the libraries: an integer is one however it is written, and its bounds are exact. What is no
// number of the field's type is refused, by the schema or by the adapter.
func TestNumbersOfFields(t *testing.T) {
	e := serveKinds(t, reflect.Options{})
	schema := e.list()["kind_echo"].GetInputSchemaJson()
	call := func(field, number string) (value string, refused bool) {
		args := fmt.Sprintf(`{%q:%s}`, field, number)
		a := e.call("kind_echo", args)
		if fits(t, schema, args) != nil || a.err != nil || a.result.GetIsError() {
			return "", true
		}
		var out map[string]json.RawMessage
		if err := json.Unmarshal([]byte(a.result.GetStructuredContentJson()), &out); err != nil {
			t.Fatal(err)
		}
		return string(out[field]), false
	}
	for field, bounds := range map[string][2]string{
		"int32Field": {"-2147483648", "2147483647"}, "uint32Field": {"0", "4294967295"},
		"int64Field": {"-9223372036854775808", "9223372036854775807"}, "uint64Field": {"0", "18446744073709551615"},
	} {
		for _, n := range numbers.All {
			got, refused := call(field, n.Text)
			if want := n.Within(bounds[0], bounds[1]); refused == want {
				t.Errorf("%s %s: refused %v, want %v", field, n.Text, refused, !want)
			} else if want && got != n.Integer().String() && got != `"`+n.Integer().String()+`"` {
				t.Errorf("%s %s is %s", field, n.Text, got)
			}
		}
		for _, text := range numbers.Beyond {
			if _, refused := call(field, text); !refused {
				t.Errorf("%s %s is taken", field, text)
			}
		}
	}
	for _, n := range numbers.All {
		got, refused := call("doubleField", n.Text)
		var f float64
		if err := json.Unmarshal([]byte(got), &f); refused || err != nil || f != n.Double || math.IsInf(f, 0) {
			t.Errorf("doubleField %s is %s, refused %v", n.Text, got, refused)
		}
	}
	for _, text := range numbers.Beyond {
		if got, refused := call("doubleField", text); !refused {
			t.Errorf("doubleField %s is taken, as %s", text, got)
		}
	}
}
