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

// Snapshot returns the lists of the backends that a caller sees now at the endpoint of a set, and
// the number of entries that the policy hides. An empty set means the root with root: all. It fails
// if a list of a backend cannot be read, or if the caller may not use the set.
func Snapshot(ctx context.Context, cfg config.Config, set string, who *mcp.Principal) (now *snapshot.Snapshot, hidden int, err error) {
	p, err := cfg.CompilePolicy()
	if err != nil {
		return nil, 0, err
	}
	var in explainedSet
	if set != "" {
		if in, err = setOf(&cfg, p, who, set); err != nil {
			return nil, 0, err
		}
	}
	if in.refusal != "" {
		return nil, 0, fmt.Errorf("the caller cannot use the set %q, so there is nothing to see: %s", set, in.refusal)
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
	now, hidden = catalog.Snapshot(pool, cfg.Overlay(), in.set, control.InForce(), who)
	return now, hidden, nil
}
