package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/freeport"
)

// TestAStartWithoutStateRefuses: a replica that starts while its state is away answers clients with 503 at once, so that a load balancer
// asks another one, and ends when it is stopped.
func TestAStartWithoutStateRefuses(t *testing.T) {
	free, err := freeport.Addr()
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default()
	cfg.Listen.Address, cfg.Admin.Address, cfg.Demo, cfg.Redis.URL = free, "127.0.0.1:0", true, "redis://127.0.0.1:1"
	a, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, func(string) { t.Error("it serves") }) }()
	await.Until(t, "the state to be missed", func() bool {
		err := a.Ready()
		return err != nil && strings.Contains(err.Error(), "the state cannot be reached")
	})
	for _, path := range []string{"/mcp", "/mcp/set", "/sse", "/"} {
		response, err := http.Post("http://"+cfg.Listen.Address+path, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)) // #nosec G107
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || !strings.Contains(string(body), "-31503") {
			t.Errorf("%s: %d %v %s", path, response.StatusCode, response.Header, body)
		}
	}
	cancel()
	if err := await.Receive(t, "the end", ended); err != nil {
		t.Error(err)
	}
}
