package redis_test

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
)

// A call that another release recorded is refused with an error that names its layout and this
// one's; the session stays usable.
func TestCallsInAnotherLayoutAreRefused(t *testing.T) {
	t.Parallel()
	c := connect(t, startServer(t))
	r, ctx := start(t, c, redis.Options{}), t.Context()
	refused := func(what string, err error) {
		t.Helper()
		if want(t, state.ErrNotFound, err); !strings.Contains(err.Error(), "recorded in layout 2,") || !strings.Contains(err.Error(), "this one in layout 1:") {
			t.Errorf("%s: error %v, want one that names both layouts", what, err)
		}
	}
	must(t, r.Create(ctx, record("s")))
	w := begin(t, r, "s", "st", "c")
	must(t, c.HSet(ctx, "mcpedge:{s}:c:c", "v", "2").Err())
	refused("Commit", w.Append(ctx, state.Entry{Kind: state.EntryLog, Data: []byte("{}")}))
	_, err := r.Claim(ctx, w.ClaimTarget())
	refused("Claim", err)
	_, err = r.Claim(ctx, medium.ClaimTarget{Session: "s", RequestID: `"c"`})
	refused("Claim of a request", err)
	_, err = w.Restore(ctx)
	refused("Restore", err)

	begin(t, r, "s", "st2", "c2")
	must(t, statetest.Conclude(ctx, r, "s", "st3", call("c3"), []byte("{}")))
}
