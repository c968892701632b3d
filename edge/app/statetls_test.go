package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// TestUnreadyStateSaysThatTLSDoesNotFit: if the URL of Redis requests TLS from a server without it,
// the reason for being unready says so.
func TestUnreadyStateSaysThatTLSDoesNotFit(t *testing.T) {
	cfg := config.Default()
	cfg.Listen.Address, cfg.Admin.Address, cfg.Demo = "127.0.0.1:0", "127.0.0.1:0", true
	cfg.Redis.URL = "rediss://" + redisserver.ForTest(t).Addr
	a, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx, func(string) {}) }()
	await.Until(t, "the reason to say that TLS does not fit", func() bool {
		err := a.Ready()
		return err != nil && strings.Contains(err.Error(), "TLS does not fit: ") && strings.HasSuffix(err.Error(), "begin the URL with redis://")
	})
	cancel()
	if err := await.Receive(t, "the end", ended); err != nil {
		t.Error(err)
	}
}
