// Package program is the part that the bundled services' main functions share.
package program

import (
	"context"
	"flag"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpedge/mcpedge/capability"
)

// DefaultListen is where a service listens unless it is told otherwise.
const DefaultListen = "127.0.0.1:50051"

// Service serves the contract on a listener, which it closes, until ctx is done; it then returns nil.
type Service interface {
	Serve(ctx context.Context, l net.Listener) error
}

// Main parses the command line with the flag --listen beside the caller's own, makes the service
// (build sees the flags parsed), and serves it until SIGTERM or SIGINT. Logs go to stderr. What fails
// is logged, and the process exits with status 1. The edge's traces are continued where the standard
// OTEL_… environment says so.
func Main(name string, build func() (Service, error)) {
	listen := flag.String("listen", DefaultListen, "address to serve gRPC on: host:port or unix:/path")
	flag.Parse()
	if err := run(name, *listen, build); err != nil {
		slog.Error("the service failed", "service", name, "error", err)
		os.Exit(1)
	}
}

func run(name, listen string, build func() (Service, error)) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	flush, err := trace(ctx, name)
	if err != nil {
		return err
	}
	defer flush()
	service, err := build()
	if err != nil {
		return err
	}
	l, err := capability.Listen(listen)
	if err != nil {
		return err
	}
	slog.Info("serving", "service", name, "address", l.Addr().String())
	return service.Serve(ctx, l)
}
