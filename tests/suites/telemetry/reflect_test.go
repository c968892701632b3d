package telemetry

import (
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// The call of a method of a service that knows nothing of the contract is in the trace as that method's, and what it was learned by is not.
func TestReflectedCall(t *testing.T) {
	r := newRig(t)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(r.spans))
	handler := otelgrpc.NewServerHandler(otelgrpc.WithTracerProvider(provider), otelgrpc.WithPropagators(propagation.TraceContext{}),
		otelgrpc.WithFilter(func(info *stats.RPCTagInfo) bool { return info.FullMethodName == "/shop.v1.ShopService/Get" }))
	set := reflecttest.Compile(map[string]string{"shop.proto": `syntax = "proto3"; package shop.v1; message Item { string id = 1; }
		service ShopService { rpc Get(Item) returns (Item); }`})
	s := reflecttest.Serve(t, set, reflecttest.Answer, reflecttest.Options{Server: []grpc.ServerOption{grpc.StatsHandler(handler)}})
	e := r.start("a", func(cfg *config.Config, _ *telemetry.Options) {
		cfg.Backends = []config.Backend{{Name: "fixture", Target: s.Addr, Kind: config.KindReflect}}
	})
	if m := callModern(t, e.URL, "shop_get", `,"arguments":{"id":"a"}`, "").response(); m.Result == nil {
		t.Fatalf("%s", m.Error)
	}
	r.awaitTree(3, "reflected")
}
