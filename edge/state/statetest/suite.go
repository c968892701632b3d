// Package statetest is the test suite of every medium of edge/state: tests named after the
// invariants of the durable state, and random operations that compare a medium with the model. They
// drive two or more replicas on one medium.
package statetest

import (
	"slices"
	"testing"
	"time"

	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Medium is the medium under test.
type Medium interface {
	// Store starts a new incarnation of a replica. It sends a heartbeat only when the test calls
	// Beat, and is released with the medium.
	Store(t *testing.T, id string, h medium.Hooks) medium.Store
	// Advance advances the medium's clock by d; a medium with its own clock waits. The clock starts
	// at the real time.
	Advance(t *testing.T, d time.Duration)
	// Snapshot copies what the medium has of a session; back restores that copy, like a failover
	// that loses writes.
	Snapshot(t *testing.T, session string) (back func())
}

// Sealing is a Medium that seals what it stores.
type Sealing interface {
	// SealBytes returns what an entry, or a state, counts beside its data.
	SealBytes() int
}

// short is a lifetime that tests exceed with Advance.
const short = 400 * time.Millisecond

// Run runs the suite. newMedium makes an empty medium with these limits, which ends with t.
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
					if m, ok := w.m.(Sealing); ok {
						w.seal = m.SealBytes()
					}
					w.a, w.b = w.replica("a"), w.replica("b")
					x.run(w)
				})
			}
		})
	}
}

// test is one test of the suite with the limits that it needs; zeros mean the defaults.
type test struct {
	name   string
	limits state.Limits
	run    func(*world)
}
