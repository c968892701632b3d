package capability

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// shelf encodes itself as a text, and does not decode itself from one.
type shelf int

func (s shelf) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "shelf %d", int(s)), nil }

// mark decodes itself from a text, and does not encode itself as one.
type mark struct{ text string }

func (m *mark) UnmarshalText(text []byte) error { m.text = string(text); return nil }

// The schema of an argument matches what its type decodes.
func TestArgumentsThatDoNotDecode(t *testing.T) {
	type lend struct {
		Shelf shelf `json:"shelf"`
		Mark  mark  `json:"mark"`
	}
	if got := schemaOf(reflect.TypeFor[lend](), false); !strings.Contains(got, `"shelf":{"type":"integer"},"mark":{"type":"string"}`) {
		t.Errorf("the schema of arguments %s", got)
	}
	if got := schemaOf(reflect.TypeFor[lend](), true); !strings.Contains(got, `"shelf":{"type":"string"}`) {
		t.Errorf("the schema of a result %s", got)
	}
	var in lend
	if err := decoderOf[lend]("lend", true, false)(`{"shelf":3,"mark":"m"}`, &in); err != nil || in.Shelf != 3 || in.Mark.text != "m" {
		t.Errorf("%+v, %v", in, err)
	}
	if said := saying(func() { schemaOf(reflect.TypeFor[struct{ S []fmt.Stringer }](), false) }); !strings.Contains(said, ".S[]: no JSON decodes into a fmt.Stringer: use a concrete type, or any") {
		t.Errorf("panic %q", said)
	}
	if got := schemaOf(reflect.TypeFor[struct{ S fmt.Stringer }](), true); !json.Valid([]byte(got)) {
		t.Errorf("the schema of a result with an interface: %s", got)
	}
}

// A default must be one of the values that the schema admits.
func TestDefaultsOutsideOfTheEnum(t *testing.T) {
	said := saying(func() {
		schemaOf(reflect.TypeFor[struct {
			Tea string `enum:"assam,sencha" default:"oolong"`
		}](), false)
	})
	if said != `capability: field Tea: the tag default:"oolong" must be one of the tag enum` {
		t.Errorf("panic %q", said)
	}
	schemaOf(reflect.TypeFor[struct {
		Cups int `enum:"1,2" default:"2"`
	}](), false)
}
