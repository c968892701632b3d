package reflect_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/mcpedge/mcpedge/edge/backend"
	"github.com/mcpedge/mcpedge/edge/check"
	"github.com/mcpedge/mcpedge/edge/reflect"
	"github.com/mcpedge/mcpedge/edge/reflect/reflecttest"
	pb "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// shop is a service with some methods, in two fields or one.
func shop(methods ...string) *descriptorpb.FileDescriptorSet {
	text := `syntax = "proto3"; package shop.v1; message Item { string id = 1; } service ShopService {`
	for _, m := range methods {
		text += "rpc " + m + "(Item) returns (Item);"
	}
	return reflecttest.Compile(map[string]string{"shop.proto": text + "}"})
}

// echo answers with what it gets.
func echo(_ context.Context, _ protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
	return send(in)
}

// startPool puts a pool before one backend of this kind, which is not read anew from time to time.
func startPool(t testing.TB, addr string, opts reflect.Options) (*backend.Backend, <-chan backend.Kinds) {
	t.Helper()
	return startPoolEvery(t, time.Hour, addr, opts)
}

// startPoolEvery is startPool with a backend that is read anew.
func startPoolEvery(t testing.TB, refresh time.Duration, addr string, opts reflect.Options) (*backend.Backend, <-chan backend.Kinds) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	opts.Name, opts.Logger = "shop", log
	pool, err := backend.NewPool([]backend.Config{{
		Name: "shop", Target: addr, Refresh: refresh,
		Adapt: func(target *grpc.ClientConn, calls grpc.ClientConnInterface) backend.Adapter {
			return reflect.New(target, calls, opts)
		},
	}}, backend.Options{Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	changes := make(chan backend.Kinds, 100)
	pool.OnChange(func(_ *backend.Backend, kinds backend.Kinds) { changes <- kinds })
	pool.Start(t.Context())
	t.Cleanup(pool.Close)
	if err := pool.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return pool.Backends()[0], changes
}

// freeAddr returns an address that a server can open, close and open again.
func freeAddr(t *testing.T) string {
	t.Helper()
	addr, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

func listed(b *backend.Backend) []string {
	var names []string
	for _, tool := range b.Catalog().Tools {
		names = append(names, tool.GetName())
	}
	slices.Sort(names)
	return names
}

// An include that selects nothing leaves a backend that is reached and serves nothing: that is a problem.
func TestIncludeThatSelectsNothing(t *testing.T) {
	s := reflecttest.Serve(t, shop("Get"), echo, reflecttest.Options{})
	b, _ := startPool(t, s.Addr, reflect.Options{Include: []string{"acme.nowhere.*"}})
	await.Until(t, "a problem", func() bool {
		return strings.Contains(strings.Join(b.Status().Problems, "\n"), `include "acme.nowhere.*" selects no method`)
	})
}

// To the rest of the edge the service is a backend like any other: ready, down, back with other tools.
func TestRedeployedService(t *testing.T) {
	s := reflecttest.Serve(t, shop("Get"), echo, reflecttest.Options{Addr: freeAddr(t)})
	b, changes := startPool(t, s.Addr, reflect.Options{})
	<-changes
	if got := listed(b); !slices.Equal(got, []string{"shop_get"}) || b.Status().State != backend.Ready || len(b.Status().Problems) > 0 {
		t.Fatalf("tools %q, %+v", got, b.Status())
	}
	s.GRPC.Stop()
	await.Until(t, "the backend is down, with the reason", func() bool {
		status := b.Status()
		return status.State == backend.Down && strings.Contains(status.LastError, "connection refused")
	})
	if got := listed(b); !slices.Equal(got, []string{"shop_get"}) {
		t.Errorf("while it is away: %q", got)
	}
	_, err := backendCall(t, b, "shop_get")
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a call while it is away: %v", err)
	}
	reflecttest.Serve(t, shop("Get", "Put"), echo, reflecttest.Options{Addr: s.Addr})
	await.Until(t, "the new tool is listed", func() bool { return slices.Equal(listed(b), []string{"shop_get", "shop_put"}) })
	if got, err := backendCall(t, b, "shop_put"); err != nil || got != `{"id":"a"}` {
		t.Errorf("the new tool: %s, %v", got, err)
	}
}

func backendCall(t *testing.T, b *backend.Backend, tool string) (string, error) {
	t.Helper()
	stream, err := b.Tools().CallTool(t.Context(), request(tool, `{"id":"a"}`))
	if err != nil {
		return "", err
	}
	m, err := stream.Recv()
	return m.GetResult().GetStructuredContentJson(), err
}

// A service that is not there at the start is served when it comes.
func TestLateService(t *testing.T) {
	s := reflecttest.Serve(t, shop("Get"), echo, reflecttest.Options{Addr: freeAddr(t)})
	s.GRPC.Stop()
	b, _ := startPool(t, s.Addr, reflect.Options{})
	if b.Catalog().Present {
		t.Error("a catalog without a service")
	}
	reflecttest.Serve(t, shop("Get"), echo, reflecttest.Options{Addr: s.Addr})
	await.Until(t, "its tools are listed", func() bool { return slices.Equal(listed(b), []string{"shop_get"}) })
}

// What changes behind a connection that stays is found at a refresh, and reported.
func TestRefresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.binpb")
	write := func(set *descriptorpb.FileDescriptorSet) {
		raw, err := proto.Marshal(set)
		if err == nil {
			err = os.WriteFile(path+".new", raw, 0o600)
		}
		if err == nil {
			err = os.Rename(path+".new", path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(shop("Get"))
	s := reflecttest.Serve(t, shop("Get", "Put"), echo, reflecttest.Options{})
	b, changes := startPoolEvery(t, 20*time.Millisecond, s.Addr, reflect.Options{DescriptorSet: func() ([]byte, error) { return os.ReadFile(path) }})
	<-changes
	write(shop("Get", "Put"))
	for {
		if kinds := <-changes; kinds.Has(backend.Tools) && slices.Equal(listed(b), []string{"shop_get", "shop_put"}) {
			break
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got, err := backendCall(t, b, "shop_put"); err != nil || got != `{"id":"a"}` {
		t.Errorf("after the file is gone: %s, %v", got, err)
	}
}

// A method that is gone has the methods learned anew, without waiting for the refresh.
func TestUnimplementedIsLearned(t *testing.T) {
	var mu sync.Mutex
	set := shop("Get", "Put")
	s := reflecttest.Serve(t, shop("Get"), echo, reflecttest.Options{Mute: true})
	b, _ := startPool(t, s.Addr, reflect.Options{DescriptorSet: func() ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		return proto.Marshal(set)
	}})
	if got := listed(b); !slices.Equal(got, []string{"shop_get", "shop_put"}) {
		t.Fatalf("tools: %q", got)
	}
	mu.Lock()
	set = shop("Get")
	mu.Unlock()
	if _, err := backendCall(t, b, "shop_put"); status.Code(err) != codes.Unimplemented {
		t.Errorf("a method that is gone: %v", err)
	}
	await.Until(t, "the tool is gone", func() bool { return slices.Equal(listed(b), []string{"shop_get"}) })
}

// A call that runs when the service drains comes to its end.
func TestCallsOutliveADrain(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	s := reflecttest.Serve(t, shop("Get"), func(_ context.Context, _ protoreflect.MethodDescriptor, in *dynamicpb.Message, send func(*dynamicpb.Message) error) error {
		close(started)
		<-release
		return send(in)
	}, reflecttest.Options{})
	b, _ := startPool(t, s.Addr, reflect.Options{})
	stream, err := b.Tools().CallTool(t.Context(), request("shop_get", `{"id":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		s.GRPC.GracefulStop()
	}()
	await.Until(t, "the backend is down", func() bool { return b.Status().State == backend.Down })
	close(release)
	if m, err := stream.Recv(); err != nil || m.GetResult().GetStructuredContentJson() != `{"id":"a"}` {
		t.Errorf("%v, %v", m, err)
	}
	<-drained
}

// check prints the tools, and what they cannot express, which breaks nothing.
func TestCheckTellsWhatCannotBeExpressed(t *testing.T) {
	set := reflecttest.Compile(map[string]string{"shop.proto": `syntax = "proto3"; package shop.v1; import "buf/validate/validate.proto";
		message Item { string id = 1 [(buf.validate.field).cel = {id: "id.even" expression: "size(this) % 2 == 0"}]; }
		service ShopService { rpc Get(Item) returns (Item); rpc Load(stream Item) returns (Item); }`})
	s := reflecttest.Serve(t, set, echo, reflecttest.Options{})
	var out bytes.Buffer
	config := backend.Config{Name: "shop", Target: s.Addr, Adapt: func(target *grpc.ClientConn, calls grpc.ClientConnInterface) backend.Adapter {
		return reflect.New(target, calls, reflect.Options{Name: "shop", Logger: slog.New(slog.DiscardHandler)})
	}}
	if err := check.Run(t.Context(), config, nil, &out); err != nil {
		t.Errorf("%v", err)
	}
	for _, want := range []string{
		"    shop_get\n",
		"  note    tool shop_get: field shop.v1.Item.id: the CEL rule id.even is not in the schema\n",
		"  note    method shop.v1.ShopService/Load takes a stream of messages, and is not a tool\n",
		"  nothing breaks the contract\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	s.GRPC.Stop()
	if err := check.Run(t.Context(), config, nil, &out); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a service that is away: %v", err)
	}
}

// An adapter that is closed serves no more, and leaves nothing behind.
func TestClose(t *testing.T) {
	e := serveKinds(t, reflect.Options{})
	stream, err := e.tools.WatchTools(t.Context(), &pb.WatchToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := stream.Recv(); err != nil || m.GetStarted() == nil {
		t.Fatalf("%v, %v", m, err)
	}
	e.adapter.Close()
	if _, err := stream.Recv(); err == nil {
		t.Error("the feed continues")
	}
	for range 2 {
		if _, err := e.about.Describe(t.Context(), &pb.DescribeRequest{}); status.Code(err) != codes.Unavailable {
			t.Errorf("it still describes itself: %v", err)
		}
		if a := e.call("kind_nothing", `{}`); status.Code(a.err) != codes.Unavailable {
			t.Errorf("it still makes calls: %v", a)
		}
	}
	e.adapter.Close()
}
