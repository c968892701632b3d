package capability

import (
	"reflect"
	"strings"
	"testing"
)

type wanted struct {
	Name  string            `json:"name"`
	Rows  []wantedRow       `json:"rows,omitempty"`
	Own   ownSchema         `json:"own,omitzero"`
	Free  map[string]any    `json:"free,omitempty"`
	Notes map[string]string `json:"notes,omitempty"`
}

type wantedRow struct {
	Column string `json:"column"`
}

type ownSchema struct {
	Known string `json:"known"`
}

func (ownSchema) JSONSchema() string { return `{"type":"object"}` }

// Arguments that a tool does not have are refused by name, at any depth, unless it allows them.
func TestUnknownArguments(t *testing.T) {
	closed, open := decoderOf[wanted]("t", true, false), decoderOf[wanted]("t", true, true)
	for arguments, want := range map[string]string{
		`{"name":"a","rows":[{"column":"b"}],"free":{"x":1},"notes":{"y":"z"}}`: "",
		`{"name":"a","own":{"any":1}}`:                                          "",
		`{"name":"a","nam":"b"}`:                                                `unknown argument "nam": known are "free", "name", "notes", "own", "rows"`,
		`{"name":"a","rows":[{"column":"b","colour":"c"}]}`:                     `unknown argument "colour": known are "column"`,
		`{"x":1,"Name":"a"}`:                                                    `unknown argument "Name": it is spelled "name"`,
	} {
		var in wanted
		if err := closed(arguments, &in); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", arguments, err, want)
		}
		if err := open(arguments, &in); err != nil && !strings.Contains(want, "is spelled") {
			t.Errorf("%s: %v, want that unknown arguments are dropped", arguments, err)
		}
	}
	var none struct{}
	if err := decoderOf[struct{}]("t", true, false)(`{"x":1}`, &none); err == nil || err.Error() != `unknown argument "x": there are none` {
		t.Errorf("an argument of a tool without any: %v", err)
	}
	const want = `{"type":"object","properties":{"column":{"type":"string"}},"required":["column"],"additionalProperties":false}`
	if got := inputSchemaOf("t", reflect.TypeFor[wantedRow](), false); got != want {
		t.Errorf("the schema %s, want %s", got, want)
	}
	if got := inputSchemaOf("t", reflect.TypeFor[wantedRow](), true); strings.Contains(got, "additionalProperties") {
		t.Errorf("the schema %s of a tool that allows unknown arguments", got)
	}
}

type upload struct {
	Picture []byte `json:"picture" maxLength:"3"`
	Inner   struct {
		Other []byte `json:"other,omitempty"`
	} `json:"inner,omitzero"`
}

// Bytes are base64, decoded and bounded.
func TestBytesAmongArguments(t *testing.T) {
	const want = `"picture":{"type":"string","contentEncoding":"base64","maxLength":4},"inner":{"type":"object","properties":` +
		`{"other":{"type":"string","contentEncoding":"base64","maxLength":1398104}}`
	if got := inputSchemaOf("t", reflect.TypeFor[upload](), false); !strings.Contains(got, want) {
		t.Errorf("the schema %s, want %s in it", got, want)
	}
	decode := decoderOf[upload]("t", true, false)
	for arguments, want := range map[string]string{
		`{"picture":"AAH/"}`:                          "",
		`{"picture":"AAH/AA=="}`:                      `the argument "picture" has 4 bytes; it takes at most 3`,
		`{"picture":"AA*/"}`:                          `the argument "picture" must be base64 of the standard alphabet, with padding`,
		`{"picture":"AAH/","inner":{"other":"A-_="}}`: `the argument "inner.other" must be base64 of the standard alphabet, with padding`,
		`{"picture":"AAH/","inner":{"other":"` + strings.Repeat("AAAA", (1<<20)/3+1) + `"}}`: `the argument "inner.other" has 1048578 bytes; it takes at most 1048576`,
	} {
		var in upload
		if err := decode(arguments, &in); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%.80s: %v, want %q", arguments, err, want)
		}
	}
	if got := schemaOf(reflect.TypeFor[upload](), true); strings.Contains(got, "maxLength\":1398104") {
		t.Errorf("the schema of a result %s has a bound of arguments", got)
	}
}

// A description in the tag of the official Go SDK is one; the conditions of other libraries are
// refused with what to write.
func TestTagsOfOtherLibraries(t *testing.T) {
	type official struct {
		City string `json:"city" jsonschema:"City name, as on a map"`
	}
	if got := inputSchemaOf("t", reflect.TypeFor[official](), false); !strings.Contains(got, `"description":"City name, as on a map"`) {
		t.Errorf("the schema %s has no description", got)
	}
	for _, bad := range []any{
		struct {
			City string `jsonschema:"required"`
		}{},
		struct {
			City string `jsonschema:"minLength=1,maxLength=2"`
		}{},
	} {
		func() {
			defer func() {
				if said, ok := recover().(string); !ok || !strings.Contains(said, `required:"true"`) {
					t.Errorf("%T: panic %q, want what to write", bad, said)
				}
			}()
			inputSchemaOf("t", reflect.TypeOf(bad), false)
		}()
	}
}
