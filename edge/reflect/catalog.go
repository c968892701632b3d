package reflect

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
)

// catalog has a target's services and files, as far as the bounds of learning allow.
type catalog struct {
	meter *limit.Meter
	// services are full names, sorted, each once.
	services []string
	// operations reports that google.longrunning.Operations is or may be served.
	operations bool
	// files by their names. linked modifies them.
	files map[string]*descriptorpb.FileDescriptorProto
	// symbols are the messages, enums and services of the files. If several files declare a symbol,
	// the file whose name sorts first is used.
	symbols map[protoreflect.FullName]symbol
	// used are the references to types that unresolved has not processed.
	used []reference
	// extensible are the messages whose extensions were not requested yet; extensions are those
	// that the files declare.
	extensible []protoreflect.FullName
	extensions map[extension]bool
	// base has files that are described already, in addition to files; nil means none.
	base *protoregistry.Files
	// method is the reflection method that answered; empty without reflection.
	method string

	notes limit.Notes
	// bound is the last bound that excluded a file or a service; nil means none.
	bound error
}

// symbol is the file of a type or service, and whether it is an enum.
type symbol struct {
	file string
	enum bool
}

// extension is an extension and the message that it extends.
type extension struct {
	of     protoreflect.FullName
	number int32
}

// reference is the name of a type as written in a file, and its scope.
type reference struct{ scope, name string }

func newCatalog(m *limit.Meter) *catalog {
	return &catalog{
		meter: m, files: map[string]*descriptorpb.FileDescriptorProto{}, symbols: map[protoreflect.FullName]symbol{},
		extensions: map[extension]bool{},
	}
}

func (c *catalog) note(format string, args ...any) { c.notes.Add(format, args...) }

// exceeds notes that something is left out because of a bound.
func (c *catalog) exceeds(what string, err error) {
	c.bound = err
	c.note("%s is not read: %v", what, err)
}

// full reports whether reading more files is useless.
func (c *catalog) full() bool {
	return len(c.files) >= limit.MaxFiles || c.bound != nil && c.meter.IsFatal(c.bound)
}

// add adds a file and returns it. It returns nil if the file is present already, or exceeds a
// bound, which is noted. It returns an error if raw is not a file descriptor.
func (c *catalog) add(raw []byte) (*descriptorpb.FileDescriptorProto, error) {
	if len(c.files) >= limit.MaxFiles {
		c.exceeds("the rest of the service", fmt.Errorf("its descriptors are more than %d files", limit.MaxFiles))
		return nil, nil
	}
	name := fileName(raw)
	if c.files[name] != nil {
		return nil, nil
	}
	if err := c.meter.Scan(raw); err != nil {
		c.exceeds(fmt.Sprintf("the file %.200q", name), err)
		return nil, nil
	}
	fd := &descriptorpb.FileDescriptorProto{}
	if err := unmarshal(raw, fd); err != nil {
		return nil, fmt.Errorf("the file %.200q cannot be read: %w", name, err)
	}
	if err := c.meter.Names(fd); err != nil {
		c.exceeds(fmt.Sprintf("the file %.200q", name), err)
		return nil, nil
	}
	c.files[fd.GetName()] = fd
	nameEntries(fd)
	c.distinguish(fd)
	c.index(fd)
	eachReference(fd, func(scope string, name *string, _ *descriptorpb.FieldDescriptorProto) {
		c.used = append(c.used, reference{scope, *name})
	})
	return fd, nil
}

// fileName reads only the name from a serialized file.
func fileName(raw []byte) (name string) {
	eachBytes(raw, func(number protoreflect.FieldNumber, value []byte) {
		if number == 1 {
			name = string(value)
		}
	})
	return name
}

// index adds the declarations of a file to symbols.
func (c *catalog) index(fd *descriptorpb.FileDescriptorProto) {
	enter := func(scope, name string, enum bool) string {
		full := protoreflect.FullName(join(scope, name))
		if known, there := c.symbols[full]; !there || fd.GetName() < known.file {
			c.symbols[full] = symbol{fd.GetName(), enum}
		}
		return string(full)
	}
	var messages func(scope string, all []*descriptorpb.DescriptorProto)
	messages = func(scope string, all []*descriptorpb.DescriptorProto) {
		for _, m := range all {
			inside := enter(scope, m.GetName(), false)
			if len(m.GetExtensionRange()) > 0 && fd.GetPackage() != "google.protobuf" { // google.protobuf has options only
				c.extensible = append(c.extensible, protoreflect.FullName(inside))
			}
			c.extend(m.GetExtension())
			for _, e := range m.GetEnumType() {
				enter(inside, e.GetName(), true)
			}
			messages(inside, m.GetNestedType())
		}
	}
	messages(fd.GetPackage(), fd.GetMessageType())
	c.extend(fd.GetExtension())
	for _, e := range fd.GetEnumType() {
		enter(fd.GetPackage(), e.GetName(), true)
	}
	for _, s := range fd.GetService() {
		enter(fd.GetPackage(), s.GetName(), false)
	}
}

// extend adds extensions by the names of the extended messages as written.
func (c *catalog) extend(all []*descriptorpb.FieldDescriptorProto) {
	for _, x := range all {
		c.extensions[extension{protoreflect.FullName(strings.TrimPrefix(x.GetExtendee(), ".")), x.GetNumber()}] = true
	}
}

// join returns a name within a scope, which may be empty.
func join(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "." + name
}

// find resolves a type's name, innermost scope first, among the files and then among those linked
// into this program. If nothing has the name, found has no file, and full is its most likely full
// name.
func (c *catalog) find(scope, name string) (full protoreflect.FullName, found symbol) {
	bare, absolute := strings.CutPrefix(name, ".")
	if !absolute {
		for s := scope; s != "" && c.meter.Step(1); s = s[:max(strings.LastIndexByte(s, '.'), 0)] {
			if full, found = c.lookup(s + "." + bare); found.file != "" {
				return full, found
			}
		}
	}
	return c.lookup(bare)
}

func (c *catalog) lookup(name string) (full protoreflect.FullName, found symbol) {
	full = protoreflect.FullName(name)
	if found = c.symbols[full]; found.file != "" {
		return full, found
	}
	var d protoreflect.Descriptor
	err := error(protoregistry.NotFound)
	if c.base != nil {
		d, err = c.base.FindDescriptorByName(full)
	}
	if err != nil {
		d, err = protoregistry.GlobalFiles.FindDescriptorByName(full)
	}
	if err != nil {
		return full, symbol{}
	}
	switch d.(type) {
	case protoreflect.MessageDescriptor:
		return full, symbol{file: d.ParentFile().Path()}
	case protoreflect.EnumDescriptor:
		return full, symbol{file: d.ParentFile().Path(), enum: true}
	}
	return full, symbol{}
}

// unresolved returns the types that the files use and no file declares, each once over all calls.
func (c *catalog) unresolved() (out []protoreflect.FullName) {
	used := c.used
	c.used = nil
	for _, r := range used {
		if !c.meter.Step(1) {
			break
		}
		if full, found := c.find(r.scope, r.name); found.file == "" && full.IsValid() {
			out = append(out, full)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inBase reports whether base has a file.
func (c *catalog) inBase(name string) bool {
	if c.base == nil {
		return false
	}
	_, err := c.base.FindFileByPath(name)
	return err == nil
}

// addLinked adds a file that is linked into this program, if there is one.
func (c *catalog) addLinked(name string) {
	fd, err := protoregistry.GlobalFiles.FindFileByPath(name)
	if err != nil {
		return
	}
	raw, err := proto.Marshal(protodesc.ToFileDescriptorProto(fd))
	if err == nil {
		_, err = c.add(raw)
	}
	if err != nil {
		c.note("the file %s cannot be used: %v", name, err)
	}
}

// choose adds the selected services, without duplicates, within the bounds.
func (c *catalog) choose(names []string, pick *selection) {
	spoken := false
	for _, name := range names {
		c.operations = c.operations || name == operationsService
		if strings.HasPrefix(name, contract) && !spoken {
			spoken = true
			c.note("it serves mcpedge.v1: leave kind out, since kind: reflect is for services that do not, and shows nothing of the contract")
		}
		if pick.service(name) {
			c.services = append(c.services, name)
		}
	}
	slices.Sort(c.services)
	c.services = slices.Compact(c.services)
	if n := len(c.services); n > limit.MaxServices {
		c.bound = fmt.Errorf("%d services are more than %d: the last ones are left out; select some with include", n, limit.MaxServices)
		c.note("%v", c.bound)
		c.services = c.services[:limit.MaxServices]
	}
}

// digest returns a digest that is equal for equal catalogs.
func (c *catalog) digest() [sha256.Size]byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c.files[name])
		fmt.Fprintf(h, "%d:", len(raw))
		h.Write(raw)
	}
	fmt.Fprintf(h, "%q%t%q", c.services, c.operations, c.notes.List())
	return [sha256.Size]byte(h.Sum(nil))
}
