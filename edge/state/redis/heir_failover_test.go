package redis_test

import (
	"strings"
	"testing"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/tests/await"
	"github.com/mcpedge/mcpedge/tests/redisserver"
)

// A replica is promoted that lacks the last writes, and their author is gone too: who takes the call over gives no
// event id to another entry, though nobody is left to tell that the log was longer.
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
	// inherit takes the call over and ends it behind some entries.
	inherit := func(texts string) {
		claim, err := w.b.Claim(ctx, state.Which{Session: "s", Call: "c", Epoch: w.lease.Epoch})
		must(t, err)
		var before []state.Entry
		for _, text := range strings.Fields(texts) {
			before = append(before, state.Entry{Kind: state.EntryNotice, Data: []byte(text)})
		}
		must(t, w.b.Finish(ctx, state.Write{Lease: claim.Lease, N: 1}, []byte(`{}`), before...))
	}
	if heirIsLost {
		inherit("u v w")
	} else {
		for range 3 {
			must(t, w.append())
		}
	}
	seen := map[string]string{}
	read := func() {
		p, err := w.b.Read(ctx, "s", state.Position{Stream: "st"}, 0)
		must(t, err)
		for _, e := range p.Entries {
			id := state.Position{Stream: "st", Epoch: p.Epoch, Seq: e.Seq}.String()
			if was, ok := seen[id]; ok && was != string(e.Data) {
				t.Errorf("the event id %s stood for %s and stands for %s", id, was, e.Data)
			}
			seen[id] = string(e.Data)
		}
	}
	read()
	w.srv.Kill()
	w.trip()
	must(t, promoted.Do(ctx, "replicaof", "no", "one").Err())
	w.p.pointAt(second.Addr)
	await.Until(t, "the promoted one is used", func() bool { return w.b.Beat(ctx) == nil })
	inherit("x y z")
	read()
}
