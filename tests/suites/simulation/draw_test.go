package simulation

import (
	"fmt"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// kind is what the clients of a history do.
type kind int

const (
	// ofCalls: they call in sessions, one call in a POST.
	ofCalls kind = iota
	// ofBatches: several.
	ofBatches
	// ofTasks: they call as tasks.
	ofTasks
	kinds
)

var pauses = [8]time.Duration{time.Millisecond, time.Millisecond, 5 * time.Millisecond, 50 * time.Millisecond,
	200 * time.Millisecond, 600 * time.Millisecond, 1500 * time.Millisecond, 3 * time.Second}

// prepare makes what every history has.
func (w *world) prepare() {
	w.judge.init(w)
	w.config = &call.Config{MaxAttempts: 2, Render: func(c *medium.Record, f call.Failure, _ error) []byte {
		return fmt.Appendf(nil, "failure %d of %s/%d/%d", f, c.ID, c.Round, c.Attempt)
	}}
	w.medium = newMedium(w)
	w.lifetime = lifetime
}

// draw makes a history: who takes part, what is called, and which faults come.
func (w *world) draw() {
	w.lossy = w.maybe(2)
	if w.kind == ofTasks {
		w.expires = w.maybe(2)
		if w.maybe(2) {
			w.lifetime = 6 * time.Second
		}
	}
	for slot := range 2 + w.pick(2) {
		w.boot(slot)
	}
	if w.kind == ofTasks {
		w.drawTasks()
	} else {
		w.drawExchanges()
	}
	rewinds := w.maybe(1)
	w.silent = w.maybe(2)
	w.refuses = w.maybe(2)
	for range w.pick(8) {
		w.at(time.Duration(w.pick(16))*500*time.Millisecond+delays[w.pick(8)]*time.Millisecond, 51, w.fault(w.pick(8), rewinds))
	}
}

// drawExchanges draws what is called in sessions, and which session is deleted.
func (w *world) drawExchanges() {
	for i := range 1 + w.pick(3) {
		x := &exchange{w: w, id: fmt.Sprint("x", i)}
		members := 1
		if w.kind == ofBatches {
			members += 1 + w.pick(2)
		}
		for range members {
			c := &request{w: w, x: x, id: fmt.Sprint("c", len(w.requests)), given: map[string]*given{}}
			if c.safe = w.maybe(1); len(x.calls) == 0 {
				x.session, x.primes = sessions[w.pick(2)], w.maybe(1)
			}
			c.plan = w.drawPlan(true)
			x.calls, w.requests = append(x.calls, c), append(w.requests, c)
		}
		w.exchanges = append(w.exchanges, x)
		w.at(time.Duration(w.pick(16))*250*time.Millisecond, 50, x.send)
	}
	if w.maybe(2) {
		id := sessions[w.pick(2)]
		w.at(time.Duration(w.pick(16))*500*time.Millisecond, clientDeletes, func() { w.deleteSession(id) })
		for _, r := range w.replicas {
			r.revalidate()
		}
		w.deletes = true
	}
}

// drawTasks draws what is called as tasks. A call that becomes one later does not ask before.
func (w *world) drawTasks() {
	for i := range 1 + w.pick(3) {
		k := &taskClient{rules: revision.Stateless(), support: mcp.TaskSupport{Optional: true, AtOnce: true}, answering: map[string]bool{}, approvals: map[string]bool{}}
		k.request = request{w: w, id: fmt.Sprint("k", i), given: map[string]*given{}}
		k.safe = w.maybe(1)
		switch w.pick(4) {
		case 0:
			k.support.AtOnce = false
		case 1:
			k.rules = revision.Negotiate("2025-11-25")
		}
		k.plan = w.drawPlan(k.support.AtOnce)
		w.drawApprovals(k.plan)
		w.tasks = append(w.tasks, k)
		w.at(time.Duration(w.pick(16))*250*time.Millisecond, 50, k.create)
	}
}

// drawPlan draws the rounds of a call.
func (w *world) drawPlan(asks bool) (plan []round) {
	for {
		r := round{last: pauses[w.pick(8)], end: call.Final}
		for range w.pick(4) {
			r.pauses = append(r.pauses, pauses[w.pick(8)])
		}
		if n := len(r.pauses); n > 0 && w.maybe(2) {
			r.checkpoint = 1 + w.pick(n)
		}
		if len(plan) < 3 {
			switch kind := w.pick(4); {
			case kind == 3, kind > 0 && !asks:
				r.end, r.pause = call.Busy, pauses[w.pick(8)]
			case kind > 0:
				r.end, r.asks = call.Asks, 1+w.pick(2)
			}
			r.repeatable = r.end != call.Final && w.maybe(2)
		}
		if plan = append(plan, r); r.end == call.Final {
			return plan
		}
	}
}

// drawApprovals draws which rounds of a task ask for the approval of another person, and how long they wait for it.
func (w *world) drawApprovals(plan []round) {
	for i := range plan {
		if r := &plan[i]; r.end == call.Asks && w.maybe(2) {
			r.asks, r.approval = 1, [2]time.Duration{2 * time.Second, time.Hour}[w.pick(2)]
		}
	}
}

// fault is one fault, drawn when it happens.
func (w *world) fault(kind int, rewinds bool) func() {
	switch kind {
	case 0, 1:
		return func() { // a client loses its connection
			if w.kind == ofTasks {
				w.tasks[w.pick(len(w.tasks))].lost(nil)
			} else if x := w.exchanges[w.pick(len(w.exchanges))]; x.conn != nil {
				x.conn.broken()
			}
		}
	case 2:
		return func() {
			if w.kind == ofTasks {
				w.tasks[w.pick(len(w.tasks))].cancel()
			} else if c := w.requests[w.pick(len(w.requests))]; w.maybe(1) {
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
		calls := w.medium.Records()
		w.medium.Rewind(k)
		w.loseWrites()
		w.judge.lostEnds()
		for i := range calls {
			w.lostSessions[calls[i].Session] = !w.medium.Has(calls[i].Session)
		}
		w.away(time.Duration(w.pick(4)) * 100 * time.Millisecond)
	}
}

// loseWrites notes whose writes the store has lost. A replica that has ended by then sends none again: that is a stop, in whichever order it
// has ended.
func (w *world) loseWrites() {
	left := w.medium.Writes()
	for _, r := range w.all {
		if r.wrote <= left {
			continue
		}
		r.wrote, r.unheard = left, true
		if !r.alive || r.closed {
			w.stops++
		}
	}
}

// away makes the store unreachable; when it is back, every replica hears of it sooner or later, also one that drains while another has
// taken its place.
func (w *world) away(d time.Duration) {
	w.medium.Away(true)
	w.at(d, 52, func() {
		w.medium.Away(false)
		w.mix(52)
		if w.silent {
			return
		}
		for _, r := range w.all {
			if r.alive {
				r.after(w.delay()*2, 53, r.storeWasAway)
			}
		}
	})
}

// stop ends a replica and starts another in its place.
func (w *world) stop(inOrder bool) {
	slot := w.pick(len(w.replicas))
	r := w.replicas[slot]
	if !r.alive || r.closed || r.draining && inOrder {
		return
	}
	if within := time.Duration(w.pick(4)) * 4 * time.Second; inOrder && within > 0 {
		w.drains++
		w.logf("r%d drains within %v", r.id, within)
		r.drain(within)
	} else {
		w.stops++
		w.logf("r%d stops, in order %v", r.id, inOrder)
		r.stop(inOrder)
	}
	w.at(time.Duration(1+w.pick(4))*time.Second, 54, func() { w.boot(slot) })
}
