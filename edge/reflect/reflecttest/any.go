package reflecttest

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// anyOf turns an Any of any Go type into the common one.
func anyOf(m protoreflect.Message) *anypb.Any {
	fields := m.Descriptor().Fields()
	return &anypb.Any{TypeUrl: m.Get(fields.ByName("type_url")).String(), Value: m.Get(fields.ByName("value")).Bytes()}
}
