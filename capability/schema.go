package capability

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// schema is the part of JSON Schema 2020-12 that Go types need, in the order of encoding.
type schema struct {
	Ref           string          `json:"$ref,omitempty"`
	Type          any             `json:"type,omitempty"` // a type name or a list of type names
	Title         string          `json:"title,omitempty"`
	Description   string          `json:"description,omitempty"`
	Format        string          `json:"format,omitempty"`
	Encoding      string          `json:"contentEncoding,omitempty"`
	Enum          []any           `json:"enum,omitempty"`
	Default       json.RawMessage `json:"default,omitempty"`
	Examples      []any           `json:"examples,omitempty"`
	Minimum       json.Number     `json:"minimum,omitempty"`
	Maximum       json.Number     `json:"maximum,omitempty"`
	ExclusiveMin  json.Number     `json:"exclusiveMinimum,omitempty"`
	ExclusiveMax  json.Number     `json:"exclusiveMaximum,omitempty"`
	MultipleOf    json.Number     `json:"multipleOf,omitempty"`
	MinLength     *int            `json:"minLength,omitempty"`
	MaxLength     *int            `json:"maxLength,omitempty"`
	Pattern       string          `json:"pattern,omitempty"`
	MinItems      *int            `json:"minItems,omitempty"`
	MaxItems      *int            `json:"maxItems,omitempty"`
	UniqueItems   bool            `json:"uniqueItems,omitempty"`
	Items         *schema         `json:"items,omitempty"`
	Properties    properties      `json:"properties,omitzero"`
	Required      []string        `json:"required,omitempty"`
	Additional    *schema         `json:"additionalProperties,omitempty"`
	PropertyNames *schema         `json:"propertyNames,omitempty"`
	Header        string          `json:"x-mcp-header,omitempty"`
	AnyOf         []*schema       `json:"anyOf,omitempty"`
	Defs          properties      `json:"$defs,omitempty"`

	own json.RawMessage // the type's own schema; replaces all fields above
}

// MarshalJSON encodes the schema; a type's own schema is returned verbatim.
func (s *schema) MarshalJSON() ([]byte, error) {
	if s.own != nil {
		return s.own, nil
	}
	type plain schema
	return json.Marshal((*plain)(s))
}

// property is a member of an object; properties keep the order of the fields.
type property struct {
	name   string
	schema *schema
}

type properties []property

// MarshalJSON encodes an object in the order of the properties.
func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range p {
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.schema)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// described is a type that returns its own schema.
type described interface{ JSONSchema() string }

var (
	describedType = reflect.TypeFor[described]()
	marshalerType = reflect.TypeFor[json.Marshaler]()
	textType      = reflect.TypeFor[encoding.TextMarshaler]()
)

// maxStructs is the maximum number of structs in an input schema. Types that contain each other
// would otherwise expand without end.
const maxStructs = 1000

// schemaMaker builds the schema of one root type. Output schemas use references for recursive
// types. Input schemas expand all types, because some clients and models do not support references;
// a recursive type inside itself is any object.
type schemaMaker struct {
	output    bool // nil slices, maps and pointers encode as null
	closed    bool // structs have no other members than their fields
	stack     []reflect.Type
	structs   int
	recursive map[reflect.Type]string // names in $defs of recursive types, for outputs
	defs      properties
}

// schemaOf returns the schema of a type. output means that values are encoded rather than decoded.
// It panics with the path of a type that has no schema.
func schemaOf(t reflect.Type, output bool) string {
	text, err := json.Marshal(makeSchema(t, output))
	if err != nil {
		panic(fmt.Sprintf("capability: the schema of %v: %v", t, err))
	}
	return string(text)
}

func makeSchema(t reflect.Type, output bool) *schema { return schemaMaker{output: output}.make(t) }

// make returns the schema of a root type.
func (maker schemaMaker) make(t reflect.Type) *schema {
	m := &maker
	m.recursive = map[reflect.Type]string{}
	for t.Kind() == reflect.Pointer && !implements(t.Elem(), describedType) {
		t = t.Elem()
	}
	root := m.of(t, t.String())
	if name, ok := m.recursive[t]; ok {
		for _, d := range m.defs {
			if d.name == name {
				c := *d.schema
				root = &c
			}
		}
	}
	if len(m.defs) > 0 {
		root.Defs = m.defs
	}
	return root
}

// implements reports whether t or *t implements what.
func implements(t, what reflect.Type) bool {
	return t.Implements(what) || reflect.PointerTo(t).Implements(what)
}

func (m *schemaMaker) of(t reflect.Type, path string) *schema {
	mustNotBeMessage(path+": it is", t)
	if s := specialSchema(t, path); s != nil && (m.output || !encodesOnly(t)) {
		if s.Encoding != "" && !m.output {
			most := base64Length(maxArgumentBytes)
			s.MaxLength = &most
		}
		return s
	}
	switch {
	case m.output || t.Kind() == reflect.Pointer:
	case t.Kind() == reflect.Interface && t.NumMethod() > 0:
		panic(fmt.Sprintf("capability: %s: no JSON decodes into a %v: use a concrete type, or any", path, t))
	case implements(t, textUnmarshalerType) && !implements(t, unmarshalerType):
		return &schema{Type: "string"}
	}
	return m.ofKind(t, path)
}

// ofKind returns the schema of a type whose JSON is that of its Go form.
func (m *schemaMaker) ofKind(t reflect.Type, path string) *schema {
	switch t.Kind() {
	case reflect.Pointer:
		return m.of(t.Elem(), path)
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &schema{Type: "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return &schema{Type: "integer", Minimum: "0"}
	case reflect.Float32, reflect.Float64:
		return &schema{Type: "number"}
	case reflect.Interface:
		return &schema{}
	case reflect.Slice:
		return &schema{Type: "array", Items: m.element(t.Elem(), path+"[]")}
	case reflect.Array:
		n := t.Len()
		return &schema{Type: "array", Items: m.element(t.Elem(), path+"[]"), MinItems: &n, MaxItems: &n}
	case reflect.Map:
		return m.ofMap(t, path)
	case reflect.Struct:
		return m.ofStruct(t, path)
	}
	panic(fmt.Sprintf("capability: %s: a %v makes no JSON", path, t))
}

// encodesOnly reports whether a type encodes itself, and decodes as its Go form.
func encodesOnly(t reflect.Type) bool {
	return !implements(t, describedType) && (implements(t, marshalerType) || implements(t, textType)) &&
		!implements(t, unmarshalerType) && !implements(t, textUnmarshalerType)
}

// specialSchema returns the schema of a type whose JSON differs from its Go form, or nil.
func specialSchema(t reflect.Type, path string) *schema {
	if implements(t, describedType) && t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer {
		text := reflect.New(t).Interface().(described).JSONSchema()
		mustBeObject(path+": the schema by JSONSchema of "+t.String(), text)
		return &schema{own: json.RawMessage(text)}
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return &schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return &schema{}
	case reflect.TypeFor[json.Number]():
		return &schema{Type: "number"}
	}
	switch {
	case t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer:
		return nil
	case implements(t, marshalerType):
		return &schema{}
	case implements(t, textType):
		return &schema{Type: "string"}
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 && !implements(t.Elem(), marshalerType):
		return &schema{Type: "string", Encoding: "base64"}
	}
	return nil
}

// element returns the schema of the elements of a list or map. It allows null where nil encodes so.
func (m *schemaMaker) element(t reflect.Type, path string) *schema {
	s := m.of(t, path)
	if m.output && printsNull(t) {
		return orNull(s)
	}
	return s
}

func (m *schemaMaker) ofMap(t reflect.Type, path string) *schema {
	switch k := t.Key(); {
	case k.Kind() == reflect.String, implements(k, textType):
	case k.Kind() >= reflect.Int && k.Kind() <= reflect.Uintptr:
	default:
		panic(fmt.Sprintf("capability: %s: the keys of a %v make no JSON", path, t))
	}
	s := &schema{Type: "object"}
	if t.Elem().Kind() != reflect.Interface {
		s.Additional = m.element(t.Elem(), path+"{}")
	}
	return s
}

// printsNull reports whether encoding/json encodes the nil value of a type as null.
func printsNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return true
	}
	return false
}

// orNull returns a schema that also allows null.
func orNull(s *schema) *schema {
	switch name, ok := s.Type.(string); {
	case ok && s.own == nil && s.Enum == nil:
		s.Type = []string{name, "null"}
		return s
	case s.Ref != "" || s.own != nil || s.Enum != nil:
		return &schema{AnyOf: []*schema{s, {Type: "null"}}}
	default:
		return s // {} allows everything
	}
}

func (m *schemaMaker) ofStruct(t reflect.Type, path string) *schema {
	if m.structs++; m.structs > maxStructs && !m.output {
		return &schema{Type: "object"}
	}
	for _, outer := range m.stack {
		if outer == t && m.output {
			return m.reference(t)
		} else if outer == t {
			return &schema{Type: "object", Description: "a " + t.Name() + " as above"}
		}
	}
	if !m.output {
		mustBeExported(t, path)
	}
	m.stack = append(m.stack, t)
	s := &schema{Type: "object"}
	if m.closed {
		s.Additional = &schema{own: json.RawMessage("false")}
	}
	for _, f := range fieldsOf(t) {
		if !m.output {
			f.mustBeSpelled()
		}
		s.Properties = append(s.Properties, property{f.name, m.ofField(f, path+"."+f.field.Name)})
		if f.required(m.output) {
			s.Required = append(s.Required, f.name)
		}
	}
	m.stack = m.stack[:len(m.stack)-1]
	if name, ok := m.recursive[t]; ok {
		m.define(name, s)
		return &schema{Ref: "#/$defs/" + name}
	}
	return s
}

// reference returns a reference to a recursive type.
func (m *schemaMaker) reference(t reflect.Type) *schema {
	name, ok := m.recursive[t]
	if !ok {
		name = t.Name()
		if len(m.recursive) > 0 {
			name += strconv.Itoa(len(m.recursive) + 1)
		}
		m.recursive[t] = name
	}
	return &schema{Ref: "#/$defs/" + name}
}

func (m *schemaMaker) define(name string, s *schema) {
	for _, d := range m.defs {
		if d.name == name {
			return
		}
	}
	m.defs = append(m.defs, property{name, s})
}
