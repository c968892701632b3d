package backend

import (
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// TestMessagesAreWeighed: a message of many small parts is not decoded; one of many bytes is.
func TestMessagesAreWeighed(t *testing.T) {
	block := func(n int, text string) *pb.CallToolResponse {
		r := &pb.CallToolResult{Content: make([]*pb.ContentBlock, n)}
		for i := range r.Content {
			r.Content[i] = &pb.ContentBlock{}
			if text != "" {
				r.Content[i].Content = &pb.ContentBlock_Text{Text: &pb.TextContent{Text: text}}
			}
		}
		return &pb.CallToolResponse{Message: &pb.CallToolResponse_Result{Result: r}}
	}
	for name, c := range map[string]struct {
		m       *pb.CallToolResponse
		refused bool
	}{
		"a text of 15 MiB": {block(1, strings.Repeat("x", 15<<20)), false},
		"100,000 texts":    {block(100_000, "a text of some words"), false},
		"a million blocks": {block(1_000_000, ""), true},
		"few blocks":       {block(1000, ""), false},
	} {
		raw, err := proto.Marshal(c.m)
		if err != nil {
			t.Fatal(err)
		}
		got := &pb.CallToolResponse{}
		err = newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(raw)}, got)
		if (err != nil) != c.refused || err == nil && !proto.Equal(got, c.m) {
			t.Errorf("%s, %d bytes: %v", name, len(raw), err)
		}
	}
	if err := newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(nestedLists(200_000))}, &structpb.ListValue{}); err == nil {
		t.Error("a list in a list, 200,000 times, is decoded")
	}
}

// nestedLists is a google.protobuf.ListValue with a list in a list, and so on.
func nestedLists(levels int) []byte {
	var sizes []int // of each level's content, the innermost first; a level is a value in a list, and a list in that
	for n := 0; len(sizes) < levels; {
		n = protowire.SizeTag(6) + protowire.SizeBytes(n)
		n = protowire.SizeTag(1) + protowire.SizeBytes(n)
		sizes = append(sizes, n)
	}
	var raw []byte
	for i := levels - 1; i >= 0; i-- {
		inner := 0
		if i > 0 {
			inner = sizes[i-1]
		}
		raw = protowire.AppendVarint(protowire.AppendTag(raw, 1, protowire.BytesType), uint64(protowire.SizeTag(6)+protowire.SizeBytes(inner)))
		raw = protowire.AppendVarint(protowire.AppendTag(raw, 6, protowire.BytesType), uint64(inner))
	}
	return raw
}
