package stateful

import (
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/mcp"
)

// inPlace is what a group has whose one call runs in the exchange's own goroutine: most calls end soon, and are
// spared the way to another goroutine and back. What the exchange needs before its call has ended, an attendant
// does in another: the stream of a call that takes long or has events, and the exchange's end before the call's.
// Guarded by group.mu.
type inPlace struct {
	// leaver is nil for a group whose calls run apart.
	leaver mcp.Leaver
	// returned: the call does not run here any more, and no attendant begins.
	returned bool
	// attended is closed when the attendant has gone; nil: there was none.
	attended chan struct{}
}

// serveInPlace runs the call, and ends the exchange unless an attendant did.
func (g *group) serveInPlace(out mcp.Leaver) {
	g.leaver = out
	a := g.e.alarms.set(g)
	g.e.work.add()
	g.runs[0].main()
	g.e.alarms.stop(a)
	g.mu.Lock()
	g.returned = true
	attended := g.attended
	g.mu.Unlock()
	if attended == nil {
		g.attend(g.e.o.StreamAfter)
		return
	}
	<-attended
}

// callAttendant begins to attend to the exchange beside its call. g.mu is locked.
func (g *group) callAttendant() {
	if g.leaver == nil || g.returned || g.attended != nil {
		return
	}
	attended := make(chan struct{})
	g.attended = attended
	go func() {
		defer close(attended)
		if g.attend(0) {
			return
		}
		g.mu.Lock()
		returned := g.returned
		g.mu.Unlock()
		if !returned {
			g.leaver.Leave()
		}
	}()
}

// alarms are timers that are used again: each calls the attendant of a group that takes long.
type alarms struct{ idle sync.Pool }

type alarm struct {
	*time.Timer
	group *group
}

func (as *alarms) set(g *group) *alarm {
	a, ok := as.idle.Get().(*alarm)
	if !ok {
		a = &alarm{group: g}
		a.Timer = time.AfterFunc(g.e.o.StreamAfter, a.ring)
		return a
	}
	a.group = g
	a.Reset(g.e.o.StreamAfter)
	return a
}

// stop silences an alarm. One that has rung may be ringing still, and is not used again.
func (as *alarms) stop(a *alarm) {
	if a.Stop() {
		a.group = nil
		as.idle.Put(a)
	}
}

func (a *alarm) ring() {
	g := a.group
	g.mu.Lock()
	defer g.mu.Unlock()
	g.callAttendant()
}
