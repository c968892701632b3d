package reflect

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
)

// distinguish replaces JSON names that several fields of a message share by the fields' own names.
// Otherwise only the first field could be set.
func (c *catalog) distinguish(fd *descriptorpb.FileDescriptorProto) {
	var messages func(scope string, all []*descriptorpb.DescriptorProto)
	messages = func(scope string, all []*descriptorpb.DescriptorProto) {
		for _, m := range all {
			full := join(scope, m.GetName())
			for i := 0; distinguishOnce(m); i++ {
				if i == 0 {
					c.note("message %s: fields have one JSON name, and go by their own names", full)
				}
			}
			messages(full, m.GetNestedType())
		}
	}
	messages(fd.GetPackage(), fd.GetMessageType())
}

// distinguishOnce reports whether it has changed a name. Each change makes another field use its
// own name, so repeating it terminates.
func distinguishOnce(m *descriptorpb.DescriptorProto) (changed bool) {
	fields := map[string][]*descriptorpb.FieldDescriptorProto{}
	for _, f := range m.GetField() {
		name := jsonName(f)
		fields[name] = append(fields[name], f)
	}
	for name, all := range fields {
		if len(all) == 1 {
			continue
		}
		for _, f := range all {
			if f.GetName() != name {
				changed = true
			}
			f.JsonName = proto.String(f.GetName())
		}
	}
	return changed
}

// jsonName returns a field's name in JSON.
func jsonName(f *descriptorpb.FieldDescriptorProto) string {
	if f.JsonName != nil {
		return f.GetJsonName()
	}
	return camel(f.GetName())
}

// camel converts a_field to aField, as protobuf's JSON mapping does.
func camel(name string) string {
	var b strings.Builder
	upper := false
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_':
			upper = true
			continue
		case upper && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		upper = false
		b.WriteByte(c)
	}
	return b.String()
}
