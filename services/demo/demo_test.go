package demo

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(await.Leaks(m)) }

// describe returns the features of a target.
func describe(t *testing.T, target string) *mcpedgev1.DescribeResponse {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
	defer cancel()
	got, err := mcpedgev1.NewBackendServiceClient(conn).Describe(ctx, &mcpedgev1.DescribeRequest{})
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return got
}

func TestStart(t *testing.T) {
	d, err := Start(context.Background(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, target := range d.Targets() {
		names = append(names, target.Name)
		got := describe(t, target.Addr)
		if got.GetImplementation().GetName() != "mcpedge-"+target.Name {
			t.Errorf("%s is %v", target.Name, got.GetImplementation())
		}
		served := map[string]bool{"tools": got.GetTools() != nil, "resources": got.GetResources() != nil, "prompts": got.GetPrompts() != nil}
		for kind, yes := range served {
			if yes != (kind == target.Name) {
				t.Errorf("%s serves %s: %v", target.Name, kind, yes)
			}
		}
	}
	if !slices.Equal(names, []string{"tools", "resources", "prompts"}) {
		t.Errorf("targets %v", names)
	}
	d.Stop()
	d.Stop()
	for _, target := range d.Targets() {
		if conn, err := net.Dial("tcp", target.Addr); err == nil {
			conn.Close()
			t.Errorf("%s still listens", target.Name)
		}
	}
}

func TestTheContextStopsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	d, err := Start(ctx, Options{ResourcesDir: t.TempDir(), PromptsDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	describe(t, d.Targets()[1].Addr)
	cancel()
	d.done.Wait()
	d.Stop()
}

func TestNothingIsLeftWhenOneCannotStart(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	for _, o := range []Options{{ResourcesDir: missing}, {PromptsDir: missing}} {
		if d, err := Start(context.Background(), o); err == nil {
			t.Errorf("%+v started: %v", o, d.Targets())
		}
	}
}
