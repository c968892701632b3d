package redis_test

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest"
	"github.com/mcpedge/mcpedge/tests/helpers/await"
	"github.com/mcpedge/mcpedge/tests/helpers/redisserver"
)

// A replica is promoted that lacks the last writes, and their author is gone too: who takes the call over gives no
// event id to another entry, though no replica remembers that the log was longer.
func TestInvariant2AnHeirAfterAFailoverGivesNoIDAgain(t *testing.T) {
	t.Parallel()
	anHeirAfterAFailover(t, false)
}

// The same when the author of what is lost had taken the call over itself: the two histories count alike.
func TestInvariant2TwoHeirsInTwoHistoriesGiveNoIDTwice(t *testing.T) {
	t.Parallel()
	anHeirAfterAFailover(t, true)
}

func anHeirAfterAFailover(t *testing.T, heirIsLost bool) {
	w := startTroubled(t)
	ctx := t.Context()
	second := redisserver.ForTest(t)
	link, promoted := startProxy(t, w.srv.Addr), connect(t, second.Addr)
	replicate(t, promoted, link.addr)
	must(t, w.append())
	await.Until(t, "the replica has the second event", func() bool {
		return promoted.XLen(ctx, "mcpedge:{s}:l:st").Val() == 2
	})
	link.refuse(true)
	which := w.call.ClaimTarget()
	// inherit takes the call over and ends it behind some entries.
	inherit := func(random uint32, texts string) *statetest.Writer {
		which.Random = random
		heir, err := statetest.Claim(ctx, w.b, which)
		must(t, err)
		var before []state.Entry
		for _, text := range strings.Fields(texts) {
			before = append(before, state.Entry{Kind: state.EntryNotice, Data: []byte(text)})
		}
		must(t, heir.Finish(ctx, []byte(`{}`), before...))
		return heir
	}
	var first *statetest.Writer
	if heirIsLost {
		first = inherit(1, "u v w")
	} else {
		for range 3 {
			must(t, w.append())
		}
	}
	seen := ids{t, map[string]string{}}
	seen.read(w.b, medium.Position{})
	w.srv.Kill()
	w.trip()
	must(t, promoted.Do(ctx, "replicaof", "no", "one").Err())
	w.p.pointAt(second.Addr)
	await.Until(t, "the promoted one is used", func() bool { return beat(t, w.b) == nil })
	inherit(2, "x y z")
	seen.read(w.b, medium.Position{})
	if !heirIsLost {
		return
	}
	// It was not lost after all: the end that came first to the promoted one stands.
	if v, err := first.Restore(ctx); v != medium.Superseded || err != nil {
		t.Errorf("verdict %d, %v, want superseded", v, err)
	}
	seen.read(w.b, medium.Position{})
}
