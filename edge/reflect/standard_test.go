package reflect_test

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/channelz/service"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/mcpedge/mcpedge/edge/reflect"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// serveStandard serves what gRPC brings along: health, channelz and reflection.
func serveStandard(t *testing.T) (addr string, h *health.Server) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	h = health.NewServer()
	healthpb.RegisterHealthServer(s, h)
	service.RegisterChannelzServiceToServer(s)
	reflection.Register(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(listener)
	}()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	return listener.Addr().String(), h
}

// How servers are run and looked at is no tool, and what is said of it in exclude is no mistake.
func TestInfrastructureIsNoTool(t *testing.T) {
	addr, _ := serveStandard(t)
	for _, include := range [][]string{nil, {"*"}, {"*/*"}} {
		e := newEdge(t, addr, reflect.Options{Include: include, Exclude: []string{"grpc.health.v1.Health", "grpc.channelz.*/Get*"}})
		if got := e.names(); len(got) > 0 {
			t.Errorf("include %q: tools %q", include, got)
		}
		if notes := strings.Join(e.adapter.Notes(), "\n"); strings.Contains(notes, "excludes nothing") {
			t.Error(notes)
		}
	}
}

// A backend of the contract under kind: reflect gets a note that says to leave kind out.
func TestContractUnderReflect(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	pb.RegisterToolServiceServer(s, pb.UnimplementedToolServiceServer{})
	pb.RegisterBackendServiceServer(s, pb.UnimplementedBackendServiceServer{})
	reflection.Register(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(listener)
	}()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	e := newEdge(t, listener.Addr().String(), reflect.Options{})
	if got := e.names(); len(got) > 0 {
		t.Errorf("tools: %q", got)
	}
	if notes := e.adapter.Notes(); len(notes) != 1 || !strings.HasPrefix(notes[0], "it serves mcpedge.v1: leave kind out") {
		t.Errorf("notes: %q", notes)
	}
}

// Patterns that match nothing are noted, and methods that nothing is said of.
func TestNotesOfWhatIsSelected(t *testing.T) {
	notes := func(opts reflect.Options) string {
		e := serveKinds(t, opts)
		e.list()
		return strings.Join(e.adapter.Notes(), "\n")
	}
	all := notes(reflect.Options{Exclude: []string{"*/Delet", "*/Echo", "test.kind.v9.*", "/*/Count"}})
	for pattern, idle := range map[string]bool{"*/Delet": true, "*/Echo": false, "test.kind.v9.*": true, "/*/Count": false} {
		if strings.Contains(all, `exclude "`+pattern+`" excludes nothing`) != idle {
			t.Errorf("%s: %s", pattern, all)
		}
	}
	const silent = "no method has a comment"
	if strings.Contains(all, silent) {
		t.Error("methods with comments have none, says a note")
	}
	addr, _ := serveStandard(t)
	e := newEdge(t, addr, reflect.Options{Include: []string{"grpc.health.*"}})
	e.list()
	if got := strings.Join(e.adapter.Notes(), "\n"); !strings.Contains(got, silent) {
		t.Errorf("server reflection has no comments, which no note says: %s", got)
	}
}

// Infrastructure services (health, channelz) become tools only where they are included by name.
func TestHealthAndChannelz(t *testing.T) {
	addr, h := serveStandard(t)
	h.SetServingStatus("shop", healthpb.HealthCheckResponse_NOT_SERVING)
	e := newEdge(t, addr, reflect.Options{Include: []string{"grpc.health.*", "grpc.channelz.v1.Channelz/*"}})
	want := []string{
		"channelz_get_channel", "channelz_get_server", "channelz_get_server_sockets", "channelz_get_servers",
		"channelz_get_socket", "channelz_get_subchannel", "channelz_get_top_channels",
		"health_check", "health_list", "health_watch",
	}
	if got := e.names(); !slices.Equal(got, want) {
		t.Fatalf("tools: %q", got)
	}
	tools := e.list()
	for _, c := range []struct{ tool, args, want string }{
		{"health_check", `{}`, `{"status":"SERVING"}`},
		{"health_check", `{"service":"shop"}`, `{"status":"NOT_SERVING"}`},
		{"health_list", `{}`, `{"statuses":{"":{"status":"SERVING"},"shop":{"status":"NOT_SERVING"}}}`},
		{"channelz_get_servers", `{}`, ""},
		{"channelz_get_top_channels", `{"maxResults":"10"}`, ""},
	} {
		if err := fits(t, tools[c.tool].GetInputSchemaJson(), c.args); err != nil {
			t.Errorf("%s %s: %v", c.tool, c.args, err)
		}
		a := e.call(c.tool, c.args)
		got := a.result.GetStructuredContentJson()
		if a.err != nil || a.result.GetIsError() || c.want != "" && got != c.want {
			t.Errorf("%s %s: %v, %s%s", c.tool, c.args, a.err, got, a.text())
			continue
		}
		if err := fits(t, tools[c.tool].GetOutputSchemaJson(), got); err != nil {
			t.Errorf("%s: the answer does not fit: %v\n%s", c.tool, err, got)
		}
	}
	if a := e.call("health_check", `{"service":"none"}`); !a.result.GetIsError() || a.text() != "NOT_FOUND: unknown service" {
		t.Errorf("an unknown service: %v", a)
	}
	sockets(t, e)
	watch(t, e, h)
}

// sockets goes from a server to one of its sockets, whose data hold an address as bytes.
func sockets(t *testing.T, e *edge) {
	t.Helper()
	var servers struct {
		Server []struct{ Ref struct{ ServerID string } }
	}
	if err := json.Unmarshal([]byte(e.call("channelz_get_servers", `{}`).result.GetStructuredContentJson()), &servers); err != nil || len(servers.Server) == 0 {
		t.Fatalf("servers: %v, %v", servers, err)
	}
	found := false
	for _, s := range servers.Server {
		list := e.call("channelz_get_server_sockets", `{"serverId":`+s.Ref.ServerID+`}`)
		var refs struct {
			SocketRef []struct{ SocketID string }
		}
		if err := json.Unmarshal([]byte(list.result.GetStructuredContentJson()), &refs); err != nil {
			t.Fatal(err)
		}
		for _, r := range refs.SocketRef {
			a := e.call("channelz_get_socket", `{"socketId":"`+r.SocketID+`"}`)
			if a.err != nil || a.result.GetIsError() {
				t.Errorf("socket %s: %v, %s", r.SocketID, a.err, a.text())
				continue
			}
			if err := fits(t, e.list()["channelz_get_socket"].GetOutputSchemaJson(), a.result.GetStructuredContentJson()); err != nil {
				t.Errorf("a socket does not fit: %v", err)
			}
			found = found || strings.Contains(a.result.GetStructuredContentJson(), `"ipAddress":"`)
		}
	}
	if !found {
		t.Error("no server has a socket with an address")
	}
}

// watch follows a stream that ends only with its call: what it says comes at once.
func watch(t *testing.T, e *edge, h *health.Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := e.tools.CallTool(ctx, request("health_watch", `{"service":"shop"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []healthpb.HealthCheckResponse_ServingStatus{healthpb.HealthCheckResponse_NOT_SERVING, healthpb.HealthCheckResponse_SERVING} {
		m, err := stream.Recv()
		if err != nil || m.GetProgress().GetMessage() != `{"status":"`+want.String()+`"}` {
			t.Fatalf("watching: %v, %v", m, err)
		}
		h.SetServingStatus("shop", healthpb.HealthCheckResponse_SERVING)
	}
}
