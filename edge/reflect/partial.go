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

// maxLeftOut bounds how many fields are named that JSON cannot say.
const maxLeftOut = 10

// partial takes the fields out of a message that have no JSON, such as a Timestamp of the year 0 or an Any of a type that nothing
// describes, and names them.
type partial struct {
	types types
	// way leads to the value that is looked at.
	way []step
	// names are the first maxLeftOut of the fields that were taken out, as "leaves[2].when: why"; count is how many there were.
	names []string
	count int
}

// step is a field, and the element of a list or the entry of a map in it.
type step struct {
	field protoreflect.FieldDescriptor
	index int                 // -1: it is no list
	key   protoreflect.MapKey // invalid: it is no map
}

// at names the way.
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

// says reports whether a message has JSON, which is asked of messages with a JSON of their own.
func (p *partial) says(m protoreflect.Message) bool {
	_, err := protojson.MarshalOptions{Resolver: p.types, AllowPartial: true}.Marshal(m.Interface())
	if err == nil {
		return true
	}
	if p.count++; p.count <= maxLeftOut {
		p.names = append(p.names, p.at()+": "+limit.Clip(plain(err), 200))
	}
	return false
}

// keeps reports whether the message behind a step has JSON, after what has none was taken out of it.
func (p *partial) keeps(s step, v protoreflect.Value) bool {
	p.way = append(p.way, s)
	defer func() { p.way = p.way[:len(p.way)-1] }()
	if schema.IsWellKnown(v.Message().Descriptor()) {
		return p.says(v.Message())
	}
	p.strip(v.Message())
	return true
}

// strip takes out of a message what has no JSON.
func (p *partial) strip(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			if fd.MapValue().Message() == nil {
				return true
			}
			v.Map().Range(func(k protoreflect.MapKey, x protoreflect.Value) bool {
				if !p.keeps(step{field: fd, index: -1, key: k}, x) {
					v.Map().Clear(k)
				}
				return true
			})
		case fd.Message() == nil:
		case fd.IsList():
			kept := 0
			for i := range v.List().Len() {
				if x := v.List().Get(i); p.keeps(step{field: fd, index: i}, x) {
					v.List().Set(kept, x)
					kept++
				}
			}
			v.List().Truncate(kept)
		case !p.keeps(step{field: fd, index: -1}, v):
			m.Clear(fd)
		}
		return true
	})
}

// note says what was left out; empty: nothing.
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

// strippedJSON is the JSON of a message, with default values if defaults is true, without the fields that have none, and a note of
// these. The error is that nothing of it
// has, or what is left lacks a field that must be there.
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
