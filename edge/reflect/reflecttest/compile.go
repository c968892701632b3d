// Package reflecttest serves, for tests, gRPC services that are known by their .proto files alone.
package reflecttest

import (
	"context"
	"embed"
	"io"
	"io/fs"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	// Types that the files may import.
	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "google.golang.org/genproto/googleapis/api/annotations"

	_ "github.com/mcpedge/mcpedge/gen/mcpedge/options/v1"
)

//go:embed protos
var protos embed.FS

// Kinds compiles the bundled files: a service with every kind of field, and the rules.
func Kinds() *descriptorpb.FileDescriptorSet { return bundled("kinds.proto", "legacy.proto") }

// Oracle compiles the bundled file of messages for comparisons with protovalidate.
func Oracle() *descriptorpb.FileDescriptorSet { return bundled("oracle.proto") }

// bundled compiles bundled files.
func bundled(names ...string) *descriptorpb.FileDescriptorSet {
	files := map[string]string{}
	for _, name := range names {
		text, err := fs.ReadFile(protos, "protos/"+name)
		if err != nil {
			panic(err)
		}
		files[name] = string(text)
	}
	return Compile(files)
}

// Compile compiles files, by name, to a set with their imports and comments. It panics on an error
// in them.
func Compile(files map[string]string) *descriptorpb.FileDescriptorSet {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard,
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: func(path string) (io.ReadCloser, error) {
				if text, ok := files[path]; ok {
					return io.NopCloser(strings.NewReader(text)), nil
				}
				return nil, fs.ErrNotExist
			}},
			protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
				fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
				return protocompile.SearchResult{Desc: fd}, err
			}),
		},
	}
	compiled, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		panic(err)
	}
	set, seen := &descriptorpb.FileDescriptorSet{}, map[string]bool{}
	var add func(fd protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if seen[fd.Path()] {
			return
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i))
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(fd))
	}
	for _, fd := range compiled {
		add(fd)
	}
	return remarshal(set)
}

// remarshal decodes the set again, so that options have their Go types.
func remarshal(set *descriptorpb.FileDescriptorSet) *descriptorpb.FileDescriptorSet {
	raw, err := proto.Marshal(set)
	if err != nil {
		panic(err)
	}
	out := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(raw, out); err != nil {
		panic(err)
	}
	return out
}

// Files links a set. It panics on a mistake in it.
func Files(set *descriptorpb.FileDescriptorSet) *protoregistry.Files {
	files, err := protodesc.NewFiles(set)
	if err != nil {
		panic(err)
	}
	return files
}

// Message finds a message. It panics if there is none.
func Message(files *protoregistry.Files, name protoreflect.FullName) protoreflect.MessageDescriptor {
	d, err := files.FindDescriptorByName(name)
	if err != nil {
		panic(err)
	}
	return d.(protoreflect.MessageDescriptor)
}
