package reflect_test

import (
	"errors"
	"io"
	"testing"

	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// BenchmarkCall is a call of a method, from what a backend gives to the rest of the edge to the service and back.
func BenchmarkCall(b *testing.B) {
	s := reflecttest.Serve(b, kinds, reflecttest.Answer, reflecttest.Options{})
	shop, _ := startPool(b, s.Addr, reflect.Options{})
	req := request("kind_walk", `{"label":"a","left":{"label":"b","left":{"label":"c"}},"children":[{"label":"d"}]}`)
	var m pb.CallToolResponse
	b.ReportAllocs()
	for b.Loop() {
		stream, err := shop.Tools().CallTool(b.Context(), req)
		if err != nil {
			b.Fatal(err)
		}
		if err := stream.RecvMsg(&m); err != nil || m.GetResult().GetIsError() {
			b.Fatal(err, m.GetResult())
		}
		if err := stream.RecvMsg(&m); !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}
