package stateful

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/era/stateful/call"
	"github.com/mcpedge/mcpedge/edge/era/stateful/run"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
	"github.com/mcpedge/mcpedge/edge/telemetry"
)

// Era serves the revisions with a handshake. It is safe for concurrent use.
type Era struct {
	addresses *addresses
	dispatch  era.Dispatcher
	store     medium.Store
	o         Options
	log       *slog.Logger
	counters  Counters
	// calls runs the calls.
	calls    *run.Replica
	sessions localSessions

	// life is cancelled by Close. Only work outside the requests' path uses it.
	life   context.Context
	kill   context.CancelFunc
	closed atomic.Bool
	// returns counts the returns of the store, from 1: whatever was heard before may be incomplete.
	returns atomic.Uint64
	// work counts exchanges, the calls that outlive them or have a record, and the goroutines of
	// both; loops the goroutines of Start.
	work  run.InFlight
	loops sync.WaitGroup
	// withdrawals counts the goroutines of watchWithdrawal.
	withdrawals run.InFlight
	// draw draws ids. It is drawID, except in tests.
	draw func() int64

	// draining is closed when a drain begins, parting when streams are to be closed that a client
	// can resume.
	draining, parting   chan struct{}
	drainOnce, partOnce sync.Once
}

var _ era.Stateful = (*Era)(nil)

// New makes an Era on the store that open makes. open gets the Era's hooks, which may be called
// from then on. New starts no goroutine: without Start nothing is revalidated or taken over. The
// store belongs to the caller and must outlive Close.
func New(d era.Dispatcher, open func(medium.Hooks) medium.Store, o Options) *Era {
	e := &Era{dispatch: d, o: o.withDefaults(), draining: make(chan struct{}), parting: make(chan struct{}), draw: drawID}
	e.log = e.o.Logger
	e.returns.Store(1)
	e.addresses = newAddresses(e.o.MaxSessionsPerAddress, e.o.SessionTTL)
	e.life, e.kill = context.WithCancel(context.Background())
	ready := make(chan struct{})
	defer close(ready)
	e.store = open(medium.Hooks{
		Event:     func(b state.SessionEvent) { <-ready; e.onSessionEvent(b) },
		Returning: func() { <-ready; e.returns.Add(1); e.calls.Returning() },
	})
	e.calls = run.New(e.store, run.Options{
		Call:   &call.Config{MaxAttempts: e.o.MaxAttempts, Render: e.render, Completed: completed, Keep: mcp.Keep},
		Resume: e.resume, Number: e.number,
		Cancel: func(session, id string) {
			e.notify(e.life, state.SessionEvent{Kind: state.RequestCancelled, Session: session, RequestID: id})
		},
		Counters: &e.counters.Counters, Work: &e.work, Draining: e.draining, Parting: e.parting,
		StreamAfter: e.o.StreamAfter, Lifetime: e.o.CallLifetime, Heartbeat: e.o.Heartbeat, KeepAlive: e.o.KeepAlive,
		RetryHint: e.o.RetryHint, Takeovers: e.o.MaxTakeovers, Timeout: stateTimeout, Log: e.log, Store: "sessions",
	})
	return e
}

// Held returns the number of sessions that this replica has a copy of.
func (e *Era) Held() int { return e.sessions.count() }

// Counters returns the live counters.
func (e *Era) Counters() *Counters { return &e.counters }

// Message serves one message of a session, or the handshake that creates one.
func (e *Era) Message(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	if !e.work.Enter() {
		e.refuse(ctx, in, out, revision.Assumed(), msg, shuttingDown())
		return
	}
	defer e.work.Leave()
	initialize := msg.Kind == jsonrpc.Request && mcp.Method(msg.Method) == mcp.MethodInitialize
	if err := checkVersion(in); err != nil && !initialize { // which negotiates
		e.refuse(ctx, in, out, revision.Assumed(), msg, err)
		return
	}
	if err := admit(in, msg.Kind, msg.Method); err != nil {
		e.refuse(ctx, in, out, revision.Assumed(), msg, err)
		return
	}
	if initialize {
		e.initialize(ctx, in, msg, out)
		return
	}
	if in.Conn != nil && in.Session == "" && msg.Kind == jsonrpc.Request && mcp.Method(msg.Method) == mcp.MethodPing {
		// The one request that may come before the handshake (Lifecycle, "Initialization").
		_, op := e.observe(ctx, in, nil, revision.Assumed(), msg)
		op.End(&telemetry.Outcome{})
		respond(out, resultOf(msg.ID, nil))
		return
	}
	s, rec, err := e.hold(ctx, in)
	if err != nil {
		e.refuse(ctx, in, out, revision.Assumed(), msg, err)
		return
	}
	var release func()
	switch msg.Kind {
	case jsonrpc.Request:
		e.request(ctx, in, s, rec, msg, out)
		return
	case jsonrpc.Notification:
		e.notified(ctx, in, s, rec, msg)
	default:
		if err = e.permitAnswer(ctx, in, s, rec, msg); err == nil {
			release, err = e.answered(ctx, in, s, msg)
		}
	}
	if err != nil {
		e.refuse(ctx, in, out, rec.rules, msg, err)
		return
	}
	out.Accept()
	if release != nil {
		release() // The client's answer is acknowledged before its effects are sent.
	}
}

// End deletes a session: its calls are cancelled and its streams end, on every replica.
func (e *Era) End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	refuse := func(rules *revision.Rules, err *mcp.Error) {
		e.refuse(ctx, in, out, rules, jsonrpc.Message{}, err)
	}
	if !e.work.Enter() {
		refuse(revision.Assumed(), shuttingDown())
		return
	}
	defer e.work.Leave()
	if err := checkVersion(in); err != nil {
		refuse(revision.Assumed(), err)
		return
	}
	s, rec, err := e.hold(ctx, in)
	if err != nil {
		refuse(revision.Assumed(), err)
		return
	}
	sctx, cancel := e.bounded(ctx)
	defer cancel()
	serr := e.store.Delete(sctx, s.id)
	if serr == nil {
		e.counters.SessionsEnded.Add(1)
		e.o.Telemetry.SessionEnded(rec.Created, rec.rules.Version, in.Header == nil)
		e.notify(ctx, state.SessionEvent{Kind: state.SessionDeleted, Session: s.id})
	}
	if err := e.lost(s, serr); err != nil {
		refuse(rec.rules, err)
		return
	}
	e.drop(s, errGone)
	out.Accept()
}

// checkVersion checks the version header, if there is one (Base Protocol, "Protocol Version
// Header"): a version that this era does not serve is refused, even without a session.
func checkVersion(in *mcp.Incoming) *mcp.Error {
	if in.Header == nil {
		return nil
	}
	v := in.Header.Get(era.HeaderVersion)
	if v == "" {
		return nil
	}
	if r, ok := revision.ByVersion(v); ok && !r.Stateless {
		return nil
	}
	return mcp.Errorf(mcp.KindUnsupportedVersion,
		"the protocol version %.40q in MCP-Protocol-Version is not served with sessions; send the one that initialize negotiated", v)
}

// bounded returns a context for one operation on the store, which the end of ctx does not cancel.
func (e *Era) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), stateTimeout)
}

// lost converts an error of the store about a session, and drops the copy of a session that does
// not exist any more.
func (e *Era) lost(s *localSession, err error) *mcp.Error {
	if err == nil {
		return nil
	}
	me := stateError(err)
	switch me.Kind {
	case mcp.KindSessionNotFound:
		e.drop(s, errGone)
	case mcp.KindStateUnavailable:
		e.counters.StateErrors.Add(1)
		e.log.Warn("state operation failed", "error", err)
	}
	return me
}
