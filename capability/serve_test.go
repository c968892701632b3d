package capability_test

import (
	"context"
	"encoding/json"
	"go/parser"
	"go/token"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/capability/capabilitytest"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

func TestDescribe(t *testing.T) {
	icon := &capability.Icon{Src: "https://example.com/i.png"}
	full := library(&notes{})
	addPrompt(full, "p", "x")
	for name, tc := range map[string]struct {
		s    *capability.Server
		want *mcpedgev1.DescribeResponse
	}{
		"everything said": {
			capability.New("n", "1", capability.WithTitle("T"), capability.WithDescription("D"), capability.WithWebsite("https://w"),
				capability.WithIcons(icon), capability.WithInstructions("I"), capability.WithExtension("x/y", `{"a":1}`),
				capability.WithTools(), capability.WithResources(), capability.WithPrompts()),
			&mcpedgev1.DescribeResponse{Implementation: &mcpedgev1.Implementation{Name: "n", Version: "1", Title: "T", Description: "D",
				WebsiteUrl: "https://w", Icons: []*mcpedgev1.Icon{icon}}, Instructions: "I", ExtensionsJson: map[string]string{"x/y": `{"a":1}`},
				Tools:     &mcpedgev1.ToolFeatures{ListChanged: true},
				Resources: &mcpedgev1.ResourceFeatures{ListChanged: true, Subscribe: true},
				Prompts:   &mcpedgev1.PromptFeatures{ListChanged: true}}},
		"nothing": {capability.New("n", "1"),
			&mcpedgev1.DescribeResponse{Implementation: &mcpedgev1.Implementation{Name: "n", Version: "1"}}},
		"by what is there": {full, &mcpedgev1.DescribeResponse{Implementation: &mcpedgev1.Implementation{Name: "library", Version: "1"},
			Resources: &mcpedgev1.ResourceFeatures{ListChanged: true, Subscribe: true, Completion: true, UriPrefixes: []string{"note://"}},
			Prompts:   &mcpedgev1.PromptFeatures{ListChanged: true}}},
	} {
		got, err := capabilitytest.Start(t, tc.s).Backend.Describe(limit(t), &mcpedgev1.DescribeRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestHealthReflectionAndLargeMessages(t *testing.T) {
	s := capability.New("n", "1")
	capability.AddRawTool(s, &capability.Tool{Name: "echo"}, func(_ context.Context, _ *capability.Call, args json.RawMessage) (*capability.Result, error) {
		return &capability.Result{Structured: len(args)}, nil
	})
	c := capabilitytest.Start(t, s)
	for _, service := range []string{"", "mcpedge.v1.ToolService"} {
		got, err := healthv1.NewHealthClient(c.Conn).Check(limit(t), &healthv1.HealthCheckRequest{Service: service})
		if err != nil || got.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, got, err)
		}
	}
	stream, err := reflectionv1.NewServerReflectionClient(c.Conn).ServerReflectionInfo(limit(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	services, err := stream.Recv()
	if err != nil || !strings.Contains(services.String(), "mcpedge.v1.PromptService") {
		t.Errorf("reflection: %v, %v", services, err)
	}
	if err := stream.CloseSend(); err != nil {
		t.Error(err)
	}
	out, err := c.CallTool(limit(t), "echo", map[string]string{"big": strings.Repeat("x", 10<<20)})
	if err != nil || out.Result.GetStructuredContentJson() != "10485770" {
		t.Errorf("10 MiB of arguments: %v, %v", out.Result, err)
	}
}

func TestServeLetsCallsFinish(t *testing.T) {
	s := capability.New("n", "1")
	running, release := make(chan struct{}), make(chan struct{})
	addTool(s, "slow", func(context.Context, *capability.Call) (string, error) {
		close(running)
		<-release
		return "done", nil
	})
	l, err := capability.Listen("unix:" + filepath.Join(t.TempDir(), "s.sock"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(limit(t))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	conn, err := grpc.NewClient("unix:"+l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	tools := mcpedgev1.NewToolServiceClient(conn)
	feed, err := tools.WatchTools(limit(t), &mcpedgev1.WatchToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, feed, "started", func(m *mcpedgev1.WatchToolsResponse) bool { return m.GetStarted() != nil })
	call, err := tools.CallTool(limit(t), &mcpedgev1.CallToolRequest{Name: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	<-running
	stop()
	if _, err := feed.Recv(); err == nil {
		t.Error("the feed did not end")
	}
	close(release)
	if m, err := call.Recv(); err != nil || m.GetResult() == nil {
		t.Errorf("the running call: %v, %v", m, err)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServerOptions(t *testing.T) {
	var seen []string
	s := capability.New("n", "1", capability.WithServerOptions(grpc.UnaryInterceptor(
		func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
			seen = append(seen, info.FullMethod)
			return next(ctx, req)
		})))
	c := capabilitytest.Start(t, s)
	_, err := c.Backend.Describe(limit(t), &mcpedgev1.DescribeRequest{})
	if want := []string{mcpedgev1.BackendService_Describe_FullMethodName}; err != nil || !cmp.Equal(seen, want) {
		t.Errorf("%q, %v", seen, err)
	}
}

func TestServeWaitsNoLongerThanTheGrace(t *testing.T) {
	s := capability.New("n", "1", capability.WithGrace(time.Millisecond))
	running := make(chan struct{})
	addTool(s, "stuck", func(ctx context.Context, _ *capability.Call) (string, error) {
		close(running)
		<-ctx.Done() // ends only with the grace
		return "", ctx.Err()
	})
	l, err := capability.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(limit(t))
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	call, err := mcpedgev1.NewToolServiceClient(conn).CallTool(limit(t), &mcpedgev1.CallToolRequest{Name: "stuck"})
	if err != nil {
		t.Fatal(err)
	}
	<-running
	stop()
	if m, err := call.Recv(); err == nil {
		t.Errorf("the stuck call got %v", m)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeSaysWhyItFailed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := capability.New("n", "1").Serve(limit(t), l); err == nil {
		t.Error("a closed listener was served")
	}
}

func TestListenReplacesOnlyADeadSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if other, err := capability.Listen("unix://" + path); err == nil {
		_ = other.Close()
		t.Error("a socket in use was replaced")
	}
	_ = l.Close()
	again, err := capability.Listen("unix://" + path)
	if err != nil {
		t.Fatalf("a dead socket: %v", err)
	}
	_ = again.Close()
}

// Listen does not remove a file that is not a socket.
func TestListenRemovesNothingButSockets(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{file, link, dir} {
		l, err := capability.Listen("unix:" + path)
		if err == nil {
			_ = l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), path+" exists and is not a socket") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "precious" { // #nosec G304 -- its own
		t.Errorf("the file: %q, %v", data, err)
	}
	if target, err := os.Readlink(link); err != nil || target != file {
		t.Errorf("the link: %q, %v", target, err)
	}
}

// TestTheServiceOfTheDocumentation builds and runs what the package comment shows.
func TestTheServiceOfTheDocumentation(t *testing.T) {
	source, err := os.ReadFile("example/greeter/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), "\n"); n > 15 {
		t.Errorf("the service has %d lines, above 15", n)
	}
	if doc := packageComment(t); !strings.Contains(strings.ReplaceAll(doc, "\n\t", "\n"), strings.TrimSpace(string(source))) {
		t.Errorf("the package comment shows another service:\n%s", doc)
	}
	dir := t.TempDir()
	binary, socket := filepath.Join(dir, "greeter"), filepath.Join(dir, "s.sock")
	if out, err := exec.CommandContext(limit(t), "go", "build", "-o", binary, "./example/greeter").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	process := exec.CommandContext(limit(t), binary, "--listen", "unix:"+socket)
	process.Stderr = os.Stderr
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	stream, err := mcpedgev1.NewToolServiceClient(conn).CallTool(limit(t),
		&mcpedgev1.CallToolRequest{Name: "greet", ArgumentsJson: `{"Name":"Ada"}`}, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	m, err := stream.Recv()
	if err != nil || m.GetResult().GetContent()[0].GetText().GetText() != "Hello, Ada" {
		t.Errorf("%v, %v", m, err)
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

func packageComment(t *testing.T) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	return f.Doc.Text()
}
