package redis_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/redis"
	"github.com/mcpedge/mcpedge/edge/telemetry"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// TestSweepsPassUnreadableRecords: the calls of a lost replica are found, although a session with
// damaged keys is among theirs, which is followed, too. It is logged once.
func TestSweepsPassUnreadableRecords(t *testing.T) {
	t.Parallel()
	var log lines
	c := connect(t, redisserver.ForTest(t).Addr)
	limits := state.Limits{Lease: 500 * time.Millisecond}
	a := start(t, c, redis.Options{Limits: limits})
	b := start(t, c, redis.Options{Limits: limits, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, id := range []string{"bad", "good", "other"} {
		must(t, a.Create(t.Context(), record(id)))
		begin(t, a, id, "st", "c of "+id)
	}
	must(t, c.HDel(t.Context(), "mcpedge:{bad}:c:c of bad", "dl").Err())
	must(t, c.Set(t.Context(), "mcpedge:{bad}:f", "damaged", 0).Err())
	defer b.Follow("bad", "st", func() {})()
	await.Until(t, "the readable calls to be orphans", func() bool {
		orphans, _ := b.Beat(t.Context(), 10, false)
		found := func(call string) bool {
			return slices.ContainsFunc(orphans, func(o medium.ClaimTarget) bool { return o.Call == call && o.Lapsed })
		}
		return found("c of good") && found("c of other")
	})
	for range 3 {
		_, err := b.Beat(t.Context(), 10, false)
		must(t, err)
	}
	if n := log.count("session=" + telemetry.SessionPrint("bad")); n != 1 {
		t.Errorf("the record was logged %d times:\n%s", n, &log)
	}
}
