package translate

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func BenchmarkToolResult(b *testing.B) {
	for name, res := range map[string]*pb.CallToolResult{
		"text":       {Content: []*pb.ContentBlock{textBlock("This is a simple text response.")}},
		"structured": {StructuredContentJson: `{"temperature":22.5,"conditions":"Partly cloudy","humidity":65}`},
		"long":       {Content: []*pb.ContentBlock{textBlock(strings.Repeat("The quick brown fox, ", 5000))}},
		"image":      {Content: []*pb.ContentBlock{{Content: &pb.ContentBlock_Image{Image: &pb.ImageContent{Data: make([]byte, 100_000), MimeType: "image/png"}}}}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := toolResult(r2607, server, res); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchmarkCall(tb testing.TB) *mcp.Call {
	p, err := mcp.ParamsOf(jsonrpc.Message{Method: string(mcp.MethodToolsCall), Params: []byte(`{"name":"echo","arguments":{"text":"hello, world","count":3},"_meta":{"progressToken":7,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"client","version":"1.2.3"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}`)})
	if err != nil {
		tb.Fatal(err)
	}
	capabilities, err := mcp.ParseCapabilities(p.Meta.Capabilities)
	if err != nil {
		tb.Fatal(err)
	}
	return &mcp.Call{
		ID: "0123456789abcdef", Attempt: 1, Round: 1, Method: mcp.MethodToolsCall, Params: *p,
		Client: mcp.Client{Info: p.Meta.ClientInfo, Capabilities: capabilities},
	}
}

func BenchmarkCallToolRequest(b *testing.B) {
	call := benchmarkCall(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := CallToolRequest(call, "echo"); err != nil {
			b.Fatal(err)
		}
	}
}

// TestHotPathAllocates bounds the allocations of the hot path: one buffer for a result; for a
// request its message, the arguments, and the client's name and version.
func TestHotPathAllocates(t *testing.T) {
	res := &pb.CallToolResult{Content: []*pb.ContentBlock{textBlock("This is a simple text response.")}}
	if n := testing.AllocsPerRun(100, func() { _, _ = toolResult(r2607, server, res) }); n > 1 {
		t.Errorf("ToolResult makes %v allocations, want at most 1", n)
	}
	call := benchmarkCall(t)
	if n := testing.AllocsPerRun(100, func() { _, _ = CallToolRequest(call, "echo") }); n > 4 {
		t.Errorf("CallToolRequest makes %v allocations, want at most 4", n)
	}
}
