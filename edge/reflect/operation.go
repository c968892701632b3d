package reflect

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/anypb"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/mcpedge/mcpedge/edge/reflect/limit"
	"github.com/mcpedge/mcpedge/internal/wire"
)

// Names of long-running operations (google/longrunning/operations.proto).
const (
	operationsService = "google.longrunning.Operations"
	operationMessage  = "google.longrunning.Operation"
	// operationInfoOption is the number of the method option google.longrunning.operation_info.
	operationInfoOption protowire.Number = 1049
)

// operations are the methods that query and cancel a target's operations, from its own descriptors.
type operations struct{ get, cancel protoreflect.MethodDescriptor }

// findOperations returns the methods, or nil if the target does not serve them in the expected
// form.
func (c *catalog) findOperations(files *protoregistry.Files) *operations {
	if !c.operations {
		return nil
	}
	d, err := files.FindDescriptorByName(operationsService)
	service, ok := d.(protoreflect.ServiceDescriptor)
	if err != nil || !ok {
		return nil
	}
	o := &operations{get: service.Methods().ByName("GetOperation"), cancel: service.Methods().ByName("CancelOperation")}
	for _, m := range []protoreflect.MethodDescriptor{o.get, o.cancel} {
		if m == nil || !isText(m.Input().Fields().ByName("name")) {
			return nil
		}
	}
	if !isOperation(o.get.Output()) {
		return nil
	}
	return o
}

// isOperation reports whether a message is google.longrunning.Operation with the fields that
// operation reads.
func isOperation(md protoreflect.MessageDescriptor) bool {
	if md.FullName() != operationMessage {
		return false
	}
	done := md.Fields().ByName("done")
	return isText(md.Fields().ByName("name")) && done != nil && done.Kind() == protoreflect.BoolKind &&
		isMessage(md.Fields().ByName("metadata"), "google.protobuf.Any") &&
		isMessage(md.Fields().ByName("error"), "google.rpc.Status") &&
		isMessage(md.Fields().ByName("response"), "google.protobuf.Any")
}

func isText(fd protoreflect.FieldDescriptor) bool {
	return fd != nil && fd.Kind() == protoreflect.StringKind && !fd.IsList()
}

func isMessage(fd protoreflect.FieldDescriptor, name protoreflect.FullName) bool {
	return fd != nil && fd.Message() != nil && fd.Message().FullName() == name && !fd.IsList()
}

// begins reports whether a method starts an operation. The methods of google.longrunning.Operations
// do not.
func begins(md protoreflect.MethodDescriptor) bool {
	return !md.IsStreamingServer() && isOperation(md.Output()) && md.Parent().FullName() != operationsService
}

// operation is a decoded google.longrunning.Operation.
type operation struct {
	name     string
	done     bool
	metadata *anypb.Any
	// failure and response are results of an operation that is done; at most one is set.
	failure  *statuspb.Status
	response *anypb.Any
}

// readOperation decodes a message for which isOperation is true. With an error it returns the
// fields that it could decode, including the name.
func readOperation(m *dynamicpb.Message) (*operation, error) {
	fields := m.Descriptor().Fields()
	value := func(name protoreflect.Name) protoreflect.Value { return m.Get(fields.ByName(name)) }
	o := &operation{name: value("name").String(), done: value("done").Bool()}
	for name, into := range map[protoreflect.Name]func(raw []byte) error{
		"metadata": func(raw []byte) error { o.metadata = &anypb.Any{}; return proto.Unmarshal(raw, o.metadata) },
		"error":    func(raw []byte) error { o.failure = &statuspb.Status{}; return proto.Unmarshal(raw, o.failure) },
		"response": func(raw []byte) error { o.response = &anypb.Any{}; return proto.Unmarshal(raw, o.response) },
	} {
		if !m.Has(fields.ByName(name)) {
			continue
		}
		raw, err := proto.Marshal(value(name).Message().Interface())
		if err == nil {
			err = into(raw)
		}
		if err != nil {
			return o, fmt.Errorf("the operation's %s cannot be read: %s", name, plain(err))
		}
	}
	return o, nil
}

// operationInfo returns the option google.longrunning.operation_info of a method; empty if it is
// not set.
func operationInfo(md protoreflect.MethodDescriptor) (response, metadata string) {
	options, ok := md.Options().(*descriptorpb.MethodOptions)
	if !ok || options == nil {
		return "", ""
	}
	raw, err := proto.Marshal(options) // works for known and unknown options
	if err != nil {
		return "", ""
	}
	return infoOf(raw)
}

// infoOf decodes google.longrunning.OperationInfo from the bytes of a method's options.
func infoOf(raw []byte) (response, metadata string) {
	eachBytes(raw, func(number protowire.Number, info []byte) {
		if number != operationInfoOption {
			return
		}
		eachBytes(info, func(number protowire.Number, value []byte) {
			switch number {
			case 1:
				response = string(value)
			case 2:
				metadata = string(value)
			}
		})
	})
	return response, metadata
}

// eachBytes calls fn for the length-delimited fields of a message, up to the first invalid one.
func eachBytes(raw []byte, fn func(protowire.Number, []byte)) {
	for f := range wire.Fields(raw) {
		if f.Type == protowire.BytesType {
			fn(f.Number, f.Content())
		}
	}
}

// namesFor returns the full names that a type's name may have in a package, innermost first.
func namesFor(name, pkg string) []protoreflect.FullName {
	if bare, ok := strings.CutPrefix(name, "."); ok {
		return []protoreflect.FullName{protoreflect.FullName(bare)}
	}
	var out []protoreflect.FullName
	for scope := pkg; scope != ""; {
		out = append(out, protoreflect.FullName(scope+"."+name))
		scope = scope[:max(strings.LastIndexByte(scope, '.'), 0)]
	}
	return append(out, protoreflect.FullName(name))
}

// operationTypes returns the types that operation_info of the files' methods name, each with its
// possible names.
func (c *catalog) operationTypes() (out [][]protoreflect.FullName) {
	for _, fd := range c.files {
		for _, service := range fd.GetService() {
			for _, m := range service.GetMethod() {
				raw, err := proto.Marshal(m.GetOptions())
				if err != nil {
					continue
				}
				response, metadata := infoOf(raw)
				for _, name := range []string{response, metadata} {
					if name != "" && len(name) <= limit.MaxName && c.meter.Step(1) {
						out = append(out, namesFor(name, fd.GetPackage()))
					}
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b []protoreflect.FullName) int { return strings.Compare(string(a[0]), string(b[0])) })
	return slices.CompactFunc(out, slices.Equal)
}

// declaresAny reports whether a file of the catalog or this program declares one of the names.
func (c *catalog) declaresAny(names []protoreflect.FullName) bool {
	return slices.ContainsFunc(names, func(name protoreflect.FullName) bool {
		_, found := c.lookup(string(name))
		return found.file != ""
	})
}

// responseOf returns the type of the result of a method's operations; nil if it is not declared or
// not described.
func (m *method) responseOf(types resolver, lacks lacking) protoreflect.MessageDescriptor {
	name, _ := operationInfo(m.desc)
	if name == "" || len(name) > limit.MaxName {
		return nil
	}
	for _, full := range namesFor(name, string(m.desc.ParentFile().Package())) {
		t, err := types.FindMessageByName(full)
		if err != nil {
			continue
		}
		if name := lacks.of(t.Descriptor()); name != "" {
			m.note("its operations give a %s, in which %s is not described; its results have no schema", full, name)
			return nil
		}
		return t.Descriptor()
	}
	m.note("its operations give a %s, which is not described; its results have no schema", name)
	return nil
}
