package violation

import (
	"errors"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestTextNamesTheMembersOfAOneof(t *testing.T) {
	const choice = `{"oneOf":[{"required":["email"]},{"required":["phone"]},{"required":["a/b"]},{"not":{"anyOf":[{"required":["email"]},{"required":["phone"]},{"required":["a/b"]}]}}]}`
	for name, c := range map[string]struct{ schema, value, want string }{
		"root":      {choice, `{"email":1,"phone":2}`, "at '/': at most one of email, phone, a/b may be there, and email and phone are"},
		"in allOf":  {`{"allOf":[{},` + choice + `]}`, `{"a/b":1,"phone":2}`, "phone and a/b are"},
		"below":     {`{"properties":{"x":` + choice + `}}`, `{"x":{"email":1,"phone":2}}`, "at '/x': at most one of email, phone"},
		"otherwise": {`{"oneOf":[{"type":"object"},{"minProperties":0}]}`, `{}`, "oneOf"},
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource("x:y", doc); err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(c.value))
		if err != nil {
			t.Fatal(err)
		}
		var e *jsonschema.ValidationError
		if !errors.As(compiler.MustCompile("x:y").Validate(value), &e) {
			t.Fatalf("%s: no violation", name)
		}
		for len(e.Causes) > 0 {
			e = e.Causes[0]
		}
		if got := Text(e, c.schema); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q lacks %q", name, got, c.want)
		}
	}
}
