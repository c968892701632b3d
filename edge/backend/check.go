package backend

import (
	"context"
	"io"
)

// Check dials.
func Check(ctx context.Context, cfg Config, w io.Writer) error { return nil }
