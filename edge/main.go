// Command mcpedge is the edge: it speaks the Model Context Protocol to clients and the gRPC contract
// to backends. See mcpedge help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/client"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

const help = `mcpedge: the Model Context Protocol in front, gRPC services behind.

  mcpedge [serve] [flags]    serve MCP at /mcp; without a backend, in front of the bundled demo services,
                             which --demo keeps beside others
  mcpedge stdio [flags]      serve MCP on stdin and stdout, for a client that starts it itself
  mcpedge check [flags]      call every RPC of the backends, print what they serve and what breaks the contract;
                             --call NAME=JSON also calls a tool that is not marked read-only,
                             --answer KEY=JSON answers what tools ask
  mcpedge list URL           list the tools, prompts and resources of a running MCP server
  mcpedge call URL TOOL JSON call a tool of a running MCP server and print the result;
                             --answer KEY=JSON answers what the tool asks
  mcpedge ready [--admin A]  ask the edge that runs on this machine whether it is ready: exit status 0 or 1
  mcpedge policy explain     say what the policy decides, and by which rule: --claims JSON has the claims of a token,
                             --tool NAME asks about one tool, --arguments JSON about a call of it
  mcpedge proto --out DIR    write the contract's .proto files
  mcpedge version            print the version, the commit and its date
  mcpedge help               print this
  mcpedge COMMAND --help     the flags of a command; those that are settings have a twin in the environment,
                             MCPEDGE_…
`

func main() {
	setGCPercent()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(&plain{to: os.Stderr}, "mcpedge: "+err.Error())
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	command := "serve"
	if len(args) > 0 {
		switch args[0] {
		case "-h", "-help", "--help":
			command = "help"
		case "-v", "-version", "--version":
			command = "version"
		default:
			if args[0] != "" && args[0][0] != '-' {
				command, args = args[0], args[1:]
			}
		}
	}
	switch command {
	case "serve":
		return serve(ctx, args)
	case "stdio":
		return stdio(ctx, args)
	case "check":
		return checkBackends(ctx, args, &plain{to: os.Stdout})
	case "call":
		return client.Call(ctx, args, app.ThisBuild().Version, &plain{to: os.Stdout}, &plain{to: os.Stderr})
	case "list":
		return client.List(ctx, args, app.ThisBuild().Version, &plain{to: os.Stdout}, &plain{to: os.Stderr})
	case config.Ready:
		return ready(ctx, args)
	case "policy":
		return explainPolicy(ctx, args, &plain{to: os.Stdout}, &plain{to: os.Stderr})
	case "proto":
		return writeProto(args)
	case "version":
		b := app.ThisBuild()
		fmt.Printf("mcpedge %s\ncommit  %s\ndate    %s\n", b.Version, b.Commit, b.Date)
		return nil
	case "help":
		fmt.Print(help)
		return nil
	}
	return unknownCommand(command)
}

// commands are those that help lists.
var commands = []string{"serve", "stdio", "check", "list", "call", config.Ready, "policy", "proto", "version", "help"}

func unknownCommand(name string) error {
	if meant := config.Nearest(name, commands); meant != "" {
		return fmt.Errorf("%q is no command: did you mean mcpedge %s? mcpedge help lists them", name, meant)
	}
	return fmt.Errorf("%q is no command: mcpedge help lists them", name)
}

func serve(ctx context.Context, args []string) error {
	cfg, err := config.Load("serve", args, os.LookupEnv, os.Stderr)
	if err != nil {
		return err
	}
	demo := cfg.ServesDemo() && !cfg.HasBackends()
	cfg.Dev = cfg.Dev || demo && cfg.AdminOnLoopback()
	edge, stop, err := assemble(ctx, &cfg)
	if err != nil {
		return err
	}
	defer stop()
	return edge.Run(ctx, func(endpoint string) {
		greet(os.Stderr, &cfg, demo, endpoint, edge.AdminAddr())
	})
}

// assemble wires an edge, in front of the bundled backends when the settings have none or want them, too. stop ends those
// and is called once the edge has ended. SIGHUP has the edge read its file of settings again.
func assemble(ctx context.Context, cfg *config.Config) (edge *app.App, stop func(), err error) {
	if err := cfg.NothingServed(); err != nil {
		return nil, nil, err
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // from now on one does not end the process
	log, level := newLogger(cfg.Log)
	for _, note := range config.Strays(os.Environ()) {
		log.Warn("a variable of the environment is not used", "variable", note)
	}
	cfg.Memory = limitMemory(cfg.Memory)
	if least := cfg.LeastMemory(); cfg.Memory > 0 && cfg.Memory < least {
		log.Warn("there is too little memory: requests are refused that would be served with more; give the container more, or set GOMEMLIMIT or memory to at least as much",
			"memory", cfg.Memory.String(), "least", least.String())
	}
	stop = func() {}
	store := app.DevStore(*cfg)
	t, err := app.Telemetry(*cfg, log, store)
	if err != nil {
		return nil, nil, err
	}
	if cfg.ServesDemo() {
		if stop, err = addBundled(context.WithoutCancel(ctx), cfg, t); err != nil {
			return nil, nil, err
		}
	}
	if edge, err = app.New(*cfg, log, app.WithTelemetry(t), app.WithDev(store), app.WithLogLevel(level), app.WithRereads(hangups)); err != nil {
		stop()
		return nil, nil, err
	}
	return edge, stop, nil
}

func newLogger(c config.Log) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	_ = level.UnmarshalText([]byte(c.Level)) // validated
	return slog.New(telemetry.NewHandler(os.Stderr, c.Format == "json", level)), level
}
