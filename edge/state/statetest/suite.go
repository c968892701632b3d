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

// short is a lifetime, in the limits of tests, that they exceed with Advance. In a test it is
// world.short, which is longer where the medium has its own clock and the machine is slow, so that
// nothing ends before the test has used it.
const short = 400 * time.Millisecond

// scaled returns limits in which is is what short is in l.
func scaled(l state.Limits, is time.Duration) state.Limits {
	for _, d := range []*time.Duration{&l.SessionTTL, &l.LogTTL, &l.Lease} {
		*d = *d * (is / time.Millisecond) / (short / time.Millisecond)
	}
	return l
}

// shortNow returns a lifetime in which a machine that is as slow as at the moment can use what lives for so long.
func shortNow(t *testing.T, m Medium) time.Duration {
	began := time.Now()
	w := &world{T: t, m: m}
	w.a, w.b = w.replica("a"), w.replica("b")
	w.three().finish()
	w.all(w.b, "s", "st")
	return min(max(short, 5*time.Since(began)).Round(time.Millisecond), patience/10)
}

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
		{"summaries", summaries},
		{"lost replies", again},
		{"races", races},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, x := range c.tests {
				t.Run(x.name, func(t *testing.T) {
					lives := shortNow(t, newMedium(t, state.Limits{}))
					w := &world{T: t, m: newMedium(t, scaled(x.limits, lives)), short: lives}
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
