package capability

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	mcpedgev1 "github.com/mcpedge/mcpedge/gen/mcpedge/v1"
)

// messageBytes bounds a message in either direction.
const messageBytes = 16 << 20

// streamWorkers is how many goroutines wait for a call: their stacks have grown to what a call takes. Calls beyond
// get one of their own.
const streamWorkers = 32

// Register puts the contract's services on a gRPC server of your own. Call Close before its
// GracefulStop. Health and reflection are yours to add.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	mcpedgev1.RegisterBackendServiceServer(r, backendService{s: s})
	mcpedgev1.RegisterToolServiceServer(r, toolService{s: s})
	mcpedgev1.RegisterResourceServiceServer(r, resourceService{s: s})
	mcpedgev1.RegisterPromptServiceServer(r, promptService{s: s})
}

// Serve serves on l, which it closes, until ctx is done: then health says NOT_SERVING, change feeds
// end, and running calls have WithGrace to finish. It returns nil when it stopped because of ctx.
// The gRPC server has the standard health service, reflection, messages up to 16 MiB, and lets
// clients ping as often as every five seconds. With a tracer provider (see WithTracerProvider) each
// call is a span of the trace that the edge is in, and the context of a handler carries it.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	options := append([]grpc.ServerOption{
		grpc.MaxRecvMsgSize(messageBytes),
		grpc.MaxSendMsgSize(messageBytes),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}, s.traced()...)
	server := grpc.NewServer(append(options, s.grpcOptions...)...)
	s.Register(server)
	state := health.NewServer()
	healthv1.RegisterHealthServer(server, state)
	for service := range server.GetServiceInfo() {
		state.SetServingStatus(service, healthv1.HealthCheckResponse_SERVING)
	}
	reflection.Register(server)

	stopped := make(chan struct{})
	served := make(chan struct{})
	go func() {
		defer close(stopped)
		select {
		case <-ctx.Done():
			state.Shutdown()
			s.Close()
			s.stop(server)
		case <-served:
			s.Close()
			server.Stop()
		}
	}()
	err := server.Serve(l)
	close(served)
	<-stopped
	if ctx.Err() != nil && (err == nil || errors.Is(err, grpc.ErrServerStopped)) {
		return nil
	}
	return err
}

// stop lets running calls finish within the grace.
func (s *Server) stop(server *grpc.Server) {
	timer := time.AfterFunc(s.grace, server.Stop)
	defer timer.Stop()
	server.GracefulStop()
}

// Listen listens on a TCP address ("127.0.0.1:50051"), or on a Unix socket ("unix:/run/x.sock"),
// where a socket that nobody serves any more is replaced. Whatever else has that path is left as it is: an error.
func Listen(address string) (net.Listener, error) {
	path, unix := strings.CutPrefix(address, "unix:")
	if !unix {
		return net.Listen("tcp", address)
	}
	path = strings.TrimPrefix(path, "//") // unix:///absolute/path
	l, err := net.Listen("unix", path)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	if info, serr := os.Lstat(path); serr == nil && info.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("cannot listen on %s: %s is there and is no socket: remove it, or name another path", address, path)
	}
	probe, perr := net.DialTimeout("unix", path, time.Second)
	if perr == nil {
		_ = probe.Close()
		return nil, fmt.Errorf("cannot listen on %s: another process serves there: stop it, or name another path: %w", address, err)
	}
	if errors.Is(perr, syscall.ECONNREFUSED) && os.Remove(path) == nil {
		return net.Listen("unix", path)
	}
	return nil, err
}

// Main is the rest of a main function: it parses the command line with the flags --listen (default
// 127.0.0.1:50051; see Listen), --tls-cert, --tls-key and --tls-client-ca (see TLSFiles) beside flags of your own,
// serves until SIGTERM or SIGINT, and stops gracefully. It exits the process with status 1 when serving fails.
func Main(s *Server) {
	listen := flag.String("listen", "127.0.0.1:50051", "address to serve gRPC on: host:port or unix:/path")
	var files TLSFiles
	files.flags(flag.CommandLine)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	l, err := s.listen(*listen, files)
	if err == nil {
		s.log.Info("serving", "service", s.info.GetName(), "address", l.Addr().String())
		err = s.Serve(ctx, l)
	}
	if err != nil {
		s.log.Error("the service failed", "service", s.info.GetName(), "address", *listen, "error", err)
		os.Exit(1)
	}
}

// listen listens on an address for Serve, which is to speak TLS with the files, if there are any.
func (s *Server) listen(address string, files TLSFiles) (net.Listener, error) {
	creds, err := files.Credentials(s.log)
	if err != nil {
		return nil, err
	}
	if creds != nil {
		s.grpcOptions = append(s.grpcOptions, grpc.Creds(creds))
	}
	return Listen(address)
}
