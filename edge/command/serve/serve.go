// Package serve has the commands that serve MCP: mcpedge serve, over HTTP, and mcpedge stdio.
package serve

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/command/demo"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// HTTP serves over HTTP until ctx ends. It returns flag.ErrHelp if help was requested.
func HTTP(ctx context.Context, args []string) error {
	cfg, err := config.Load("serve", args, os.LookupEnv, os.Stderr)
	if err != nil {
		return unstarted(&cfg, err)
	}
	only := cfg.ServesDemo() && !cfg.HasBackends()
	cfg.Admin.Dev = cfg.Admin.Dev || only && cfg.AdminOnLoopback()
	edge, stop, err := assemble(ctx, &cfg)
	if err != nil {
		return unstarted(&cfg, err)
	}
	defer stop()
	return stopped(&cfg, edge.Run(ctx, func(endpoint string) {
		if !inJSON(&cfg) {
			greet(os.Stderr, &cfg, only, endpoint, edge.AdminAddr())
		}
	}))
}

// assemble creates an edge. The edge serves the bundled backends if the settings have no backends
// or set demo. stop stops the bundled backends; call it after the edge has ended. On SIGHUP the
// edge rereads its settings file.
func assemble(ctx context.Context, cfg *config.Config) (edge *app.App, stop func(), err error) {
	if err := cfg.NothingServed(); err != nil {
		return nil, nil, err
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // from now on, SIGHUP does not end the process
	redaction, err := app.Redaction(cfg)
	if err != nil {
		return nil, nil, err
	}
	log, level := newLogger(cfg.Log, cfg.ReplicaName())
	log = app.RedactedLog(log, redaction)
	slog.SetDefault(log) // used by libraries, and by the balancer of gRPC connections
	for _, note := range config.Strays(os.Environ()) {
		log.Warn("a variable of the environment is not used", "variable", note)
	}
	cfg.Server.Memory = limitMemory(cfg.Server.Memory)
	if least := cfg.LeastMemory(); cfg.Server.Memory > 0 && cfg.Server.Memory < least {
		log.Warn("there is too little memory, so requests that need more are refused: give the container more, or set GOMEMLIMIT or server.memory to the least value or more",
			"memory", cfg.Server.Memory.String(), "least", least.String())
	}
	stop = func() {}
	store := app.DevStore(*cfg, redaction)
	t, err := app.Telemetry(*cfg, log, store, redaction)
	if err != nil {
		return nil, nil, err
	}
	if cfg.ServesDemo() {
		if stop, err = demo.Add(context.WithoutCancel(ctx), cfg, t); err != nil {
			return nil, nil, err
		}
	}
	if edge, err = app.New(*cfg, log, app.WithTelemetry(t), app.WithRedaction(redaction), app.WithDev(store), app.WithLogLevel(level), app.WithRereads(hangups)); err != nil {
		stop()
		return nil, nil, err
	}
	return edge, stop, nil
}

func newLogger(c config.Log, replica string) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(c.Level)) // validated
	return slog.New(telemetry.NewHandler(os.Stderr, c.Format == "json", level, replica)), level
}
