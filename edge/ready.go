package main

import (
	"context"
	"os"
	"time"

	"github.com/mcpedge/mcpedge/edge/admin"
	"github.com/mcpedge/mcpedge/edge/config"
)

// readyWithin bounds how long `mcpedge ready` waits for an answer.
const readyWithin = 3 * time.Second

// ready requests the readiness of a running edge at the admin address of the settings. It is the
// health check of images that have no shell.
func ready(ctx context.Context, args []string) error {
	cfg, err := config.Load(config.Ready, args, os.LookupEnv, os.Stderr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	return admin.Ask(ctx, cfg.Admin.Address, cfg.Admin.TLS.Enabled())
}
