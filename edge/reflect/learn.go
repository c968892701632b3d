package reflect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	// What services' options may use must be known when their descriptors are read.
	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "google.golang.org/genproto/googleapis/api/annotations"
)

// Bounds of what is learned of one target.
const (
	// MaxServices is how many services are asked about, MaxFiles how many files may describe them.
	MaxServices = 1_000
	MaxFiles    = 10_000
	// MaxDescriptorBytes bounds the files together.
	MaxDescriptorBytes = 32 << 20
	// MaxTools bounds the tools.
	MaxTools = 5_000
)

// catalog is what a target says of itself.
type catalog struct {
	// services are full names, sorted.
	services []string
	// operations: google.longrunning.Operations is served, or may be.
	operations bool
	files      map[string]*descriptorpb.FileDescriptorProto
	bytes      int
	notes      []string
}

func (c *catalog) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// add keeps a file, within the bounds.
func (c *catalog) add(raw []byte) (*descriptorpb.FileDescriptorProto, error) {
	fd := &descriptorpb.FileDescriptorProto{}
	if err := unmarshal(raw, fd); err != nil {
		return nil, fmt.Errorf("a file descriptor cannot be read: %w", err)
	}
	if c.files[fd.GetName()] != nil {
		return fd, nil
	}
	if c.bytes += len(raw); c.bytes > MaxDescriptorBytes || len(c.files) == MaxFiles {
		return nil, fmt.Errorf("the descriptors are more than %d files or %d bytes: expose fewer services", MaxFiles, MaxDescriptorBytes)
	}
	c.files[fd.GetName()] = fd
	return fd, nil
}

// learn finds out what a target serves and makes tools of it; before is returned when nothing has changed
// since. A fault in the descriptors is an error, never a panic.
func learn(ctx context.Context, conn grpc.ClientConnInterface, opts *Options, before *model) (m *model, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, fmt.Errorf("the service's descriptors cannot be used: %v", p)
		}
	}()
	pick := selection{include: opts.Include, exclude: opts.Exclude}
	var c *catalog
	if opts.DescriptorSet != nil {
		c, err = readSet(opts.DescriptorSet, &pick)
	} else {
		c, err = ask(ctx, conn, &pick)
	}
	if err != nil {
		return nil, err
	}
	source := c.digest()
	if before != nil && before.source == source {
		return before, nil
	}
	m = build(c, &pick)
	m.source = source
	return m, nil
}

// digest is equal for equal catalogs.
func (c *catalog) digest() [sha256.Size]byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		raw, _ := proto.MarshalOptions{Deterministic: true}.Marshal(c.files[name])
		fmt.Fprintf(h, "%d:", len(raw))
		h.Write(raw)
	}
	fmt.Fprintf(h, "%q%t%q", c.services, c.operations, c.notes)
	return [sha256.Size]byte(h.Sum(nil))
}

// readSet takes the services from a descriptor set.
func readSet(read func() ([]byte, error), pick *selection) (*catalog, error) {
	raw, err := read()
	if err != nil {
		return nil, fmt.Errorf("descriptor set: %w", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := unmarshal(raw, set); err != nil {
		return nil, fmt.Errorf("descriptor set: it is no serialized google.protobuf.FileDescriptorSet: %w", err)
	}
	c := &catalog{files: map[string]*descriptorpb.FileDescriptorProto{}}
	for _, fd := range set.GetFile() {
		if c.bytes += proto.Size(fd); c.bytes > MaxDescriptorBytes || len(c.files) == MaxFiles {
			return nil, fmt.Errorf("descriptor set: more than %d files or %d bytes: leave out what is not needed", MaxFiles, MaxDescriptorBytes)
		}
		c.files[fd.GetName()] = fd
		for _, s := range fd.GetService() {
			name := s.GetName()
			if fd.GetPackage() != "" {
				name = fd.GetPackage() + "." + name
			}
			c.operations = c.operations || name == operationsService
			if pick.service(name) {
				c.services = append(c.services, name)
			}
		}
	}
	slices.Sort(c.services)
	return c, nil
}

// linked makes descriptors of the files. A file that cannot be linked is noted and left out.
func (c *catalog) linked() *protoregistry.Files {
	files := &protoregistry.Files{}
	state := map[string]bool{} // true: being linked or done
	var link func(name string)
	link = func(name string) {
		if state[name] {
			return
		}
		state[name] = true
		if c.files[name] == nil { // a set without imports
			_ = c.common(name)
		}
		fd := c.files[name]
		if fd == nil {
			return
		}
		for _, d := range fd.GetDependency() {
			link(d)
		}
		// What is imported for its options alone need not be there.
		linked, err := protodesc.FileOptions{AllowUnresolvable: true}.New(fd, files)
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

// version is a digest of the tools, the same for the same descriptors.
func version(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// missing finds a message that is used below md but described nowhere; empty: there is none.
func missing(md protoreflect.MessageDescriptor) protoreflect.FullName {
	seen := map[protoreflect.FullName]bool{}
	var walk func(md protoreflect.MessageDescriptor) protoreflect.FullName
	walk = func(md protoreflect.MessageDescriptor) protoreflect.FullName {
		if md.IsPlaceholder() {
			return md.FullName()
		}
		if seen[md.FullName()] {
			return ""
		}
		seen[md.FullName()] = true
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if ed := fd.Enum(); ed != nil && ed.IsPlaceholder() {
				return ed.FullName()
			}
			if sub := fd.Message(); sub != nil {
				if name := walk(sub); name != "" {
					return name
				}
			}
		}
		return ""
	}
	return walk(md)
}
