package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mcpedge/mcpedge/edge/access"
	"github.com/mcpedge/mcpedge/edge/catalog"
	"github.com/mcpedge/mcpedge/edge/catalog/snapshot"
	"github.com/mcpedge/mcpedge/edge/config"
	"github.com/mcpedge/mcpedge/edge/mcp"
)

// Snapshot returns what a caller would see of the backends now, and how many entries the policy hides
// from it. It fails if a backend could not be asked for all of its lists.
func Snapshot(ctx context.Context, cfg config.Config, who *mcp.Principal) (now *snapshot.Snapshot, hidden int, err error) {
	p, err := cfg.CompilePolicy()
	if err != nil {
		return nil, 0, err
	}
	pool, missing, err := askBackends(ctx, cfg)
	if err != nil {
		return nil, 0, err
	}
	defer pool.Close()
	var errs []error
	for _, m := range missing {
		errs = append(errs, fmt.Errorf("the backend %q could not be asked for %s: %s", m.backend, m.what, m.why))
	}
	if len(errs) > 0 {
		return nil, 0, errors.Join(errs...)
	}
	control := access.New(access.Options{Policy: p, Logger: slog.New(slog.DiscardHandler)})
	now, hidden = catalog.Snapshot(pool, cfg.Overlay(), control.InForce(), who)
	return now, hidden, nil
}
