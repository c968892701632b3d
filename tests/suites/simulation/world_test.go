package simulation

import (
	"container/heap"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/state/statetest/model"
)

const (
	// faultsEnd is when the last fault begins; lifetime a call's; end when the history does.
	faultsEnd = 12 * time.Second
	// lossEnd is when messages are lost no more.
	lossEnd   = 20 * time.Second
	lifetime  = 60 * time.Second
	end       = 90 * time.Second
	heartbeat = time.Second
	// opTimeout bounds one operation on the store.
	opTimeout = 2 * time.Second
)

// task is something that happens at a time.
type task struct {
	at   time.Duration
	seq  int
	what uint64
	do   func()
}

type tasks []*task

func (h tasks) Len() int { return len(h) }
func (h tasks) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}
func (h tasks) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *tasks) Push(x any)   { *h = append(*h, x.(*task)) }
func (h *tasks) Pop() any {
	old := *h
	t := old[len(old)-1]
	*h = old[:len(old)-1]
	return t
}

// world is one history.
type world struct {
	t    *rapid.T
	now  time.Duration
	heap tasks
	seq  int
	// soon happens before time goes on.
	soon   []func()
	hash   uint64
	events int

	medium   *model.Medium
	replicas []*replica // the present incarnation of each
	next     int        // the next incarnation
	requests []*request
	config   *call.Config
	lossy    bool
	// silent: nobody is told that the store was away.
	silent bool
	// refuses: the store refuses some steps for what they say.
	refuses  bool
	refusals map[*medium.Write]error // what was said to each step, nil too
	// idle is since when nobody waits for anything or runs anything.
	idle time.Duration
	// rewinds, stops (kills, pauses and drains) and outages that have happened.
	rewinds, stops, outages int
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

func (w *world) at(d time.Duration, what uint64, do func()) {
	w.seq++
	heap.Push(&w.heap, &task{at: w.now + d, seq: w.seq, what: what, do: do})
}

// run runs the history to its end.
func (w *world) run() {
	for len(w.heap) > 0 {
		t := heap.Pop(&w.heap).(*task)
		if t.at > end {
			break
		}
		w.now = t.at
		w.mix(uint64(t.at))
		w.mix(t.what)
		w.events++
		t.do()
		for len(w.soon) > 0 {
			do := w.soon[0]
			w.soon = w.soon[1:]
			do()
		}
		if w.settled() {
			break
		}
	}
}

// settled: all calls have ended, and so have their clients.
func (w *world) settled() bool {
	if w.now < faultsEnd {
		return false
	}
	for _, c := range w.requests {
		if !c.done {
			return false
		}
	}
	for _, r := range w.replicas {
		if r.alive && len(r.calls) > 0 {
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
