package stateful

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mcpedge/mcpedge/edge/call"
	"github.com/mcpedge/mcpedge/edge/call/runtime"
	"github.com/mcpedge/mcpedge/edge/era"
	"github.com/mcpedge/mcpedge/edge/jsonrpc"
	"github.com/mcpedge/mcpedge/edge/mcp"
	"github.com/mcpedge/mcpedge/edge/revision"
	"github.com/mcpedge/mcpedge/edge/state"
	"github.com/mcpedge/mcpedge/edge/state/medium"
)

// Era serves the revisions with a handshake. It is safe for concurrent use.
type Era struct {
	addresses *addresses
	dispatch  era.Dispatcher
	server    era.Describer
	store     medium.Store
	o         Options
	counters  Counters
	// calls runs the calls.
	calls    *runtime.Replica
	sessions localSessions
	// ids seals the ids of sessions without a record. nil if sessions are required.
	ids       era.Keys
	firstUses firstUses

	// life is cancelled by Close. Only background work uses it.
	life   context.Context
	kill   context.CancelFunc
	closed atomic.Bool
	// returns counts the returns of the store, from 1. Events from before the last return may be
	// incomplete.
	returns atomic.Uint64
	// work counts exchanges, the calls that outlive them or have a record, and the goroutines of
	// both. loops counts the goroutines of Start.
	work  runtime.InFlight
	loops sync.WaitGroup
	// withdrawals counts the goroutines of watchWithdrawal.
	withdrawals runtime.InFlight
	// draw draws ids. It is drawID, except in tests.
	draw func() int64
}

var _ era.Stateful = (*Era)(nil)

// New returns an Era on the store that open returns. server describes the edge. open gets the Era's
// hooks, which may be called from then on. New starts no goroutine: before Start nothing is
// revalidated or taken over. The caller owns the store, which must outlive Close.
func New(d era.Dispatcher, server era.Describer, open func(medium.Hooks) medium.Store, o Options) *Era {
	e := &Era{dispatch: d, server: server, o: o.withDefaults(), draw: drawID}
	e.returns.Store(1)
	e.addresses = newAddresses(e.o.MaxSessionsPerAddress, e.o.SessionTTL)
	e.life, e.kill = context.WithCancel(context.Background())
	e.calls = runtime.New(open, runtime.Options{
		Call:   &call.Config{MaxAttempts: e.o.MaxAttempts, Render: e.render, Completed: completed, Keep: mcp.Keep},
		Resume: e.resume, Number: e.number,
		Counters: &e.counters.Counters, Work: &e.work,
		Event: e.onSessionEvent, Returning: func() { e.returns.Add(1) },
		StreamAfter: e.o.StreamAfter, Lifetime: e.o.CallLifetime, Heartbeat: e.o.Heartbeat, KeepAlive: e.o.KeepAlive,
		RetryHint: retryHint, Takeovers: e.o.MaxTakeovers, MaxRounds: e.o.MaxRounds, Telemetry: e.o.Telemetry, Log: e.o.Logger, Store: "sessions",
	})
	e.store = e.calls.Store()
	if e.o.Optional {
		_ = e.ids.Use() // never fails without keys
	}
	return e
}

// SealWith sets the keys that seal the ids of sessions without a record. Each has 32 bytes. The
// first key seals, and all keys open. All replicas must have the same keys. Before SealWith a
// random key is used, which other replicas and processes do not have. SealWith has no effect if
// sessions are required. It must be called before the first message.
func (e *Era) SealWith(keys ...[]byte) error {
	if e.ids == nil || len(keys) == 0 {
		return nil
	}
	return e.ids.Use(keys...)
}

// Held returns the number of sessions whose copies this replica holds.
func (e *Era) Held() (n int) {
	for range e.sessions.all {
		n++
	}
	return n
}

// Counters returns the live counters.
func (e *Era) Counters() *Counters { return &e.counters }

// Message serves one message of a session, or the handshake that creates one.
func (e *Era) Message(ctx context.Context, in *mcp.Incoming, msg jsonrpc.Message, out mcp.Outgoing) {
	if !e.work.Enter() {
		e.refuse(ctx, in, out, nil, msg, mcp.ShuttingDown())
		return
	}
	defer e.work.Leave()
	if err := admit(in, msg.Kind, msg.Method); err != nil {
		e.refuse(ctx, in, out, nil, msg, err)
		return
	}
	if isInitialize(msg) {
		e.initialize(ctx, in, msg, out)
		return
	}
	if in.Conn != nil && in.Session == "" && msg.Kind == jsonrpc.Request && mcp.Method(msg.Method) == mcp.MethodPing {
		// The one request that may come before the handshake (Lifecycle, "Initialization").
		if err := checkVersion(in); err != nil {
			e.refuse(ctx, in, out, nil, msg, err)
			return
		}
		respond(out, e.local(ctx, in, nil, nil, msg))
		return
	}
	s, rec, err := e.requireSession(ctx, in)
	if err != nil {
		e.refuse(ctx, in, out, nil, msg, err)
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
		e.refuse(ctx, in, out, rec, msg, err)
		return
	}
	out.Accept()
	if release != nil {
		release() // The client's answer is acknowledged before its effects are sent.
	}
}

func isInitialize(msg jsonrpc.Message) bool {
	return msg.Kind == jsonrpc.Request && mcp.Method(msg.Method) == mcp.MethodInitialize
}

// End deletes a session: its calls are cancelled and its streams end, on every replica.
func (e *Era) End(ctx context.Context, in *mcp.Incoming, out mcp.Outgoing) {
	refuse := func(rec *record, err *mcp.Error) {
		e.refuse(ctx, in, out, rec, jsonrpc.Message{}, err)
	}
	if !e.work.Enter() {
		refuse(nil, mcp.ShuttingDown())
		return
	}
	defer e.work.Leave()
	s, rec, err := e.requireSession(ctx, in)
	if err == nil {
		err = e.delete(ctx, in, s, rec)
	}
	if err != nil {
		refuse(rec, err)
		return
	}
	e.drop(s)
	out.Accept()
}

// delete deletes the record of a session, which the other replicas are notified of.
func (e *Era) delete(ctx context.Context, in *mcp.Incoming, s *localSession, rec *record) *mcp.Error {
	sctx, cancel := state.Bounded(ctx)
	defer cancel()
	if err := e.noteEnd(sctx, in, rec); err != nil {
		return err
	}
	if err := e.store.Delete(sctx, s.id); err != nil {
		return e.storeError(s, err)
	}
	e.counters.SessionsEnded.Add(1)
	e.o.Telemetry.SessionEnded(rec.Created, rec.rules.Version, in.Header == nil)
	e.notify(ctx, state.SessionEvent{Kind: state.SessionDeleted, Session: s.id})
	return nil
}

// checkVersion checks the version header, if there is one (Base Protocol, "Protocol Version
// Header"). It refuses a version that this era does not serve, even without a session.
func checkVersion(in *mcp.Incoming) *mcp.Error {
	v := era.NamedVersion(in)
	if r, ok := revision.ByVersion(v); v == "" || ok && !r.Stateless {
		return nil
	}
	return mcp.Errorf(mcp.KindUnsupportedVersion,
		"the protocol version %.40q in MCP-Protocol-Version is not served with sessions; send the one that initialize negotiated", v)
}
