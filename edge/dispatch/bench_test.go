package dispatch

import (
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/mcpedge/mcpedge/edge/mcp"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// BenchmarkCall is one tools/call over a real connection; beside it is the same RPC with nothing of
// ours around it, to read it by.
func BenchmarkCall(b *testing.B) {
	f := &fake{name: "a", tools: []*pb.Tool{{Name: "echo", InputSchemaJson: `{"type":"object"}`}, {Name: "add", InputSchemaJson: addSchema}}}
	reply := toolText("hello")
	f.onCall = stream(nil, reply)
	d := start(b, Options{}, f)
	r := rules(b, modern)
	for name, params := range map[string]string{
		"free":  `{"name":"echo","arguments":{"a":1,"b":2}}`,
		"typed": `{"name":"add","arguments":{"a":1,"b":2}}`,
	} {
		b.Run(name, func(b *testing.B) {
			call := request(b, mcp.MethodToolsCall, params)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Call(b.Context(), r, call, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("bare RPC", func(b *testing.B) {
		client := d.views.shared.Load().parts[0].backend.Tools()
		ctx := metadata.AppendToOutgoingContext(b.Context(), "mcp-method", "tools/call", "mcp-name", "echo")
		b.ReportAllocs()
		for b.Loop() {
			s, err := client.CallTool(ctx, &pb.CallToolRequest{Name: "echo", ArgumentsJson: `{"a":1,"b":2}`})
			if err != nil {
				b.Fatal(err)
			}
			for err == nil {
				_, err = s.Recv()
			}
		}
	})
}
