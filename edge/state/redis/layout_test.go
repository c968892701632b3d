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
	refused := func(what, layout string, err error) {
		t.Helper()
		if want(t, state.ErrNotFound, err); !strings.Contains(err.Error(), "recorded in layout "+layout+",") || !strings.Contains(err.Error(), "this one in layout 2:") {
			t.Errorf("%s: error %v, want one that names both layouts", what, err)
		}
	}
	must(t, r.Create(ctx, record("s")))
	// As the release before has them.
	must(t, c.HSet(ctx, "mcpedge:{s}:m", "s:old", "packed", "c:oldcall", "old", "r:1", "oldcall", "q:7", "1 oldcall").Err())
	_, err := r.Read(ctx, "s", "old", medium.Position{}, 0)
	refused("Read", "1", err)
	_, err = r.Claim(ctx, medium.Which{Session: "s", Call: "oldcall"})
	refused("Claim", "1", err)
	_, err = r.Claim(ctx, medium.Which{Session: "s", RequestID: "1"})
	refused("Claim of a request", "1", err)
	_, _, err = r.Answer(ctx, "s", "7", state.Answer{Result: []byte("{}")}, 1)
	refused("Answer", "1", err)

	// As one to come may.
	w := begin(t, r, "s", "st", "c")
	must(t, c.HSet(ctx, "mcpedge:{s}:2c:c", "v", "3").Err())
	refused("Commit", "3", w.Append(ctx, state.Entry{Kind: state.EntryLog, Data: []byte("{}")}))
	_, err = r.Claim(ctx, w.Which())
	refused("Claim", "3", err)
	_, err = w.Restore(ctx)
	refused("Restore", "3", err)

	begin(t, r, "s", "st2", "c2")
	must(t, statetest.Conclude(ctx, r, "s", "st3", call("c3"), []byte("{}")))
}
