package capability

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"
)

// form is the schema and the decoder of Ask for one Go type.
type form struct {
	schema  string
	rules   *rules
	presets []preset
}

var forms sync.Map // reflect.Type to *form

// formOf returns the form of T. It is built once.
func formOf[T any]() *form {
	t := reflect.TypeFor[T]()
	if f, ok := forms.Load(t); ok {
		return f.(*form)
	}
	defer panicsOf("the form " + t.String())
	s := makeSchema(t, false)
	if s.own == nil {
		mustBeFlat(t, s)
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("capability: the form of %v: %v", t, err))
	}
	f := &form{schema: string(text), rules: formRules(string(text))}
	if s.own == nil {
		f.presets = presetsOf(t, nil)
	}
	forms.Store(t, f)
	return f
}

// mustBeFlat panics unless the members of a form are those that MCP allows: strings, numbers,
// booleans and lists of enumerated strings.
func mustBeFlat(t reflect.Type, s *schema) {
	if s.Type != "object" || t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("capability: a form is made from a struct, not from a %v", t))
	}
	for _, p := range s.Properties {
		if why := unfillable(p.schema); why != "" {
			panic(fmt.Sprintf("capability: member %q of the form %v cannot be shown: %s", p.name, t, why))
		}
		switch p.schema.Type {
		case "string", "number", "integer", "boolean":
			continue
		case "array":
			if p.schema.Items.Type == "string" && len(p.schema.Items.Enum) > 0 {
				continue
			}
		}
		if p.schema.own == nil {
			panic(fmt.Sprintf("capability: member %q of the form %v: use a string, number, boolean or a list of strings with an enum", p.name, t))
		}
	}
}

// formFormats are the formats of strings that clients can show; empty means none.
var formFormats = []string{"", "email", "uri", "date", "date-time"}

// unfillable returns why clients refuse a primitive member of a form, or "".
func unfillable(s *schema) string {
	if s.own == nil && (!slices.Contains(formFormats, s.Format) || s.Encoding != "") {
		return fmt.Sprintf("no client knows the format %q: use email, uri, date or date-time", cmp.Or(s.Format, s.Encoding))
	}
	if s.Type != "string" && len(s.Enum) > 0 {
		return "an enumeration has strings only; use a string, or a number with bounds"
	}
	return ""
}

// decode validates and decodes the user's content.
func (f *form) decode(content json.RawMessage, into any) error {
	if err := f.rules.check(content); err != nil {
		return err
	}
	fill(f.presets, into)
	if err := unmarshal(content, into); err != nil {
		return fmt.Errorf("%w: %v", errInvalid, err)
	}
	return nil
}

// rules are the keywords of a flat form with which an answer is validated.
type rules struct {
	Required   []string         `json:"required"`
	Properties map[string]*rule `json:"properties"`
}

type rule struct {
	Type      string      `json:"type"`
	Enum      []any       `json:"enum"`
	OneOf     []choice    `json:"oneOf"`
	AnyOf     []choice    `json:"anyOf"`
	Minimum   json.Number `json:"minimum"`
	Maximum   json.Number `json:"maximum"`
	MinLength *int        `json:"minLength"`
	MaxLength *int        `json:"maxLength"`
	Pattern   string      `json:"pattern"`
	MinItems  *int        `json:"minItems"`
	MaxItems  *int        `json:"maxItems"`
	Items     *rule       `json:"items"`

	pattern *regexp.Regexp // nil if there is none, or if Go cannot compile it
}

type choice struct {
	Const any `json:"const"`
}

// formRules parses the schema of a form. It panics if that is not a JSON object with the keywords
// of a form.
func formRules(schema string) *rules {
	mustBeObject("the schema of a form", schema)
	var r rules
	if err := json.Unmarshal([]byte(schema), &r); err != nil {
		panic(fmt.Sprintf("capability: the schema of a form has a keyword that does not fit: %v", err))
	}
	for _, p := range r.Properties {
		if p != nil && p.Pattern != "" {
			p.pattern, _ = regexp.Compile(p.Pattern)
		}
	}
	return &r
}

// check validates content by the rules. The error wraps errInvalid.
func (r *rules) check(content json.RawMessage) error {
	var members map[string]any
	if json.Unmarshal(content, &members) != nil || members == nil {
		return fmt.Errorf("%w: it is not a JSON object", errInvalid)
	}
	for _, name := range r.Required {
		if _, ok := members[name]; !ok {
			return fmt.Errorf("%w: %q is missing", errInvalid, name)
		}
	}
	for name, value := range members {
		if p := r.Properties[name]; p != nil && !p.admits(value) {
			return fmt.Errorf("%w: %q has the value %.80v", errInvalid, name, value)
		}
	}
	return nil
}

func (r *rule) admits(v any) bool {
	if !among(r.Enum, v) || !amongChoices(r.OneOf, v) || !amongChoices(r.AnyOf, v) {
		return false
	}
	switch v := v.(type) {
	case string:
		n := utf8.RuneCountInString(v)
		return fits(r.Type, "string") && within(n, r.MinLength, r.MaxLength) && (r.pattern == nil || r.pattern.MatchString(v))
	case bool:
		return fits(r.Type, "boolean")
	case float64:
		whole := r.Type == "integer" && v == float64(int64(v))
		return (whole || fits(r.Type, "number")) && atLeast(v, r.Minimum) && atMost(v, r.Maximum)
	case []any:
		for _, item := range v {
			if r.Items != nil && !r.Items.admits(item) {
				return false
			}
		}
		return fits(r.Type, "array") && within(len(v), r.MinItems, r.MaxItems)
	default:
		return r.Type == ""
	}
}

func fits(want, is string) bool { return want == "" || want == is }

func within(n int, least, most *int) bool {
	return (least == nil || n >= *least) && (most == nil || n <= *most)
}

func atLeast(v float64, bound json.Number) bool {
	b, err := bound.Float64()
	return err != nil || v >= b
}

func atMost(v float64, bound json.Number) bool {
	b, err := bound.Float64()
	return err != nil || v <= b
}

func among(values []any, v any) bool {
	for _, o := range values {
		if reflect.DeepEqual(o, v) {
			return true
		}
	}
	return len(values) == 0
}

func amongChoices(choices []choice, v any) bool {
	for _, c := range choices {
		if reflect.DeepEqual(c.Const, v) {
			return true
		}
	}
	return len(choices) == 0
}
