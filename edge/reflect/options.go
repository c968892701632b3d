package reflect

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	optionspb "github.com/mcpedge/mcpedge/gen/mcpedge/options/v1"
)

// own are this project's options. Their numbers are of the range that every organization may use for itself,
// so a target may have something else there.
var own = []protoreflect.ExtensionType{optionspb.E_Tool, optionspb.E_Service, optionspb.E_Field}

// others finds the extensions that are linked into this program, without the project's own.
type others struct{ *protoregistry.Types }

// FindExtensionByNumber implements protoregistry.ExtensionTypeResolver.
func (o others) FindExtensionByNumber(message protoreflect.FullName, number protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	x, err := o.Types.FindExtensionByNumber(message, number)
	if err == nil && slices.Contains(own, x) {
		return nil, protoregistry.NotFound
	}
	return x, err
}

// unmarshal reads descriptors. The project's own options stay unknown fields, which schema.Private reads: what
// another organization has under their numbers is no mistake in the descriptors.
func unmarshal(raw []byte, m proto.Message) error {
	return proto.UnmarshalOptions{Resolver: others{protoregistry.GlobalTypes}}.Unmarshal(raw, m)
}

// disown takes options out of the files that another project declares under the numbers of this one's.
func (c *catalog) disown() {
	names := slices.Sorted(maps.Keys(c.files))
	for _, x := range own {
		foreign := ""
		for _, name := range names {
			fd := c.files[name]
			if found := declares(fd.GetPackage(), fd.GetExtension(), fd.GetMessageType(), x); found != "" {
				foreign = found
				break
			}
		}
		if foreign == "" {
			continue
		}
		about := x.TypeDescriptor()
		c.note("the option %s has the number %d of %s, which is not read", foreign, about.Number(), about.FullName())
		for _, name := range names {
			erase(c.files[name].ProtoReflect(), about.ContainingMessage().FullName(), about.Number())
		}
	}
}

// declares returns the name of the extension that has the message and the number of x and is not x; empty: there
// is none.
func declares(scope string, extensions []*descriptorpb.FieldDescriptorProto, messages []*descriptorpb.DescriptorProto, x protoreflect.ExtensionType) string {
	about := x.TypeDescriptor()
	if scope != "" {
		scope += "."
	}
	for _, e := range extensions {
		name := scope + e.GetName()
		if e.GetExtendee() == "."+string(about.ContainingMessage().FullName()) &&
			e.GetNumber() == int32(about.Number()) && name != string(about.FullName()) {
			return name
		}
	}
	for _, m := range messages {
		if name := declares(scope+m.GetName(), m.GetExtension(), m.GetNestedType(), x); name != "" {
			return name
		}
	}
	return ""
}

// erase removes an unknown field from every message of a type below m.
func erase(m protoreflect.Message, of protoreflect.FullName, number protoreflect.FieldNumber) {
	if m.Descriptor().FullName() == of {
		var kept []byte
		for rest := m.GetUnknown(); len(rest) > 0; {
			n, _, size := protowire.ConsumeField(rest)
			if size < 0 {
				break
			}
			if n != number {
				kept = append(kept, rest[:size]...)
			}
			rest = rest[size:]
		}
		m.SetUnknown(kept)
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				erase(v.List().Get(i).Message(), of, number)
			}
		default:
			erase(v.Message(), of, number)
		}
		return true
	})
}
