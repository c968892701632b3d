package runtime

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

type counted struct {
	from, n int
}

// counter is a machine that records the order of its events and detects concurrent use.
type counter struct {
	box inbox[counted, counted]
	// busy is written without a lock by both step and do: -race reports concurrent use.
	busy  int
	last  map[int]int
	seen  int
	echo  int
	wrong []counted
}

func (c *counter) step(e counted, effects []counted) []counted {
	c.busy++
	if e.n != c.last[e.from]+1 {
		c.wrong = append(c.wrong, e)
	}
	c.last[e.from] = e.n
	c.seen++
	return append(effects, e)
}

func (c *counter) do(e *counted) {
	c.busy++
	if e.from != 0 && e.n%5 == 0 { // The machine posts to itself.
		c.echo++
		c.box.post(c, counted{0, c.echo})
	}
}

// Events of many concurrent goroutines are taken once each, in the order of each poster, and never
// two at a time.
func TestInboxIsInOrder(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			c := &counter{last: map[int]int{}}
			var wg sync.WaitGroup
			for from := 1; from <= 8; from++ {
				wg.Go(func() {
					for n := 1; n <= 100; n++ {
						c.box.post(c, counted{from, n})
						if n%7 == from {
							time.Sleep(time.Duration(from) * time.Millisecond)
						}
					}
				})
			}
			wg.Wait()
			c.box.inspect(func() {
				if len(c.wrong) > 0 || c.seen != 8*100+8*20 || c.box.draining || len(c.box.queue) > 0 {
					t.Errorf("%d events seen, %d left, out of order: %v", c.seen, len(c.box.queue), c.wrong)
				}
			})
		})
	}
}

// An event for all calls of an exchange is taken by all before its effects are carried out. So all calls are
// started before one of them begins the exchange's records.
func TestAllCallsTakeAnEventBeforeItsEffects(t *testing.T) {
	r := New(func(h medium.Hooks) medium.Store { return (&model.Medium{}).Replica(h) }, Options{Call: &call.Config{}})
	defer r.Close()
	g := new(Group)
	r.Init(g, 3)
	for _, id := range []string{"a", "b", "c"} {
		rec := &medium.Record{Session: session}
		rec.ID = id
		g.Add(t.Context(), rec, noRunner{})
	}
	var runs []string
	for _, f := range g.step(event{to: toAll, call: call.Event{Kind: call.Started}}, nil) {
		if f.Kind == call.Run {
			runs = append(runs, f.Record.ID)
		}
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(runs, want) {
		t.Errorf("the calls that one event runs are %q, want %q", runs, want)
	}
}
