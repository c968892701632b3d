package stateful

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// phase is what became of an exchange.
type phase uint8

const (
	// direct: nothing is on the wire; the outcomes are kept for one JSON body.
	direct phase = iota
	// opened: the calls have records and a log, and the exchange is a stream.
	opened
	// abandoned: the client left while the exchange was direct. The calls go on, unheard.
	abandoned
)

// group is what came in one POST: the calls that share its exchange, and its stream once one of them
// outgrows it.
type group struct {
	e   *Era
	s   *held
	rec *record
	in  *mcp.Incoming
	// ctx and out are the exchange's.
	ctx context.Context
	out mcp.Outgoing

	mu sync.Mutex
	// wake holds a token when phase or left changed in a way that the exchange waits for; nil while it
	// does not wait.
	wake   chan struct{}
	phase  phase
	stream string
	left   int // calls without an outcome
	// retryAt keeps a store that cannot be reached from being asked for every event.
	retryAt time.Time
	// unsure: a Begin failed that may have happened.
	unsure bool

	// ended: the exchange has, and released what it held.
	ended bool

	// over: the exchange has ended. Guarded by s.mu.
	over bool

	runs []*run
	// ready are messages known before any call ran: a batch's entries that need no backend.
	ready [][]byte
	array bool
	// released run the calls that the batch's answers completed.
	released []func()

	only [1]*run
	run  run

	inPlace
}

func newGroup(ctx context.Context, e *Era, s *held, rec *record, in *mcp.Incoming, out mcp.Outgoing) *group {
	g := &group{e: e, s: s, rec: rec, in: in, ctx: ctx, out: out}
	g.runs = g.only[:0]
	return g
}

// add registers one call; serve runs it. The params are copied: a call may outlive its exchange.
func (g *group) add(msg jsonrpc.Message) error {
	r := &g.run
	if len(g.runs) > 0 {
		r = new(run)
	}
	r.call = mcp.Call{
		ID: mcp.NewCallID(), Attempt: 1, Round: 1, Method: mcp.Method(msg.Method),
		Principal: g.in.Principal, Client: g.rec.client, LogLevel: g.rec.LogLevel,
	}
	if err := r.call.Params.Parse(r.call.Method, append([]byte(nil), msg.Params...)); err != nil {
		return err
	}
	r.init(g.e, g.s, g.rec, msg.ID)
	r.group = g
	r.memory = g.in.Memory.Holder().Begin()
	if err := r.charge(); err != nil {
		return err
	}
	r.deadline = time.Now().Add(g.e.o.CallLifetime)
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(g.ctx))
	if err := g.e.begin(g.s, r, false); err != nil {
		r.cancel(nil)
		r.memory.Release()
		return err
	}
	r.observeCall(g.in)
	g.runs = append(g.runs, r)
	g.left++
	return nil
}

// serve runs the calls and ends the exchange. The client's leaving does not end them: they run apart from the
// exchange, unless that can be left.
func (g *group) serve() {
	defer g.releaseKept()
	g.e.counters.Calls.Add(int64(len(g.runs)))
	if l, ok := g.out.(mcp.Leaver); ok && len(g.runs) == 1 && l.MayLeave() {
		g.serveInPlace(l)
		return
	}
	for _, r := range g.runs {
		g.e.work.add()
		go r.main()
	}
	g.attend(g.e.o.StreamAfter)
}

// attend stays with the exchange until it has ended. False: a call may still run. A stream is opened after so long.
func (g *group) attend(after time.Duration) bool {
	var t *time.Timer
	for {
		g.mu.Lock()
		phase, left := g.phase, g.left
		if g.wake == nil && phase == direct && left > 0 {
			g.wake = make(chan struct{}, 1)
		}
		g.mu.Unlock()
		switch {
		case phase == opened:
			return g.follow()
		case left == 0:
			g.respond()
			return true
		case phase == abandoned:
			g.out.Accept()
			return false
		}
		if t == nil {
			t = g.e.timer(after)
			defer g.e.putTimer(t)
		}
		select {
		case <-g.wake:
		case <-t.C:
			if err := g.open(); err != nil {
				t.Reset(g.e.o.StreamAfter)
			}
		case <-g.ctx.Done():
			g.mu.Lock()
			g.abandon()
			g.mu.Unlock()
		}
	}
}

// respond ends the exchange with one body.
func (g *group) respond() {
	if !g.array {
		respond(g.out, g.runs[0].outcome)
		return
	}
	body := append(make([]byte, 0, 512), '[')
	for _, m := range g.ready {
		body = append(append(body, m...), ',')
	}
	for _, r := range g.runs {
		if r.outcome.body != nil {
			body = append(append(body, r.outcome.body...), ',')
		}
	}
	if len(body) == 1 {
		g.out.Accept()
		return
	}
	body[len(body)-1] = ']'
	g.out.Respond(mcp.Response{Body: body})
}

// follow makes the exchange a stream and stays with it. False: the stream goes on without.
func (g *group) follow() bool {
	defer func() {
		g.s.mu.Lock()
		g.over = true
		g.s.unfollowed(g.stream)
		g.s.mu.Unlock()
	}()
	st, err := g.out.Open()
	if err != nil {
		return false // The client is gone; the calls run on into the log.
	}
	return g.e.follow(g.ctx, st, g.s, g.rec, state.Position{Stream: g.stream}, follows{holder: g.in.Memory.Holder(), opening: true, prime: g.rec.rules.Priming})
}

// abandon notes that the client has left. g.mu is locked.
func (g *group) abandon() {
	if g.phase == direct {
		g.phase = abandoned
	}
}

// signal wakes the exchange. g.mu is locked.
func (g *group) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// keep takes the outcome of a call for the exchange; false when it goes to the log instead.
func (g *group) keep(r *run, o outcome) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase == opened {
		return false
	}
	r.op.End(&o.seen)
	r.outcome, r.decided, r.kept = o, true, g.phase == direct
	if g.left--; g.left == 0 {
		g.signal()
		if g.unsure {
			g.e.spawn(g.tidy)
		}
	}
	return true
}

// open makes records and a log for the calls: from then on they outlive this replica. It returns nil
// when that was done before or is not needed any more, and errNobody when the client has left.
func (g *group) open() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		g.abandon()
	}
	switch {
	case g.phase == opened, g.left == 0:
		return nil
	case g.phase == abandoned:
		return errNobody
	case time.Now().Before(g.retryAt):
		return state.ErrUnavailable
	}
	g.nameStream()
	leases, err := g.begin()
	if err != nil {
		g.unsure = g.unsure || stateError(err).Kind == mcp.KindStateUnavailable
		g.beginFailed(err)
		return err
	}
	g.markOpened()
	g.callAttendant()
	g.begun(leases)
	return nil
}

// nameStream gives the stream its name. g.mu is locked.
func (g *group) nameStream() {
	if g.stream == "" {
		g.stream = rand.Text()[:16]
	}
}

// markOpened notes that the log is there. A stream may stay open for long: it needs the body no more, of which the
// calls have copies. g.mu is locked.
func (g *group) markOpened() {
	g.phase = opened
	g.in.DropBody()
	g.e.counters.CallsOpened.Add(int64(len(g.runs)))
	g.signal()
}

// conclude writes the whole stream of a call that has ended before anything of it was written. False when that
// is not so, or the store did not take it: the call is then to be ended as any other, with what waits.
func (g *group) conclude(r *run, o outcome) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.phase != direct || g.array || time.Now().Before(g.retryAt) {
		return false
	}
	g.nameStream()
	o.body = mcp.Keep(o.body)
	call, before, store := r.stateCall(false), r.rest(), g.e.store
	call.Params = nil // Nobody runs it again.
	r.lease, r.n = state.Lease{Session: g.s.id, Stream: g.stream, Call: call.ID, Epoch: 1}, 1
	write := func(ctx context.Context, w state.Write) error {
		return store.Conclude(ctx, w.Session, w.Stream, call, o.body, before...)
	}
	ctx, cancel := g.e.bounded(g.e.life)
	defer cancel()
	began := time.Now()
	err := write(ctx, state.Write{Lease: r.lease})
	r.stored("conclude", began, err)
	if err != nil {
		if !errors.Is(err, state.ErrTooLarge) {
			g.beginFailed(err)
		}
		r.putBack(before)
		return false
	}
	r.noteEnd(before, o, write)
	g.markOpened()
	return true
}

func (g *group) begin() ([]state.Lease, error) {
	calls := make([]state.Call, len(g.runs))
	for i, r := range g.runs {
		calls[i] = r.stateCall(g.e.dispatch.Repeatable(&r.call))
	}
	ctx, cancel := g.e.bounded(g.e.life)
	defer cancel()
	began := time.Now()
	leases, err := g.e.store.Begin(ctx, g.s.id, g.stream, calls)
	g.runs[0].stored("begin", began, err)
	return leases, err
}

// tidy ends what a Begin may have left that was not known to have happened: nobody follows it. The
// same Begin again gives the leases.
func (g *group) tidy() {
	leases, err := g.begin()
	if err != nil {
		return // The records end with their lifetime.
	}
	ctx, cancel := g.e.bounded(g.e.life)
	defer cancel()
	for _, l := range leases {
		_ = g.e.store.Finish(ctx, state.Write{Lease: l, N: 1}, nil)
	}
}

// beginFailed puts the next attempt off, and sees to a session that is gone: its calls have nobody left.
// g.mu is locked.
func (g *group) beginFailed(err error) {
	g.retryAt = time.Now().Add(g.e.o.StreamAfter)
	if errors.Is(err, state.ErrNotFound) {
		g.e.drop(g.s, errGone)
		return
	}
	if errors.Is(err, state.ErrLimit) {
		g.e.o.Telemetry.Hit(limitOf(err, telemetry.BoundStreams))
	}
	g.e.counters.StateErrors.Add(1)
	g.e.log.WarnContext(g.runs[0].ctx, "a stream could not be begun; the call goes on without one", "error", err)
}

// begun hands out the leases, and writes to the log what was known before there was one.
func (g *group) begun(leases []state.Lease) {
	told := false
	for i, r := range g.runs {
		r.attach(leases[i])
		switch {
		case r.decided:
			g.e.spawn(func() {
				defer g.s.wrote(r)
				r.deliver(r.outcome)
			})
		case !told:
			told = true
			for _, m := range g.ready {
				r.push(state.Entry{Kind: state.EntryNotice, Data: m})
			}
		}
	}
}
