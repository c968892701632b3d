// Package program has the common part of the bundled services' main functions.
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

// DefaultListen is the default address of a service.
const DefaultListen = "127.0.0.1:50051"

// Service serves the contract on a listener, which it closes, until ctx is done; it then returns
// nil.
type Service interface {
	Serve(ctx context.Context, l net.Listener) error
}

// Main parses the command line, with the flag --listen and the caller's flags, calls build, and
// serves the service until SIGTERM or SIGINT. Logs go to stderr. An error is logged, and the
// process exits with status 1. If the standard OTEL_… environment configures an exporter, the
// service continues the edge's traces.
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
