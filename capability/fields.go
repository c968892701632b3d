package capability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// field is a struct field as encoding/json sees it.
type field struct {
	name   string
	field  reflect.StructField
	index  []int // from the root struct
	omits  bool  // has omitempty or omitzero
	quoted bool  // has the option "string"
	tagged bool  // its name comes from the tag
	behind bool  // is inside an embedded pointer
}

// fieldsOf returns a struct's members in order, with embedded structs flattened. Of fields with the
// same name, the shallowest wins, then the tagged one. If several remain, all are hidden.
func fieldsOf(t reflect.Type) []field {
	all := collect(t, nil, false, nil)
	var kept []field
	for _, f := range all {
		best, rivals := true, 0
		for _, o := range all {
			if o.name != f.name {
				continue
			}
			switch {
			case len(o.index) < len(f.index), len(o.index) == len(f.index) && o.tagged && !f.tagged:
				best = false
			case len(o.index) == len(f.index) && o.tagged == f.tagged:
				rivals++
			}
		}
		if best && rivals == 1 { // f itself
			kept = append(kept, f)
		}
	}
	return kept
}

// collect appends the fields of t below the path index. within holds the enclosing embedded types.
func collect(t reflect.Type, index []int, behind bool, within []reflect.Type) []field {
	var all []field
	for i := range t.NumField() {
		sf := t.Field(i)
		name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
		path := append(slices.Clone(index), i)
		if sf.Tag.Get("json") == "-" {
			continue
		}
		inner := sf.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if sf.Anonymous && name == "" && inner.Kind() == reflect.Struct && specialSchema(inner, sf.Name) == nil {
			if (sf.IsExported() || sf.Type.Kind() == reflect.Struct) && !slices.Contains(within, inner) {
				all = append(all, collect(inner, path, behind || sf.Type.Kind() == reflect.Pointer, append(slices.Clone(within), t))...)
			}
			continue
		}
		if !sf.IsExported() {
			continue
		}
		f := field{name: name, field: sf, index: path, tagged: name != "", behind: behind}
		if name == "" {
			f.name = sf.Name
		}
		for o := range strings.SplitSeq(options, ",") {
			f.omits = f.omits || o == "omitempty" || o == "omitzero"
			f.quoted = f.quoted || o == "string"
		}
		all = append(all, f)
	}
	return all
}

// required reports whether the member must be present. In an output it always is, unless it is
// omitted when empty.
func (f field) required(output bool) bool {
	if v, ok := f.field.Tag.Lookup("required"); ok {
		return f.boolean("required", v)
	}
	if f.omits || f.behind {
		return false
	}
	_, hasDefault := f.field.Tag.Lookup("default")
	return output || (f.field.Type.Kind() != reflect.Pointer && !hasDefault)
}

// ofField returns the schema of a field's type with the keywords of its tags.
func (m *schemaMaker) ofField(f field, path string) *schema {
	s := m.of(f.field.Type, path)
	if f.quoted && s.Type != nil {
		s = &schema{Type: "string"}
	}
	if s.own != nil {
		return m.nullable(f, &schema{own: f.extend(s.own)})
	}
	f.describe(s)
	values := s
	if s.Type == "array" {
		values = s.Items
	}
	f.bound(values)
	f.restrict(s, values)
	if text, ok := f.field.Tag.Lookup("default"); ok && values == s && len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, s.isDefault) {
		f.mistake("default", text, "one of the tag enum")
	}
	return m.nullable(f, s)
}

// isDefault reports whether a value of the tag enum is that of the tag default.
func (s *schema) isDefault(value any) bool {
	text, err := json.Marshal(value)
	return err == nil && bytes.Equal(text, s.Default)
}

func (m *schemaMaker) nullable(f field, s *schema) *schema {
	if m.output && !f.omits && printsNull(f.field.Type) && specialSchema(f.field.Type, f.name) == nil {
		return orNull(s)
	}
	return s
}

// extend adds the keywords of the tags to a type's own schema, unless that schema has them.
func (f field) extend(own json.RawMessage) json.RawMessage {
	var said struct {
		Type any `json:"type"`
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(own, &said) != nil || json.Unmarshal(own, &members) != nil {
		return own
	}
	extra := &schema{Type: said.Type}
	f.describe(extra)
	extra.Type = nil
	text, _ := json.Marshal(extra)
	var added map[string]json.RawMessage
	_ = json.Unmarshal(text, &added)
	all := bytes.TrimRight(slices.Clone(own), " \t\r\n}")
	end := own[len(all):]
	for _, name := range []string{"title", "description", "default", "examples", "x-mcp-header"} {
		if value, ok := added[name]; ok && members[name] == nil {
			if len(members) > 0 {
				all = append(all, ',')
			}
			all = append(append(all, `"`+name+`":`...), value...)
			members[name] = value
		}
	}
	return append(all, end...)
}

// keywords matches a tag jsonschema in the form of other libraries, "required,minimum=1".
var keywords = regexp.MustCompile(`^(required|[A-Za-z]+=.*)(,|$)`)

func (f field) describe(s *schema) {
	tag := f.field.Tag
	s.Title, s.Header = tag.Get("title"), tag.Get("header")
	for _, name := range []string{"jsonschema_description", "jsonschema", "description"} {
		if v := tag.Get(name); v != "" {
			s.Description = v
		}
	}
	if v := tag.Get("jsonschema"); keywords.MatchString(v) {
		f.mistake("jsonschema", v, `a description; write conditions as tags of their own, such as minimum:"1", enum:"a,b" or required:"true"`)
	}
	if v, ok := tag.Lookup("default"); ok {
		s.Default, _ = json.Marshal(f.value(s, "default", v))
	}
	if v, ok := tag.Lookup("examples"); ok {
		for e := range strings.SplitSeq(v, ",") {
			s.Examples = append(s.Examples, f.value(s, "examples", e))
		}
	}
}

// bound sets the numeric keywords.
func (f field) bound(s *schema) {
	for name, at := range map[string]*json.Number{"minimum": &s.Minimum, "maximum": &s.Maximum,
		"exclusiveMinimum": &s.ExclusiveMin, "exclusiveMaximum": &s.ExclusiveMax, "multipleOf": &s.MultipleOf} {
		if v, ok := f.field.Tag.Lookup(name); ok {
			if !json.Valid([]byte(v)) || strings.Trim(v, "+-.eE0123456789") != "" {
				f.mistake(name, v, "a number")
			}
			*at = json.Number(v)
		}
	}
}

// restrict sets the keywords of strings and lists.
func (f field) restrict(s, values *schema) {
	tag := f.field.Tag
	for name, at := range map[string]**int{"minLength": &values.MinLength, "maxLength": &values.MaxLength,
		"minItems": &s.MinItems, "maxItems": &s.MaxItems} {
		if v, ok := tag.Lookup(name); ok {
			n, err := strconv.Atoi(v)
			if err != nil || n < 0 {
				f.mistake(name, v, "a count")
			}
			if values.Encoding != "" && strings.HasSuffix(name, "Length") {
				n = base64Length(n)
			}
			*at = &n
		}
	}
	if v, ok := tag.Lookup("uniqueItems"); ok {
		s.UniqueItems = f.boolean("uniqueItems", v)
	}
	if v, ok := tag.Lookup("pattern"); ok {
		values.Pattern = v
	}
	if v, ok := tag.Lookup("format"); ok {
		values.Format = v
	}
	if v, ok := tag.Lookup("enum"); ok {
		for e := range strings.SplitSeq(v, ",") {
			values.Enum = append(values.Enum, f.value(values, "enum", e))
		}
	}
}

// value parses the text of a tag as a value of the schema's type.
func (f field) value(s *schema, tag, text string) any {
	if s.Type == "string" || f.field.Type.Kind() == reflect.String {
		return text
	}
	raw := json.RawMessage(text)
	var err error
	switch s.Type {
	case "integer":
		_, err = strconv.ParseInt(text, 10, 64)
	case "number":
		_, err = strconv.ParseFloat(text, 64)
	case "boolean":
		_, err = strconv.ParseBool(text)
	}
	if err != nil || !json.Valid(raw) {
		f.mistake(tag, text, "JSON that fits the field")
	}
	return raw
}

func (f field) boolean(tag, text string) bool {
	b, err := strconv.ParseBool(text)
	if err != nil {
		f.mistake(tag, text, "true or false")
	}
	return b
}

func (f field) mistake(tag, text, want string) {
	panic(fmt.Sprintf("capability: field %s: the tag %s:%q must be %s", f.field.Name, tag, text, want))
}
