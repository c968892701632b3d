package backend

import (
	"net"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

// A backend that is reached and serves nothing is a problem that says what to do.
func TestNothingServed(t *testing.T) {
	empty := func(t *testing.T) string {
		f := newFake()
		f.describe.Resources = nil
		f.tools = func(*pb.ListToolsRequest) (*pb.ListToolsResponse, error) { return &pb.ListToolsResponse{}, nil }
		addr, _ := f.serve(t, "", Tools)
		return addr
	}
	other := func(reflected bool) func(*testing.T) string {
		return func(t *testing.T) string {
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
	}
	for name, c := range map[string]struct {
		serve func(*testing.T) string
		want  []string
	}{
		"empty lists":           {empty, []string{"it serves no tool, resource, template or prompt"}},
		"another service":       {other(false), []string{"none of ToolService", "implement one"}},
		"one with a reflection": {other(true), []string{"none of ToolService", "acme.shop.v1.Shop", `{name: x, target: "127.0.0.1:`, "set kind: reflect", "kind: reflect}"}},
	} {
		t.Run(name, func(t *testing.T) {
			addr := c.serve(t)
			_, b, _ := started(t, Config{Name: "x", Target: addr}, fast)
			var problems string
			await.Until(t, "a problem", func() bool {
				problems = strings.Join(b.Status().Problems, "\n")
				return problems != ""
			})
			for _, want := range c.want {
				if !strings.Contains(problems, want) {
					t.Errorf("%q is missing in the problems\n%s", want, problems)
				}
			}
		})
	}
}
