package portable

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// object is a JSON object that keeps the order of its members.
type object struct {
	keys   []string
	values map[string]any
}

func (o *object) get(key string) any { return o.values[key] }

func (o *object) set(key string, value any) {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	if o.values == nil {
		o.values = make(map[string]any)
	}
	o.values[key] = value
}

func (o *object) remove(key string) {
	if _, there := o.values[key]; there {
		delete(o.values, key)
		o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
	}
}

// MarshalJSON implements json.Marshaler.
func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(print(k))
		b.WriteByte(':')
		b.WriteString(print(o.values[k]))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// print writes a value as compact JSON, without the escapes meant for HTML.
func print(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // values of parse, texts and lists of them always print
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// parse reads JSON that is known to be valid and of bounded depth: objects as *object, arrays as []any,
// numbers as json.Number. Of members with one name the last counts.
func parse(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return parseValue(d)
}

func parseValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := &object{values: map[string]any{}}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			o.set(name, value)
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := d.Token()
		return list, err
	}
	return token, nil
}
