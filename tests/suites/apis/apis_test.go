package apis

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"

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
	_ "github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	_ "github.com/pingcap/kvproto/pkg/eraftpb" // brings the module whose sources are compiled
	_ "github.com/qdrant/go-client/qdrant"
	_ "go.etcd.io/etcd/api/v3/etcdserverpb"
	_ "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	_ "go.temporal.io/api/workflowservice/v1"
	_ "google.golang.org/genproto/googleapis/type/money" // of Google Ads
	_ "google.golang.org/grpc/channelz/grpc_channelz_v1"
	_ "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// api is a public API, by the beginnings of its services' names.
type api struct {
	name     string
	services []string
	files    func() (*protoregistry.Files, error) // nil: it is linked
}

var apis = []api{
	{name: "pubsub", services: []string{"google.pubsub.v1."}},
	{name: "spanner", services: []string{"google.spanner.v1."}},
	{name: "firestore", services: []string{"google.firestore.v1."}},
	{name: "logging", services: []string{"google.logging.v2."}},
	{name: "kms", services: []string{"google.cloud.kms.v1."}},
	{name: "longrunning", services: []string{"google.longrunning."}},
	{name: "ads", services: []string{"google.ads.googleads."}, files: googleAds},
	{name: "grpc", services: []string{"grpc.channelz.v1.", "grpc.health.v1."}},
	{name: "buf", services: []string{"buf.registry.module.v1."}},
	{name: "etcd", services: []string{"etcdserverpb."}},
	{name: "temporal", services: []string{"temporal.api.workflowservice.v1."}},
	{name: "containerd", services: []string{"containerd.services."}},
	{name: "kubernetes", services: []string{"runtime.v1."}},
	{name: "opentelemetry", services: []string{"opentelemetry.proto.collector.trace.v1."}},
	{name: "envoy", services: []string{"envoy.service.status.v3."}},
	{name: "qdrant", services: []string{"qdrant."}},
	{name: "milvus", services: []string{"milvus.proto.milvus."}},
	{name: "tikv", services: []string{"tikvpb."}, files: tikv},
}

// described is a gRPC server that answers every method with an empty message and describes itself by reflection.
type described struct {
	target string
	tools  int // methods that can be tools: those to which a client sends one message
}

// serve makes a server of an API whose answers take delay to get to its clients.
func (a api) serve(t *testing.T, delay time.Duration) described {
	t.Helper()
	files := protoregistry.GlobalFiles
	if a.files != nil {
		var err error
		if files, err = a.files(); err != nil {
			t.Fatal(err)
		}
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		return stream.SendMsg(&emptypb.Empty{})
	}))
	healthpb.RegisterHealthServer(s, health.NewServer())
	var d described
	services := serviceInfo{}
	files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Services().Len() {
			service := fd.Services().Get(i)
			name := string(service.FullName())
			if !slices.ContainsFunc(a.services, func(p string) bool { return strings.HasPrefix(name, p) }) {
				continue
			}
			services[name] = grpc.ServiceInfo{Metadata: fd.Path()}
			for j := range service.Methods().Len() {
				if !service.Methods().Get(j).IsStreamingClient() {
					d.tools++
				}
			}
		}
		return true
	})
	if len(services) == 0 {
		t.Fatalf("no service begins with one of %q", a.services)
	}
	reflectionv1.RegisterServerReflectionServer(s, reflection.NewServerV1(reflection.ServerOptions{
		Services: services, DescriptorResolver: files,
	}))
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.target = lis.Addr().String()
	if delay > 0 {
		lis = distant{lis, delay}
	}
	go func() { _ = s.Serve(lis) }()
	t.Cleanup(s.Stop)
	return d
}

// serviceInfo is what reflection lists.
type serviceInfo map[string]grpc.ServiceInfo

func (s serviceInfo) GetServiceInfo() map[string]grpc.ServiceInfo { return s }

// configure writes a configuration with one backend of kind reflect, and returns the program and the file.
func configure(t *testing.T, target string) (binary, file string) {
	t.Helper()
	if binary = os.Getenv("MCPEDGE_BINARY"); binary == "" {
		t.Fatal("MCPEDGE_BINARY names no binary: run make stages ONLY=apis")
	}
	file = filepath.Join(t.TempDir(), "edge.yaml")
	conf := fmt.Sprintf("backends:\n  - name: api\n    kind: reflect\n    include: [\"*\", \"grpc.*\"]\n    target: %s\n", target)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	return binary, file
}

// check runs `mcpedge check` on a service and returns what it prints. Its status has to be 0, unless variables of the
// environment are given.
func check(t *testing.T, target string, variables ...string) string {
	t.Helper()
	binary, file := configure(t, target)
	cmd := exec.Command(binary, "check", "--schemas", "--config", file)
	cmd.Env = append(os.Environ(), variables...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && len(variables) == 0 {
		t.Errorf("%v: %s\n%s", err, errs.String(), out.String())
	}
	return out.String()
}

// Every tool of each API is listed and keeps the rules of all interfaces.
func TestPublicAPIsKeepTheRules(t *testing.T) {
	for _, api := range apis {
		t.Run(api.name, func(t *testing.T) {
			server := api.serve(t, 0)
			out := check(t, server.target)
			tools := 0
			for line := range strings.Lines(out) {
				_, _ = fmt.Sscanf(strings.TrimSpace(line), "tools: %d,", &tools)
				if strings.Contains(line, ": tool \"") || strings.Contains(line, "note    tool \"") || strings.Contains(line, "break its rules") {
					t.Log(strings.TrimSpace(line))
				}
			}
			if tools != server.tools {
				t.Errorf("%d tools, its methods make %d:\n%s", tools, server.tools, out)
			}
			if want := "tools keep the rules of anthropic, openai, openai-strict, gemini"; !strings.Contains(out, want) {
				t.Errorf("the report does not say %q", want)
			}
		})
	}
}

// The rules are real ones: shown as they are, the same schemas break them.
func TestFullSchemasBreakTheRules(t *testing.T) {
	out := check(t, apis[0].serve(t, 0).target, "MCPEDGE_LISTS_SCHEMAS=full")
	for _, want := range []string{
		"anthropic: /oneOf: root-combinators", "openai: /oneOf: root-combinators", "openai-strict: ", "gemini: ",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// What models are shown of arguments has no reference, in schemas or in texts, and those of results lead to what is there.
func TestPublicAPIsHaveNoLooseReferences(t *testing.T) {
	for _, api := range apis {
		t.Run(api.name, func(t *testing.T) {
			t.Parallel()
			for _, raw := range list(t, api.serve(t, 0)) {
				var tool struct {
					Name, Title, Description  string
					InputSchema, OutputSchema any
				}
				if err := json.Unmarshal(raw, &tool); err != nil {
					t.Fatal(err)
				}
				if text := tool.Title + tool.Description; hasReference(text) {
					t.Errorf("%s: the description has a reference: %s", tool.Name, text)
				}
				walk(tool.InputSchema, func(key string, value any) {
					if text, ok := value.(string); key == "$ref" || key == "$defs" || ok && hasReference(text) {
						t.Errorf("%s: the schema of the arguments has %q: %v", tool.Name, key, value)
					}
				})
				root, _ := tool.OutputSchema.(map[string]any)
				defs, _ := root["$defs"].(map[string]any)
				walk(tool.OutputSchema, func(key string, value any) {
					text, ok := value.(string)
					if !ok || !hasReference(text) {
						return
					}
					if name, leads := strings.CutPrefix(text, "#/$defs/"); key != "$ref" || !leads || defs[name] == nil {
						t.Errorf("%s: the schema of the result has %q: %s", tool.Name, key, text)
					}
				})
			}
		})
	}
}

func hasReference(text string) bool {
	return strings.Contains(text, "$ref") || strings.Contains(text, "$defs")
}

// walk calls visit for each member of the objects in a decoded JSON value.
func walk(v any, visit func(key string, value any)) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			visit(key, value)
			walk(value, visit)
		}
	case []any:
		for _, value := range v {
			walk(value, visit)
		}
	}
}

// APIs of many files are learned at a distance, with the settings of every day.
func TestPublicAPIsAtADistance(t *testing.T) {
	for _, api := range apis {
		if !slices.Contains([]string{"temporal", "qdrant", "milvus", "ads", "tikv", "envoy"}, api.name) {
			continue
		}
		for _, delay := range []time.Duration{0, 20 * time.Millisecond, 100 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s/%v", api.name, delay), func(t *testing.T) {
				server := api.serve(t, delay)
				began := time.Now()
				list(t, server)
				t.Logf("%d tools after %.1f s", server.tools, time.Since(began).Seconds())
			})
		}
	}
}

// list serves an API by an edge until all of its tools are listed, and returns them.
func list(t *testing.T, server described) []json.RawMessage {
	t.Helper()
	binary, file := configure(t, server.target)
	edge := exec.Command(binary, "--config", file, "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-format", "json")
	out, err := edge.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := edge.Start(); err != nil {
		t.Fatal(err)
	}
	drained := make(chan struct{})
	t.Cleanup(func() {
		_ = edge.Process.Signal(syscall.SIGTERM)
		<-drained
		_ = edge.Wait()
	})
	url := endpoint(out)
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, out)
	}()
	if url == "" {
		t.Fatal("the edge has ended before it served")
	}
	// The bound of learning, which the edge itself keeps, and what the machine may need besides.
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		var failed strings.Builder
		list := exec.Command(binary, "list", "-json", url)
		list.Stderr = &failed
		out, err := list.Output()
		var listed struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if err == nil {
			err = json.Unmarshal(out, &listed)
		}
		if err == nil && len(listed.Tools) == server.tools {
			return listed.Tools
		}
		if time.Now().After(end) {
			t.Fatalf("%d tools are listed, its methods make %d (%v: %s)", len(listed.Tools), server.tools, err, failed.String())
		}
	}
}

// endpoint reads an edge's log until it says where it serves; empty: it ended before.
func endpoint(log io.Reader) string {
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var record struct{ Msg, Endpoint string }
		if json.Unmarshal(lines.Bytes(), &record) == nil && record.Msg == "serving" {
			return record.Endpoint
		}
	}
	return ""
}
