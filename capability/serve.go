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

// messageBytes is the maximum size of a message in either direction.
const messageBytes = 16 << 20

// streamWorkers is the number of goroutines that wait for calls. Their stacks have already grown to
// the size that a call needs. Further calls get their own goroutines.
const streamWorkers = 32

// Register registers the contract's services on an existing gRPC server. The caller adds health and
// reflection, and calls Close before the gRPC server's GracefulStop.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	mcpedgev1.RegisterBackendServiceServer(r, backendService{s: s})
	mcpedgev1.RegisterToolServiceServer(r, toolService{s: s})
	mcpedgev1.RegisterResourceServiceServer(r, resourceService{s: s})
	mcpedgev1.RegisterPromptServiceServer(r, promptService{s: s})
}

// Serve serves on l until ctx is done, and closes l. It then reports NOT_SERVING, ends change
// feeds, and waits for running calls for the time set by WithGrace. It returns nil if ctx ended it.
//
// The gRPC server has the standard health service, reflection and a message limit of 16 MiB, and
// allows clients to ping every five seconds. With a tracer provider (see WithTracerProvider) each
// call is a span of the edge's trace, which the context of a handler carries.
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

// stop waits for running calls, at most for the grace period.
func (s *Server) stop(server *grpc.Server) {
	timer := time.AfterFunc(s.grace, server.Stop)
	defer timer.Stop()
	server.GracefulStop()
}

// Listen listens on a TCP address ("127.0.0.1:50051") or on a Unix socket ("unix:/run/x.sock"). It
// replaces a socket on which no process listens. It returns an error if the path has any other
// file.
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
		return nil, fmt.Errorf("cannot listen on %s: %s exists and is not a socket: remove it, or choose another path", address, path)
	}
	probe, perr := net.DialTimeout("unix", path, time.Second)
	if perr == nil {
		_ = probe.Close()
		return nil, fmt.Errorf("cannot listen on %s: another process listens there: stop it, or choose another path: %w", address, err)
	}
	if errors.Is(perr, syscall.ECONNREFUSED) && os.Remove(path) == nil {
		return net.Listen("unix", path)
	}
	return nil, err
}

// Main is a complete main function for s. It parses the command line: --listen (default
// 127.0.0.1:50051; see Listen), --tls-cert, --tls-key and --tls-client-ca (see TLSFiles), and the
// program's own flags. It serves until SIGTERM or SIGINT, and then stops gracefully. If serving
// fails, it exits with status 1.
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

// listen checks the TLS files, if there are any, and returns a listener for Serve.
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
