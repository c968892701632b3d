// Package statetest is the suite that every medium of edge/state passes: tests named after the invariants of the durable
// state, and drawn operations that hold a medium against the model. They drive two or more replicas on one medium.
package statetest

import (
	"slices"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Medium is what the suite needs of a medium under test.
type Medium interface {
	// Store starts a new incarnation of a replica. It beats only when the test calls Beat, and what it holds is
	// released with the medium.
	Store(t *testing.T, id string, h medium.Hooks) medium.Store
	// Advance lets d pass on the medium's clock: a medium with a clock of its own waits. The clock
	// begins at the real time.
	Advance(t *testing.T, d time.Duration)
	// Snapshot copies what the medium has of a session; back puts that copy in the place of what it has then, as a failover does
	// that loses writes.
	Snapshot(t *testing.T, session string) (back func())
}

// short is a life that tests outlive with Advance.
const short = 400 * time.Millisecond

// Run runs the suite. newMedium makes an empty medium that ends with t, with these limits.
func Run(t *testing.T, newMedium func(t *testing.T, l state.Limits) Medium) {
	for _, c := range []struct {
		name  string
		tests []test
	}{
		{"Invariant 1 anywhere", anywhere},
		{"Invariant 2 log before wire", slices.Concat(logBeforeWire, rewinds)},
		{"Invariant 3 one response", slices.Concat(oneResponse, concluded)},
		{"Invariant 4 fenced", fenced},
		{"Invariant 5 asking and answering are atomic", asking},
		{"Invariant 6 holders and session events", sessionEvents},
		{"Invariant 7 bounded", slices.Concat(bounded, room, owned, charged)},
		{"Invariant 8 no stranger", noStranger},
		{"Invariant 9 no leak", noLeak},
		{"directory", directory},
		{"glances", glances},
		{"lost replies", again},
		{"races", races},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, x := range c.tests {
				t.Run(x.name, func(t *testing.T) {
					w := &world{T: t, m: newMedium(t, x.limits)}
					w.a, w.b = w.replica("a"), w.replica("b")
					x.run(w)
				})
			}
		})
	}
}

// test is one test of the suite, with the limits it needs; zeros are the defaults.
type test struct {
	name   string
	limits state.Limits
	run    func(*world)
}
