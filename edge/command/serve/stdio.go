package serve

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpedge/mcpedge/edge/config"
)

// Stdio serves the client that started this process. stdout carries only the protocol: the
// process's other output to stdout is redirected to stderr.
func Stdio(ctx context.Context, args []string) error {
	cfg, err := config.Load("stdio", args, os.LookupEnv, os.Stderr)
	if err != nil {
		return unstarted(&cfg, err)
	}
	cfg.Admin.Dev = false // the page is on the admin listener, which stdio does not have
	cfg.Listen.TLS, cfg.Admin.TLS = config.ListenerTLS{}, config.ListenerTLS{}
	in, out := os.Stdin, os.Stdout
	os.Stdout = os.Stderr
	signal.Ignore(syscall.SIGPIPE) // if the client has closed stdout, the write fails, and the process ends in order
	edge, stop, err := assemble(ctx, &cfg)
	if err != nil {
		return unstarted(&cfg, err)
	}
	defer stop()
	return stopped(&cfg, edge.Stdio(ctx, in, out))
}
