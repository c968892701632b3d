package run

import (
	"context"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	crand "crypto/rand"

	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Options are what a Replica needs. Zero members mean what their comments say.
type Options struct {
	// Call is what the machines need; not nil.
	Call *call.Config
	// Resume makes the task of a call that was claimed. With an error the call is left to the sweepers. Not nil.
	Resume func(o *medium.Owned, why Reason) (*Claimed, error)
	// Number gives the questions of a reply new ids, in a copy. Not nil where calls ask.
	Number func(asks *call.Reply) *call.Reply
	// Cancel tells the other replicas that a call was cancelled, which one of them may run; nil: nobody.
	Cancel func(session, requestID string)
	// Counters; nil: its own.
	Counters *Counters
	// Work counts what goes on; nil: an InFlight of its own. Whoever calls a method of the Replica's is inside, but for Start,
	// Close and those that look.
	Work *InFlight
	// Draining is closed when lost calls are to be left to other replicas; nil: never.
	Draining <-chan struct{}
	// StreamAfter is how long an exchange waits for its body before it becomes a stream; 0: 1 s.
	StreamAfter time.Duration
	// Lifetime bounds a call whose record has no deadline; 0: mcp.DefaultCallLifetime.
	Lifetime time.Duration
	// Heartbeat is how often the replica says that it lives, and looks for lost calls; 0: 1 s.
	Heartbeat time.Duration
	// KeepAlive is how long a stream may be idle before something is written to it; 0: 15 s.
	KeepAlive time.Duration
	// RetryHint is how long a client should wait before it comes back to a stream; 0: not said.
	RetryHint time.Duration
	// Takeovers bounds the lost calls that are taken over at a time; 0: mcp.DefaultTakeovers.
	Takeovers int
	// Timeout bounds one operation of the store; 0: 2 s.
	Timeout time.Duration
	// Parting is closed when the streams of calls are to be closed where their clients can come back; nil: never.
	Parting <-chan struct{}
	// Log; nil: slog.Default.
	Log *slog.Logger
	// Now is the clock; nil: time.Now. It must go on as the timers of the process do.
	Now func() time.Time
	// Random draws the random bits of epochs, which need be no secret; nil: of math/rand/v2.
	Random func() uint32
	// Name draws the name of a stream: random, 80 bits or more, without a dot; nil: of crypto/rand.
	Name func() string
}

func (o Options) withDefaults() Options {
	or := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	or(&o.StreamAfter, time.Second)
	or(&o.Lifetime, mcp.DefaultCallLifetime)
	or(&o.Heartbeat, time.Second)
	or(&o.KeepAlive, 15*time.Second)
	or(&o.Timeout, 2*time.Second)
	if o.Takeovers == 0 {
		o.Takeovers = mcp.DefaultTakeovers
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Uint32
	}
	if o.Name == nil {
		o.Name = func() string { return crand.Text()[:16] }
	}
	if o.Counters == nil {
		o.Counters = new(Counters)
	}
	if o.Work == nil {
		o.Work = new(InFlight)
	}
	return o
}

// Reason is why a call was claimed.
type Reason struct {
	// Why: after an answer, a loss, or a cancellation.
	Why call.Why
	// Began is when the store was asked for it.
	Began time.Time
	// By is who gave the answer that the call goes on with; nil: it was not claimed by an answer.
	By *mcp.Principal
	// Token is what By came with, where tokens are kept.
	Token mcp.Token
}

// Claimed is a call that was claimed.
type Claimed struct {
	Task Task
	// Context is what the contexts of its runs have their values from; it does not end them.
	Context context.Context
	// Refusal is the call's response when the client has refused what only it could give; else nil.
	Refusal *call.Reply
}

// Replica drives the calls of one incarnation of an edge. Safe for concurrent use.
type Replica struct {
	o     Options
	store medium.Store
	began time.Time
	count *Counters
	// closing is closed by Close; life ends when nothing is left to do.
	closing   chan struct{}
	closeOnce sync.Once
	life      context.Context
	kill      context.CancelFunc
	work      *InFlight
	// loops has the goroutine of Start.
	loops   sync.WaitGroup
	started atomic.Bool
	// insisting counts the answers of which it is not known what came of them, cancelling the cancellations; insistingBytes is
	// what both hold.
	insisting, cancelling atomic.Int32
	insistingBytes        atomic.Int64
	// returns counts how often the store was away.
	returns atomic.Uint64
	timers  sync.Pool
	// takeovers has an element for each lost call that is being taken over.
	takeovers chan struct{}

	mu sync.Mutex
	// calls are those that outlive their exchange here, by their ids: with a record, or about to have one, or left by
	// their clients.
	calls map[string]*Call
	// streams counts the calls of each stream among them.
	streams map[string]int
	keeper  call.Keeper
	// claiming are the lost calls that are being taken over, or wait for it.
	claiming map[string]struct{}
	// loose are answers that nobody seems to wait for; giving: they are being given again.
	loose  []loose
	giving bool
	// back is when the store was back last, as keeper counts; hasBack: it was away.
	back    time.Duration
	hasBack bool
}

// New makes a Replica of a store, whose constructor was given its Returning. Start begins what runs by itself.
func New(s medium.Store, o Options) *Replica {
	r := &Replica{
		o: o.withDefaults(), store: s, closing: make(chan struct{}),
		calls: map[string]*Call{}, streams: map[string]int{}, claiming: map[string]struct{}{},
	}
	r.takeovers = make(chan struct{}, r.o.Takeovers)
	r.began, r.count, r.work = r.o.Now(), r.o.Counters, r.o.Work
	r.life, r.kill = context.WithCancel(context.Background())
	return r
}

// Start begins to say that the replica lives, and to take over lost calls. Call it once.
func (r *Replica) Start() {
	r.started.Store(true)
	r.beat()
	r.loops.Go(func() {
		t := time.NewTicker(r.o.Heartbeat)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				r.beat()
			case <-r.closing:
				return
			}
		}
	})
}

// Close cuts off what still runs: calls without a record end with an error, the others are left to other replicas at
// once. It returns when no goroutine is left. It may be called again.
func (r *Replica) Close() {
	first := false
	r.closeOnce.Do(func() {
		first = true
		close(r.closing)
	})
	for _, c := range r.all() {
		c.post(call.Event{Kind: call.Closed})
	}
	r.loops.Wait()
	_ = r.work.Wait(context.Background())
	if first && r.started.Load() {
		ctx, cancel := context.WithTimeout(context.Background(), r.o.Timeout)
		defer cancel()
		if _, err := r.store.Beat(ctx, 0, true); err != nil {
			r.o.Log.Warn("the leases of this replica could not be released; they expire", "error", err)
		}
	}
	r.kill()
}

func (r *Replica) isClosing() bool { return isClosed(r.closing) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// now is the time as the keeper counts it.
func (r *Replica) now() time.Duration { return r.o.Now().Sub(r.began) }

// bounded is a context for one operation of the store.
func (r *Replica) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.life, r.o.Timeout)
}

// sleep waits; false when the replica closes first.
func (r *Replica) sleep(d time.Duration) bool {
	t := r.timer(d)
	defer r.putTimer(t)
	select {
	case <-t.C:
		return true
	case <-r.closing:
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

// register makes a call known to the replica, in the place of another of its id.
func (r *Replica) register(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enter(c)
}

// enter is register, and returns the other call. r.mu is locked.
func (r *Replica) enter(c *Call) (old *Call) {
	id := c.machine().ID()
	if old = r.calls[id]; old == c {
		return nil
	}
	if old != nil {
		r.forget(old)
	}
	r.calls[id] = c
	r.work.n.Add(1) // It goes on, also while it waits for a timer and has no goroutine.
	r.streams[c.u.stream]++
	return old
}

// forget takes a call out of the tables. r.mu is locked.
func (r *Replica) forget(c *Call) {
	delete(r.calls, c.machine().ID())
	if r.streams[c.u.stream]--; r.streams[c.u.stream] == 0 {
		delete(r.streams, c.u.stream)
	}
	r.work.Leave()
}

func (r *Replica) unregister(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls[c.machine().ID()] == c {
		r.forget(c)
	}
}

// writes says whether the replica writes to a stream.
func (r *Replica) writes(stream string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.streams[stream] > 0
}

func (r *Replica) all() []*Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Call, 0, len(r.calls))
	for _, c := range r.calls {
		out = append(out, c)
	}
	return out
}

// Call is a call that runs here and has a record, or is about to have one, or was left by its client; nil: none of that id.
func (r *Replica) Call(id string) *Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[id]
}

// IDs are those of the calls that Call finds, in no order.
func (r *Replica) IDs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.calls))
}

// End ends the calls of a session that has ended, of those that have a record or were left by their clients; others
// have their exchange: see Call.End.
func (r *Replica) End(session string) {
	for _, c := range r.all() {
		if of, _ := c.machine().Names(); of == session {
			c.End()
		}
	}
}

func (r *Replica) keep(rec *medium.Record, entries []medium.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keeper.Keep(rec, entries, r.now())
}
