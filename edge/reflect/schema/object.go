package schema

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object that keeps the order of its members. Values are objects, lists and what encoding/json
// marshals.
type object struct {
	keys   []string
	values map[string]any
}

// obj makes an object of keys and values in turn.
func obj(pairs ...any) *object {
	o := &object{values: make(map[string]any, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// never is the schema that nothing fits.
func never() *object { return obj("not", obj()) }

func (o *object) set(key string, value any) *object {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
	return o
}

// first puts a member before all others.
func (o *object) first(key string, value any) *object {
	if _, there := o.values[key]; !there {
		o.keys = append([]string{key}, o.keys...)
	}
	o.values[key] = value
	return o
}

func (o *object) has(key string) bool {
	_, there := o.values[key]
	return there
}

// also adds one more condition: as members while they are free, else under allOf.
func (o *object) also(more *object) {
	for _, k := range more.keys {
		if !o.has(k) {
			o.set(k, more.values[k])
			continue
		}
		all, _ := o.values["allOf"].([]any)
		o.set("allOf", append(all, obj(k, more.values[k])))
	}
}

// marshal writes JSON without the escapes meant for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b, v)
	return b.Bytes(), err
}

// write appends a value as JSON. Objects and lists are written here, each once: encoding/json copies what a value writes at
// each level above it.
func write(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case *object:
		return v.write(b)
	case []any:
		b.WriteByte('[')
		for i, one := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := write(b, one); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // Encode ends with a new line
	return nil
}

func (o *object) write(b *bytes.Buffer) error {
	b.WriteByte('{')
	for i, k := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := write(b, k); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := write(b, o.values[k]); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}
