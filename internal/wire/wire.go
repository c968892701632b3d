// Package wire walks messages in protobuf's encoding, without decoding them.
package wire

import (
	"encoding/binary"
	"iter"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Field is one occurrence of a field in an encoded message. Its bytes are the message's.
type Field struct {
	Number protowire.Number
	Type   protowire.Type
	// Value is the encoding after the tag, Size the length of both.
	Value []byte
	Size  int
}

// Fields yields the fields of a message in their order, until one cannot be read.
func Fields(raw []byte) iter.Seq[Field] {
	return func(yield func(Field) bool) {
		for len(raw) > 0 {
			number, kind, n := protowire.ConsumeTag(raw)
			if n < 0 {
				return
			}
			size := protowire.ConsumeFieldValue(number, kind, raw[n:])
			if size < 0 {
				return
			}
			f := Field{Number: number, Type: kind, Value: raw[n : n+size], Size: n + size}
			raw = raw[n+size:]
			if !yield(f) {
				return
			}
		}
	}
}

// Content returns the content of a field that is bytes, text, a message, a group or a packed list; nil for another one.
func (f Field) Content() []byte {
	switch f.Type {
	case protowire.BytesType:
		content, _ := protowire.ConsumeBytes(f.Value)
		return content
	case protowire.StartGroupType:
		content, _ := protowire.ConsumeGroup(f.Number, f.Value)
		return content
	}
	return nil
}

// IsPacked reports whether the field is a packed list of the field that fd describes.
func (f Field) IsPacked(fd protoreflect.FieldDescriptor) bool {
	return f.Type == protowire.BytesType && fd.IsList() && packable(fd.Kind())
}

// Elements counts the elements of a packed list of a kind. It does not check them.
func Elements(kind protoreflect.Kind, content []byte) (n int) {
	switch TypeOf(kind) {
	case protowire.Fixed32Type:
		return len(content) / 4
	case protowire.Fixed64Type:
		return len(content) / 8
	}
	// The last byte of each varint has no highest bit. The loop reads eight bytes at a time.
	const highest = 0x8080808080808080
	for len(content) >= 8 {
		word := binary.LittleEndian.Uint64(content)
		n += 8 - bits.OnesCount64(word&highest)
		content = content[8:]
	}
	for _, b := range content {
		if b < 0x80 {
			n++
		}
	}
	return n
}

// packable reports whether lists of a kind may be packed.
func packable(kind protoreflect.Kind) bool {
	switch kind {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		return false
	}
	return true
}

// TypeOf is the wire type of a packable kind.
func TypeOf(kind protoreflect.Kind) protowire.Type {
	switch kind {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}
