package simulation

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"sync"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

const (
	// faultsEnd is when the last fault begins; lifetime a call's; end when the history does.
	faultsEnd = 12 * time.Second
	// lossEnd is when messages are lost no more.
	lossEnd  = 20 * time.Second
	lifetime = 60 * time.Second
	end      = 90 * time.Second
	// heartbeat is a prime number of milliseconds, so that no tick meets another timer that began with an earlier one.
	heartbeat = 1009 * time.Millisecond
	// opTimeout is when a replica gives up an operation whose request or reply was lost: shortly before state.Timeout.
	opTimeout = 1990 * time.Millisecond
)

// happening is something that happens at a time.
type happening struct {
	at   time.Duration
	seq  int
	what uint64
	do   func()
}

type happenings []*happening

func (h happenings) Len() int { return len(h) }
func (h happenings) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h happenings) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *happenings) Push(x any)   { *h = append(*h, x.(*happening)) }
func (h *happenings) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}

// arrival is what a goroutine of a replica brings to the world: an operation on the store, a round for the backend, or data for a
// client. The members before do order the arrivals of one instant, whichever goroutine was first.
type arrival struct {
	replica int
	what    uint64
	name    string
	n, m    uint64
	do      func()
}

func (a *arrival) compare(b *arrival) int {
	return cmp.Or(cmp.Compare(a.replica, b.replica), cmp.Compare(a.what, b.what), cmp.Compare(a.name, b.name), cmp.Compare(a.n, b.n), cmp.Compare(a.m, b.m))
}

// world is one history. It belongs to the goroutine of run, but for arrivals.
type world struct {
	t     *rapid.T
	start time.Time
	now   time.Duration
	heap  happenings
	seq   int

	mu       sync.Mutex
	arrivals []arrival
	// arrived has an element if there are arrivals.
	arrived chan struct{}
	// closers are the goroutines that close replicas.
	closers sync.WaitGroup

	hash   uint64
	events int
	// over: the history has ended, and nothing is drawn any more.
	over bool

	// kind is what the clients do.
	kind kind
	// lifetime is that of tasks; expires: the store deletes them some time after their end.
	lifetime time.Duration
	expires  bool
	medium   *model.Medium
	replicas []*replica // the present incarnation of each
	all      []*replica
	// requests are the calls of exchanges.
	requests  []*request
	exchanges []*exchange
	tasks     []*taskClient
	// deletions are the DELETEs of sessions, by their ids.
	deletions map[string]*deletion
	// lostSessions says of each session that had calls when the store went back last whether the store lost it with them.
	lostSessions map[string]bool
	// deletes: there is a DELETE, so that replicas look whether sessions exist.
	deletes bool
	config  *call.Config
	lossy   bool
	// silent: nobody is told that the store was away.
	silent bool
	// refuses: the store refuses some steps for what they say.
	refuses  bool
	refusals refusals
	// idle is since when nobody waits for anything or runs anything.
	idle time.Duration
	// rewinds, stops (kills, pauses, drains that did not end in time, and lost writes of replicas that had ended), outages and drains that
	// have happened.
	rewinds, stops, outages, drains int
	// rewound is when the store went back last.
	rewound time.Duration
	bug     bug
	judge   judge
	trace   []string
	tracing bool
}

var flip = rapid.Bool()

// maybe is true once in 2 to the power of n.
func (w *world) maybe(n int) bool {
	for range n {
		if !flip.Draw(w.t, "") {
			return false
		}
	}
	return true
}

// pick draws a number below n, which is at most 16.
func (w *world) pick(n int) int {
	v := 0
	for b := 1; b < n; b *= 2 {
		v *= 2
		if flip.Draw(w.t, "") {
			v++
		}
	}
	return v % n
}

// delays are what a message may take.
var delays = [8]time.Duration{1, 2, 3, 5, 10, 30, 100, 400}

func (w *world) delay() time.Duration { return delays[w.pick(8)] * time.Millisecond }

// draw32 draws random bits for an epoch or a token: never the same twice.
func (w *world) draw32() uint32 {
	w.seq++
	return uint32(w.seq)*2654435761 + 1 // #nosec G115 -- a hash
}

// at makes something happen later, at an instant of its own: nothing else happens there, and no timer of a replica fires, as these
// wait whole milliseconds from such an instant.
func (w *world) at(d time.Duration, what uint64, do func()) {
	w.seq++
	at := (w.now + max(d, time.Millisecond)).Truncate(time.Millisecond) + time.Duration(w.seq%1_000_000)
	if at <= w.now {
		at += time.Millisecond
	}
	heap.Push(&w.heap, &happening{at: at, seq: w.seq, what: what, do: do})
}

// arrive adds an arrival. It is for goroutines of replicas.
func (w *world) arrive(a arrival) {
	w.mu.Lock()
	w.arrivals = append(w.arrivals, a)
	w.mu.Unlock()
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// settle waits until every goroutine waits, and takes what they bring, in an order that does not depend on theirs.
func (w *world) settle() {
	for {
		synctest.Wait()
		w.mu.Lock()
		arrivals := w.arrivals
		w.arrivals = nil
		w.mu.Unlock()
		if len(arrivals) == 0 {
			return
		}
		w.now = time.Since(w.start)
		if len(arrivals) > 1 {
			slices.SortStableFunc(arrivals, func(a, b arrival) int { return a.compare(&b) })
		}
		for i := range arrivals {
			a := &arrivals[i]
			w.mix(a.what<<8 + uint64(a.replica)) // #nosec G115 -- small
			a.do()
		}
	}
}

// run runs the history to its end.
func (w *world) run() {
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	w.at(end, 0, func() {}) // The timers of replicas run until then, whatever else happens.
	for w.settle(); w.now < end; {
		t.Reset(w.heap[0].at - time.Since(w.start))
		select {
		case <-w.arrived:
			w.settle()
			continue
		case <-t.C:
		}
		h := heap.Pop(&w.heap).(*happening)
		w.now = h.at
		w.mix(uint64(h.at)) // #nosec G115 -- not negative
		w.mix(h.what)
		w.events++
		h.do()
		w.settle()
		if w.settled() {
			return
		}
	}
}

// close ends all replicas.
func (w *world) close() {
	w.over = true
	for _, r := range w.all {
		r.die()
	}
	w.closers.Wait()
}

// settled: all calls have ended, and so have their clients.
func (w *world) settled() bool {
	if w.now < faultsEnd {
		return false
	}
	for _, x := range w.exchanges {
		if !x.done {
			return false
		}
	}
	for _, k := range w.tasks {
		if !k.done {
			return false
		}
	}
	for _, r := range w.replicas {
		if r.alive && (r.runtime != nil && len(r.runtime.IDs()) > 0 || r.tasks != nil && r.tasks.Unended() > 0) {
			w.idle = 0
			return false
		}
	}
	if w.idle == 0 {
		w.idle = w.now
	}
	return !w.judge.calm() || w.allDone() || w.now-w.idle > 20*time.Second
}

func (w *world) mix(v uint64) {
	w.hash = (w.hash ^ v) * 1099511628211
}

func (w *world) logf(format string, args ...any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%8.3f ", w.now.Seconds())+fmt.Sprintf(format, args...))
	}
}

// loses says whether messages may be lost now.
func (w *world) loses() bool { return w.lossy && w.now < lossEnd }
