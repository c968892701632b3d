package schema

import (
	"strings"
	"testing"
)

func TestOneofNamesTheMembersOfAOneof(t *testing.T) {
	const choice = `{"oneOf":[{"required":["email"]},{"required":["phone"]},{"required":["a/b"]},{"not":{"anyOf":[{"required":["email"]},{"required":["phone"]},{"required":["a/b"]}]}}]}`
	for name, c := range map[string]struct{ schema, value, want string }{
		"root":      {choice, `{"email":1,"phone":2}`, "at most one of email, phone, a/b may be present, but email and phone are"},
		"in allOf":  {`{"allOf":[{},` + choice + `]}`, `{"a/b":1,"phone":2}`, "phone and a/b are"},
		"below":     {`{"properties":{"x":` + choice + `}}`, `{"x":{"email":1,"phone":2}}`, "at '/x': at most one of email, phone"},
		"otherwise": {`{"oneOf":[{"type":"object"},{"minProperties":0}]}`, `{}`, "oneOf"},
	} {
		compiled, err := Compile(c.schema)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate([]byte(c.value)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v lacks %q", name, err, c.want)
		}
	}
}
