package apis

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "buf.build/gen/go/bufbuild/registry/protocolbuffers/go/buf/registry/module/v1"
	_ "cloud.google.com/go/firestore/apiv1/firestorepb"
	_ "cloud.google.com/go/kms/apiv1/kmspb"
	_ "cloud.google.com/go/logging/apiv2/loggingpb"
	_ "cloud.google.com/go/longrunning/autogen/longrunningpb"
	_ "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	_ "cloud.google.com/go/spanner/apiv1/spannerpb"
	_ "github.com/containerd/containerd/api/services/containers/v1"
	_ "github.com/containerd/containerd/api/services/tasks/v1"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	_ "go.etcd.io/etcd/api/v3/etcdserverpb"
	_ "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	_ "go.temporal.io/api/workflowservice/v1"
	_ "google.golang.org/grpc/channelz/grpc_channelz_v1"
	_ "google.golang.org/grpc/health/grpc_health_v1"
	_ "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// apis are public APIs, by the beginnings of their services' names.
var apis = []struct {
	name     string
	services []string
	tools    int // at least
}{
	{"pubsub", []string{"google.pubsub.v1."}, 20},
	{"spanner", []string{"google.spanner.v1."}, 10},
	{"firestore", []string{"google.firestore.v1."}, 10},
	{"logging", []string{"google.logging.v2."}, 20},
	{"kms", []string{"google.cloud.kms.v1."}, 20},
	{"longrunning", []string{"google.longrunning."}, 4},
	{"grpc", []string{"grpc.channelz.v1.", "grpc.health.v1."}, 8},
	{"buf", []string{"buf.registry.module.v1."}, 10},
	{"etcd", []string{"etcdserverpb."}, 20},
	{"temporal", []string{"temporal.api.workflowservice.v1."}, 50},
	{"containerd", []string{"containerd.services."}, 10},
	{"kubernetes", []string{"runtime.v1."}, 20},
	{"opentelemetry", []string{"opentelemetry.proto.collector.trace.v1."}, 1},
	{"envoy", []string{"envoy.service.status.v3."}, 1},
}

// server makes one gRPC server of an API: it answers every method with UNIMPLEMENTED, and describes itself
// by reflection.
func server(t *testing.T, prefixes []string) string {
	t.Helper()
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
		return status.Error(codes.Unimplemented, "nothing is implemented")
	}))
	found := 0
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Services().Len() {
			service := fd.Services().Get(i)
			name := string(service.FullName())
			if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
				s.RegisterService(&grpc.ServiceDesc{ServiceName: name, HandlerType: (*any)(nil), Metadata: fd.Path()}, struct{}{})
				found++
			}
		}
		return true
	})
	if found == 0 {
		t.Fatalf("no service begins with one of %q", prefixes)
	}
	reflection.Register(s)
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
	return lis.Addr().String()
}

// check runs `mcpedge check` on a service and returns what it prints.
func check(t *testing.T, target string, flags ...string) string {
	t.Helper()
	binary := os.Getenv("MCPEDGE_BINARY")
	if binary == "" {
		t.Fatal("MCPEDGE_BINARY names no binary: run make stages ONLY=apis")
	}
	file := filepath.Join(t.TempDir(), "edge.yaml")
	conf := fmt.Sprintf("backends:\n  - name: api\n    kind: reflect\n    include: [\"*\", \"grpc.*\"]\n    target: %s\n", target)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, append([]string{"check", "--config", file}, flags...)...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Logf("%v: %s", err, errs.String())
	}
	return out.String()
}

// Every tool of each API keeps the rules of all interfaces.
func TestPublicAPIsKeepTheRules(t *testing.T) {
	for _, api := range apis {
		t.Run(api.name, func(t *testing.T) {
			out := check(t, server(t, api.services))
			tools := 0
			for line := range strings.Lines(out) {
				_, _ = fmt.Sscanf(strings.TrimSpace(line), "tools: %d,", &tools)
				if strings.Contains(line, ": tool \"") || strings.Contains(line, "note    tool \"") || strings.Contains(line, "break its rules") {
					t.Log(strings.TrimSpace(line))
				}
			}
			if tools < api.tools {
				t.Errorf("%d tools, at least %d are expected:\n%s", tools, api.tools, out)
			}
			if want := "tools keep the rules of anthropic, openai, openai-strict, gemini"; !strings.Contains(out, want) {
				t.Errorf("the report does not say %q", want)
			}
		})
	}
}

// The rules are real ones: shown as they are, the same schemas break them.
func TestFullSchemasBreakTheRules(t *testing.T) {
	out := check(t, server(t, []string{"google.pubsub.v1."}), "--schemas=full")
	for _, want := range []string{
		"anthropic: /oneOf: root-combinators", "openai: /oneOf: root-combinators", "openai-strict: ", "gemini: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}
