package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/mcpedge/mcpedge/capability"
	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// backends are what stands behind the edge: an honest one, and hostile ones that behave until an attack
// tells them otherwise.
type backends struct {
	hostile   *hostile
	lists     *lists
	learned   *learned
	templates *templates
	flap      *flapper
	rows      []backendRow
	end       context.CancelFunc
	serving   sync.WaitGroup
	servers   []*grpc.Server
}

// backendRow is a backend in the edge's configuration.
type backendRow struct{ name, addr, more string }

// startBackends starts all of them on loopback.
func startBackends() (_ *backends, err error) {
	b := &backends{hostile: newHostile(), lists: newLists(), learned: newLearned(), templates: new(templates)}
	ctx, cancel := context.WithCancel(context.Background())
	b.end = cancel
	defer func() {
		if err != nil {
			b.stop()
		}
	}()
	for _, made := range []struct {
		name   string
		server *capability.Server
	}{{"honest", newHonest()}, {"vault", newVault()}} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		b.rows = append(b.rows, backendRow{name: made.name, addr: l.Addr().String()})
		b.serving.Go(func() { _ = made.server.Serve(ctx, l) }) // ends with ctx
	}
	for _, more := range []struct {
		name, settings string
		server         *grpc.Server
	}{
		{"hostile", "timeout: 30s", b.hostile.server()},
		{"lists", "refresh: 1s, timeout: 5s", b.lists.server()},
		{"templates", "refresh: 1s, timeout: 5s", b.templates.server()},
		{"stock", "kind: reflect, timeout: 10s", newStock()},
		{"learned", "kind: reflect, refresh: 1s, timeout: 10s", b.learned.server()},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		b.rows = append(b.rows, backendRow{more.name, l.Addr().String(), more.settings})
		b.servers = append(b.servers, more.server)
		b.serving.Go(func() { _ = more.server.Serve(l) }) // ends with Stop
	}
	addr, err := freeport.Addr()
	if err != nil {
		return nil, err
	}
	b.flap = &flapper{addr: addr}
	b.rows = append(b.rows, backendRow{"flapping", addr, "refresh: 1s, timeout: 2s"})
	return b, b.flap.up()
}

// configure writes the edge's configuration.
func (b *backends) configure(file string, more ...backendRow) error {
	var y strings.Builder
	y.WriteString("backends:\n")
	for _, r := range append(b.rows, more...) {
		fmt.Fprintf(&y, "  - {name: %s, target: %q", r.name, r.addr)
		if r.more != "" {
			y.WriteString(", " + r.more)
		}
		y.WriteString("}\n")
	}
	return os.WriteFile(file, []byte(y.String()), 0o644)
}

func (b *backends) stop() {
	b.end()
	for _, s := range b.servers {
		s.Stop()
	}
	if b.flap != nil {
		b.flap.down()
	}
	b.serving.Wait()
}

// newServer is a gRPC server that lets the edge ping as often as it may.
func newServer(options ...grpc.ServerOption) *grpc.Server {
	return grpc.NewServer(append(options, grpc.MaxRecvMsgSize(64<<20), grpc.MaxSendMsgSize(64<<20),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}))...)
}

// newHonest is what the honest clients call, and what the others have no reason to complain of.
func newHonest() *capability.Server {
	s := capability.New("honest", "1.0.0", capability.WithLogger(slog.New(slog.NewTextHandler(io.Discard, nil))))
	type echoIn struct {
		Text string `json:"text"`
	}
	capability.AddTool(s, "echo", "Says it again",
		func(_ context.Context, _ *capability.Call, in echoIn) (string, error) { return in.Text, nil }, capability.ReadOnly())
	type nameForm struct {
		Name string `json:"name"`
	}
	capability.AddTool(s, "greet", "Asks for a name and greets",
		func(_ context.Context, c *capability.Call, in echoIn) (string, error) {
			form, err := capability.Ask[nameForm](c, "name", "Who are you?")
			if err != nil {
				return "", err
			}
			return in.Text + " " + form.Name, nil
		})
	capability.AddTool(s, "wait", "Waits, with progress",
		func(ctx context.Context, c *capability.Call, in struct {
			Milliseconds int `json:"milliseconds"`
		}) (string, error) {
			c.Progress(1, 2, "waiting")
			select {
			case <-time.After(time.Duration(in.Milliseconds) * time.Millisecond):
				return "waited", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}, capability.ReadOnly())
	return s
}

// flapper is a backend that comes and goes.
type flapper struct {
	addr string
	mu   sync.Mutex
	now  *grpc.Server
	done chan struct{}
}

func (f *flapper) up() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		return err
	}
	server, done := newServer(), make(chan struct{})
	mcpedgev1.RegisterToolServiceServer(server, flat{})
	f.now, f.done = server, done
	go func() {
		_ = server.Serve(l)
		close(done)
	}()
	return nil
}

// down cuts every connection.
func (f *flapper) down() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now != nil {
		f.now.Stop()
		<-f.done
		f.now = nil
	}
}

// flat is a backend with one tool, which is never well.
type flat struct {
	mcpedgev1.UnimplementedToolServiceServer
}

func (flat) ListTools(context.Context, *mcpedgev1.ListToolsRequest) (*mcpedgev1.ListToolsResponse, error) {
	return &mcpedgev1.ListToolsResponse{Tools: []*mcpedgev1.Tool{{Name: "flap"}}}, nil
}

func (flat) CallTool(*mcpedgev1.CallToolRequest, grpc.ServerStreamingServer[mcpedgev1.CallToolResponse]) error {
	return errors.New("not now")
}
