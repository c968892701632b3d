package check

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/grpclog"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/mcpedge/mcpedge/edge/backend"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

func TestMain(m *testing.M) {
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	goleak.VerifyTestMain(m)
}

func TestCheck(t *testing.T) {
	bad := newSample()
	bad.feed = func(context.Context, func() error) error { return status.Error(codes.Unimplemented, "no feed") }
	bad.tools = []*pb.Tool{{Name: "a"}, {Name: "a"}, {}}
	looping := newSample()
	looping.page = func(token string, size int32, n int) (int, int, string, error) {
		if n == len(looping.tools) {
			return 0, 0, "x", nil
		}
		return cut(token, size, n)
	}
	lookAhead := newSample()
	lookAhead.tools = []*pb.Tool{
		{Name: "fine", InputSchemaJson: `{"type":"object","properties":{"n":{"type":"integer"}}}`},
		{Name: "ahead", InputSchemaJson: `{"type":"object","properties":{"n":{"pattern":"(?=x)"}}}`},
		{Name: "away", OutputSchemaJson: `{"$ref":"https://example.com/x.json"}`},
	}
	for name, test := range map[string]struct {
		sample *sample
		want   []string
	}{
		"bad":     {bad, []string{"WatchTools: UNIMPLEMENTED, although Describe", "name is empty", "same key", "no change feed"}},
		"schemas": {lookAhead, []string{`"ahead" goes unvalidated`, `"away" goes unvalidated: output_schema_json`, "$defs"}},
		"looping": {looping, []string{"tools cannot be read", "second time", "resources: 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := report(t, test.sample.serve(t, 0), nil)
			if err == nil {
				t.Error("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in:\n%s", want, out)
				}
			}
		})
	}
}

func TestCheckUnreachable(t *testing.T) {
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	out, err := reportWithin(t, addr, nil, shortTiming)
	if err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(out, "cannot be reached") {
		t.Fatalf("err = %v, output %q", err, out)
	}
	for _, target := range []string{"nowhere.invalid:50051", "dns:///nowhere.invalid:50051"} {
		_, err := reportWithin(t, target, nil, shortTiming)
		if err == nil || !strings.Contains(err.Error(), `the name "nowhere.invalid"`) || !strings.Contains(err.Error(), "not known to DNS") {
			t.Errorf("%s: %v", target, err)
		}
	}
	if err := Run(t.Context(), backend.Config{}, nil, io.Discard); err == nil {
		t.Fatal("no error for an empty configuration")
	}
}

// Extensions that are not announced to clients are notes: they break nothing.
func TestCheckOfExtensions(t *testing.T) {
	s := newSample()
	s.about.ExtensionsJson = map[string]string{
		"io.modelcontextprotocol/ui": `{}`, "io.modelcontextprotocol/tasks": `{}`, "com.example/a": `{}`, "com.example/b": `{}`,
	}
	var text strings.Builder
	cfg := backend.Config{Name: "x", Target: s.serve(t, 0), Extensions: []string{"com.example/b"}}
	timing := patient
	if err := run(t.Context(), cfg, &Trial{}, &text, &timing); err != nil {
		t.Error(err)
	}
	out := text.String()
	for _, want := range []string{`  note    the extension "io.modelcontextprotocol/tasks"`, `  note    the extension "com.example/a"`} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in:\n%s", want, out)
		}
	}
	if strings.Contains(out, "com.example/b") || strings.Contains(out, "/ui") {
		t.Errorf("what clients learn is noted:\n%s", out)
	}
}

// A backend that serves nothing breaks the contract, unless it may come to serve something.
func TestCheckOfNothing(t *testing.T) {
	empty := newSample()
	empty.about.Resources, empty.about.Prompts, empty.tools = nil, nil, nil
	other := func(t *testing.T, reflected bool) string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer()
		s.RegisterService(&grpc.ServiceDesc{ServiceName: "acme.shop.v1.Shop", HandlerType: (*any)(nil)}, struct{}{})
		if reflected {
			reflection.Register(s)
		}
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
		return l.Addr().String()
	}
	for name, c := range map[string]struct {
		addr string
		want []string
	}{
		"empty lists":           {empty.serve(t, 0), []string{"  note    it serves no tool, resource, template or prompt"}},
		"another service":       {other(t, false), []string{"  breaks  none of ToolService", "implement one"}},
		"one with a reflection": {other(t, true), []string{"  breaks  none of ToolService", "acme.shop.v1.Shop", "set kind: reflect"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, _ := report(t, c.addr, nil)
			for _, want := range c.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in:\n%s", want, out)
				}
			}
		})
	}
}
