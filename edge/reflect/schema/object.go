package schema

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object with ordered members. Values are objects, lists and anything that
// encoding/json accepts.
type object struct {
	keys   []string
	values map[string]any
}

// obj returns an object of alternating keys and values.
func obj(pairs ...any) *object {
	o := &object{values: make(map[string]any, len(pairs)/2)}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// never returns the schema that accepts nothing.
func never() *object { return obj("not", obj()) }

func (o *object) set(key string, value any) *object {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
	return o
}

// first inserts a member before all others.
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

// and adds a condition: as members if the names are unused, else under allOf.
func (o *object) and(more *object) {
	for _, k := range more.keys {
		if !o.has(k) {
			o.set(k, more.values[k])
			continue
		}
		all, _ := o.values["allOf"].([]any)
		o.set("allOf", append(all, obj(k, more.values[k])))
	}
}

// marshal encodes JSON without HTML escapes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := write(&b, v)
	return b.Bytes(), err
}

// write appends a value as JSON. It encodes objects and lists itself, because encoding/json copies
// the output of a Marshaler at each level above it.
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
	b.Truncate(b.Len() - 1) // Encode adds a newline
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
