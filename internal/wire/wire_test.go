package wire_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/mcpedge/mcpedge/internal/wire"
)

// The elements of a packed list are counted, not its bytes.
func TestElements(t *testing.T) {
	var varints []byte
	const n = 1001
	for i := range n {
		varints = protowire.AppendVarint(varints, uint64(1)<<(i%64))
	}
	for _, c := range []struct {
		kind    protoreflect.Kind
		content []byte
		want    int
	}{
		{protoreflect.Int64Kind, varints, n}, {protoreflect.EnumKind, []byte{0, 1, 2}, 3}, {protoreflect.BoolKind, nil, 0},
		{protoreflect.Int32Kind, make([]byte, 17), 17}, {protoreflect.DoubleKind, make([]byte, 80), 10}, {protoreflect.Fixed32Kind, make([]byte, 80), 20},
	} {
		if got := wire.Elements(c.kind, c.content); got != c.want {
			t.Errorf("%d of %s, want %d", got, c.kind, c.want)
		}
	}
}

// Fields come in their order, up to the first that cannot be read.
func TestFields(t *testing.T) {
	raw := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 300)
	raw = protowire.AppendBytes(protowire.AppendTag(raw, 2, protowire.BytesType), []byte("text"))
	group := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	raw = protowire.AppendGroup(protowire.AppendTag(raw, 3, protowire.StartGroupType), 3, group)
	raw = append(raw, protowire.AppendTag(nil, 4, protowire.BytesType)...)
	raw = append(raw, 200) // more than there is
	var got []wire.Field
	size := 0
	for f := range wire.Fields(raw) {
		got = append(got, f)
		size += f.Size
	}
	if len(got) != 3 || got[0].Content() != nil || string(got[1].Content()) != "text" || string(got[2].Content()) != string(group) || size != len(raw)-2 {
		t.Errorf("%+v, %d bytes", got, size)
	}
}
