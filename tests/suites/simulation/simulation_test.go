package simulation

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

var tracing = flag.Bool("simulation.trace", false, "tell what happened in a history that fails")

var pauses = [8]time.Duration{time.Millisecond, time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond,
	200 * time.Millisecond, 600 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second}

// draw makes a history: who takes part, what is called, and which faults come.
func (w *world) draw() {
	w.judge.init(w)
	w.config = &call.Config{MaxAttempts: 2, Render: func(c *medium.Record, f call.Failure, _ error) []byte {
		return fmt.Appendf(nil, "failure %d of %s/%d/%d", f, c.ID, c.Round, c.Attempt)
	}}
	w.medium = newMedium(w)
	w.lossy = w.maybe(2)
	for slot := range 2 + w.pick(2) {
		w.boot(slot)
	}
	for i := range 1 + w.pick(3) {
		c := &request{w: w, id: fmt.Sprint("c", i), safe: w.maybe(1), session: sessions[w.pick(2)], primes: w.maybe(1), given: map[string]*given{}}
		for {
			r := round{last: pauses[w.pick(8)], end: call.Final}
			for range w.pick(4) {
				r.pauses = append(r.pauses, pauses[w.pick(8)])
			}
			if n := len(r.pauses); n > 0 && w.maybe(2) {
				r.checkpoint = 1 + w.pick(n)
			}
			if len(c.plan) < 3 {
				switch w.pick(4) {
				case 1, 2:
					r.end, r.asks = call.Asks, 1+w.pick(2)
				case 3:
					r.end = call.Busy
				}
			}
			c.plan = append(c.plan, r)
			if r.end == call.Final {
				break
			}
		}
		w.requests = append(w.requests, c)
		w.at(time.Duration(w.pick(16))*250*time.Millisecond, 50, c.send)
	}
	if w.maybe(2) {
		id := sessions[w.pick(2)]
		w.at(time.Duration(w.pick(16))*500*time.Millisecond, clientDeletes, func() { w.deleteSession(id) })
		for _, r := range w.replicas {
			r.revalidate()
		}
		w.deletes = true
	}
	rewinds := w.maybe(1)
	w.silent = w.maybe(2)
	w.refuses = w.maybe(2)
	for range w.pick(8) {
		w.at(time.Duration(w.pick(16))*500*time.Millisecond+delays[w.pick(8)]*time.Millisecond, 51, w.fault(w.pick(8), rewinds))
	}
}

// fault is one fault, drawn when it happens.
func (w *world) fault(kind int, rewinds bool) func() {
	switch kind {
	case 0, 1:
		return func() { // a client loses its connection
			if c := w.requests[w.pick(len(w.requests))]; c.conn != nil {
				c.conn.broken()
			}
		}
	case 2:
		return func() {
			if c := w.requests[w.pick(len(w.requests))]; w.maybe(1) {
				c.cancel()
			}
		}
	case 3:
		return func() { w.stop(false) }
	case 4:
		return func() { w.stop(w.maybe(1)) }
	case 5:
		return func() { // a replica stands still
			r := w.replicas[w.pick(len(w.replicas))]
			w.stops++
			r.paused = w.now + time.Duration(1+w.pick(8))*time.Second
			w.logf("r%d stands still until %v", r.id, r.paused)
		}
	case 6:
		if !rewinds {
			return func() { // the store is away for a while
				w.outages++
				w.away(time.Duration(w.pick(8)) * 300 * time.Millisecond)
			}
		}
	}
	if !rewinds {
		return func() {}
	}
	return func() {
		k := 1 + w.pick(8)
		w.rewinds++
		w.rewound = w.now
		w.logf("the store loses %d writes", k)
		w.medium.Rewind(k)
		w.away(time.Duration(w.pick(4)) * 100 * time.Millisecond)
	}
}

// away makes the store unreachable; when it is back, every replica hears of it sooner or later.
func (w *world) away(d time.Duration) {
	w.medium.Away(true)
	w.at(d, 52, func() {
		w.medium.Away(false)
		w.mix(52)
		if w.silent {
			return
		}
		for _, r := range w.replicas {
			r.after(w.delay()*2, 53, r.storeWasAway)
		}
	})
}

// stop ends a replica and starts another in its place.
func (w *world) stop(inOrder bool) {
	slot := w.pick(len(w.replicas))
	r := w.replicas[slot]
	if !r.alive || r.closed {
		return
	}
	w.stops++
	w.logf("r%d stops, in order %v", r.id, inOrder)
	r.stop(inOrder)
	w.at(time.Duration(1+w.pick(4))*time.Second, 54, func() { w.boot(slot) })
}

// play draws a history and runs it, in a bubble of virtual time.
func play(t *testing.T, rt *rapid.T, b bug, traced bool) *world {
	w := &world{
		t: rt, hash: 14695981039346656037, bug: b, tracing: traced, refusals: map[*medium.Write]error{}, deletions: map[string]*deletion{},
	}
	var thrown any
	synctest.Test(t, func(*testing.T) {
		w.start, w.arrived = time.Now(), make(chan struct{}, 1)
		defer w.close()
		defer func() { thrown = recover() }() // rapid ends a draw so.
		w.draw()
		w.run()
		w.judge.end()
	})
	if thrown != nil {
		panic(thrown)
	}
	return w
}

func (w *world) wrong() string { return strings.Join(w.judge.failures, "\n") }

func TestSimulation(t *testing.T) {
	began, histories, events := time.Now(), 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := play(t, rt, noBug, *tracing)
		if wrong := w.wrong(); wrong != "" {
			rt.Fatalf("%s\n%s", wrong, strings.Join(w.trace, "\n"))
		}
		histories++
		events += w.events
	})
	d := time.Since(began).Seconds()
	t.Logf("%d histories of %d events, %.0f histories and %.0f events a second", histories, events/max(histories, 1), float64(histories)/d, float64(events)/d)
}

// outcome is what a history comes to.
type outcome struct {
	hash  uint64
	wrong string
}

// histories are those with a bug, by seed.
func histories(t *testing.T, b bug) *rapid.Generator[outcome] {
	return rapid.Custom(func(rt *rapid.T) outcome {
		w := play(t, rt, b, false)
		return outcome{w.hash, w.wrong()}
	})
}

// One seed is one history.
func TestOneSeedIsOneHistory(t *testing.T) {
	all := histories(t, noBug)
	seen := map[uint64]bool{}
	for seed := range 200 {
		first, second := all.Example(seed), all.Example(seed)
		if first != second {
			t.Fatalf("seed %d gives %x and %x", seed, first.hash, second.hash)
		}
		seen[first.hash] = true
	}
	if len(seen) < 190 {
		t.Errorf("200 seeds give %d histories", len(seen))
	}
}

// Histories by their seeds, as many as -simulation.histories says.
func TestSeeds(t *testing.T) {
	all := histories(t, noBug)
	began := time.Now()
	for seed := *from; seed < *from+*most; seed++ {
		if wrong := all.Example(seed).wrong; wrong != "" {
			t.Errorf("-simulation.seed=%d: %s", seed, wrong)
		}
	}
	t.Logf("%d histories in %v", *most, time.Since(began).Round(time.Millisecond))
}

var (
	from  = flag.Int("simulation.from", 1, "the first seed of TestSeeds")
	plant = flag.Bool("simulation.bugs", false, "look for planted bugs")
	most  = flag.Int("simulation.histories", 1000, "how many seeds TestSeeds plays")
)

// The simulation finds bugs: each is planted alone.
func TestPlantedBugsAreFound(t *testing.T) {
	if !*plant {
		t.Skip("without -simulation.bugs, as of make stages ONLY=simulate: all of them take a minute, and more with the race detector")
	}
	for b := noBug + 1; b < bugCount; b++ {
		t.Run(strings.ReplaceAll(bugNames[b], " ", "_"), func(t *testing.T) {
			t.Parallel()
			all, began := histories(t, b), time.Now()
			for seed := 1; seed <= mostHistories; seed++ {
				if wrong := all.Example(seed).wrong; wrong != "" {
					first, _, _ := strings.Cut(wrong, "\n")
					t.Logf("history %d, %s: %s", seed, time.Since(began).Round(time.Millisecond), first)
					return
				}
			}
			t.Errorf("not found in %d histories", mostHistories)
		})
	}
}

// mostHistories bounds the search for one bug, to half a minute.
const mostHistories = 20_000

var seed = flag.Int("simulation.seed", 0, "tell what happens in the history of this seed")

// What happened in one history, for who looks into it.
func TestPrintOneHistory(t *testing.T) {
	if *seed == 0 {
		t.Skip("no -simulation.seed")
	}
	rapid.Custom(func(rt *rapid.T) int {
		w := play(t, rt, noBug, true)
		t.Logf("%s\n%s", strings.Join(w.trace, "\n"), w.wrong())
		return 0
	}).Example(*seed)
}
