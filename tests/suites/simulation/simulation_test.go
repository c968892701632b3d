package simulation

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/state/medium"
)

var tracing = flag.Bool("simulation.trace", false, "tell what happened in a history that fails")

// TestMain lets the heap grow: it is small, and collecting it took a fifth of the time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// play draws a history and runs it, in a bubble of virtual time.
func play(t *testing.T, rt *rapid.T, k kind, b bug, traced bool) *world {
	return playAs(t, rt, k, b, traced, (*world).draw)
}

// playAs runs a history that script makes.
func playAs(t *testing.T, rt *rapid.T, k kind, b bug, traced bool, script func(*world)) *world {
	w := &world{
		t: rt, kind: k, hash: 14695981039346656037, bug: b, tracing: traced,
		refusals: refusals{map[*medium.Write]error{}, map[step]error{}}, deletions: map[string]*deletion{}, lostSessions: map[string]bool{},
	}
	var thrown any
	synctest.Test(t, func(*testing.T) {
		w.start, w.arrived = time.Now(), make(chan struct{}, 1)
		defer w.close()
		defer func() { thrown = recover() }() // rapid ends a draw so.
		w.prepare()
		script(w)
		w.run()
		w.judge.end()
	})
	if thrown != nil {
		panic(thrown)
	}
	return w
}

func (w *world) wrong() string {
	if len(w.judge.failures) == 0 {
		return ""
	}
	return fmt.Sprintf("%s\n(%d replicas stopped, %d drained, %d outages, %d rewinds, silent %v, lossy %v)",
		strings.Join(w.judge.failures, "\n"), w.stops, w.drains, w.outages, w.rewinds, w.silent, w.lossy)
}

func TestSimulation(t *testing.T) {
	began, histories, events := time.Now(), 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		w := play(t, rt, drawKind(rt), noBug, *tracing)
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

// drawKind draws what the clients of a history do: half of them call, a quarter in batches, and a quarter as tasks.
func drawKind(rt *rapid.T) kind {
	switch {
	case *only >= 0:
		return kind(*only)
	case flip.Draw(rt, ""):
		return ofCalls
	case flip.Draw(rt, ""):
		return ofBatches
	}
	return ofTasks
}

// histories are those with a bug, by seed.
func histories(t *testing.T, b bug) *rapid.Generator[outcome] {
	return rapid.Custom(func(rt *rapid.T) outcome {
		k := kindOf(b)
		if b == noBug {
			k = drawKind(rt)
		}
		w := play(t, rt, k, b, false)
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

var (
	seed    = flag.Int("simulation.seed", 0, "tell what happens in the history of this seed")
	planted = flag.Int("simulation.bug", 0, "with this bug, by its number")
	only    = flag.Int("simulation.kind", -1, "play only histories of calls (0), batches (1) or tasks (2)")
)

// What happened in one history, for who looks into it.
func TestPrintOneHistory(t *testing.T) {
	if *seed == 0 {
		t.Skip("no -simulation.seed")
	}
	rapid.Custom(func(rt *rapid.T) int {
		b := bug(*planted)
		k := kindOf(b)
		if b == noBug {
			k = drawKind(rt)
		}
		w := play(t, rt, k, b, true)
		t.Logf("%s\n%s", strings.Join(w.trace, "\n"), w.wrong())
		return 0
	}).Example(*seed)
}
