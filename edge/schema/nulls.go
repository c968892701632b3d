package schema

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
)

const (
	// maxNullDepth bounds the levels of objects and arrays in which WithoutNulls looks for nulls,
	// and the references from one subschema to the next.
	maxNullDepth = 16
	// maxNullParts bounds the subschemas that it visits for one value.
	maxNullParts = 10_000
)

// WithoutNulls returns an object without the null members that the schema describes, does not
// require, and whose schema does not accept null. Clients send such nulls for absent members. All
// other members keep their text. Nested objects are treated alike, 16 levels deep. It returns raw
// itself if nothing is removed or raw is no valid JSON, and a copy otherwise.
func (s *Schema) WithoutNulls(raw []byte) []byte {
	if s.compiled == nil || !bytes.Contains(raw, []byte("null")) {
		return raw
	}
	w := nulls{left: maxNullParts}
	out, ok := w.value(make([]byte, 0, len(raw)), raw, s.compiled, maxNullDepth)
	if !ok || w.dropped == 0 {
		return raw
	}
	return out
}

// nulls is the state of one run of WithoutNulls.
type nulls struct {
	left    int // subschemas that may still be visited
	dropped int
}

// value appends a value. s is its schema, or nil. ok is false if the value is no valid JSON.
func (w *nulls) value(dst, raw []byte, s *jsonschema.Schema, depth int) (_ []byte, ok bool) {
	if s == nil || depth == 0 || !bytes.Contains(raw, []byte("null")) {
		return append(dst, raw...), true
	}
	switch jsonrpc.TypeOf(raw) {
	case jsonrpc.Object:
		return w.object(dst, raw, s, depth)
	case jsonrpc.Array:
		start := len(dst)
		items := w.items(s)
		ok = jsonrpc.Elements(raw, func(value json.RawMessage) bool {
			dst, _ = w.value(append(dst, ','), value, items, depth-1)
			return true
		})
		return wrap(dst, start, '[', ']'), ok
	}
	return append(dst, raw...), true
}

func (w *nulls) object(dst, raw []byte, s *jsonschema.Schema, depth int) (_ []byte, ok bool) {
	start := len(dst)
	applied := w.applied(nil, s, maxNullDepth)
	err := jsonrpc.Members(raw, func(name string, value json.RawMessage) error {
		var property *jsonschema.Schema
		required := false
		for _, a := range applied {
			required = required || slices.Contains(a.Required, name)
			if p := a.Properties[name]; p != nil && property == nil {
				property = p
			}
		}
		if property != nil && !required && jsonrpc.TypeOf(value) == jsonrpc.Null && w.refuses(property, maxNullDepth) {
			w.dropped++
			return nil
		}
		dst = append(jsonrpc.AppendString(append(dst, ','), name), ':')
		dst, _ = w.value(dst, value, property, depth-1)
		return nil
	})
	return wrap(dst, start, '{', '}'), err == nil
}

// wrap encloses what was appended from start on in brackets. Each item has a comma before it.
func wrap(dst []byte, start int, open, end byte) []byte {
	if len(dst) == start {
		return append(dst, open, end)
	}
	dst[start] = open
	return append(dst, end)
}

// visit takes one subschema from the budget and reports whether it may be visited.
func (w *nulls) visit(s *jsonschema.Schema, depth int) bool {
	if s == nil || depth == 0 || w.left == 0 {
		return false
	}
	w.left--
	return true
}

// applied appends the subschemas that apply to a value beside s: references, allOf, and the only
// alternative that is not null.
func (w *nulls) applied(list []*jsonschema.Schema, s *jsonschema.Schema, depth int) []*jsonschema.Schema {
	if !w.visit(s, depth) {
		return list
	}
	list = w.applied(append(list, s), s.Ref, depth-1)
	for _, x := range s.AllOf {
		list = w.applied(list, x, depth-1)
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf} {
		if rest := slices.DeleteFunc(slices.Clone(alternatives), isNull); len(rest) == 1 {
			list = w.applied(list, rest[0], depth-1)
		}
	}
	return list
}

func isNull(s *jsonschema.Schema) bool {
	return s.Types != nil && slices.Equal(s.Types.ToStrings(), []string{"null"})
}

// items returns the schema of all items of an array, or nil.
func (w *nulls) items(s *jsonschema.Schema) *jsonschema.Schema {
	for _, a := range w.applied(nil, s, maxNullDepth) {
		if one, ok := a.Items.(*jsonschema.Schema); ok {
			return one
		}
		if a.Items2020 != nil && len(a.PrefixItems) == 0 {
			return a.Items2020
		}
	}
	return nil
}

// refuses reports whether a schema certainly rejects null.
func (w *nulls) refuses(s *jsonschema.Schema, depth int) bool {
	if !w.visit(s, depth) {
		return false
	}
	refused := func(x *jsonschema.Schema) bool { return w.refuses(x, depth-1) }
	taken := func(x *jsonschema.Schema) bool { return !refused(x) }
	switch {
	case s.Types != nil && !slices.Contains(s.Types.ToStrings(), "null"),
		s.Enum != nil && !slices.Contains(s.Enum.Values, nil),
		s.Const != nil && *s.Const != nil,
		s.Ref != nil && refused(s.Ref),
		len(s.AnyOf) > 0 && !slices.ContainsFunc(s.AnyOf, taken),
		len(s.OneOf) > 0 && !slices.ContainsFunc(s.OneOf, taken):
		return true
	}
	return slices.ContainsFunc(s.AllOf, refused)
}
