package backend

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	encodingproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpedge/mcpedge/internal/wire"
)

const (
	// unweighed is the encoded size up to which messages are decoded without an estimate: their
	// memory is bounded by it.
	unweighed = 64 << 10
	// maxDecoded bounds the estimated memory of a decoded message, without its strings and bytes. An
	// embedded message, which can be encoded in two bytes, counts messageBytes, and any other value
	// valueBytes.
	maxDecoded   = 64 << 20
	messageBytes = 128
	valueBytes   = 16
)

// codec is gRPC's protobuf codec, except that it refuses messages whose decoded form would exceed
// maxDecoded.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(encodingproto.Name)} }

// Name implements encoding.CodecV2. The empty name leaves the content type as it is without a
// codec.
func (codec) Name() string { return "" }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if m, ok := v.(proto.Message); ok && data.Len() > unweighed {
		buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer buf.Free()
		if decodedBytes(m.ProtoReflect().Descriptor(), buf.ReadOnlyData(), maxDecoded, protowire.DefaultRecursionLimit) > maxDecoded {
			return fmt.Errorf("it has so many parts that it takes more than %d bytes of memory beside its content: send fewer", maxDecoded)
		}
	}
	return c.CodecV2.Unmarshal(data, v)
}

// decodedBytes estimates the memory of a message when it is decoded, without its strings and bytes.
// It stops once the sum exceeds most. It does not check the encoding, or messages nested deeper
// than depth: decoding rejects those.
func decodedBytes(md protoreflect.MessageDescriptor, raw []byte, most, depth int) (sum int) {
	if depth <= 0 {
		return 0
	}
	for f := range wire.Fields(raw) {
		if sum > most {
			break
		}
		switch fd := md.Fields().ByNumber(f.Number); {
		case fd == nil:
		case fd.Message() != nil:
			sum += messageBytes
			sum += decodedBytes(fd.Message(), f.Content(), most-sum, depth-1)
		case f.IsPacked(fd):
			sum += valueBytes * wire.Elements(fd.Kind(), f.Content())
		default:
			sum += valueBytes
		}
	}
	return sum
}
