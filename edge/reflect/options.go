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

// ownOptions are this project's options. Their numbers are from the range for use within an organization,
// so a target may use them for other options.
var ownOptions = []protoreflect.ExtensionType{optionspb.E_Tool, optionspb.E_Service, optionspb.E_Field}

// linkedExtensions finds the extensions that are linked into this program, without the project's own.
type linkedExtensions struct{ *protoregistry.Types }

// FindExtensionByNumber implements protoregistry.ExtensionTypeResolver.
func (o linkedExtensions) FindExtensionByNumber(message protoreflect.FullName, number protoreflect.FieldNumber) (protoreflect.ExtensionType, error) {
	x, err := o.Types.FindExtensionByNumber(message, number)
	if err == nil && slices.Contains(ownOptions, x) {
		return nil, protoregistry.NotFound
	}
	return x, err
}

// unmarshal decodes descriptors. The project's own options remain unknown fields, which
// schema.Private decodes: another organization's option under the same number is not an error.
func unmarshal(raw []byte, m proto.Message) error {
	return proto.UnmarshalOptions{Resolver: linkedExtensions{protoregistry.GlobalTypes}}.Unmarshal(raw, m)
}

// optionsFile declares this project's options.
var optionsFile = optionspb.E_Tool.TypeDescriptor().ParentFile().Path()

// removeForeignOptions removes options with the numbers of this project's from files that declare them otherwise,
// and from files that do not import this project's: they have another meaning there.
func (c *catalog) removeForeignOptions() {
	names := slices.Sorted(maps.Keys(c.files))
	imports := c.importers(names)
	for _, name := range names {
		if imports[name] {
			continue
		}
		for _, x := range ownOptions {
			about := x.TypeDescriptor()
			if erase(c.files[name].ProtoReflect(), about.ContainingMessage().FullName(), about.Number()) {
				c.note("the file %s does not import %s: its options %d of %s are not read", name, optionsFile, about.Number(), about.ContainingMessage().Name())
			}
		}
	}
	for _, x := range ownOptions {
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

// importers returns the files that import this project's options, under any name, directly or by
// public imports.
func (c *catalog) importers(names []string) map[string]bool {
	is := map[string]bool{optionsFile: true}
	public := map[string][]string{} // files by the file that they import publicly
	direct := map[string][]string{} // files by the file that they import
	for _, name := range names {
		fd := c.files[name]
		for _, x := range fd.GetExtension() {
			is[name] = is[name] || join(fd.GetPackage(), x.GetName()) == string(optionspb.E_Tool.TypeDescriptor().FullName())
		}
		publicly := map[int32]bool{}
		for _, i := range fd.GetPublicDependency() {
			publicly[i] = true
		}
		for i, dependency := range fd.GetDependency() {
			direct[dependency] = append(direct[dependency], name)
			if publicly[int32(i)] { // #nosec G115 -- bounded by the file's size
				public[dependency] = append(public[dependency], name)
			}
		}
	}
	out, passes := map[string]bool{}, slices.Sorted(maps.Keys(is))
	for ; len(passes) > 0; passes = passes[1:] {
		for _, name := range direct[passes[0]] {
			out[name] = true
		}
		for _, name := range public[passes[0]] {
			if !is[name] {
				is[name] = true
				passes = append(passes, name)
			}
		}
	}
	return out
}

// declares returns the name of an extension other than x with the message and the number of x, or
// an empty string.
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

// erase removes an unknown field from every message of a type within m, and reports whether it
// found one.
func erase(m protoreflect.Message, of protoreflect.FullName, number protoreflect.FieldNumber) (found bool) {
	if m.Descriptor().FullName() == of {
		var kept []byte
		for rest := m.GetUnknown(); len(rest) > 0; {
			n, _, size := protowire.ConsumeField(rest)
			if size < 0 {
				break
			}
			if n == number {
				found = true
			} else {
				kept = append(kept, rest[:size]...)
			}
			rest = rest[size:]
		}
		if found {
			m.SetUnknown(kept)
		}
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.Message() == nil || fd.IsMap():
		case fd.IsList():
			for i := range v.List().Len() {
				found = erase(v.List().Get(i).Message(), of, number) || found
			}
		default:
			found = erase(v.Message(), of, number) || found
		}
		return true
	})
	return found
}
