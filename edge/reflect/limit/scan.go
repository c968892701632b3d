package limit

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/mcpedge/mcpedge/internal/wire"
)

var (
	fileType     = (*descriptorpb.FileDescriptorProto)(nil).ProtoReflect().Descriptor()
	locationName = (*descriptorpb.SourceCodeInfo_Location)(nil).ProtoReflect().Descriptor().FullName()
)

// Scan counts a serialized google.protobuf.FileDescriptorProto before it is decoded: two of its
// bytes can become hundreds in memory. If it exceeds a bound, Scan returns an error, and it must
// not be decoded.
func (m *Meter) Scan(raw []byte) error {
	if m.bytes+len(raw) > MaxDescriptorBytes {
		return fmt.Errorf("the descriptors have more than %d bytes", MaxDescriptorBytes)
	}
	m.bytes += len(raw)
	before := m.elements
	if err := m.scan(fileType, raw, 0); err != nil {
		return err
	}
	return m.take(descriptorTimes*len(raw) + elementBytes*(m.elements-before))
}

func (m *Meter) scan(of protoreflect.MessageDescriptor, raw []byte, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("its declarations nest more than %d deep", MaxDepth)
	}
	for f := range wire.Fields(raw) { // invalid bytes are an error of the decoder
		if f.Type != protowire.BytesType {
			continue
		}
		field := fieldOf(of, f.Number)
		if field == nil {
			continue
		}
		if err := m.element(field); err != nil {
			return err
		}
		if sub := field.Message(); sub != nil {
			if err := m.scan(sub, f.Content(), depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// fieldOf returns a field, or an extension that is linked into this program. nil means that the
// decoder keeps its bytes.
func fieldOf(of protoreflect.MessageDescriptor, number protowire.Number) protoreflect.FieldDescriptor {
	if field := of.Fields().ByNumber(number); field != nil {
		return field
	}
	if !of.ExtensionRanges().Has(number) {
		return nil
	}
	x, err := protoregistry.GlobalTypes.FindExtensionByNumber(of.FullName(), number)
	if err != nil {
		return nil
	}
	return x.TypeDescriptor()
}

// element counts one value of a field.
func (m *Meter) element(field protoreflect.FieldDescriptor) error {
	switch {
	case field.Message() != nil && field.Message().FullName() == locationName:
		if m.location++; m.location > MaxLocations {
			return fmt.Errorf("the descriptors have more than %d places in the source: leave source info out", MaxLocations)
		}
	case field.Message() != nil || field.IsList() && field.Kind() == protoreflect.StringKind:
		if m.elements++; m.elements > MaxElements {
			return fmt.Errorf("the descriptors have more than %d declarations", MaxElements)
		}
	}
	return nil
}

// Names counts the full names of all declarations in a file. If they exceed a bound, it returns an
// error, and the file must not be linked.
func (m *Meter) Names(fd *descriptorpb.FileDescriptorProto) error {
	if len(fd.GetName()) > MaxName || len(fd.GetPackage()) > MaxName {
		return fmt.Errorf("its name or its package has more than %d bytes", MaxName)
	}
	n, before := namer{m: m}, m.names
	scope := len(fd.GetPackage()) + 1
	for _, one := range fd.GetMessageType() {
		n.message(scope, one)
	}
	for _, one := range fd.GetEnumType() {
		n.enum(scope, one)
	}
	for _, one := range fd.GetExtension() {
		n.add(scope, one.GetName())
	}
	for _, one := range fd.GetService() {
		inside := n.add(scope, one.GetName())
		for _, method := range one.GetMethod() {
			n.add(inside, method.GetName())
		}
	}
	if n.err != nil {
		return n.err
	}
	return m.take(m.names - before)
}

// namer counts full names. A scope is given as the length of its full name plus one, for the dot.
type namer struct {
	m   *Meter
	err error
}

var errNames = fmt.Errorf("the full names of all declarations have more than %d bytes", MaxNameBytes)

func (n *namer) add(scope int, name string) int {
	size := scope + len(name)
	switch n.m.names += size; {
	case size > MaxName:
		n.err = fmt.Errorf("the full name of %.60q has more than %d bytes", name, MaxName)
	case n.m.names > MaxNameBytes:
		n.err = errNames
	case !n.m.Step(1):
		n.err = n.m.Err()
	}
	return size + 1
}

func (n *namer) enum(scope int, ed *descriptorpb.EnumDescriptorProto) {
	n.add(scope, ed.GetName())
	for _, v := range ed.GetValue() {
		n.add(scope, v.GetName())
	}
}

func (n *namer) message(scope int, md *descriptorpb.DescriptorProto) {
	if n.err != nil {
		return
	}
	inside := n.add(scope, md.GetName())
	for _, one := range md.GetField() {
		n.add(inside, one.GetName())
	}
	for _, one := range md.GetOneofDecl() {
		n.add(inside, one.GetName())
	}
	for _, one := range md.GetExtension() {
		n.add(inside, one.GetName())
	}
	for _, one := range md.GetEnumType() {
		n.enum(inside, one)
	}
	for _, one := range md.GetNestedType() {
		n.message(inside, one)
	}
}

// IsFatal reports whether an error of Scan or Names applies to all further files.
func (m *Meter) IsFatal(err error) bool {
	return m.err != nil || errors.Is(err, errNames) || m.elements > MaxElements || m.location > MaxLocations
}
