package reflect

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	"github.com/mcpedge/mcpedge/edge/reflect/schema"
)

// maxLeftOut bounds the number of removed fields that are named.
const maxLeftOut = 10

// partial removes fields from a message that JSON cannot represent, such as a Timestamp of the year
// 0 or an Any of an unknown type, and records their names.
type partial struct {
	types types
	// way is the path to the current value.
	way []step
	// names describe the first maxLeftOut removed fields, as in "leaves[2].when: why"; count is the
	// number of all.
	names []string
	count int
}

// step is a field, or an element of a list or entry of a map in it.
type step struct {
	field protoreflect.FieldDescriptor
	index int                 // -1 if it is not a list
	key   protoreflect.MapKey // invalid if it is not a map
}

// at formats the path.
func (p *partial) at() string {
	var b strings.Builder
	for i, s := range p.way {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.field.JSONName())
		switch {
		case s.index >= 0:
			_, _ = fmt.Fprintf(&b, "[%d]", s.index)
		case s.key.IsValid():
			_, _ = fmt.Fprintf(&b, "[%.64q]", s.key.String())
		}
	}
	return b.String()
}

// hasJSON reports whether a well-known message has a JSON representation.
func (p *partial) hasJSON(m protoreflect.Message) bool {
	_, err := protojson.MarshalOptions{Resolver: p.types, AllowPartial: true}.Marshal(m.Interface())
	if err == nil {
		return true
	}
	if p.count++; p.count <= maxLeftOut {
		p.names = append(p.names, p.at()+": "+limit.Clip(plain(err), 200))
	}
	return false
}

// keepsValue reports whether the value at a step has a JSON representation, after removing parts that
// have none.
func (p *partial) keepsValue(s step, v protoreflect.Value) bool {
	p.way = append(p.way, s)
	defer func() { p.way = p.way[:len(p.way)-1] }()
	if schema.IsWellKnown(v.Message().Descriptor()) {
		return p.hasJSON(v.Message())
	}
	p.strip(v.Message())
	return true
}

// strip removes the parts of a message without a JSON representation.
func (p *partial) strip(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			if fd.MapValue().Message() == nil {
				return true
			}
			v.Map().Range(func(k protoreflect.MapKey, x protoreflect.Value) bool {
				if !p.keepsValue(step{field: fd, index: -1, key: k}, x) {
					v.Map().Clear(k)
				}
				return true
			})
		case fd.Message() == nil:
		case fd.IsList():
			kept := 0
			for i := range v.List().Len() {
				if x := v.List().Get(i); p.keepsValue(step{field: fd, index: i}, x) {
					v.List().Set(kept, x)
					kept++
				}
			}
			v.List().Truncate(kept)
		case !p.keepsValue(step{field: fd, index: -1}, v):
			m.Clear(fd)
		}
		return true
	})
}

// note describes the removed fields; empty if there are none.
func (p *partial) note() string {
	if p.count == 0 {
		return ""
	}
	more := ""
	if p.count > maxLeftOut {
		more = fmt.Sprintf("; and %d more", p.count-maxLeftOut)
	}
	return "Left out, since JSON cannot say it: " + strings.Join(p.names, "; ") + more + "."
}

// strippedJSON returns the JSON of a message without the fields that have no representation, and a
// note about these. defaults includes default values. It returns an error if nothing remains, or if
// a required field is removed.
func strippedJSON(types types, m proto.Message, defaults bool) (text []byte, note string, err error) {
	marshal := protojson.MarshalOptions{Resolver: types, EmitDefaultValues: defaults}
	if text, err = marshal.Marshal(m); err == nil || schema.IsWellKnown(m.ProtoReflect().Descriptor()) {
		return text, "", err
	}
	p := &partial{types: types}
	left := proto.Clone(m)
	p.strip(left.ProtoReflect())
	if p.count == 0 {
		return nil, "", err
	}
	text, err = marshal.Marshal(left)
	return text, p.note(), err
}
