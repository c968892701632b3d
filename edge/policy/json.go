package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// DecodeObject decodes a JSON object for Arguments. Strings, booleans, null, arrays and objects are
// decoded as by encoding/json. Numbers keep their value: those that a double represents exactly are
// float64; others are int64, uint64, or of a type that CEL compares exactly.
//
// It returns nil for null. It returns an error for invalid JSON, for a number that is too long to
// compare, and for an object with duplicate members, because a backend may read the other one.
func DecodeObject(raw []byte) (map[string]any, error) {
	v, err := decode(raw)
	if err != nil || v == nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a JSON object")
	}
	return object, nil
}

// maxDepth bounds the nesting. Messages and tokens are bounded further.
const maxDepth = 1000

// decode decodes one JSON value.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := decodeValue(d, maxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more than one JSON value")
	}
	return v, nil
}

func decodeValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Number:
		return number(t.String())
	case json.Delim:
		if depth == 0 {
			return nil, fmt.Errorf("it is nested deeper than %d", maxDepth)
		}
		if t == '[' {
			return decodeArray(d, depth-1)
		}
		return decodeObject(d, depth-1)
	}
	return token, nil
}

func decodeArray(d *json.Decoder, depth int) (any, error) {
	out := []any{}
	for d.More() {
		v, err := decodeValue(d, depth)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := d.Token()
	return out, err
}

func decodeObject(d *json.Decoder, depth int) (any, error) {
	out := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // a member's name is always a string
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("an object has the member %.64q twice: send it once", name)
		}
		if out[name], err = decodeValue(d, depth); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return out, err
}

// claimAdapter decodes a claim's JSON when it is inspected. A claim that cannot be decoded is an
// error.
type claimAdapter struct{ types.Adapter }

var claims = claimAdapter{types.DefaultTypeAdapter}

// NativeToValue implements types.Adapter.
func (a claimAdapter) NativeToValue(v any) ref.Val {
	raw, ok := v.(json.RawMessage)
	if !ok {
		return a.Adapter.NativeToValue(v)
	}
	value, err := decode(raw)
	if err != nil {
		return types.WrapErr(fmt.Errorf("a claim cannot be used: %w", err))
	}
	return a.Adapter.NativeToValue(value)
}
