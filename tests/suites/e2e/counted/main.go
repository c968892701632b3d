// Command counted is an edge and its backend in one process, which is built with coverage counters. Each time that the backend serves a
// request, it writes the counters and the stacks of the process to a directory of its own, DIR/1, DIR/2 and so on.
package main

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/coverage"
	"strconv"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/capability"
	"github.com/mcpedge/mcpedge/edge/app"
	"github.com/mcpedge/mcpedge/edge/config"
)

func main() {
	if len(os.Args) != 3 || os.Args[2] != "http" && os.Args[2] != "stdio" {
		log.Fatal("usage: counted DIR http|stdio")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2] == "stdio"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string, stdio bool) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { log.Fatal(counting(dir).Serve(ctx, l)) }()
	cfg := config.Default()
	cfg.Listen.Address, cfg.Admin.Address = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Backends = []config.Backend{{Name: "counted", Target: l.Addr().String()}}
	cfg.Policy = &config.Policy{Default: "allow", Rules: []config.PolicyRule{{Name: "never", Then: "deny", When: `principal.subject == "never"`}}}
	if err := cfg.Validate(); err != nil {
		return err
	}
	a, err := app.New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if stdio {
		return a.Stdio(ctx, os.Stdin, os.Stdout)
	}
	return a.Run(ctx, func(url string) { fmt.Println(url) })
}

// counting returns a service with a tool, a prompt and a resource that write what is counted.
func counting(dir string) *capability.Server {
	var n atomic.Int64
	count := func() (string, error) {
		to := filepath.Join(dir, strconv.FormatInt(n.Add(1), 10))
		if err := os.Mkdir(to, 0o750); err != nil {
			return "", err
		}
		if err := coverage.WriteMetaDir(to); err != nil {
			return "", err
		}
		if err := coverage.WriteCountersDir(to); err != nil {
			return "", err
		}
		all := make([]byte, 4<<20)
		return "all is counted", os.WriteFile(filepath.Join(to, "stacks"), all[:runtime.Stack(all, true)], 0o600)
	}
	s := capability.New("counted", "1.0.0")
	type arguments struct {
		Text string `json:"text"`
	}
	capability.AddTool(s, "look", "Counts", func(context.Context, *capability.Call, arguments) (string, error) { return count() })
	capability.AddPrompt(s, &capability.Prompt{Name: "look"}, func(context.Context, *capability.Call, map[string]string) (string, error) { return count() })
	capability.AddResource(s, &capability.Resource{Uri: "count://look", Name: "look"},
		func(context.Context, *capability.Call, string) (string, error) { return count() })
	return s
}
