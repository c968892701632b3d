// Package lock compares the tools of backends with the definitions in a snapshot of the catalog.
package lock

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// Definition has digests of the parts of a tool, as its backend lists it. Equal digests mean equal
// content, on every machine and for every release. An empty digest means that the backend sets no
// field of the part. For JSON, the order of members and white space are ignored, and everything
// else counts, such as the digits of numbers. JSON that is invalid, or has a member twice, is
// compared as text.
type Definition struct {
	// Backend is the configured name of the backend. Tool is the name of the tool that the backend
	// uses.
	Backend string `json:"backend"`
	Tool    string `json:"tool"`
	// Texts is the digest of the title and the description.
	Texts string `json:"texts,omitempty"`
	// Input and Output are the digests of the schemas.
	Input  string `json:"input,omitempty"`
	Output string `json:"output,omitempty"`
	// Annotations is the digest of the hints and their title.
	Annotations string `json:"annotations,omitempty"`
	// Other is the digest of all other fields: icons, metadata, support of tasks.
	Other string `json:"other,omitempty"`
	// Listed is the content that the digests cover, for reviews. Of leaves it empty.
	Listed Listed `json:"listed,omitempty"`
}

// Compare orders definitions by the names of backend and tool.
func Compare(a, b Definition) int {
	return cmp.Or(cmp.Compare(a.Backend, b.Backend), cmp.Compare(a.Tool, b.Tool))
}

// Of returns the definition of a tool of a backend.
func Of(backend string, t *pb.Tool) Definition {
	d := Definition{Backend: backend, Tool: t.GetName()}
	m := t.ProtoReflect()
	set := fieldsOf(m)
	for _, part := range d.parts() {
		*part.digest = digest(m, slices.DeleteFunc(slices.Clone(set), func(f protoreflect.FieldDescriptor) bool { return partOf(f.Name()) != part.name }))
	}
	return d
}

// Differing returns the names of the parts that differ from those of another definition: texts,
// input, output, annotations, other.
func (d Definition) Differing(from Definition) (parts []string) {
	others := from.parts()
	for i, p := range d.parts() {
		if *p.digest != *others[i].digest {
			parts = append(parts, p.name)
		}
	}
	return parts
}

// part is one part of a definition.
type part struct {
	name   string
	digest *string
}

// The names of the parts of a definition.
const (
	texts       = "texts"
	input       = "input"
	output      = "output"
	annotations = "annotations"
	other       = "other"
)

func (d *Definition) parts() []part {
	return []part{{texts, &d.Texts}, {input, &d.Input}, {output, &d.Output}, {annotations, &d.Annotations}, {other, &d.Other}}
}

// PartOf returns the name of the part that a member of a Listed belongs to.
func PartOf(member string) string {
	switch member {
	case "inputSchema":
		return input
	case "outputSchema":
		return output
	}
	return partOf(protoreflect.Name(member))
}

// partOf returns the part that a field of a tool belongs to. It is empty for the field name.
func partOf(field protoreflect.Name) string {
	switch field {
	case "name":
		return ""
	case "title", "description":
		return texts
	case "input_schema_json":
		return input
	case "output_schema_json":
		return output
	case "annotations":
		return annotations
	}
	return other
}

// digest returns a digest of fields of a message. It is empty without fields.
func digest(m protoreflect.Message, fields []protoreflect.FieldDescriptor) string {
	if len(fields) == 0 {
		return ""
	}
	h := sha256.New()
	foldFields(h, m, fields)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// fieldsOf returns the fields of a message that are set, sorted by number.
func fieldsOf(m protoreflect.Message) (set []protoreflect.FieldDescriptor) {
	m.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		set = append(set, f)
		return true
	})
	slices.SortFunc(set, func(a, b protoreflect.FieldDescriptor) int { return cmp.Compare(a.Number(), b.Number()) })
	return set
}

// foldFields writes fields of a message to a hash. Different values are written differently. It
// replaces protobuf's encoding, which is not canonical.
func foldFields(to io.Writer, m protoreflect.Message, fields []protoreflect.FieldDescriptor) {
	for _, f := range fields {
		_, _ = fmt.Fprintf(to, "%d=", f.Number())
		switch v := m.Get(f); {
		case f.IsList():
			list := v.List()
			_, _ = fmt.Fprintf(to, "[%d]", list.Len())
			for i := range list.Len() {
				foldValue(to, f, list.Get(i))
			}
		case f.IsMap():
			foldMap(to, f, v.Map())
		default:
			foldValue(to, f, v)
		}
	}
}

// foldMap writes a map in the order of its keys.
func foldMap(to io.Writer, f protoreflect.FieldDescriptor, m protoreflect.Map) {
	var keys []protoreflect.MapKey
	m.Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, key)
		return true
	})
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return cmp.Compare(a.String(), b.String()) })
	_, _ = fmt.Fprintf(to, "{%d}", len(keys))
	for _, key := range keys {
		_, _ = fmt.Fprintf(to, "%q", key.String())
		foldValue(to, f.MapValue(), m.Get(key))
	}
}

// foldValue writes one value of a field.
func foldValue(to io.Writer, f protoreflect.FieldDescriptor, v protoreflect.Value) {
	if f.Message() != nil {
		fields := fieldsOf(v.Message())
		_, _ = fmt.Fprintf(to, "(%d)", len(fields))
		foldFields(to, v.Message(), fields)
		return
	}
	text := fmt.Sprint(v.Interface())
	if strings.HasSuffix(string(f.Name()), "_json") {
		text = canonical(text)
	}
	_, _ = fmt.Fprintf(to, "%d:%s", len(text), text)
}

// canonical returns an encoding of JSON that is equal for equal content.
func canonical(text string) string {
	value, err := decodeText(text)
	if err != nil {
		return "text " + text
	}
	out, err := json.Marshal(value) // It sorts the members of objects.
	if err != nil {
		return "text " + text
	}
	return "json " + string(out)
}

// decodeText decodes JSON. Numbers keep their digits.
func decodeText(text string) (any, error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New("it is not JSON")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return decode(d)
}

// decode decodes the next value. An object that has a member twice is an error, because readers
// differ in the member that they use.
func decode(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		members := map[string]any{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name, _ := key.(string)
			if _, twice := members[name]; twice {
				return nil, errors.New("a member is there twice")
			}
			if members[name], err = decode(d); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return members, err
	case json.Delim('['):
		elements := []any{}
		for d.More() {
			one, err := decode(d)
			if err != nil {
				return nil, err
			}
			elements = append(elements, one)
		}
		_, err = d.Token()
		return elements, err
	}
	return token, nil
}
