package dispatch

import (
	"strings"
	"testing"
)

func TestCheckableDepth(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		want   int
	}{
		"no references":       {`{"anyOf":[{"type":"string"},{"type":"array"}]}`, 0},
		"references, no loop": {`{"$defs":{"a":{"type":"string"},"b":{"type":"number"}},"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/b"}]}`, 0},
		"a loop, one way":     {`{"$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`, 0},
		"a loop, two ways":    {`{"$defs":{"n":{"anyOf":[{"items":{"$ref":"#/$defs/n"}},{"items":{"$ref":"#/$defs/n"}}]}},"$ref":"#/$defs/n"}`, 13},
		"to the root":         {`{"oneOf":[{"items":{"$ref":"#"}},{"not":{"$ref":"#"}},{"properties":{"a":{"$ref":"#"}}}]}`, 8},
		"by an anchor":        {`{"$anchor":"n","if":{"items":{"$ref":"#n"}},"then":{"items":{"$ref":"#n"}}}`, 13},
		"escaped":             {`{"$defs":{"a/b":{"anyOf":[{"items":{"$ref":"#/$defs/a~1b"}},{"$ref":"#/$defs/a~1b"}]}},"$ref":"#/$defs/a~1b"}`, 13},
	} {
		doc, err := decode([]byte(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := checkableDepth(doc); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// A value that nests too deep for a schema that multiplies the looks at it goes unchecked: checking it
// would take for ever, and the backend has the last word.
func TestDeepValueOfAMultiplyingSchema(t *testing.T) {
	s, err := compileSchema(`{"type":"object","$defs":{"n":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/n"}},` +
		`{"type":"array","items":{"$ref":"#/$defs/n"}},{"type":"string"}]}},"properties":{"x":{"$ref":"#/$defs/n"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	value := func(levels int) []byte {
		return []byte(`{"x":` + strings.Repeat("[", levels) + `7` + strings.Repeat("]", levels) + `}`)
	}
	if err := s.validate(value(4)); err == nil {
		t.Error("a shallow value is not checked")
	}
	if err := s.validate(value(100)); err != nil {
		t.Error(err)
	}
}

func TestDepth(t *testing.T) {
	for text, want := range map[string]int{`1`: 0, `"[[["`: 0, `{"a":"\"[{"}`: 1, `[[],{"a":[1]}]`: 3} {
		if got := depth([]byte(text)); got != want {
			t.Errorf("%s nests %d deep, want %d", text, got, want)
		}
	}
}
