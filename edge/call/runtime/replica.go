package runtime

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Replica drives the calls of one incarnation of an edge. It is safe for concurrent use.
type Replica struct {
	o     Options
	store medium.Store
	began time.Time
	count *Counters
	// life is cancelled when no work is left, unclosed by Close, undrained by Drain and Close, streaming by
	// CloseStreams and Close.
	life, unclosed, undrained, streaming context.Context
	kill, cutOff, drain, closeStreams    context.CancelFunc
	leaving                              sync.Once
	work                                 *InFlight
	// loops waits for the goroutine of Start and the sweep.
	loops   sync.WaitGroup
	started atomic.Bool
	// sweeping is true while a sweep is in progress.
	sweeping atomic.Bool
	// beats limits the log lines about failed heartbeats.
	beats telemetry.Repeated
	// answerRetries counts the answers that may have been stored, and cancelRetries the
	// cancellations. retryBytes is the memory of both.
	answerRetries, cancelRetries atomic.Int32
	retryBytes                   atomic.Int64
	// returns counts the returns of the store.
	returns atomic.Uint64
	timers  sync.Pool
	// takeovers has an element for each takeover in progress.
	takeovers chan struct{}

	mu sync.Mutex
	// calls maps ids to the calls that outlive their exchange here: those with a record, about to
	// have one, or whose client has disconnected.
	calls map[string]*Driver
	// streams counts these calls by stream.
	streams map[string]int
	keeper  call.Keeper
	// claiming are the lost calls whose takeover is in progress or queued.
	claiming map[string]struct{}
	// unmatched are answers to unknown questions, the newest first. matching is true while a goroutine stores them
	// again.
	unmatched []unmatched
	matching  bool
	// back is the time of the store's last return, in keeper time. Before the first one it is
	// missingStreamWait before the start.
	back time.Duration
}

// New makes a Replica on the store that open returns. The caller owns the store, which must outlive
// Close. The store may call the hooks from then on. Start begins the background work of the
// Replica.
func New(open func(medium.Hooks) medium.Store, o Options) *Replica {
	r := &Replica{
		o: o.withDefaults(), back: -missingStreamWait,
		calls: map[string]*Driver{}, streams: map[string]int{}, claiming: map[string]struct{}{},
	}
	ready := make(chan struct{})
	defer close(ready)
	r.takeovers = make(chan struct{}, r.o.Takeovers)
	r.began, r.count, r.work = r.o.Now(), r.o.Counters, r.o.Work
	r.life, r.kill = context.WithCancel(context.Background())
	r.unclosed, r.cutOff = context.WithCancel(r.life)
	r.undrained, r.drain = context.WithCancel(r.unclosed)
	r.streaming, r.closeStreams = context.WithCancel(r.unclosed)
	r.store = open(medium.Hooks{
		Event:     func(e state.SessionEvent) { <-ready; r.o.Event(e) },
		Returning: func() { <-ready; r.Returning() },
	})
	return r
}

// Store returns the store.
func (r *Replica) Store() medium.Store { return r.store }

// Drain leaves lost calls to other replicas from now on. It may be called again.
func (r *Replica) Drain() { r.drain() }

// Draining is closed once Drain or Close was called.
func (r *Replica) Draining() <-chan struct{} { return r.undrained.Done() }

// IsDraining reports whether Drain or Close was called.
func (r *Replica) IsDraining() bool { return r.undrained.Err() != nil }

// CloseStreams closes the streams of calls that their clients can resume.
func (r *Replica) CloseStreams() { r.closeStreams() }

// Closing is closed once Close was called.
func (r *Replica) Closing() <-chan struct{} { return r.unclosed.Done() }

// IsClosing reports whether Close was called.
func (r *Replica) IsClosing() bool { return r.unclosed.Err() != nil }

// Start begins heartbeats and the takeover of lost calls. Call it once.
func (r *Replica) Start() {
	r.started.Store(true)
	r.sweeping.Store(true)
	ctx, cancel := r.bounded()
	defer cancel()
	r.sweep(ctx)
	r.loops.Go(func() {
		t := time.NewTicker(r.o.Heartbeat)
		defer t.Stop()
		for !r.IsClosing() { // A tick may be due by then.
			select {
			case <-t.C:
				r.beat()
			case <-r.unclosed.Done():
			}
		}
	})
}

// Close stops the remaining work. Calls without a record end with an error; the others are left to
// other replicas at once. Close returns when all goroutines have ended. It may be called again.
func (r *Replica) Close() {
	r.cutOff()
	for _, c := range r.all() {
		c.post(call.Event{Kind: call.Closed})
	}
	r.loops.Wait()
	_ = r.work.Wait(context.Background())
	r.leaving.Do(r.leave)
	r.kill()
}

// leave releases the leases of this replica.
func (r *Replica) leave() {
	if !r.started.Load() {
		return
	}
	ctx, cancel := r.bounded()
	defer cancel()
	if _, err := r.store.Beat(ctx, 0, true); err != nil {
		r.o.Log.Warn("the leases of this replica could not be released; they expire", "error", err)
	}
}

// now returns the time since the start of the replica, in which call.Keeper counts.
func (r *Replica) now() time.Duration { return r.o.Now().Sub(r.began) }

// bounded returns a context for one operation of the store.
func (r *Replica) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.life, state.Timeout)
}

// sleep waits for d. It returns false if the replica closes first.
func (r *Replica) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.unclosed.Done():
		return false
	}
}

func (r *Replica) timer(d time.Duration) *time.Timer {
	if t, ok := r.timers.Get().(*time.Timer); ok {
		t.Reset(d)
		return t
	}
	return time.NewTimer(d)
}

func (r *Replica) putTimer(t *time.Timer) {
	t.Stop()
	r.timers.Put(t)
}

// register adds a call to the tables, in place of another with its id, and returns that. The caller holds
// r.mu.
func (r *Replica) register(c *Driver) (old *Driver) {
	if old = r.calls[c.rec.ID]; old == c {
		return nil
	}
	if old != nil {
		r.forget(old)
	}
	r.calls[c.rec.ID], c.registered = c, true
	r.work.n.Add(1) // the call counts as work, even while it waits for a timer without a goroutine
	if r.o.IdleBetweenRounds {
		r.work.Idle()
	}
	r.streams[c.g.stream]++
	return old
}

// forget removes a call from the tables. The caller holds r.mu.
func (r *Replica) forget(c *Driver) {
	delete(r.calls, c.rec.ID)
	if r.streams[c.g.stream]--; r.streams[c.g.stream] == 0 {
		delete(r.streams, c.g.stream)
	}
	if r.o.IdleBetweenRounds {
		r.work.Active()
	}
	r.work.Leave()
}

func (r *Replica) unregister(c *Driver) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[c.rec.ID] == c {
		r.forget(c)
	}
}

// writes reports whether this replica writes to a stream.
func (r *Replica) writes(stream string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.streams[stream] > 0
}

func (r *Replica) all() []*Driver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.calls))
}

// Driver returns the call with an id that runs here and has a record, is about to have one, or
// whose client has disconnected. It may return nil.
func (r *Replica) Driver(id string) *Driver {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[id]
}

// CancelHere cancels the call with an id if Driver finds it. It returns false if there is no such
// call.
func (r *Replica) CancelHere(id string) bool {
	c := r.Driver(id)
	if c != nil {
		c.Cancel()
	}
	return c != nil
}

// IDs returns the ids of the calls that Driver finds, in no particular order.
func (r *Replica) IDs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.calls))
}

// Unsettled returns the number of calls with a record that this replica must not leave yet: their machines
// are unsettled.
func (r *Replica) Unsettled() (n int) {
	for _, c := range r.all() {
		c.g.inbox.inspect(func() {
			if c.machine.Unsettled() {
				n++
			}
		})
	}
	return n
}

// End ends the calls of an ended session that have a record or whose client has disconnected. Other
// calls end through their exchange: see Call.End.
func (r *Replica) End(session string) {
	for _, c := range r.all() {
		if c.rec.Session == session {
			c.End()
		}
	}
}

func (r *Replica) keep(rec *medium.Record, entries []medium.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keeper.Keep(rec, entries, r.now())
}
