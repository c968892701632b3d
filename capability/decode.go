package capability

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// preset is the default value of a field, set before decoding.
type preset struct {
	index []int
	text  []byte
}

// inputSchemaOf returns the schema of a tool's arguments. It panics if the type does not encode as
// a JSON object.
func inputSchemaOf(tool string, t reflect.Type, open bool) string {
	params := t
	if params.Kind() == reflect.Pointer {
		params = params.Elem()
	}
	if params.Kind() == reflect.Struct && specialSchema(params, tool) == nil && isRequest(params) {
		panic(fmt.Sprintf("capability: tool %q: %v is a request or its params; take a struct of the arguments, and the rest from the Call", tool, t))
	}
	s := schemaMaker{closed: !open}.make(t)
	if s.own == nil && s.Type != "object" {
		if s.Type != nil {
			panic(fmt.Sprintf("capability: tool %q: arguments are a JSON object; take a struct or a map, not a %v", tool, t))
		}
		s.Type = "object" // any, json.RawMessage
	}
	if s.Properties == nil {
		s.Properties = properties{} // required by some model APIs
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("capability: tool %q: the schema of %v: %v", tool, t, err))
	}
	return string(text)
}

// isRequest reports whether a struct is a request to call a tool, or the params of one, as other
// libraries pass it to handlers.
func isRequest(t reflect.Type) bool {
	names := namesOf(t)
	return hasAll(names, "name", "arguments", "_meta") || strings.HasSuffix(t.PkgPath(), "/mcp") && hasAll(names, "method", "params")
}

// decoderOf returns the decoder of a tool's arguments. The edge has validated them with the schema.
// The decoder checks again what would mislead the handler: types, required members of the generated
// schema, members that encoding/json drops or matches without regard to case (see spelling), and
// the size of bytes.
func decoderOf[In any](tool string, generated, open bool) func(arguments string, in *In) error {
	t := reflect.TypeFor[In]()
	var (
		presets  []preset
		required []string
		files    []bytesField
	)
	if t.Kind() == reflect.Struct && specialSchema(t, tool) == nil {
		presets, files = presetsOf(t, nil), bytesOf(t, nil, "")
		for _, f := range fieldsOf(t) {
			if generated && f.required(false) {
				required = append(required, f.name)
			}
		}
	}
	spelled := spellingOf(t, map[reflect.Type]*spelling{})
	return func(arguments string, in *In) error {
		if arguments == "" {
			arguments = "{}"
		}
		fill(presets, in)
		data := []byte(arguments)
		if err := unmarshal(data, in); err != nil {
			return argumentError(t, data, err)
		}
		if err := spelled.check(data, generated && !open); err != nil {
			return err
		}
		if generated {
			if err := checkBytes(files, in); err != nil {
				return err
			}
		}
		if missing := missingMember(data, required); missing != "" {
			return Errorf(InvalidArgument, "the argument %q is missing; it is required", missing)
		}
		return nil
	}
}

// fill sets the defaults in a struct.
func fill(presets []preset, into any) {
	for _, p := range presets {
		_ = json.Unmarshal(p.text, reflect.ValueOf(into).Elem().FieldByIndex(p.index).Addr().Interface())
	}
}

// presetsOf returns the defaults of a struct and of the structs directly inside it.
func presetsOf(t reflect.Type, index []int) []preset {
	var presets []preset
	for _, f := range fieldsOf(t) {
		if f.behind {
			continue
		}
		path := append(append([]int{}, index...), f.index...)
		v, ok := f.field.Tag.Lookup("default")
		switch {
		case ok:
			s := (&schemaMaker{}).of(f.field.Type, f.name)
			text, err := json.Marshal(f.value(s, "default", v))
			if err != nil || json.Unmarshal(text, reflect.New(f.field.Type).Interface()) != nil {
				f.mistake("default", v, "a value of the field's type")
			}
			presets = append(presets, preset{path, text})
		case f.field.Type.Kind() == reflect.Struct && specialSchema(f.field.Type, f.name) == nil:
			presets = append(presets, presetsOf(f.field.Type, path)...)
		}
	}
	return presets
}

// argumentError returns an error that names the member which does not decode into a t.
func argumentError(t reflect.Type, data []byte, err error) error {
	var typeError *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typeError) && typeError.Field != "":
		return Errorf(InvalidArgument, "the argument %q must be %s, not a JSON %s", typeError.Field, jsonKind(typeError.Type), typeError.Value)
	case errors.As(err, &typeError):
		return Errorf(InvalidArgument, "the arguments must be a JSON object, not a JSON %s", typeError.Value)
	}
	m := undecodedIn(t, data, err)
	return m.failure()
}

// jsonKind returns the JSON name of a Go type.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return jsonKind(t.Elem())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return fmt.Sprintf("an integer of %d bits", t.Bits())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a non-negative integer of %d bits", t.Bits())
	}
	return "of another type"
}
