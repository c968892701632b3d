package schema

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Option returns an option of a declaration. It returns false if the option is not set, or has
// another type.
func Option[T any](d protoreflect.Descriptor, x protoreflect.ExtensionType) (T, bool) {
	var none T
	options := d.Options()
	if options == nil || !options.ProtoReflect().IsValid() || !proto.HasExtension(options, x) {
		return none, false
	}
	v, ok := proto.GetExtension(options, x).(T)
	return v, ok
}

// Private returns an option whose number is not registered globally: a message, known to the
// descriptors or among their unknown fields. It returns the zero value if the option is not set,
// and an error if another option has its number.
func Private[T proto.Message](d protoreflect.Descriptor, x protoreflect.ExtensionType) (T, error) {
	var none T
	if v, ok := Option[T](d, x); ok {
		return v, nil
	}
	options := d.Options()
	if options == nil || !options.ProtoReflect().IsValid() {
		return none, nil
	}
	number := x.TypeDescriptor().Number()
	var raw []byte // protobuf merges repeated occurrences of a message
	for rest := options.ProtoReflect().GetUnknown(); len(rest) > 0; {
		n, kind, size := protowire.ConsumeField(rest)
		if size < 0 {
			return none, protowire.ParseError(size)
		}
		if n == number {
			if kind != protowire.BytesType {
				return none, fmt.Errorf("option %d of %s is not %s", number, d.FullName(), x.TypeDescriptor().FullName())
			}
			_, _, start := protowire.ConsumeTag(rest)
			value, _ := protowire.ConsumeBytes(rest[start:])
			raw = append(raw, value...)
		}
		rest = rest[size:]
	}
	if raw == nil {
		return none, nil
	}
	v, ok := x.New().Message().Interface().(T)
	if !ok {
		return none, nil
	}
	if err := proto.Unmarshal(raw, v); err != nil {
		return none, fmt.Errorf("option %d of %s is not %s: %w", number, d.FullName(), x.TypeDescriptor().FullName(), err)
	}
	return v, nil
}
