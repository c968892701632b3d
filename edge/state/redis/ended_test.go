package redis

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
)

// lateTimer is a context whose time is over, though it does not know yet.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return time.Now().Add(-time.Microsecond), true }

// A connection has its context's deadline and may time out first: that says nothing about the
// server.
func TestConnectionsDeadlineIsTheContexts(t *testing.T) {
	ctx := lateTimer{t.Context()}
	if err := unavailable(ctx, os.ErrDeadlineExceeded); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, state.ErrUnavailable) {
		t.Errorf("got %v, want the context's end", err)
	}
	if outage(ctx, os.ErrDeadlineExceeded, time.Millisecond) {
		t.Error("the server is blamed for a context that ended after 1 ms")
	}
	if !outage(ctx, os.ErrDeadlineExceeded, slow) || !outage(t.Context(), os.ErrDeadlineExceeded, time.Millisecond) {
		t.Error("a server that does not answer is not noticed")
	}
}
