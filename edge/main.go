// Command mcpedge is the edge: it speaks the Model Context Protocol to clients and the gRPC
// contract to backends. See mcpedge help.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/command"
	"github.com/mcpedge/mcpedge/edge/command/catalog"
	"github.com/mcpedge/mcpedge/edge/command/check"
	"github.com/mcpedge/mcpedge/edge/command/client"
	"github.com/mcpedge/mcpedge/edge/command/explain"
	"github.com/mcpedge/mcpedge/edge/command/install"
	"github.com/mcpedge/mcpedge/edge/command/serve"
	"github.com/mcpedge/mcpedge/edge/config"
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
  mcpedge catalog snapshot   print what a caller sees of the backends, as JSON for reviews; catalog diff OLD [NEW] says how it
                             has changed: exit status 1 if callers would break, 2 if it could not be compared
  mcpedge catalog rollback URL
                             put the backends, catalog, sets, include, policy, hooks, quotas and redact in force that were so
                             before, on the replica with that admin address
  mcpedge catalog disable NAME
                             disable a tool, a backend or a set on all replicas, until mcpedge catalog enable NAME; catalog
                             disabled lists them
  mcpedge approvals list     list the calls that wait for the approval of another person; approvals show ID prints one with its
                             arguments, approvals grant ID and approvals refuse ID --reason TEXT decide on it
  mcpedge install HOST       print what the configuration of a host such as claude-code, codex or vscode needs to use this edge;
                             --write adds it to the host's file
  mcpedge proto --out DIR    write the contract's .proto files
  mcpedge version            print the version, the commit and its date
  mcpedge help               print this
  mcpedge COMMAND --help     the flags of a command; those that are settings have a twin in the environment,
                             MCPEDGE_…
`

func main() {
	serve.SetGCPercent()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		if reported := (*command.Reported)(nil); !errors.As(err, &reported) {
			fmt.Fprintln(&command.Terminal{To: os.Stderr}, "mcpedge: "+err.Error())
		}
		status := 1
		if exit := (*command.Exit)(nil); errors.As(err, &exit) {
			status = exit.Status
		}
		os.Exit(status)
	}
}

func run(ctx context.Context, args []string) error {
	name := "serve"
	if len(args) > 0 {
		switch args[0] {
		case "-h", "-help", "--help":
			name = "help"
		case "-v", "-version", "--version":
			name = "version"
		default:
			if args[0] != "" && args[0][0] != '-' {
				name, args = args[0], args[1:]
			}
		}
	}
	out, stderr := &command.Terminal{To: os.Stdout}, &command.Terminal{To: os.Stderr}
	switch name {
	case "serve":
		return serve.HTTP(ctx, args)
	case "stdio":
		return serve.Stdio(ctx, args)
	case "check":
		return check.Run(ctx, args, out, stderr)
	case "call":
		return client.Call(ctx, args, app.ThisBuild().Version, out, stderr)
	case "list":
		return client.List(ctx, args, app.ThisBuild().Version, out, stderr)
	case config.Ready:
		return ready(ctx, args)
	case "policy":
		return explain.Run(ctx, args, out, stderr)
	case "catalog":
		return catalog.Run(ctx, args, out, stderr)
	case "approvals":
		return client.Approvals(ctx, args, out, stderr)
	case "install":
		return install.Run(args, out, stderr)
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
	return unknownCommand(name)
}

// commands are the commands that `mcpedge help` lists.
var commands = []string{"serve", "stdio", "check", "list", "call", config.Ready, "policy", "catalog", "approvals", "install", "proto", "version", "help"}

func unknownCommand(name string) error {
	if meant := config.Nearest(name, commands); meant != "" {
		return fmt.Errorf("%q is not a command: did you mean mcpedge %s? mcpedge help lists them", name, meant)
	}
	return fmt.Errorf("%q is not a command: mcpedge help lists them", name)
}
