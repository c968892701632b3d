// Command guard is a hook that asks a guard over HTTP whether a request may be made: it posts {"tool", "arguments", "subject"}, and expects
// {"allow": true} or {"allow": false, "reason": "…"}.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os/signal"
	"syscall"

	"github.com/mcpedge/mcpedge/capability/hook"
)

// ask returns a function that asks the guard at a URL. Any other error than that of hook.Deny is a
// failure of the hook: the edge then applies its setting on-failure.
func ask(url string) func(context.Context, *hook.Call) error {
	return func(ctx context.Context, call *hook.Call) error {
		body, err := json.Marshal(map[string]any{
			"tool": call.GetTarget().GetName(), "subject": call.GetPrincipal().GetSubject(), "arguments": json.RawMessage(call.GetArgumentsJson()),
		})
		if err != nil {
			return err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }()
		var verdict struct {
			Allow  bool
			Reason string
		}
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("the guard answered %s", resp.Status)
		}
		if err := json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 64<<10)).Decode(&verdict); err != nil {
			return fmt.Errorf("the guard's answer: %w", err)
		}
		if !verdict.Allow {
			return hook.Deny(verdict.Reason)
		}
		return nil
	}
}

func main() {
	listen := flag.String("listen", "127.0.0.1:9001", "address")
	url := flag.String("guard", "http://127.0.0.1:8000/check", "URL of the guard")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := hook.Serve(ctx, *listen, hook.Hook{Request: ask(*url)}); err != nil {
		log.Fatal(err)
	}
}
