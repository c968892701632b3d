package reflect

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// linked creates the descriptors of the files. It computes each file's imports from the types that
// it uses, because servers omit imports or name them differently. A file that cannot be linked is
// noted and left out.
func (c *catalog) linked() *protoregistry.Files {
	files := &protoregistry.Files{}
	begun := map[string]bool{}
	var link func(name string)
	link = func(name string) {
		if begun[name] || c.inBase(name) || !c.meter.Step(1) {
			return
		}
		begun[name] = true
		if c.files[name] == nil {
			c.addLinked(name)
		}
		fd := c.files[name]
		if fd == nil {
			return
		}
		c.resolve(fd)
		for _, d := range fd.GetDependency() {
			link(d)
		}
		linked, err := protodesc.FileOptions{AllowUnresolvable: true}.New(fd, layeredFiles{files, c.base})
		if err == nil {
			err = files.RegisterFile(linked)
		}
		if err != nil {
			c.note("the file %s cannot be used: %v", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		link(name)
	}
	return files
}

// layeredFiles resolves from files, then from base, which may be nil.
type layeredFiles struct{ files, base *protoregistry.Files }

// FindFileByPath implements protodesc.Resolver.
func (a layeredFiles) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	fd, err := a.files.FindFileByPath(path)
	if err != nil && a.base != nil {
		return a.base.FindFileByPath(path)
	}
	return fd, err
}

// FindDescriptorByName implements protodesc.Resolver.
func (a layeredFiles) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	d, err := a.files.FindDescriptorByName(name)
	if err != nil && a.base != nil {
		return a.base.FindDescriptorByName(name)
	}
	return d, err
}

// resolve rewrites a file so that it can be linked: it replaces the names of types by full names,
// and the imports by the files that declare these. It removes declarations that another file has,
// too.
func (c *catalog) resolve(fd *descriptorpb.FileDescriptorProto) {
	c.removeDuplicates(fd)
	imports := map[string]bool{}
	eachReference(fd, func(scope string, name *string, field *descriptorpb.FieldDescriptorProto) {
		full, found := c.find(scope, *name)
		*name = "." + string(full)
		if found.file != "" && found.file != fd.GetName() {
			imports[found.file] = true
		}
		if field == nil || name == field.Extendee {
			return
		}
		switch {
		case found.enum:
			field.Type = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum()
		case found.file != "" && field.GetType() != descriptorpb.FieldDescriptorProto_TYPE_GROUP, field.Type == nil:
			field.Type = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
		}
	})
	fd.Dependency = slices.Sorted(maps.Keys(imports))
	fd.PublicDependency, fd.WeakDependency, fd.OptionDependency = nil, nil, nil
}

// removeDuplicates removes declarations that another file has, too: servers may send one file under two
// names.
func (c *catalog) removeDuplicates(fd *descriptorpb.FileDescriptorProto) {
	elsewhere := func(name string) bool {
		full, found := c.lookup(join(fd.GetPackage(), name))
		other := c.files[found.file]
		if other == nil || other == fd {
			return false
		}
		c.note("%s is declared in %s and in %s: the first one is used", full, other.GetName(), fd.GetName())
		return true
	}
	before := len(fd.MessageType) + len(fd.EnumType) + len(fd.Service)
	fd.MessageType = slices.DeleteFunc(fd.MessageType, func(m *descriptorpb.DescriptorProto) bool { return elsewhere(m.GetName()) })
	fd.EnumType = slices.DeleteFunc(fd.EnumType, func(e *descriptorpb.EnumDescriptorProto) bool { return elsewhere(e.GetName()) })
	fd.Service = slices.DeleteFunc(fd.Service, func(s *descriptorpb.ServiceDescriptorProto) bool { return elsewhere(s.GetName()) })
	if len(fd.MessageType)+len(fd.EnumType)+len(fd.Service) < before {
		fd.SourceCodeInfo = nil // its paths have indexes of declarations
	}
}

// eachReference calls fn for every name of a type in a file, with the scope of the name; fn may
// replace it. field is nil for request and response types of methods.
func eachReference(fd *descriptorpb.FileDescriptorProto, fn func(scope string, name *string, field *descriptorpb.FieldDescriptorProto)) {
	fields := func(scope string, all []*descriptorpb.FieldDescriptorProto) {
		for _, f := range all {
			if f.TypeName != nil {
				fn(scope, f.TypeName, f)
			}
			if f.Extendee != nil {
				fn(scope, f.Extendee, f)
			}
		}
	}
	var messages func(scope string, all []*descriptorpb.DescriptorProto)
	messages = func(scope string, all []*descriptorpb.DescriptorProto) {
		for _, m := range all {
			inside := join(scope, m.GetName())
			fields(inside, m.GetField())
			fields(inside, m.GetExtension())
			messages(inside, m.GetNestedType())
		}
	}
	messages(fd.GetPackage(), fd.GetMessageType())
	fields(fd.GetPackage(), fd.GetExtension())
	for _, s := range fd.GetService() {
		inside := join(fd.GetPackage(), s.GetName())
		for _, m := range s.GetMethod() {
			if m.InputType != nil {
				fn(inside, m.InputType, nil)
			}
			if m.OutputType != nil {
				fn(inside, m.OutputType, nil)
			}
		}
	}
}

// nameEntries gives map entries the required names, derived from their fields.
func nameEntries(fd *descriptorpb.FileDescriptorProto) {
	var messages func(all []*descriptorpb.DescriptorProto)
	messages = func(all []*descriptorpb.DescriptorProto) {
		for _, m := range all {
			entries := map[string]*descriptorpb.DescriptorProto{}
			for _, sub := range m.GetNestedType() {
				if sub.GetOptions().GetMapEntry() {
					entries[sub.GetName()] = sub
				}
			}
			if len(entries) > 0 {
				nameEntriesOf(m, entries)
			}
			messages(m.GetNestedType())
		}
	}
	messages(fd.GetMessageType())
}

func nameEntriesOf(m *descriptorpb.DescriptorProto, entries map[string]*descriptorpb.DescriptorProto) {
	for _, f := range m.GetField() {
		scope, last := "", f.GetTypeName()
		if i := strings.LastIndexByte(last, '.'); i >= 0 {
			scope, last = last[:i+1], last[i+1:]
		}
		entry, want := entries[last], entryName(f.GetName())
		if entry == nil || last == want || entries[want] != nil || entry.GetName() != last {
			continue
		}
		entry.Name = proto.String(want)
		f.TypeName = proto.String(scope + want)
	}
}

// entryName returns the name of the entries of a map field: MapFieldEntry for map_field.
func entryName(field string) string {
	var b strings.Builder
	upper := true
	for _, r := range field {
		switch {
		case r == '_':
			upper = true
			continue
		case upper && 'a' <= r && r <= 'z':
			r += 'A' - 'a'
		}
		upper = false
		b.WriteRune(r)
	}
	return b.String() + "Entry"
}
