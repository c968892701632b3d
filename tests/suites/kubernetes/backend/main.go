// Command backend serves tools that tell which instance answered, and one that streams.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mcpedge/mcpedge/capability"
)

type none struct{}

type counting struct {
	Steps int `json:"steps" minimum:"1"`
}

func main() {
	listen := flag.String("listen", ":50051", "address")
	prefix := flag.String("prefix", "", "before the names of the tools")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", *listen)
	if err == nil {
		err = serve(ctx, l, *prefix)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, l net.Listener, prefix string) error {
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	s := capability.New("backend", "1.0.0")
	capability.AddTool(s, prefix+"where", "Says which instance answers", func(context.Context, *capability.Call, none) (string, error) {
		return host, nil
	}, capability.ReadOnly())
	capability.AddTool(s, prefix+"count", "Counts, ten steps in a second", func(ctx context.Context, c *capability.Call, in counting) (string, error) {
		t := time.NewTicker(100 * time.Millisecond)
		defer t.Stop()
		for n := 1; n <= in.Steps; n++ {
			select {
			case <-t.C:
			case <-ctx.Done():
				return "", ctx.Err()
			}
			c.Progress(float64(n), float64(in.Steps), "")
		}
		return fmt.Sprintf("counted %d", in.Steps), nil
	}, capability.ReadOnly())
	return s.Serve(ctx, l)
}
