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
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Options configure a Replica.
type Options struct {
	// Call configures the machines. It must not be nil.
	Call *call.Config
	// Resume makes the task of a claimed call. After an error the call is left to the sweepers. It
	// must not be nil.
	Resume func(o *medium.Owned, why Reason) (*Claimed, error)
	// Number returns a copy of a reply whose questions have new ids. It must not be nil if calls
	// ask.
	Number func(asks *call.Reply) *call.Reply
	// Cancel notifies the other replicas, one of which may run the call, of a cancellation. nil
	// notifies none.
	Cancel func(session, requestID string)
	// Counters to use. nil uses new ones.
	Counters *Counters
	// Work counts running work. nil uses a new InFlight. Callers of the Replica's methods must have
	// entered it, except for Start, Close and methods that only read.
	Work *InFlight
	// Draining is closed when lost calls are to be left to other replicas. nil means never.
	Draining <-chan struct{}
	// StreamAfter is how long an exchange waits for its body before it becomes a stream. 0 means 1
	// s.
	StreamAfter time.Duration
	// Lifetime bounds a call whose record has no deadline. 0 means mcp.DefaultCallLifetime.
	Lifetime time.Duration
	// Heartbeat is the interval of heartbeats and of looking for lost calls. 0 means 1 s.
	Heartbeat time.Duration
	// KeepAlive is how long a stream may be idle before a keep-alive is written. 0 means 15 s.
	KeepAlive time.Duration
	// RetryHint is how long a client should wait before it resumes a stream. 0 sends no hint.
	RetryHint time.Duration
	// Takeovers bounds the lost calls that are taken over at a time. 0 means mcp.DefaultTakeovers.
	Takeovers int
	// Timeout bounds one operation of the store. 0 means 2 s.
	Timeout time.Duration
	// Parting is closed when streams of calls are to be closed if their clients can resume them.
	// nil means never.
	Parting <-chan struct{}
	// Log is the logger. nil uses slog.Default.
	Log *slog.Logger
	// Store names the store in lines about its failures, as there may be several. Empty omits it.
	Store string
	// Now is the clock. It must advance with the process's timers. nil uses time.Now.
	Now func() time.Time
	// Random draws the random bits of epochs, which need not be secret. nil uses math/rand/v2.
	Random func() uint32
	// About returns the log attributes, keys and values in turn, that identify a call. nil uses its id
	// as "call".
	About func(*medium.Record) []any
	// Name draws the name of a stream: random, at least 80 bits, without a dot. nil uses
	// crypto/rand.
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
	if o.About == nil {
		o.About = func(r *medium.Record) []any { return []any{"call", r.ID} }
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
	// Why: by an answer, a loss or a cancellation.
	Why call.Why
	// Began is when the store was asked for the claim.
	Began time.Time
	// By is the principal whose answer the call continues with. nil if no answer claimed it.
	By *mcp.Principal
	// Token is the token of By, if tokens are kept.
	Token mcp.Token
}

// Claimed is a call that was claimed.
type Claimed struct {
	Task Task
	// Context provides the values of the contexts of its runs; its end does not end them.
	Context context.Context
	// Refusal is the call's response if the client refused what only it could give. It may be nil.
	Refusal *call.Reply
}

// Replica drives the calls of one incarnation of an edge. It is safe for concurrent use.
type Replica struct {
	o     Options
	store medium.Store
	began time.Time
	count *Counters
	// closing is closed by Close. life is cancelled when nothing is left to do.
	closing   chan struct{}
	closeOnce sync.Once
	life      context.Context
	kill      context.CancelFunc
	// unclosed is cancelled by Close, as closing is closed.
	unclosed context.Context
	cutOff   context.CancelFunc
	work     *InFlight
	// loops waits for the goroutine of Start and the sweep.
	loops   sync.WaitGroup
	started atomic.Bool
	// sweeping is whether a sweep is in progress.
	sweeping atomic.Bool
	// beats has the failures of heartbeats.
	beats telemetry.Repeated
	// insisting counts the answers whose outcome is unknown, cancelling the cancellations;
	// insistingBytes is what both hold.
	insisting, cancelling atomic.Int32
	insistingBytes        atomic.Int64
	// returns counts the returns of the store.
	returns atomic.Uint64
	timers  sync.Pool
	// takeovers has an element for each takeover in progress.
	takeovers chan struct{}

	mu sync.Mutex
	// calls are the calls, by id, that outlive their exchange here: with a record, or about to have
	// one, or left by their clients.
	calls map[string]*Call
	// streams counts these calls by stream.
	streams map[string]int
	keeper  call.Keeper
	// claiming are the lost calls that are being taken over or wait for it.
	claiming map[string]struct{}
	// loose are answers to unknown questions. giving is whether a goroutine is storing them again.
	loose  []loose
	giving bool
	// back is when the store returned last, in keeper time. hasBack is whether it was ever away.
	back    time.Duration
	hasBack bool
}

// New makes a Replica of a store whose constructor was given the Replica's Returning. Start begins
// its background work.
func New(s medium.Store, o Options) *Replica {
	r := &Replica{
		o: o.withDefaults(), store: s, closing: make(chan struct{}),
		calls: map[string]*Call{}, streams: map[string]int{}, claiming: map[string]struct{}{},
	}
	r.takeovers = make(chan struct{}, r.o.Takeovers)
	r.began, r.count, r.work = r.o.Now(), r.o.Counters, r.o.Work
	r.life, r.kill = context.WithCancel(context.Background())
	r.unclosed, r.cutOff = context.WithCancel(r.life)
	return r
}

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

// Close stops what still runs: calls without a record end with an error, the others are left to
// other replicas at once. It returns when no goroutine is left. It may be called again.
func (r *Replica) Close() {
	first := false
	r.closeOnce.Do(func() {
		first = true
		close(r.closing)
		r.cutOff()
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

// now returns the time since start, as the keeper counts it.
func (r *Replica) now() time.Duration { return r.o.Now().Sub(r.began) }

// bounded returns a context for one operation of the store.
func (r *Replica) bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.life, r.o.Timeout)
}

// sleep waits for d. It returns false if the replica closes first.
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

// register adds a call to the tables, in place of another with its id.
func (r *Replica) register(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enter(c)
}

// enter is register, and returns the replaced call. The caller holds r.mu.
func (r *Replica) enter(c *Call) (old *Call) {
	id := c.machine().ID()
	if old = r.calls[id]; old == c {
		return nil
	}
	if old != nil {
		r.forget(old)
	}
	r.calls[id] = c
	r.work.n.Add(1) // The call counts as work, also while it waits for a timer without a goroutine.
	r.streams[c.u.stream]++
	return old
}

// forget removes a call from the tables. The caller holds r.mu.
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

// writes reports whether this replica writes to a stream.
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

// Call returns the call with an id that runs here and has a record, is about to have one, or was
// left by its client. It may return nil.
func (r *Replica) Call(id string) *Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[id]
}

// IDs returns the ids of the calls that Call finds, in no particular order.
func (r *Replica) IDs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.calls))
}

// End ends the calls of an ended session that have a record or were left by their clients. Other
// calls are ended through their exchange: see Call.End.
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
